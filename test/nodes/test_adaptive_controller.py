# SPDX-License-Identifier: Apache-2.0
"""The adaptive controller before a scripted arm: what it sends, and above all what not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.spinning import NAMES_PUBLISHER

NODE = 'adaptive_controller'
POSE = np.array([0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2])
DEEP = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
RATE = 100.0
TIMEOUT = 0.3


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('arm7'))


@pytest.fixture
def gravity(robot) -> np.ndarray:
    """Effort that carries the arm at POSE."""
    return Dynamics(robot).gravity_torque(POSE)


class ScriptedArm:
    """Tells joint states as scripted and reports the effort last commanded."""

    def __init__(self, observer, robot):
        self.observer = observer
        self.names = list(robot.joint_names)
        self.limit = robot.limits.effort
        self.received: list[tuple[float, np.ndarray]] = []
        self.modes: list[String] = observer.collect(String, f'{NODE}/mode', qos.latched())
        observer.node.create_subscription(
            Float64MultiArray, 'effort_controller/commands', self._on_command, DEEP)
        self._states = observer.node.create_publisher(JointState, 'joint_states', qos.state())

    def _on_command(self, message: Float64MultiArray) -> None:
        effort = np.array(message.data)
        self.received.append((time.monotonic(), effort))
        # Whatever happens: nothing leaves the controller that an arm must not get.
        assert effort.shape == (7,)
        assert np.all(np.abs(effort) <= self.limit), effort

    def state(self, **changes) -> JointState:
        effort = self.received[-1][1].tolist() if self.received else [0.0] * 7
        message = JointState(name=self.names, position=POSE.tolist(), velocity=[0.0] * 7,
                             effort=effort)
        message.header.stamp = self.observer.node.get_clock().now().to_msg()
        for name, value in changes.items():
            setattr(message, name, value)
        return message

    def tell(self, seconds: float, until=lambda: False, **changes) -> bool:
        """Tell states for some time, or until something is so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._states.publish(self.state(**changes))
            if self.observer.spin(1.0 / RATE, until):
                return True
        return until()

    def is_in(self, mode: str) -> bool:
        return bool(self.modes) and self.modes[-1].data == mode


@pytest.fixture
def arm(observer, robot) -> ScriptedArm:
    return ScriptedArm(observer, robot)


@pytest.fixture
def controller(start):
    def run(*arguments: str, **parameters):
        return start(NODE, *arguments, **{'robot': 'arm7', 'rate': RATE,
                                          'state_timeout': TIMEOUT, 'max_age': 1.0,
                                          **parameters})
    return run


def track(arm: ScriptedArm) -> None:
    assert arm.tell(60.0, lambda: arm.is_in('tracking'))


def change(observer, transition: int, arm: ScriptedArm | None = None) -> bool:
    """Ask for a transition, of an arm that goes on telling its state meanwhile."""
    request = ChangeState.Request(transition=Transition(id=transition))
    if arm is None:
        return observer.call(ChangeState, f'{NODE}/change_state', request, timeout=20.0,
                             again=False).success
    client = observer.node.create_client(ChangeState, f'{NODE}/change_state')
    assert arm.tell(20.0, client.service_is_ready)
    arm.tell(0.2)
    answer = client.call_async(request)
    assert arm.tell(20.0, answer.done)
    return answer.result().success


def test_taken_down_while_it_waits_for_an_arm_it_waits_no_more(controller, observer):
    """It used to go on trying, with nothing left to try with, and died of it."""
    modes = observer.collect(String, f'{NODE}/mode', qos.latched())
    node = controller()
    assert observer.spin(60.0, lambda: bool(modes))
    assert change(observer, Transition.TRANSITION_CLEANUP)
    observer.spin(1.0)
    assert change(observer, Transition.TRANSITION_CONFIGURE)
    assert change(observer, Transition.TRANSITION_CLEANUP)
    status, stdout, stderr = node.stop()
    assert status == 0 and 'Traceback' not in stdout + stderr


