# SPDX-License-Identifier: Apache-2.0
"""Tolerances: residuals of an arm without faults, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint
from robot_dynamics.control.faults.motion_predictor import MotionFilter
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Default limit, as a share of the largest effort of a joint. An unknown payload and wrong masses,
#: which an adaptive controller tolerates, must not cause an alarm: with 2 kg and masses 30 % off,
#: the 7R arm stays below 0.85 of it, also with uneven state intervals.
UNLEARNT_SHARE = 0.75
#: Default limit, in standard deviations.
UNLEARNT_LIMIT = 6.0
#: Largest tolerance, for joints without a limit. N m or N.
_ENDLESS = 1e12


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Spreads of the residuals, and limits, for w windows and n joints.

    The effort behind an unexplained acceleration a is M a. Its covariance is M diag(noise^2) M +
    diag(effort^2). `noise`, shape (w, n), is due to measured velocities, rad/s^2 or m/s^2;
    `effort`, shape (2, w, n), is due to unmodelled efforts, such as friction, of moving and of
    slow joints, N m or N. `limit`, shape (w, n), and `whole`, shape (w,), are the largest share of
    each joint and of all together, in standard deviations.
    """

    noise: FloatArray
    effort: FloatArray
    limit: FloatArray
    whole: FloatArray

    @property
    def flat(self) -> FloatArray:
        """All values in one array."""
        return np.concatenate([part.ravel() for part in (self.noise, self.effort, self.limit,
                                                         self.whole)])

    def widened(self, spread: FloatArray) -> Tolerances:
        """Tolerances with further unmodelled efforts of a spread, shape (w, n). N m or N."""
        return replace(self, effort=np.hypot(self.effort, spread))

    def visible(self, inertia: FloatArray, windows: int) -> FloatArray:
        """Smallest effort of each joint alone that exceeds a limit, shape (n,). N m or N.

        An effort f_i has the share f_i sqrt((R^-1)_ii), with R its covariance.

        Parameters
        ----------
        inertia : ndarray, shape (n, n)
            M at the pose. kg m^2 or kg.
        windows : int
            Number of windows for which the effort lasts, the shortest first.
        """
        spread = self.effort.max(axis=0)
        covariance = (inertia * self.noise[:, None]**2) @ inertia \
            + spread[:, :, None]**2 * np.eye(len(inertia))
        share = np.sqrt(np.diagonal(np.linalg.inv(covariance), axis1=1, axis2=2))
        efforts = np.minimum(self.limit, self.whole[:, None]) / share
        return efforts[:windows].min(axis=0)


def given_tolerances(values: ArrayLike, motion_filter: MotionFilter, n: int) -> Tolerances:
    """Tolerances from a flat array, or from a limit of the effort of each joint.

    Raises DimensionError for another number of values, ParameterError for one not above zero.
    """
    flat, w = np.asarray(values, dtype=np.float64).ravel(), motion_filter.lengths.size
    whole = 4 * w * n + w
    if flat.size not in (1, n, whole):
        raise DimensionError(f'must have 1, {n} or {whole} values, got {flat.size}',
                             subject='thresholds',
                             remedy=f'give one for each of {n} joints, or learn them again: '
                                    f'{whole}, for {w} windows')
    if not np.all(flat > 0.0):
        raise ParameterError('must be above zero', subject='thresholds',
                             remedy='give the least effort of a fault, in N m or N')
    if flat.size == whole:
        noise, moving, slow, limit, rest = np.split(flat, w * n * np.arange(1, 5))
        return Tolerances(noise.reshape(w, n).copy(),
                          np.stack([moving.reshape(w, n), slow.reshape(w, n)]),
                          limit.reshape(w, n).copy(), rest.copy())
    effort = each_joint('thresholds', flat if flat.size == n else flat[0], n)
    spread = np.minimum(effort, _ENDLESS) / UNLEARNT_LIMIT
    return Tolerances(np.repeat(motion_filter.noise[:, None], n, axis=1),
                      np.broadcast_to(spread, (2, w, n)).copy(),
                      np.full((w, n), UNLEARNT_LIMIT), np.full(w, UNLEARNT_LIMIT * np.sqrt(n)))


def default_tolerances(robot: Robot, motion_filter: MotionFilter) -> Tolerances:
    """Tolerances without learning.

    A share of each joint's largest effort, far above the residuals of an arm without faults;
    unlimited if the largest effort is unknown.
    """
    limit = np.where(np.isnan(robot.limits.effort), np.inf, robot.limits.effort)
    return given_tolerances(UNLEARNT_SHARE * limit, motion_filter, robot.n)
