# SPDX-License-Identifier: Apache-2.0
"""Health of a node on ``/diagnostics``, once a second."""
from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.control.states.joint_state import JointStateMonitor, Reason
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.spinning import CycleStatistics

TOPIC = '/diagnostics'


class Level(IntEnum):
    """Severity."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass
class Status:
    """The state of one item: severity, a short text, and values to show."""

    level: Level = Level.OK
    message: str = 'ok'
    values: Mapping[str, object] = field(default_factory=dict)


class Diagnostics:
    """Publishes the status of the items of a node once a second; each item returns its own."""

    PERIOD = 1.0

    def __init__(self, node: Node, hardware_id: str,
                 items: Mapping[str, Callable[[], Status]]):
        self._node = node
        self._items = dict(items)
        self._hardware_id = hardware_id
        self._publisher = node.create_publisher(DiagnosticArray, TOPIC, qos.telemetry())
        self._timer = node.create_timer(self.PERIOD, self.publish,
                                        clock=Clock(clock_type=ClockType.STEADY_TIME))

    def publish(self) -> None:
        """Publish now."""
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        for name, ask in self._items.items():
            status = ask()
            message.status.append(DiagnosticStatus(
                level=bytes([status.level]), name=f'{self._node.get_name()}: {name}',
                message=status.message, hardware_id=self._hardware_id,
                values=[KeyValue(key=key, value=_text(value))
                        for key, value in status.values.items()]))
        self._publisher.publish(message)

    def destroy(self) -> None:
        """Stop."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)


def _text(value: object) -> str:
    """Format a number in four digits, anything else as it is."""
    return f'{value:.4g}' if isinstance(value, (float, np.floating)) else str(value)


#: Reasons of messages that are not faults.
_GOOD_REASONS = (Reason.ACCEPTED, Reason.WAITING, Reason.FOREIGN)


def monitor_status(monitor: JointStateMonitor, values: Mapping[str, object] | None = None
                   ) -> Status:
    """Status of joint states, with further values to show."""
    turned_away = {reason: count for reason, count in monitor.counts.items()
                   if count and reason not in _GOOD_REASONS}
    figures = {
        **(values or {}), 'accepted': monitor.counts[Reason.ACCEPTED],
        **{f'turned away: {reason.value}': count for reason, count in turned_away.items()},
        **{note.value: count for note, count in monitor.notes.items() if count},
    }
    if not monitor.has_state:
        worst = max(turned_away, key=lambda reason: turned_away[reason], default=None)
        return Status(Level.STALE, 'no joint state' + (f': {worst.value}' if worst else ''),
                      figures)
    return Status(Level.OK, 'complete states', figures)


def cycle_status(cycle: CycleStatistics, nominal_period: float | None = None) -> Status:
    """Status of a cycle since the last call: rate, worst period and durations.

    A cycle is late after 1.5 of the nominal period, s, where there is one.
    """
    periods, durations = cycle.take()
    count = len(periods)
    if count == 0:
        return Status(Level.STALE, 'no cycle')
    values: dict[str, object] = {
        'rate [Hz]': 1.0 / periods.mean(),
        'worst period [ms]': 1e3 * periods.max(),
        'duration p50 [ms]': 1e3 * np.median(durations),
        'duration p99 [ms]': 1e3 * np.percentile(durations, 99),
        'garbage collector': 'on' if gc.isenabled() else 'off',
    }
    if nominal_period is not None:
        late = values['late cycles'] = int(np.count_nonzero(periods > 1.5 * nominal_period))
        if late > 0.1 * count:
            return Status(Level.WARN, f'{late} of {count} cycles late', values)
    return Status(values=values)


def state_status(session: ControlSession) -> Status:
    """Status of joint states and mode of a session."""
    status = monitor_status(session.monitor, {
        'mode': session.mode.value, 'reason': session.reason,
        'late states': session.clock.overruns, 'times made safe': session.counts['safe_entries']})
    if session.mode is Mode.SAFE:
        return Status(Level.ERROR, session.reason, status.values)
    if session.mode is Mode.WAITING and session.monitor.has_state:
        return Status(Level.WARN, session.reason, status.values)
    if session.mode is Mode.HALTED:
        return Status(Level.WARN, f'{session.reason}; the service resume ends it', status.values)
    if status.level is Level.OK and session.verdict is not None \
            and session.verdict.reason not in _GOOD_REASONS:
        return Status(Level.WARN, str(session.verdict), status.values)
    return status


def command_status(session: ControlSession, listeners: int) -> Status:
    """Status of the commands of a session."""
    values = {'commands': session.commands, 'saturated': session.counts['saturated'],
              'listeners': listeners, 'trajectories': session.counts['trajectories'],
              'trajectories refused': session.counts['trajectories_refused']}
    if listeners == 0:
        return Status(Level.ERROR, 'no subscriber of the commands', values)
    if session.limiter.any_saturated:
        joints = [name for name, cut in zip(session.robot.joint_names, session.limiter.saturated,
                                            strict=True) if cut]
        return Status(Level.WARN, 'at the effort limit: ' + ', '.join(joints), values)
    return Status(Level.OK, 'within limits', values)


def model_status(robot: Robot) -> Status:
    """Status of the description: findings of its reader."""
    findings = {f'finding {index}': str(finding)
                for index, finding in enumerate(robot.findings, start=1)}
    values = {'joints': ', '.join(robot.joint_names), **findings}
    if findings:
        return Status(Level.WARN, f'{len(findings)} findings in the description', values)
    return Status(Level.OK, 'no finding', values)