def test_holds_then_tracks_and_tells(controller, arm, observer, gravity):
    error = observer.collect(JointState, f'{NODE}/tracking_error', DEEP)
    estimate = observer.collect(Float64MultiArray, f'{NODE}/parameter_estimate', DEEP)
    names = observer.collect(String, f'{NODE}/parameter_names', qos.latched())
    named = observer.collect(JointState, f'{NODE}/command', DEEP)
    timing = observer.collect(Float64MultiArray, f'{NODE}/timing', DEEP)
    status = observer.collect(DiagnosticArray, '/diagnostics', DEEP)
    node = controller(telemetry_rate=20)
    track(arm)
    arm.tell(1.5)
    # A latched topic keeps the last, so how many of the first ones are seen may differ.
    modes = [mode.data for mode in arm.modes]
    assert modes[-2:] == ['holding', 'tracking']
    # The first command is the safe one: at rest it carries the arm and no more.
    np.testing.assert_allclose(arm.received[0][1], gravity, atol=1e-6)
    assert error[-1].name == arm.names
    np.testing.assert_allclose(error[-1].position, 0.0, atol=1e-9)
    np.testing.assert_allclose(named[-1].effort, gravity, atol=1e-6)
    labels = json.loads(names[-1].data)
    assert len(labels) == len(estimate[-1].data) == estimate[-1].layout.dim[0].size
    assert estimate[-1].layout.dim[0].label == 'parameter'
    assert len(timing[-1].data) == 4 and 0.0 < timing[-1].data[1] < 0.5
    items = {item.name: item.level for array in status for item in array.status}
    assert {f'{NODE}: {name}' for name in ('state', 'loop', 'command', 'model', 'adaptation')} \
        <= items.keys()
    assert node.stop()[0] == 0


WRONG = {
    'not a number': {'position': [np.nan] * 7}, 'no position': {'position': []},
    'short position': {'position': [0.1] * 6}, 'short velocity': {'velocity': [0.0] * 6},
    'others': {'name': [f'other{k}' for k in range(7)]}, 'repeated': {'name': ['joint1'] * 7},
}


def test_states_that_are_none_start_nothing(controller, arm, observer):
    controller()
    assert observer.spin(60.0, lambda: arm.is_in('stopped'))
    for wrong in WRONG.values():
        arm.tell(0.4, **wrong)
    old = arm.state().header
    old.stamp.sec -= 10
    arm.tell(0.4, header=old)
    assert arm.received == []
    assert not arm.is_in('holding')
    # That it was not deaf: a good one starts it.
    track(arm)


@pytest.mark.parametrize('loss', ['silence', 'nan'])
def test_when_states_stop_the_safe_command_is_sent_and_nothing_after(
        controller, arm, observer, gravity, loss):
    status = observer.collect(DiagnosticArray, '/diagnostics', DEEP)
    # Longer than the answer to the last state takes to get here, however busy the machine is.
    timeout = 1.0
    controller(safe_command_count=7, state_timeout=timeout)
    track(arm)
    arm.tell(0.3)
    lost_at = time.monotonic()

    def sent() -> list[np.ndarray]:
        return [effort for t, effort in arm.received if t > lost_at + 0.6 * timeout]

    def lose(seconds: float, until=lambda: False) -> bool:
        if loss == 'silence':
            return observer.spin(seconds, until)
        return arm.tell(seconds, until, position=[np.nan] * 7)

    assert lose(30.0, lambda: arm.is_in('safe') and len(sent()) == 7)
    lose(0.5)
    assert len(sent()) == 7
    np.testing.assert_allclose(sent(), [gravity] * 7, atol=1e-6)
    assert arm.is_in('safe')
    assert observer.spin(20.0, lambda: any(
        item.name == f'{NODE}: state' and item.level == b'\x02' and 'stopped' in item.message
        for array in status for item in array.status))
    # States alone do not make it move again; the safe command answers them.
    count = len(arm.received)
    assert arm.tell(20.0, lambda: len(arm.received) > count + 10)
    assert arm.is_in('safe')
    np.testing.assert_allclose(arm.received[-1][1], gravity, atol=1e-6)
    # Activating it anew does.
    assert change(observer, Transition.TRANSITION_DEACTIVATE)
    arm.tell(0.3)
    assert change(observer, Transition.TRANSITION_ACTIVATE, arm)
    track(arm)


