# SPDX-License-Identifier: Apache-2.0
"""Calls of the equations of one robot, in numba or C, for one sample or many.

The functions at the end of the module convert arguments to rows of float64, with errors for
invalid ones. Many samples are computed in threads without the GIL, which exist only during the
call.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.kernels.equation import Equation
from robot_dynamics.dynamics.kernels.layout import IS_CHECKED
from robot_dynamics.dynamics.native import robot as robot_c
from robot_dynamics.dynamics.native.gate import Gate, entry, gate_in_c, gate_in_numba
from robot_dynamics.dynamics.packing import pack
from robot_dynamics.errors import (
    BackendError,
    DimensionError,
    NoCompilerError,
    ParameterError,
    shown,
)
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot

Result = TypeVar('Result')

#: Key for calls without an argument after the arrays.
LEFT_OUT: Any = object()

BACKENDS = ('auto', 'numba', 'c')

#: Environment variable with the meaning of 'auto' for a whole program.
VARIABLE = 'ROBOT_DYNAMICS_BACKEND'

#: Samples of a piece: enough to make the start of a thread negligible, few enough that threads end
#: at about the same time.
PIECE = 2048


class Caller:
    """Caller of the equations of one robot.

    Parameters
    ----------
    robot : Robot
        The robot.
    armature : ndarray, shape (n,)
        Rotor inertia that the equations include.
    backend : {'auto', 'numba', 'c'}
        See `robot_dynamics.dynamics.Dynamics`.
    threads : int, optional
        Threads that share many samples; by default one for each core of the process.

    Attributes
    ----------
    backend : str
        'c' if the equations of the robot are generated in C, else 'numba'.
    """

    def __init__(self, robot: Robot, armature: FloatArray, backend: str,
                 threads: int | None = None):
        self.threads = check_threads(threads)
        self._data = pack(robot, armature)
        self._checked = self._data.copy()
        self._checked[IS_CHECKED] = 1.0
        self._sizes = {'q': robot.nq, 'n': robot.n, 'b': robot.n_bodies, 'p': 10 * robot.n_bodies,
                       't': 6}
        self._gate, self._library = _find(robot, backend)
        self.backend = 'numba' if self._library is None else 'c'
        if self._library is not None:
            self._names = robot_c.names_of(robot)
            self._constants = robot_c.constants(robot, armature, np.array(robot.parameters))
        self._singles: dict[Any, Callable[..., Any]] = {}

    def evaluate(self, equation: Equation, rows: Sequence[FloatArray],
                 first: FloatArray | None = None, out: FloatArray | None = None,
                 ) -> tuple[list[FloatArray], int]:
        """Results of all samples, and the first status that is not zero.

        Parameters
        ----------
        equation : Equation
            Equation to compute.
        rows : sequence of ndarray, shape (N, ...)
            C-contiguous float64 inputs.
        first : ndarray, optional
            An input before these, the same for all samples.
        out : ndarray, optional
            Array for the only output.
        """
        count = len(rows[0])
        shapes = self.shapes(equation, first)
        outputs = [np.empty((count, *shape)) for shape in shapes] if out is None else [out]
        firsts = [] if first is None else [first]
        address, data = self._kernel(equation, self._data)

        def work(piece: slice) -> int:
            return self._gate.run(address, data, [*firsts, *(x[piece] for x in rows)],
                                  [y[piece] for y in outputs], piece.stop - piece.start,
                                  len(firsts))
        statuses = in_pieces(count, self.threads, work,
                             max(PIECE, -(-count // (4 * self.threads))))
        return outputs, next((status for status in list(statuses) if status), 0)

    def one_sample(self, equation: Equation, rows: Sequence[FloatArray],
                   first: FloatArray | None = None) -> list[FloatArray] | None:
        """Results of a single sample, or None if `evaluate` has to report an error."""
        key = equation if first is None else (equation, first.tobytes())
        if key not in self._singles:
            entries: dict[Any, Any] = {}
            self.add_entry(entries, LEFT_OUT, equation, '', first)
            self._singles[key] = self.function(equation.name, '', equation, _nothing, entries, '')
        found = self._singles[key](*(row[0] for row in rows))
        return found if found is None else \
            list(found) if len(equation.outputs) > 1 else [found]

    def function(self, name: str, text: str, equation: Equation, general: Callable[..., Any],
                 entries: dict[Any, Any], key: str, result: type | None = None,
                 ) -> Callable[..., Any]:
        """Function for one sample of plain arrays; other arguments are passed on.

        Parameters
        ----------
        name, text : str
            Its name and docstring.
        equation : Equation
            What it computes.
        general : callable
            The general method.
        entries : dict
            Entries by value of the argument after the arrays, LEFT_OUT for none; see `add_entry`.
        key : str
            Name of that argument.
        result : type, optional
            Named tuple of the results.
        """
        default = entries.get(LEFT_OUT)
        if default is None:
            inputs = equation.inputs[1:]
            default = entry(0, self._data, [self._length(axes) for axes in inputs], ())
        return self._gate.function(name, text, general, entries, default, key)

    def add_entry(self, entries: dict[Any, Any], key: Any, equation: Equation, name: str,
                  first: FloatArray | None = None, result: type | None = None) -> None:
        """Add the entry of `function` for a value of the last argument, or LEFT_OUT."""
        address, data = self._kernel(equation, self._checked)
        inputs = equation.inputs if first is None else equation.inputs[1:]
        twice = -1
        if name == 'regressor':  # Y(q, v, a) = Yr(q, v, v, a)
            inputs, twice = ('q', 'n', 'n'), 1
        entries[key] = entry(address, data, [self._length(axes, first) for axes in inputs],
                             self.shapes(equation, first), first, result, twice)

    def shapes(self, equation: Equation, first: FloatArray | None = None,
               ) -> list[tuple[int, ...]]:
        """Shapes of the outputs for one sample."""
        return [tuple(self._size(axis, first) for axis in axes) for axes in equation.outputs]

    def _length(self, axes: str, first: FloatArray | None = None) -> int:
        return int(np.prod([self._size(axis, first) for axis in axes]))

    def _size(self, axis: str, first: FloatArray | None) -> int:
        if axis.isdigit():
            return int(axis)
        if axis == 'w':
            assert first is not None
            return self._sizes['p'] + int(first[0]) * self._sizes['n']
        return self._sizes[axis]

    def _kernel(self, equation: Equation, data: FloatArray) -> tuple[int, FloatArray]:
        """Address of a kernel, and the robot data that it reads."""
        name = equation.name.rpartition('.')[2]
        if self._library is not None and name in self._names:
            address: Any = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
            return address, self._constants
        return equation.load(), data


def _nothing(*_: Any) -> None:
    """General method of a function of `one_sample`: returns to the caller."""


def _find(robot: Robot, backend: str) -> tuple[Gate, ctypes.CDLL | None]:
    """The gate and the kernels of a robot in C, if they are requested and possible."""
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ParameterError(f'must be one of {", ".join(BACKENDS)}, got {shown(backend)}',
                             subject='backend', remedy="leave it out for 'auto'")
    if backend == 'auto':
        backend = _default()
    if backend == 'numba':
        return gate_in_numba(), None
    gate = None
    try:
        gate = gate_in_c()
        if backend == 'auto' and robot_c.why_not(robot) is not None:
            return gate, None
        return gate, robot_c.library_of(robot)
    except NoCompilerError as error:
        if backend == 'c':
            warnings.warn(f'{error.subject} {error.message}, so the numba kernels are used; '
                          f'{error.remedy}', RuntimeWarning, stacklevel=4)
    except BackendError:
        if backend == 'c':
            raise
    return gate or gate_in_numba(), None


def is_for_c() -> bool:
    """Whether 'auto' means C on this machine."""
    if _default() == 'numba':
        return False
    try:
        gate_in_c()
    except (NoCompilerError, BackendError):
        return False
    return True


def _default() -> str:
    """Backend that 'auto' means."""
    chosen = os.environ.get(VARIABLE) or 'auto'
    if chosen not in BACKENDS:
        raise ParameterError(f'must be one of {", ".join(BACKENDS)}, got {shown(chosen)}',
                             subject=f'environment variable {VARIABLE}', remedy='correct it')
    return chosen


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Number of threads; None means `available_cores`."""
    if threads is None:
        return available_cores()
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
        raise ParameterError(f'must be a positive whole number, got {threads!r}',
                             subject='threads', remedy='give a number, or None for all cores')
    return int(threads)


