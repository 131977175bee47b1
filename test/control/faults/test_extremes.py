# SPDX-License-Identifier: Apache-2.0
"""The largest shares of a run are those by the spreads of its end."""

import numpy as np
import pytest

from robot_dynamics.control.faults import fault_detector
from robot_dynamics.control.faults.threshold_learner import LENGTH, STRETCHES, LargestShares

N, WINDOWS = 3, 2
INERTIA = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])
NOISE = np.array([[1.0, 0.7, 0.5], [0.2, 0.1, 0.3]])
EFFORT = np.array([[[0.1, 0.2, 0.1], [0.05, 0.1, 0.02]], [[0.3, 0.2, 0.4], [0.1, 0.3, 0.2]]])


def weigh(acceleration, slow, noise, effort):
    shares, whole = np.zeros((WINDOWS, N)), np.zeros(WINDOWS)
    fault_detector.weigh.load()(acceleration, INERTIA, noise, effort, slow,
                                np.zeros((3, N, N)), shares, whole)
    return shares, whole


@pytest.mark.slow
@pytest.mark.parametrize('count', [LENGTH // 2, 3 * LENGTH, 3 * STRETCHES * LENGTH // 2])
def test_the_largest_by_the_spreads_of_the_end_are_found(count):
    random, extremes = np.random.default_rng(3), LargestShares(WINDOWS, N)
    # Of all states, and of those after the first stretch, which bad estimates have chosen from.
    most, settled = np.zeros((WINDOWS, N + 1)), np.zeros((WINDOWS, N + 1))
    believed = np.zeros((WINDOWS, N + 1))
    for k in range(count):
        # First estimates are a fourth of what they become: all looks large by them.
        early = 0.25 if k < LENGTH // 10 else 1.0
        noise, effort = early * NOISE, early * EFFORT
        acceleration, slow = NOISE * random.normal(size=(WINDOWS, N)), random.integers(0, 2, N)
        seen = weigh(acceleration, slow, noise, effort)
        extremes.take(*seen, acceleration, INERTIA, slow, noise, effort)
        believed = np.fmax(believed, np.abs(np.column_stack(seen)))
        truth = np.abs(np.column_stack(weigh(acceleration, slow, NOISE, EFFORT)))
        most = np.fmax(most, truth)
        settled = np.fmax(settled, truth) if k >= LENGTH else settled
    found = np.column_stack(extremes.largest(NOISE, EFFORT))
    assert np.all(found >= settled) and np.all(found <= most) and np.all(found > 0.0)
    # What was believed at first is far above.
    assert np.all(believed > 1.5 * found)


def test_nothing_seen_has_no_extremes():
    limit, whole = LargestShares(WINDOWS, N).largest(NOISE, EFFORT)
    assert limit.shape == (WINDOWS, N) and whole.shape == (WINDOWS,)
    assert not limit.any() and not whole.any()


def test_what_is_kept_is_a_copy():
    extremes, acceleration = LargestShares(WINDOWS, N), np.ones((WINDOWS, N))
    slow = np.zeros(N, dtype=np.int64)
    shares, whole = weigh(acceleration, slow, NOISE, EFFORT)
    extremes.take(shares, whole, acceleration, INERTIA, slow, NOISE, EFFORT)
    acceleration[:], slow[:] = 100.0, 1
    limit, of_all = extremes.largest(NOISE, EFFORT)
    np.testing.assert_allclose(limit, np.abs(shares), rtol=1e-12)
    np.testing.assert_allclose(of_all, whole, rtol=1e-12)
