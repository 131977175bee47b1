# SPDX-License-Identifier: Apache-2.0
"""Definition, compilation and loading of kernels.

A `Kernel` has one signature. It is compiled (or read from the cache) on first use, and never for
other types: an argument of another type raises a `TypeError`, after which the caller converts it.
A float32 array can therefore not start a compilation inside a control loop.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba import types
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from robot_dynamics.dynamics.kernels.cache import cache_base, cache_directory, cache_of, is_kept

try:
    import fcntl
except ImportError:  # not a POSIX system: two processes may then compile the same kernel
    fcntl = None  # type: ignore[assignment]

#: 'contract' lets the compiler fuse a multiplication and an addition. Other changes of results are
#: not allowed (nan and inf must propagate).
OPTIONS = {'error_model': 'numpy', 'boundscheck': False, 'fastmath': {'contract'}}


class _PartOfKernels(JITCodeLibrary):
    """Code that is optimised and compiled only as part of the kernels that call it.

    Numba would do both for each function separately, and again in every function that calls it,
    which took most of the compilation time.
    """

    _final_module: Any

    def _optimize_final_module(self) -> None:
        """Inline helpers; all else is left to the kernels."""
        made = self._codegen._module_pass_manager(opt=0, loop_vectorize=False,
                                                  slp_vectorize=False, cost='cheap')
        passes, *builder = made if isinstance(made, tuple) else (made,)
        passes.run(self._final_module, *builder)

    def _finalize_final_module(self) -> None:
        """Make machine code only of the variables that numba looks for."""
        whole = self._final_module
        variables = [str(each) for each in whole.global_variables
                     if each.linkage == llvmlite.binding.Linkage.common]
        self._final_module = llvmlite.binding.parse_assembly('\n'.join(variables))
        super()._finalize_final_module()
        self._final_module = whole


class _PartCompiler(Compiler):
    """Numba's compiler for functions that only kernels call."""

    def define_pipelines(self) -> Any:
        """Steps of a compilation."""
        self.state.library = _PartOfKernels(self.state.targetctx.codegen(),
                                            self.state.func_id.func_qualname)
        return super().define_pipelines()


def _of_kernels(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of functions that only kernels call."""
    def decorate(function: Callable[..., Any]) -> Any:
        made: Any = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True,
                               pipeline_class=_PartCompiler, **options, **OPTIONS)(function)
        if hasattr(made, 'get_call_template'):
            general = made.get_call_template
            # Without this it is compiled again for each literal number in a call.
            made.get_call_template = lambda arguments, named: general(
                [types.unliteral(each) for each in arguments], named)
        return made
    return decorate


#: A small function of kernels that LLVM inlines. It counts no references, so it must not return
#: an array.
helper = _of_kernels(forceinline=True, _nrt=False)

#: A longer part of a kernel, inlined by numba.
part = numba.njit(inline='always', nogil=True, **OPTIONS)

#: A function that is translated once per process for all kernels that call it: for long shared
#: parts, for which compilation time matters more than the time of a call.
routine = _of_kernels(_nrt=True)

#: Approximate compilation time of one kernel on a laptop, s.
SECONDS = 0.7

_KERNELS: list[Compiled] = []
_thread_lock = threading.RLock()


class Compiled:
    """A function that is compiled on first use, once for all processes.

    Parameters
    ----------
    function : callable
        What to compile.
    is_on_demand : bool
        Whether the kernel is compiled at its first use instead of ahead of time, because control
        loops do not need it, or load it before they begin.
    """

    def __init__(self, function: Callable[..., Any], is_on_demand: bool):
        self.name = f'{function.__module__.rpartition(".")[2]}.{function.__name__}'
        self.directory = cache_directory(Path(function.__code__.co_filename))
        self.is_on_demand = is_on_demand
        _KERNELS.append(self)

    def compiled(self, compile_it: Callable[[], Any], *, announce: bool = True) -> Any:
        """Result of ``compile_it``, computed by one thread and one process at a time."""
        stamp = self._stamp
        with _thread_lock:
            if stamp.exists():
                return compile_it()  # reads it from the cache
            with one_process_at_a_time(cache_base()):
                self.directory.mkdir(parents=True, exist_ok=True)
                if announce and not stamp.exists():
                    progress(f'compiling {self.name}, about {SECONDS:.0f} s; {is_kept()}')
                made = compile_it()
                stamp.touch()
        return made

    @property
    def is_cached(self) -> bool:
        """Whether some process has compiled it before."""
        return self._stamp.exists()

    def callback(self, function: Callable[..., Any], signature: Any, *, announce: bool = True,
                 ) -> CFunc:
        """A function compiled for calls from C; its address is valid as long as it exists."""
        made: Any = CFunc(function, (signature.args, signature.return_type), locals={},
                          options={'nopython': True, **OPTIONS})
        made._cache = cache_of(function, self.directory)
        self.compiled(made.compile, announce=announce)
        return made

    def load(self, *, announce: bool = True) -> Any:
        """Compile it or read it from the cache."""
        raise NotImplementedError

    @property
    def _stamp(self) -> Path:
        return self.directory / f'{self.name}.compiled'


class Kernel(Compiled):
    """A compiled function of one signature.

    Parameters
    ----------
    function : callable
        What to compile.
    signature : str or tuple
        Types for numba.
    is_on_demand : bool
        See `Compiled`.
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

    def __init__(self, function: Callable[..., Any], signature: Any, *,
                 is_on_demand: bool = False, **options: Any):
        super().__init__(function, is_on_demand)
        self.call = self._not_loaded
        self.is_loaded = False
        self._signature = signature
        self._dispatcher = numba.njit(no_cfunc_wrapper=True, **OPTIONS, **options)(function)
        self._dispatcher._cache = cache_of(function, self.directory)

    def load(self, *, announce: bool = True) -> Callable[..., Any]:
        """Compile the kernel or read it from the cache; return `call`.

        Parameters
        ----------
        announce : bool
            Whether to write on stderr that a compilation begins.
        """
        with _thread_lock:
            if not self.is_loaded:
                self.call = self.compiled(self._compile, announce=announce)
                # Set last, because other threads call a kernel as soon as it is loaded.
                self.is_loaded = True
        return self.call

    def _compile(self) -> Callable[..., Any]:
        self._dispatcher.compile(self._signature)
        self._dispatcher.disable_compile()
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
        Compile at the first call instead of in `warm_up`.
    nogil : bool
        Release the GIL, for kernels of milliseconds. A kernel of microseconds keeps it, because
        with another busy thread it takes up to 5 ms to acquire it again.
    """
    return lambda function: Kernel(function, signature, is_on_demand=on_demand, nogil=nogil)


def all_kernels() -> tuple[Compiled, ...]:
    """Every kernel defined so far that is compiled ahead of time."""
    return tuple(kernel for kernel in _KERNELS if not kernel.is_on_demand)


def progress(text: str) -> None:
    """Print the reason of a delay on stderr."""
    print(f'robot_dynamics: {text}', file=sys.stderr, flush=True)


@contextmanager
def one_process_at_a_time(directory: Path) -> Iterator[None]:
    """Make processes that start together wait for the compilation of the first one."""
    # It existed at the start, but the cache may have been emptied since.
    directory.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    with (directory / 'lock').open('w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            progress('waiting for another process that compiles kernels')
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
