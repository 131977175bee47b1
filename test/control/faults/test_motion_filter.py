# SPDX-License-Identifier: Apache-2.0
"""Gains, and what innovations tell of accelerations, against simulated measurements."""

import numpy as np
import pytest

from robot_dynamics.control.faults.motion_predictor import FilterSettings, MotionFilter
from robot_dynamics.errors import RobotDynamicsError

PERIOD = 0.002


def followed(motion_filter, q, v):
    """Return innovations (k, 2) of a joint that nothing is predicted to accelerate."""
    position, velocity, rows = q[0], v[0], []
    gains = motion_filter.gains
    for k in range(1, len(q)):
        position += motion_filter.period * velocity
        innovation = np.array([q[k] - position, v[k] - velocity])
        position, velocity = np.array([position, velocity]) \
            + gains[min(k - 1, len(gains) - 1)] @ innovation
        rows.append(innovation)
    return np.array(rows)


def estimates(motion_filter, innovations):
    """Return the acceleration by each window at the end of innovations."""
    return np.array([
        np.sum(weights[:length] * innovations[::-1][:length]) for weights, length in
        zip(motion_filter.weights, motion_filter.lengths, strict=True)])


@pytest.mark.parametrize('period', [0.001, 0.002, 0.01])
def test_an_acceleration_that_fills_a_window_is_found_exactly(period):
    motion_filter = MotionFilter(period)
    for w, length in enumerate(motion_filter.lengths):
        times = period * (np.arange(800) - (800 - 1 - length))
        late = np.maximum(times, 0.0)
        innovations = followed(motion_filter, 0.3 * times + 0.5 * 7.0 * late**2, 0.3 + 7.0 * late)
        assert np.abs(innovations[:-length]).max() < 1e-9
        assert estimates(motion_filter, innovations)[w] == pytest.approx(7.0, rel=2e-2)


def test_an_acceleration_that_lasts_shows_as_much_as_it_says():
    motion_filter, times = MotionFilter(PERIOD), PERIOD * np.arange(2000)
    innovations = followed(motion_filter, 0.5 * 7.0 * times**2, 7.0 * times)
    np.testing.assert_allclose(estimates(motion_filter, innovations), 7.0 * motion_filter.lasting,
                               rtol=1e-3)
    assert np.all(motion_filter.lasting >= 1.0) and motion_filter.lasting[0] > 2.0


def test_noise_shows_as_much_as_it_says():
    settings = FilterSettings()
    motion_filter, random = MotionFilter(PERIOD, settings), np.random.default_rng(0)
    count = 20_000
    velocity = np.cumsum(random.normal(scale=settings.wander * np.sqrt(PERIOD), size=count))
    q = np.concatenate([[0.0], np.cumsum(PERIOD * 0.5 * (velocity[1:] + velocity[:-1]))])
    innovations = followed(motion_filter, q + random.normal(scale=settings.position_noise,
                                                          size=count),
                         velocity + random.normal(scale=settings.velocity_noise, size=count))
    last = int(motion_filter.lengths[-1])
    seen = np.array([estimates(motion_filter, innovations[k - last:k])
                     for k in range(last + 500, count - 1, 7)])
    np.testing.assert_allclose(seen.std(axis=0), motion_filter.noise, rtol=0.1)
    assert np.all(np.diff(motion_filter.noise) < 0.0)


def test_after_a_start_it_is_settled_within_a_few_states():
    motion_filter = MotionFilter(PERIOD)
    assert 0 < motion_filter.settled < 20
    # The first corrections trust the measurement more than all that follow.
    assert motion_filter.gains[0, 1, 1] > motion_filter.gains[-1, 1, 1] > 0.0
    # Where states are rare, a window has two of them all the same.
    assert MotionFilter(0.1).lengths.tolist() == [2] * 5


@pytest.mark.parametrize(('call', 'says'), [
    (lambda: MotionFilter(0.0), 'period'),
    (lambda: MotionFilter(1e-9), 'period'),
    (lambda: FilterSettings(windows=()), 'windows'),
    (lambda: FilterSettings(windows=(0.2, 0.1)), 'windows'),
    (lambda: FilterSettings(velocity_noise=0.0), 'velocity_noise'),
    (lambda: FilterSettings(wander=np.inf), 'wander'),
    (lambda: FilterSettings(wander='0.1'), 'wander'),
    (lambda: FilterSettings(velocity_noise=None), 'velocity_noise'),
    (lambda: FilterSettings(position_noise=[1e-5, 1e-5]), 'position_noise'),
    (lambda: FilterSettings(position_noise=10**400), 'position_noise'),
    (lambda: FilterSettings(position_noise=1e-200), 'position_noise'),
    (lambda: FilterSettings(wander=1e200), 'wander'),
    (lambda: FilterSettings(windows=None), 'windows'),
    (lambda: FilterSettings(windows=0.1), 'windows'),
    (lambda: FilterSettings(windows='abc'), 'windows'),
    (lambda: FilterSettings(windows=('a', 'b')), 'windows'),
    (lambda: FilterSettings(windows=[[0.1, 0.2], [0.1, 0.2]]), 'windows'),
    (lambda: FilterSettings(windows=(0.1, np.nan)), 'windows'),
    (lambda: MotionFilter('a'), 'period'),
    (lambda: MotionFilter(0.002, FilterSettings(windows=(0.1, 1e12))), 'windows'),
])
def test_wrong_inputs_are_named(call, says):
    with pytest.raises(RobotDynamicsError, match=says):
        call()
