# SPDX-License-Identifier: Apache-2.0
"""How kernels are defined, compiled and loaded.

A `Kernel` has one signature. It is compiled (or read from the cache) when first asked
for, never for other types: an argument of another type is a `TypeError` that the caller
answers by converting, so a stray float32 array can never start a compilation inside a
control loop.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
import numba.core.config

from robot_dynamics.dynamics.kernels.cache import cache_directory
from robot_dynamics.dynamics.kernels.quick_import import import_numba_without_blas

try:
    import fcntl
except ImportError:  # not a POSIX system: two processes may then compile the same kernel
    fcntl = None

#: 'contract' lets the compiler fuse a multiplication and an addition; nothing else
#: that changes results is allowed (nan and inf must travel).
OPTIONS = {'error_model': 'numpy', 'boundscheck': False, 'fastmath': {'contract'}}

#: A small function that lives inside kernels: LLVM puts its code where it is called.
#: It gets no entry from Python, which halves the time of a compilation.
helper = numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True,
                    nogil=True, **OPTIONS)

#: A longer part of a kernel: numba itself puts it where it is called. Unlike a helper
#: it may hold loops at no cost: a helper that does counts references to its arrays.
part = numba.njit(inline='always', nogil=True, **OPTIONS)

#: A part that is compiled by itself, once for all kernels of a process that call it: for
#: what is long and shared, where the time of a compilation matters more than that of a call.
routine = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True, **OPTIONS)

_KERNELS: list[Kernel] = []
_thread_lock = threading.RLock()


class Kernel:
    """A compiled function of one signature.

    Parameters
    ----------
    function : callable
        What to compile.
    signature : str or tuple
        Types for numba.
    is_on_demand : bool
        Whether the kernel is compiled when somebody first asks for it, not ahead of time: no
        control loop waits for it, or few need it and load it before they begin.
    options : dict
        For `numba.njit`, beside `OPTIONS`.

    Attributes
    ----------
    call : callable
        The compiled function. Raises TypeError while it is not loaded, and for
        arguments of other types.
    is_loaded : bool
        Whether `call` is the compiled function.
    """

    __slots__ = ('_dispatcher', '_signature', 'call', 'directory', 'is_loaded', 'is_on_demand',
                 'name')

    def __init__(self, function: Callable[..., Any], signature: Any, *,
                 is_on_demand: bool = False, **options: Any):
        self.name = f'{function.__module__.rpartition(".")[2]}.{function.__name__}'
        self.directory = cache_directory(Path(function.__code__.co_filename))
        self.is_on_demand = is_on_demand
        self.call = self._not_loaded
        self.is_loaded = False
        self._signature = signature
        self._dispatcher = _cached_in(self.directory, function, options)
        _KERNELS.append(self)

    def load(self, *, announce: bool = True) -> Callable[..., Any]:
        """Compile the kernel or read it from the cache; return `call`.

        Parameters
        ----------
        announce : bool
            Whether to say on stderr that a compilation begins.
        """
        if not self.is_loaded:
            with _thread_lock, _one_process_at_a_time(self.directory):
                if not self.is_loaded:
                    if announce and not self.is_cached:
                        progress(f'compiling {self.name}, once; kept in {self.directory}')
                    self._compile()
        return self.call

    @property
    def is_cached(self) -> bool:
        """Whether some process has compiled the kernel before."""
        return self._stamp.exists()

    @property
    def _stamp(self) -> Path:
        return self.directory / f'{self.name}.compiled'

    def _compile(self) -> None:
        import_numba_without_blas()
        self._dispatcher.compile(self._signature)
        self._dispatcher.disable_compile()
        self.call = self._callable()
        self._stamp.touch()
        # Last of all: other threads call what they find loaded.
        self.is_loaded = True

    def _callable(self) -> Callable[..., Any]:
        return self._dispatcher

    def _not_loaded(self, *arguments: Any) -> Any:
        raise TypeError(f'kernel {self.name} is not loaded')


def kernel(signature: str, *, on_demand: bool = False, nogil: bool = False,
           ) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a `Kernel` of a function.

    Parameters
    ----------
    signature : str
        Types for numba.
    on_demand : bool
        Compile at the first call instead of in `warm_up`: few users need it.
    nogil : bool
        Release Python's lock: for work of milliseconds. A kernel of microseconds keeps it,
        because beside a busy thread it takes up to 5 ms to get the lock back.
    """
    return lambda function: Kernel(function, signature, is_on_demand=on_demand, nogil=nogil)


def all_kernels() -> tuple[Kernel, ...]:
    """Return every kernel defined so far that is compiled ahead of time."""
    return tuple(kernel for kernel in _KERNELS if not kernel.is_on_demand)


def progress(text: str) -> None:
    """Tell the user what takes so long, on stderr."""
    print(f'robot_dynamics: {text}', file=sys.stderr, flush=True)


def _cached_in(directory: Path, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Decorate; numba decides where it caches a function when it decorates it."""
    theirs = numba.core.config.CACHE_DIR
    numba.core.config.CACHE_DIR = str(directory)
    try:
        return numba.njit(cache=True, no_cfunc_wrapper=True, **OPTIONS, **options)(function)
    finally:
        numba.core.config.CACHE_DIR = theirs


@contextmanager
def _one_process_at_a_time(directory: Path) -> Iterator[None]:
    """Let processes that start together wait for the first one's compilation."""
    # There at the start, but somebody may have emptied the cache since.
    directory.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    with (directory / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
