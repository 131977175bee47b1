# SPDX-License-Identifier: Apache-2.0
import math
from array import array
from functools import partial
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.control.states.joint_state import (
    MAX_LAYOUTS,
    MAX_NAMES,
    DependentJoint,
    JointStateMonitor,
    Note,
    Outcome,
    Reason,
    VelocitySource,
)
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot

NAMES = ('a', 'b', 'c')
NAN, INF = math.nan, math.inf


def monitor(continuous=(False, False, False), **settings):
    return JointStateMonitor(NAMES, continuous, **settings)


def feed(guard, t, position, velocity=(), effort=(), names=NAMES):
    return guard.update(t, t, list(names), position, velocity, effort)


def test_names_by_the_ten_thousand_cost_little_and_are_not_kept(within):
    guard = monitor()
    many = [f'j{k}' for k in range(100_000)]
    times = count(1.0, 0.01)

    def fed_next(position, names):
        return feed(guard, next(times), position, names=names)

    for k, names in enumerate((many, [*NAMES, *many], list(NAMES) * 30_000)):
        verdict = within(0.5, partial(fed_next, [0.1] * len(names), names=names))
        assert verdict.reason is (Reason.FOREIGN, Reason.ACCEPTED, Reason.REPEATED_NAME)[k]
    assert not guard._layouts
    feed(guard, 5.0, [0.1] * MAX_NAMES, names=[*NAMES, *many[:MAX_NAMES - 3]])
    assert len(guard._layouts) == 1


def test_joints_without_states_are_known():
    guard = monitor()
    assert guard.missing == NAMES
    feed(guard, 1.0, [0.1, 0.2], names=NAMES[:2])
    assert guard.missing == NAMES[2:]
    feed(guard, 1.001, [0.3], names=NAMES[2:])
    assert guard.missing == ()


def test_what_became_of_a_message_is_told():
    guard = monitor()
    assert feed(guard, 1.0, [0.1], names=NAMES[:1]).summary == (
        f'the last message made no complete state: b: {Reason.WAITING.value}')
    assert feed(guard, 1.01, [0.1] * 3).summary == (
        'no message was received since the last, which was complete')
    assert feed(guard, 1.0, [0.1] * 3).summary.startswith('the last message was rejected: ')


def test_joints_are_found_by_name_in_any_order_between_foreign_ones():
    guard = monitor()
    assert guard.update(1.0, 1.0, ['gripper', 'c', 'a', 'b'], [9.0, 3.0, 1.0, 2.0],
                        [9.0, 0.3, 0.1, 0.2], [9.0, 30.0, 10.0, 20.0]).accepted
    np.testing.assert_array_equal(guard.q, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(guard.v, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(guard.effort, [10.0, 20.0, 30.0])


@pytest.mark.parametrize('kind', [list, tuple, np.array, lambda values: array('d', values)])
def test_values_may_come_in_any_sequence(kind):
    guard = monitor()
    assert guard.update(1.0, 1.0, NAMES, kind([1.0, 2.0, 3.0]), kind([0.1, 0.2, 0.3]),
                        kind([1.0, 1.0, 1.0])).accepted
    np.testing.assert_array_equal(guard.q, [1.0, 2.0, 3.0])


def test_the_arrays_of_a_state_are_its_own_and_stay_the_same_objects():
    guard = monitor()
    q, position = guard.q, np.array([1.0, 2.0, 3.0])
    feed(guard, 1.0, position)
    position[:] = 0.0
    assert guard.q is q
    np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])


def test_a_joint_named_twice_is_ambiguous():
    guard = monitor()
    verdict = feed(guard, 1.0, [0.0, 1.0, 0.0, 0.0], names=('a', 'a', 'b', 'c'))
    assert (verdict.outcome, verdict.reason, verdict.joint) \
        == (Outcome.REJECTED, Reason.REPEATED_NAME, 'a')


def test_a_foreign_joint_named_twice_is_not_our_business():
    assert feed(monitor(), 1.0, [0.0] * 5, names=('x', 'x', 'a', 'b', 'c')).accepted


def test_layouts_remembered_are_bounded():
    guard = monitor()
    for k in range(3 * MAX_LAYOUTS):
        feed(guard, 1.0 + 0.01 * k, [0.0] * 4, names=('a', 'b', 'c', f'x{k}'))
    assert len(guard._layouts) <= MAX_LAYOUTS
    assert guard.counts[Reason.ACCEPTED] == 3 * MAX_LAYOUTS


def test_no_names_at_all():
    assert monitor().update(1.0, 1.0, [], [], [], []).reason is Reason.FOREIGN


