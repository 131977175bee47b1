# SPDX-License-Identifier: Apache-2.0
"""How kernels are compiled, cached on disk and loaded.

A `Kernel` has one signature. It is compiled (or read from the cache) when first
asked for, never for other types: an argument of another type is a `TypeError` the
caller answers by converting, so a stray float32 array can never start a compilation
inside a control loop.

numba looks at a kernel's own file only when it decides whether a cached kernel is up
to date, while ours share helpers from several files. So our cache directory carries a
digest of all kernel sources. It lies below NUMBA_CACHE_DIR when that is set, else in
the user's cache directory, never in the install space, which may be read-only.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numba.core.config

try:
    import fcntl
except ImportError:  # not a POSIX system: two processes may then compile the same kernel
    fcntl = None

#: 'contract' lets the compiler fuse a multiplication and an addition; nothing else
#: that changes results is allowed (nan and inf must travel).
OPTIONS = {'error_model': 'numpy', 'boundscheck': False, 'nogil': True,
           'fastmath': {'contract'}}

#: A small function that lives inside kernels; LLVM inlines it.
helper = numba.njit(**OPTIONS)

_KERNELS: list[Kernel] = []


def _digest() -> str:
    """Digest of everything a compiled kernel depends on."""
    state = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob('*.py')):
        state.update(path.read_bytes())
    for part in (numba.__version__, llvmlite.binding.get_host_cpu_name(), sys.version):
        state.update(part.encode())
    return state.hexdigest()[:16]


def _writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def cache_directory() -> Path:
    """Return the first writable cache directory; a temporary one if there is no other."""
    bases = [numba.core.config.CACHE_DIR, os.environ.get('XDG_CACHE_HOME'),
             Path.home() / '.cache']
    bases = [Path(base) for base in bases if base]
    bases.append(Path(tempfile.gettempdir()) / f'cache-{os.getuid()}')
    name = f'kernels-{_digest()}'
    for base in bases:
        if _writable(base / 'robot_dynamics' / name):
            return base / 'robot_dynamics' / name
    return Path(tempfile.mkdtemp(prefix='robot_dynamics-kernels-'))


CACHE = cache_directory()


class Kernel:
    """A compiled function of one signature.

    Attributes
    ----------
    call : callable
        The compiled function. Raises TypeError while it is not loaded, and for
        arguments of other types.
    """

    __slots__ = ('_dispatcher', '_signature', 'call', 'name')

    def __init__(self, function: Callable[..., Any], signature: str):
        self.name = function.__name__
        self._signature = signature
        self._dispatcher = _with_our_cache(function)
        self.call = self._not_loaded
        _KERNELS.append(self)

    def load(self) -> Callable[..., Any]:
        """Compile the kernel or read it from the cache; return `call`."""
        if self.call is self._dispatcher:
            return self.call
        with _one_process_at_a_time(self.name):
            if self.call is not self._dispatcher:
                self._compile()
        return self.call

    def _compile(self) -> None:
        ready = CACHE / f'{self.name}.ready'
        cached = ready.exists()
        if not cached:
            progress(f'compiling {self.name} (once; kept in {CACHE})')
        start = time.perf_counter()
        self._dispatcher.compile(self._signature)
        self._dispatcher.disable_compile()
        self.call = self._dispatcher
        if not cached:
            ready.touch()
            progress(f'compiled {self.name} in {time.perf_counter() - start:.1f} s')

    def _not_loaded(self, *arguments: Any) -> Any:
        raise TypeError(f'kernel {self.name} is not loaded')


def kernel(signature: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a `Kernel` of a function."""
    return lambda function: Kernel(function, signature)


def all_kernels() -> tuple[Kernel, ...]:
    """Return every kernel defined so far."""
    return tuple(_KERNELS)


def progress(text: str) -> None:
    """Tell the user what takes so long, on stderr."""
    print(f'robot_dynamics: {text}', file=sys.stderr, flush=True)


def _with_our_cache(function: Callable[..., Any]) -> Any:
    """Let numba cache the function in our directory (it decides when it decorates)."""
    theirs = numba.core.config.CACHE_DIR
    numba.core.config.CACHE_DIR = str(CACHE)
    try:
        return numba.njit(cache=True, **OPTIONS)(function)
    finally:
        numba.core.config.CACHE_DIR = theirs


_thread_lock = threading.RLock()


@contextmanager
def _one_process_at_a_time(name: str) -> Iterator[None]:
    """Let processes that start together wait for the first one's compilation."""
    with _thread_lock:
        if fcntl is None:
            yield
            return
        with (CACHE / f'{name}.lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
