# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.control.feedback.protocol import HardwareGravityController
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.motion.trajectory import Progress
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.safe_command import (
    LONGEST_BRAKING,
    RELEASE_TIME,
    SafeKind,
    StatesLost,
)
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.control.states.joint_state import JointStateMonitor
from robot_dynamics.control.states.reported_effort import EffortKind, ReportedEffort
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.model.robot import Robot
from test.control.session.trusting_supervisor import TrustingSupervisor

JOINTS = ['shoulder', 'elbow', 'wrist']
PERIOD = 0.01
POSE = np.array([0.1, 0.2, 0.0])
NAN = math.nan


class Bench:
    """A session with an arm that stands still and applies what it is sent."""

    def __init__(self, robot, controller, start=100.0, **options):
        given = {name: options.pop(name) for name in ('limiter', 'monitor') if name in options}
        self.session = ControlSession(
            robot, controller, SessionSettings(**{'period': PERIOD, **options}),
            gate=StartGate(robot.limits.effort, samples=5),
            supervisor=TrustingSupervisor(robot), **given)
        self.controller = controller
        self.now = start
        self.q, self.v = POSE.copy(), np.zeros(3)
        self.effort = np.zeros(3)
        self.command = None

    def state(self, dt=PERIOD, *, stamp_offset=0.0, **values):
        """Let time pass and hand in a state."""
        self.now += dt
        self.command = self.session.on_joint_state(
            self.now, self.now + stamp_offset, JOINTS, values.get('q', self.q),
            values.get('v', self.v), values.get('effort', self.effort))
        if self.command is not None:
            assert np.isfinite(self.command.effort).all()
            assert (np.abs(self.command.effort) <= self.session.limiter.limit).all()
            self.effort = self.command.effort.copy()
        return self.command

    def states(self, count, **values):
        for _ in range(count):
            self.state(**values)

    def tick(self, dt=PERIOD):
        self.now += dt
        return self.session.on_tick(self.now)

    def start(self):
        """Get it to track."""
        for _ in range(20):
            self.state()
            if self.session.mode is Mode.TRACKING:
                return self
        raise AssertionError(self.session.reason)


@pytest.fixture
def bench(arm3, pd_controller):
    return Bench(arm3, pd_controller)


@pytest.fixture
def new_bench(arm3, pd_controller):
    return lambda **options: Bench(arm3, pd_controller, **options)


def test_nothing_is_sent_before_the_first_state(bench):
    assert bench.session.mode is Mode.WAITING
    assert bench.session.on_tick(1e9) is None
    assert bench.session.stop('asked to') is None


def test_from_waiting_to_tracking(bench):
    session, controller = bench.session, bench.controller
    modes = []
    for _ in range(10):
        command = bench.state()
        modes.append(session.mode)
        # PD about the pose measured first, so exactly gravity at that pose.
        np.testing.assert_array_equal(command.effort, controller.gravity)
        assert not command.is_safe
        assert command.stamp == bench.now
    assert modes == [Mode.HOLDING] * 5 + [Mode.TRACKING] * 5
    assert len(controller.resets) == 1
    assert controller.steps[0] == 0.0
    np.testing.assert_allclose(controller.steps[1:], PERIOD)
    # Nothing is learnt in the first step, which has no time in it.
    assert controller.adapted == [False] + [True] * 4


def test_the_pose_held_is_the_one_measured_first(bench):
    bench.state()
    bench.q = POSE - 0.02
    command = bench.state()
    np.testing.assert_allclose(command.effort, bench.controller.gravity + 100.0 * 0.02)
    bench.start()
    # Tracking begins at the pose held, so that the torque does not jump.
    np.testing.assert_array_equal(bench.session.q_d, POSE)
    np.testing.assert_allclose(bench.command.effort, command.effort)


def test_an_arm_that_does_not_obey_is_held_for_ever(bench):
    for _ in range(1000):
        bench.state(effort=np.zeros(3))
    assert bench.session.mode is Mode.HOLDING
    assert 'not the one commanded' in bench.session.reason
    assert not bench.controller.adapted


def test_references_are_taken_only_while_tracking(bench):
    goal = [TrajectoryPoint(1.0, [0.3, 0.2, 0.0])]
    for mode in (Mode.WAITING, Mode.HOLDING):
        assert bench.session.mode is mode
        with pytest.raises(TrajectoryError, match=mode.value):
            bench.session.accept_trajectory(JOINTS, goal)
        bench.state()
    bench.start()
    assert bench.session.accept_trajectory(JOINTS, goal) == bench.now
    assert bench.session.counts['trajectories'] == 1
    assert bench.session.counts['trajectories_refused'] == 2
    bench.states(50)
    np.testing.assert_allclose(bench.session.q_d, [0.2, 0.2, 0.0], atol=1e-9)
    assert bench.session.trajectory.progress is Progress.MOVING
    np.testing.assert_allclose(bench.command.effort[0], bench.controller.gravity[0] + 100.0 * 0.1
                               + 10.0 * bench.session.v_d[0])


def test_a_bad_reference_changes_nothing(bench):
    bench.start()
    with pytest.raises(TrajectoryError, match='nan'):
        bench.session.accept_trajectory(JOINTS, [TrajectoryPoint(1.0, [NAN, 0.0, 0.0])])
    bench.states(10)
    np.testing.assert_array_equal(bench.session.q_d, POSE)
    assert bench.session.mode is Mode.TRACKING


