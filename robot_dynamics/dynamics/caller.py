# SPDX-License-Identifier: Apache-2.0
"""Calls the equations of one robot: in numba or in C, for one sample or many.

Many samples run without Python's lock, so plain threads share the work. They live only as
long as the call that needs them.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from robot_dynamics.dynamics.kernels.equation import Equation
from robot_dynamics.dynamics.kernels.layout import IS_CHECKED
from robot_dynamics.dynamics.native import robot as robot_c
from robot_dynamics.dynamics.native.gate import Gate, entry, gate_in_c, gate_in_numba
from robot_dynamics.dynamics.packing import pack
from robot_dynamics.errors import BackendError, NoCompilerError, ParameterError, shown
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

Result = TypeVar('Result')

#: Stands for the argument after the arrays where a call has none.
LEFT_OUT: Any = object()

BACKENDS = ('auto', 'numba', 'c')

#: Names the backend that 'auto' stands for, for a program as a whole.
VARIABLE = 'ROBOT_DYNAMICS_BACKEND'

#: Samples of a piece: enough that starting a thread for them is nothing beside them, few
#: enough that threads end together.
PIECE = 2048


class Caller:
    """What calls the equations of one robot.

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
        'c' where the equations of the robot are written out in C, else 'numba'.
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
            What to compute.
        rows : sequence of ndarray, shape (N, ...)
            C-contiguous float64 inputs.
        first : ndarray, optional
            An input before these, the same for all samples.
        out : ndarray, optional
            Where to write the only output.
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
        """Results of a single sample, or None where `evaluate` finds what is wrong."""
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
        """Function for one sample of plain arrays; all else goes on to the general method.

        Parameters
        ----------
        name, text : str
            Its name and docstring.
        equation : Equation
            What it computes.
        general : callable
            The general method.
        entries : dict
            Filled by `add_entry`: what an argument after the arrays stands for, LEFT_OUT
            for no such argument.
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
        """Add what `function` does for an argument after the arrays, or LEFT_OUT."""
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
        """Address of a kernel, and what it reads of the robot."""
        name = equation.name.rpartition('.')[2]
        if self._library is not None and name in self._names:
            address: Any = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
            return address, self._constants
        return equation.load(), data


def _nothing(*_: Any) -> None:
    """The general method of a function of `one_sample`: its caller goes on by itself."""


def _find(robot: Robot, backend: str) -> tuple[Gate, ctypes.CDLL | None]:
    """The gate and the kernels of a robot in C, as far as they are wanted and possible."""
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
    """Whether 'auto' stands for C on this machine."""
    if _default() == 'numba':
        return False
    try:
        gate_in_c()
    except (NoCompilerError, BackendError):
        return False
    return True


def _default() -> str:
    """Backend that 'auto' stands for."""
    chosen = os.environ.get(VARIABLE) or 'auto'
    if chosen not in BACKENDS:
        raise ParameterError(f'must be one of {", ".join(BACKENDS)}, got {shown(chosen)}',
                             subject=f'environment variable {VARIABLE}', remedy='or unset it')
    return chosen


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Number of threads; None stands for `available_cores`."""
    if threads is None:
        return available_cores()
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
        raise ParameterError(f'must be a positive whole number, got {threads!r}',
                             subject='threads', remedy='or None for all cores')
    return int(threads)


def in_pieces(count: int, threads: int, work: Callable[[slice], Result],
              piece: int = PIECE) -> Iterator[Result]:
    """Yield the results of ``work`` for each piece of ``count`` samples, in their order.

    A single piece, or a single thread, is worked on by the caller itself.
    """
    pieces = [slice(start, min(start + piece, count)) for start in range(0, count, piece)]
    if min(threads, len(pieces)) <= 1:
        yield from map(work, pieces)
        return
    with ThreadPoolExecutor(min(threads, len(pieces))) as pool:
        yield from pool.map(work, pieces)
