# SPDX-License-Identifier: Apache-2.0
"""From C to a library on disk, once for each source, set of options and processor."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import llvmlite.binding

from robot_dynamics.dynamics.kernels.loading import progress
from robot_dynamics.dynamics.native.folder import is_trusted, library_folder
from robot_dynamics.errors import BackendError, NoCompilerError

#: A multiplication and an addition may be fused; nothing else that changes results.
OPTIONS = ('-std=c99', '-O2', '-ffp-contract=fast', '-fno-math-errno', '-fPIC', '-shared')

#: Compilers that are looked for, after the one that the variable CC names.
COMPILERS = ('cc', 'gcc', 'clang')

#: Longest time that a compiler may take, s.
TIMEOUT = 600.0

_SUBJECT = "backend 'c'"
# The way out of whatever is wrong here.
_WITHOUT = 'leave out backend to use the numba kernels'

# Instructions of this machine's processor, spelt as different compilers do.
_FOR_THIS_PROCESSOR = ('-march=native', '-mcpu=native')


def find_compiler() -> list[str]:
    """Return the command of a C compiler.

    Raises
    ------
    NoCompilerError
        When there is none.
    """
    wanted = _wanted_compiler()
    for command in ([wanted] if wanted else [[name] for name in COMPILERS]):
        path = shutil.which(command[0])
        if path is not None:
            return [path, *command[1:]]
    named = f'{wanted[0]}, which the variable CC names,' if wanted else ', '.join(COMPILERS)
    raise NoCompilerError(f'no C compiler is found ({named} not on the PATH)',
                          subject=_SUBJECT,
                          remedy='install one, on Debian and Ubuntu with: sudo apt install gcc '
                                 f'libc6-dev; or {_WITHOUT}')


def _wanted_compiler() -> list[str]:
    """Return the words of the variable CC."""
    try:
        return shlex.split(os.environ.get('CC', ''))
    except ValueError as error:
        raise NoCompilerError(f'no C compiler is found (the variable CC is no command: {error})',
                              subject=_SUBJECT,
                              remedy=f'correct the variable CC, unset it, or {_WITHOUT}'
                              ) from error


def library_path(key: str) -> Path:
    """Return where the library with that key is kept."""
    state = hashlib.sha256(key.encode())
    for part in (*OPTIONS, *_FOR_THIS_PROCESSOR, _processor()):
        state.update(part.encode() + b'\0')
    return library_folder() / f'kernels-{state.hexdigest()[:40]}.so'


def compile_library(source: str, path: Path, *, subject: str) -> None:
    """Compile C into a library, which appears at once and whole.

    Several processes may do so at the same time: the last to finish replaces a library
    by an equal one, and whoever has loaded the other keeps it.

    Parameters
    ----------
    source : str
        The C.
    path : Path
        Where the library is to lie.
    subject : str
        What is compiled, for messages.
    """
    compiler = find_compiler()
    progress(f'compiling C kernels of {subject}, once; kept in {path.parent}')
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix='build-') as folder:
            library = _compiled(compiler, source, Path(folder))
            library.chmod(0o700)
            library.replace(path)
    except OSError as error:
        raise BackendError(f'cannot write its kernels to {path.parent} ({error.strerror})',
                           subject=_SUBJECT,
                           remedy='make room there, start this program again if the folder was '
                                  f'removed, or {_WITHOUT}') from error


def _compiled(compiler: list[str], source: str, folder: Path) -> Path:
    """Return the library that a compiler makes of C, in a folder."""
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


def is_built(path: Path) -> bool:
    """Whether a library is there that this user's processes have written."""
    return is_trusted(path)


def _run(command: list[str]) -> str | None:
    """Run a compiler; return what it complains about."""
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
    """Name and abilities of the processor: what -march=native stands for."""
    features = llvmlite.binding.get_host_cpu_features()
    return ' '.join((platform.machine(), llvmlite.binding.get_host_cpu_name(),
                     *sorted(name for name, there in features.items() if there)))
