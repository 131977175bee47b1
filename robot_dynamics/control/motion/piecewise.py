# SPDX-License-Identifier: Apache-2.0
"""Piecewise polynomial motions that end at rest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from robot_dynamics.dynamics.kernels.loading import helper, kernel
from robot_dynamics.model.arrays import FloatArray

#: Final velocity below which a trajectory counts as ending at rest. rad/s or m/s.
AT_REST = 1e-4
#: Time for which a motion continues with its last acceleration after its last point, before it
#: stops: the next point of a stream may still arrive. s.
COAST = 0.05
#: Shortest duration of a stop. s.
SHORTEST_STOP = 0.05
#: Peak deceleration of the stop is 3/2 v/T.
STOP_PEAK = 1.5
#: Coefficients of a piece.
ORDER = 6
#: Peak speed and acceleration of a rest-to-rest quintic over distance d in time T:
#: 15/8 d/T and 10/sqrt(3) d/T^2.
QUINTIC_PEAK_SPEED = 15.0 / 8.0
QUINTIC_PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)


class Progress(Enum):
    """State of a motion in one of its pieces; the value is the text to show."""

    RESTING = 'at rest'
    MOVING = 'moving'
    STARVED = 'starved: the trajectory ended in motion'


@dataclass(frozen=True, eq=False)
class PiecewiseMotion:
    """A motion for all times from its start; in the last piece it is at rest.

    Each of m pieces applies from its `begin` on, is a polynomial of the time since its `origin`,
    with coefficients (m, 6, n), and has a stage.
    """

    begins: FloatArray
    origins: FloatArray
    coefficients: FloatArray
    stages: list[Progress]

    def until(self, t: float, now: float) -> PiecewiseMotion:
        """The pieces from now until t."""
        first = max(int(np.searchsorted(self.begins, now, side='right')) - 1, 0)
        last = int(np.searchsorted(self.begins, t, side='left'))
        return self._part(slice(first, last))

    def since(self, t: float) -> PiecewiseMotion:
        """The same motion from t on."""
        first = max(int(np.searchsorted(self.begins, t, side='right')) - 1, 0)
        part = self._part(slice(first, None))
        part.begins[0] = t
        return part

    def followed_by(self, other: PiecewiseMotion) -> PiecewiseMotion:
        """These pieces, followed by others."""
        return PiecewiseMotion(np.concatenate((self.begins, other.begins)),
                               np.concatenate((self.origins, other.origins)),
                               np.concatenate((self.coefficients, other.coefficients)),
                               self.stages + other.stages)

    def _part(self, part: slice) -> PiecewiseMotion:
        return PiecewiseMotion(self.begins[part].copy(), self.origins[part].copy(),
                               self.coefficients[part].copy(), self.stages[part])

    def at(self, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration at a time, new arrays of shape (n,)."""
        q, v, a = np.empty((3, self.coefficients.shape[2]))
        evaluate_pieces.call(self.begins, self.origins, self.coefficients, t, q, v, a)
        return q, v, a


def resting(q: FloatArray) -> PiecewiseMotion:
    """A rest at q, shape (n,), for all times."""
    return PiecewiseMotion(np.array([-np.inf]), np.zeros(1), rest(q)[None], [Progress.RESTING])


def pieces_through(times: FloatArray, q: FloatArray, v: FloatArray | None, a: FloatArray | None,
                   stop_acceleration: float, *, coast: float = COAST,
                   before: tuple[float, FloatArray, FloatArray] | None = None) -> PiecewiseMotion:
    """Motion through m points, with a stop after them if they end in motion.

    Times (m,) in s; positions q (m, n); v and a (m, n), or None. The stop decelerates with
    `stop_acceleration`, rad/s^2 or m/s^2, after `coast`, s. With `coast` 0 it brakes at once,
    without the part of the last acceleration that would speed up a joint. `before` is time,
    position and velocity of a point before the first one, used for the spline of positions without
    velocities.
    """
    if v is None:
        v, a = _derivatives(times, q, before)
    h = np.diff(times)
    if a is not None:
        coefficients = quintic(h, q[:-1], v[:-1], a[:-1], q[1:], v[1:], a[1:])
        a_end = a[-1]
    else:
        coefficients = cubic(h, q[:-1], v[:-1], q[1:], v[1:])
        a_end = evaluate(coefficients[-1], h[-1])[2] if h.size \
            else np.zeros_like(q[-1])
    begins = times[:-1].copy()
    through = PiecewiseMotion(begins, begins.copy(), coefficients, [Progress.MOVING] * h.size)
    return through.followed_by(_ending(float(times[-1]), q[-1], v[-1], a_end, stop_acceleration,
                                       coast))


def _ending(t: float, q: FloatArray, v: FloatArray, a: FloatArray, stop_acceleration: float,
            coast: float) -> PiecewiseMotion:
    """Pieces from a motion at t to rest, and the rest."""
    pieces: list[tuple[float, FloatArray, Progress]] = []
    last_stage = Progress.RESTING
    if np.abs(v).max() > AT_REST:
        last_stage = Progress.STARVED
        if coast > 0.0:
            pieces.append((t, uniform(q, v, a), Progress.MOVING))
            q, v, a = evaluate(pieces[-1][1], coast)
            t += coast
        else:
            a = np.where(a * v < 0.0, a, 0.0)
        duration = max(SHORTEST_STOP, STOP_PEAK * float(np.abs(v).max()) / stop_acceleration)
        pieces.append((t, stop(duration, q, v, a), Progress.STARVED))
        q = evaluate(pieces[-1][1], duration)[0]
        t += duration
    pieces.append((t, rest(q), last_stage))
    begins, coefficients, stages = zip(*pieces, strict=True)
    return PiecewiseMotion(np.array(begins), np.array(begins), np.stack(coefficients),
                           list(stages))


