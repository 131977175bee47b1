# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos

NODE = 'inverse_dynamics'
POSE = np.array([0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2])
ORDER = [6, 2, 0, 1, 5, 4, 3]
PARTS = ('torque', 'terms/gravity', 'terms/coriolis', 'terms/inertial', 'terms/friction',
         'residual')
DEEP = QoSProfile(depth=100)


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('arm7'))


class Driver:
    """Tells a state again and again, in an order of its own, among joints of others."""

    def __init__(self, observer, robot, velocity):
        self._observer = observer
        self._publisher = observer.node.create_publisher(JointState, 'joint_states', qos.state())
        effort = Dynamics(robot).gravity_torque(POSE) + 1.0
        self.message = JointState(
            name=[*(robot.joint_names[k] for k in ORDER), 'gripper'],
            position=[*POSE[ORDER], 0.0], velocity=[*velocity[ORDER], 0.0],
            effort=[*effort[ORDER], 0.0])

    def tell(self, seconds, until):
        clock = self._observer.node.get_clock()
        for _ in range(int(seconds / 0.01)):
            self.message.header.stamp = clock.now().to_msg()
            self._publisher.publish(self.message)
            if self._observer.spin(0.01, until):
                return True
        return until()


def test_publishes_the_parts_by_name(start, observer, robot):
    got = {part: observer.collect(JointState, f'{NODE}/{part}', DEEP) for part in PARTS}
    driver = Driver(observer, robot, np.zeros(7))
    node = start(NODE, robot='arm7')
    assert driver.tell(60.0, lambda: all(len(messages) >= 3 for messages in got.values()))
    gravity = Dynamics(robot).gravity_torque(POSE)
    for part, expected in zip(PARTS, (gravity, gravity, 0.0, 0.0, 0.0, 1.0), strict=True):
        last = got[part][-1]
        assert tuple(last.name) == robot.joint_names
        np.testing.assert_allclose(last.effort, np.broadcast_to(expected, 7), atol=1e-9)
    # All parts of one state carry its stamp.
    stamps = [{(m.header.stamp.sec, m.header.stamp.nanosec) for m in got[part]} for part in PARTS]
    assert set.intersection(*stamps)
    assert node.stop()[0] == 0


def test_publishes_the_regressor_when_asked(start, observer, robot):
    regressors = observer.collect(Float64MultiArray, f'{NODE}/regressor', DEEP)
    names = observer.collect(String, f'{NODE}/parameter_names', qos.latched())
    torques = observer.collect(JointState, f'{NODE}/torque', DEEP)
    velocity = np.linspace(-0.5, 0.5, 7)
    driver = Driver(observer, robot, velocity)
    start(NODE, robot='arm7')
    assert driver.tell(60.0, lambda: len(torques) > 20)
    assert regressors == []
    value = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=50)
    client = observer.node.create_client(SetParameters, f'{NODE}/set_parameters')
    assert driver.tell(30.0, client.service_is_ready)
    client.call_async(SetParameters.Request(
        parameters=[Parameter(name='regressor_rate', value=value)]))
    assert driver.tell(10.0, lambda: len(regressors) > 2 and names)
    message = regressors[-1]
    sizes = {dim.label: dim.size for dim in message.layout.dim}
    assert sizes == {'joint': 7, 'parameter': len(json.loads(names[0].data))}
    assert message.layout.dim[0].stride == len(message.data)
    assert message.layout.dim[1].stride == sizes['parameter']
    regressor = np.array(message.data).reshape(7, -1)
    # The velocity told stands still, so there is no acceleration.
    expected = Dynamics(robot).inverse_dynamics(POSE, velocity, np.zeros(7))
    np.testing.assert_allclose(regressor @ robot.parameters, expected, atol=1e-6)
