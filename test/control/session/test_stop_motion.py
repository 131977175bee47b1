# SPDX-License-Identifier: Apache-2.0
"""A stop that somebody asks for: the way to rest, and what has to happen after it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.control.session.stop_motion import (
    FastestStop,
    StopKind,
    StopMotion,
    discrete_stop_acceleration,
    minimum_time_set,
    stop_acceleration,
    stop_times,
)
from robot_dynamics.errors import ControlError, DimensionError, ParameterError, TrajectoryError
from test.control.session.trusting_supervisor import TrustingSupervisor

PERIOD = 0.01

JOINTS = ['shoulder', 'elbow', 'wrist']

GOAL = [TrajectoryPoint(2.0, [1.1, -0.6, 0.3])]


class FollowingArm:
    """An arm that is exactly where it is led."""

    def __init__(self, robot, controller, **options):
        self.session = ControlSession(
            robot, controller, SessionSettings(period=PERIOD, **options),
            gate=StartGate(robot.limits.effort, samples=5),
            supervisor=TrustingSupervisor(robot),
            stop_motion=StopMotion.for_robot(robot, [4.0, 3.0, 5.0]))
        self.now, self.q, self.v = 100.0, np.array([0.1, 0.2, 0.0]), np.zeros(3)
        self.effort = np.zeros(3)

    def state(self):
        self.now += PERIOD
        command = self.session.on_joint_state(self.now, self.now, JOINTS, self.q, self.v,
                                              self.effort)
        if command is not None:
            self.effort = command.effort.copy()
        if self.session.mode.follows:
            self.q, self.v = self.session.q_d.copy(), self.session.v_d.copy()
        else:
            self.v = np.zeros(3)

    def states(self, count):
        for _ in range(count):
            self.state()

    def until(self, mode):
        for _ in range(400):
            self.state()
            if self.session.mode is mode:
                return
        raise AssertionError(self.session.reason)


@pytest.fixture
def arm(arm3, pd_controller):
    return FollowingArm(arm3, pd_controller, resume_after=5)


def moving(arm):
    """Get the arm to move at full speed."""
    arm.until(Mode.TRACKING)
    arm.session.accept_trajectory(JOINTS, GOAL)
    arm.states(100)
    assert np.abs(arm.session.v_d).max() > 0.5
    return arm


def test_stops_along_its_bounds_and_holds(arm):
    session = moving(arm).session
    q, v = session.q_d.copy(), session.v_d.copy()
    assert 'at rest in' in session.halt()
    assert session.mode is Mode.HALTED
    bound = np.array([4.0, 3.0, 5.0])
    arm.state()
    # No jump: the first step is that of the bound.
    np.testing.assert_allclose(session.v_d, v - bound * np.sign(v) * PERIOD, atol=1e-9)
    np.testing.assert_allclose(session.a_d, -bound * np.sign(v))
    arm.states(int(np.ceil((np.abs(v) / bound).max() / PERIOD)))
    assert not np.any(session.v_d) and not np.any(session.a_d)
    end = q + 0.5 * np.abs(v) * v / bound
    np.testing.assert_allclose(session.q_d, end, atol=1e-9)
    arm.states(300)
    assert session.mode is Mode.HALTED
    np.testing.assert_allclose(session.q_d, end, atol=1e-9)
    # Nothing is learnt from it.
    assert not session.adapted and arm.session.controller.adapted[-300:] == [False] * 300


def test_no_reference_is_followed_until_somebody_says_so(arm):
    session = moving(arm).session
    session.halt()
    with pytest.raises(TrajectoryError, match='halted'):
        session.accept_trajectory(JOINTS, GOAL)
    with pytest.raises(ControlError, match='not brought the arm to rest yet'):
        session.resume()
    arm.states(100)
    held = session.q_d.copy()
    session.resume()
    arm.states(50)
    # Resumed, it does not go on where it was interrupted: it stays at the pose held.
    assert session.mode is Mode.TRACKING and session.adapted
    np.testing.assert_array_equal(session.q_d, held)
    session.accept_trajectory(JOINTS, GOAL)
    arm.states(250)
    np.testing.assert_allclose(session.q_d, GOAL[0].positions, atol=1e-9)


def test_asked_for_twice_changes_nothing(arm):
    session = moving(arm).session
    session.halt()
    arm.states(3)
    v = session.v_d.copy()
    assert 'halted' in session.halt()
    arm.state()
    assert np.all(np.abs(session.v_d) < np.abs(v))


@pytest.mark.parametrize('mode', [Mode.WAITING, Mode.HOLDING])
def test_asked_for_before_tracking_it_never_tracks(arm, mode):
    if mode is Mode.HOLDING:
        arm.until(mode)
    arm.session.halt()
    arm.until(Mode.HALTED)
    np.testing.assert_allclose(arm.session.q_d, [0.1, 0.2, 0.0])
    arm.session.resume()
    arm.state()
    assert arm.session.mode is Mode.TRACKING


def test_stays_asked_for_through_safe(arm):
    session = moving(arm).session
    session.halt()
    arm.now += 1.0  # no states
    session.on_tick(arm.now)
    assert session.mode is Mode.SAFE and session.cause is Cause.STATES_STOPPED
    # Good states alone would hold the arm and then let it follow: not now.
    arm.until(Mode.HALTED)
    assert not np.any(session.v_d)


def test_made_safe_while_halted_like_while_tracking(arm):
    session = moving(arm).session
    session.halt()
    arm.state()
    for _ in range(60):
        # Something pulls the arm away.
        arm.q, arm.v = session.q_d + min(0.6, 0.02 + np.abs(arm.q - session.q_d).max()), arm.v
        if session.mode is Mode.SAFE:
            break
        pulled = arm.q.copy()
        arm.state()
        arm.q = pulled
    assert session.mode is Mode.SAFE and session.cause is Cause.FAR_FROM_REFERENCE


def test_activated_anew_a_halt_is_over(arm):
    session = moving(arm).session
    session.halt()
    session.stop('deactivated')
    assert 'stopped' in session.halt()
    session.reactivate()
    arm.until(Mode.TRACKING)


def test_nothing_to_resume(arm):
    arm.until(Mode.TRACKING)
    with pytest.raises(ControlError, match='was not requested'):
        arm.session.resume()


def test_a_joint_that_cannot_stop_before_its_limit_rests_there():
    halt = StopMotion(2, [1.0, 1.0], lower=[-1.0, -1.0], upper=[1.0, 1.0])
    halt.begin(5.0, np.array([0.9, 1.2]), np.array([1.0, 0.0]))
    q, v, a = np.empty(2), np.empty(2), np.empty(2)
    halt.sample_into(6.5, q, v, a)
    # The second joint was outside before: it is not moved.
    np.testing.assert_array_equal(q, [1.0, 1.2])
    assert not np.any(v) and not np.any(a)
    assert halt.is_over(6.5)


@pytest.mark.parametrize('wrong', [0.0, -1.0, np.inf, [1.0, 0.0]])
def test_wrong_bounds_are_named(wrong):
    with pytest.raises(ParameterError, match='stop_acceleration'):
        StopMotion(2, wrong)
    assert StopMotion(2, 3.0, StopKind.TOGETHER).is_over(0.0)

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
])
def test_wrong_inputs_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()