def _derivatives(times: FloatArray, q: FloatArray,
                 before: tuple[float, FloatArray, FloatArray] | None
                 ) -> tuple[FloatArray, FloatArray]:
    """Derivatives at points without velocities, from a spline that ends at rest."""
    knots, values = times, q
    v_start = np.zeros(q.shape[1])
    if before is not None:
        knots = np.concatenate(([before[0]], times))
        values = np.vstack((before[1], q))
        v_start = before[2]
    if knots.size == 1:
        return np.zeros_like(q), np.zeros_like(q)
    v, a = spline_derivatives(knots, values, v_start)
    # The spline would end with an acceleration; the last piece ends with none.
    a[-1] = 0.0
    return v[-q.shape[0]:], a[-q.shape[0]:]


def quintic(duration: FloatArray, q0: FloatArray, v0: FloatArray, a0: FloatArray,
            q1: FloatArray, v1: FloatArray, a1: FloatArray) -> FloatArray:
    """Pieces, shape (m, 6, n), with given position, velocity and acceleration at both ends.

    Durations (m,); q(t) = sum_k c_k t^k, t from the start of the piece.
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
    """Pieces with given position and velocity at both ends; see `quintic`."""
    h = np.asarray(duration, dtype=np.float64)[:, None]
    distance = q1 - q0 - v0 * h
    speed = (v1 - v0) * h
    zero = np.zeros_like(distance)
    return np.stack((q0, v0, (3.0 * distance - speed) / h**2,
                     (speed - 2.0 * distance) / h**3, zero, zero), axis=1)


def stop(duration: float, q0: FloatArray, v0: FloatArray, a0: FloatArray) -> FloatArray:
    """Piece from a motion to rest, shape (6, n); its velocity is a cubic."""
    h = duration
    return np.stack((q0, v0, 0.5 * a0, -(3.0 * v0 + 2.0 * a0 * h) / (3.0 * h**2),
                     (2.0 * v0 + a0 * h) / (4.0 * h**3), np.zeros_like(q0)))


def uniform(q0: FloatArray, v0: FloatArray, a0: FloatArray) -> FloatArray:
    """Piece of constant acceleration, shape (6, n)."""
    coefficients = np.zeros((ORDER, q0.size))
    coefficients[0], coefficients[1], coefficients[2] = q0, v0, 0.5 * a0
    return coefficients


def rest(q: FloatArray) -> FloatArray:
    """Piece at rest, shape (6, n)."""
    return uniform(q, np.zeros_like(q), np.zeros_like(q))


def evaluate(coefficients: FloatArray, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position, velocity and acceleration of one piece, each of shape (n,)."""
    c0, c1, c2, c3, c4, c5 = coefficients
    return (c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5)))),
            c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5))),
            2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5)))


def spline_derivatives(times: FloatArray, q: FloatArray, v_start: FloatArray
                       ) -> tuple[FloatArray, FloatArray]:
    """Velocities and accelerations (m, n) at the points of the clamped cubic spline.

    The spline has continuous acceleration, the given velocity at the first point and zero at the
    last. Source: C. de Boor, A Practical Guide to Splines, Springer 1978, chapter IV.
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
        # Compiled, because it runs in a control loop, and a trajectory may have a thousand points.
        solve_tridiagonal.load()(after.ravel(), 2.0 * (before + after).ravel(), before.ravel(),
                                 right)
        v[1:-1] = right
    a = np.empty_like(q)
    a[:-1] = (6.0 * slope - 4.0 * v[:-1] - 2.0 * v[1:]) / h
    a[-1] = (-6.0 * slope[-1] + 2.0 * v[-2] + 4.0 * v[-1]) / h[-1]
    return v, a


@helper
def _piece_at(begins, count, t):
    """Index of the last piece that has begun at t, 0 before all of them."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if begins[middle] <= t:
            low = middle
        else:
            high = middle
    return low


@kernel('i8(f8[::1], f8[::1], f8[:,:,::1], f8, f8[::1], f8[::1], f8[::1])')
def evaluate_pieces(begins, origins, coefficients, t, q, v, a):
    """Write the motion at t to q, v, a (n,); return the index of its piece."""
    k = _piece_at(begins, begins.size, t)
    # The first piece may begin at -inf: before its origin the motion is at rest.
    s = max(t - origins[k], 0.0)
    for i in range(q.size):
        # Horner's scheme, extended to the derivatives.
        position, velocity, half = 0.0, 0.0, 0.0
        for j in range(ORDER - 1, -1, -1):
            half = velocity + s * half
            velocity = position + s * velocity
            position = coefficients[k, j, i] + s * position
        q[i], v[i], a[i] = position, velocity, 2.0 * half
    return k


@kernel('(f8[::1], f8[::1], f8[::1], f8[:,::1])')
def solve_tridiagonal(lower, diagonal, upper, right):
    """Solve the rows lower[k] x[k-1] + diagonal[k] x[k] + upper[k] x[k+1] = right[k] in place.

    The system must be diagonally dominant; right has shape (m, n). The diagonal is overwritten.
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
