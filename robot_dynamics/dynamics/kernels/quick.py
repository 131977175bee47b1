# SPDX-License-Identifier: Apache-2.0
"""Kernels that begin at once, for what a control loop calls many times a sample.

numba spends some 70 ns on each array before a kernel starts: it finds out its type, then
makes a counted reference to its data. A controller's kernels take about ten arrays of a few
numbers each, so that this is most of their time. A *quick* kernel is written and called like
any other, and as strict about its arrays: those that are not writeable, contiguous and of the
types of the signature are a TypeError. But it reads them where they lie, from the documented
fields of `PyArrayObject` that `robot_dynamics.dynamics.kernels.direct` reads too, in some 5 ns
each. The caller holds them until it returns, so nothing is counted; it cannot return an array.

Like a direct kernel it keeps Python's lock: it is over in microseconds, and would have to wait
for the lock beside a busy thread. Where the fields lie elsewhere it is an ordinary kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, sigutils
from numba.extending import NativeValue, models, register_model, unbox
from numba.np import arrayobj, numpy_support

from robot_dynamics.dynamics.kernels.direct import (
    BYTE_ORDER,
    DATA,
    DESCRIPTOR,
    DIMENSIONS,
    FLAGS,
    READABLE,
    SHAPE,
    TYPE,
    TYPE_NUMBER,
    WRITEABLE,
    layout_is_as_expected,
)
from robot_dynamics.dynamics.kernels.loading import Kernel

#: Name of the type of arrays in compiled code, which outlives the process and its addresses.
_ARRAY_TYPE = 'robot_dynamics_array_type'
llvmlite.binding.add_symbol(_ARRAY_TYPE, id(np.ndarray))

#: What an element type of the other byte order has in its descriptor.
_SWAPPED = ord('>' if sys.byteorder == 'little' else '<')

_BYTE, _INT, _WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)


class PlainArray(types.Array):
    """A contiguous, writeable array that is read where it lies."""

    def __init__(self, kind: types.Array):
        super().__init__(kind.dtype, kind.ndim, 'C', name=f'plain {kind.name}')


register_model(PlainArray)(models.ArrayModel)


@unbox(PlainArray)
def _take_where_it_lies(kind, array, context):
    """Write code that makes a native array of an object, or raises TypeError."""
    builder = context.builder
    native = context.context.make_array(kind)(context.context, builder)
    fits = cgutils.alloca_once_value(builder, cgutils.false_bit)
    with builder.if_then(_is_array(builder, array)):  # nothing else has the other fields
        is_plain = _is_plain(builder, array, kind)
        builder.store(is_plain, fits)
        with builder.if_then(is_plain):
            item = context.context.get_data_type(kind.dtype)
            _show(builder, array, kind, item.as_pointer(), native)
    is_error = builder.not_(builder.load(fits))
    with builder.if_then(is_error, likely=False):
        context.pyapi.err_set_string('PyExc_TypeError', f'an argument is no {kind.name}')
    return NativeValue(native._getvalue(), is_error=is_error)


def _is_array(builder, array):
    """Whether an object is an array, and of no subclass."""
    known = builder.module.globals
    array_type = known[_ARRAY_TYPE] if _ARRAY_TYPE in known else cgutils.add_global_variable(
        builder.module, _BYTE, _ARRAY_TYPE)
    return builder.icmp_unsigned('==', _read(builder, array, TYPE, _WORD),
                                 builder.ptrtoint(array_type, _WORD))


def _is_plain(builder, array, kind):
    """Whether an array has the element type, the axes and the flags."""
    wanted = _INT(READABLE | WRITEABLE)
    descriptor = _read(builder, array, DESCRIPTOR, _WORD)
    number = numpy_support.as_dtype(kind.dtype).num
    checks = [
        ('==', builder.and_(_read(builder, array, FLAGS, _INT), wanted), wanted),
        ('==', _read(builder, array, DIMENSIONS, _INT), _INT(kind.ndim)),
        ('==', _read(builder, descriptor, TYPE_NUMBER, _INT), _INT(number)),
        ('!=', _read(builder, descriptor, BYTE_ORDER, _BYTE), _BYTE(_SWAPPED))]
    good = cgutils.true_bit
    for check in checks:
        good = builder.and_(good, builder.icmp_unsigned(*check))
    return good


def _show(builder, array, kind, pointer, native):
    """Let a native array show the memory of a plain one."""
    size = numpy_support.as_dtype(kind.dtype).itemsize
    lengths = _read(builder, array, SHAPE, _WORD)
    shape = [_read(builder, lengths, 8 * axis, _WORD) for axis in range(kind.ndim)]
    strides = [_WORD(size)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(_read(builder, array, DATA, _WORD), pointer)
    arrayobj.populate_array(native, data=data, shape=shape, strides=strides,
                            itemsize=_WORD(size), meminfo=None)


def _read(builder, owner, offset, kind):
    """Read an integer at an offset in bytes in an object or from an address."""
    if not isinstance(owner.type, ir.PointerType):
        owner = builder.inttoptr(owner, _BYTE.as_pointer())
    address = builder.gep(builder.bitcast(owner, _BYTE.as_pointer()), [_INT(offset)])
    return builder.load(builder.bitcast(address, kind.as_pointer()))


class QuickKernel(Kernel):
    """A kernel whose arrays are read where they lie."""

    __slots__ = ()

    def _callable(self) -> Callable[..., Any]:
        (compiled,) = self._dispatcher.overloads.values()
        return compiled.entry_point


def quick_kernel(signature: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a `QuickKernel` of a function."""
    return _quick(signature, is_on_demand=False)


def quick_kernel_on_demand(signature: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a `QuickKernel` that few need, who load it before they begin."""
    return _quick(signature, is_on_demand=True)


def _quick(signature: str, *, is_on_demand: bool) -> Callable[[Callable[..., Any]], Kernel]:
    if not layout_is_as_expected():
        return lambda function: Kernel(function, signature, is_on_demand=is_on_demand, nogil=True)
    arguments, result = sigutils.normalize_signature(signature)
    plain = [PlainArray(kind) if isinstance(kind, types.Array) else kind for kind in arguments]
    return lambda function: QuickKernel(function, result(*plain), is_on_demand=is_on_demand)