def test_silence_makes_it_safe_in_time_and_it_says_why(bench):
    bench.start()
    last = bench.now
    while bench.session.mode is Mode.TRACKING:
        command = bench.tick()
    assert last + 0.1 < bench.now <= last + 0.1 + PERIOD + 1e-9
    assert bench.session.cause is Cause.STATES_STOPPED
    assert 'no good one for 0.1' in bench.session.reason
    assert bench.session.reason.endswith(
        'no message was received since the last, which was complete')
    np.testing.assert_array_equal(command.effort, bench.controller.gravity)
    assert command.is_safe
    assert [bench.tick() is not None for _ in range(6)] == [True] * 4 + [False] * 2


def test_short_gaps_hold_the_last_effort(bench):
    bench.start()
    for _ in range(9):
        assert bench.tick() is None
    assert bench.session.mode is Mode.TRACKING
    bench.state(0.005)
    assert bench.session.mode is Mode.TRACKING
    # Torque yes, learning no.
    assert bench.controller.steps[-1] == 5.0 * PERIOD
    assert not bench.controller.adapted[-1]
    bench.state()
    assert bench.controller.adapted[-1]


def test_damping_of_an_old_velocity_is_not_repeated(bench):
    """A velocity that was true once would push the arm for ever."""
    bench.start()
    bench.v = np.array([0.5, 0.0, 0.0])
    bench.states(3)
    while bench.tick() is None:
        pass
    brake = [bench.controller.gravity[0] - 10.0 * 0.5]
    while (command := bench.tick()) is not None:
        brake.append(command.effort[0])
    # It is braked as the speed decays, and then held.
    assert np.all(np.diff(brake) >= 0.0)
    assert brake[-5:] == [bench.controller.gravity[0]] * 5


def test_while_states_come_the_safe_command_damps(bench):
    bench.start()
    bench.controller.answer = [NAN, 0.0, 0.0]
    bench.v = np.array([0.5, 0.0, 0.0])
    command = bench.state()
    assert bench.session.mode is Mode.SAFE
    np.testing.assert_allclose(command.effort, bench.controller.gravity - [5.0, 0.0, 0.0])


def test_a_process_that_slept_finds_out_by_the_next_state(bench):
    bench.start()
    bench.state(0.3)
    assert bench.session.mode is Mode.SAFE
    assert bench.session.cause is Cause.STATES_STOPPED
    assert bench.command.is_safe


def test_resumption_by_good_states_in_a_row(new_bench):
    bench = new_bench(resume_after=10).start()
    bench.q = POSE + 0.5
    bench.state(0.3)
    bench.states(4)
    assert bench.session.mode is Mode.SAFE
    bench.state(q=np.array([NAN, 0.0, 0.0]))
    bench.states(9)
    assert bench.session.mode is Mode.SAFE
    bench.state()
    assert bench.session.mode is Mode.HOLDING
    # Held, and later tracked, where it is now.
    np.testing.assert_array_equal(bench.command.effort, bench.controller.gravity)
    for _ in range(150):
        bench.state()
    assert bench.session.mode is Mode.TRACKING
    np.testing.assert_array_equal(bench.session.q_d, POSE + 0.5)


def test_without_the_parameter_only_reactivation_ends_it(bench):
    bench.start()
    bench.state(0.3)
    bench.states(500)
    assert bench.session.mode is Mode.SAFE
    bench.session.reactivate()
    assert bench.session.mode is Mode.WAITING
    bench.state()
    assert bench.session.mode is Mode.HOLDING


@pytest.mark.parametrize('bad', [[NAN, 0.0, 0.0], [0.0, math.inf, 0.0], ValueError('singular'),
                                 [0.0, 0.0]])
def test_a_controller_that_fails_is_not_heard_again(new_bench, bad):
    bench = new_bench(resume_after=10).start()
    bench.controller.answer = bad
    bench.controller.forget_recent = None  # cannot be called
    command = bench.state()
    np.testing.assert_array_equal(command.effort, bench.controller.gravity)
    assert command.is_safe
    assert bench.session.cause is Cause.CONTROLLER_FAILED
    calls = len(bench.controller.steps)
    # Good states do not mend it.
    bench.states(100)
    assert bench.session.mode is Mode.SAFE
    assert len(bench.controller.steps) == calls


@pytest.mark.parametrize('bad', [[NAN, 0.0, 0.0], ValueError('singular')])
def test_where_no_safe_effort_can_be_computed_the_last_known_one_is_sent(bench, bad):
    bench.start()
    bench.controller.answer = bench.controller.safe_answer = bad
    for _ in range(5):
        np.testing.assert_array_equal(bench.state().effort, bench.controller.gravity)
    np.testing.assert_array_equal(bench.session.stop('over').effort, bench.controller.gravity)


@pytest.mark.slow
def test_an_arm_that_cannot_be_held_is_not_taken_over(bench):
    bench.controller.gravity[:] = [100.0, 2.0, 0.1]
    assert bench.state() is None
    assert bench.session.mode is Mode.SAFE
    assert 'shoulder' in bench.session.reason and 'limit' in bench.session.reason
    bench.states(10)
    assert bench.session.commands == 0
    assert bench.session.stop('over') is None


