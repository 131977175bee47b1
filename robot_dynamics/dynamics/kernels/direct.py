# SPDX-License-Identifier: Apache-2.0
"""Kernels for one sample, which read numpy's arrays where they lie.

A numba function spends some 70 ns an array before it starts: it finds out the type of
each argument, then makes a counted reference to its data. With six arrays that is as much
as the equations of a six-joint arm take. A *direct* kernel takes the array objects as
they are. It compares type, element type, layout and shape itself, by reading the fields
of `PyArrayObject` that numpy documents and keeps fixed (``ndarraytypes.h``, "Array API:
data access"), takes the address of the data, and returns `REFUSED` for anything but the
plain arrays it expects; the caller then converts. The first argument, the model array,
is the caller's own and serves as the sample of a plain float64 array.

`layout_is_as_expected` checks the fields on real arrays before any kernel relies on
them. Where they lie elsewhere (another Python implementation, say), direct kernels stay
unloaded and every call takes the general way.

A direct kernel keeps Python's lock. Giving it away would save nobody anything within
a microsecond, and beside a busy thread it would have to wait for a switch interval (5 ms)
to get it back: in a control loop that is a lost cycle.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from robot_dynamics.dynamics.kernels.layout import (
    BUFFER_MARK,
    BUFFER_SIGN,
    BUFFER_SIZE,
    BUFFER_START,
    NOBODY,
    SIGN,
)
from robot_dynamics.dynamics.kernels.loading import Kernel, helper, part

#: What a direct kernel returns when it wrote its results, and when it read no further
#: than the shapes and types of its arguments.
DONE, REFUSED = 0, 1

# Offsets in bytes in a PyArrayObject of CPython on a machine with 8-byte addresses.
TYPE = 8         # address of the type
DATA = 16        # address of the first element
DIMENSIONS = 24  # int: number of axes
SHAPE = 32       # address of the lengths of the axes
BASE = 48        # address of the object whose memory a view shows, or 0
DESCRIPTOR = 56  # address of the element type
FLAGS = 64       # int

# And in the PyArray_Descr of an element type:
BYTE_ORDER = 26   # char
TYPE_NUMBER = 28  # int

#: Bodies up to which a kernel's workspace is put on the stack: some 60 kB. The smallest
#: that a system gives a thread by default has 128.
LARGEST = 64

C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400
READABLE = C_CONTIGUOUS | ALIGNED


class PythonObject(types.Opaque):
    """Address of a Python object, taken as it is."""

    def __init__(self) -> None:
        super().__init__('robot_dynamics.PythonObject')


OBJECT = PythonObject()
register_model(PythonObject)(models.OpaqueModel)


@unbox(PythonObject)
def _take_as_it_is(kind, value, context):
    return NativeValue(value)


def _reader(bits: int, result: types.Type) -> Callable[..., Any]:
    """Make a function that reads an integer at an address in an object."""
    @intrinsic
    def read(typing_context, owner, offset):
        def generate(context, builder, signature, arguments):
            base = arguments[0]
            if not isinstance(base.type, ir.PointerType):
                base = builder.inttoptr(base, ir.IntType(8).as_pointer())
            base = builder.bitcast(base, ir.IntType(8).as_pointer())
            address = builder.gep(base, [arguments[1]])
            value = builder.load(builder.bitcast(address, ir.IntType(bits).as_pointer()))
            return builder.sext(value, ir.IntType(64)) if bits < 64 else value
        return result(owner, types.int64), generate
    return read


_read_word = _reader(64, types.int64)
_read_int = _reader(32, types.int64)


@intrinsic
def _as_pointer(typing_context, address):
    """Address as an untyped pointer, for `numba.carray`."""
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
    return types.voidptr(address), generate


@intrinsic
def _on_stack(typing_context, size):
    """Address of room for a number of bytes, gone when the compiled function returns.

    Part of the function it is written in, which must not be a helper: LLVM would free
    the room where the helper ends.
    """
    def generate(context, builder, signature, arguments):
        room = builder.alloca(ir.IntType(8), size=arguments[0])
        room.align = 64
        return room
    return types.voidptr(types.int64), generate


@part
def stack_matrix(rows, columns):
    """Room for a matrix without asking for memory; its entries are not set.

    Only for a direct kernel: it is gone when the kernel returns.
    """
    return numba.carray(_on_stack(8 * rows * columns), (rows, columns), np.float64)


@helper
def _is_plain(array, model, axes, flags):
    """Whether an object is an array of the model's type with these axes and flags."""
    return (_read_word(array, TYPE) == _read_word(model, TYPE)
            and _read_word(array, DESCRIPTOR) == _read_word(model, DESCRIPTOR)
            and _read_int(array, DIMENSIONS) == axes
            and _read_int(array, FLAGS) & flags == flags)


@helper
def length(array, axis):
    """Length of an axis of an array that is known to have it."""
    return _read_word(_read_word(array, SHAPE), 8 * axis)