def in_pieces(count: int, threads: int, work: Callable[[slice], Result],
              piece: int = PIECE) -> Iterator[Result]:
    """Yield the results of ``work`` for each piece of ``count`` samples, in their order.

    A single piece, or all pieces with a single thread, are computed in the calling thread.
    """
    pieces = [slice(start, min(start + piece, count)) for start in range(0, count, piece)]
    if min(threads, len(pieces)) <= 1:
        yield from map(work, pieces)
        return
    workers = min(threads, len(pieces))
    # `map` of the pool would start all pieces, and keep results that are not consumed yet.
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for samples in pieces:
            if len(waiting) > workers:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, samples))
        while waiting:
            yield waiting.popleft().result()


# ---- from arguments to rows of float64, and back ----


@dataclass(frozen=True)
class Samples:
    """Arguments of one call, broadcast against each other.

    Attributes
    ----------
    shape : tuple of int
        Batch shape: empty for a single sample.
    rows : list of ndarray
        Each argument as a C-contiguous, writeable float64 array of shape (N, width); the caller's
        own memory if possible, so it must not be overwritten.
    """

    shape: tuple[int, ...]
    rows: list[FloatArray]

    def apart_from(self, out: FloatArray) -> list[FloatArray]:
        """The rows, none of which shares memory with ``out``."""
        return [row.copy() if np.may_share_memory(row, out) else row for row in self.rows]


