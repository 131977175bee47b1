# SPDX-License-Identifier: Apache-2.0
"""Libraries compiled from C and cached on disk by source, options and processor.

Loading a library executes its code. Libraries are therefore stored only where no other user can
have written them: in a folder that only this user can write, below directories that belong to this
user or root and to which others can at most add entries (sticky bit). If the cache of the kernels
is not such a folder, a new folder is made for this process.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite.binding

from robot_dynamics.dynamics.kernels.cache import cache_base
from robot_dynamics.dynamics.kernels.loading import one_process_at_a_time, progress
from robot_dynamics.errors import BackendError, NoCompilerError

#: A multiplication and an addition may be fused; nothing else that changes results.
OPTIONS = ('-std=c99', '-O2', '-ffp-contract=fast', '-fno-math-errno', '-fPIC', '-shared')

#: Compilers to search for, after the one in the variable CC.
COMPILERS = ('cc', 'gcc', 'clang')

#: Longest time that a compiler may take, s.
TIMEOUT = 600.0

_SUBJECT = "backend 'c'"
# Remedy of all errors of this module.
_WITHOUT = "use backend 'numba'"

# Options of different compilers for the instruction set of this processor.
_loaded: dict[Path, ctypes.CDLL] = {}
_lock = threading.RLock()

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_FOR_THIS_PROCESSOR = ('-march=native', '-mcpu=native')


def find_compiler() -> list[str]:
    """Command of a C compiler.

    Raises
    ------
    NoCompilerError
        If there is none.
    """
    wanted = _wanted_compiler()
    for command in ([wanted] if wanted else [[name] for name in COMPILERS]):
        path = shutil.which(command[0])
        if path is not None:
            return [path, *command[1:]]
    named = f'{wanted[0]}, which the variable CC names,' if wanted else ', '.join(COMPILERS)
    raise NoCompilerError(f'needs a C compiler ({named} not on the PATH)',
                          subject=_SUBJECT,
                          remedy='install one, on Debian and Ubuntu with: sudo apt install gcc '
                                 f'libc6-dev; or {_WITHOUT}')


def _wanted_compiler() -> list[str]:
    """Words of the variable CC."""
    try:
        return shlex.split(os.environ.get('CC', ''))
    except ValueError as error:
        raise NoCompilerError(f'needs a C compiler (the variable CC is not a command: {error})',
                              subject=_SUBJECT,
                              remedy=f'correct the variable CC, unset it, or {_WITHOUT}'
                              ) from error


def library_path(key: str) -> Path:
    """Path of the library with a key."""
    state = hashlib.sha256(key.encode())
    for part in (*OPTIONS, *_FOR_THIS_PROCESSOR, _processor()):
        state.update(part.encode() + b'\0')
    return library_folder() / f'kernels-{state.hexdigest()[:40]}.so'


def open_library(key: str, source: Callable[[], str], *, subject: str,
                 expected: float = 0.0) -> ctypes.CDLL:
    """The library with a key, compiled if no process has done so before; loaded once.

    Parameters
    ----------
    key : str
        Digest of everything that the source depends on.
    source : callable
        Returns the C source.
    subject : str
        What is compiled, for messages.
    expected : float
        Approximate time to generate and compile it, s; announced from half a second on.

    Raises
    ------
    NoCompilerError
        Without a C compiler.
    BackendError
        If it cannot be compiled or loaded.
    """
    path = library_path(key)
    with _lock:
        if path not in _loaded:
            if not is_trusted(path):
                with one_process_at_a_time(path.parent):
                    if not is_trusted(path):
                        compile_library(source, path, subject=subject, expected=expected)
            try:
                _loaded[path] = _load(path)
            except BackendError:
                # Damaged, for example by a full disk.
                path.unlink(missing_ok=True)
                compile_library(source, path, subject=subject, expected=expected)
                _loaded[path] = _load(path)
        return _loaded[path]


def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise BackendError(f'cannot be loaded ({error})', subject=str(path),
                           remedy='remove it to compile it again; if programs may not run '
                                  f'from that folder, or CC compiles for another machine, '
                                  f'{_WITHOUT}') from error


def compile_library(source: Callable[[], str], path: Path, *, subject: str,
                    expected: float = 0.0) -> None:
    """Compile C into a library, which is put in place atomically; see `open_library`."""
    compiler = find_compiler()
    start = time.perf_counter()
    if expected > 0.5:
        progress(f'compiling C kernels of {subject}, about {expected:.0f} s, once')
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix='build-') as folder:
            library = _compiled(compiler, source(), Path(folder))
            library.chmod(0o700)
            library.replace(path)
    except OSError as error:
        raise BackendError(f'cannot write its kernels to {path.parent} ({error.strerror})',
                           subject=_SUBJECT,
                           remedy='make room there, start this program again if the folder was '
                                  f'removed, or {_WITHOUT}') from error
    if expected > 0.5:
        progress(f'compiled in {time.perf_counter() - start:.1f} s, kept in {path.parent}')


def _compiled(compiler: list[str], source: str, folder: Path) -> Path:
    """Library that a compiler makes from C, in a folder."""
    text, library = folder / 'kernels.c', folder / 'kernels.so'
    text.write_text(source, encoding='utf-8')
    for processor in (*_FOR_THIS_PROCESSOR, None):
        flags = [*OPTIONS, *([processor] if processor else [])]
        complaint = _run([*compiler, *flags, str(text), '-o', str(library), '-lm'])
        if complaint is None and not library.is_file():
            complaint = 'it ended well and wrote nothing'
        if complaint is None:
            return library
    raise BackendError(f'{compiler[0]} failed: {complaint}', subject=_SUBJECT,
                       remedy='check the compiler (does it compile a small program?), or '
                              f'{_WITHOUT}')


def _run(command: list[str]) -> str | None:
    """Run a compiler; return its error message."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors='replace',
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines() or [f'exit status {done.returncode}']
    return next((line for line in lines if 'error' in line), lines[-1])


@cache
def _processor() -> str:
    """Name and instruction sets of the processor, which determine -march=native."""
    features = llvmlite.binding.get_host_cpu_features()
    return ' '.join((platform.machine(), llvmlite.binding.get_host_cpu_name(),
                     *sorted(name for name, there in features.items() if there)))


@cache
def library_folder() -> Path:
    """Folder of compiled libraries; created if need be."""
    folder = cache_base() / 'native'
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        if is_private(folder):
            return folder.resolve()
    except OSError:
        pass
    # mkdtemp makes it for this user alone.
    folder = Path(tempfile.mkdtemp(prefix='robot_dynamics-'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_private(folder: Path) -> bool:
    """Whether only this user and root can write a folder."""
    folder = folder.resolve()
    return _is_ours_alone(folder) and all(_is_safe_way(parent) for parent in folder.parents)


def is_trusted(library: Path) -> bool:
    """Whether a file is regular and can only have been written by this user or root."""
    try:
        found = library.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and _is_of_us(found) \
        and not found.st_mode & _OTHERS_WRITE


def _is_ours_alone(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and _is_of_us(found) and not found.st_mode & _OTHERS_WRITE


def _is_safe_way(folder: Path) -> bool:
    """Whether no other user can replace entries of a directory."""
    found = folder.lstat()
    return _is_of_us(found) and (not found.st_mode & _OTHERS_WRITE
                                 or bool(found.st_mode & stat.S_ISVTX))


def _is_of_us(found: os.stat_result) -> bool:
    return found.st_uid in (0, os.geteuid())