@pytest.mark.parametrize('bad', [NAN, INF, -INF, 1e9])
def test_a_position_that_is_none_is_no_state(bad):
    verdict = feed(monitor(), 1.0, [0.0, bad, 0.0])
    assert (verdict.reason, verdict.joint) == (Reason.NOT_FINITE, 'b')


@pytest.mark.parametrize(('stamp', 'reason'), [
    (NAN, Reason.NO_TIME), (INF, Reason.NO_TIME), (-INF, Reason.NO_TIME),
    (10.06, Reason.FUTURE), (9.79, Reason.STALE)])
def test_stamps_out_of_bounds(stamp, reason):
    assert monitor().update(10.0, stamp, NAMES, [0.0] * 3).reason is reason


def test_a_receive_time_that_is_none_gives_no_stamp():
    assert monitor().update(INF, None, NAMES, [0.0] * 3).reason is Reason.NO_TIME
    assert monitor().update(NAN, 1.0, NAMES, [0.0] * 3).reason is Reason.NO_TIME


@pytest.mark.parametrize('stamp', [10.05, 9.81, 10.0, None, 0.0])
def test_stamps_within_bounds(stamp):
    assert monitor().update(10.0, stamp, NAMES, [0.0] * 3).accepted


def test_effort_that_is_not_finite_is_not_available():
    guard = monitor()
    feed(guard, 1.0, [0.0] * 3, [0.0] * 3, [1.0, INF, 2.0])
    np.testing.assert_array_equal(guard.effort, [1.0, NAN, 2.0])
    assert not guard.effort_available


def test_velocity_estimate_is_a_first_order_low_pass():
    cutoff, dt = 5.0, 0.01
    guard = monitor(velocity_cutoff=cutoff)
    feed(guard, 1.0, [0.0] * 3)
    feed(guard, 1.0 + dt, [0.0] * 3)
    for k in range(2, 12):
        feed(guard, 1.0 + k * dt, [0.002 * (k - 1), 0.0, 0.0])
        # Step response of the filter to a velocity of 0.2 rad/s.
        expected = 0.2 * (1.0 - math.exp(-2.0 * math.pi * cutoff * (k - 1) * dt))
        assert guard.v[0] == pytest.approx(expected, rel=1e-6)
    assert guard.velocity_sources == (VelocitySource.ESTIMATED,) * 3


def test_velocity_that_cannot_be_is_estimated_and_noted():
    guard = monitor(velocity_limit=[1.0, 1.0, 1.0])
    feed(guard, 1.0, [0.0] * 3, [0.0] * 3)
    assert feed(guard, 1.01, [0.005, 0.0, 0.0], [100.0, 0.5, 0.0]).accepted
    assert 0.0 < guard.v[0] <= 0.5
    assert guard.v[1] == 0.5
    assert guard.notes[Note.VELOCITY_IMPLAUSIBLE] == 1
    assert guard.velocity_sources[:2] == (VelocitySource.ESTIMATED, VelocitySource.MEASURED)


def test_a_jump_is_rejected_until_the_joint_may_have_got_there():
    guard = monitor(velocity_limit=[1.0, 1.0, NAN], max_joint_step=0.05)
    feed(guard, 1.0, [0.0] * 3)
    verdict = feed(guard, 1.01, [0.0, 0.07, 0.0])
    assert (verdict.reason, verdict.joint) == (Reason.JUMP, 'b')
    np.testing.assert_array_equal(guard.q, np.zeros(3))
    # 0.05 + 1.5 rad/s x 0.02 s
    assert feed(guard, 1.02, [0.0, 0.07, 0.0]).accepted
    # A joint without a speed limit is taken for a fast one.
    assert feed(guard, 1.03, [0.0, 0.07, 0.19]).accepted
    assert feed(guard, 1.04, [0.0, 0.07, 0.40]).reason is Reason.JUMP


def test_a_step_that_the_reported_velocity_explains_is_no_jump():
    """An arm that was pushed is faster than its limits, and has to be braked."""
    guard = monitor(velocity_limit=[1.0, 1.0, 1.0], max_joint_step=0.05)
    feed(guard, 1.0, [0.0] * 3, [0.0] * 3)
    assert feed(guard, 1.01, [0.0, 0.10, 0.0], [0.0, 2.0, 0.0]).reason is Reason.JUMP
    assert feed(guard, 1.01, [0.0, 0.10, 0.0], [0.0, 9.0, 0.0]).accepted
    assert feed(guard, 1.02, [0.0, 0.20, 0.0], [0.0, 3.0, 0.0]).accepted
    assert feed(guard, 1.03, [0.0, 0.26, 0.0], [0.0, -2.9, 0.0]).accepted
    assert feed(guard, 1.04, [0.0, 0.36, 0.0], [0.0, 3.0, 0.0]).reason is Reason.JUMP


