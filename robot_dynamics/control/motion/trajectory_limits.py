# SPDX-License-Identifier: Apache-2.0
"""Limits that no reference may break."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint
from robot_dynamics.control.motion import trajectory_kernel as kernel
from robot_dynamics.control.motion.pieces import Pieces
from robot_dynamics.control.motion.trajectory_points import Points
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import JointLimits

#: A limit may be exceeded by rounding: rad or m, and as a fraction of a speed or acceleration.
ROUNDING = 1e-6
#: Where there is no limit: nothing finite is beyond it.
_NO_LIMIT = np.finfo(np.float64).max


class TrajectoryLimits:
    """Check points and whole motions against position, speed and acceleration.

    A joint that stands beyond a position limit, as an arm pushed onto its stop may,
    can be led back from there, but not farther away.

    Parameters
    ----------
    joint_names : sequence of str, length n
        The joints, for messages.
    limits : JointLimits
        Position and speed limits; a speed that is nan is not limited.
    acceleration : array_like, scalar or shape (n,)
        Largest accelerations, inf where there is no limit. rad/s^2 or m/s^2.
    """

    def __init__(self, joint_names: Sequence[str], limits: JointLimits,
                 acceleration: ArrayLike):
        self._joint_names = tuple(joint_names)
        n = len(self._joint_names)
        lower, upper = (each_joint(f'{name} limits', getattr(limits, name), n)
                        for name in ('lower', 'upper'))
        self._lower = np.maximum(lower - ROUNDING, -_NO_LIMIT)
        self._upper = np.minimum(upper + ROUNDING, _NO_LIMIT)
        self._velocity = np.fmin(limits.velocity * (1.0 + ROUNDING), _NO_LIMIT)
        self._acceleration = np.minimum(
            each_joint('acceleration limits', acceleration, n) * (1.0 + ROUNDING), _NO_LIMIT)
        self._find_violation = kernel.find_violation.load()

    def check_points(self, given: Points, *poses: FloatArray) -> None:
        """Refuse points that are themselves beyond a limit.

        Parameters
        ----------
        given : Points
            The points.
        *poses : ndarray, shape (n,)
            Where the arm stands, or is thought to.

        Raises
        ------
        TrajectoryError
            Where one is, with its joint.
        """
        lower, upper = self._range(poses)
        for field, values, low, high in (
                ('positions', given.q, lower, upper),
                ('velocities', given.v, -self._velocity, self._velocity),
                ('accelerations', given.a, -self._acceleration, self._acceleration)):
            if values is None:
                continue
            # Written so that NaN is outside.
            outside = ~((values >= low) & (values <= high))
            if outside.any():
                k, joint = np.argwhere(outside)[0]
                raise TrajectoryError(f'points[{k}].{field} {values[k, joint]:.4g} is outside '
                                      f'{low[joint]:.4g} to {high[joint]:.4g}',
                                      subject=self._joint_names[joint],
                                      remedy='keep every point inside the limits')

    def check_motion(self, motion: Pieces, *poses: FloatArray) -> None:
        """Refuse a motion that breaks a limit at any time; parameters as `check_points`."""
        lower, upper = self._range(poses)
        kind, joint, t, value = self._find_violation(
            motion.begins, motion.origins, motion.coefficients, motion.begins[-1], lower, upper,
            self._velocity, self._acceleration)
        if kind == kernel.NOTHING:
            return
        if kind == kernel.POSITION:
            what, limit = 'position', (lower if value < lower[joint] else upper)[joint]
            remedy = ('keep the points, and the way to a stop after the last one, inside the '
                      'position limits')
        elif kind == kernel.VELOCITY:
            what, limit = 'speed', self._velocity[joint]
            remedy = 'give the motion more time or a nearer start'
        else:
            what, limit = 'acceleration', self._acceleration[joint]
            remedy = 'give the motion more time, smoother points or a nearer start'
        raise TrajectoryError(f'{what} {value:.4g} is beyond {limit:.4g}, '
                              f'{t - motion.begins[0]:.3f} s after the trajectory takes over',
                              subject=self._joint_names[joint], remedy=remedy)

    def _range(self, poses: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray]:
        """Return the position limits, widened to where the arm stands."""
        return (np.minimum.reduce((self._lower, *poses)), np.maximum.reduce((self._upper, *poses)))