@pytest.mark.parametrize(('how', 'style'), [
    ('SIGINT', 'single'), ('SIGTERM', 'waitset'), ('deactivate', 'waitset'),
    ('shutdown', 'single'), ('parent', 'waitset')])
def test_case_loop_shutdown(cases, controller, arm, observer, gravity, how, style, domain):
    scenario = json.loads((cases / 'loop_shutdown' / 'scenario.json').read_text())
    assert {value for step in scenario for value in step.values()} \
        == {'SIGINT', 'SIGTERM', 'deactivate', 'shutdown'}
    if how == 'parent':
        command = (f'"{sys.executable}" -m robot_dynamics.nodes.{NODE} --ros-args -p robot:=arm7 '
                   f'-p rate:={RATE} -p state_timeout:={TIMEOUT} -p spin:={style} & sleep 60')
        parent = subprocess.Popen(['sh', '-c', command], env=os.environ,
                                  stderr=subprocess.DEVNULL)
    else:
        running = controller(spin=style)
    track(arm)
    arm.tell(0.3)
    if how == 'parent':
        parent.kill()
        parent.wait()
    elif how.startswith('SIG'):
        running.process.send_signal(getattr(signal, how))
    else:
        assert change(observer, getattr(Transition, {
            'deactivate': 'TRANSITION_DEACTIVATE',
            'shutdown': 'TRANSITION_ACTIVE_SHUTDOWN'}[how]))
    assert arm.tell(30.0, lambda: arm.is_in('stopped'))
    # What was sent before may still be on its way; then there is silence.
    arm.tell(0.5)
    count = len(arm.received)
    arm.tell(1.0)
    assert len(arm.received) == count
    last = [effort for _, effort in arm.received[-5:]]
    for effort in last:
        np.testing.assert_array_equal(effort, last[0])
        np.testing.assert_allclose(effort, gravity, atol=1e-6)
    if how.startswith('SIG'):
        status, _, stderr = running.wait()
        assert status == 0
        assert 'Traceback' not in stderr and 'already' not in stderr


def test_waits_for_its_manager(controller, arm, observer):
    controller(autostart=False, max_age=1.0)

    def label() -> str:
        return observer.call(GetState, f'{NODE}/get_state', GetState.Request(),
                             timeout=60.0).current_state.label

    assert label() == 'unconfigured'
    assert change(observer, Transition.TRANSITION_CONFIGURE)
    assert label() == 'inactive'
    # Without a fresh state it does not take the arm over.
    assert not change(observer, Transition.TRANSITION_ACTIVATE)
    assert label() == 'inactive'
    assert arm.received == []
    for _ in range(50):
        arm.tell(0.2)
        if change(observer, Transition.TRANSITION_ACTIVATE, arm):
            break
    assert label() == 'active'
    track(arm)
    assert change(observer, Transition.TRANSITION_DEACTIVATE)
    assert change(observer, Transition.TRANSITION_CLEANUP)
    assert label() == 'unconfigured'
    assert observer.spin(30.0, lambda: observer.node.count_subscribers('/joint_states') == 0)
    assert change(observer, Transition.TRANSITION_CONFIGURE)
    assert label() == 'inactive'


def test_two_publishers_of_joint_states_are_one_too_many(controller, arm, observer, make_node):
    other = make_node('other_driver').create_publisher(JointState, 'joint_states', qos.state())
    running = controller()
    assert observer.spin(60.0, lambda: arm.is_in('stopped'))
    arm.tell(1.5)
    assert arm.received == []
    status, _, stderr = running.stop()
    assert status == 0
    assert '/joint_states has 2 publishers, not 1' in stderr
    assert other.topic_name == '/joint_states'


