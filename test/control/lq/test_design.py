# SPDX-License-Identifier: Apache-2.0

# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from benchmark.lq_gains import one_step_gain, riccati_gain
from robot_dynamics.control.lq.design import (
    FeedbackDesign,
    Schedule,
    ScheduleState,
    rescaled_weights,
    weight_of_time_constant,
)
from robot_dynamics.errors import ParameterError, RobotDynamicsError, StopRequestedError

DESIGNS = [(60.0, 1.0 / 12.0), (60.0, 1.0 / 60.0), (5.0, 2.0), (200.0, 0.01), (40.0, 0.026),
           (1e-3, 1e3)]


def double_integrator(T):
    return np.array([[1.0, T], [0.0, 1.0]]), np.array([[0.5 * T * T], [T]])


@pytest.mark.parametrize(('bandwidth', 'time_constant'), DESIGNS)
def test_stiffness_and_damping_have_the_poles_asked_for(bandwidth, time_constant):
    design = FeedbackDesign(bandwidth, time_constant)
    poles = np.sort(np.roots([1.0, design.damping, design.stiffness]).real)
    np.testing.assert_allclose(poles, np.sort([-bandwidth, -1.0 / time_constant]), rtol=1e-6)


@pytest.mark.parametrize(('bandwidth', 'time_constant'), DESIGNS)
def test_the_one_step_gain_over_the_horizon_is_that_stiffness_and_damping(bandwidth,
                                                                          time_constant):
    design = FeedbackDesign(bandwidth, time_constant)
    K = one_step_gain(*double_integrator(design.horizon), [1.0, design.one_step_weight])
    np.testing.assert_allclose(K, [[design.stiffness, design.damping]], rtol=1e-9)


@pytest.mark.parametrize(('bandwidth', 'time_constant'), DESIGNS)
def test_the_regulator_has_them_in_the_limit_of_fast_sampling(bandwidth, time_constant):
    design = FeedbackDesign(bandwidth, time_constant)
    T = 1e-5 / design.damping
    # Costs are integrals: the sums are multiplied by T, which changes no gain.
    K, _ = riccati_gain(*double_integrator(T), design.riccati_weights, [1.0])
    np.testing.assert_allclose(K, [[design.stiffness, design.damping]], rtol=1e-3)


def test_over_the_sampling_period_the_weight_sets_the_slow_pole():
    T, time_constant = 0.002, 0.1
    Phi, Gamma = double_integrator(T)
    weight = weight_of_time_constant(T, time_constant)
    K = one_step_gain(Phi, Gamma, [1.0, weight])
    poles = np.sort(np.linalg.eigvals(Phi - Gamma @ K).real)
    np.testing.assert_allclose(poles, [0.0, np.exp(-T / time_constant)], atol=1e-5)


def test_with_equal_weights_the_slow_pole_is_of_the_length_of_minutes():
    """What the report's Q = 1 means: a position error of T = 0.01 s decays in 200 s."""
    T = 0.01
    Phi, Gamma = double_integrator(T)
    poles = np.linalg.eigvals(Phi - Gamma @ one_step_gain(Phi, Gamma, np.eye(2)))
    np.testing.assert_allclose(-T / np.log(np.abs(poles).max()), 2.0 / T, rtol=1e-3)


@pytest.mark.parametrize('values', [(0.0, 1.0), (1.0, 0.0), (-3.0, 1.0), (np.nan, 1.0),
                                    (np.inf, 1.0), (1.0, np.inf), ('40', 1.0), (None, 1.0),
                                    (1.0, [0.1, 0.2]), (10**400, 1.0), (1j, 1.0)])
def test_what_is_no_positive_number_is_refused(values):
    with pytest.raises(ParameterError, match=r'bandwidth|time_constant'):
        FeedbackDesign(*values)
    with pytest.raises(ParameterError):
        weight_of_time_constant(*values)


@pytest.mark.parametrize('name', ['disturbance_rate', 'largest_disturbance'])
@pytest.mark.parametrize('value', ['0.5', None, [0.5], 10**400, np.nan])
def test_what_a_disturbance_cannot_be_is_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        FeedbackDesign(**{name: value})


@pytest.mark.parametrize('name', ['bandwidth', 'time_constant', 'disturbance_rate'])
@pytest.mark.parametrize('value', [9e-7, 1.1e6, 1e160, 5e-324])
def test_what_no_arm_can_do_is_refused_by_name(name, value):
    with pytest.raises(ParameterError, match='between 1e-06 and 1e') as caught:
        FeedbackDesign(**{name: value})
    assert caught.value.subject == name


@pytest.mark.parametrize('values', [(1e6, 1e6), (1e6, 1e-6), (1e-6, 1e6), (1e-6, 1e-6)])
def test_what_is_let_through_has_weights(values):
    design = FeedbackDesign(*values)
    assert all(0.0 < x < np.inf for x in (design.horizon, *design.riccati_weights,
                                          design.stiffness, design.damping))
    assert np.isfinite(design.one_step_weight)


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
        Schedule(**{name: 0.5}, eps2=1.0).require_below(0.5)
    assert caught.value.subject == name