@helper
def body_count(model):
    """Count the bodies of a model; -1 when they are too many for the stack."""
    n = length(model, 0) - 1
    return n if n <= LARGEST else -1


@helper
def is_vector(array, model, n):
    """Whether an object is a plain array of shape (n,)."""
    return _is_plain(array, model, 1, READABLE) and length(array, 0) == n


@helper
def is_matrix_to_write(array, model, rows, columns):
    """Whether an object is a plain, writeable array of shape (rows, columns)."""
    return (_is_plain(array, model, 2, READABLE | WRITEABLE)
            and length(array, 0) == rows and length(array, 1) == columns)


@helper
def is_vector_to_write(array, model, n):
    """Whether an object is a plain, writeable array of shape (n,)."""
    return _is_plain(array, model, 1, READABLE | WRITEABLE) and length(array, 0) == n


@helper
def are_apart(one, its_size, other, other_size):
    """Whether two plain arrays of so many elements share no memory."""
    first, second = _read_word(one, DATA), _read_word(other, DATA)
    return first + 8 * its_size <= second or second + 8 * other_size <= first


@helper
def take_prepared(out, size, model, mark):
    """Whether ``out``, an array of so many elements, holds a robot's zeros already.

    It does when it shows all of the memory that
    `robot_dynamics.dynamics.packing.prepared_buffer` gave and this robot's tree was the
    last to write into it. Otherwise, if it shows such memory, that is now marked as this
    robot's, who has to write the zeros; or as nobody's, if it is only a part of it.
    """
    base = _read_word(out, BASE)
    if base == 0 or not (_is_plain(base, model, 1, READABLE) and length(base, 0) > BUFFER_START):
        return False
    start = _read_word(base, DATA)
    head = numba.carray(_as_pointer(start), (BUFFER_START,), np.float64)
    if head[BUFFER_SIGN] != SIGN:
        return False
    is_whole = (_read_word(out, DATA) == start + 8 * BUFFER_START
                and head[BUFFER_SIZE] == size)
    if is_whole and head[BUFFER_MARK] == mark:
        return True
    head[BUFFER_MARK] = mark if is_whole else NOBODY
    return False


@helper
def vector(array, n):
    """View a plain array as one of shape (n,)."""
    return numba.carray(_as_pointer(_read_word(array, DATA)), (n,), np.float64)


@helper
def matrix(array, rows, columns):
    """View a plain array as one of shape (rows, columns)."""
    return numba.carray(_as_pointer(_read_word(array, DATA)), (rows, columns), np.float64)


class DirectKernel(Kernel):
    """A kernel whose arguments are array objects."""

    __slots__ = ()

    def _callable(self) -> Callable[..., Any]:
        if not layout_is_as_expected():
            return self._not_loaded
        (compiled,) = self._dispatcher.overloads.values()
        return compiled.entry_point


def direct_kernel(function: Callable[..., Any]) -> DirectKernel:
    """Make a `DirectKernel` of a function."""
    count = function.__code__.co_argcount
    return DirectKernel(function, types.int64(*[OBJECT] * count))


def layout_is_as_expected() -> bool:
    """Check on real arrays that `PyArrayObject` has its fields where we read them."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    return all(_fields_are_in_place(array) for array in (
        np.zeros(3), np.zeros((2, 5)), np.zeros((4, 3)).T, np.zeros(6, np.float32)[::2],
        np.zeros(2, bool), np.zeros(2, np.dtype(np.float64).newbyteorder())))


def _fields_are_in_place(array: np.ndarray) -> bool:
    """Compare the fields of one array with what numpy says of it."""
    def word(address: int) -> int:
        return ctypes.c_int64.from_address(address).value

    def integer(address: int) -> int:
        return ctypes.c_int32.from_address(address).value

    if type(array).__basicsize__ < FLAGS + 4:
        return False
    start = id(array)
    shape, strides = word(start + SHAPE), word(start + SHAPE + 8)
    # numpy keeps lengths and strides side by side; whoever finds them so has found them,
    # and may look there.
    if strides - shape != 8 * array.ndim:
        return False
    flags = array.flags
    expected = (C_CONTIGUOUS * flags.c_contiguous | ALIGNED * flags.aligned
                | WRITEABLE * flags.writeable)
    return (word(start + TYPE) == id(type(array))
            and word(start + DATA) == array.ctypes.data
            and integer(start + DIMENSIONS) == array.ndim
            and word(start + BASE) == (0 if array.base is None else id(array.base))
            and word(start + DESCRIPTOR) == id(array.dtype)
            and integer(id(array.dtype) + TYPE_NUMBER) == array.dtype.num
            and ctypes.string_at(id(array.dtype) + BYTE_ORDER, 1) == array.dtype.byteorder.encode()
            and integer(start + FLAGS) & (READABLE | WRITEABLE) == expected
            and all(word(shape + 8 * axis) == length
                    for axis, length in enumerate(array.shape)))
