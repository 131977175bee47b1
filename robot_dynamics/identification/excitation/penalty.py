# SPDX-License-Identifier: Apache-2.0
"""What breaking limits costs while a motion is being designed, and how that changes with it."""

from __future__ import annotations

import numpy as np

from robot_dynamics.identification.excitation.curves import Basis
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.model.arrays import FloatArray

# Rows of what encloses a motion that are enough to design one.
_ENOUGH = 800


class Penalty:
    """Sums of squares of how far beyond its limits a motion is, as shares of them.

    Parameters
    ----------
    basis : Basis
        Functions of time.
    start : ndarray, shape (n,)
        Where motions start.
    limits : MotionLimits
        What they should not exceed.
    efforts : EffortEnclosure
        Of the robot.
    """

    def __init__(self, basis: Basis, start: FloatArray, limits: MotionLimits,
                 efforts: EffortEnclosure):
        self._limits, self._efforts = limits, efforts
        # The whole of them is for the verdict; the optimiser only has to come near.
        self._rows = [rows[::max(1, len(rows) // _ENOUGH)]
                      for rows in (basis.hull(k)[0] for k in range(3))]
        middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
        self._offset = (start - middle) / half
        self._sizes = (half, limits.velocity, limits.acceleration)

    def of_motion(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return that of position, velocity and acceleration, and its derivative.

        Parameters
        ----------
        x : ndarray, shape (count, n)
            Coefficients.
        """
        value, slope = 0.0, np.zeros_like(x)
        for k, (rows, size) in enumerate(zip(self._rows, self._sizes, strict=True)):
            share = rows @ x / size
            if k == 0:
                share += self._offset
            beyond = share - np.clip(share, -1.0, 1.0)
            value += float(np.sum(beyond * beyond)) / len(rows)
            slope += rows.T @ (2.0 * beyond / size) / len(rows)
        return value, slope

    def of_efforts(self, q: FloatArray, v: FloatArray, a: FloatArray
                   ) -> tuple[float, tuple[FloatArray, FloatArray, FloatArray] | None]:
        """Return that of the efforts at samples, and its derivatives; None where it is zero."""
        robot = self._efforts.robot
        tau = self._efforts.efforts(q, v, a)
        room = np.maximum(self._limits.effort - robot.friction, 1e-9)
        share = tau / room
        beyond = share - np.clip(share, -1.0, 1.0)
        rows = np.flatnonzero(np.any(beyond != 0.0, axis=1))
        if rows.size == 0:
            return 0.0, None
        value = float(np.sum(beyond * beyond)) / len(q)
        by_effort = 2.0 * beyond[rows] / room / len(q)
        by_q, by_v, M = self._efforts.dynamics.inverse_dynamics_derivatives(
            q[rows], v[rows], a[rows])
        slopes = tuple(np.zeros_like(q) for _ in range(3))
        slopes[0][rows] = np.einsum('mi,mih->mh', by_effort, by_q)
        slopes[1][rows] = np.einsum('mi,mih->mh', by_effort, by_v) + by_effort * robot.damping
        slopes[2][rows] = np.einsum('mi,mih->mh', by_effort, M) + by_effort * robot.armature
        return value, slopes
