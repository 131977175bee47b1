# SPDX-License-Identifier: Apache-2.0
r"""Sine, cosine and hyperbolic tangent of several samples at once.

With k = round(x / (pi/2)) and r = x - k pi/2, at most pi/4 in size, sin x and cos x are up
to sign sin r and cos r, or the other way round where k is odd. Their Taylor series are cut
where the next term is below 1e-17 of the result. pi/2 comes in three parts, the first two of
33 bits, so that k times a part and the first differences are exact: r is right to the last
bit or two even next to a zero. (W. J. Cody, W. Waite, "Software Manual for the Elementary
Functions", reduction of the argument.)

Where a sample is larger than that works for, or is nan, all are left to the C library.
"""

import math

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from robot_dynamics.dynamics.kernels.lanes import (
    LANE_COUNT,
    LANES,
    LanesType,
    constant,
)
from robot_dynamics.dynamics.kernels.loading import helper
from robot_dynamics.dynamics.kernels.pose import sine_and_cosine

#: k fits in the 20 bits that the parts of pi/2 leave free.
LARGEST = 1e6
HALF_PI = (float.fromhex('0x1.921fb544p+0'), float.fromhex('0x1.0b4611a6p-34'),
           float.fromhex('0x1.3198a2e037073p-69'))

S3, S5, S7, S9, S11, S13, S15, S17 = ((-1.0)**(k // 2) / math.factorial(k)
                                     for k in range(3, 18, 2))
C2, C4, C6, C8, C10, C12, C14, C16 = ((-1.0)**(k // 2) / math.factorial(k)
                                     for k in range(2, 17, 2))


@intrinsic
def floor(typing_context, x):
    """Return the largest whole number not above x, in each lane."""
    def generate(context, builder, kind, args):
        vector = args[0].type
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f'llvm.floor.v{LANE_COUNT}f64')
        return builder.call(function, args)
    return LANES(LANES), generate


@intrinsic
def where_above(typing_context, x, limit, yes, no):
    """Return in each lane ``yes`` where x is above a limit, else ``no``."""
    def generate(context, builder, kind, args):
        x, limit, yes, no = args
        return builder.select(builder.fcmp_ordered('>', x, limit), yes, no)
    return LANES(LANES, LANES, LANES, LANES), generate


@intrinsic
def all_within(typing_context, x, limit):
    """Whether all lanes are within -limit and limit; nan is not."""
    def generate(context, builder, kind, args):
        x, limit = args
        below = builder.fcmp_ordered('<=', x, limit)
        above = builder.fcmp_ordered('>=', x, builder.fsub(constant(-0.0), limit))
        bits = builder.bitcast(builder.and_(below, above), ir.IntType(LANE_COUNT))
        every = ir.Constant(bits.type, 2**LANE_COUNT - 1)
        return builder.icmp_unsigned('==', bits, every)
    return types.boolean(LANES, LANES), generate


@intrinsic
def entry(typing_context, x, lane):
    """One lane as a float."""
    def generate(context, builder, kind, args):
        return builder.extract_element(*args)
    return types.float64(LANES, types.intp), generate


@intrinsic
def with_entry(typing_context, x, lane, value):
    """X with another value in one lane."""
    def generate(context, builder, kind, args):
        x, lane, value = args
        return builder.insert_element(x, value, lane)
    return LANES(LANES, types.intp, types.float64), generate


@helper
def quarter_turns(x):
    """Return k and r."""
    k = floor(x * (2.0 / math.pi) + 0.5)
    return k, ((x - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2]


@helper
def sine_series(r):
    """Sine of at most pi/4."""
    z = r * r
    return r + r * z * (S3 + z * (S5 + z * (S7 + z * (S9 + z * (S11 + z * (S13 + z * (
        S15 + z * S17)))))))


@helper
def cosine_series(r):
    """Cosine of at most pi/4."""
    z = r * r
    return 1.0 + z * (C2 + z * (C4 + z * (C6 + z * (C8 + z * (C10 + z * (C12 + z * (
        C14 + z * C16)))))))


@helper
def sines_after_turns(r, k):
    """Sine and cosine of r + k pi/2."""
    s, c = sine_series(r), cosine_series(r)
    turns = k - 4.0 * floor(0.25 * k)
    odd = turns - 2.0 * floor(0.5 * turns)
    sine, cosine = where_above(odd, 0.5, c, s), where_above(odd, 0.5, s, c)
    # Sines are negative after 2 or 3 quarter turns, cosines after 1 or 2.
    past = turns - 1.5
    return (where_above(past, 0.0, -sine, sine),
            where_above(past * past, 1.0, cosine, -cosine))


@helper
def sine_and_cosine_of_lanes(x):
    """Sine and cosine of x."""
    if not all_within(x, LARGEST):
        s, c = x, x
        for lane in range(LANE_COUNT):
            s = with_entry(s, lane, math.sin(entry(x, lane)))
            c = with_entry(c, lane, math.cos(entry(x, lane)))
        return s, c
    k, r = quarter_turns(x)
    return sines_after_turns(r, k)


@helper
def hyperbolic_tangent(x):
    """tanh(x), by the C library."""
    y = x
    for lane in range(LANE_COUNT):
        y = with_entry(y, lane, math.tanh(entry(x, lane)))
    return y


def _serve(function, ours):
    """Let kernels written for floats find what they call for lanes."""
    @overload(function, inline='always')
    def choose(x):
        return (lambda x: ours(x)) if isinstance(x, LanesType) else None


_serve(sine_and_cosine, sine_and_cosine_of_lanes)
_serve(math.tanh, hyperbolic_tangent)
