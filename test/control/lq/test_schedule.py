# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.lq.design import Schedule, ScheduleState, rescaled_weights
from robot_dynamics.errors import RobotDynamicsError, StopRequestedError


def observed(state, norm, dt=0.002):
    state.observe(norm, dt)
    due = state.is_due
    if due:
        state.note_updated()
    return state.feeds_back, due


def test_the_first_sample_has_a_gain_however_small_the_error_is():
    state = ScheduleState(Schedule(eps0=0.01, eps1=0.1))
    assert observed(state, 0.0) == (False, True)
    assert observed(state, 0.0) == (False, False)
    state.reset()
    assert observed(state, 0.0) == (False, True)


def test_thresholds_are_those_of_the_report():
    state = ScheduleState(Schedule(eps0=0.01, eps1=0.1, eps2=0.5, update_period=0.0))
    observed(state, 0.2)
    assert observed(state, 0.009) == (False, False)
    assert observed(state, 0.01) == (True, False)
    assert observed(state, 0.099) == (True, False)
    assert observed(state, 0.1) == (True, True)
    assert observed(state, 0.5) == (True, True)
    assert state.counts == {'skipped': 1, 'updates': 3}


def test_updates_keep_their_period():
    state = ScheduleState(Schedule(update_period=0.01))
    due = [observed(state, 0.0)[1] for _ in range(21)]
    assert [k for k, is_due in enumerate(due) if is_due] == [0, 5, 10, 15, 20]


def test_an_excessive_error_stops_after_some_samples_in_a_row():
    state = ScheduleState(Schedule(eps2=0.5, debounce=3))
    for norm in (0.6, 0.7, 0.4, 0.6, np.nan):
        observed(state, norm)
    with pytest.raises(StopRequestedError) as caught:
        state.observe(np.inf, 0.002)
    assert caught.value.subject == 'error norm'
    assert '0.5' in caught.value.message and '3 samples' in caught.value.message
    assert caught.value.remedy


def test_weights_follow_the_largest_errors_within_bounds():
    weights = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    found = rescaled_weights(weights, np.array([3.0, 2.0, 1.0, 0.0, 0.0, 6.0]), 2.0)
    np.testing.assert_allclose(found, [1.5, 1.0, 0.5, 1.0, 1.0, 4.0])
    np.testing.assert_array_equal(rescaled_weights(weights, np.zeros(6), 2.0), weights)
    np.testing.assert_array_equal(
        rescaled_weights(weights, np.array([3.0, 2.0, 1.0, 0.0, 0.0, 6.0]), 1.0), weights)


@pytest.mark.parametrize(('values', 'subject'), [
    ({'eps0': -1.0}, 'eps0'), ({'eps1': np.nan}, 'eps1'), ({'eps2': 0.0}, 'eps2'),
    ({'eps0': 1.0}, 'eps2'), ({'eps1': 1.7}, 'eps2'), ({'debounce': 0}, 'debounce'),
    ({'update_period': -0.1}, 'update_period'), ({'rescale': 0.5}, 'rescale'),
    ({'rescale': np.nan}, 'rescale'), ({'eps2': np.inf}, 'eps2'), ({'rescale': 'no'}, 'rescale'),
    ({'rescale': 101.0}, 'rescale'), ({'rescale': 1j}, 'rescale'),
])
def test_wrong_settings_are_named(values, subject):
    with pytest.raises(RobotDynamicsError) as caught:
        Schedule(**values)
    assert caught.value.subject == subject
    assert caught.value.remedy


@pytest.mark.parametrize('name', ['eps0', 'eps1'])
def test_thresholds_are_reached_before_an_arm_is_given_up(name):
    Schedule(**{name: 0.49}).require_below(0.5)
    with pytest.raises(RobotDynamicsError, match=r'max_tracking_error = 0\.5') as caught:
        Schedule(**{name: 0.5}).require_below(0.5)
    assert caught.value.subject == name
