# SPDX-License-Identifier: Apache-2.0
"""Controllers and drivers as they are: kinds of commands, of efforts, of gravity."""

from __future__ import annotations

import time

import numpy as np
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.controller.commands import EffortArray, EffortTrajectory
from robot_dynamics.nodes.controller.parameters import REPORTED_PARAMETERS, make_reported_effort
from robot_dynamics.nodes.ros import qos

POSE = np.array([0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2])
DEEP = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
PERIOD = 0.01


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('arm7'))


@pytest.fixture(scope='module')
def gravity(robot) -> np.ndarray:
    return Dynamics(robot).gravity_torque(POSE)


class Arm:
    """An arm that stands still, behind a controller of ros2_control and a driver."""

    def __init__(self, observer, message_type, topic, effort_of, report):
        self._observer = observer
        self._report = report
        self.commands: list = []
        self.efforts: list[np.ndarray] = []
        self.modes: list[String] = observer.collect(String, 'adaptive_controller/mode',
                                                    qos.latched())

        def on_command(message):
            self.commands.append(message)
            self.efforts.append(effort_of(message))

        observer.node.create_subscription(message_type, topic, on_command, DEEP)
        self._states = observer.node.create_publisher(JointState, 'joint_states', qos.state())

    def tell(self, seconds, until=lambda: False):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            sent = self.efforts[-1] if self.efforts else np.zeros(7)
            message = JointState(name=[f'joint{k}' for k in range(1, 8)],
                                 position=POSE.tolist(), velocity=[0.0] * 7,
                                 effort=list(self._report(sent)))
            message.header.stamp = self._observer.node.get_clock().now().to_msg()
            self._states.publish(message)
            if self._observer.spin(PERIOD, until):
                return True
        return until()

    def tracks(self):
        return bool(self.modes) and self.modes[-1].data == 'tracking'


@pytest.fixture
def arm(observer):
    def make(report=lambda sent: sent, message_type=Float64MultiArray,
             topic='effort_controller/commands',
             effort_of=lambda message: np.array(message.data)):
        return Arm(observer, message_type, topic, effort_of, report)
    return make


@pytest.fixture
def controller(start):
    def run(**parameters):
        return start('adaptive_controller', **{
            'robot': 'arm7', 'rate': 1.0 / PERIOD, 'state_timeout': 0.3, 'max_age': 1.0,
            **parameters})
    return run


def test_messages_hold_the_order_of_the_controller():
    names, order = ('a', 'b', 'c'), np.array([2, 0, 1])
    effort, q = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])
    assert list(EffortArray(names, order).fill(effort, q).data) == [3.0, 1.0, 2.0]
    message = EffortTrajectory(names, order).fill(effort, q)
    (point,) = message.points
    assert message.joint_names == ['c', 'a', 'b']
    assert list(point.effort) == [3.0, 1.0, 2.0]
    assert list(point.positions) == [0.3, 0.1, 0.2]


def test_efforts_through_a_joint_trajectory_controller(controller, arm, gravity):
    topic = 'joint_trajectory_controller/joint_trajectory'
    names = [f'joint{k}' for k in range(7, 0, -1)]
    driven = arm(message_type=JointTrajectory, topic=topic,
                 effort_of=lambda message: np.array(message.points[0].effort)[::-1])
    node = controller(command_type='joint_trajectory', command_topic=topic, command_joints=names)
    assert driven.tell(60.0, driven.tracks), node.stop()
    # What joint_trajectory_controller refuses: another set of joints, an end in motion,
    # fields of another length, a time that has passed.
    message = driven.commands[-1]
    (point,) = message.points
    assert message.joint_names == names
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)
    assert (point.time_from_start.sec, point.time_from_start.nanosec) == (0, 0)
    np.testing.assert_array_equal(point.velocities, np.zeros(7))
    np.testing.assert_array_equal(point.positions, POSE[::-1])
    np.testing.assert_allclose(driven.efforts[-1], gravity, atol=1e-6)
    assert node.stop()[0] == 0


def test_a_controller_that_takes_something_else_is_not_mistaken_for_a_listener(controller, arm):
    driven = arm(message_type=JointTrajectory,
                 effort_of=lambda message: np.array(message.points[0].effort))
    node = controller()
    driven.tell(4.0)
    assert not driven.tracks() and not driven.commands
    errors = node.stop()[2]
    assert ('/effort_controller/commands takes trajectory_msgs/msg/JointTrajectory, not '
            'std_msgs/msg/Float64MultiArray: set command_type') in errors


@pytest.mark.parametrize(('kind', 'scale', 'report'), [
    ('torque', [-1000.0], lambda sent, gravity: -1e-3 * (sent + gravity)),
    ('gravity_compensated', [], lambda sent, gravity: sent),
    ('none', [], lambda sent, gravity: np.zeros(7)),
])
def test_hardware_that_carries_itself_is_sent_the_rest(controller, arm, gravity, kind, scale,
                                                       report):
    driven = arm(lambda sent: report(sent, gravity))
    node = controller(hardware_gravity_compensation=True, effort_kind=kind, effort_scale=scale)
    assert driven.tell(60.0, driven.tracks), node.stop()
    assert np.abs(gravity).max() > 10.0
    # From the first command, while it holds and tracks, to the last words.
    assert node.stop()[0] == 0
    driven.tell(0.2)
    np.testing.assert_allclose(driven.efforts, 0.0, atol=1e-6)


def test_hardware_that_carries_itself_and_is_deaf_is_not_tracked(controller, arm, gravity):
    # It reports another effort than was sent, in terms of what was sent.
    driven = arm(lambda sent: sent + gravity + [0.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    controller(hardware_gravity_compensation=True, effort_kind='torque')
    assert driven.tell(60.0, lambda: len(driven.commands) > 10)
    driven.tell(2.0)
    assert not driven.tracks()


@pytest.mark.parametrize(('given', 'words'), [
    ({'effort_kind': 'current'}, 'effort_scale must be given for currents'),
    ({'effort_kind': 'current', 'effort_scale': (1.0, 2.0)}, 'must have 1 or 7 values, got 2'),
    ({'effort_scale': (0.0,)}, 'effort_scale must be finite and not zero, got 0')])
def test_what_reported_efforts_cannot_be(robot, given, words):
    values = {row.name: row.default for row in REPORTED_PARAMETERS}
    with pytest.raises(ParameterError) as error:
        make_reported_effort(robot, Dynamics(robot), {**values, **given})
    assert words in str(error.value)


@pytest.mark.parametrize('node', ['adaptive_controller', 'inverse_dynamics'])
def test_a_refusal_is_one_line(start, node):
    status, _, errors = start(node, robot='arm7', effort_kind='current').wait(60.0)
    assert status == 1
    assert 'effort_scale must be given for currents' in errors
    assert len(errors.strip().splitlines()) == 1


@pytest.mark.parametrize(('parameters', 'report'), [
    ({'effort_kind': 'gravity_compensated'}, lambda gravity: np.ones(7)),
    ({'effort_kind': 'none'}, lambda gravity: gravity + 1.0)])
def test_the_residual_is_one_of_joint_efforts(start, arm, observer, gravity, parameters, report):
    residuals = observer.collect(JointState, 'inverse_dynamics/residual', DEEP)
    driven = arm(lambda sent: report(gravity))
    start('inverse_dynamics', robot='arm7', **parameters)
    assert driven.tell(60.0, lambda: len(residuals) > 3)
    expected = np.nan if parameters.get('effort_kind') == 'none' else 1.0
    np.testing.assert_allclose(residuals[-1].effort, expected, atol=1e-6)
