# SPDX-License-Identifier: Apache-2.0
"""A whole system for a long time: does anything grow, drift or go missing: ``--help``.

The simulated 7-joint arm with its unknown load, the adaptive controller, the reference and
the model torque, in processes of their own at 500 Hz. What they say on ``/diagnostics`` and
on the controller's ``timing``, and the memory they hold, is noted for as long as asked, and
told in as many parts as asked. Missed cycles are counted by those who would know: the arm
counts the states it publishes and the commands it takes, the controller the states it
answers and those that came late.

    python benchmark/soak.py
    python benchmark/soak.py --minutes 30 --write
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sections import DOCS, write_section
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.bringup.runner import Line, ProcessRunner
from robot_dynamics.bringup.system import System
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.transports import without_shared_memory

DOCUMENT = DOCS / 'reliability.md'
ROBOT, RATE = 'arm7', 500.0
ARM, CONTROLLER = 'simulated_arm', 'adaptive_controller'
START_TIMEOUT = 90.0
#: What is not measured: kernels are loaded, motions planned, estimates settle. s.
SETTLING = 60.0
#: Memory is read so often. s.
MEMORY_PERIOD = 5.0
#: What counts as growth: more than this from the first part to the last. MiB.
GROWTH = 1.0
#: What counts as drift: more than this share of the rate from the first part to the last.
DRIFT = 0.001


@dataclass
class Notes:
    """What was heard during one part of the time; counts are those at its end."""

    seconds: float = 0.0
    states: int = 0
    taken: int = 0
    answered: int = 0
    late: int = 0
    made_safe: int = 0
    latency: list[float] = field(default_factory=list)
    worst_latency: float = 0.0
    memory: dict[str, list[float]] = field(default_factory=dict)

    def hold(self, name: str, mebibytes: float) -> None:
        """Note the memory of a process."""
        self.memory.setdefault(name, []).append(mebibytes)

    @property
    def held(self) -> dict[str, float]:
        """Median memory of each process. MiB."""
        return {name: float(np.median(values)) for name, values in self.memory.items()}


class Observer:
    """Listens to what nodes say of themselves."""

    def __init__(self, environment: dict[str, str]):
        self._context = Context()
        with without_shared_memory():
            rclpy.init(args=[], context=self._context, domain_id=int(environment['ROS_DOMAIN_ID']))
        self._node = Node('observer', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.figures: dict[str, float] = {}
        self.latency: list[tuple[float, float]] = []
        self.modes: list[str] = []
        make = self._node.create_subscription
        make(DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.telemetry())
        make(Float64MultiArray, f'{CONTROLLER}/timing',
             lambda message: self.latency.append((message.data[0], message.data[2])),
             qos.telemetry())
        make(String, f'{CONTROLLER}/mode', lambda message: self.modes.append(message.data),
             qos.latched())

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            for value in status.values:
                if value.value.isdigit():
                    self.figures[f'{status.name}: {value.key}'] = int(value.value)

    def spin(self, seconds: float) -> None:
        """Listen for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def note(self, notes: Notes) -> None:
        """Add what was heard since the last call."""
        count = self.figures.get
        notes.states = count(f'{ARM}: drive: states', 0)
        notes.taken = count(f'{ARM}: drive: commands', 0)
        notes.answered = count(f'{CONTROLLER}: command: commands', 0)
        notes.late = count(f'{CONTROLLER}: state: late states', 0)
        notes.made_safe = count(f'{CONTROLLER}: state: times made safe', 0)
        heard, self.latency = self.latency, []
        notes.latency += [latency for latency, _ in heard]
        notes.worst_latency = max([notes.worst_latency, *(worst for _, worst in heard)])

    def close(self) -> None:
        """Leave the domain."""
        self._node.destroy_node()
        self._context.try_shutdown()


def resident(pid: int) -> float:
    """Return the resident memory of a process. MiB."""
    for line in Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('VmRSS:'):
            return int(line.split()[1]) / 1024.0
    return 0.0


