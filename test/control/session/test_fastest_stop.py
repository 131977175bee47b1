# SPDX-License-Identifier: Apache-2.0
"""The fastest stop: the exam's case, samples in time, and wrong inputs."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.control.session.stop_motion import (
    FastestStop,
    StopKind,
    discrete_stop_acceleration,
    minimum_time_set,
    stop_acceleration,
    stop_times,
)
from robot_dynamics.errors import ControlError, DimensionError, ParameterError

V, BOUND = np.array([1.5, -2.0, 0.0, 0.3]), np.array([5.0, 4.0, 3.0, 6.0])
KINDS = list(StopKind)


def test_case_of_the_exam(shared):
    case = json.loads((shared / 'reference' / 'ref_exercise1.json').read_text())
    stop, upper = case['stop'], case['meta']['Umax']
    np.testing.assert_allclose(stop_acceleration(stop['qd0'], upper), stop['u0'], atol=1e-8)
    np.testing.assert_allclose(stop_times(stop['qd0'], upper), stop['joint_stop_times'],
                               atol=1e-12)
    assert FastestStop(stop['q0'], stop['qd0'], upper).duration == pytest.approx(stop['T_stop'])
    lower, highest = minimum_time_set(stop['qd0'], upper)
    # For the least overall time only joint 2 has to be at its bound.
    np.testing.assert_array_equal(lower == highest, [False, True, False])
    np.testing.assert_allclose(lower[1], stop['u0'][1])


def test_minimum_time_set_is_what_stops_in_time_and_no_more():
    lower, upper = minimum_time_set(V, BOUND)
    last = stop_times(V, BOUND).max()
    for share in (0.0, 0.3, 1.0):
        u = lower + share * (upper - lower)
        assert np.all(np.abs(u) <= BOUND + 1e-12)
        moving = V != 0.0
        assert np.all(-V[moving] / u[moving] <= last + 1e-12)
    gentler = np.where(np.abs(lower) < np.abs(upper), lower, upper) * 0.999
    assert np.all(-V[V != 0.0] / gentler[V != 0.0] > last)
    np.testing.assert_array_equal([lower[2], upper[2]], 0.0)


@pytest.mark.parametrize('kind', KINDS)
def test_motion_is_its_own_integral_and_ends_at_rest(kind):
    stop = FastestStop(np.arange(4.0), V, BOUND, kind)
    times = np.linspace(0.0, 1.2 * stop.duration, 4001)
    q, v, a = stop.sample_many(times)
    dt = times[1]
    np.testing.assert_allclose(q[0], np.arange(4.0))
    np.testing.assert_allclose(v[0], V)
    np.testing.assert_allclose(np.diff(q, axis=0) / dt, 0.5 * (v[1:] + v[:-1]), atol=2e-3)
    np.testing.assert_allclose(q[-1], stop.end, atol=1e-12)
    assert not np.any(v[-1]) and not np.any(a[-1])
    # Never back, never beyond the bound.
    assert np.all(v * np.sign(V) >= 0.0) and np.all(np.abs(a) <= BOUND + 1e-12)
    if kind is StopKind.TOGETHER:
        moving = v[:, 1] != 0.0
        np.testing.assert_allclose(v[moving], np.outer(v[moving, 1], V / V[1]), atol=1e-12)


def test_each_joint_stops_no_later_than_any_bounded_motion_could():
    np.testing.assert_allclose(stop_times(V, BOUND), np.abs(V) / BOUND)
    together = stop_acceleration(V, BOUND, StopKind.TOGETHER)
    np.testing.assert_allclose(together, -V / 0.5)
    assert not np.any(stop_acceleration(np.zeros(3), 1.0, StopKind.TOGETHER))


@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=8), st.floats(0.02, 0.1),
       st.floats(1.0, 50.0))
def test_discrete_stop_does_not_overshoot(velocities, period, bound):
    v = np.array(velocities)
    signs = np.sign(v)
    for _ in range(int(np.ceil(np.abs(v).max() / bound / period)) + 1):
        u = discrete_stop_acceleration(v, bound, period)
        assert np.all(np.abs(u) <= bound)
        v = v + period * u
        assert np.all(v * signs >= -1e-12)
    np.testing.assert_allclose(v, 0.0, atol=1e-12)


def test_an_arm_at_rest_stays():
    stop = FastestStop([0.1, 0.2], [0.0, 0.0], 1.0)
    assert stop.duration == 0.0
    q, v, a = stop.sample(0.0)
    np.testing.assert_array_equal(q, [0.1, 0.2])
    assert not np.any(v) and not np.any(a)


@pytest.mark.parametrize(('call', 'error', 'says'), [
    (lambda: stop_times([np.nan], 1.0), ControlError, 'velocities'),
    (lambda: stop_times([], 1.0), DimensionError, 'velocities'),
    (lambda: stop_times([[1.0]], 1.0), DimensionError, 'velocities'),
    (lambda: stop_times([1.0, 2.0], [1.0, 0.0]), ControlError, 'joint 1'),
    (lambda: stop_times([1.0, 2.0], [1.0, 1.0, 1.0]), DimensionError, 'acceleration bounds'),
    (lambda: FastestStop([0.0], [1.0, 2.0], 1.0), DimensionError, 'q must have shape'),
    (lambda: discrete_stop_acceleration([1.0], 1.0, 0.0), ParameterError, 'period'),
    (lambda: StopKind.named('gently'), ControlError, 'each_joint, together'),
])
def test_wrong_inputs_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()
