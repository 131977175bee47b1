# SPDX-License-Identifier: Apache-2.0
"""Motion of an arm behind an effort controller when what commands it ends.

    python -m benchmark.driver_stops [--runs 5] [--rate 500 250 1000] [--priority 50] [--write]
        [--plugin CLASS]

arm7 carries 2 kg that its model does not have, and follows a reference. The system is that of
``robot-dynamics up --hardware``. `--write` puts medians into docs/hardware.md. Rates after the
first one are measured with brakes only, at most `OTHER_RUNS` times.

By default a stand-in takes the efforts. Its services and messages are those of ros2_control, and
it applies the last efforts forever, as forward_command_controller does. With `--plugin`, it is the
real controller manager of the ROS paths with its spawner. The plugin is a `SystemInterface` that
simulates an arm. Its parameters are mjcf (a file), brakes (true or false), brake_delay (s),
brake_rate (1/s) and log (a file, see `benchmark/real_time_stops.py`); without brakes, something
holds the arm until it is under control for the first time. Needs controller_manager_msgs.

Motion counts from the end or, where the controller goes on after that, from its last command.
Efforts end with the first state that reports none.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
import rclpy
import yaml
from controller_manager_msgs.msg import ControllerState
from controller_manager_msgs.srv import ListControllers, SwitchController
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from benchmark.sections import DOCS, write_section
from robot_dynamics.bringup.hardware import load_hardware
from robot_dynamics.bringup.launching.actions import find_package
from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.control.feedback.drives import assumed_rotors
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.spinning import SlowGroup
from robot_dynamics.simulation.drive import CATCH_RATE
from robot_dynamics.simulation.mjcf import robot_to_mjcf

SECTION = 'ends of a controller'
NAMES = [f'joint{k}' for k in range(1, 8)]
POSE = [0.1, 0.2, 0.3, -1.5, 0.0, 1.5, 0.0]
CONTROLLER = 'pd_gravity_controller'
PAYLOAD = 2.0
#: Time from the end of effort control to the brakes, and how long the arm is watched. s.
BRAKE_DELAY, WATCHED = 0.02, 1.0
#: Speed of the fastest joint when its controller ends, from and to. rad/s.
SLOWEST, FASTEST = 0.4, 0.65
#: Silence that shows the end of commands, and the longest wait for it. s.
SILENT, LONGEST_END = 0.3, 15.0
#: Rotors of the drives, over those that the gains are made for, and their friction, N m s/rad.
#: With lighter ones, delays of a busy machine let the arm oscillate from the first effort on.
ROTORS, DAMPING = 1.0 / 3.0, 0.5
TRIES = 6
#: Cycles from one message of a topic of telemetry to the next.
TELEMETRY_CYCLES = 5
#: Runs at rates after the first one.
OTHER_RUNS = 3
#: Files of the simulated hardware in the folder of a run.
MJCF, LOG = 'arm.xml', 'arm.log'
CONTROLLERS = Path(__file__).resolve().parent.parent / 'config' / 'controllers_effort.yaml'


@dataclass
class Processes:
    """Processes of a run, with a real-time priority where one is given."""

    environment: dict[str, str]
    priority: int
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start one in a session of its own."""
        words = ['chrt', '-f', str(self.priority), *command] if self.priority else command
        self.running.append(subprocess.Popen(
            words, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True))
        return self.running[-1]

    def run(self, *command: str) -> None:
        """Run one to its end."""
        if self.start(*command).wait(60.0):
            raise RuntimeError(f'{" ".join(command)} failed')

    def close(self) -> None:
        """End every process and its descendants."""
        for process in reversed(self.running):
            for pid in [*descendants(process.pid), process.pid]:
                send(pid, signal.SIGKILL)
            process.wait()


def descendants(pid: int) -> list[int]:
    """Process ids of the descendants of a process."""
    path = Path(f'/proc/{pid}/task/{pid}/children')
    children = [int(child) for child in path.read_text().split()] if path.exists() else []
    return [each for child in children for each in (child, *descendants(child))]


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def rotors() -> np.ndarray:
    """Rotor inertia of the joints of the arm, shape (7,), kg m^2."""
    return ROTORS * assumed_rotors(Robot.from_urdf('arm7'))


