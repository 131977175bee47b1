# SPDX-License-Identifier: Apache-2.0
"""Whether positions and velocities fit the robot and each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics.bringup.doctor.findings import Remark, gathered, warning
from robot_dynamics.bringup.doctor.replay import Replay
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, prismatic_joints
from robot_dynamics.nodes.observing.graph_snapshot import StateSample

#: How far outside its limits a joint may be told. rad or m.
_OUTSIDE = 0.02
#: Movement that is enough to compare velocities with. rad or m.
_MOVED = 0.02
#: States that are enough for it.
_ENOUGH = 20
#: How far a velocity may be from the rate of change of its position, as a share.
_MISMATCH = 0.3
#: Part of the variation that a proportion has to explain before it is believed.
_EXPLAINED = 0.8
_DEGREES = 180.0 / math.pi


def judge_motion(topic: str, robot: Robot, replayed: Replay, samples: Sequence[StateSample]
                 ) -> list[Remark]:
    """Say where positions leave limits, and where velocities are of something else."""
    return gathered([*_outside(robot, samples), *_unlike(robot, replayed)])


def _outside(robot: Robot, samples: Sequence[StateSample]) -> list[Remark]:
    """Judge the messages themselves: degrees jump too much to get past the monitor."""
    remarks = []
    for k, joint in enumerate(robot.joint_names):
        told = [sample.position[sample.names.index(joint)] for sample in samples
                if joint in sample.names and len(sample.position) == len(sample.names)]
        told = [value for value in told if math.isfinite(value)]
        if not told:
            continue
        low, high = robot.limits.lower[k], robot.limits.upper[k]
        farthest = max(told, key=lambda value: max(low - value, value - high, -math.inf))
        if max(low - farthest, farthest - high) <= _OUTSIDE:
            continue
        slides = prismatic_joints(robot)[k]
        unit, scale, other = ('m', 1e3, 'millimetres') if slides else \
            ('rad', _DEGREES, 'degrees')
        guess = f': in {other}?' if abs(farthest) > 10.0 and \
            low - _OUTSIDE <= farthest / scale <= high + _OUTSIDE else ''
        remarks.append(warning(
            joint, f'is at {farthest:.4g} {unit}, outside its limits {low:.4g} to {high:.4g}'
            f'{guess}', 'check unit and zero of the driver, or the limits of the description'))
    return remarks


def _unlike(robot: Robot, replayed: Replay) -> list[Remark]:
    """Compare measured velocities with the rate of change of positions."""
    time, q, v = replayed.time, replayed.q, replayed.v
    if len(time) < _ENOUGH:
        return []
    remarks = []
    spans = np.diff(time)[:, None]
    rates, means = np.diff(q, axis=0) / spans, 0.5 * (v[1:] + v[:-1])
    for k, joint in enumerate(robot.joint_names):
        if np.ptp(q[:, k]) < _MOVED:
            continue
        if not np.any(means[:, k]):
            remarks.append(warning(joint, 'moves, and its velocity is always zero',
                                   'let the driver fill velocities, or leave them empty: then '
                                   'they are estimated'))
            continue
        ratio, explained = _proportion(rates[:, k], means[:, k])
        if explained > _EXPLAINED and abs(ratio - 1.0) > _MISMATCH:
            remarks.append(warning(joint, f'its velocity is {1.0 / ratio:.3g} times the rate of '
                                   f'change of its position{_guess(1.0 / ratio)}',
                                   'check unit and sign of the velocities of the driver'))
    return remarks


def _proportion(of: FloatArray, to: FloatArray) -> tuple[float, float]:
    """Return the factor by which one follows the other, and how much of it that explains."""
    ratio = float(of @ to / (to @ to))
    left = of - ratio * to
    return ratio, 1.0 - float(left @ left / (of @ of))


def _guess(factor: float) -> str:
    for value, text in ((_DEGREES, 'degrees per second'), (1e3, 'millimetres per second'),
                        (-1.0, 'the other sign')):
        if abs(factor / value - 1.0) < 0.1:
            return f': {text}?'
    return ''


