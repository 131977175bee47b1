# SPDX-License-Identifier: Apache-2.0
"""Joints at mechanical stops, with contact forces that are not part of any model.

A stop acts on its own joint only. Equations of that joint are then unusable, but those of all
other joints are valid. A joint is at a stop if it is at rest at, or beyond, a limit of the
description.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.signals import Motion, lasting, widened
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot

#: Distance within which a joint is at a limit: fraction of its range, or rad or m.
NEAR, NEAREST = 0.02, 0.02
#: Speed of standstill: fraction of the RMS speed, or rad/s or m/s; and its least duration, s.
STILL, STILLEST, LONG = 0.05, 0.005, 0.3
#: A limit exceeded by more than this fraction of the range, or this distance, is not a stop.
PASSED, PASSED_LEAST = 0.05, 0.05
#: Time left out around a contact because of the filter, in 1 / cut-off.
AROUND = 2.0


def stops_of(robot: Robot, dataset: Dataset) -> tuple[FloatArray, FloatArray]:
    """Lower and upper stop of each joint, (n,) each, rad or m; infinite without a stop.

    A limit that the log exceeds by far, or never comes near, is not a stop.
    """
    lower, upper = robot.limits.lower.copy(), robot.limits.upper.copy()
    low, high = dataset.extremes
    bounded = np.isfinite(lower) & np.isfinite(upper)
    span = np.where(bounded, upper - lower, 0.0)
    most = np.maximum(PASSED * span, PASSED_LEAST)
    near = np.maximum(NEAR * span, NEAREST)
    # A limit that the log never reached can only be exceeded by overshoot of the filters.
    lower[~bounded | (low < lower - most) | (low > lower + near)] = -np.inf
    upper[~bounded | (high > upper + most) | (high < upper - near)] = np.inf
    return lower, upper


def on_stops(robot: Robot, dataset: Dataset, motion: Motion, cutoff: float) -> BoolArray:
    """Mask of samples at which each joint is at a stop, widened by the filter, shape (N, n).

    The cut-off is that of the equations, Hz.
    """
    found = np.zeros(motion.q.shape, dtype=bool)
    speeds = np.sqrt(np.mean(motion.v ** 2, axis=0))
    lower, upper = stops_of(robot, dataset)
    margins = np.maximum(NEAR * (robot.limits.upper - robot.limits.lower), NEAREST)
    for j, (q, v) in enumerate(zip(motion.q.T, motion.v.T, strict=True)):
        slow = np.abs(v) < max(STILL * speeds[j], STILLEST)
        for inside in (q - lower[j], upper[j] - q):
            lying = (inside < 0.0) | lasting((inside < margins[j]) & slow, LONG * motion.rate)
            found[:, j] |= widened(lying, int(np.ceil(AROUND / cutoff * motion.rate)))
    return found


def stop_findings(dataset: Dataset, lying: BoolArray) -> tuple[Finding, ...]:
    """Warnings for joints at stops; ``lying`` masks the equations left out, shape (m, n)."""
    return tuple(
        Finding(Severity.WARNING, name, f'lies on a stop: {count} of its {len(lying)} equations '
                'are left out', 'record motions within its limits')
        for name, count in zip(dataset.joint_names, np.count_nonzero(lying, axis=0), strict=True)
        if count)