def gather(arguments: dict[str, tuple[ArrayLike, int, str]]) -> Samples:
    """Convert and broadcast arguments.

    Parameters
    ----------
    arguments : dict
        By name: the value, the required length of its last axis, and the meaning of that axis.
    """
    if all(_is_plain(value, width) for value, width, _ in arguments.values()):
        plain: list[Any] = [value for value, _, _ in arguments.values()]
        return Samples((), [value[np.newaxis] for value in plain])
    arrays = {name: _array(name, *argument) for name, argument in arguments.items()}
    try:
        shape = np.broadcast_shapes(*(array.shape[:-1] for array in arrays.values()))
    except ValueError:
        given = ', '.join(f'{name} {array.shape}' for name, array in arrays.items())
        raise DimensionError(f'have batch shapes that do not broadcast: {given}',
                             subject='arguments', remedy='give all arguments equal leading '
                             'axes, or none') from None
    rows = []
    for array in arrays.values():
        # Broadcast arrays are read-only, and would be copied below.
        full = array if array.shape[:-1] == shape else \
            np.broadcast_to(array, shape + array.shape[-1:])
        full = full.reshape(-1, array.shape[-1])
        rows.append(np.require(full, np.float64, ['C', 'W', 'A']))
    return Samples(shape, rows)


def check_out(out: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """``out`` as a plain array, if results of this shape can be written into it."""
    if type(out) is np.ndarray and out.dtype == _FLOAT64 and out.shape == shape \
            and out.flags.carray:
        return out
    remedy = f'give a C-contiguous, writeable float64 array of shape {shape}, or none'
    if not isinstance(out, np.ndarray):
        raise DimensionError(f'must be an array, got {type(out).__name__}', subject='out',
                             remedy=remedy)
    if out.dtype != np.float64:
        raise DimensionError(f'must be float64, got {out.dtype}', subject='out', remedy=remedy)
    if out.shape != shape:
        raise DimensionError(f'must have shape {shape}, got {out.shape}', subject='out',
                             remedy=remedy)
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise DimensionError('must be C-contiguous and writeable', subject='out', remedy=remedy)
    return np.asarray(out)


def check_several(out: tuple[FloatArray, ...], names: tuple[str, ...]) -> tuple[FloatArray, ...]:
    """``out``, if it has one array per result."""
    if not isinstance(out, (tuple, list)) or len(out) != len(names):
        raise DimensionError(f'must be {_COUNTS[len(names)]} arrays', subject='out',
                             remedy=f'give arrays for {_listed(names)}, or none')
    return out


def write_several(out: tuple[FloatArray, ...], results: tuple[FloatArray, ...],
                  names: tuple[str, ...]) -> None:
    """Copy all results to arrays of the caller, or none of them."""
    targets = [check_out(given, computed.shape)
               for given, computed in zip(out, results, strict=True)]
    for k, target in enumerate(targets):
        if any(np.may_share_memory(target, other) for other in targets[:k]):
            raise DimensionError('must not share memory', subject='out',
                                 remedy=f'give separate arrays for {_listed(names)}')
    for target, computed in zip(targets, results, strict=True):
        target[...] = computed


def finished(samples: Samples, results: tuple[FloatArray, ...],
             out: tuple[FloatArray, ...] | None = None, names: tuple[str, ...] = (),
             ) -> tuple[FloatArray, ...]:
    """Results of rows in the shape of the batch, written to ``out`` if that is given."""
    shaped = tuple(result.reshape(samples.shape + result.shape[1:]) for result in results)
    if out is None:
        return shaped
    write_several(check_several(out, names), shaped, names)
    return out


_FLOAT64 = np.dtype(np.float64)
_COUNTS = {3: 'three', 6: 'six'}


def _listed(names: tuple[str, ...]) -> str:
    return ', '.join(names[:-1]) + ' and ' + names[-1]


def _is_plain(value: ArrayLike, width: int) -> bool:
    """Whether a value is one sample that kernels can read without a copy."""
    return (type(value) is np.ndarray and value.shape == (width,)
            and value.dtype == _FLOAT64 and value.flags.carray)


def _array(name: str, value: ArrayLike, width: int, counted: str) -> FloatArray:
    array = real_array(value, name, f'give an array of shape ({width},) or (..., {width}), '
                                    f'{counted}')
    if array.ndim == 0 or array.shape[-1] != width:
        raise DimensionError(f'must have shape ({width},) or (..., {width}), got {array.shape}',
                             subject=name, remedy=f'give {counted}')
    return array
