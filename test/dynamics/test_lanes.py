# SPDX-License-Identifier: Apache-2.0
"""Numbers that stand for several samples: what each lane gets is what a float would get."""

import math
import operator

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from robot_dynamics.dynamics.kernels import lanes_math
from robot_dynamics.dynamics.kernels.lanes import (
    LANE_COUNT,
    as_lanes,
    gather,
    group,
    put_rows,
    same,
    total,
    write_rows,
)
from robot_dynamics.dynamics.kernels.lanes_memory import copy, finish_copies
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.dynamics.kernels.pose import sine_and_cosine


@kernel('void(float64[:, :, ::1], float64[:, :, ::1])', on_demand=True, nogil=True)
def calculate(values, results):
    """Everything that lanes can do, of the numbers x, y; k is a plain float."""
    x, y, k = as_lanes(values)[0, 0], as_lanes(values)[0, 1], 0.75
    out = as_lanes(results)
    out[0, 0] = x + y
    out[0, 1] = x - y
    out[0, 2] = x * y
    out[0, 3] = x / y
    out[0, 4] = -x
    out[0, 5] = k - x
    out[0, 6] = k / y + k
    out[0, 7], out[0, 8] = sine_and_cosine(x)
    out[0, 9] = math.tanh(x)
    out[0, 10] = k
    out[0, 11] = same(total(x))
    z = x
    z += y
    z *= k
    z -= x
    z /= y
    out[0, 12] = z
    out[0, 13] = lanes_math.floor(x)


@kernel('void(float64[:, ::1], float64[:, :, ::1], float64[:, ::1])', on_demand=True, nogil=True)
def turn(x, room, out):
    """Rows of x side by side and back again, where they come from."""
    for sample in range(0, x.shape[0], LANE_COUNT):
        gather(x, sample, room[0])
        write_rows(as_lanes(room)[0], sample, out)


@kernel('void(float64[:, :, ::1], float64[::1], int64, int64)', on_demand=True, nogil=True)
def spread(room, out, position, stride):
    """`LANE_COUNT` + 3 neighbours of a table, as a piece of a row for each sample."""
    table = as_lanes(room)[0]
    rest = table[LANE_COUNT], table[LANE_COUNT + 1], table[LANE_COUNT + 2]
    put_rows(group(table, 0) + rest, out, position, stride)


@kernel('void(float64[::1], int64, float64[::1], int64, boolean)', on_demand=True, nogil=True)
def move(source, count, memory, start, past_cache):
    """Copy, and wait for the copy."""
    copy(source, count, memory, start, past_cache)
    finish_copies()


def calculated(x, y):
    """Results of `calculate`, one row each, for two numbers of each lane."""
    values = np.array([x, y]).reshape(1, 2, LANE_COUNT)
    results = np.full((1, 14, LANE_COUNT), np.nan)
    calculate.load()(values, results)
    return results[0]


def test_arithmetic_is_that_of_floats():
    x, y = np.random.default_rng(0).uniform(-3.0, 3.0, (2, LANE_COUNT))
    results, k = calculated(x, y), 0.75
    exact = [x + y, x - y, x * y, x / y, -x, k - x]
    np.testing.assert_array_equal(results[:6], exact)
    # The rest may be fused or summed in another order.
    expected = [k / y + k, np.sin(x), np.cos(x), np.tanh(x), np.full_like(x, k),
                np.full_like(x, x.sum()), ((x + y) * k - x) / y, np.floor(x)]
    np.testing.assert_allclose(results[6:], expected, rtol=1e-14, atol=1e-15)


def test_zero_keeps_its_sign():
    results = calculated(np.zeros(LANE_COUNT), np.ones(LANE_COUNT))
    assert np.all(np.signbit(results[4])) and not np.any(np.signbit(results[7]))
    results = calculated(np.full(LANE_COUNT, -0.0), np.ones(LANE_COUNT))
    assert not np.any(np.signbit(results[4]))