def start_stand_in(processes: Processes, options: argparse.Namespace, *, brakes: bool,
                   folder: Path) -> None:
    """Start the stand-in for ros2_control, and the simulated arm."""
    processes.start(sys.executable, __file__, '--forward', str(options.rate), str(int(brakes)))
    parameters = {'robot': 'arm7', 'spin': 'waitset', 'rate': options.rate,
                  'command_topic': 'drive/commands', 'hold_time': BRAKE_DELAY if brakes else 60.0,
                  'release_time': 0.02, 'payload_mass': PAYLOAD, 'initial_position': POSE,
                  'armature': rotors().tolist(), 'viscous_friction': [DAMPING],
                  'publish_description': True}
    words = [word for name, value in parameters.items()
             for word in ('-p', f'{name}:={str(value).lower() if value is True else value}')]
    processes.start(sys.executable, '-m', 'robot_dynamics.nodes.simulated_arm', '--ros-args',
                    *words)


def start_manager(processes: Processes, options: argparse.Namespace, *, brakes: bool,
                  folder: Path) -> None:
    """Start the controller manager and its controllers, as docs/hardware.md does."""
    programs = manager_programs()
    (folder / 'controllers.yaml').write_text(CONTROLLERS.read_text().replace(
        'update_rate: 500 ', f'update_rate: {options.rate:.0f} '))
    parameters = ['--params-file', str(folder / 'controllers.yaml')]
    processes.start(str(programs / 'ros2_control_node'), '--ros-args', *parameters)
    processes.run(str(programs / 'spawner'), 'joint_state_broadcaster')
    processes.run(str(programs / 'spawner'), 'effort_controller', '--inactive', '--param-file',
                  parameters[1])


def manager_programs() -> Path:
    """Folder with the programs of the controller manager."""
    share = find_package('controller_manager')
    if share is None:
        raise SystemExit('controller_manager is not on the ROS paths')
    return share.parents[1] / 'lib' / 'controller_manager'


def plant_urdf(plugin: str, folder: Path, *, brakes: bool, payload: float = PAYLOAD) -> str:
    """Description of arm7 with a plant that carries a payload, kg."""
    arm = Robot.from_urdf('arm7')
    mjcf = folder / MJCF
    carrying = with_payload(arm, payload, [0.0, 0.0, 0.0]) if payload else arm
    laden = replace(carrying, damping=np.full(arm.n, DAMPING), armature=rotors())
    mjcf.write_text(robot_to_mjcf(laden, joint_limits=False))
    root = ET.fromstring(shipped_robots()['arm7'].read_text())
    system = ET.SubElement(root, 'ros2_control', name='arm', type='system')
    hardware = ET.SubElement(system, 'hardware')
    ET.SubElement(hardware, 'plugin').text = plugin
    for name, value in {'mjcf': mjcf, 'brakes': str(brakes).lower(), 'brake_delay': BRAKE_DELAY,
                        'brake_rate': CATCH_RATE, 'log': folder / LOG}.items():
        ET.SubElement(hardware, 'param', name=name).text = str(value)
    for name, position in zip(NAMES, POSE, strict=True):
        joint = ET.SubElement(system, 'joint', name=name)
        ET.SubElement(joint, 'param', name='initial').text = str(position)
        ET.SubElement(joint, 'command_interface', name='effort')
        for state in ('position', 'velocity', 'effort'):
            ET.SubElement(joint, 'state_interface', name=state)
    return ET.tostring(root, encoding='unicode')


def forward(rate: float, has_brakes: bool) -> None:
    """Run the stand-in: without brakes, an arm that is not under control gets no effort."""
    rclpy.init()
    manager, controller = Node('controller_manager'), Node('effort_controller')
    controller.declare_parameter('joints', NAMES)
    state, last = 'inactive', None
    output = controller.create_publisher(Float64MultiArray, '/drive/commands', qos.command())
    nothing = Float64MultiArray(data=[0.0] * len(NAMES))

    def on_command(message: Float64MultiArray) -> None:
        nonlocal last
        if state == 'active':
            last = message

    def on_list(request: Any, response: Any) -> Any:
        response.controller = [ControllerState(
            name='effort_controller', state=state,
            type='forward_command_controller/ForwardCommandController',
            claimed_interfaces=[f'{name}/effort' for name in NAMES] if state == 'active' else [])]
        return response

    def on_switch(request: Any, response: Any) -> Any:
        nonlocal state, last
        if 'effort_controller' in request.deactivate_controllers and state == 'active':
            state, last = 'inactive', None if has_brakes else nothing
        if 'effort_controller' in request.activate_controllers:
            state, last = 'active', None
        response.ok = True
        return response

    def on_tick() -> None:
        if last is not None:
            output.publish(last)

    controller.create_subscription(Float64MultiArray, '~/commands', on_command, qos.command())
    manager.create_service(ListControllers, '~/list_controllers', on_list)
    manager.create_service(SwitchController, '~/switch_controller', on_switch)
    manager.create_timer(1.0 / rate, on_tick)
    executor = SingleThreadedExecutor()
    executor.add_node(manager)
    executor.add_node(controller)
    executor.spin()


