# SPDX-License-Identifier: Apache-2.0
"""Limits of the joints that move, and what is suspicious about them.

A zero or missing effort or velocity limit is common in real descriptions. It is
neither "unlimited", which could break an arm, nor a limit of zero, which would
clamp every command: it becomes nan, and whoever needs it has to ask for it.

The position range of a joint is the ``<limit>`` written for it, narrowed by the
soft limits of a ``<safety_controller>`` as ros2_control does it (soft limits that
leave no range mean nothing), and by what the joints that mimic it can reach. So is
the speed; the effort is not, because a joint that follows has no drive of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.model.findings import Finding, Severity
from robot_dynamics.model.robot import JointLimits
from robot_dynamics.model.tree import JointDescription, JointKind, LimitDescription

# Some exporters write the largest float for "no limit".
_NO_LIMIT = 1e15
# A limit that only rounding makes tighter is no other limit.
_ROUNDING = 1e-9
_UNDESCRIBED = LimitDescription(-math.inf, math.inf, math.nan, math.nan)


@dataclass(frozen=True)
class Follower:
    """A joint that moves with an independent one: q = multiplier * q_of(that) + offset.

    Parameters
    ----------
    joint : JointDescription
        The joint.
    multiplier : float
        Ratio, not zero.
    offset : float
        Position where the followed joint is at zero, rad or m.
    """

    joint: JointDescription
    multiplier: float
    offset: float

    def source(self, q: float) -> float:
        """Return where the followed joint is when this one is at q."""
        return (q - self.offset) / self.multiplier


@dataclass
class _Range:
    """Range and speed of one joint while they are narrowed; the remarks about it."""

    joint: JointDescription
    lower: float
    upper: float
    velocity: float
    findings: list[Finding] = field(default_factory=list)

    def narrow(self, lower: float, upper: float) -> bool | None:
        """Take the tighter limits: whether they are, or None where no range would be left."""
        tighter = (lower > self.lower + _ROUNDING * max(1.0, abs(lower))
                   or upper < self.upper - _ROUNDING * max(1.0, abs(upper)))
        if not tighter:
            return False
        lower, upper = max(lower, self.lower), min(upper, self.upper)
        if not upper - lower > _ROUNDING:
            return None
        self.lower, self.upper = lower, upper
        return True

    def note(self, severity: Severity, subject: str, message: str, remedy: str = '') -> None:
        self.findings.append(Finding(severity, subject, message, remedy))


def joint_limits(joints: Sequence[JointDescription],
                 followers: Mapping[str, Sequence[Follower]]
                 ) -> tuple[JointLimits, list[Finding]]:
    """Return the limits of some joints and what a controller has to know about them.

    Parameters
    ----------
    joints : sequence of JointDescription
        The independent joints, in the order of the joint vectors. Those of several
        coordinates have no limits: what is written of one number does not say which.
    followers : mapping of str to sequence of Follower
        The joints that move with each of them, by its name; none where it is missing.

    Returns
    -------
    limits : JointLimits
        Arrays of shape (n,).
    findings : list of Finding
        One at most for each joint, cause and joint that follows.
    """
    findings: list[Finding] = []
    rows = []
    for joint in joints:
        if not joint.kind.has_coordinate:
            free = (-math.inf, math.inf, math.nan, math.nan)
            rows += [free] * len(joint.kind.joint_type.velocity_names)
            continue
        written = joint.limit or _UNDESCRIBED
        reach = _own_range(joint)
        effort = _usable(written.effort)
        if joint.limit is None and joint.kind is not JointKind.CONTINUOUS:
            reach.note(Severity.WARNING, joint.name,
                       f'is {joint.kind.value} and has no <limit>: its position, velocity and '
                       'effort are not limited', 'add a <limit> with the values of the real joint')
        elif math.isnan(reach.velocity) or math.isnan(effort):
            reach.findings.append(_unusable(joint.name, written))
        for follower in followers.get(joint.name, ()):
            _let_follow(reach, follower)
        findings += reach.findings
        rows.append((reach.lower, reach.upper, reach.velocity, effort))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return JointLimits(*columns), findings


def _own_range(joint: JointDescription) -> _Range:
    """Return what a joint can do by itself; a continuous one turns whatever is written."""
    written = joint.limit or _UNDESCRIBED
    lower = -math.inf if written.lower <= -_NO_LIMIT else written.lower
    upper = math.inf if written.upper >= _NO_LIMIT else written.upper
    reach = _Range(joint, lower, upper, _usable(written.velocity))
    if joint.kind is JointKind.CONTINUOUS:
        if math.isfinite(lower) and math.isfinite(upper) and lower < upper:
            reach.note(Severity.INFO, joint.name,
                       f'is continuous: its limits {lower:g} to {upper:g} do not count',
                       'make it revolute if it must not turn further')
        reach.lower, reach.upper = -math.inf, math.inf
        return reach
    if lower == upper:
        reach.note(Severity.WARNING, joint.name,
                   f'cannot move: its lower and upper limit are both {lower:g}',
                   'give lower and upper in its <limit>, make it continuous, or lock it')
    if joint.soft_range is not None:
        _keep_soft(reach, *joint.soft_range)
    return reach


def _keep_soft(reach: _Range, lower: float, upper: float) -> None:
    """Narrow a range to its soft limits; a range of no width is how "none" is written."""
    written = f'soft limits {lower:g} to {upper:g}'
    if math.isnan(lower) or math.isnan(upper):
        reach.note(Severity.WARNING, reach.joint.name, 'has soft limits that are not numbers',
                   'correct its <safety_controller>; they do not count')
    elif lower < upper:
        hard = f'{reach.lower:g} to {reach.upper:g}'
        narrower = reach.narrow(lower, upper)
        if narrower:
            reach.note(Severity.INFO, reach.joint.name,
                       f'is limited to {reach.lower:g} to {reach.upper:g}, inside its limits '
                       f'{hard}: it has the {written}')
        elif narrower is None:
            reach.note(Severity.WARNING, reach.joint.name,
                       f'has the {written} outside its limits {hard}',
                       'correct its <safety_controller>; they do not count')


def _let_follow(reach: _Range, follower: Follower) -> None:
    """Narrow range and speed of a joint to what a joint that follows it can do."""
    own = _own_range(follower.joint)
    name, follows = reach.joint.name, f'{follower.joint.name!r} follows it'
    ends = f'{own.lower:g} to {own.upper:g}'
    narrower = reach.narrow(*sorted((follower.source(own.lower), follower.source(own.upper))))
    if narrower:
        reach.note(Severity.INFO, name, f'is limited to {reach.lower:g} to {reach.upper:g}: '
                                        f'{follows} and moves from {ends}')
    elif narrower is None:
        reach.note(Severity.WARNING, follower.joint.name,
                   f'has the limits {ends}, with which it cannot follow {name!r} (by '
                   f'{follower.multiplier:g}, from {follower.offset:g})',
                   'correct its <limit> or <mimic>; its limits do not count')
    speed = own.velocity / abs(follower.multiplier)
    if speed < reach.velocity * (1.0 - _ROUNDING):
        reach.velocity = speed
        reach.note(Severity.INFO, name, f'is limited to a velocity of {speed:g}: {follows} at '
                                        f'{own.velocity:g}')


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
