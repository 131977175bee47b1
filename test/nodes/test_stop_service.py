# SPDX-License-Identifier: Apache-2.0
"""Stop and resume on an arm whose end effector is led along a line: real processes."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

CONTROLLER = 'pd_gravity_controller'
POSE = [0.0, -0.3, 0.1, -2.2, 0.0, 2.0, 0.785]
DEEP = QoSProfile(depth=5000, reliability=ReliabilityPolicy.BEST_EFFORT)
RATE = 100.0


class System:
    """A simulated arm, a controller and a reference, and what they say."""

    def __init__(self, start, observer, **reference):
        self.observer = observer
        self.states = observer.collect(JointState, 'joint_states', DEEP)
        self.modes = observer.collect(String, f'{CONTROLLER}/mode', qos.latched())
        self.status = observer.collect(DiagnosticArray, '/diagnostics', QoSProfile(depth=100))
        start('simulated_arm', robot='arm7', initial_position=POSE, rate=RATE)
        start(CONTROLLER, robot='arm7', rate=RATE)
        start('reference', robot='arm7', controllers=[CONTROLLER], **reference)
        self.robot = Robot.from_urdf(resolve_robot('arm7'))
        self.dynamics = Dynamics(self.robot)

    def is_in(self, mode: str) -> bool:
        return bool(self.modes) and self.modes[-1].data == mode

    def wait(self, seconds: float, until) -> None:
        assert self.observer.spin(seconds, until), [m.data for m in self.modes]

    def q(self, state) -> np.ndarray:
        return np.array([state.position[list(state.name).index(name)]
                         for name in self.robot.joint_names])

    def tip(self, state) -> np.ndarray:
        return self.dynamics.forward_kinematics(self.q(state), 'flange')[:3, 3]

    def speed(self) -> float:
        return float(np.abs(self.states[-1].velocity).max())

    def call(self, service: str) -> Trigger.Response:
        return self.observer.call(Trigger, f'{CONTROLLER}/{service}', Trigger.Request())


def test_stops_a_line_holds_and_goes_on_only_when_told(start_in_lock_step, observer):
    system = System(start_in_lock_step, observer, trajectory='line', displacement=[0.0, 0.2, -0.1],
                    tip_speed=0.2)
    system.wait(90.0, lambda: system.is_in('tracking'))
    begin = system.tip(system.states[-1])
    way = np.array([0.0, 0.2, -0.1])
    direction = way / np.linalg.norm(way)
    # Kernels of the path may have to be compiled.
    system.wait(90.0, lambda: (system.tip(system.states[-1]) - begin) @ direction > 0.05)
    off = system.tip(system.states[-1]) - begin
    # On the line: as far off as a PD controller leaves a moving arm.
    assert np.linalg.norm(off - (off @ direction) * direction) < 0.01
    assert system.speed() > 0.1
    answer = system.call('stop')
    assert answer.success and 'at rest in' in answer.message
    system.wait(30.0, lambda: system.is_in('halted'))
    system.wait(30.0, lambda: system.speed() < 0.01)
    observer.spin(0.5)
    held = system.q(system.states[-1])
    observer.spin(1.5)
    np.testing.assert_allclose(system.q(system.states[-1]), held, atol=2e-3)
    assert system.is_in('halted')
    assert any('resume' in item.message for array in system.status for item in array.status
               if item.name == f'{CONTROLLER}: state')
    again = system.call('stop')
    assert again.success and 'halted' in again.message
    assert system.call('resume').success
    system.wait(30.0, lambda: system.is_in('tracking'))
    # The reference begins anew, from where the arm stands.
    system.states.clear()
    system.wait(30.0, lambda: bool(system.states) and system.speed() > 0.05)
    np.testing.assert_allclose(system.q(system.states[0]), held, atol=5e-3)
    assert not system.call('resume').success


def test_a_path_out_of_reach_is_not_begun_and_the_reason_is_told(start_in_lock_step, observer):
    system = System(start_in_lock_step, observer, trajectory='line', displacement=[2.0, 0.0, 0.0])
    system.wait(90.0, lambda: system.is_in('tracking'))

    def told() -> bool:
        return any('no motion from this pose' in item.message and 'joint' in item.message
                   for array in system.status for item in array.status)

    system.wait(90.0, told)
    observer.spin(1.0)
    assert system.is_in('tracking') and system.speed() < 0.01