class State(NamedTuple):
    """A joint state: its stamp, s, and position, velocity and effort in the order of `NAMES`."""

    time: float
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


def read_state(data: bytes) -> State:
    """State of a serialised message."""
    message = deserialize_message(data, JointState)
    order = [message.name.index(name) for name in NAMES]
    stamp = message.header.stamp
    return State(stamp.sec + 1e-9 * stamp.nanosec, *(
        np.array(values)[order] for values in (message.position, message.velocity,
                                               message.effort)))


class Motion(NamedTuple):
    """Motion of an arm after an end of its control: largest values within `WATCHED`."""

    #: Speed of the fastest joint at the end, rad/s.
    speed: float
    #: Largest distance from there, rad, and speed, rad/s.
    distance: float
    peak: float
    #: Time until no effort acts, nan for never. s.
    effort_end: float


class Bench:
    """The processes of one run under a controller, and what joint states show."""

    #: Motion of the reference node, or none.
    reference = 'fourier'

    def __init__(self, options: argparse.Namespace, folder: Path, *, brakes: bool,
                 controller: str = CONTROLLER, payload: float = PAYLOAD):
        self.processes = Processes(child_environment(), options.priority)
        os.environ.update(self.processes.environment)
        rclpy.init()
        self._options, self._folder, self.brakes = options, folder, brakes
        self.controller = controller
        # Hidden, so that it is not taken for the effort controller.
        self.node = Node('_observer')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        # Serialised, and taken some at a time: at 1 kHz, a callback for each would take a core.
        self._states: list[bytes] = []
        self._waiting = SlowGroup()
        self._waiting.is_open = False
        self._received: list[tuple[Any, Callable[[bytes, float], None]]] = []
        self.listen(JointState, 'joint_states', lambda message, _: self._states.append(message))
        self.listen(Float64MultiArray, 'effort_controller/commands', self._on_command)
        self.mode = ''
        self.last_command = 0.0
        self.node.create_subscription(String, f'{controller}/mode', self._on_mode, qos.latched())
        if options.plugin:
            description = self.node.create_publisher(String, 'robot_description', qos.latched())
            description.publish(String(data=plant_urdf(
                options.plugin, folder, brakes=brakes, payload=payload)))
        self.manager = self.start_driver()
        self.launch = self.start_launch()

    def start_driver(self) -> subprocess.Popen[bytes]:
        """Start what controls the arm's hardware; return its first process."""
        first = len(self.processes.running)
        start = start_manager if self._options.plugin else start_stand_in
        start(self.processes, self._options, brakes=self.brakes, folder=self._folder)
        return self.processes.running[first]

    def start_launch(self) -> subprocess.Popen[bytes]:
        """Start the controller and what belongs to it."""
        return self.processes.start(
            sys.executable, '-m', 'robot_dynamics.bringup.cli', 'up', '--hardware',
            str(settings(self._options, self._folder)), '--robot', 'arm7', '--controller',
            self.controller.removesuffix('_controller'), '--reference', self.reference)

    def listen(self, kind: type, topic: str, callback: Callable[[bytes, float], None]) -> None:
        """Let `wait` pass on the serialised messages of a topic, and when they were sent, s."""
        self._received.append((self.node.create_subscription(
            kind, topic, lambda _: None, QoSProfile(
                depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT), raw=True,
            callback_group=self._waiting), callback))

    def states(self, last: int = 0) -> list[State]:
        """Joint states, all or the last ones."""
        return [read_state(each) for each in self._states[-last:]]

    def _on_command(self, message: bytes, sent: float) -> None:
        self.last_command = sent

    def _on_mode(self, message: String) -> None:
        self.mode = message.data

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Receive for some seconds, or until something is so."""
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                return False
            self.executor.spin_once(timeout_sec=0.01)
            for subscription, callback in self._received:
                while (taken := subscription.handle.take_message(subscription.msg_type, True)):
                    callback(taken[0], 1e-9 * taken[1]['source_timestamp'])
        return True

    def call(self, kind: type, name: str, request: Any, seconds: float = 20.0) -> Any:
        """Answer of a service."""
        client = self.node.create_client(kind, name)
        if not self.wait(seconds, client.service_is_ready):
            raise RuntimeError(f'{name} does not exist')
        future = client.call_async(request)
        self.wait(seconds, future.done)
        return future.result()

    def activate(self, name: str = 'effort_controller') -> None:
        """Activate a controller of the controller manager."""
        self.call(SwitchController, 'controller_manager/switch_controller',
                  SwitchController.Request(activate_controllers=[name],
                                           strictness=SwitchController.Request.STRICT))

    def pid(self, name: str) -> int:
        """Process id of a node of the launch."""
        for pid in descendants(self.launch.pid):
            command = Path(f'/proc/{pid}/cmdline')
            if command.exists() and f'robot_dynamics.nodes.{name}' in command.read_text():
                return pid
        raise RuntimeError(f'{name} does not run')

    def begin(self) -> None:
        """Activate the effort controller as soon as the arm is held."""
        if not self.wait(90.0, lambda: self.mode == 'holding'):
            raise RuntimeError(f'it does not hold: {self.mode}')
        self.wait(0.5)
        self.activate()

    def motion(self, end: Callable[[Bench], None]) -> Motion:
        """What the arm does after an end of its control."""
        self.begin()

        def moves() -> bool:
            if self.mode == 'safe':
                raise RuntimeError('it went safe on a machine with other load')
            return self.mode == 'tracking' and bool(
                SLOWEST < np.abs(self.states(1)[0].velocity).max() < FASTEST)

        for _ in range(2):  # The reference begins, and moves.
            if not self.wait(20.0, moves):
                raise RuntimeError(f'it does not move: {self.mode}')
            self.wait(0.3)
        if not self.wait(20.0, moves):
            raise RuntimeError(f'it does not move: {self.mode}')
        begin = time.time()
        end(self)
        self.wait(LONGEST_END, lambda: time.time() - self.last_command > SILENT)
        begin = max(begin, self.last_command)
        if not self.wait(10.0, lambda: self.states(1)[0].time > begin + WATCHED):
            raise RuntimeError('joint states have ended')
        after = [each for each in self.states() if begin <= each.time < begin + WATCHED]
        return Motion(
            float(np.abs(after[0].velocity).max()),
            max(float(np.abs(each.position - after[0].position).max()) for each in after),
            max(float(np.abs(each.velocity).max()) for each in after),
            next((each.time - begin for each in after if not each.effort.any()), math.nan))

    def close(self) -> None:
        """End every process."""
        self.processes.close()
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()


def settings(options: argparse.Namespace, folder: Path) -> Path:
    """File of the hardware ros2_control at the rate of the arm."""
    parameters: dict[str, dict[str, Any]] = load_hardware('ros2_control')
    parameters['adaptive_controller'].update(
        rate=options.rate, spin='waitset', telemetry_rate=options.rate / TELEMETRY_CYCLES)
    if not options.plugin:
        # The simulated arm reports efforts that act, also while the stand-in is inactive.
        parameters['adaptive_controller']['effort_kind'] = 'none'
    path = folder / 'hardware.yaml'
    path.write_text(yaml.safe_dump({node: {'ros__parameters': values}
                                    for node, values in parameters.items()}))
    return path


def kill(*names: str, number: signal.Signals = signal.SIGKILL) -> Callable[[Bench], None]:
    """Function that sends a signal to nodes of the launch, at once."""
    def end(bench: Bench) -> None:
        for pid in [bench.pid(name) for name in names]:
            send(pid, number)
    return end


def to_launch(number: signal.Signals) -> Callable[[Bench], None]:
    """Function that sends a signal to the launch."""
    return lambda bench: send(bench.launch.pid, number)


def deactivate(bench: Bench) -> None:
    """Deactivate our controller by its lifecycle service."""
    bench.call(ChangeState, f'{CONTROLLER}/change_state', ChangeState.Request(
        transition=Transition(id=Transition.TRANSITION_DEACTIVATE)))


#: Runs by title, rate and whether there are brakes.
Results = dict[str, dict[tuple[float, bool], list[Motion]]]

CASES = {
    'Ctrl-C of the launch': to_launch(signal.SIGINT),
    '`ros2 lifecycle set ... deactivate`': deactivate,
    'kill -9 of the controller': kill(CONTROLLER),
    'the controller hangs (SIGSTOP)': kill(CONTROLLER, number=signal.SIGSTOP),
    'kill -9 of the launch': to_launch(signal.SIGKILL),
    'kill -9 of the guard': kill('command_guard'),
    'kill -9 of controller and guard': kill(CONTROLLER, 'command_guard'),
}


def measure(title: str, options: argparse.Namespace, *, brakes: bool) -> Motion:
    """One run; a system that does not come up on a busy machine is started again."""
    for attempt in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options, Path(folder), brakes=brakes)
            try:
                return bench.motion(CASES[title])
            except RuntimeError as error:
                print(f'{title}: {error}', file=sys.stderr, flush=True)
                if attempt + 1 == TRIES:
                    raise
            finally:
                bench.close()
    raise AssertionError


def table(results: Results, rates: list[float]) -> str:
    """Table of medians, and the largest motion in brackets."""
    lines = ['| end | ' + ''.join(f'{rate:g} Hz, rad | ' for rate in rates)
             + 'peak speed, rad/s | efforts end after, ms | without brakes, rad '
             '| peak speed, rad/s |', '|---|' + '---:|' * (len(rates) + 4)]
    for title, runs in results.items():
        held, falls = [runs.get((rate, True), []) for rate in rates], runs[rates[0], False]
        cells = [distances(each) for each in held]
        end = 1e3 * statistics.median(run.effort_end for run in held[0])
        cells += [f'{statistics.median(run.peak for run in held[0]):.2f}',
                  f'{end:.0f}' if math.isfinite(end) else 'never',
                  distances(falls), f'{statistics.median(run.peak for run in falls):.2f}']
        lines.append(f'| {title} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def distances(runs: list[Motion]) -> str:
    """Median and largest motion of some runs, in words."""
    motions = [run.distance for run in runs]
    return f'{statistics.median(motions):.3f} ({max(motions):.3f})' if motions else '-'


def main() -> None:
    """Measure and print the table."""
    if sys.argv[1:2] == ['--forward']:
        forward(float(sys.argv[2]), bool(int(sys.argv[3])))
        return
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument('--only', nargs='+', choices=CASES, default=list(CASES))
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--rate', type=float, nargs='+', default=[500.0])
    parser.add_argument('--priority', type=int, default=0, help='real-time priority of all '
                        'processes, on a machine with other load; 0 for none')
    parser.add_argument('--plugin', default='', help='class of the simulated hardware, for the '
                        'real controller manager')
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    if options.priority:
        # What is measured must not wait for this process.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(options.priority - 1, 1)))
    results: Results = {}
    rates = list(options.rate)
    for title in options.only:
        results[title] = {}
        for rate, brakes in [(rates[0], False), *((rate, True) for rate in rates)]:
            options.rate = rate
            runs = options.runs if rate == rates[0] else min(options.runs, OTHER_RUNS)
            results[title][rate, brakes] = [measure(title, options, brakes=brakes)
                                            for _ in range(runs)]
            print(title, rate, brakes, results[title][rate, brakes], flush=True)
        if options.write:  # After each: a machine with other load may take an hour for all.
            write(results, options, rates)
    print(table(results, rates))


def write(results: Results, options: argparse.Namespace, rates: list[float]) -> None:
    """Put the table into the document."""
    arm = 'the real controller manager, with a hardware that simulates the arm' \
        if options.plugin else 'a stand-in for ros2_control with its message types'
    command = f'python -m benchmark.driver_stops --runs {options.runs} --rate ' \
        + ' '.join(f'{rate:g}' for rate in rates) \
        + (' --plugin CLASS' if options.plugin else '') \
        + (f' --priority {options.priority}' if options.priority else '') + ' --write'
    others = f' ({OTHER_RUNS} at rates after the first one)' if options.runs > OTHER_RUNS else ''
    count = f'Medians of {options.runs} runs{others}, the largest motion in brackets' \
        if options.runs > 1 else 'One run each'
    write_section(DOCS / 'hardware.md', SECTION, (
        f'{table(results, rates)}\n\nBehind {arm}. {count}. Made by `{command}`.'))


if __name__ == '__main__':
    main()