def soak(seconds: float, parts: int, spin: str) -> tuple[Notes, list[Notes]]:
    """Run a system and return what was counted before, and during each part."""
    system = System(robot=ROBOT, plant='loaded', rate=RATE, spin=spin)
    environment = child_environment(
        {name: value for name, value in os.environ.items() if name != 'ROS_DOMAIN_ID'})
    os.environ.update(environment)  # this process is a participant as well
    said: list[Line] = []
    observer = Observer(environment)
    try:
        with ProcessRunner(system.processes(), on_line=said.append,
                           environment=environment) as runner:
            limit = time.monotonic() + START_TIMEOUT
            while observer.modes[-1:] != ['tracking']:
                if time.monotonic() > limit:
                    raise SystemExit('the arm does not come up: '
                                     + '; '.join(line.text for line in said[-5:]))
                runner.poll(0.0)
                observer.spin(0.1)
            before = _listen(observer, runner, SETTLING)
            return before, [_tell(_listen(observer, runner, seconds / parts))
                            for _ in range(parts)]
    finally:
        observer.close()


def _listen(observer: Observer, runner: ProcessRunner, seconds: float) -> Notes:
    """Return what is heard for some time."""
    notes, began = Notes(), time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        runner.poll(0.0)
        observer.spin(min(MEMORY_PERIOD, seconds - elapsed))
        for name, pid in runner.pids.items():
            notes.hold(name.lstrip('/'), resident(pid))
    # Counts are told once a second: the last of both sides belong together within that.
    observer.note(notes)
    notes.seconds = time.monotonic() - began
    return notes


def _tell(notes: Notes) -> Notes:
    print(f'{notes.seconds:.0f} s: {notes.states} states, {notes.answered} answered, '
          f'{notes.late} late, worst latency {1e3 * notes.worst_latency:.1f} ms, memory '
          + ', '.join(f'{name} {held:.1f} MiB' for name, held in notes.held.items()), flush=True)
    return notes


def table(before: Notes, parts: Sequence[Notes]) -> str:
    """Return what was counted, one row a part."""
    names = list(parts[0].held)
    lines = ['| minutes | states | answered | missed | late | rate, Hz | state to command, ms: '
             'p50 / p99 / worst of all | memory, MiB: ' + ' / '.join(names) + ' |',
             '|---|---:|---:|---:|---:|---:|---|---|']
    ended, last = 0.0, before
    for part in parts:
        began, ended = ended, ended + part.seconds / 60.0
        states, answered = part.states - last.states, part.answered - last.answered
        p50, p99 = (1e3 * np.percentile(part.latency, p) for p in (50, 99))
        lines.append(
            f'| {began:.0f} - {ended:.0f} | {states} | {answered} | {states - answered} | '
            f'{part.late - last.late} | {answered / part.seconds:.2f} | '
            f'{p50:.2f} / {p99:.2f} / {1e3 * part.worst_latency:.1f} | '
            + ' / '.join(f'{part.held[name]:.1f}' for name in names) + ' |')
        last = part
    return '\n'.join(lines)


def findings(before: Notes, parts: Sequence[Notes]) -> list[str]:
    """Return what grows, drifts or ended up safe."""
    first, last = parts[0], parts[-1]
    told = [f'{name} grows by {last.held[name] - first.held[name]:.1f} MiB'
            for name in first.held if last.held[name] - first.held[name] > GROWTH]
    counts = [before, *parts]
    rates = [(part.answered - previous.answered) / part.seconds
             for previous, part in zip(counts, parts, strict=False)]
    if abs(rates[-1] / rates[0] - 1.0) > DRIFT:
        told.append(f'the rate goes from {rates[0]:.2f} to {rates[-1]:.2f} Hz')
    if last.made_safe > before.made_safe:
        told.append(f'the controller was made safe {last.made_safe - before.made_safe} times')
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('--minutes', type=float, default=30.0)
    parser.add_argument('--parts', type=int, default=6)
    parser.add_argument('--spin', default='single', choices=('single', 'events', 'waitset'))
    parser.add_argument('--write', action='store_true', help=f'put it into {DOCUMENT.name}')
    options = parser.parse_args(arguments)
    before, parts = soak(60.0 * options.minutes, options.parts, options.spin)
    wrong = findings(before, parts)
    verdict = ' '.join(f'Found: {finding}.' for finding in wrong) if wrong else (
        f'From the first part to the last no process grew by more than {GROWTH:g} MiB, the rate '
        f'did not change by more than {100.0 * DRIFT:g} %, and nothing was made safe.')
    text = (f'{table(before, parts)}\n\n{verdict} Made by `python benchmark/soak.py --minutes '
            f'{options.minutes:g} --write`, {platform.python_implementation()} '
            f'{platform.python_version()}, {os.cpu_count()} cores.')
    print(text)
    if options.write:
        write_section(DOCUMENT, 'soak', text)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
