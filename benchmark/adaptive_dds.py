# SPDX-License-Identifier: Apache-2.0
"""Tracking with and without adaptation, between real processes on real DDS: ``--help``.

The 7-joint arm in MuJoCo carries 2 kg its model does not know of, and its links are lighter
than the model says. The same feedback on the same exciting motion at 500 Hz, with the gravity
of the model (PD + gravity) and under the adaptive law; each in processes of their own, one
system after the other. Then again with 5 % of the messages of either direction lost, and with
the arm's or the controller's process stopped for 50 ms once in every period of the motion, in
the middle of what is measured.

    python benchmark/adaptive_dds.py
    python benchmark/adaptive_dds.py --write
    python benchmark/adaptive_dds.py --stall-period 2
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import rclpy
from adaptive import WANTED, WINDOWS
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sections import DOCS, write_section
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.bringup.runner import Line, ProcessRunner
from robot_dynamics.bringup.system import System, find_controller
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.transports import without_shared_memory

DOCUMENT = DOCS / 'control.md'
RATE, ROBOT = 500.0, 'arm7'
#: A process is stopped for so long, first at that time. s.
STALL, FIRST_STALL = 0.05, 8.0
#: Node names, and what stands for that of the controller.
ARM, REFERENCE, CONTROLLER = 'simulated_arm', 'reference', 'controller'
START_TIMEOUT = 60.0


@dataclass(frozen=True)
class Condition:
    """One row of the table."""

    name: str
    arm: str = ''
    stalls: str = ''


CONDITIONS = (
    Condition('as it is'),
    Condition('5 % of the messages of either direction lost', arm='benchmark.lossy_arm'),
    Condition('the arm stalls for 50 ms every {period:g} s', stalls=ARM),
    Condition('the controller stalls for 50 ms every {period:g} s', stalls=CONTROLLER),
)


class Observer:
    """Listens to a controller; times count from the start of the motion, by stamps."""

    def __init__(self, environment: dict[str, str], limits: np.ndarray, controller: str):
        self._context = Context()
        with without_shared_memory():
            rclpy.init(args=[], context=self._context, domain_id=int(environment['ROS_DOMAIN_ID']))
        self.node = Node('observer', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._limits = limits
        self.began: float | None = None
        self.errors: list[tuple[float, float]] = []
        self.modes: list[str] = []
        self.largest_effort = 0.0
        make = self.node.create_subscription
        make(JointTrajectory, f'{controller}/reference', self._on_reference, qos.command())
        make(JointState, f'{controller}/tracking_error', self._on_error, qos.telemetry())
        make(String, f'{controller}/mode', lambda m: self.modes.append(m.data), qos.latched())
        make(Float64MultiArray, 'effort_controller/commands', self._on_command,
             QoSProfile(depth=100))

    def _on_reference(self, message: JointTrajectory) -> None:
        if self.began is None:
            self.began = _seconds(message.header.stamp)

    def _on_error(self, message: JointState) -> None:
        if self.began is not None:
            self.errors.append((_seconds(message.header.stamp) - self.began,
                                float(np.mean(np.square(message.position)))))

    def _on_command(self, message: Float64MultiArray) -> None:
        share = np.abs(np.array(message.data)) / self._limits
        # NaN compares false with everything, so it counts as largest.
        largest = math.inf if np.isnan(share).any() else float(share.max())
        self.largest_effort = max(self.largest_effort, largest)

    @property
    def time(self) -> float:
        """Since the motion began, s."""
        return self.errors[-1][0] if self.errors else 0.0

    def rms(self, begin: float, end: float) -> float:
        """RMS tracking error between two times. rad."""
        return float(np.sqrt(np.mean([e for t, e in self.errors if begin <= t < end])))

    def spin(self, seconds: float) -> None:
        """Listen for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def close(self) -> None:
        """Leave the domain."""
        self.node.destroy_node()
        self._context.try_shutdown()


@dataclass(frozen=True)
class Outcome:
    """What was seen of one controller."""

    rms: tuple[float, ...]
    largest_effort: float
    stayed: bool


