# SPDX-License-Identifier: Apache-2.0
"""The gate between Python and kernels, ``gate.c`` or its translation for numba.

Both are compiled once per machine.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from robot_dynamics.dynamics.native import numba_gate
from robot_dynamics.dynamics.native.build import open_library
from robot_dynamics.dynamics.native.numba_gate import (
    DATA,
    DESCRIPTOR,
    DIMENSIONS,
    FLAGS,
    MOST_INPUTS,
    READABLE,
    SHAPE,
    TYPE,
)
from robot_dynamics.errors import BackendError
from robot_dynamics.model.arrays import FloatArray

_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x0001, 0x0100, 0x0400

#: Fields of ``python`` in gate.c, in order. Python 3.10 has no function PyObject_Vectorcall.
_FUNCTIONS_OF_PYTHON = (
    'PyObject_VectorcallDict', 'PyTuple_Size', 'PyTuple_GetItem', 'PyTuple_New',
    'PyTuple_SetItem', 'PyDict_New', 'PyDict_SetItem', 'PyDict_GetItemWithError', 'PyErr_Clear',
    'Py_DecRef')

# Arguments come as a C array with the names of the last ones (methodobject.h).
_METH_FASTCALL, _METH_KEYWORDS = 0x0080, 0x0002

#: Constants that gate.c gets from here.
_DEFINED = ('TYPE', 'DATA', 'DIMENSIONS', 'SHAPE', 'DESCRIPTOR', 'FLAGS', 'READABLE',
            'MOST_INPUTS')

_ARGUMENTS_OF_RUN = *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 4

#: Size of results, in bytes, above which stores bypass the cache.
_PAST_CACHE = 8 * 2**20


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('text', ctypes.c_char_p))


class Gate:
    """Python functions that call kernels, and loops over many samples.

    Parameters
    ----------
    call : int, optional
        Address of ``call``; without it functions use their general methods.
    run : int
        Address of ``run_rows``.
    """

    def __init__(self, call: int | None, run: int):
        self._call = call
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, *_ARGUMENTS_OF_RUN)(run)
        # Python refers to a definition as long as its function exists.
        self._definitions: dict[str, _Definition] = {}
        self._lock = threading.Lock()

    def function(self, name: str, text: str, general: Callable[..., Any],
                 entries: dict[Any, tuple[Any, ...]], default: tuple[Any, ...], key: str,
                 ) -> Callable[..., Any]:
        """Function of Python that calls a kernel for plain arrays of one sample.

        Parameters
        ----------
        name, text : str
            Its name and docstring.
        general : callable
            The method for all other arguments.
        entries : dict
            Entries by value of the argument after the arrays; see `entry`.
        default : tuple
            The entry without such an argument.
        key : str
            The name of that argument.
        """
        if self._call is None:
            return general
        with self._lock:
            if name not in self._definitions:
                self._definitions[name] = _Definition(
                    name.encode(), self._call, _METH_FASTCALL | _METH_KEYWORDS, text.encode())
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.POINTER(_Definition), ctypes.py_object, ctypes.c_void_p)
        bound = general, np.empty, np.zeros(1), entries, default, sys.intern(key)
        return make(ctypes.byref(self._definitions[name]), bound, None)

    def run(self, address: int, robot: FloatArray, inputs: Sequence[FloatArray],
            outputs: Sequence[FloatArray], count: int, shared: int) -> int:
        """Run a kernel on the rows of arrays; the GIL is released.

        The first ``shared`` inputs are the same for all samples. Returns the first status that
        is not zero.
        """
        strides = [0 if k < shared else x.size // max(count, 1) for k, x in enumerate(inputs)]
        strides += [x.size // max(count, 1) for x in outputs]
        return self._run(
            address, robot.ctypes.data,
            (ctypes.c_void_p * len(inputs))(*(x.ctypes.data for x in inputs)),
            (ctypes.c_void_p * len(outputs))(*(x.ctypes.data for x in outputs)),
            (ctypes.c_int64 * len(strides))(*strides), len(inputs), len(outputs), count,
            sum(x.nbytes for x in outputs) >= _PAST_CACHE)


def entry(address: int, robot: FloatArray, lengths: Sequence[int],
          shapes: Sequence[tuple[int, ...]], first: FloatArray | None = None,
          result: type | None = None, twice: int = -1) -> tuple[Any, ...]:
    """Data of a call of a kernel by `Gate.function`; keeps references to the arrays.

    Parameters
    ----------
    address : int
        Of the kernel.
    robot : ndarray
        Robot data for the kernel.
    lengths, shapes : sequence
        Lengths of the inputs and shapes of the outputs.
    first : ndarray, optional
        An input before those of the caller.
    result : type, optional
        Named tuple of the outputs.
    twice : int, optional
        Index of the input of the caller that the kernel gets twice.
    """
    plan = np.zeros(6 + MOST_INPUTS, np.int64)
    plan[:6] = (address, robot.ctypes.data, 0 if first is None else first.ctypes.data,
                len(lengths), len(shapes), twice)
    plan[6:6 + len(lengths)] = lengths
    kept = plan, tuple(shapes), (robot, first)
    return kept if result is None else (*kept, tuple.__new__, result)


@cache
def gate_in_c() -> Gate:
    """The gate of this process in C.

    Raises
    ------
    NoCompilerError
        Without a C compiler.
    BackendError
        If it cannot be compiled or loaded.
    """
    if not _layout_is_as_expected():
        raise BackendError('needs the arrays of CPython on a 64-bit machine',
                           subject="backend 'c'", remedy="use backend 'numba'")
    source = '\n'.join([*(f'#define {name} {globals()[name]}' for name in _DEFINED),
                        files(__package__).joinpath('gate.c').read_text(encoding='utf-8')])
    key = hashlib.sha256(source.encode()).hexdigest()
    library = open_library(key, lambda: source, subject='the gate to Python')
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
                 for name in _FUNCTIONS_OF_PYTHON]
    library.connect_to_python((ctypes.c_void_p * len(addresses))(*addresses))
    call, run = (ctypes.cast(getattr(library, name), ctypes.c_void_p).value
                 for name in ('call', 'run_rows'))
    assert run is not None
    return Gate(call, run)


@cache
def gate_in_numba() -> Gate:
    """The gate of this process without a C compiler."""
    return Gate(numba_gate.CALL.load() if _layout_is_as_expected() else None,
                numba_gate.RUN_ROWS.load())


def _layout_is_as_expected() -> bool:
    """Check on real arrays that `PyArrayObject` has its fields where gate.c reads them."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.implementation.name != 'cpython':
        return False
    return all(_fields_are_in_place(array) for array in (
        np.zeros(3), np.zeros((2, 5)), np.zeros((4, 3)).T, np.zeros(6, np.float32)[::2],
        np.zeros(2, bool), np.zeros(2, np.dtype(np.float64).newbyteorder())))


def _fields_are_in_place(array: np.ndarray) -> bool:
    """Compare the fields of one array with what numpy reports."""
    def word(address: int) -> int:
        return ctypes.c_int64.from_address(address).value

    def integer(address: int) -> int:
        return ctypes.c_int32.from_address(address).value

    if type(array).__basicsize__ < FLAGS + 4:
        return False
    start = id(array)
    shape, strides = word(start + SHAPE), word(start + SHAPE + 8)
    # numpy stores lengths and strides contiguously; only then they may be read.
    if strides - shape != 8 * array.ndim:
        return False
    flags = array.flags
    expected = (_C_CONTIGUOUS * flags.c_contiguous | _ALIGNED * flags.aligned
                | _WRITEABLE * flags.writeable)
    return (word(start + TYPE) == id(type(array))
            and word(start + DATA) == array.ctypes.data
            and integer(start + DIMENSIONS) == array.ndim
            and word(start + DESCRIPTOR) == id(array.dtype)
            and integer(start + FLAGS) & (READABLE | _WRITEABLE) == expected
            and all(word(shape + 8 * axis) == length
                    for axis, length in enumerate(array.shape)))