def test_efforts_are_cut_and_nothing_is_learnt_then(bench):
    # Until efforts may change at once.
    bench.start().states(5)
    bench.controller.answer = [500.0, 2.0, 0.1]
    command = bench.state()
    np.testing.assert_array_equal(command.effort, [60.0, 2.0, 0.1])
    np.testing.assert_array_equal(bench.controller.applied, command.effort)
    bench.state()
    assert not bench.controller.adapted[-1]
    bench.controller.answer = None
    bench.states(2)
    assert bench.controller.adapted[-1]
    assert bench.session.counts['saturated'] == 2


def test_learning_can_be_switched_off(bench):
    bench.session.adapt_enabled = False
    bench.start().states(10)
    assert not any(bench.controller.adapted)


def test_nothing_is_learnt_in_short_steps(bench):
    bench.start()
    bench.state(0.1 * PERIOD)
    assert not bench.controller.adapted[-1]
    assert bench.controller.steps[-1] == pytest.approx(0.1 * PERIOD)


def test_an_arm_far_from_its_reference_is_given_up(new_bench):
    bench = new_bench(max_tracking_error=0.2, resume_after=5).start()
    bench.session.accept_trajectory(JOINTS, [TrajectoryPoint(2.0, [1.0, 0.2, 0.0])])
    while bench.session.mode is Mode.TRACKING:
        bench.state()
    assert bench.session.cause is Cause.FAR_FROM_REFERENCE
    assert 'shoulder by 0.2' in bench.session.reason
    bench.states(50)
    assert bench.session.mode is Mode.SAFE


def test_an_arm_that_leaves_the_pose_it_is_held_at_is_given_up(bench):
    """It fell while nothing arrived: it must not be thrown back once something does."""
    bench.state()
    while bench.session.mode is Mode.HOLDING:
        bench.q = bench.q + [0.0, 0.03, 0.0]
        bench.state(effort=np.zeros(3))
    assert bench.session.cause is Cause.FAR_FROM_REFERENCE
    assert 'elbow by -0.5' in bench.session.reason
    np.testing.assert_array_equal(bench.command.effort, bench.controller.gravity)


def test_efforts_that_are_not_applied_explain_an_arm_that_is_lost(new_bench):
    detail = '/effort_controller is inactive and applies no efforts'
    bench = new_bench(max_tracking_error=0.2).start()
    session = bench.session
    assert not session.explain(detail) and session.mode is Mode.TRACKING
    session.accept_trajectory(JOINTS, [TrajectoryPoint(2.0, [1.0, 0.2, 0.0])])
    while session.mode is Mode.TRACKING:
        bench.state()
    assert session.explain(detail) and not session.explain(detail)
    assert session.reason == f'{detail}; then activate this controller again'
    assert session.mode is Mode.SAFE and session.cause is Cause.FAR_FROM_REFERENCE


def test_an_arm_whose_efforts_are_cut_off_is_held_until_the_gate_opens_anew(bench):
    session = bench.start().session
    session.accept_trajectory(JOINTS, [TrajectoryPoint(2.0, [1.0, 0.2, 0.0])])
    session.gate.closed_by = 'it is inactive'
    session.return_to_gate('it is inactive')
    bench.states(200, effort=np.zeros(3))
    assert session.mode is Mode.HOLDING and session.reason == 'it is inactive'
    np.testing.assert_array_equal(session.q_d, POSE)
    session.gate.closed_by = ''
    bench.state(effort=np.zeros(3))
    assert session.mode is Mode.HOLDING
    bench.states(600)
    assert session.mode is Mode.TRACKING
    np.testing.assert_array_equal(session.q_d, POSE)


def test_one_that_was_moved_meanwhile_is_held_where_it_is(bench):
    """It must not be thrown back as soon as efforts reach it again."""
    bench.state()
    session = bench.session
    session.gate.closed_by = 'it is inactive'
    # While it moves, it may have been let go of.
    for _ in range(10):
        bench.q = bench.q + [0.0, 0.01, 0.0]
        bench.state(v=np.array([0.0, 1.0, 0.0]))
    np.testing.assert_array_equal(session.q_d, POSE)
    bench.states(2)
    np.testing.assert_array_equal(session.q_d, bench.q)
    # Smaller changes are those of the arm that is held.
    held = bench.q.copy()
    bench.q = held + [0.0, 0.015, 0.0]
    bench.states(2)
    np.testing.assert_array_equal(session.q_d, held)


def test_they_do_not_explain_states_that_stopped(bench):
    bench.start()
    bench.session.on_tick(bench.now + 1.0)
    reason = bench.session.reason
    assert bench.session.cause is Cause.STATES_STOPPED
    assert not bench.session.explain('it is inactive') and bench.session.reason == reason


def test_states_that_come_too_slowly(new_bench):
    bench = new_bench(max_overruns=10).start()
    bench.states(10, dt=0.06)
    assert bench.session.mode is Mode.TRACKING
    bench.state(0.06)
    assert bench.session.cause is Cause.STATES_SLOW
    assert '0.0100 s expected' in bench.session.reason


