# SPDX-License-Identifier: Apache-2.0
r"""A torque that the model does not know of: estimated along with the feedback, and made up for.

About the desired motion, with x = (q - q_d, v - v_d) and Kq, D the derivatives of the efforts,
a payload or friction nobody described is a torque d that hardly changes::

    M dv/dt = -Kq q - D v + u + d

Where u = -K x - d^, the regulator needs no other gain than without d: what is left of it is
estimated by what the motion differs from that of the regulated model, at a rate w::

    d d^/dt = w (M dv/dt + (Kq + K_p) q + (D + K_v) v)

whose right hand side is w (d - d^), so that the spectrum is that of the regulator and -w, n
times. The acceleration is not measured and does not have to be: integrated, it is the
velocity. Positions and velocities then add to the gain, and their integral gets one::

    u = -(K_p + w (K_v + D)) q - (K_v + w M) v - int w (K_p + Kq) q dt

This is the reduced-order observer of a constant disturbance (D. G. Luenberger, "An
introduction to observers", IEEE Trans. Automatic Control 16(6), 1971), and the gain of an
integral with it: with k_p, k_v of a joint it is the PID controller of poles -b, -1/t_c, -w.

The integral is kept in efforts: a gain that changes does not change what has been summed up.
An arm heavier than its model by a factor f needs f < (k_p + w k_v)(k_v + w) / (w k_p): the
lower w, the more: 15 where w is a fifth of b = 1/t_c, 21 where it is an eighth, and 35 where it
is a fifteenth.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Longest time between two states over which an error is summed up, in periods: what happened
#: in a longer one nobody knows.
LONGEST_GAP = 10.0


class SummedDisturbance:
    """The integral part of the estimate, within bounds.

    Parameters
    ----------
    bound : ndarray, shape (n,)
        Largest effort of each joint; inf for any. N m or N.
    period : float
        Sampling period. s.

    Attributes
    ----------
    effort : ndarray, shape (n,)
        What it makes up for. N m or N.
    """

    def __init__(self, bound: FloatArray, period: float):
        self.effort = np.zeros(len(bound))
        self._bound = np.ascontiguousarray(bound)
        self._longest = LONGEST_GAP * period
        self._add = add_error.load()

    @classmethod
    def for_robot(cls, robot: Robot, share: float, period: float) -> SummedDisturbance:
        """Return one with bounds that are a share of the effort limits of a robot.

        A joint without a limit has no bound.
        """
        limits = np.array(robot.limits.effort)
        return cls(share * np.where(np.isnan(limits), np.inf, limits), period)

    def reset(self) -> None:
        """Forget it."""
        self.effort[:] = 0.0

    def add(self, K: FloatArray, e: FloatArray, dt: float) -> None:
        """Go on for a time with an error; after a gap, or without a time, it stays.

        Parameters
        ----------
        K : ndarray, shape (n, 3 n)
            Gain, that of the integral last.
        e : ndarray, shape (n,)
            q_d - q.
        dt : float
            s.
        """
        # Written so that NaN is no time.
        if 0.0 < dt <= self._longest:
            self._add(K, e, dt, self._bound, self.effort)


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64, '
        'float64[:, ::1], float64[:, ::1])', on_demand=True, nogil=True)
def gain_with_estimate(dq, dv, M, rate, regulator, K):
    """Write the gains of position, velocity and integral, given those of the regulator."""
    n = M.shape[0]
    for i in range(n):
        for j in range(n):
            K[i, j] = regulator[i, j] + rate * (regulator[i, n + j] + dv[i, j])
            K[i, n + j] = regulator[i, n + j] + rate * M[i, j]
            K[i, 2 * n + j] = rate * (regulator[i, j] + dq[i, j])


@kernel('void(float64[:, ::1], float64[::1], float64, float64[::1], float64[::1])',
        on_demand=True, nogil=True)
def add_error(K, e, dt, bound, effort):
    """Add dt K_i e to an effort, within its bounds; what is no number would stay for ever."""
    n = e.size
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += K[i, 2 * n + j] * e[j]
        if math.isfinite(dt * total):
            effort[i] = min(max(effort[i] + dt * total, -bound[i]), bound[i])
