# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import time
from importlib import import_module

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.bringup.demo import make_plan
from robot_dynamics.bringup.system import System
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
from robot_dynamics.nodes.controllers import CONTROLLER_NODES
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import to_nanoseconds

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

POSE = np.array([0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2])
ORDER = ['joint3', 'joint1', 'joint7', 'joint2', 'joint4', 'joint6', 'joint5']
DEEP = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('arm7'))


class Arm:
    """A running simulated arm and what it says."""

    def __init__(self, start, observer, **parameters):
        self.observer = observer
        self.states = observer.collect(JointState, 'joint_states', DEEP)
        self._commands = observer.node.create_publisher(
            Float64MultiArray, 'effort_controller/commands', qos.command())
        self.running = start('simulated_arm', robot='arm7', initial_position=POSE.tolist(),
                             hold_time=0.1, **parameters)
        assert observer.spin(60.0, lambda: self.states), self.running.stop()

    def next_state(self) -> JointState:
        self.states.clear()
        assert self.observer.spin(30.0, lambda: self.states)
        return self.states[-1]

    def command(self, effort) -> None:
        self._commands.publish(Float64MultiArray(data=np.asarray(effort).tolist()))

    def drive(self, effort_of, seconds: float) -> None:
        """Answer every state for some time, as a controller does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.command(effort_of(self.next_state()))

    def release(self, effort_of) -> None:
        """Send commands until one is heard: a publisher may be matched before it is heard."""
        end = time.monotonic() + 20.0
        while not np.any(self.next_state().effort):
            assert time.monotonic() < end, 'commands are not heard'
            self.drive(effort_of, 0.05)

    def send(self, effort, seconds: float) -> None:
        """Send the same again and again."""
        self.drive(lambda state: effort, seconds)


def stamp_of(state: JointState) -> float:
    return 1e-9 * to_nanoseconds(state.header.stamp)


def by_name(state: JointState, field: str, names) -> np.ndarray:
    return np.array([getattr(state, field)[state.name.index(name)] for name in names])


@pytest.mark.parametrize('style', ['single', 'events', 'waitset'])
def test_is_braked_then_obeys_then_is_caught(start, observer, robot, style):
    if style == 'events':
        pytest.importorskip('rclpy.experimental', reason='this rclpy has no EventsExecutor')
    dynamics = Dynamics(robot)
    arm = Arm(start, observer, joint_order=ORDER, command_joints=ORDER[::-1], spin=style,
              rate=100)
    state = arm.next_state()
    assert list(state.name) == ORDER
    np.testing.assert_array_equal(by_name(state, 'position', robot.joint_names), POSE)
    np.testing.assert_array_equal(state.velocity, 0.0)
    np.testing.assert_array_equal(state.effort, 0.0)
    assert abs(time.time() - stamp_of(state)) < 10.0
    arm.states.clear()
    begin = time.monotonic()
    assert observer.spin(30.0, lambda: len(arm.states) >= 60)
    assert len(arm.states) <= 100.0 * (time.monotonic() - begin) + 5.0

    def carry(state: JointState) -> np.ndarray:
        q = by_name(state, 'position', robot.joint_names)
        tau = dict(zip(robot.joint_names, dynamics.gravity_torque(q), strict=True))
        return np.array([tau[name] for name in ORDER[::-1]])

    arm.release(carry)
    arm.drive(carry, 0.3)
    state = arm.next_state()
    np.testing.assert_allclose(by_name(state, 'position', robot.joint_names), POSE, atol=1e-3)
    carried = dynamics.gravity_torque(by_name(state, 'position', robot.joint_names))
    np.testing.assert_allclose(by_name(state, 'effort', robot.joint_names), carried, atol=1e-2)

    def push(state: JointState) -> np.ndarray:
        return carry(state) + np.array([name == 'joint1' for name in ORDER[::-1]])

    arm.drive(push, 0.2)
    moved = by_name(arm.next_state(), 'position', ['joint1'])[0]
    assert moved > POSE[0] + 1e-3
    # Commands stop: what is pushed now comes to rest, carried.
    observer.spin(1.5)
    state = arm.next_state()
    assert np.abs(state.velocity).max() < 1e-3
    np.testing.assert_allclose(
        by_name(state, 'effort', robot.joint_names),
        dynamics.gravity_torque(by_name(state, 'position', robot.joint_names)), atol=0.05)
    status, _, stderr = arm.running.stop()
    assert (status, stderr) == (0, '')


@pytest.mark.parametrize('system', [System(), make_plan().system], ids=['up', 'demo'])
@pytest.mark.parametrize('controller', CONTROLLER_NODES)
def test_obeys_for_longer_than_its_controller_goes_on_without_states(system, controller):
    """Who tracks, and learns, while the arm is caught learns what is not so."""
    def values(node: str) -> dict:
        defaults = {row.name: row.default
                    for row in import_module(f'robot_dynamics.nodes.{node}').TABLE}
        return {**defaults, **{row.name: row.default for row in CONTROLLER_PARAMETERS},
                **system.parameters.get(node, {})}

    arm, patience = values('simulated_arm'), values(controller)['state_timeout']
    assert arm['hold_time'] > patience + 0.05


def test_refuses_commands_that_are_none(start, observer):
    arm = Arm(start, observer, rate=100)
    status: list[DiagnosticArray] = observer.collect(DiagnosticArray, '/diagnostics', 10)

    def refused() -> dict[str, str]:
        items = [item for array in status for item in array.status if 'drive' in item.name]
        return {value.key: value.value for value in items[-1].values} if items else {}

    end = time.monotonic() + 20.0
    while not {'refused: not finite', 'refused: wrong length'} <= refused().keys():
        assert time.monotonic() < end, refused()
        for wrong in ([np.nan] * 7, [0.0] * 6, []):
            arm.send(np.array(wrong), 0.1)
    state = arm.next_state()
    # Not even released from its brakes.
    np.testing.assert_array_equal(state.position, POSE)
    np.testing.assert_array_equal(state.effort, 0.0)


def test_sensors_and_their_delay(start, observer):
    arm = Arm(start, observer, position_resolution=0.001, position_noise=0.0005,
              velocity_noise=0.01, delay=0.02, seed=3)
    observer.spin(0.5)
    positions = np.array([state.position for state in arm.states])
    np.testing.assert_allclose(positions, 0.001 * np.round(positions / 0.001), atol=1e-12)
    assert len(np.unique(positions[:, 0])) > 1
    velocities = np.array([state.velocity for state in arm.states[10:]])
    assert 0.008 < velocities.std() < 0.012
    state = arm.next_state()
    age = time.time() - stamp_of(state)
    assert 0.019 < age < 10.0


def test_carries_a_payload_its_description_does_not_know(start, observer, robot):
    arm = Arm(start, observer, payload_mass=2.0, payload_com=[0.0, 0.0, 0.1],
              publish_description=True)
    described: list[String] = observer.collect(
        String, 'robot_description', QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                                                durability=DurabilityPolicy.TRANSIENT_LOCAL))
    arm.release(lambda state: np.full(7, 1e-3))
    observer.spin(1.5)  # caught
    state = arm.next_state()
    loaded = Dynamics(with_payload(robot, 2.0, [0.0, 0.0, 0.1]))
    np.testing.assert_allclose(state.effort, loaded.gravity_torque(np.array(state.position)),
                               atol=0.05)
    assert observer.spin(30.0, lambda: described)
    told = Robot.from_urdf(described[0].data.encode())
    np.testing.assert_allclose(told.parameters, robot.parameters, rtol=1e-9, atol=1e-12)


def test_is_the_clock_where_time_is_simulated(start, observer):
    clocks = observer.collect(Clock, '/clock', DEEP)
    arm = Arm(start, observer, use_sim_time=True)
    observer.spin(0.3)
    stamps = [stamp_of(state) for state in arm.states]
    told = [clock.clock.sec + 1e-9 * clock.clock.nanosec for clock in clocks]
    assert 0.0 < stamps[-1] < 60.0
    assert abs(stamps[-1] - told[-1]) < 0.1
    assert told == sorted(told)


def test_stands_still_while_a_state_waits_for_its_command(start, observer):
    arm = Arm(start, observer, use_sim_time=True, wait_for_commands=1.0, rate=100)
    arm.release(lambda state: np.full(7, 1e-3))
    first = arm.next_state()
    wall, silence = time.monotonic(), 0.25
    for _ in range(8):
        arm.command(np.full(7, 1e-3))
        state = arm.next_state()
        observer.spin(silence)
    # In two seconds eight commands, each of which holds for a tenth: it is not caught.
    assert time.monotonic() - wall > 8 * silence
    np.testing.assert_array_equal(state.effort, 1e-3)
    assert 0.07 < stamp_of(state) - stamp_of(first) < 1.0
    # Nobody answers any more: it goes on, and is caught.
    assert observer.spin(20.0, lambda: np.abs(arm.states[-1].effort).max() > 1.0)


def test_does_not_leap_where_it_was_itself_kept_from_the_processor(start, observer):
    arm = Arm(start, observer, use_sim_time=True, wait_for_commands=1.0, rate=100)
    arm.release(lambda state: np.full(7, 1e-3))
    arm.send(np.full(7, 1e-3), 0.1)
    state = arm.next_state()
    for _ in range(4):
        arm.command(np.full(7, 1e-3))
        observer.spin(0.003)
        arm.running.process.send_signal(signal.SIGSTOP)
        time.sleep(0.25)
        arm.running.process.send_signal(signal.SIGCONT)
        # For a state that was told just before: unanswered, it would end the waiting.
        arm.command(np.full(7, 1e-3))
        before, state = state, arm.next_state()
        # A period, another until the state is told, and what the observer has not heard.
        assert 0.0 < stamp_of(state) - stamp_of(before) < 0.05
    np.testing.assert_array_equal(state.effort, 1e-3)


@pytest.mark.parametrize(('parameters', 'wanted'), [
    ({'joint_order': ['joint1']}, 'parameter joint_order'),
    ({'wait_for_commands': 1.0}, 'parameter wait_for_commands'),
    ({'command_joints': ['a'] * 7}, 'parameter command_joints'),
    ({'payload_mass': 1.0, 'payload_frame': 'hand'}, 'hand'),
    ({'initial_position': [0.0, 0.0]}, 'parameter initial_position'),
])
def test_refuses_in_one_line(start, parameters, wanted):
    status, _, stderr = start('simulated_arm', robot='arm7', **parameters).wait(60.0)
    assert status == 1
    assert len(stderr.strip().splitlines()) == 1 and wanted in stderr, stderr