@pytest.mark.parametrize('joint', range(3))
def test_an_arm_that_runs_is_braked(new_bench, arm3, joint):
    bench = new_bench(resume_after=10).start()

    def states(count):
        for _ in range(count):
            # Who tells a speed has to get somewhere.
            bench.q[joint] += 1e-6
            command = bench.state()
        return command

    bench.v[joint] = -1.4 * arm3.limits.velocity[joint]
    states(20)
    assert bench.session.mode is Mode.TRACKING
    bench.v[joint] *= 1.6 / 1.4
    states(2)
    assert bench.session.mode is Mode.TRACKING
    command = states(1)
    assert bench.session.mode is Mode.SAFE and bench.session.cause is Cause.TOO_FAST
    assert command.is_safe and JOINTS[joint] in bench.session.reason
    # It is braked, and not held again for as long as it runs.
    assert command.effort[joint] > bench.controller.gravity[joint]
    states(50)
    assert bench.session.mode is Mode.SAFE
    bench.v[joint] = 0.0
    bench.states(10)
    assert bench.session.mode is Mode.HOLDING


def test_an_arm_that_moves_and_gets_nowhere_is_safe_at_once(new_bench):
    bench = new_bench(resume_after=10).start()
    bench.v[1] = 0.5
    bench.states(6)
    assert bench.session.mode is Mode.TRACKING
    bench.states(1)
    assert bench.command.is_safe and bench.session.mode is Mode.SAFE
    assert bench.session.cause is Cause.STATES_STOPPED and 'stand still' in bench.session.reason
    # The velocity may be an old one: damping decays by itself.
    for _ in range(100):
        bench.states(1)
        last = bench.effort
    np.testing.assert_allclose(last, bench.controller.gravity, rtol=0.1)
    bench.states(50)
    assert bench.session.mode is Mode.SAFE
    bench.v[1] = 0.0
    bench.states(30)
    assert bench.session.mode is not Mode.SAFE


def test_one_speed_that_is_wrong_is_none(bench, arm3):
    bench.start()
    for _ in range(20):
        bench.state(v=2.0 * arm3.limits.velocity)
        bench.state(v=2.0 * arm3.limits.velocity)
        bench.state()
    assert bench.session.mode is Mode.TRACKING


def test_a_clock_that_goes_back(new_bench):
    bench = new_bench(resume_after=10).start()
    bench.now = 50.0
    bench.state()
    assert bench.session.cause is Cause.CLOCK_JUMPED
    assert bench.command.is_safe
    bench.states(10)
    assert bench.session.mode is Mode.HOLDING


def test_a_clock_that_leaps_ahead_does_not_let_the_reference_leap(bench):
    bench.start()
    session = bench.session
    session.accept_trajectory(JOINTS, [TrajectoryPoint(2.0, [0.3, 0.2, 0.0])])
    # The steady clock knows that no time has passed.
    session.on_joint_state(bench.now + 5.0, bench.now + 5.0, JOINTS, bench.q, bench.v,
                           bench.effort, steady_time=bench.now + PERIOD)
    assert session.cause is Cause.CLOCK_JUMPED
    np.testing.assert_array_equal(session.q_d, POSE)


def test_a_clock_that_stands_still_does_not_fool_the_watchdog(bench):
    bench.start()
    frozen = bench.now
    for k in range(1, 30):
        bench.session.on_joint_state(frozen, frozen, JOINTS, bench.q, bench.v, bench.effort,
                                     steady_time=frozen + k * PERIOD)
        bench.session.on_tick(frozen + k * PERIOD)
    assert bench.session.cause is Cause.STATES_STOPPED
    assert 'duplicate' in bench.session.reason


def test_the_moment_for_the_safe_command_is_known_and_only_good_states_move_it(bench):
    bench.start()
    session, timeout = bench.session, bench.session.settings.state_timeout
    last = bench.now
    assert session.time_left(last) == pytest.approx(timeout, abs=1e-12)
    for _ in range(3):
        bench.state(q=POSE * np.nan)
    assert session.time_left(last) == pytest.approx(timeout, abs=1e-12)
    assert session.on_tick(last + timeout - 1e-9) is None and session.mode is Mode.TRACKING
    assert session.on_tick(last + timeout + 1e-9).is_safe and session.mode is Mode.SAFE
    assert not session.time_left(math.nan) > 0.0


def test_a_glitch_is_bridged_but_a_joint_that_stays_away_is_not(bench):
    bench.start()
    assert bench.state(q=POSE + [1.0, 0.0, 0.0]) is None
    assert bench.state() is not None
    assert bench.session.mode is Mode.TRACKING
    while bench.session.mode is Mode.TRACKING:
        bench.state(q=POSE + [1.0, 0.0, 0.0])
        bench.tick(0.0)
    assert 'shoulder: position jumped' in bench.session.reason
    # A first state again, and held there after reactivation.
    bench.session.reactivate()
    assert bench.state(q=POSE + [1.0, 0.0, 0.0]) is not None