@pytest.mark.parametrize('style', ['single', 'waitset', 'events'])
def test_a_second_publisher_that_appears_while_tracking_makes_it_safe(controller, arm, observer,
                                                                      make_node, gravity, style):
    status = observer.collect(DiagnosticArray, '/diagnostics', DEEP)
    running = controller(spin=style, resume_after=20)
    track(arm)
    node = make_node('other_driver')
    other = node.create_publisher(JointState, 'joint_states', qos.state())
    assert arm.tell(30.0, lambda: other.get_subscription_count() > 0)
    appeared: list[float] = []

    def both() -> bool:
        appeared.append(time.monotonic())
        # A little beside the true pose: nothing else finds that.
        other.publish(arm.state(position=(POSE + 0.002).tolist()))
        return arm.is_in('safe')

    assert arm.tell(30.0, both)
    assert time.monotonic() - appeared[0] < 1.0
    # Only the arm itself is answered, or where states cannot be distinguished none is;
    # nothing ends it but an activation without the other.
    arm.tell(1.0, lambda: both() and False)
    assert arm.is_in('safe')
    np.testing.assert_allclose(arm.received[-1][1], gravity,
                               atol=1e-6 if NAMES_PUBLISHER and style != 'events' else 0.1)
    assert arm.tell(20.0, lambda: both() and any(
        'another publisher: /joint_states has 2 publishers, not 1: /observer, /other_driver'
        in item.message for array in status for item in array.status))
    assert change(observer, Transition.TRANSITION_DEACTIVATE)
    assert not change(observer, Transition.TRANSITION_ACTIVATE, arm)
    node.destroy_publisher(other)
    assert arm.tell(20.0, lambda: observer.node.count_publishers('/joint_states') == 1)
    assert change(observer, Transition.TRANSITION_ACTIVATE, arm)
    track(arm)
    assert 'Traceback' not in running.stop()[2]


def test_an_arm_in_degrees_is_not_taken_over_and_the_reason_is_shown(controller, arm, observer):
    status = observer.collect(DiagnosticArray, '/diagnostics', DEEP)
    running = controller()
    degrees = np.degrees(POSE).tolist()
    assert arm.tell(60.0, lambda: any(
        item.name == f'{NODE}: state' and item.level == b'\x01'
        and 'outside its limits' in item.message
        for array in status for item in array.status), position=degrees)
    assert arm.is_in('waiting') and arm.received == []
    assert 'waiting: joint' in running.stop()[2]


def test_an_arm_whose_torque_reading_is_reversed_is_not_taken_over(controller, arm, gravity):
    running = controller()
    assert arm.tell(60.0, lambda: arm.is_in('waiting'), effort=(-gravity).tolist())
    arm.tell(1.0, effort=(-gravity).tolist())
    assert arm.is_in('waiting') and arm.received == []
    assert 'change the sign of effort_scale' in running.stop()[2]
    running = controller(effort_scale=[-1.0])
    arm.modes.clear()
    assert arm.tell(60.0, lambda: arm.is_in('holding'), effort=(-gravity).tolist())


def test_a_second_controller_does_not_interfere(controller, arm, observer, make_node):
    make_node('other_controller').create_publisher(
        Float64MultiArray, 'effort_controller/commands', qos.command())
    running = controller()
    assert observer.spin(60.0, lambda: arm.is_in('stopped'))
    arm.tell(1.5)
    assert arm.received == []
    assert 'another node publishes on /effort_controller/commands' in running.stop()[2]


def test_commands_stand_in_the_order_of_the_drive(controller, arm, gravity):
    order = arm.names[::-1]
    controller(command_joints=order)
    assert arm.tell(60.0, lambda: len(arm.received) > 20)
    np.testing.assert_allclose(arm.received[5][1], gravity[::-1], atol=1e-6)


def test_learning_can_be_switched_while_it_runs(controller, arm, observer):
    status = observer.collect(DiagnosticArray, '/diagnostics', DEEP)
    references = observer.node.create_publisher(JointTrajectory, f'{NODE}/reference',
                                                qos.command())
    controller()
    track(arm)

    def adapts(wanted: str) -> bool:
        items = [item for array in status for item in array.status
                 if item.name == f'{NODE}: adaptation']
        return bool(items) and wanted in {value.value for value in items[-1].values
                                          if value.key == 'adapts'}

    assert arm.tell(30.0, lambda: adapts('False'))  # nothing to learn from yet
    resting = JointTrajectory(joint_names=arm.names, points=[
        JointTrajectoryPoint(positions=POSE.tolist(), velocities=[0.0] * 7)])
    resting.points[0].time_from_start.sec = 1
    references.publish(resting)
    assert arm.tell(30.0, lambda: adapts('True'))
    value = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=False)
    request = SetParameters.Request(parameters=[Parameter(name='adapt', value=value)])
    client = observer.node.create_client(SetParameters, f'{NODE}/set_parameters')
    assert arm.tell(30.0, client.service_is_ready)
    future = client.call_async(request)
    assert arm.tell(30.0, future.done) and future.result().results[0].successful
    assert arm.tell(30.0, lambda: adapts('False'))


