# SPDX-License-Identifier: Apache-2.0
"""Controllers and guard beside a controller manager that serves the real services.

It stands in for ros2_control: the same names, types and answers, with an arm that stands still.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass, field

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from robot_dynamics.nodes.observing.switching import Switcher
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import write_stamp
from robot_dynamics.nodes.ros.transports import without_shared_memory

messages = pytest.importorskip('controller_manager_msgs.msg', reason='controller_manager_msgs, a '
                               'package of ros2_control without a wheel, is not installed')
from controller_manager_msgs.srv import ListControllers, SwitchController  # noqa: E402

NAMES = [f'joint{k}' for k in range(1, 8)]
POSE = [0.1, 0.2, 0.3, -1.5, 0.0, 1.5, 0.0]
CONTROLLER, OTHER = 'pd_gravity_controller', 'computed_torque_controller'
RATE = 200.0
SETTINGS = {'robot': 'arm7', 'rate': RATE, 'effort_kind': 'none', 'state_timeout': 0.5,
            'resume_after': 50, 'stop_with_parent': False}
#: Longer than that of an arm: machines of tests have pauses.
SILENCE = 0.15
GUARD = {'spin': 'waitset', 'silence': SILENCE, 'stop_with_parent': False}


@dataclass
class Switch:
    """A request to switch: when, what, and what commands there were."""

    time: float
    deactivated: list[str]
    publishers: int
    commands: int = 0


@dataclass
class Ros2Control:
    """A controller manager, a forward_command_controller and a broadcaster, in a thread."""

    domain: int
    joints: list[str] = field(default_factory=lambda: list(NAMES))
    state: str = 'active'
    #: Time to answer a request to switch. s.
    delay: float = 0.0
    refuses: bool = False
    switches: list[Switch] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)
    last_command: float = 0.0
    commands: int = 0

    def __post_init__(self):
        self._context = Context()
        with without_shared_memory():
            rclpy.init(args=[], context=self._context, domain_id=self.domain)
        self._manager = Node('controller_manager', context=self._context)
        self._controller = Node('effort_controller', context=self._context)
        self._controller.declare_parameter('joints', self.joints)
        self._controller.create_subscription(Float64MultiArray, '~/commands', self._on_command,
                                             qos.command())
        self._manager.create_service(ListControllers, '~/list_controllers', self._on_list)
        self._manager.create_service(SwitchController, '~/switch_controller', self._on_switch)
        self._manager.create_service(Trigger, '/driver/stop', self._on_stop)
        self._states = self._manager.create_publisher(JointState, '/joint_states', qos.state())
        self._manager.create_timer(1.0 / RATE, self._publish)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._manager)
        self._executor.add_node(self._controller)
        self._pending = None
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self):
        self._ends.set()
        self._thread.join()
        self._executor.shutdown()
        self._manager.destroy_node()
        self._controller.destroy_node()
        self._context.try_shutdown()

    def _run(self):
        while not self._ends.is_set():
            self._executor.spin_once(timeout_sec=0.02)

    def _publish(self):
        message = JointState(name=sorted(NAMES), position=POSE, velocity=[0.0] * 7,
                             effort=[0.0] * 7)
        write_stamp(message.header.stamp, time.time_ns())
        self._states.publish(message)

    def _on_command(self, message):
        self.commands += 1
        self.last_command = time.monotonic()

    def _on_list(self, request, response):
        claimed = [f'{joint}/effort' for joint in self.joints] if self.state == 'active' else []
        response.controller = [
            messages.ControllerState(name='joint_state_broadcaster', state='active',
                                     type='joint_state_broadcaster/JointStateBroadcaster'),
            messages.ControllerState(name='effort_controller', state=self.state,
                                     type='forward_command_controller/ForwardCommandController',
                                     claimed_interfaces=claimed)]
        return response

    def _on_switch(self, request, response):
        switch = Switch(time.monotonic(), list(request.deactivate_controllers),
                        self._manager.count_publishers('/effort_controller/commands'))
        before, end = self.commands, time.monotonic() + self.delay
        command = Float64MultiArray
        subscription, = [each for each in self._controller.subscriptions
                         if each.msg_type is command]
        while time.monotonic() < end:
            # States go on and commands are counted, as in a thread of its own.
            self._publish()
            time.sleep(1.0 / RATE)
            if subscription.handle.take_message(command, False) is not None:
                self.commands += 1
        switch.commands = self.commands - before
        self.switches.append(switch)
        response.ok = not self.refuses
        if 'effort_controller' in switch.deactivated and not self.refuses:
            self.state = 'inactive'
        return response

    def _on_stop(self, request, response):
        self.stops.append(time.monotonic())
        response.success = True
        return response


@pytest.fixture
def make_driver(domain):
    drivers = []

    def make(**options):
        drivers.append(Ros2Control(domain, **options))
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.close()


def wait(observer, seconds, until, what):
    assert observer.spin(seconds, until), what


@pytest.fixture
def modes(observer):
    def follow(controller=CONTROLLER):
        seen = observer.collect(String, f'{controller}/mode', qos.latched())
        return lambda: seen[-1].data if len(seen) else ''
    return follow


def track(observer, mode, driver):
    def tracks():
        if driver.switches:  # The guard of a machine that stood still: as a user would.
            driver.switches.clear()
            driver.state = 'active'
        return mode() == 'tracking'

    assert observer.spin(60.0, tracks), f'it is {mode()} beside {driver}'
    assert driver.commands > 0


@pytest.mark.parametrize('spin', ['single', 'events'])
def test_ctrl_c_ends_with_the_effort_controller_deactivated(make_driver, start, observer, modes,
                                                            spin):
    driver, mode = make_driver(delay=0.2), modes()
    running = start(CONTROLLER, **SETTINGS, spin=spin)
    track(observer, mode, driver)
    status, output, errors = running.stop()
    assert status == 0, errors
    (switch,) = driver.switches
    assert switch.deactivated == ['effort_controller'] and driver.state == 'inactive'
    # The author was there, and controlled the arm until the answer.
    assert switch.publishers == 1 and switch.commands > 10
    assert '/effort_controller is deactivated' in output + errors


@pytest.mark.parametrize('spin', ['single', 'events'])
def test_deactivate_ends_with_the_effort_controller_deactivated(make_driver, start, observer,
                                                                modes, spin):
    driver, mode = make_driver(), modes()
    start(CONTROLLER, **SETTINGS, spin=spin)
    track(observer, mode, driver)
    answer = observer.call(ChangeState, f'{CONTROLLER}/change_state', ChangeState.Request(
        transition=Transition(id=Transition.TRANSITION_DEACTIVATE)), again=False)
    assert answer.success and driver.state == 'inactive'
    assert [switch.publishers for switch in driver.switches] == [1]


def test_an_answer_is_waited_for_a_bounded_time(make_driver, start, observer, modes):
    driver, mode = make_driver(delay=4.0), modes()
    running = start(CONTROLLER, **SETTINGS)
    track(observer, mode, driver)
    begin = time.monotonic()
    status, output, errors = running.stop()
    assert status == 0 and time.monotonic() - begin < 3.5
    assert 'has not answered in 1 s; it keeps the last effort' in output + errors


def test_a_refusal_is_reported(make_driver, start, observer, modes):
    driver, mode = make_driver(refuses=True), modes()
    running = start(CONTROLLER, **SETTINGS)
    track(observer, mode, driver)
    status, output, errors = running.stop()
    assert status == 0
    assert '/controller_manager has not deactivated effort_controller' in output + errors


def test_it_can_be_left_active(make_driver, start, observer, modes):
    driver, mode = make_driver(), modes()
    running = start(CONTROLLER, **SETTINGS, deactivate_effort_controller=False)
    track(observer, mode, driver)
    assert running.stop()[0] == 0
    assert driver.switches == [] and driver.state == 'active'


@pytest.mark.parametrize('joints', [NAMES[::-1], [*NAMES, 'joint8'], NAMES[:6]])
def test_other_joints_get_no_command(make_driver, start, observer, joints):
    driver = make_driver(joints=joints)
    running = start(CONTROLLER, **SETTINGS)
    observer.spin(4.0)
    assert driver.commands == 0
    status, output, errors = running.stop()
    assert status == 0
    text = output + errors
    assert '/effort_controller takes efforts' in text
    assert ', '.join(joints) in text and ', '.join(NAMES) in text


def test_the_order_of_command_joints_is_the_one_compared(make_driver, start, observer, modes):
    driver, mode = make_driver(joints=NAMES[::-1]), modes()
    start(CONTROLLER, **SETTINGS, command_joints=NAMES[::-1])
    track(observer, mode, driver)


def test_an_inactive_effort_controller_keeps_the_gate_closed(make_driver, start, observer, modes):
    driver, mode = make_driver(state='inactive'), modes()
    start(CONTROLLER, **SETTINGS)
    wait(observer, 60.0, lambda: mode() == 'holding', 'it does not hold')
    observer.spin(3.0)
    assert mode() == 'holding' and driver.commands > 0
    driver.state = 'active'
    track(observer, mode, driver)


def test_one_that_is_deactivated_closes_the_gate_again(make_driver, start, observer, modes):
    """As controller_stopper does while the program of a UR pauses."""
    driver, mode = make_driver(), modes()
    running = start(CONTROLLER, **SETTINGS)
    track(observer, mode, driver)
    driver.state = 'inactive'
    wait(observer, 10.0, lambda: mode() == 'holding', 'it follows on')
    observer.spin(3.0)
    assert mode() == 'holding'
    driver.state = 'active'
    track(observer, mode, driver)
    _, output, errors = running.stop()
    assert '/effort_controller is inactive and applies no efforts' in output + errors


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGSTOP])
def test_the_guard_acts_whatever_ended_the_commands(make_driver, start, observer, modes, number):
    driver, mode = make_driver(), modes()
    start('command_guard', **GUARD)
    running = start(CONTROLLER, **SETTINGS)
    track(observer, mode, driver)
    observer.spin(1.5)
    before = len(driver.switches)
    os.kill(running.process.pid, number)
    wait(observer, 5.0, lambda: len(driver.switches) > before, 'nothing deactivates it')
    silence = driver.switches[before].time - driver.last_command
    assert driver.state == 'inactive' and SILENCE - 0.05 <= silence < SILENCE + 0.2
    if number == signal.SIGSTOP:
        os.kill(running.process.pid, signal.SIGCONT)


def test_the_guard_calls_the_service_of_the_driver(make_driver, start, observer, modes):
    driver, mode = make_driver(), modes()
    start('command_guard', stop_service='driver/stop', **GUARD)
    running = start(CONTROLLER, **SETTINGS)
    track(observer, mode, driver)
    observer.spin(1.5)
    before = len(driver.stops)
    os.kill(running.process.pid, signal.SIGKILL)
    wait(observer, 5.0, lambda: len(driver.stops) > before, 'the service is not called')
    assert driver.stops[before] - driver.last_command < SILENCE + 0.2


def test_all_end_at_once(make_driver, start, observer, modes):
    driver, mode = make_driver(), modes()
    nodes = [start('command_guard', **GUARD), start(CONTROLLER, **SETTINGS)]
    track(observer, mode, driver)
    observer.spin(1.5)
    for running in nodes:
        running.process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert [running.wait()[0] for running in nodes] == [0, 0]
    assert driver.state == 'inactive' and time.monotonic() - begin < 4.0


def test_a_change_of_the_controller_leaves_the_effort_controller_active(make_driver, start,
                                                                        observer, modes):
    driver, mode = make_driver(), modes()
    start('command_guard', **GUARD)
    start(CONTROLLER, **SETTINGS)
    start(OTHER, **SETTINGS, autostart=False)
    track(observer, mode, driver)
    done = threading.Event()

    def switch():
        with Switcher({'pd': CONTROLLER, 'ct': OTHER}) as switcher:
            switcher.switch('ct')
        done.set()

    thread = threading.Thread(target=switch)
    thread.start()
    other = modes(OTHER)
    assert observer.spin(60.0, lambda: done.is_set() and other() == 'tracking')
    thread.join()
    assert driver.switches == [] and driver.state == 'active'


#: A controller whose safe command fails as soon as it has begun to follow.
FAILING = """
import sys
from functools import partial
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.nodes.pd_gravity_controller import TABLE, PDGravityControllerNode
from robot_dynamics.nodes.controller.effort_controller import run_controller

class Node(PDGravityControllerNode):
    def _publish_mode(self):
        super()._publish_mode()
        session = self.session
        if session.mode is Mode.TRACKING:
            session._go_safe(Cause.MOVES_AGAINST, 'joint2')
            session._safe_motion.released[1] = True

sys.exit(run_controller(Node, TABLE))
"""


def test_a_safe_command_that_fails_stops_the_arm_by_its_driver(make_driver, start, observer,
                                                               tmp_path, monkeypatch):
    (tmp_path / 'failing.py').write_text(FAILING)
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=os.pathsep)
    driver = make_driver()
    running = start(CONTROLLER, module='failing', **SETTINGS, stop_service='driver/stop')
    wait(observer, 90.0, lambda: driver.stops and driver.switches, 'the driver is not asked')
    assert driver.switches[0].deactivated == ['effort_controller']
    # The author is still there, and sends the safe command.
    assert driver.switches[0].publishers == 1
    # One that is inactive is not deactivated every second.
    observer.spin(3.0)
    before = len(driver.switches)
    observer.spin(2.5)
    assert len(driver.switches) == before
    assert running.stop()[0] == 0
