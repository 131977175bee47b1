# SPDX-License-Identifier: Apache-2.0
"""Pieces are within their limits at every time, not in the points where somebody looked."""

import numpy as np
import pytest

from robot_dynamics.control.motion import piecewise as polynomials
from robot_dynamics.control.motion import trajectory_limits as kernel

FREE = np.finfo(np.float64).max
DENSE = np.linspace(0.0, 1.0, 100_001)
KINDS = (kernel.POSITION, kernel.VELOCITY, kernel.ACCELERATION)


def random_piece(generator):
    """Return coefficients (6,), origin, begin and end of a piece such as motions have."""
    kind, n = generator.integers(5), (1, 1)
    duration = np.array([10.0 ** generator.uniform(-3.0, 2.0)])
    way, rate, bend = 10.0 ** generator.uniform(-2.0, 1.0, 3)
    q0, q1 = generator.normal(size=(2, *n)) * way
    v0, v1 = generator.normal(size=(2, *n)) * rate
    a0, a1 = generator.normal(size=(2, *n)) * bend
    if kind == 0:
        c = polynomials.cubic(duration, q0, v0, q1, v1)[0, :, 0]
    elif kind == 1:
        c = polynomials.stop(duration[0], q0[0], v0[0], a0[0])[:, 0]
    elif kind == 2:
        c = polynomials.quintic(duration, q0, 0.0 * v0, 0.0 * a0, q1, 0.0 * v0, 0.0 * a0)[0, :, 0]
    elif kind == 3:
        # Within a piece every derivative may turn as often as its degree lets it.
        roots = generator.uniform(0.0, duration[0], 4)
        c = np.append(generator.normal(),
                      np.poly(roots)[::-1] / np.arange(1, 6) / duration[0] ** 4)
    else:
        c = polynomials.quintic(duration, q0, v0, a0, q1, v1, a1)[0, :, 0]
    begin, end = np.sort(generator.uniform(0.0, duration[0], 2)) if generator.random() < 0.3 \
        else (0.0, duration[0])
    origin = generator.uniform(-10.0, 10.0)
    return c, origin, origin + begin, origin + end


def derivative(c, d, s):
    return np.polynomial.Polynomial(c).deriv(d)(s) if d else np.polynomial.Polynomial(c)(s)


def extremes(c, d, begin, end):
    """Return the least and the largest that dense sampling finds, looked at twice."""
    found = []
    for sign in (-1.0, 1.0):
        s = begin + (end - begin) * DENSE
        best = s[np.argmax(sign * derivative(c, d, s))]
        step = 2.0 * (end - begin) / (DENSE.size - 1)
        near = np.clip(best + step * np.linspace(-1.0, 1.0, 20_001), begin, end)
        found.append(sign * np.max(sign * derivative(c, d, near)))
    return found


def violation(c, origin, begin, end, *, position=(-FREE, FREE), velocity=FREE,
              acceleration=FREE):
    limits = [np.array([value]) for value in (*position, velocity, acceleration)]
    return kernel.find_violation.load()(np.array([begin]), np.array([origin]),
                                        c.reshape(1, 6, 1), end, *limits)


@pytest.mark.parametrize('seed', range(80))
def test_what_dense_sampling_finds_and_nothing_else_is_a_violation(seed):
    c, origin, begin, end = random_piece(np.random.default_rng(seed))
    for d, name in enumerate(('position', 'velocity', 'acceleration')):
        ends = np.array(extremes(c, d, begin - origin, end - origin))
        largest = np.max(np.abs(ends))
        for over in (1e-9, -1e-9):
            limit = ends + over * largest * np.array([-1.0, 1.0]) if d == 0 \
                else largest * (1.0 + over)
            kind, joint, t, value = violation(c, origin, begin, end, **{name: limit})
            if over > 0.0:
                assert kind == kernel.NOTHING
            else:
                # It says where, and how much at most.
                assert (kind, joint) == (KINDS[d], 0) and begin <= t <= end
                assert value == pytest.approx(derivative(c, d, t - origin),
                                              abs=1e-12 * largest, rel=1e-9)
                assert np.min(np.abs(value - ends)) < 1e-9 * largest


def test_a_peak_between_points_that_look_slow_is_found():
    # Of v = 1 - 2 (s - 1/16)^2, every eighth of a second is below 0.993.
    s = np.polynomial.Polynomial([0.0, 1.0])
    c = np.zeros(6)
    c[:4] = (1.0 - 2.0 * (s - 1.0 / 16.0) ** 2).integ().coef
    kind, joint, t, value = violation(c, 7.0, 7.0, 8.0, velocity=0.995)
    assert (kind, joint) == (kernel.VELOCITY, 0)
    assert t == pytest.approx(7.0 + 1.0 / 16.0, abs=1e-8)
    assert value == pytest.approx(1.0, rel=1e-12)
    assert violation(c, 7.0, 7.0, 8.0, velocity=1.0 + 1e-12)[0] == kernel.NOTHING


@pytest.mark.parametrize('wrong', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('power', range(6))
def test_what_is_no_number_breaks_every_limit(wrong, power):
    c = np.zeros(6)
    c[power] = wrong
    assert violation(c, 0.0, 0.0, 1.0)[0] != kernel.NOTHING
    c[power] = 1e308
    assert violation(c, 0.0, 0.0, 1e10)[0] == (kernel.NOTHING if power == 0 else kernel.POSITION)


def test_a_rest_is_looked_at_too():
    rest = polynomials.rest(np.array([2.0]))[:, 0]
    assert violation(rest, 5.0, 5.0, 5.0, position=(-1.0, 1.0))[:2] == (kernel.POSITION, 0)
    assert violation(rest, 5.0, 5.0, 5.0, position=(-1.0, 2.0))[0] == kernel.NOTHING
