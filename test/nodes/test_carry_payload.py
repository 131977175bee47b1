# SPDX-License-Identifier: Apache-2.0
"""Payloads at run time, through parameters and the service of a running controller."""

from __future__ import annotations

import numpy as np
import pytest
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool

from robot_dynamics.control.feedback.loaded_model import Payload
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import to_nanoseconds

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

DEEP = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
PERIOD, BLEND = 0.005, 0.5
CUBE = Payload(1.5, (0.0, 0.0, 0.05))


def call(observer, node, **values):
    request = SetParametersAtomically.Request(parameters=[
        Parameter(name, value=value).to_parameter_msg() for name, value in values.items()])
    return observer.call(SetParametersAtomically, f'{node}/set_parameters_atomically',
                         request).result


def carry(observer, node, wanted):
    return observer.call(SetBool, f'{node}/carry_payload', SetBool.Request(data=wanted))


def stamp_of(state: JointState) -> float:
    return 1e-9 * to_nanoseconds(state.header.stamp)


# PD + gravity and computed torque share all of it with gravity compensation.
@pytest.mark.parametrize('controller', ['adaptive', 'feedforward_lq', 'gravity_compensation'])
def test_told_of_a_payload_the_efforts_go_over_to_it(start, observer, controller):
    """What cannot be is refused; the rest changes no effort at once."""
    node = f'{controller}_controller'
    robot = Robot.from_urdf(resolve_robot('arm7'))
    modes = observer.collect(String, f'{node}/mode', qos.latched())
    efforts = observer.collect(Float64MultiArray, 'effort_controller/commands', DEEP)
    states = observer.collect(JointState, 'joint_states', qos.state())
    pose = [0.3, 0.5, -0.4, -1.2, 0.3, 1.2, 0.2]
    # On a busy machine the arm is slow, not its controller late.
    start('simulated_arm', robot='arm7', rate=1.0 / PERIOD, initial_position=pose, hold_time=0.5,
          use_sim_time=True, wait_for_commands=1.5)
    start(node, robot='arm7', rate=1.0 / PERIOD, use_sim_time=True, state_timeout=2.0,
          **{'payload.mass': 0.3, 'payload.blend_time': BLEND})
    wanted = 'guided' if controller == 'gravity_compensation' else 'tracking'
    # This process may find the arm later than its controller does.
    assert observer.spin(60.0, lambda: bool(modes and states) and modes[-1].data == wanted)

    def pass_by(seconds: float) -> None:
        end = stamp_of(states[-1]) + seconds
        assert observer.spin(60.0, lambda: stamp_of(states[-1]) > end)

    pass_by(0.3)

    # What cannot be is refused, and so is what the arm cannot hold where it is.
    refused = call(observer, node, **{'payload.inertia': [0.1, 0.0, 0.0, 0.1, 0.0, 0.5]})
    assert not refused.successful and 'triangle' in refused.reason
    assert call(observer, node, **{'payload.mass': 300.0}).successful
    answer = carry(observer, node, True)
    assert not answer.success and 'needs ' in answer.message

    small = Payload(0.2, CUBE.com)
    assert call(observer, node, **{'payload.mass': small.mass,
                                   'payload.com': list(small.com)}).successful
    before, rested = len(efforts), np.array(states[-1].position)
    answer = carry(observer, node, True)
    assert answer.success and answer.message == f'the model carries 0.2 kg in {BLEND:g} s'
    pass_by(BLEND + 1.0)
    seen = np.array([message.data for message in efforts[before - 2:]])
    weight = np.abs(Dynamics(robot.with_parameters(
        robot.inertial_parameters + small.load_on(robot))).gravity_torque(np.array(pose))
        - Dynamics(robot).gravity_torque(np.array(pose))).max()
    # At most two periods of a smooth step at a time, and what the feedback does meanwhile.
    assert weight > 0.5
    assert np.abs(np.diff(seen, axis=0)).max() < 0.1 * weight
    # The arm feels it: it carries nothing, so it is lifted until the feedback gives way.
    lifted = np.abs(np.array(states[-1].position) - rested).max()
    assert lifted > 1e-4
    # While it is carried, it can become another, but not nothing.
    assert not call(observer, node, **{'payload.mass': 0.0}).successful
    assert call(observer, node, **{'payload.mass': 0.1}).successful
    assert carry(observer, node, True).message == 'the payload is carried already'
    assert carry(observer, node, False).success
    pass_by(BLEND + 0.2)
    assert modes[-1].data == wanted
