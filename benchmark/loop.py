# SPDX-License-Identifier: Apache-2.0
"""The loop through DDS between real processes, beside an empty echo node: ``--help``.

Three processes: the simulated arm, the adaptive controller and an echo node that
answers every state with a constant, at once. Five: the inverse_dynamics and reference
nodes as well. Without the reference node the controller is given the same motion as
one long trajectory by this process, which sleeps otherwise. All times are taken inside
the processes, on CLOCK_MONOTONIC, from when the arm moves on.

    python benchmark/loop.py --rate 500 --spin single --processes 3
    python benchmark/loop.py --all --write
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rclpy
from rclpy.signals import SignalHandlerOptions
from sections import DOCS, write_section
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.bringup.ros_environment import private_domain
from robot_dynamics.control.motion.references import PointToPoint, Sequence, exciting_fourier
from robot_dynamics.control.motion.trajectory_points import sample_points
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import trajectory_message
from robot_dynamics.nodes.ros.transports import without_shared_memory

HERE = Path(__file__).resolve().parent
DOCUMENT = DOCS / 'performance_loop.md'
ROBOT = 'arm7'
#: What differs between plant and model.
PLANT = {'payload_mass': 2.0, 'mass_scale': 0.77}
#: Time after the start of the motion that is not measured. s.
SETTLING = 1.0
START_TIMEOUT = 120.0
#: Stands for the whole machine among processes.
MACHINE = 'machine'
#: Quiet is when other programs take less than this share of a core, for so many seconds.
QUIET_SHARE, QUIET_SECONDS = 0.15, 4


@dataclass(frozen=True)
class Setting:
    """One row of the table."""

    rate: float
    spin: str
    processes: int
    seconds: float

    @property
    def late_allowed(self) -> float:
        """Lost or late cycles that are allowed, in percent."""
        return 2.0 if self.processes > 3 else 1.0


@dataclass(frozen=True)
class Result:
    """What one run showed; times in ms, shares in percent."""

    setting: Setting
    rate: float
    latency: np.ndarray
    echo_latency: np.ndarray
    round_trip: np.ndarray
    callback: np.ndarray
    echo_callback: np.ndarray
    lost: float
    late: float
    processor: dict[str, float]
    others: float

    def verdict(self) -> str:
        """Return what misses its target."""
        excess = np.median(self.callback) - np.median(self.echo_callback)
        checks = {
            'p50': np.median(self.latency) <= 0.8, 'p99': np.percentile(self.latency, 99) <= 2.0,
            'callback': excess <= 0.2,
            'lost or late': self.lost + self.late <= self.setting.late_allowed,
            'rate': self.rate >= 99.0,
        }
        missed = [name for name, held in checks.items() if not held]
        return 'held' if not missed else 'missed: ' + ', '.join(missed)


HEADER = (
    '| Hz | spin | processes | rate kept % | state to command, ms p50 / p90 / p99 / p99.9 | '
    'round trip, ms p50 / p99 | echo: state to command, ms p50 / p99 | callback, ms p50 / p99 | '
    "echo's callback, ms p50 / p99 | lost % | late % | processor %: arm / controller / echo | "
    'other programs % | targets |\n' + '|' + '---|' * 14)


def row(result: Result) -> str:
    def percentiles(values: np.ndarray, *which: float) -> str:
        return ' / '.join(f'{np.percentile(values, p):.2f}' for p in which)

    setting, cpu = result.setting, result.processor
    return (f'| {setting.rate:g} | {setting.spin} | {setting.processes} | {result.rate:.1f} | '
            f'{percentiles(result.latency, 50, 90, 99, 99.9)} | '
            f'{percentiles(result.round_trip, 50, 99)} | '
            f'{percentiles(result.echo_latency, 50, 99)} | '
            f'{percentiles(result.callback, 50, 99)} | '
            f'{percentiles(result.echo_callback, 50, 99)} | '
            f'{result.lost:.2f} | {result.late:.2f} | '
            f'{cpu["arm"]:.0f} / {cpu["controller"]:.0f} / {cpu["echo"]:.0f} | '
            f'{max(0.0, result.others):.0f} | {result.verdict()} |')


class Run:
    """The processes of one run and what this process tells them."""

    def __init__(self, setting: Setting, folder: Path):
        self.setting = setting
        self.folder = folder
        os.environ.update(ROS_DOMAIN_ID=str(private_domain()),
                          ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST', OPENBLAS_NUM_THREADS='1',
                          OMP_NUM_THREADS='1', PYTHONPATH=str(HERE.parent))
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def measure(self) -> Result:
        """Run the processes for the time of the setting and return what they noted."""
        setting = self.setting
        common = {'robot': ROBOT, 'spin': setting.spin}
        with without_shared_memory():
            rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        node = rclpy.create_node('benchmark')
        try:
            modes: list[str] = []
            node.create_subscription(String, 'adaptive_controller/mode',
                                     lambda message: modes.append(message.data), qos.latched())
            references = node.create_publisher(JointTrajectory, 'adaptive_controller/reference',
                                               qos.command())
            self.start('echo', spin=setting.spin)
            self.start('arm', **common, rate=setting.rate, **PLANT)
            # At the start the machine may be busy with the processes that start beside it.
            self.start('controller', **common, rate=setting.rate, max_trajectory_points=10_000,
                       resume_after=round(0.2 * setting.rate))
            if setting.processes > 3:
                self.start('inverse_dynamics', **common)
                self.start('reference', robot=ROBOT)
            self.wait(node, lambda: modes[-1:] == ['tracking'])
            if setting.processes <= 3:
                self.wait(node, lambda: references.get_subscription_count() > 0)
                references.publish(motion(setting.seconds + 60.0))
            time.sleep(SETTLING)
            began, before = time.monotonic_ns(), self.processor_times()
            time.sleep(setting.seconds)
            ended, after = time.monotonic_ns(), self.processor_times()
            share = 100.0 / (1e-9 * (ended - began))
            processor = {name: share * (after[name] - before[name]) for name in before}
            others = processor.pop(MACHINE) - sum(processor.values())
            for _ in range(20):
                rclpy.spin_once(node, timeout_sec=0.01)
            if modes[-1] != 'tracking':
                raise SystemExit(f'the controller ended {modes[-1]}: nothing was measured')
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
            self.stop()
        return evaluate(setting, self.folder, began, ended, processor, others)

    def start(self, name: str, **parameters: object) -> None:
        """Start a node."""
        command = [sys.executable]
        command += [str(HERE / 'loop_nodes.py'), name, str(self.folder / f'{name}.npz')] \
            if name in ('arm', 'controller', 'echo') \
            else ['-m', f'robot_dynamics.nodes.{name}']
        command += ['--ros-args', '--log-level', 'warn']
        for key, value in parameters.items():
            command += ['-p', f'{key}:={value}']
        self.children[name] = subprocess.Popen(command)

    def wait(self, node: rclpy.node.Node, condition) -> None:
        """Serve this process's own node until something is so."""
        end = time.monotonic() + START_TIMEOUT
        while not condition():
            rclpy.spin_once(node, timeout_sec=0.1)
            dead = [name for name, child in self.children.items() if child.poll() is not None]
            if dead or time.monotonic() > end:
                raise SystemExit(f'ended early: {dead}' if dead else 'the arm does not come up')

    def processor_times(self) -> dict[str, float]:
        """Return the processor time of each process, and of the whole machine, s."""
        ticks = os.sysconf('SC_CLK_TCK')
        times = {MACHINE: machine_time()}
        for name, child in self.children.items():
            fields = Path(f'/proc/{child.pid}/stat').read_text().rsplit(')', 1)[1].split()
            times[name] = (int(fields[11]) + int(fields[12])) / ticks
        return times

    def stop(self) -> None:
        """End what was started."""
        for name in ('reference', 'inverse_dynamics', 'controller', 'echo', 'arm'):
            child = self.children.get(name)
            if child is not None:
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(10.0)
                except subprocess.TimeoutExpired:
                    child.kill()


