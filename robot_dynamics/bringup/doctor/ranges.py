# SPDX-License-Identifier: Apache-2.0
"""Whether the limits of joints look like those of an arm in SI units."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.bringup.doctor.findings import Level, Remark, gathered, note, ok, warning
from robot_dynamics.model.robot import Robot, prismatic_joints

#: Position limits beyond which degrees are suspected, or millimetres. rad, m.
FARTHEST_TURN, FARTHEST_SLIDE = 8.0 * math.pi, 20.0
#: Speed limits beyond which the same is suspected. rad/s, m/s.
FASTEST_TURN, FASTEST_SLIDE = 40.0, 20.0
#: Speeds so many times beyond that, and these round ones, stand for none.
_NO_SPEED, _ROUND = 10.0, (100.0, 1000.0, 10_000.0, 100_000.0)


def judge_ranges(robot: Robot) -> list[Remark]:
    """Say which limits look wrong."""
    remarks = []
    limits = robot.limits
    for name, slides, lower, upper, speed in zip(
            robot.joint_names, prismatic_joints(robot), limits.lower, limits.upper,
            limits.velocity, strict=True):
        far, fast = (FARTHEST_SLIDE, FASTEST_SLIDE) if slides else (FARTHEST_TURN, FASTEST_TURN)
        unit, other = ('m', 'millimetres') if slides else ('rad', 'degrees')
        ends = [end for end in (lower, upper) if math.isfinite(end)]
        if any(abs(end) > far for end in ends):
            remarks.append(warning(name, f'moves from {lower:g} to {upper:g} {unit}',
                                   f'limits are in {unit}: were they written in {other}?'))
        if speed > _NO_SPEED * fast or speed in _ROUND:
            remarks.append(note(name, f'has the velocity limit {speed:g} {unit}/s, which limits '
                                'nothing', 'give that of the real joint: joint states are '
                                           'believed up to it'))
        elif speed > fast:
            remarks.append(warning(name, f'may move at {speed:g} {unit}/s',
                                   f'its limit is in {unit}/s: was it written in {other} per '
                                   'second?'))
    if any(remark.level >= Level.WARNING for remark in remarks):
        return gathered(remarks)
    bounded = int(np.isfinite([limits.lower, limits.upper]).all(axis=0).sum())
    return [*gathered(remarks), ok('limits', f'positions of {bounded}, speeds of '
                         f'{int(np.isfinite(limits.velocity).sum())} and efforts of '
                         f'{int(np.isfinite(limits.effort).sum())} of {robot.n} joints')]
