# SPDX-License-Identifier: Apache-2.0
"""Evaluating and checking motions made of polynomial pieces, compiled."""

from __future__ import annotations

import math

from robot_dynamics.dynamics.kernels.loading import helper, kernel

#: What `find_violation` found.
NOTHING, POSITION, VELOCITY, ACCELERATION = range(4)

#: Points at which a piece is looked at, both ends included.
CHECKS_PER_PIECE = 9


@helper
def _piece_at(begins, count, t):
    """Return the last piece that has begun at t, the first one before all of them."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if begins[middle] <= t:
            low = middle
        else:
            high = middle
    return low


@helper
def _position(c, k, i, t):
    return c[k, 0, i] + t * (c[k, 1, i] + t * (c[k, 2, i] + t * (
        c[k, 3, i] + t * (c[k, 4, i] + t * c[k, 5, i]))))


@helper
def _velocity(c, k, i, t):
    return c[k, 1, i] + t * (2.0 * c[k, 2, i] + t * (
        3.0 * c[k, 3, i] + t * (4.0 * c[k, 4, i] + t * 5.0 * c[k, 5, i])))


@helper
def _acceleration(c, k, i, t):
    return 2.0 * c[k, 2, i] + t * (6.0 * c[k, 3, i] + t * (
        12.0 * c[k, 4, i] + t * 20.0 * c[k, 5, i]))


@kernel('i8(f8[::1], f8[::1], f8[:,:,::1], f8, f8[::1], f8[::1], f8[::1])')
def evaluate_pieces(begins, origins, coefficients, t, q, v, a):
    """Write the motion at t and return the index of its piece.

    Parameters
    ----------
    begins : ndarray, shape (m,)
        When each piece takes over, increasing. s.
    origins : ndarray, shape (m,)
        Zero of each piece's own time. s.
    coefficients : ndarray, shape (m, 6, n)
        Of the powers of each piece's own time.
    t : float
        When. s.
    q, v, a : ndarray, shape (n,)
        Where the motion goes.
    """
    k = _piece_at(begins, begins.size, t)
    # The first piece may have begun for ever: before its origin it stands there.
    s = max(t - origins[k], 0.0)
    for i in range(q.size):
        q[i] = _position(coefficients, k, i, s)
        v[i] = _velocity(coefficients, k, i, s)
        a[i] = _acceleration(coefficients, k, i, s)
    return k


@kernel('(f8[::1], f8[::1], f8[:,:,::1], f8, f8[::1], f8[::1], f8[::1], f8[::1])')
def find_violation(begins, origins, coefficients, end, lower, upper, velocity, acceleration):
    """Return the first limit that a motion breaks.

    Pieces are looked at in `CHECKS_PER_PIECE` points; comparisons are written so that
    NaN breaks a limit.

    Parameters
    ----------
    begins, origins, coefficients : ndarray
        As for `evaluate_pieces`.
    end : float
        End of the last piece. s.
    lower, upper, velocity, acceleration : ndarray, shape (n,)
        Limits, inf for none.

    Returns
    -------
    kind, joint : int
        Which limit of which joint.
    t, value : float
        When, and what is beyond the limit.
    """
    m = begins.size
    for k in range(m):
        until = begins[k + 1] if k + 1 < m else end
        for j in range(CHECKS_PER_PIECE):
            t = begins[k] + (until - begins[k]) * (j / (CHECKS_PER_PIECE - 1.0))
            s = t - origins[k]
            for i in range(lower.size):
                value = _position(coefficients, k, i, s)
                if not (lower[i] <= value <= upper[i] and math.isfinite(value)):
                    return POSITION, i, t, value
                value = _velocity(coefficients, k, i, s)
                if not abs(value) <= velocity[i]:
                    return VELOCITY, i, t, value
                value = _acceleration(coefficients, k, i, s)
                if not abs(value) <= acceleration[i]:
                    return ACCELERATION, i, t, value
    return NOTHING, -1, 0.0, 0.0


@kernel('(f8[::1], f8[::1], f8[::1], f8[:,::1])')
def solve_tridiagonal(lower, diagonal, upper, right):
    """Solve a diagonally dominant tridiagonal system by elimination, in place.

    Parameters
    ----------
    lower, diagonal, upper : ndarray, shape (m,)
        The rows: lower[k] x[k-1] + diagonal[k] x[k] + upper[k] x[k+1]. The diagonal is
        overwritten.
    right : ndarray, shape (m, n)
        Right sides, and afterwards the solutions.
    """
    m, n = right.shape
    for k in range(1, m):
        factor = lower[k] / diagonal[k - 1]
        diagonal[k] -= factor * upper[k - 1]
        for i in range(n):
            right[k, i] -= factor * right[k - 1, i]
    for i in range(n):
        right[m - 1, i] /= diagonal[m - 1]
    for k in range(m - 2, -1, -1):
        for i in range(n):
            right[k, i] = (right[k, i] - upper[k] * right[k + 1, i]) / diagonal[k]
