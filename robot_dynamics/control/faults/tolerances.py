# SPDX-License-Identifier: Apache-2.0
"""``Tolerances``: what a sound arm may show, and when it is too much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint
from robot_dynamics.control.faults.motion_predictor import MotionFilter
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Without learning: this share of the largest effort of a joint. A payload nobody told of and
#: masses a third off, which an adaptive controller copes with, are no fault and no contact: with
#: 2 kg and masses 30 % off the 7R arm stays below 0.85 of it, also where states come unevenly.
UNLEARNT_SHARE = 0.75
#: Limit without learning, in standard deviations.
UNLEARNT_LIMIT = 6.0
#: Stands for a tolerance without end. N m or N.
_ENDLESS = 1e12


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Spreads of what is not explained, and limits.

    The effort behind an unexplained acceleration a is M a. It has the covariance
    M diag(noise^2) M + diag(effort^2): noise is of the measured velocities, efforts are of
    what the model does not know, such as friction.

    Parameters
    ----------
    noise : ndarray, shape (w, n)
        rad/s^2 or m/s^2.
    effort : ndarray, shape (2, w, n)
        Of joints that move, and of slow ones. N m or N.
    limit : ndarray, shape (w, n)
        Largest share of each joint in what is seen, in standard deviations.
    whole : ndarray, shape (w,)
        The largest of all together.
    """

    noise: FloatArray
    effort: FloatArray
    limit: FloatArray
    whole: FloatArray

    @property
    def flat(self) -> FloatArray:
        """All of them, one after the other."""
        return np.concatenate([part.ravel() for part in (self.noise, self.effort, self.limit,
                                                         self.whole)])


def given_tolerances(values: ArrayLike, motion_filter: MotionFilter, n: int) -> Tolerances:
    """Return tolerances from the flat ones, or from one effort a joint that is too much.

    Raises
    ------
    DimensionError, ParameterError
        Where their number is wrong, or one is not above zero.
    """
    flat, w = np.asarray(values, dtype=np.float64).ravel(), motion_filter.lengths.size
    whole = 4 * w * n + w
    if flat.size not in (1, n, whole):
        raise DimensionError(f'have {flat.size} values', subject='thresholds',
                             remedy=f'give one for each of {n} joints, or learn them anew: '
                                    f'{whole}, for {w} windows')
    if not np.all(flat > 0.0):
        raise ParameterError('hold a value that is not above zero', subject='thresholds',
                             remedy='give what is too much for a sound arm, in N m or N')
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
    """Return tolerances for an arm nobody has watched yet.

    A share of each joint's largest effort, which is far above what a sound arm shows beside
    the noise expected; where that is not known nothing is too much.
    """
    limit = np.where(np.isnan(robot.limits.effort), np.inf, robot.limits.effort)
    return given_tolerances(UNLEARNT_SHARE * limit, motion_filter, robot.n)
