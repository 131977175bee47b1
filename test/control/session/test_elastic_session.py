# SPDX-License-Identifier: Apache-2.0
"""A session that hears of motors and leads the links behind springs."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.loaded_model import Payload
from robot_dynamics.control.laws.elastic_gains import ElasticPDGains
from robot_dynamics.control.laws.elastic_pd import ElasticPDController
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.elastic_session import ElasticSession
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.session import SessionSettings
from robot_dynamics.control.states.joint_state import JointStateMonitor
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ControlError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.elastic_plant import ElasticPlant

PERIOD = 0.002
START = np.array([-0.4, 0.7])


@pytest.fixture(scope='module')
def robot():
    """The planar elbow with springs, without dry friction that leaves an error."""
    links = Robot.from_urdf(resolve_robot('planar_2r'))
    robot = ElasticRobot.from_yaml('planar_2r', links)
    return replace(robot, joints=replace(robot.joints, coulomb=0.0))


class Arm:
    """A plant that answers to a session, under the names of its motors."""

    def __init__(self, robot, law, plant=None, **settings):
        names = [f'motor_{name}' for name in robot.links.joint_names]
        self.plant = plant or ElasticPlant(robot)
        self.plant.reset(START)
        self.law = law
        self.session = ElasticSession(robot.links, law, SessionSettings(period=PERIOD, **settings),
                                      monitor=JointStateMonitor.for_robot(robot.links, names))
        self.names, self.t = names, 1.0

    def run(self, seconds, until=lambda: False, age=0.0):
        plant = self.plant
        for _ in range(round(seconds / PERIOD)):
            self.t += PERIOD
            self.law.advance(PERIOD)
            command = self.session.on_joint_state(self.t, self.t - age, self.names, plant.motor_q,
                                                  plant.motor_v, plant.effort)
            if command is not None:
                plant.set_effort(command.effort)
            plant.advance(PERIOD)
            if until():
                break


def test_holds_without_sagging_and_leads_the_links_to_the_goal(robot):
    law = ElasticPDController(robot, period=PERIOD)
    arm = Arm(robot, law)
    # Springs give way to gravity by hundredths: that is what would be lost.
    assert np.abs(arm.plant.motor_q - START).max() > 5e-3
    arm.run(3.0, until=lambda: arm.session.mode is Mode.TRACKING)
    assert arm.session.mode is Mode.TRACKING
    np.testing.assert_allclose(arm.plant.q, START, atol=1e-6)
    np.testing.assert_allclose(arm.session.pose, START, atol=1e-6)
    goal = np.array([0.5, -0.3])
    arm.session.accept_trajectory(('joint1', 'joint2'), [TrajectoryPoint(1.0, goal, [0.0, 0.0])],
                                  arm.t)
    arm.run(8.0)
    assert arm.session.mode is Mode.TRACKING
    np.testing.assert_allclose(arm.plant.q, goal, atol=1e-6)
    np.testing.assert_allclose(arm.session.q_d - arm.session.pose, 0.0, atol=1e-6)
    # Stopped in the middle of a motion it holds the links.
    arm.session.accept_trajectory(('joint1', 'joint2'), [TrajectoryPoint(2.0, START, [0.0, 0.0])],
                                  arm.t)
    arm.run(1.0)
    arm.session.halt()
    arm.run(4.0)
    assert arm.session.mode is Mode.HALTED
    np.testing.assert_allclose(arm.plant.q, arm.session.q_d, atol=1e-5)


def test_links_at_rest_are_in_equilibrium(robot):
    law = ElasticPDController(robot, period=PERIOD)
    rng = np.random.default_rng(0)
    for theta in rng.uniform(-2.0, 2.0, (20, 2)):
        q = law.links_at_rest(theta)
        np.testing.assert_allclose(
            robot.joints.stiffness * (theta - q), law.dynamics.links.gravity_torque(q), atol=1e-5)
        # The safe command neither lifts nor drops an arm at rest.
        np.testing.assert_allclose(law.safe_effort(theta, np.zeros(2)),
                                   law.dynamics.links.gravity_torque(q), atol=1e-9)


def test_the_safe_command_takes_the_speed_out_and_lets_nothing_fall(robot):
    law = ElasticPDController(robot, period=PERIOD)
    plant = ElasticPlant(robot)
    plant.reset(START, [1.0, -1.0])
    for _ in range(2000):
        plant.set_effort(law.safe_effort(plant.motor_q, plant.motor_v))
        plant.advance(PERIOD)
    assert np.abs(plant.v).max() < 1e-3
    assert np.abs(plant.q - START).max() < 1.0
    rested = plant.q
    for _ in range(500):
        plant.set_effort(law.safe_effort(plant.motor_q, plant.motor_v))
        plant.advance(PERIOD)
    np.testing.assert_allclose(plant.q, rested, atol=2e-3)


def test_a_payload_that_is_told_is_carried_without_an_error(robot):
    payload = Payload(0.8, (0.3, 0.0, 0.0))
    load = payload.load_on(robot.links)
    laden = replace(robot, links=robot.links.with_parameters(
        robot.links.inertial_parameters + load))
    law = ElasticPDController(robot, period=PERIOD)
    arm = Arm(robot, law, ElasticPlant(laden))
    law.carry(load, 0.0)
    assert law.judged_load is not law.model.load
    law.judge()
    assert law.judged_load is law.model.load
    empty = ElasticPDController(robot, period=PERIOD).report
    assert law.report.gravity_slope > empty.gravity_slope
    arm.run(4.0)
    np.testing.assert_allclose(arm.plant.q, START, atol=1e-5)
    # Let go of it over a time: gravity goes over without a jump.
    before = law.safe_effort(START, np.zeros(2))
    law.carry(np.zeros_like(load), 1.0)
    np.testing.assert_allclose(law.safe_effort(START, np.zeros(2)), before, atol=1e-12)


def test_gains_that_do_not_hold_with_the_payload_are_refused(robot):
    law = ElasticPDController(robot, gains=ElasticPDGains(np.full(2, 60.0), np.array([15.0, 8.0])),
                              period=PERIOD)
    law.carry(Payload(200.0, (0.3, 0.0, 0.0)).load_on(robot.links), 0.0)
    with pytest.raises(ControlError):
        law.judge()
    assert law.judged_load is not law.model.load


def test_who_answers_too_late_for_its_springs_is_safe_until_it_does_not(robot):
    law = ElasticPDController(robot, period=PERIOD)
    arm = Arm(robot, law, resume_after=10)
    session, longest = arm.session, law.report.longest_delay

    def tracks():
        return session.mode is Mode.TRACKING

    arm.run(3.0, until=tracks)
    # Late, but not too late for its springs.
    arm.run(1.0, age=0.9 * longest)
    assert tracks()
    arm.run(0.008, age=1.5 * longest)
    assert tracks()  # a few are survived
    arm.run(0.2, age=1.5 * longest)
    assert session.mode is Mode.SAFE and session.cause is Cause.ANSWERS_LATE
    assert f'up to {longest:.4f} s' in session.reason
    assert law.is_patient
    arm.run(1.0, age=1.5 * longest)
    assert session.mode is Mode.SAFE
    arm.run(3.0, until=tracks)
    assert tracks() and not law.is_patient


def test_states_far_apart_are_late_too(robot):
    law = ElasticPDController(robot, period=PERIOD)
    arm = Arm(robot, law)
    arm.run(3.0, until=lambda: arm.session.mode is Mode.TRACKING)
    for _ in range(40):
        arm.t += 1.2 * law.report.longest_delay
        arm.run(PERIOD)
    assert arm.session.mode is Mode.SAFE
    assert arm.session.cause in (Cause.ANSWERS_LATE, Cause.STATES_SLOW)
    assert law.is_patient


@pytest.mark.slow
def test_a_patient_safe_command_never_drives_springs_however_late():
    """Twenty milliseconds late the damping of the gains shakes this arm to pieces."""
    links = Robot.from_urdf(resolve_robot('arm7'))
    robot = ElasticRobot.from_yaml('arm7', links)
    law = ElasticPDController(robot, period=PERIOD)
    assert law.report.longest_delay < 0.02
    start = np.array([0.0, 0.3, 0.0, -1.0, 0.0, 0.5, 0.0])

    def fastest(is_patient):
        law.is_patient = is_patient
        plant = ElasticPlant(robot)
        plant.reset(start, np.full(7, 0.5))
        late = [law.model.gravity_torque(start)] * 10
        speeds = []
        for _ in range(750):
            late.append(law.safe_effort(plant.motor_q, plant.motor_v))
            plant.set_effort(late.pop(0))
            plant.advance(PERIOD)
            speeds.append(np.abs(plant.v).max())
        return speeds

    assert max(fastest(False)) > 5.0
    speeds = fastest(True)
    assert max(speeds) < 1.5 and max(speeds[-100:]) < 0.1