def test_an_arm_that_moves_and_gets_nowhere_is_not_believed():
    guard = monitor()
    reasons = [feed(guard, 1.0 + 0.002 * k, [0.1, 0.2, 0.3], [0.0, -0.5, 0.0]).reason
               for k in range(60)]
    first = reasons.index(Reason.FROZEN)
    assert 0.05 <= 0.002 * first < 0.056
    assert set(reasons[:first]) == {Reason.ACCEPTED} and set(reasons[first:]) == {Reason.FROZEN}
    # What changes is believed again, and repeated for a while.
    after = [feed(guard, 1.2 + 0.002 * k, [0.1, 0.2001, 0.3], [0.0, -0.5, 0.0]).reason
             for k in range(20)]
    assert set(after) == {Reason.ACCEPTED}


def test_a_state_told_by_hand_is_believed_where_nothing_moves_by_it():
    guard = monitor(may_freeze=True)
    assert all(feed(guard, 1.0 + 0.01 * k, [0.1] * 3, [0.5] * 3).accepted for k in range(200))


@pytest.mark.parametrize(('period', 'each', 'velocity'), [
    (0.002, 1000, 0.0), (0.002, 1000, 0.01),  # at rest, and at rest with an offset
    (0.002, 4, 0.5), (0.002, 16, 0.5),        # an arm heard of at 125 and 31 Hz
    (0.05, 5, 0.5)])                          # states that are rare
