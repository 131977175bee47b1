# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of joint states, a control session and a model."""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.control.states.joint_state import JointStateMonitor, Reason
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros.diagnostics import Level, Status

_GOOD_REASONS = (Reason.ACCEPTED, Reason.WAITING, Reason.FOREIGN)


def monitor_status(monitor: JointStateMonitor, values: Mapping[str, object] | None = None
                   ) -> Status:
    """Return how joint states are.

    Parameters
    ----------
    monitor : JointStateMonitor
        What takes them.
    values : mapping, optional
        Further figures to show.
    """
    turned_away = {reason: count for reason, count in monitor.counts.items()
                   if count and reason not in _GOOD_REASONS}
    figures = {
        **(values or {}), 'accepted': monitor.counts[Reason.ACCEPTED],
        **{f'turned away: {reason.value}': count for reason, count in turned_away.items()},
        **{note.value: count for note, count in monitor.notes.items() if count},
    }
    if not monitor.has_state:
        worst = max(turned_away, key=turned_away.get, default=None)
        return Status(Level.STALE, 'no joint state' + (f': {worst.value}' if worst else ''),
                      figures)
    return Status(Level.OK, 'complete states', figures)


def state_status(session: ControlSession) -> Status:
    """Return how joint states and the mode are."""
    status = monitor_status(session.monitor, {
        'mode': session.mode.value, 'reason': session.reason,
        'late states': session.clock.overruns, 'times made safe': session.counts['safe_entries']})
    if session.mode is Mode.SAFE:
        return Status(Level.ERROR, session.reason, status.values)
    if session.mode is Mode.HALTED:
        return Status(Level.WARN, f'{session.reason}; the service resume ends it', status.values)
    if status.level is Level.OK and session.verdict.reason not in _GOOD_REASONS:
        return Status(Level.WARN, str(session.verdict), status.values)
    return status


def command_status(session: ControlSession, listeners: int) -> Status:
    """Return how the commands are."""
    values = {'commands': session.commands, 'saturated': session.counts['saturated'],
              'listeners': listeners, 'trajectories': session.counts['trajectories'],
              'trajectories refused': session.counts['trajectories_refused']}
    if listeners == 0:
        return Status(Level.ERROR, 'nobody listens to the commands', values)
    if session.limiter.any_saturated:
        joints = [name for name, cut in zip(session.robot.joint_names, session.limiter.saturated,
                                            strict=True) if cut]
        return Status(Level.WARN, 'at the effort limit: ' + ', '.join(joints), values)
    return Status(Level.OK, 'within limits', values)


def model_status(robot: Robot) -> Status:
    """Return what the reader of the description noticed."""
    findings = {f'finding {index}': str(finding)
                for index, finding in enumerate(robot.findings, start=1)}
    values = {'joints': ', '.join(robot.joint_names), **findings}
    if findings:
        return Status(Level.WARN, f'{len(findings)} findings in the description', values)
    return Status(Level.OK, 'no finding', values)
