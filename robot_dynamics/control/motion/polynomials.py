# SPDX-License-Identifier: Apache-2.0
"""Polynomial pieces of joint motions: coefficients c_0 ... c_5 of the powers of time."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.motion.trajectory_kernel import solve_tridiagonal
from robot_dynamics.model.arrays import FloatArray

#: Coefficients of a piece.
ORDER = 6
#: Peak speed and acceleration of a rest-to-rest quintic over distance d in time T:
#: 15/8 d/T and 10/sqrt(3) d/T^2.
QUINTIC_PEAK_SPEED = 15.0 / 8.0
QUINTIC_PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)


def quintic(duration: FloatArray, q0: FloatArray, v0: FloatArray, a0: FloatArray,
            q1: FloatArray, v1: FloatArray, a1: FloatArray) -> FloatArray:
    """Return pieces that meet position, velocity and acceleration at both ends.

    Parameters
    ----------
    duration : ndarray, shape (m,)
        Duration of each of m pieces. s.
    q0, v0, a0, q1, v1, a1 : ndarray, shape (m, n)
        Motion at its start and end.

    Returns
    -------
    coefficients : ndarray, shape (m, 6, n)
        q(t) = sum_k c_k t^k, t from the start of the piece.
    """
    h = np.asarray(duration, dtype=np.float64)[:, None]
    distance = q1 - q0 - v0 * h - 0.5 * a0 * h**2
    speed = (v1 - v0 - a0 * h) * h
    acceleration = (a1 - a0) * h**2
    return np.stack((q0, v0, 0.5 * a0,
                     (10.0 * distance - 4.0 * speed + 0.5 * acceleration) / h**3,
                     (-15.0 * distance + 7.0 * speed - acceleration) / h**4,
                     (6.0 * distance - 3.0 * speed + 0.5 * acceleration) / h**5), axis=1)


def cubic(duration: FloatArray, q0: FloatArray, v0: FloatArray, q1: FloatArray,
          v1: FloatArray) -> FloatArray:
    """Return pieces that meet position and velocity at both ends, as `quintic` does."""
    h = np.asarray(duration, dtype=np.float64)[:, None]
    distance = q1 - q0 - v0 * h
    speed = (v1 - v0) * h
    zero = np.zeros_like(distance)
    return np.stack((q0, v0, (3.0 * distance - speed) / h**2,
                     (speed - 2.0 * distance) / h**3, zero, zero), axis=1)


def stop(duration: float, q0: FloatArray, v0: FloatArray, a0: FloatArray) -> FloatArray:
    """Return the piece that comes to rest wherever that is, shape (6, n).

    Velocity is the cubic from (v0, a0) to (0, 0).

    Parameters
    ----------
    duration : float
        Time to rest. s.
    q0, v0, a0 : ndarray, shape (n,)
        Motion at its start.
    """
    h = duration
    return np.stack((q0, v0, 0.5 * a0, -(3.0 * v0 + 2.0 * a0 * h) / (3.0 * h**2),
                     (2.0 * v0 + a0 * h) / (4.0 * h**3), np.zeros_like(q0)))


def uniform(q0: FloatArray, v0: FloatArray, a0: FloatArray) -> FloatArray:
    """Return the piece of constant acceleration, shape (6, n)."""
    coefficients = np.zeros((ORDER, q0.size))
    coefficients[0], coefficients[1], coefficients[2] = q0, v0, 0.5 * a0
    return coefficients


def rest(q: FloatArray) -> FloatArray:
    """Return the piece that stays where it is, shape (6, n)."""
    coefficients = np.zeros((ORDER, q.size))
    coefficients[0] = q
    return coefficients


def evaluate(coefficients: FloatArray, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return position, velocity and acceleration of one piece, each of shape (n,)."""
    c0, c1, c2, c3, c4, c5 = coefficients
    return (c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5)))),
            c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5))),
            2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5)))


def spline_derivatives(times: FloatArray, q: FloatArray, v_start: FloatArray
                       ) -> tuple[FloatArray, FloatArray]:
    """Return velocities and accelerations at the points of the clamped cubic spline.

    The spline has continuous acceleration, the given velocity at the first point and
    none at the last.

    Parameters
    ----------
    times : ndarray, shape (m,)
        Times of the points, increasing. s.
    q : ndarray, shape (m, n)
        Positions.
    v_start : ndarray, shape (n,)
        Velocity at the first point.

    Returns
    -------
    v, a : ndarray, shape (m, n)
        Derivatives at the points.

    References
    ----------
    C. de Boor, A Practical Guide to Splines, Springer 1978, chapter IV.
    """
    m = times.size
    h = np.diff(times)[:, None]
    slope = np.diff(q, axis=0) / h
    v = np.zeros_like(q)
    v[0] = v_start
    if m > 2:
        # h_k v_{k-1} + 2 (h_{k-1} + h_k) v_k + h_{k-1} v_{k+1}
        #     = 3 (h_k slope_{k-1} + h_{k-1} slope_k),  k = 1 ... m-2
        before, after = h[:-1], h[1:]
        right = np.ascontiguousarray(3.0 * (after * slope[:-1] + before * slope[1:]))
        right[0] -= after[0] * v[0]
        # Compiled: a controller waits for it, and a trajectory may have a thousand points.
        solve_tridiagonal.load()(after.ravel(), 2.0 * (before + after).ravel(), before.ravel(),
                                 right)
        v[1:-1] = right
    a = np.empty_like(q)
    a[:-1] = (6.0 * slope - 4.0 * v[:-1] - 2.0 * v[1:]) / h
    a[-1] = (-6.0 * slope[-1] + 2.0 * v[-2] + 4.0 * v[-1]) / h[-1]
    return v, a