def test_a_driver_may_repeat_itself(period, each, velocity):
    guard = monitor()
    for k in range(300):
        position = [0.1, 0.001 * (k // each), 0.3]
        assert feed(guard, 1.0 + period * k, position, [0.0, velocity, 0.0]).accepted


def test_halves_of_an_arm_that_take_turns_are_frozen_each_for_itself():
    guard = monitor()
    reasons = {'left': [], 'right': []}
    for k in range(100):
        t = 1.0 + 0.002 * k
        # The left half moves on, the right one only says so.
        reasons['left'].append(feed(guard, t, [0.001 * k], [0.5], names=('a',)).reason)
        reasons['right'].append(feed(guard, t, [0.2, 0.3], [0.5, 0.0], names=('b', 'c')).reason)
    assert Reason.FROZEN in reasons['right'] and Reason.FROZEN not in reasons['left']
    assert guard.q[0] < 0.06  # no state is complete any more


def test_forget_makes_the_next_state_a_first_one():
    guard = monitor()
    feed(guard, 1.0, [0.0] * 3, [1.0] * 3)
    assert feed(guard, 1.01, [2.0] * 3).reason is Reason.JUMP
    guard.forget()
    assert not guard.has_state
    assert feed(guard, 0.5, [2.0] * 3).accepted
    assert guard.dt == 0.0
    np.testing.assert_array_equal(guard.v, np.zeros(3))
    assert not guard.velocity_known


def test_continuous_joints_are_unwrapped():
    guard = monitor(continuous=(True, False, False))
    angle, reported = 0.0, []
    for k in range(2000):
        angle += 0.02
        wrapped = math.remainder(angle, 2.0 * math.pi)
        reported.append(wrapped)
        assert feed(guard, 1.0 + 0.01 * k, [wrapped, 0.0, 0.0]).accepted
        assert guard.q[0] == pytest.approx(angle, abs=1e-9)
        if k > 0:
            assert guard.v[0] == pytest.approx(2.0, abs=1e-6)
    assert max(reported) - min(reported) > 6.0


@pytest.mark.parametrize('gap', [2e-7, 1e-6, 1e-5, 1e-4])
def test_two_first_states_that_are_hardly_apart_make_no_speed_of_noise(gap):
    guard = monitor()
    feed(guard, 1.0, [0.0, 0.0, 0.0])
    assert feed(guard, 1.0 + gap, [1e-4, -1e-4, 0.0]).accepted
    assert guard.velocity_known
    # A ten thousandth of a radian over half a millisecond, where it would be up to 500 rad/s.
    assert np.abs(guard.v).max() <= 0.2
    for k in range(1, 20):
        feed(guard, 1.0 + gap + 0.01 * k, [1e-4 + 0.02 * k, -1e-4, 0.0])
    np.testing.assert_allclose(guard.v, [2.0, 0.0, 0.0], atol=1e-3)


def test_a_joint_with_stops_is_not_unwrapped():
    guard = monitor()
    feed(guard, 1.0, [3.1, 0.0, 0.0])
    assert feed(guard, 1.01, [-3.1, 0.0, 0.0]).reason is Reason.JUMP


def test_halves_of_an_arm_make_one_state_each_time_both_have_spoken():
    guard = monitor()
    outcomes = []
    for k in range(5):
        t = 1.0 + 0.01 * k
        outcomes.append(feed(guard, t, [0.01 * k, 0.0], names=('a', 'b')).outcome)
        outcomes.append(feed(guard, t + 0.004, [0.02 * k], names=('c',)).outcome)
        assert guard.stamp == pytest.approx(t + 0.004)
        np.testing.assert_allclose(guard.q, [0.01 * k, 0.0, 0.02 * k])
    assert outcomes == [Outcome.PARTIAL, Outcome.ACCEPTED] * 5
    assert guard.dt == pytest.approx(0.01)


def test_halves_too_far_apart_make_no_state():
    guard = monitor(state_skew=0.02)
    feed(guard, 1.0, [0.0, 0.0], names=('a', 'b'))
    assert feed(guard, 1.03, [0.0], names=('c',)).reason is Reason.SKEW
    assert not guard.has_state
    assert feed(guard, 1.04, [0.0, 0.0], names=('a', 'b')).accepted


def test_each_half_has_its_own_order_of_stamps():
    guard = monitor()
    feed(guard, 1.010, [0.0], names=('c',))
    # Older than what the other half said, but news of this one.
    assert guard.update(1.011, 1.005, ['a', 'b'], [0.0, 0.0]).accepted
    assert guard.update(1.012, 1.005, ['a', 'b'], [0.0, 0.0]).reason is Reason.DUPLICATE
    assert guard.update(1.013, 1.004, ['a', 'b'], [0.0, 0.0]).reason is Reason.OUT_OF_ORDER


def test_mimic_joints_are_compared_with_their_joint():
    finger = DependentJoint('finger', np.array([0.0, 0.0, -2.0]), 0.1)
    guard = monitor(dependent=[finger])
    names = ('a', 'b', 'c', 'finger')
    feed(guard, 1.0, [0.0, 0.0, 0.2, -0.3], names=names)
    assert guard.notes[Note.MIMIC] == 0
    assert feed(guard, 1.01, [0.0, 0.0, 0.2, 0.3], names=names).accepted
    assert guard.notes[Note.MIMIC] == 1
    # One that reports nothing says nothing.
    assert feed(guard, 1.02, [0.0, 0.0, 0.2, NAN], names=names).accepted
    assert guard.notes[Note.MIMIC] == 1


def test_monitor_of_a_robot_knows_its_mimic_joints():
    robot = Robot.from_urdf("""<robot name="grip"><link name="base"/>
      <link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
        iyz="0"/></inertial></link>
      <link name="r"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
        iyz="0"/></inertial></link>
      <joint name="left" type="revolute"><parent link="base"/><child link="l"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
      <joint name="right" type="revolute"><parent link="base"/><child link="r"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
        <mimic joint="left" multiplier="-1"/></joint></robot>""")
    guard = JointStateMonitor.for_robot(robot)
    assert guard.joint_names == ('left',)
    assert guard.update(1.0, 1.0, ['left', 'right'], [0.3, -0.3]).accepted
    assert guard.notes[Note.MIMIC] == 0
    assert guard.update(1.01, 1.01, ['left', 'right'], [0.3, 0.3]).accepted
    assert guard.notes[Note.MIMIC] == 1


@pytest.mark.parametrize('setting', ['max_age', 'max_joint_step', 'velocity_cutoff'])
@pytest.mark.parametrize('value', [0.0, -1.0, NAN, INF])
def test_settings_are_checked(setting, value):
    with pytest.raises(ParameterError, match=setting):
        monitor(**{setting: value})


def test_shapes_are_checked():
    with pytest.raises(DimensionError, match='velocity_limit'):
        monitor(velocity_limit=[1.0])
    with pytest.raises(DimensionError, match='continuous'):
        JointStateMonitor(NAMES, [True])


numbers = st.floats(allow_nan=True, allow_infinity=True)
arrays = st.lists(numbers, max_size=5)
messages = st.tuples(numbers, st.one_of(st.none(), numbers),
                     st.one_of(st.just(list(NAMES)),
                               st.lists(st.sampled_from(['a', 'b', 'c', 'x']), max_size=5)),
                     st.lists(numbers, min_size=3, max_size=3) | arrays, arrays, arrays)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(messages, max_size=20))
def test_whatever_comes_in_a_state_is_finite_and_time_moves_on(stream):
    guard = monitor()
    for message in stream:
        before = guard.stamp, guard.q.copy()
        verdict = guard.update(*message)
        if verdict.accepted:
            assert np.isfinite(guard.q).all() and np.isfinite(guard.v).all()
            assert not np.isinf(guard.effort).any()
            assert guard.stamp > before[0]
            assert 0.0 <= guard.dt < INF
        else:
            assert guard.stamp == before[0]
            np.testing.assert_array_equal(guard.q, before[1])
    assert sum(guard.counts.values()) == len(stream)
