# SPDX-License-Identifier: Apache-2.0
"""Limits of the joints that move, and what is suspicious about them.

A zero or missing effort or velocity limit is common in real descriptions. It is
neither "unlimited", which could break an arm, nor a limit of zero, which would
clamp every command: it becomes nan, and whoever needs it has to ask for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics.model.findings import Finding, Severity
from robot_dynamics.model.robot import JointLimits
from robot_dynamics.model.tree import JointDescription, JointKind, LimitDescription

# Some exporters write the largest float for "no limit".
_NO_LIMIT = 1e15
_UNDESCRIBED = LimitDescription(-math.inf, math.inf, math.nan, math.nan)


def joint_limits(joints: Sequence[JointDescription]) -> tuple[JointLimits, list[Finding]]:
    """Return the limits of some joints and what a controller has to know about them.

    Parameters
    ----------
    joints : sequence of JointDescription, length n
        The independent joints, in the order of the joint vectors.

    Returns
    -------
    limits : JointLimits
        Arrays of shape (n,).
    findings : list of Finding
        One warning at most for each joint and cause.
    """
    findings: list[Finding] = []
    rows = []
    for joint in joints:
        written = joint.limit or _UNDESCRIBED
        lower, upper = _position_range(joint, written, findings)
        velocity, effort = _usable(written.velocity), _usable(written.effort)
        if joint.limit is None and joint.kind is not JointKind.CONTINUOUS:
            findings.append(Finding(
                Severity.WARNING, joint.name,
                f'is {joint.kind.value} and has no <limit>: its position, velocity and effort '
                'are not limited', 'add a <limit> with the values of the real joint'))
        elif math.isnan(velocity) or math.isnan(effort):
            findings.append(_unusable(joint.name, written))
        rows.append((lower, upper, velocity, effort))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return JointLimits(*columns), findings


def _position_range(joint: JointDescription, written: LimitDescription,
                    findings: list[Finding]) -> tuple[float, float]:
    """Return lower and upper position; a continuous joint has none whatever is written."""
    if joint.kind is JointKind.CONTINUOUS:
        if -_NO_LIMIT < written.lower < written.upper < _NO_LIMIT:
            findings.append(Finding(
                Severity.INFO, joint.name,
                f'is continuous: its limits {written.lower:g} to {written.upper:g} do not count',
                'make it revolute if it must not turn further'))
        return -math.inf, math.inf
    if written.lower == written.upper:
        findings.append(Finding(
            Severity.WARNING, joint.name,
            f'cannot move: its lower and upper limit are both {written.lower:g}',
            'give lower and upper in its <limit>, make it continuous, or lock it'))
    lower = -math.inf if written.lower <= -_NO_LIMIT else written.lower
    upper = math.inf if written.upper >= _NO_LIMIT else written.upper
    return lower, upper


def _usable(value: float) -> float:
    """Return a limit of velocity or effort, or nan where the number limits nothing real."""
    return value if 0.0 < value < _NO_LIMIT else math.nan


def _unusable(name: str, written: LimitDescription) -> Finding:
    """Return the warning about velocity and effort limits that cannot be used."""
    causes = []
    for quantity, value in (('velocity', written.velocity), ('effort', written.effort)):
        if math.isnan(_usable(value)):
            causes.append(f'no {quantity} limit' if math.isnan(value)
                          else f'{quantity} limit {value:g}')
    return Finding(Severity.WARNING, name,
                   f'has {" and ".join(causes)}: not usable as a limit',
                   'write the limit of the real joint into its <limit>, or give it by parameter '
                   'to what commands the joint')