def machine_time() -> float:
    """Return the processor time the whole machine has spent, s."""
    # user, nice, system, idle, iowait, irq, softirq, steal
    spent = [int(field) for field in Path('/proc/stat').read_text().split()[1:9]]
    return (sum(spent) - spent[3] - spent[4]) / os.sysconf('SC_CLK_TCK')


def wait_for_quiet(patience: float) -> None:
    """Wait until other programs leave the machine alone, but not for ever."""
    end, quiet = time.monotonic() + patience, 0
    while quiet < QUIET_SECONDS and time.monotonic() < end:
        before = machine_time()
        time.sleep(1.0)
        quiet = quiet + 1 if machine_time() - before < QUIET_SHARE else 0


def motion(seconds: float) -> JointTrajectory:
    """Return an exciting motion as one long trajectory, from the middle of the ranges."""
    robot = Robot.from_urdf(resolve_robot(ROBOT))
    exciting = exciting_fourier(robot, seed=0)
    pose = np.clip(0.0, robot.limits.lower, robot.limits.upper)
    way = PointToPoint(pose, exciting.sample(0.0)[0], velocity_limit=0.9,
                       acceleration_limit=3.0)
    return trajectory_message(robot.joint_names,
                              sample_points(Sequence(way, exciting), 0.0, seconds, 0.05))