def run(controller: str, condition: Condition, seconds: float, stall_period: float) -> Outcome:
    """Run one controller under one condition."""
    node = find_controller(controller).node
    system = System(robot=ROBOT, controller=controller, plant='loaded', rate=RATE, spin='waitset',
                    inverse_dynamics=False,
                    parameters={node: {'telemetry_rate': 50.0}})
    processes = [replace(process, module=condition.arm)
                 if condition.arm and process.node == ARM else process
                 for process in system.processes()]
    environment = child_environment(
        {name: value for name, value in os.environ.items() if name != 'ROS_DOMAIN_ID'})
    os.environ.update(environment)  # this process is a participant as well
    said: list[Line] = []
    limits = Robot.from_urdf(resolve_robot(ROBOT)).limits.effort
    observer = Observer(environment, limits, node)
    try:
        with ProcessRunner(processes, on_line=said.append, environment=environment) as runner:
            limit = time.monotonic() + START_TIMEOUT
            next_stall = min(FIRST_STALL, stall_period)
            while observer.time < seconds and 'safe' not in observer.modes:
                if observer.time == 0.0 and time.monotonic() > limit:
                    raise SystemExit('the motion does not start: '
                                     + '; '.join(line.text for line in said[-5:]))
                runner.poll(0.0)
                observer.spin(0.02)
                if condition.stalls and observer.time > next_stall:
                    stalled = node if condition.stalls == CONTROLLER else condition.stalls
                    _stall(runner.pids[f'/{stalled}'])
                    next_stall += stall_period
    finally:
        observer.close()
    windows = [window for window in WINDOWS if window[1] <= seconds]
    stayed = 'safe' not in observer.modes
    rms = tuple(observer.rms(*window) if stayed else math.nan for window in windows)
    return Outcome(rms, observer.largest_effort, stayed)


def _stall(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(STALL)
    os.kill(pid, signal.SIGCONT)


def _seconds(stamp) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec


def row(name: str, fixed: Outcome, adaptive: Outcome) -> str:
    """Return a row of the table."""
    ratios = [a / b for a, b in zip(fixed.rms, adaptive.rms, strict=True)]
    held = (all(ratio >= wanted for ratio, wanted in zip(ratios, WANTED, strict=False))
            and adaptive.stayed and fixed.stayed
            and max(fixed.largest_effort, adaptive.largest_effort) <= 1.0)
    errors = ' / '.join(f'{1e3 * value:.3g}' for value in fixed.rms)
    learnt = ' / '.join(f'{1e3 * value:.3g}' for value in adaptive.rms)
    return (f'| {name} | {errors} | {learnt} | '
            + ' / '.join(f'{ratio:.0f}' for ratio in ratios)
            + f' | {100 * adaptive.largest_effort:.0f} | {"held" if held else "missed"} |')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all conditions and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('--seconds', type=float, default=60.0)
    parser.add_argument('--stall-period', type=float, default=10.0, metavar='SECONDS')
    parser.add_argument('--write', action='store_true', help=f'put it into {DOCUMENT.name}')
    options = parser.parse_args(arguments)
    times = ', '.join(f'{end:g}' for _, end in WINDOWS if end <= options.seconds)
    lines = [f'| | PD + gravity, RMS mrad at {times} s | adaptive, RMS mrad | ratio | '
             'largest effort, % of the limit | wanted: ' + ' / '.join(f'{w:g}' for w in WANTED)
             + ' |', '|---|---|---|---|---|---|']
    print('\n'.join(lines), flush=True)
    for condition in CONDITIONS:
        fixed, adaptive = (run(name, condition, options.seconds, options.stall_period)
                           for name in ('pd_gravity', 'adaptive'))
        lines.append(row(condition.name.format(period=options.stall_period), fixed, adaptive))
        print(lines[-1], flush=True)
    if options.write:
        write_section(DOCUMENT, 'adaptive_dds', '\n'.join(lines))
    return 0


if __name__ == '__main__':
    sys.exit(main())
