# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.errors import ControlError, DimensionError, ParameterError

NAMES = ('a', 'b', 'c')
LIMIT = np.array([1.0, 2.0, 3.0])
NAN, INF = math.nan, math.inf


def test_efforts_are_cut_at_the_limits_joint_by_joint():
    limiter = EffortLimiter(NAMES, LIMIT)
    np.testing.assert_array_equal(limiter.apply(np.array([5.0, -1.5, -9.0]), 0.01),
                                  [1.0, -1.5, -3.0])
    np.testing.assert_array_equal(limiter.saturated, [True, False, True])
    assert limiter.any_saturated
    limiter.apply(np.array([0.5, 0.5, 3.0]), 0.01)
    assert not limiter.any_saturated


@pytest.mark.parametrize('bad', [NAN, INF, -INF])
def test_nothing_passes_where_one_effort_is_not_finite(bad):
    limiter = EffortLimiter(NAMES, LIMIT)
    limiter.apply(np.array([0.1, 0.2, 0.3]), 0.01)
    with pytest.raises(ControlError, match=r'b needs an effort that is not finite'):
        limiter.apply(np.array([0.0, bad, 0.0]), 0.01)
    np.testing.assert_array_equal(limiter.effort, [0.1, 0.2, 0.3])


def test_changes_are_bounded_in_time():
    limiter = EffortLimiter(NAMES, LIMIT, rate_limit=[10.0, 10.0, 10.0])
    # Nothing precedes the first one.
    np.testing.assert_array_equal(limiter.apply(np.array([1.0, 0.0, 0.0]), 0.01), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(limiter.apply(np.array([-1.0, 0.05, 9.0]), 0.01), [0.9, 0.05, 0.1])
    np.testing.assert_array_equal(limiter.saturated, [True, False, True])
    # No time, no change.
    np.testing.assert_allclose(limiter.apply(np.array([-1.0, 0.0, 0.0]), 0.0), [0.9, 0.05, 0.1])
    limiter.forget()
    np.testing.assert_array_equal(limiter.apply(np.array([-1.0, 0.0, 3.0]), 0.0),
                                  [-1.0, 0.0, 3.0])


def test_efforts_of_a_robot_change_by_their_limit_within_20_ms_while_control_changes_hands(arm3):
    limiter = EffortLimiter.for_robot(arm3, [10.0, NAN, NAN])
    limit = limiter.limit
    assert limit[0] == 10.0
    limiter.begin_at(-limit)
    # No time, no change; then from one limit to the other.
    np.testing.assert_array_equal(limiter.apply(limit, 0.0), -limit)
    for share in np.arange(-0.8, 1.01, 0.2):
        np.testing.assert_allclose(limiter.apply(limit, 0.004), share * limit, atol=1e-9)
    # From then on without a limit.
    np.testing.assert_array_equal(limiter.apply(-limit, 0.004), -limit)
    limiter.begin_ramp()
    np.testing.assert_allclose(limiter.apply(limit, 0.01), -0.5 * limit)
    limiter.end_ramp()
    np.testing.assert_array_equal(limiter.apply(limit, 0.0), limit)
    # Nothing precedes the first effort.
    limiter.forget()
    limiter.begin_ramp()
    np.testing.assert_array_equal(limiter.apply(-limit, 0.002), -limit)
    np.testing.assert_array_equal(limiter.apply(limit, 0.002), limit)


def test_efforts_change_in_proportion_in_a_ramp_and_by_one_step_after_a_gap(arm3):
    limiter = EffortLimiter.for_robot(arm3)
    limit = limiter.limit
    limiter.begin_at(np.zeros(3))
    limiter.begin_ramp(0.002)
    # Those beyond a limit count as at the limit.
    wanted = limit * [9.0, -0.5, 0.1]
    np.testing.assert_allclose(limiter.apply(wanted, 0.01), limit * [0.1, -0.05, 0.01])
    assert limiter.saturated.all()
    np.testing.assert_allclose(limiter.apply(wanted, 0.001), limit * [0.15, -0.075, 0.015])


def test_a_rate_limit_holds_in_ramps_too_and_may_be_unlimited(arm3):
    limiter = EffortLimiter.for_robot(arm3, rate_limit=[INF, 100.0, INF])
    limiter.begin_at(np.zeros(3))
    own = arm3.limits.effort.copy()
    np.testing.assert_allclose(limiter.apply(own, 0.01), [own[0], 1.0, own[2]])
    np.testing.assert_allclose(limiter.apply(own, 0.01), [own[0], 2.0, own[2]])


@pytest.mark.parametrize('rate', [0.0, -1.0, NAN])
def test_a_rate_is_above_zero(rate):
    with pytest.raises(ParameterError, match=r'effort_rate_limit\.b must be above zero'):
        EffortLimiter(NAMES, LIMIT, rate_limit=[1.0, rate, 1.0])


def test_begins_at_an_effort_of_a_controller_with_wider_limits(arm3):
    limiter = EffortLimiter.for_robot(arm3, [10.0, NAN, NAN], rate_limit=[100.0] * 3)
    limiter.begin_at(np.array([20.0, 1.0, 0.5]))
    np.testing.assert_allclose(limiter.apply(np.zeros(3), 0.001), [9.9, 0.9, 0.4])


@pytest.mark.parametrize('limit', [NAN, INF, 0.0, -1.0])
def test_a_joint_without_a_limit_is_named_with_the_parameter_to_set(limit):
    with pytest.raises(ParameterError) as error:
        EffortLimiter(NAMES, [1.0, limit, limit])
    assert error.value.subject == 'b, c'
    assert error.value.remedy.startswith('set effort_limit to one value for each of: a, b, c ')


def test_limits_cannot_be_wider_than_the_robots_own(arm3):
    own = arm3.limits.effort
    with pytest.raises(ParameterError, match=r'effort_limit\.elbow'):
        EffortLimiter.for_robot(arm3, own * [1.0, 1.01, 1.0])
    np.testing.assert_array_equal(EffortLimiter.for_robot(arm3).limit, own)
    np.testing.assert_array_equal(EffortLimiter.for_robot(arm3, [NAN, 5.0, NAN]).limit,
                                  [own[0], 5.0, own[2]])


def test_limits_handed_out_cannot_be_written_through():
    limiter = EffortLimiter(NAMES, LIMIT)
    limiter.limit[:] = 100.0
    assert limiter.apply(np.array([50.0, 0.0, 0.0]), 0.01)[0] == 1.0


def test_a_joint_the_robot_has_no_limit_for_can_be_given_one():
    assert EffortLimiter(NAMES, LIMIT, hard_limit=[NAN, 2.0, NAN]).limit[0] == 1.0


def test_wrong_shapes():
    with pytest.raises(DimensionError, match='effort_limit'):
        EffortLimiter(NAMES, [1.0])
    with pytest.raises(DimensionError, match='effort command'):
        EffortLimiter(NAMES, LIMIT).apply(np.zeros(2), 0.01)


def test_permits():
    limiter = EffortLimiter(NAMES, LIMIT)
    assert limiter.permits(LIMIT)
    assert not limiter.permits(1.001 * LIMIT)
    assert not limiter.permits(np.array([0.0, NAN, 0.0]))


@settings(deadline=None)
@given(st.lists(st.tuples(st.lists(st.floats(), min_size=3, max_size=3),
                          st.floats(allow_nan=True)), max_size=20))
def test_whatever_comes_in_what_goes_out_is_permitted(stream):
    limiter = EffortLimiter(NAMES, LIMIT, rate_limit=[5.0] * 3)
    for tau, dt in stream:
        try:
            effort = limiter.apply(np.array(tau), dt)
        except ControlError:
            assert not np.isfinite(tau).all()
            continue
        assert np.isfinite(tau).all()
        assert limiter.permits(effort)


@pytest.mark.parametrize(('carried', 'low', 'high'), [
    # What is sent and what the joint gets, carried + sent, both within 2.
    (0.0, -2.0, 2.0), (0.5, -2.0, 1.5), (-0.5, -1.5, 2.0), (2.0, -2.0, 0.0),
    # Hardware beyond the limit by itself is not pushed against.
    (5.0, -2.0, 0.0), (-5.0, 0.0, 2.0)])
def test_what_the_hardware_carries_counts_towards_the_limit(carried, low, high):
    limiter = EffortLimiter(('a',), [2.0])
    limiter.hardware_gravity[0] = carried
    np.testing.assert_array_equal(limiter.apply(np.array([9.0]), 0.01), [high])
    np.testing.assert_array_equal(limiter.apply(np.array([-9.0]), 0.01), [low])
    np.testing.assert_array_equal(limiter.apply(np.zeros(1), 0.01), [0.0])
    assert not limiter.any_saturated


def test_a_limit_comes_before_a_rate():
    limiter = EffortLimiter(('a',), [2.0], rate_limit=[10.0])
    limiter.apply(np.array([2.0]), 0.01)
    limiter.hardware_gravity[0] = 1.0
    np.testing.assert_array_equal(limiter.apply(np.array([2.0]), 0.01), [1.0])
    limiter.hardware_gravity[0] = -1.0
    limiter.apply(np.array([-1.0]), 1.0)
    limiter.hardware_gravity[0] = -1.5
    np.testing.assert_array_equal(limiter.apply(np.array([-1.0]), 0.01), [-0.5])


@pytest.mark.parametrize('wrong', [['a', 1.0, 1.0], [[1.0], 1.0, 1.0], [1.0, 2.0], []])
@pytest.mark.parametrize('name', ['effort_limit', 'rate_limit', 'hard_limit'])
def test_limits_that_are_not_one_number_a_joint_are_refused(name, wrong):
    with pytest.raises(DimensionError, match='limit'):
        EffortLimiter(NAMES, **{'effort_limit': LIMIT, name: wrong})
