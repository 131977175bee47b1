# SPDX-License-Identifier: Apache-2.0
"""A number that stands for several samples side by side, for kernels over batches.

A value of type `LANES` holds one float64 of each of `LANE_COUNT` samples in one register of the
processor. Sums, products and the functions of `robot_dynamics.dynamics.kernels.lanes_math`
work on all of them at once, a plain float stands for the same number in each, and a table
of such values is an array to numba. So the very equations that serve one sample, and the
helpers of `robot_dynamics.dynamics.kernels.algebra`, serve `LANE_COUNT` samples when they get
tables of this type: branches ask for the robot, never for the sample.

LLVM compiles vector types for every processor. `LANE_COUNT` is what a register of this one
holds: eight where it has AVX-512, else four, which is one register of AVX or two of less.
"""

from __future__ import annotations

import operator
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, register_model
from numba.np.arrayobj import make_array, populate_array

from robot_dynamics.dynamics.kernels.loading import part

#: Number of samples side by side.
LANE_COUNT = 8 if llvmlite.binding.get_host_cpu_features().get('avx512f') else 4

#: Memory is read and written one register at a time, which is fast where it lies on
#: multiples of the size of a register. In float64.
ALIGNMENT = 8

_VECTOR = ir.VectorType(ir.DoubleType(), LANE_COUNT)
_INDEX = ir.IntType(32)


class LanesType(types.Type):
    """One float64 of each of `LANE_COUNT` samples."""

    def __init__(self) -> None:
        super().__init__(f'robot_dynamics.Lanes{LANE_COUNT}')

    def can_convert_from(self, typing_context: Any, other: types.Type) -> Conversion | None:
        """Let a float stand for the same number in each lane."""
        return Conversion.safe if isinstance(other, types.Float) else None

    def unify(self, typing_context: Any, other: types.Type) -> types.Type | None:
        """Say that what may be this or a float is this."""
        return self if isinstance(other, types.Float) else None


LANES = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: types.Type):
        super().__init__(manager, kind, _VECTOR)


def constant(value: float) -> ir.Constant:
    """Return the same number in each lane, for generated code."""
    return ir.Constant(_VECTOR, [value] * LANE_COUNT)


def _places(*numbers: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(_INDEX, len(numbers)), list(numbers))


@lower_cast(types.Float, LanesType)
def _same_in_each_lane(context, builder, kind, wanted, value):
    value = builder.fpext(value, ir.DoubleType()) if kind.bitwidth < 64 else value
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(first, nothing, _places(*[0] * LANE_COUNT))


def _define_arithmetic(symbol: Any, instruction: str) -> None:
    """Let an operator of two numbers, at least one of them in lanes, be one instruction."""
    @infer_global(symbol)
    class Typing(AbstractTemplate):
        def generic(self, args, kws):
            kinds = [type(x) for x in args]
            fits = all(issubclass(kind, (LanesType, types.Float)) for kind in kinds)
            return signature(LANES, LANES, LANES) if fits and LanesType in kinds else None

    @lower_builtin(symbol, LanesType, LanesType)
    def lower(context, builder, kind, args):
        return getattr(builder, instruction)(*args)


for _operator, _instruction in ((operator.add, 'fadd'), (operator.sub, 'fsub'),
                                (operator.mul, 'fmul'), (operator.truediv, 'fdiv')):
    _define_arithmetic(_operator, _instruction)
# Written for names; on values that cannot change they mean the same.
for _operator, _instruction in ((operator.iadd, 'fadd'), (operator.isub, 'fsub'),
                                (operator.imul, 'fmul'), (operator.itruediv, 'fdiv')):
    _define_arithmetic(_operator, _instruction)


@infer_global(operator.neg)
class _Negation(AbstractTemplate):
    def generic(self, args, kws):
        return signature(LANES, LANES) if args == (LANES,) else None


@lower_builtin(operator.neg, LanesType)
def _negate(context, builder, kind, args):
    return builder.fsub(constant(-0.0), args[0])


@intrinsic
def same(typing_context, x):
    """Return a float in each lane."""
    def generate(context, builder, kind, args):
        return args[0]
    return LANES(LANES), generate


@intrinsic
def total(typing_context, x):
    """Sum of all lanes, halves first."""
    def generate(context, builder, kind, args):
        value, width = args[0], LANE_COUNT
        while width > 1:
            width //= 2
            low = builder.shuffle_vector(value, value, _places(*range(width)))
            high = builder.shuffle_vector(value, value, _places(*range(width, 2 * width)))
            value = builder.fadd(low, high)
        return builder.extract_element(value, ir.Constant(_INDEX, 0))
    return types.float64(LANES), generate


@intrinsic
def as_lanes(typing_context, array):
    """View a C-contiguous float64 array of shape (..., LANE_COUNT) as lanes, shape (...)."""
    count = array.ndim - 1
    lanes = types.Array(LANES, count, 'C', aligned=False)

    def generate(context, builder, kind, args):
        given = make_array(array)(context, builder, args[0])
        view = make_array(lanes)(context, builder)
        populate_array(view, data=builder.bitcast(given.data, view.data.type),
                       shape=cgutils.unpack_tuple(builder, given.shape, count + 1)[:-1],
                       strides=cgutils.unpack_tuple(builder, given.strides, count + 1)[:-1],
                       itemsize=context.get_constant(types.intp, 8 * LANE_COUNT),
                       meminfo=given.meminfo, parent=None)
        return impl_ret_borrowed(context, builder, lanes, view._getvalue())
    return lanes(array), generate