def test_nothing_is_learnt_while_the_arm_touches_something(controller, arm, observer):
    status = observer.collect(DiagnosticArray, '/diagnostics', DEEP)
    estimates = observer.collect(Float64MultiArray, f'{NODE}/parameter_estimate', DEEP)
    contacts = observer.node.create_publisher(Bool, 'inverse_dynamics/contact', qos.latched())
    references = observer.node.create_publisher(JointTrajectory, f'{NODE}/reference',
                                                qos.command())
    # A busy machine tells states late, which is not what this is about.
    # So slow that half a second is no implausible step of the estimates.
    controller(**{'adaptation.longest_step': 0.5, 'adaptation.frequency': 20.0})
    track(arm)

    def says(wanted: str) -> bool:
        items = [item for array in status for item in array.status
                 if item.name == f'{NODE}: adaptation']
        return bool(items) and wanted in items[-1].message

    # An arm that stays where it is, off its reference: there is something to learn all the time.
    point = JointTrajectoryPoint(positions=(POSE + 0.02).tolist(), velocities=[0.0] * 7)
    point.time_from_start.sec = 1

    def learns() -> bool:
        return len(estimates) > 1 and estimates[-1].data != estimates[0].data

    for _ in range(6):  # one that comes in a bad moment is refused
        references.publish(JointTrajectory(joint_names=arm.names, points=[point]))
        if arm.tell(5.0, learns):
            break
    assert learns()
    contacts.publish(Bool(data=True))
    assert arm.tell(30.0, lambda: says('in contact'))
    estimates.clear()
    assert arm.tell(30.0, lambda: len(estimates) >= 40)
    # The first ones may have been on their way when it was touched.
    frozen = estimates[20].data
    assert all(message.data == frozen for message in list(estimates)[20:])
    contacts.publish(Bool(data=False))
    assert arm.tell(30.0, lambda: not says('in contact'))
    assert arm.tell(30.0, lambda: estimates[-1].data != frozen)


def test_estimates_are_kept_where_they_are_told_to_be(controller, arm, tmp_path):
    path = tmp_path / 'learnt.yaml'
    kept = {'estimates.save_to': str(path), 'estimates.restore_from': str(path),
            'known.links': ['link1', 'link2']}
    running = controller(**kept)
    track(arm)
    status, stdout, stderr = running.stop()
    assert status == 0
    assert f'estimates saved to {path}' in stdout + stderr
    assert 'update law memory' in stdout + stderr
    assert 'estimates restored' not in stdout + stderr
    arm.modes.clear()
    running = controller(**kept)
    track(arm)
    _, stdout, stderr = running.stop()
    assert f'estimates restored from {path}' in stdout + stderr
    path.write_text(path.read_text().replace('robot: "arm7"', 'robot: "arm8"'))
    status, _, stderr = controller(**kept).wait(60.0)
    assert status == 1
    assert len(stderr.strip().splitlines()) == 1 and "'arm8'" in stderr, stderr


@pytest.mark.parametrize(('parameters', 'wanted'), [
    ({'adaptation.law': 'sigma'}, 'adaptation.law'), ({'known.links': ['lnik1']}, 'link1'),
    ({'estimates.restore_from': '/nowhere/x.yaml'}, 'x.yaml'),
    ({'feedback.damping': [1.0]}, 'feedback.stiffness'),
    ({'feedback.bandwidth': 900}, 'bandwidth'), ({'effort_limit': [1e4]}, 'effort_limit'),
    ({'effort_limit': [1.0, 2.0]}, 'parameter effort_limit'),
    ({'command_joints': ['joint1']}, 'parameter command_joints'),
    ({'adaptation.terms': ['stiction']}, 'stiction'),
])
def test_refuses_in_one_line(controller, parameters, wanted):
    status, _, stderr = controller(**parameters).wait(60.0)
    assert status == 1
    assert len(stderr.strip().splitlines()) == 1 and wanted in stderr, stderr
