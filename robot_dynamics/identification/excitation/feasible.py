# SPDX-License-Identifier: Apache-2.0
"""Motions within limits: random ones, and what is left of one that is not."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.identification.excitation.curves import Basis, RestToRest
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.identification.excitation.limits import Clearance, MotionLimits, use_of
from robot_dynamics.model.arrays import FloatArray

# Halvings of the interval of a scale, and the smallest scale worth having.
_HALVINGS, _SMALLEST = 8, 1e-3
#: Largest step of a joint between two poses that are looked at, and most of them.
STEP, MOST_POSES = 0.02, 20_000


def units(basis: Basis, limits: MotionLimits) -> FloatArray:
    """Return how far each joint can go within one wave of a basis, shape (n,). rad or m."""
    wave = 2.0 * basis.duration / (basis.count + 2)
    return np.minimum.reduce((0.5 * (limits.upper - limits.lower),
                              limits.velocity * wave / (2.0 * np.pi),
                              limits.acceleration * (wave / (2.0 * np.pi)) ** 2))


def random_motion(basis: Basis, start: FloatArray, limits: MotionLimits,
                  efforts: EffortEnclosure, random: np.random.Generator,
                  clearance: Clearance | None = None) -> RestToRest:
    """Return a random motion as large as its limits let every joint have it."""
    x = random.normal(size=(basis.count, len(start)))
    unit = RestToRest(basis, np.zeros(len(start)), x)
    low, high = unit.extremes(0)
    scale = np.minimum.reduce((
        (limits.upper - start) / high, (limits.lower - start) / low,
        limits.velocity / unit.largest(1), limits.acceleration / unit.largest(2)))
    return shrunk(RestToRest(basis, start, scale * x), limits, efforts, clearance)


def shrunk(motion: RestToRest, limits: MotionLimits, efforts: EffortEnclosure,
           clearance: Clearance | None = None) -> RestToRest:
    """Return a motion itself, or its largest part about its start that keeps all limits.

    Raises
    ------
    TrajectoryError
        When nothing of it is left: the arm cannot even stand at its start.
    """
    def part(scale: float) -> RestToRest:
        return RestToRest(motion.basis, motion.start, scale * motion.coefficients)

    def keeps(scale: float) -> bool:
        candidate = part(scale)
        return use_of(candidate, limits, efforts).largest <= 1.0 and (
            clearance is None or is_clear(candidate, clearance))

    if keeps(1.0):
        return motion
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if keeps(middle) else (low, middle)
    if low < _SMALLEST:
        raise TrajectoryError('leaves no room to move: efforts there are at their limits, or '
                              'something is touched', subject='start',
                              remedy='start elsewhere, or use more of the limits')
    return part(low)


def is_clear(motion: RestToRest, clearance: Clearance) -> bool:
    """Whether a motion touches nothing."""
    return bool(np.all(clearance(poses_of(motion))[0] > 0.0))


def poses_of(motion: RestToRest) -> FloatArray:
    """Return poses of a motion between which no joint goes farther than `STEP`, shape (m, n)."""
    count = min(MOST_POSES, 2 + int(motion.duration * np.max(motion.largest(1)) / STEP))
    return motion.evaluate(np.linspace(0.0, motion.duration, count))
