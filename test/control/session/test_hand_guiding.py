# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.laws.guiding import GuidingController
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.hand_guiding import HandGuidingSession
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.session import SessionSettings
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.errors import ControlError, TrajectoryError
from test.control.session.trusting_supervisor import TrustingSupervisor

PERIOD = 0.004
POSE = np.array([0.1, 0.2, 0.0])


class Bench:
    """An arm that goes where the test takes it, and applies what it is sent."""

    def __init__(self, robot):
        self.names = robot.joint_names
        self.law = GuidingController(robot, feedback=FeedbackGains(bandwidth=40.0),
                                     period=PERIOD)
        self.session = HandGuidingSession(
            robot, self.law, SessionSettings(period=PERIOD, max_tracking_error=0.2),
            gate=StartGate(robot.limits.effort, samples=5),
            supervisor=TrustingSupervisor(robot))
        self.now, self.q, self.v = 10.0, POSE.copy(), np.zeros(3)
        self.effort = np.zeros(3)

    def states(self, count=1):
        for _ in range(count):
            self.now += PERIOD
            self.q = self.q + PERIOD * self.v
            command = self.session.on_joint_state(self.now, self.now, self.names, self.q, self.v,
                                                  self.effort)
            self.effort = command.effort.copy()

    def start(self):
        self.states(200)
        assert self.session.mode is Mode.GUIDED
        return self


@pytest.fixture
def bench(arm3):
    return Bench(arm3)


def test_holds_and_then_gives_the_arm_to_the_hand(bench):
    bench.states(3)
    assert bench.session.mode is Mode.HOLDING
    bench.start()
    assert not bench.session.adapted


def test_giving_it_away_is_no_jump(bench):
    """What held the arm at an error is carried on, to the last digit."""
    bench.states()
    bench.q = POSE + [0.01, -0.02, 0.005]
    while bench.session.mode is Mode.HOLDING:
        before = bench.effort
        bench.states()
    np.testing.assert_allclose(bench.effort, before, atol=1e-9)
    assert np.abs(bench.law.offset).max() > 1.0


def test_is_not_given_away_before_it_rests(bench):
    """A load that is unknown pulls it down: what it takes to hold it is known at rest."""
    bench.v = np.array([0.0, 0.02, 0.0])
    bench.states(400)
    assert bench.session.mode is Mode.HOLDING
    bench.v = np.zeros(3)
    bench.states(100)
    assert bench.session.mode is Mode.HOLDING
    bench.states(50)
    assert bench.session.mode is Mode.GUIDED


def test_may_be_led_anywhere(bench):
    bench.start()
    bench.v = np.array([0.5, -0.4, 0.3])
    bench.states(500)
    assert bench.session.mode is Mode.GUIDED
    # Where it was given away is still there to be looked at.
    np.testing.assert_array_equal(bench.session.q_d, POSE)


def test_refuses_trajectories(bench):
    bench.start()
    with pytest.raises(TrajectoryError, match='by hand'):
        bench.session.accept_trajectory(bench.names, [TrajectoryPoint(1.0, POSE)])
    assert bench.session.counts['trajectories_refused'] == 1


def test_a_halt_holds_it_where_it_is_and_its_end_gives_it_away_again(bench):
    bench.start()
    bench.v = np.array([0.5, 0.0, 0.0])
    bench.states(100)
    assert bench.session.halt().startswith('at rest in 0.05')
    assert bench.session.mode is Mode.HALTED
    with pytest.raises(ControlError, match='not brought the arm to rest yet'):
        bench.session.resume()
    bench.v, bench.q = np.zeros(3), bench.session.q_d.copy()
    bench.states(30)
    held = bench.session.q_d.copy()
    # By feedback, not by grip.
    bench.q = held + 0.01
    bench.states()
    np.testing.assert_array_equal(bench.session.q_d, held)
    expected = bench.law.holding_effort(bench.q, bench.v, held)
    np.testing.assert_allclose(bench.effort, expected)
    bench.session.resume()
    bench.states()
    assert bench.session.mode is Mode.GUIDED
    np.testing.assert_allclose(bench.effort, expected, atol=1e-9)


def test_asked_to_halt_before_it_never_gives_it_away(bench):
    bench.session.halt()
    bench.states(200)
    assert bench.session.mode is Mode.HALTED


def test_an_arm_that_runs_away_is_made_safe(bench):
    bench.start()
    bench.v = np.array([0.0, 2.5, 0.0])
    bench.states()
    assert bench.session.mode is Mode.SAFE and bench.session.cause is Cause.CONTROLLER_FAILED
    assert 'elbow' in bench.session.reason