def sines(x):
    """Sine and cosine of any number of values, by lanes."""
    padded = np.append(x, np.zeros(-len(x) % LANE_COUNT)).reshape(-1, LANE_COUNT)
    results = [calculated(row, np.ones(LANE_COUNT)) for row in padded]
    return (np.concatenate([result[7] for result in results])[:len(x)],
            np.concatenate([result[8] for result in results])[:len(x)])


@pytest.mark.parametrize('spread', [1.0, 10.0, 1e3, 0.99e6, 1e9, 1e300])
def test_sine_and_cosine_to_the_last_digits(spread):
    x = np.random.default_rng(1).uniform(-spread, spread, 3000)
    expected = [math.sin(value) for value in x], [math.cos(value) for value in x]
    for ours, right in zip(sines(x), expected, strict=True):
        np.testing.assert_allclose(ours, right, rtol=4e-16, atol=2e-16)


def test_sine_next_to_its_zeros_has_all_its_digits():
    """Where the reduction of the argument loses nearly all of it."""
    turns = np.concatenate([np.arange(1.0, 200.0), [6.0e5, 123457.0]])
    x = np.concatenate([turns * np.pi, np.nextafter(turns * np.pi, np.inf)])
    ours, _ = sines(x)
    np.testing.assert_allclose(ours, [math.sin(value) for value in x], rtol=4e-16)
    x = np.concatenate([(turns - 0.5) * np.pi, np.nextafter((turns - 0.5) * np.pi, 0.0)])
    _, ours = sines(x)
    np.testing.assert_allclose(ours, [math.cos(value) for value in x], rtol=4e-16)


@pytest.mark.parametrize('wild', [np.nan, np.inf, -np.inf, 1e200])
def test_a_wild_sample_leaves_the_others_alone(wild):
    x = np.linspace(-3.0, 3.0, LANE_COUNT)
    x[1] = wild
    others = np.arange(LANE_COUNT) != 1
    results = calculated(x, np.ones(LANE_COUNT))
    np.testing.assert_allclose(results[7][others], np.sin(x[others]), rtol=1e-15)
    assert np.isfinite(results[7][1]) == np.isfinite(wild)


@pytest.mark.parametrize('width', [1, 3, LANE_COUNT, LANE_COUNT + 3, 29])
@pytest.mark.parametrize('count', [1, LANE_COUNT - 1, LANE_COUNT, 2 * LANE_COUNT + 1])
def test_side_by_side_and_back(count, width):
    x = np.random.default_rng(2).normal(size=(count, width))
    out = np.full((count, width), np.nan)
    turn.load()(x, np.empty((1, width, LANE_COUNT)), out)
    np.testing.assert_array_equal(out, x)


def test_rows_go_where_they_belong_and_nowhere_else():
    width, stride, position = LANE_COUNT + 3, LANE_COUNT + 7, 3
    room = np.random.default_rng(3).normal(size=(1, width, LANE_COUNT))
    out = np.full(LANE_COUNT * stride, np.nan)
    spread.load()(room, out, position, stride)
    expected = np.full((LANE_COUNT, stride), np.nan)
    expected[:, position:position + width] = room[0].T
    np.testing.assert_array_equal(out, expected.ravel())


@pytest.mark.parametrize('offset', range(8))
@pytest.mark.parametrize('count', [0, 1, 7, 8, 9, 64, 75])
@pytest.mark.parametrize('past_cache', [False, True])
def test_copies_wherever_memory_begins(count, offset, past_cache):
    source = np.random.default_rng(4).normal(size=100)
    memory = np.full(100, np.nan)
    move.load()(source, count, memory, offset, past_cache)
    expected = np.full(100, np.nan)
    expected[offset:offset + count] = source[:count]
    np.testing.assert_array_equal(memory, expected)


def test_numbers_of_other_kernels_stay_floats():
    """What lanes can be is never what two floats become."""
    calculate.load()
    typing = cpu_target.typing_context
    for symbol in (operator.add, operator.sub, operator.mul, operator.truediv):
        for kinds in ((numba.float64, numba.float64), (numba.float32, numba.float64),
                      (numba.int64, numba.float64)):
            kind = typing.resolve_function_type(symbol, kinds, {})
            assert kind.return_type == numba.float64