@part
def aligned(size):
    """Room for so many float64, fit for registers; its entries are not set."""
    room = np.empty(size + ALIGNMENT - 1)
    past = (room.ctypes.data // 8) % ALIGNMENT
    start = (ALIGNMENT - past) % ALIGNMENT
    return room[start:start + size]


@part
def lane_table(rows, columns):
    """Room for a table of lanes; its entries are not set."""
    return as_lanes(aligned(rows * columns * LANE_COUNT).reshape(rows, columns, LANE_COUNT))


@part
def gather(x, first, room):
    """Put the rows first, first + 1, ... of x side by side: room[i, l] = x[first + l, i].

    Past the last row of x, that row again.
    """
    for lane in range(LANE_COUNT):
        k = min(first + lane, x.shape[0] - 1)
        for i in range(x.shape[1]):
            room[i, lane] = x[k, i]


@intrinsic
def group(typing_context, table, start):
    """Return `LANE_COUNT` neighbours of a one-dimensional table of lanes, as a tuple."""
    several = types.UniTuple(LANES, LANE_COUNT)

    def generate(context, builder, kind, args):
        first = builder.gep(make_array(table)(context, builder, args[0]).data, [args[1]])
        values = [builder.load(builder.gep(first, [ir.Constant(_INDEX, k)]), align=8)
                  for k in range(LANE_COUNT)]
        return context.make_tuple(builder, several, values)
    return several(table, types.intp), generate


@intrinsic
def put_rows(typing_context, values, out, position, stride):
    """Write a tuple of lanes as a piece of one row for each sample.

    Entry c of lane l goes to ``out[position + l stride + c]``; out is a flat float64
    array. As many entries as there are lanes are turned as a square and written whole, what
    is left over in pairs.
    """
    def generate(context, builder, kind, args):
        memory = make_array(out)(context, builder, args[1]).data
        starts = [builder.add(args[2], builder.mul(args[3], ir.Constant(args[3].type, lane)))
                  for lane in range(LANE_COUNT)]
        rows = [builder.gep(memory, [start]) for start in starts]
        entries = cgutils.unpack_tuple(builder, args[0], values.count)
        whole = values.count // LANE_COUNT * LANE_COUNT
        for c in range(0, whole, LANE_COUNT):
            turned = _transposed(builder, entries[c:c + LANE_COUNT])
            for row, piece in zip(rows, turned, strict=True):
                place = builder.gep(row, [ir.Constant(_INDEX, c)])
                builder.store(piece, builder.bitcast(place, _VECTOR.as_pointer()), align=8)
        for c in range(whole, values.count - 1, 2):
            for lane, row in enumerate(rows):
                pair = builder.shuffle_vector(entries[c], entries[c + 1],
                                              _places(lane, LANE_COUNT + lane))
                place = builder.gep(row, [ir.Constant(_INDEX, c)])
                builder.store(pair, builder.bitcast(place, pair.type.as_pointer()), align=8)
        if values.count % 2:
            for lane, row in enumerate(rows):
                value = builder.extract_element(entries[-1], ir.Constant(_INDEX, lane))
                builder.store(value, builder.gep(row, [ir.Constant(_INDEX, values.count - 1)]))
        return context.get_dummy_value()
    return types.none(values, out, types.intp, types.intp), generate


def _transposed(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """Transpose a square of `LANE_COUNT` vectors: swap its off-diagonal halves, then theirs."""
    half = LANE_COUNT // 2
    while half:
        keep = [LANE_COUNT + k - half if k & half else k for k in range(LANE_COUNT)]
        swap = [LANE_COUNT + k if k & half else k + half for k in range(LANE_COUNT)]
        after = list(rows)
        for k in range(LANE_COUNT):
            if not k & half:
                pair = rows[k], rows[k + half]
                after[k] = builder.shuffle_vector(*pair, _places(*keep))
                after[k + half] = builder.shuffle_vector(*pair, _places(*swap))
        rows, half = after, half // 2
    return rows


@part
def write_rows(table, first, out):
    """Write a one-dimensional table: out[first + l, c] is entry c of lane l.

    Only as many lanes as out has rows left.
    """
    count = out.shape[1]
    if count >= LANE_COUNT and first + LANE_COUNT <= out.shape[0]:
        flat = out.reshape(out.size)
        for c in range(0, count - LANE_COUNT, LANE_COUNT):
            put_rows(group(table, c), flat, first * count + c, count)
        last = count - LANE_COUNT
        put_rows(group(table, last), flat, first * count + last, count)
    else:
        block = np.empty(LANE_COUNT * count)
        for c in range(count):
            put_rows((table[c],), block, c, count)
        for lane in range(min(LANE_COUNT, out.shape[0] - first)):
            for c in range(count):
                out[first + lane, c] = block[lane * count + c]