def evaluate(setting: Setting, folder: Path, began: int, ended: int,
             processor: dict[str, float], others: float) -> Result:
    """Join the times of the processes by the stamps of the states."""
    with np.load(folder / 'arm.npz') as arm:
        states, commands = arm['states'], arm['commands']
    with np.load(folder / 'controller.npz') as controller:
        cycles = controller['cycles']
    with np.load(folder / 'echo.npz') as echo:
        echoes = echo['cycles']
    states = states[(states[:, 1] >= began) & (states[:, 1] < ended)]
    published = dict(zip(states[:, 0].tolist(), states[:, 1].tolist(), strict=True))
    cycles = cycles[np.isin(cycles[:, 0], states[:, 0])]
    echoes = echoes[np.isin(echoes[:, 0], states[:, 0])]
    round_trip = round_trips(published, cycles, commands)
    period = 1e9 / setting.rate
    late = np.count_nonzero(round_trip > period)
    count = len(states)
    return Result(
        setting, rate=100.0 * count / (setting.rate * 1e-9 * (ended - began)),
        latency=1e-6 * (cycles[:, 2] - lookup(published, cycles[:, 0])),
        echo_latency=1e-6 * (echoes[:, 2] - lookup(published, echoes[:, 0])),
        round_trip=1e-6 * round_trip, callback=1e-6 * (cycles[:, 3] - cycles[:, 1]),
        echo_callback=1e-6 * (echoes[:, 3] - echoes[:, 1]),
        lost=100.0 * (count - len(round_trip)) / count, late=100.0 * late / count,
        processor=processor, others=others)


def lookup(published: dict[int, int], stamps: np.ndarray) -> np.ndarray:
    return np.array([published[stamp] for stamp in stamps.tolist()])


def round_trips(published: dict[int, int], cycles: np.ndarray, commands: np.ndarray
                ) -> np.ndarray:
    """Return for every state answered the time from its publication to the command's arrival.

    A command is recognised by the bits of its first effort, among those answered shortly
    before it arrived.
    """
    arrivals: dict[int, list[int]] = {}
    for arrived, key in commands.tolist():
        arrivals.setdefault(key, []).append(arrived)
    trips = []
    for stamp, _, sent, _, key in cycles.tolist():
        # The command may arrive before publish() has returned.
        after = [t for t in arrivals.get(key, ()) if published[stamp] < t < sent + 1_000_000_000]
        if after:
            trips.append(min(after) - published[stamp])
    return np.array(trips)


def write(settings: list[Setting], rows: list[str]) -> None:
    """Write the table into the document."""
    host = (f'{platform.python_implementation()} {platform.python_version()}, rclpy '
            f'{version("ros-rclpy")}, {os.cpu_count()} cores; {settings[0].seconds:g} s a '
            'row. Processor time is in percent of one core, also that which other programs on '
            'this machine took meanwhile.')
    write_section(DOCUMENT, 'loop', '\n'.join(['', host, '', HEADER, *rows, '']))


def version(package: str) -> str:
    from importlib import metadata
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return os.environ.get('ROS_DISTRO', 'of unknown version')


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--rate', type=float, default=500.0, help='joint states a second')
    parser.add_argument('--spin', default='single', choices=('single', 'events', 'waitset'))
    parser.add_argument('--processes', type=int, default=3, choices=(3, 5))
    parser.add_argument('--seconds', type=float, default=60.0)
    parser.add_argument('--all', action='store_true', help='every row of the table')
    parser.add_argument('--patience', type=float, default=0.0, metavar='SECONDS',
                        help='wait so long at most for a quiet machine before each row')
    parser.add_argument('--write', action='store_true', help=f'put it into {DOCUMENT.name}')
    return parser.parse_args(arguments)


def main() -> int:
    options = parse()
    settings = [Setting(500.0, 'single', 3, options.seconds),
                Setting(500.0, 'waitset', 3, options.seconds),
                Setting(500.0, 'waitset', 5, options.seconds),
                Setting(1000.0, 'waitset', 3, options.seconds),
                Setting(1000.0, 'events', 3, options.seconds)] if options.all else [
        Setting(options.rate, options.spin, options.processes, options.seconds)]
    print(HEADER, flush=True)
    rows = []
    for setting in settings:
        wait_for_quiet(options.patience)
        with tempfile.TemporaryDirectory() as folder:
            rows.append(row(Run(setting, Path(folder)).measure()))
        print(rows[-1], flush=True)
    if options.write:
        write(settings, rows)
    return 0


if __name__ == '__main__':
    sys.exit(main())
