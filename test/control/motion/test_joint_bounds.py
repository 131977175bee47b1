# SPDX-License-Identifier: Apache-2.0
"""Accelerations that keep joints within acceleration, speed and range, whatever they do."""

import numpy as np
import pytest

from robot_dynamics.control.motion.tip_motion import JointBounds


@pytest.mark.parametrize('seed', range(20))
def test_whatever_is_done_within_the_bounds_the_limits_are_kept(seed):
    generator = np.random.default_rng(seed)
    n, step = 100, 10.0 ** generator.uniform(-4.0, -1.5)
    acceleration = 10.0 ** generator.uniform(-1.0, 3.0, n)
    velocity = np.where(generator.random(n) < 0.2, np.inf, 10.0 ** generator.uniform(-1.0, 1.0, n))
    lower = -(10.0 ** generator.uniform(-1.0, 1.0, n))
    upper = np.where(generator.random(n) < 0.2, np.inf, 10.0 ** generator.uniform(-1.0, 1.0, n))
    bounds = JointBounds(lower, upper, velocity, acceleration)
    q, v = np.zeros(n), np.zeros(n)
    kind, sign = generator.integers(0, 3, n), generator.choice([-1.0, 1.0], n)
    for _ in range(2000):
        least, most = bounds.accelerations(q, v, step)
        assert np.all(least <= most)
        sign = np.where(generator.random(n) < 0.01, -sign, sign)
        u = np.select([kind == 0, kind == 1],
                      [np.where(sign > 0.0, most, least), generator.uniform(least, most)],
                      np.clip(0.3 * sign * acceleration, least, most))
        turn = np.clip(np.divide(-v, u, out=np.zeros(n), where=u != 0.0), 0.0, step)
        for t in (turn, step):
            position = q + t * v + 0.5 * t**2 * u
            assert np.all((position >= lower - 1e-9) & (position <= upper + 1e-9))
        q, v = position, v + step * u
        assert np.all(np.abs(v) <= velocity * (1.0 + 1e-9))
        assert np.all(np.abs(u) <= acceleration)


def test_a_joint_is_held_by_what_is_in_its_way():
    bounds = JointBounds([-1.0, -np.inf], [1.0, np.inf], 2.0, 10.0)
    least, most = bounds.accelerations(np.zeros(2), np.zeros(2), 0.001)
    np.testing.assert_array_equal([least, most], [[-10.0] * 2, [10.0] * 2])
    # On the way to its limit from which 8 rad/s^2 just bring it to rest, it has to use them.
    q, v = np.array([0.75, 0.75]), np.array([2.0, 2.0])
    np.testing.assert_allclose(bounds.accelerations(q, v, 0.001)[1], [-8.0, 0.0])
    assert bounds.tightest(0, q, v, 0.001) == 'range'
    assert bounds.tightest(1, q, v, 0.001) == 'speed'
    # At its limit, and beyond: it goes no farther, and may come back.
    for q in (1.0, 1.1):
        least, most = bounds.accelerations(np.array([q, 0.0]), np.zeros(2), 0.001)
        assert (least[0], most[0]) == (-10.0, 0.0)


def test_without_a_limit_of_acceleration_the_range_is_reached_and_not_passed():
    bounds, q, v = JointBounds([0.0], [1.0], np.inf, np.inf), np.zeros(1), np.zeros(1)
    for _ in range(1000):
        u = bounds.accelerations(q, v, 0.01)[1]
        q, v = q + 0.01 * v + 0.5 * 0.01**2 * u, v + 0.01 * u
        assert 0.0 <= q[0] <= 1.0
    assert q[0] == pytest.approx(1.0, abs=1e-6)
