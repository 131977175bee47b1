# SPDX-License-Identifier: Apache-2.0
"""The node of Cartesian impedance on a simulated arm, in lock step."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from robot_dynamics.nodes.ros import qos

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

NODE = 'cartesian_impedance_controller'
POSE = [0.0, 0.4, 0.0, -1.5, 0.0, 1.6, 0.0]


class System:
    """A simulated arm and its controller, and what they publish."""

    def __init__(self, start, observer, **parameters):
        self.observer = observer
        self.modes = observer.collect(String, f'{NODE}/mode', qos.latched())
        self.poses = observer.collect(PoseStamped, f'{NODE}/tip_pose', qos.telemetry())
        self.wrenches = observer.collect(WrenchStamped, f'{NODE}/tip_wrench', qos.telemetry())
        self.clock = observer.collect(Clock, '/clock', qos.state())
        self.pose_out, self.twist_out = (
            observer.node.create_publisher(kind, f'{NODE}/{topic}', qos.command())
            for kind, topic in ((PoseStamped, 'pose'), (TwistStamped, 'twist')))
        start('simulated_arm', robot='arm7', initial_position=POSE, rate=200.0)
        self.controller = start(NODE, robot='arm7', rate=200.0, **parameters)
        assert observer.spin(90.0, lambda: bool(self.modes) and bool(self.poses)
                             and self.modes[-1].data == 'guided'
                             and self.pose_out.get_subscription_count() > 0
                             and self.twist_out.get_subscription_count() > 0)

    def tip(self) -> np.ndarray:
        at = self.poses[-1].pose.position
        return np.array([at.x, at.y, at.z])

    def now(self) -> float:
        stamp = self.clock[-1].clock
        return stamp.sec + 1e-9 * stamp.nanosec

    def pass_by(self, seconds: float, each=lambda: None) -> None:
        """Let simulated time pass, and call something every 20th of a second."""
        end, following = self.now() + seconds, -np.inf
        while self.now() < end:
            if self.now() >= following:
                each()
                following = self.now() + 0.05
            self.observer.spin(0.005)

    def send_pose(self, position, frame):
        message = PoseStamped()
        message.header.frame_id = frame
        at, turn = message.pose.position, self.poses[0].pose.orientation
        at.x, at.y, at.z = (float(x) for x in position)
        message.pose.orientation = turn
        self.pose_out.publish(message)


def change(observer, **values):
    request = SetParametersAtomically.Request(parameters=[
        Parameter(name, value=value).to_parameter_msg() for name, value in values.items()])
    return observer.call(SetParametersAtomically, f'{NODE}/set_parameters_atomically',
                         request).result


def test_follows_poses_and_twists_and_stays_where_they_stop(start_in_lock_step, observer):
    system = System(start_in_lock_step, observer, **{'setpoint.timeout': 0.5})
    frame, begin = system.poses[0].header.frame_id, system.tip()
    goal = begin + [0.0, 0.05, -0.05]

    # A pose of another frame is refused with the reason, and moves nothing.
    system.pass_by(0.5, lambda: system.send_pose(goal, 'camera'))
    np.testing.assert_allclose(system.tip(), begin, atol=2e-3)

    system.pass_by(3.0, lambda: system.send_pose(goal, frame))
    np.testing.assert_allclose(system.tip(), goal, atol=2e-3)

    def send_twist():
        message = TwistStamped()
        message.header.frame_id = frame
        message.twist.linear.z = 0.05
        system.twist_out.publish(message)

    system.pass_by(1.0, send_twist)
    moving = system.tip()
    assert moving[2] - goal[2] > 0.02
    # The stream stops: the arm rests a little later, and stays there.
    system.pass_by(1.5)
    rest = system.tip()
    assert moving[2] < rest[2] < moving[2] + 0.06
    system.pass_by(1.0)
    np.testing.assert_allclose(system.tip(), rest, atol=1e-3)
    assert system.modes[-1].data == 'guided', system.controller.stop()

    # Stiffness changes while it holds; what is out of bounds changes nothing.
    assert change(observer, **{'impedance.stiffness': [300.0, 300.0, 1000.0]}).successful
    refused = change(observer, **{'impedance.stiffness': [300.0, 300.0, 1e5]})
    assert not refused.successful and '5000' in refused.reason
    refused = change(observer, **{'impedance.damping': [50.0, 50.0, 50.0]})
    assert not refused.successful and 'rotational_damping' in refused.reason
    system.pass_by(1.0)
    np.testing.assert_allclose(system.tip(), rest, atol=2e-3)
    assert len(system.wrenches) > 10

    _, _, errors = system.controller.stop()
    assert 'setpoint refused: frame_id must be' in errors and "'camera'" in errors