@pytest.mark.parametrize('alike', [1, 2, 4])
def test_states_after_a_loss_are_answered_when_some_agree(new_bench, alike):
    """They may be as wrong as those that were refused: each of these has a joint elsewhere."""
    bench = new_bench(resume_after=10).start()
    session, before = bench.session, bench.session.commands
    for k in range(60):
        q = POSE.copy()
        q[k // alike % 3] += 10.0 * (k // alike + 1)
        assert bench.state(q=q) is None
        while session.on_tick(bench.now) is not None:
            pass
    assert session.mode is Mode.SAFE and session.cause is Cause.STATES_STOPPED
    assert session.commands - before == session.settings.safe_repeats
    # One that stays away is believed.
    for _ in range(30):
        bench.state(q=POSE + [0.0, 1.5, 0.0])
        session.on_tick(bench.now)
    assert session.mode is Mode.HOLDING
    np.testing.assert_allclose(session.q_d, POSE + [0.0, 1.5, 0.0])


def test_stop_says_the_last_word(bench):
    bench.start()
    bench.v = np.array([0.5, 0.0, 0.0])
    bench.state()
    command = bench.session.stop('SIGTERM')
    np.testing.assert_array_equal(command.effort, bench.controller.gravity)
    assert command.is_safe
    assert bench.session.mode is Mode.STOPPED and bench.session.reason == 'SIGTERM'
    assert bench.state() is None and bench.tick(1.0) is None
    # Once let go, the arm is not ours.
    assert bench.session.stop('again') is None


def test_stop_is_not_slowed_by_the_rate_limit(arm3, pd_controller):
    bench = Bench(arm3, pd_controller,
                  limiter=EffortLimiter.for_robot(arm3, rate_limit=[50.0] * 3))
    bench.start()
    pd_controller.answer = [60.0, 2.0, 0.1]
    bench.states(20)
    assert bench.command.effort[0] == pytest.approx(5.0 + 20 * 50.0 * PERIOD)
    np.testing.assert_array_equal(bench.session.stop('over').effort, pd_controller.gravity)


@pytest.mark.parametrize(('kind', 'effort'), [
    ('gravity', [0.0, 2.0, 0.1]), ('damping', [-5.0, 0.0, 0.0]), ('zero', [0.0, 0.0, 0.0])])
def test_kinds_of_safe_command(new_bench, kind, effort):
    bench = new_bench(safe_kind=SafeKind(kind)).start()
    bench.controller.answer = [NAN] * 3
    bench.v = np.array([0.5, 0.0, 0.0])
    np.testing.assert_allclose(bench.state().effort, effort, atol=1e-12)


def test_velocities_that_nobody_measures_are_estimated_before_tracking(bench):
    for _ in range(30):
        bench.state(v=())
    assert bench.session.mode is Mode.TRACKING
    bench.q = POSE + 0.01
    bench.state(v=())
    assert (bench.session.monitor.v > 0.1).all()


def test_a_joint_that_turns_without_end_is_tracked_across_the_seam(turning_arm3, pd_controller):
    monitor = JointStateMonitor.for_robot(turning_arm3)
    bench = Bench(turning_arm3, pd_controller, monitor=monitor)
    bench.q[2] = math.pi - 0.05
    bench.start()
    bench.session.accept_trajectory(JOINTS, [TrajectoryPoint(1.0, [0.1, 0.2, -math.pi + 0.05])])
    for _ in range(110):
        bench.q = bench.session.q_d.copy()
        bench.q[2] = math.remainder(bench.q[2], 2.0 * math.pi)
        bench.state()
        assert bench.session.mode is Mode.TRACKING
        assert abs(bench.session.q_d[2] - monitor.q[2]) < 0.05
    assert bench.session.q_d[2] == pytest.approx(math.pi + 0.05)


def test_a_timeout_that_every_state_would_miss_is_refused_with_one_that_is_not():
    with pytest.raises(ParameterError, match=r'state_timeout is 0\.1 s, too short') as caught:
        SessionSettings(period=0.1)
    least = float(caught.value.remedy.split()[3])
    assert SessionSettings(period=0.1, state_timeout=least).state_timeout == least < 0.16
    SessionSettings(period=0.1, state_timeout=0.15)


def test_settings_are_checked():
    for wrong in ({'period': 0.0}, {'state_timeout': NAN}, {'safe_repeats': 0},
                  {'resume_after': 0}):
        with pytest.raises(ParameterError):
            SessionSettings(**{'period': 0.01, **wrong})


values = st.floats(-0.02, 0.02) | st.sampled_from([NAN, math.inf, -math.inf, 1e308, 5.0, -40.0])
vectors = st.lists(values, min_size=3, max_size=3) | st.just([0.0] * 3) | st.lists(values,
                                                                                  max_size=4)
events = st.one_of(
    st.tuples(st.just('state'), st.sampled_from([0.0, 1e-4, PERIOD, PERIOD, PERIOD, 0.05, 0.15]),
              st.sampled_from([0.0, 0.0, 0.0, -0.02, -0.5, 0.04, 3.0, NAN]),
              st.permutations(JOINTS) | st.lists(st.sampled_from([*JOINTS, 'x']), max_size=4),
              vectors, vectors, vectors),
    st.tuples(st.just('good'), st.integers(1, 15)),
    st.tuples(st.just('tick'), st.sampled_from([0.0, PERIOD, 0.2, -5.0])),
    st.tuples(st.just('clock'), st.sampled_from([-30.0, 30.0, NAN])),
    st.tuples(st.just('controller'), st.none() | vectors, st.none() | vectors),
    st.tuples(st.just('reference'), st.floats(-1.0, 3.0), vectors, vectors, vectors),
    st.tuples(st.just('command'), st.sampled_from(['stop', 'reactivate'])),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(events, max_size=30), st.sampled_from([None, 3]), st.booleans())
def test_whatever_happens_no_nan_and_no_effort_beyond_its_limit_leaves(
        arm3, pd_controller_type, stream, resume_after, with_rate):
    """The promise of the whole room, whatever arm, clock, controller and user do."""
    controller = pd_controller_type()
    rate = [200.0] * 3 if with_rate else None
    session = ControlSession(
        arm3, controller, SessionSettings(period=PERIOD, resume_after=resume_after),
        limiter=EffortLimiter.for_robot(arm3, rate_limit=rate),
        gate=StartGate(arm3.limits.effort, samples=3))
    limit = arm3.limits.effort
    clock = steady = 100.0
    effort = [0.0] * 3

    def check(command):
        if command is not None:
            # An arm that is not taken over again is braked by the command that acts on it.
            assert session.mode is not Mode.WAITING or command.is_safe
            assert np.isfinite(command.effort).all()
            assert (np.abs(command.effort) <= limit).all()
            assert math.isfinite(command.stamp)
            effort[:] = command.effort
            if session.mode is Mode.SAFE:
                assert command.is_safe

    for event, *arguments in stream:
        if event == 'state':
            dt, offset, names, q, v, tau = arguments
            clock, steady = clock + dt, steady + dt
            check(session.on_joint_state(clock, clock + offset, names, q, v, tau,
                                         steady_time=steady))
        elif event == 'good':
            for _ in range(arguments[0]):
                clock, steady = clock + PERIOD, steady + PERIOD
                check(session.on_joint_state(clock, clock, JOINTS, [0.0] * 3, [0.0] * 3, effort,
                                             steady_time=steady))
        elif event == 'tick':
            steady += max(arguments[0], 0.0)
            clock += max(arguments[0], 0.0)
            check(session.on_tick(steady + min(arguments[0], 0.0)))
        elif event == 'clock':
            clock = clock + arguments[0] if math.isfinite(arguments[0]) else clock
        elif event == 'controller':
            controller.answer, controller.safe_answer = arguments
        elif event == 'reference':
            t, q, v, a = arguments
            try:
                session.accept_trajectory(JOINTS, [TrajectoryPoint(t, q, v, a)])
            except TrajectoryError:
                pass
        elif arguments[0] == 'stop':
            check(session.stop('asked to'))
        else:
            session.reactivate()
    # Silence ends safe, in time.
    if session.mode in (Mode.HOLDING, Mode.TRACKING):
        check(session.on_tick(steady + 0.1 + PERIOD))
        assert session.mode is Mode.SAFE


@pytest.mark.slow
def test_winds_down_no_faster_than_efforts_may_change(arm3, pd_controller):
    limiter = EffortLimiter.for_robot(arm3, rate_limit=[100.0] * 3)
    bench = Bench(arm3, pd_controller, limiter=limiter).start()
    bench.states(200)
    pd_controller.answer = [25.0, 10.0, 3.0]
    bench.states(50)
    seen = [bench.effort]
    while (command := bench.session.wind_down(0.002)) is not None:
        assert command.is_safe
        seen.append(command.effort.copy())
    last = bench.session.stop('done').effort
    np.testing.assert_array_equal(last, pd_controller.gravity)
    steps = np.abs(np.diff([*seen, last], axis=0))
    assert len(seen) > 50 and np.all(steps <= 0.2 + 1e-12)


def test_winding_down_sends_nothing_where_nothing_was_sent_or_there_is_nothing_to_do(bench):
    assert bench.session.wind_down(0.002) is None
    bench.start()
    assert bench.session.wind_down(0.002) is None


def test_goes_on_from_what_somebody_else_has_sent(arm3, pd_controller):
    limiter = EffortLimiter.for_robot(arm3, rate_limit=[100.0] * 3)
    bench = Bench(arm3, pd_controller, limiter=limiter)
    bench.session.stop('not activated yet')
    bench.session.reactivate()
    before = np.array([20.0, -5.0, 2.0])
    bench.session.take_over(before)
    seen = [before]
    for _ in range(40):
        seen.append(bench.state(effort=seen[-1]).effort.copy())
    steps = np.abs(np.diff(seen, axis=0))
    assert np.all(steps <= 100.0 * PERIOD + 1e-12)
    np.testing.assert_allclose(seen[-1], pd_controller.gravity)


@pytest.mark.parametrize('effort', [[NAN, 0.0, 0.0], [1e3, 0.0, 0.0], [1.0]])
def test_what_cannot_have_been_sent_is_not_gone_on_from(arm3, pd_controller, effort):
    limiter = EffortLimiter.for_robot(arm3, rate_limit=[100.0] * 3)
    bench = Bench(arm3, pd_controller, limiter=limiter)
    bench.session.take_over(np.array(effort))
    np.testing.assert_array_equal(bench.state().effort, pd_controller.gravity)


def test_a_safe_command_that_does_not_stop_the_arm_is_reported(new_bench):
    bench = new_bench(max_tracking_error=0.05).start()
    session = bench.session
    q, v = POSE.copy(), np.zeros(3)
    assert not session.safe_has_failed
    for _ in range(100):
        # Whatever is sent, it becomes faster.
        v = 1.1 * v + 0.1
        q += PERIOD * v
        bench.state(q=q.copy(), v=v.copy())
        if session.safe_has_failed:
            break
    assert session.mode is Mode.SAFE and session.safe_has_failed
    session.reactivate()
    assert not session.safe_has_failed


def silent(bench):
    """Commands after the states of a moving arm have stopped."""
    bench.start()
    bench.states(3, v=np.array([1.0, -0.5, 0.2]))
    bench.tick(bench.session.settings.state_timeout)
    commands = []
    while (command := bench.tick()) is not None:
        commands.append(command.effort.copy())
    assert bench.session.mode is Mode.SAFE
    for _ in range(100):
        assert bench.tick() is None
    return commands


def test_an_arm_without_states_is_braked_and_then_held(bench):
    commands = silent(bench)
    repeats = bench.session.settings.safe_repeats
    # The speed that is damped falls with the rate of the damping, from 1 rad/s.
    speeds = [(bench.controller.gravity - effort)[0] / bench.controller.kd for effort in commands]
    braking = len(commands) - repeats
    assert 0.1 < braking * PERIOD < 0.5
    np.testing.assert_allclose(np.array(speeds[1:braking]) / speeds[:braking - 1],
                               math.exp(-bench.controller.damping_rate * PERIOD))
    np.testing.assert_array_equal(commands[-repeats:], [bench.controller.gravity] * repeats)


def test_an_arm_without_states_is_released_within_a_stated_time(new_bench):
    bench = new_bench(states_lost=StatesLost.RELEASE)
    commands = silent(bench)
    repeats = bench.session.settings.safe_repeats
    np.testing.assert_array_equal(commands[-repeats:], np.zeros((repeats, 3)))
    assert len(commands) * PERIOD < LONGEST_BRAKING + RELEASE_TIME
    # Down a ramp, once it is braked.
    ramp = np.array(commands[-repeats - 50:-repeats])[:, 0]
    np.testing.assert_allclose(np.diff(ramp), -bench.controller.gravity[0] * PERIOD / RELEASE_TIME)
    # States that come again are answered with what carries the arm.
    bench.states(10)
    np.testing.assert_array_equal(bench.command.effort, bench.controller.gravity)


def test_braking_ends_even_where_damping_is_slow(bench):
    bench.session._safe_motion._damping_rate = 0.1
    assert len(silent(bench)) * PERIOD < LONGEST_BRAKING + 0.1


def test_states_of_another_publisher_make_it_safe_and_the_arm_is_braked(bench):
    bench.session.distrust_states('not yet')
    assert bench.session.mode is Mode.WAITING
    bench.start()
    bench.states(3, v=np.array([1.0, -0.5, 0.2]))
    bench.session.distrust_states('joint_states has 2 publishers, not 1: /arm, /other')
    assert bench.session.mode is Mode.SAFE and bench.session.cause is Cause.MORE_PUBLISHERS
    assert bench.session.reason == 'joint states have another publisher: ' \
        'joint_states has 2 publishers, not 1: /arm, /other'
    # At once, without waiting until the states before are old.
    first, second = (bench.tick().effort[0] - bench.controller.gravity[0] for _ in range(2))
    assert first < -0.8 * bench.controller.kd
    assert second == pytest.approx(first * math.exp(-bench.controller.damping_rate * PERIOD))
    # States of the arm alone are answered again, and end nothing.
    bench.states(300)
    assert bench.command.is_safe and bench.session.mode is Mode.SAFE


def test_another_publisher_is_no_cause_that_passes(new_bench):
    bench = new_bench(resume_after=20).start()
    bench.session.distrust_states('2 publishers')
    bench.states(200)
    assert bench.session.mode is Mode.SAFE
    bench.session.reactivate()
    bench.states(150)
    assert bench.session.mode is Mode.TRACKING


@pytest.fixture(scope='module')
def arm7():
    return Robot.from_urdf('arm7')


#: A pose of arm7 in which shoulder and elbow carry much, and one in which gravity needs nothing.
STRETCHED = np.array([0.0, 1.2, 0.0, -0.6, 0.0, 0.3, 0.0])
UPRIGHT = np.zeros(7)


def first_states(robot, q, effort, v=0.0, gate=None):
    """The mode after some states of an arm that was sent nothing before, and the session."""
    session = ControlSession(robot, PDGravityController(robot), SessionSettings(period=PERIOD),
                             gate=gate)
    gravity = Dynamics(robot).gravity_torque(q)
    for k in range(5):
        command = session.on_joint_state(k * PERIOD, k * PERIOD, robot.joint_names, q,
                                         np.full(7, v), effort(gravity))
        if session.mode is Mode.WAITING:
            assert command is None
    return session


def test_an_arm_whose_torque_reading_is_reversed_is_not_taken_over(arm7):
    session = first_states(arm7, STRETCHED, lambda gravity: -gravity)
    assert session.mode is Mode.WAITING
    assert session.reason.startswith('joint2 reports an effort of ')
    assert 'effort_scale (-1.0 where it is empty)' in session.reason
    # Also where friction or a payload take their share.
    session = first_states(arm7, STRETCHED, lambda gravity: -0.7 * gravity + 0.5)
    assert session.mode is Mode.WAITING


@pytest.mark.parametrize('effort', [
    lambda gravity: gravity, lambda gravity: 0.3 * gravity, lambda gravity: 0.0 * gravity,
    lambda gravity: -0.3 * gravity, lambda gravity: np.full(7, NAN),
    lambda gravity: gravity * np.array([1, 1, 1, 1, 1, -1, 1])])
def test_readings_that_do_not_clearly_oppose_gravity_do_not_matter(arm7, effort):
    """Brakes or a support carry some, a payload turns the torque of a wrist round."""
    assert first_states(arm7, STRETCHED, effort).mode is Mode.HOLDING


@pytest.mark.parametrize(('sign', 'mode'), [(1.0, Mode.HOLDING), (-1.0, Mode.WAITING)])
def test_the_torque_reading_of_an_arm_that_carries_itself_is_compared_too(arm7, sign, mode):
    """Commands are what comes on top of gravity; the reading contains it."""
    gravity_of = Dynamics(arm7).gravity_torque
    limiter = EffortLimiter.for_robot(arm7)
    reported = ReportedEffort(EffortKind.TORQUE, None, gravity_of, hardware_gravity=True)
    session = ControlSession(
        arm7, HardwareGravityController(PDGravityController(arm7), gravity_of,
                                        limiter.hardware_gravity),
        SessionSettings(period=PERIOD), limiter=limiter,
        gate=StartGate(limiter.limit, as_sent=reported.as_sent))
    session.on_joint_state(0.0, 0.0, arm7.joint_names, STRETCHED, UPRIGHT,
                           sign * gravity_of(STRETCHED))
    assert session.mode is mode


def test_without_gravity_nothing_is_concluded_from_readings(arm7):
    noise = np.array([1.0, -1.0, 1.0, -1.0, 0.1, -0.1, 0.1])
    for sign in (-1.0, 1.0):
        session = first_states(arm7, UPRIGHT, lambda gravity, sign=sign: gravity + sign * noise)
        assert session.mode is Mode.HOLDING


def test_readings_of_a_moving_arm_or_of_another_kind_are_not_compared(arm7):
    def reversed_(gravity):
        return -gravity

    assert first_states(arm7, STRETCHED, reversed_, v=0.3).mode is not Mode.WAITING
    gate = StartGate(arm7.limits.effort, compare_effort=False)
    assert first_states(arm7, STRETCHED, reversed_, gate=gate).mode is Mode.HOLDING


def test_what_a_fault_took_from_the_safe_command_is_given_back(new_bench):
    """An arm that was released is held again, and is not dropped by the next stop."""
    bench = new_bench(states_lost=StatesLost.RELEASE).start()
    bench.tick(1.0)
    for _ in range(1000):
        bench.tick()
    assert bench.session.mode is Mode.SAFE
    np.testing.assert_array_equal(bench.session.stop('released').effort, 0.0)
    bench.session.supervisor.unseen[:] = 0.3
    bench.session.reactivate()
    bench.state()
    assert bench.session.mode is Mode.HOLDING
    np.testing.assert_allclose(bench.session.stop('asked to').effort, bench.controller.gravity)
    assert not bench.session.supervisor.unseen.any()


def tracking_session(robot):
    """A session that tracks at STRETCHED, and the time of its last state."""
    session = first_states(robot, STRETCHED, lambda gravity: gravity)
    now = 4 * PERIOD
    while session.mode is not Mode.TRACKING:
        now += PERIOD
        session.on_joint_state(now, now, robot.joint_names, STRETCHED, np.zeros(7))
    return session, now


def test_a_joint_that_follows_in_uneven_steps_is_not_left_behind(arm7):
    """After a long step and a short one, the reference of the long one is not a new motion."""
    session, now = tracking_session(arm7)
    goal = STRETCHED + np.array([0, 0, 0, -1.2, 0, 0, 0])
    session.accept_trajectory(arm7.joint_names, [TrajectoryPoint(2.0, goal, np.zeros(7))])
    # How long efforts act is another test.
    session.lateness.longest_delay = math.inf
    q, v, a = np.zeros((3, 7))
    for k in range(80):
        now += 4.5 * PERIOD if k % 4 == 0 else 0.1 * PERIOD
        session.trajectory.sample_into(now, q, v, a)
        # The effort changes by more than friction may take.
        command = session.on_joint_state(now, now, arm7.joint_names, q, v + (-1) ** k * 0.1)
        assert command is not None and session.mode is Mode.TRACKING, session.reason


def test_efforts_that_act_longer_than_the_feedback_tolerates_are_late(arm7):
    """States 45 ms apart are new, but answer what the arm did with an old effort."""
    session, now = tracking_session(arm7)
    assert session.lateness.longest_delay < 0.5 * 3.5 * PERIOD
    for _ in range(2):
        assert session.mode is Mode.TRACKING
        now += 4.5 * PERIOD
        session.on_joint_state(now, now, arm7.joint_names, STRETCHED, np.zeros(7))
    assert session.mode is Mode.SAFE and session.cause is Cause.ANSWERS_LATE
