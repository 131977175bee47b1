# SPDX-License-Identifier: Apache-2.0
"""Evaluating and checking motions made of polynomial pieces, compiled."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.kernels.loading import helper, kernel, routine

#: What `find_violation` found.
NOTHING, POSITION, VELOCITY, ACCELERATION = range(4)

#: Degree of a piece.
DEGREE = 5
#: Where an extreme is, is found to this many halvings; its value, flat there, to twice as many.
HALVINGS = 30


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


@routine
def taylor(c, k, i, start, rows):
    """Write the coefficients of a joint's piece and its derivatives about a time in it.

    Row d of rows, shape (6, 6), gets those of derivative d; what is beyond its degree stays
    zero.
    """
    for j in range(DEGREE + 1):
        rows[0, j] = c[k, j, i]
    if start != 0.0:
        for first in range(DEGREE):
            for j in range(DEGREE - 1, first - 1, -1):
                rows[0, j] += start * rows[0, j + 1]
    for d in range(1, DEGREE + 1):
        for j in range(DEGREE + 1 - d):
            rows[d, j] = (j + 1.0) * rows[d - 1, j + 1]


@helper
def _value(rows, d, s):
    value = 0.0
    for j in range(DEGREE - d, -1, -1):
        value = rows[d, j] + s * value
    return value


@helper
def _surely_within(rows, d, h, low, high):
    """Whether derivative d is surely within limits from 0 to h.

    g_0 + g_1 x + ... + g_5 x^5 lies, from x = 0 to 1, between the least and the largest of its
    Bernstein coefficients b_i = sum_j binomial(i, j) / binomial(5, j) g_j.
    """
    h2 = h * h
    g0, g1, g2 = rows[d, 0], h * rows[d, 1] / 5.0, h2 * rows[d, 2] / 10.0
    g3, g4, g5 = h2 * h * rows[d, 3] / 10.0, h2 * h2 * rows[d, 4] / 5.0, h2 * h2 * h * rows[d, 5]
    return (low <= g0 <= high
            and low <= g0 + g1 <= high
            and low <= g0 + 2.0 * g1 + g2 <= high
            and low <= g0 + 3.0 * (g1 + g2) + g3 <= high
            and low <= g0 + 4.0 * (g1 + g3) + 6.0 * g2 + g4 <= high
            and low <= g0 + 5.0 * (g1 + g4) + 10.0 * (g2 + g3) + g5 <= high)


@routine
def farthest_outside(rows, d, length, low, high, knots):
    """Return where derivative d is farthest outside low to high, and its value; -1 for nowhere.

    Between two neighbouring extremes of a polynomial there is one root at most, and the
    extremes are the roots of its derivative: so the extremes of derivative d follow from
    those of the derivatives above, of which the fifth is constant.

    Parameters
    ----------
    rows : (6, 6)
        As `taylor` leaves them.
    d : int
        Derivative.
    length, low, high : float
        Until when it is asked for, from 0 on. s. Limits.
    knots : (2, 17)
        For times between which derivatives are monotonic.
    """
    knots[0, 0], knots[0, 1] = 0.0, length
    count, now = 2, 0
    for above in range(DEGREE - 1, d, -1):
        found = 0
        for j in range(count):
            knots[1 - now, found] = knots[now, j]
            found += 1
            if j + 1 < count:
                left, right = knots[now, j], knots[now, j + 1]
                rises = _value(rows, above, left) < 0.0
                if rises != (_value(rows, above, right) < 0.0):
                    for _ in range(HALVINGS):
                        middle = 0.5 * (left + right)
                        if (_value(rows, above, middle) < 0.0) == rises:
                            left = middle
                        else:
                            right = middle
                    knots[1 - now, found] = left
                    found += 1
        count, now = found, 1 - now
    where, what, most = -1.0, 0.0, 0.0
    for j in range(count):
        value = _value(rows, d, knots[now, j])
        excess = max(low - value, value - high)
        if not low <= value <= high and (where < 0.0 or excess > most):
            where, what, most = knots[now, j], value, excess
    return where, what


@kernel('(f8[::1], f8[::1], f8[:,:,::1], f8, f8[::1], f8[::1], f8[::1], f8[::1])')
def find_violation(begins, origins, coefficients, end, lower, upper, velocity, acceleration):
    """Return the first piece that breaks a limit, at any time of it.

    Comparisons are written so that NaN breaks a limit.

    Parameters
    ----------
    begins, origins, coefficients : ndarray
        As for `evaluate_pieces`.
    end : float
        End of the last piece. s.
    lower, upper, velocity, acceleration : ndarray, shape (n,)
        Limits, the largest float for none: infinity is beyond them.

    Returns
    -------
    kind, joint : int
        Which limit of which joint.
    t, value : float
        When the joint is farthest beyond the limit in that piece, and what it is then.
    """
    m, n = begins.size, lower.size
    rows = np.zeros((DEGREE + 1, DEGREE + 1))
    knots = np.empty((2, 2**(DEGREE - 1) + 1))
    for k in range(m):
        start = begins[k] - origins[k]
        length = (begins[k + 1] if k + 1 < m else end) - begins[k]
        for i in range(n):
            taylor(coefficients, k, i, start, rows)
            for d in range(3):
                high = upper[i] if d == 0 else velocity[i] if d == 1 else acceleration[i]
                low = lower[i] if d == 0 else -high
                # Most pieces are far from their limits; where not, extremes are looked for.
                if _surely_within(rows, d, length, low, high):
                    continue
                where, value = farthest_outside(rows, d, length, low, high, knots)
                if where >= 0.0:
                    return POSITION + d, i, begins[k] + where, value
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
