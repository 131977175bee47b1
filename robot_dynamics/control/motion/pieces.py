# SPDX-License-Identifier: Apache-2.0
"""Motions made of polynomial pieces, which end at rest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from robot_dynamics.control.motion import polynomials
from robot_dynamics.model.arrays import FloatArray

#: A trajectory whose last velocity is below this ends at rest. rad/s or m/s.
AT_REST = 1e-4
#: A motion whose points run out goes on with its last acceleration for this long before
#: it stops: the next point of a stream may be about to come. s.
COAST = 0.05
#: Shortest way to a stop. s.
SHORTEST_STOP = 0.05
#: Peak deceleration of the stop is 3/2 v/T.
STOP_PEAK = 1.5


class Stage(Enum):
    """What a piece is for."""

    REST = 'rest'
    MOVE = 'move'
    STARVED = 'starved'


@dataclass(frozen=True, eq=False)
class Pieces:
    """A motion for all times after it begins: its last piece is a rest.

    Parameters
    ----------
    begins : ndarray, shape (m,)
        When each piece takes over, increasing. s.
    origins : ndarray, shape (m,)
        Zero of each piece's own time. s.
    coefficients : ndarray, shape (m, 6, n)
        Of the powers of its own time.
    stages : list of Stage, length m
        What each piece is for.
    """

    begins: FloatArray
    origins: FloatArray
    coefficients: FloatArray
    stages: list[Stage]

    def until(self, t: float, now: float) -> Pieces:
        """Return the pieces that are needed from now until t."""
        first = max(int(np.searchsorted(self.begins, now, side='right')) - 1, 0)
        last = int(np.searchsorted(self.begins, t, side='left'))
        return self._part(slice(first, last))

    def since(self, t: float) -> Pieces:
        """Return the same motion from t on."""
        first = max(int(np.searchsorted(self.begins, t, side='right')) - 1, 0)
        part = self._part(slice(first, None))
        part.begins[0] = t
        return part

    def followed_by(self, other: Pieces) -> Pieces:
        """Return these pieces with others after them."""
        return Pieces(np.concatenate((self.begins, other.begins)),
                      np.concatenate((self.origins, other.origins)),
                      np.concatenate((self.coefficients, other.coefficients)),
                      self.stages + other.stages)

    def _part(self, part: slice) -> Pieces:
        return Pieces(self.begins[part].copy(), self.origins[part].copy(),
                      self.coefficients[part].copy(), self.stages[part])


def resting(q: FloatArray) -> Pieces:
    """Return a rest at q, shape (n,), for ever."""
    return Pieces(np.array([-np.inf]), np.zeros(1), polynomials.rest(q)[None], [Stage.REST])


def pieces_through(times: FloatArray, q: FloatArray, v: FloatArray | None, a: FloatArray | None,
                   stop_acceleration: float, *, coast: float = COAST,
                   before: tuple[float, FloatArray, FloatArray] | None = None) -> Pieces:
    """Return the motion through points, with a stop after them if they end in motion.

    Parameters
    ----------
    times : ndarray, shape (m,)
        When. s.
    q : ndarray, shape (m, n)
        Positions.
    v, a : ndarray, shape (m, n), or None
        Velocities and accelerations where they are given.
    stop_acceleration : float
        Deceleration of the stop. rad/s^2 or m/s^2.
    coast : float
        How long the motion goes on before the stop; 0 to brake at once, without the
        part of the last acceleration that would make a joint faster. s.
    before : (float, ndarray, ndarray), optional
        Time, position and velocity of a point before the first one, which positions
        without velocities are led away from.
    """
    if v is None:
        v, a = _derivatives(times, q, before)
    h = np.diff(times)
    if a is not None:
        coefficients = polynomials.quintic(h, q[:-1], v[:-1], a[:-1], q[1:], v[1:], a[1:])
        a_end = a[-1]
    else:
        coefficients = polynomials.cubic(h, q[:-1], v[:-1], q[1:], v[1:])
        a_end = polynomials.evaluate(coefficients[-1], h[-1])[2] if h.size \
            else np.zeros_like(q[-1])
    begins = times[:-1].copy()
    through = Pieces(begins, begins.copy(), coefficients, [Stage.MOVE] * h.size)
    return through.followed_by(_ending(float(times[-1]), q[-1], v[-1], a_end, stop_acceleration,
                                       coast))


def _ending(t: float, q: FloatArray, v: FloatArray, a: FloatArray, stop_acceleration: float,
            coast: float) -> Pieces:
    """Return the way to rest from a motion at t, and the rest."""
    begins: list[float] = []
    coefficients: list[FloatArray] = []
    stages: list[Stage] = []

    def add(begin: float, piece: FloatArray, stage: Stage) -> None:
        begins.append(begin)
        coefficients.append(piece)
        stages.append(stage)

    last_stage = Stage.REST
    if np.abs(v).max() > AT_REST:
        last_stage = Stage.STARVED
        if coast > 0.0:
            add(t, polynomials.uniform(q, v, a), Stage.MOVE)
            q, v, a = polynomials.evaluate(coefficients[-1], coast)
            t += coast
        else:
            a = np.where(a * v < 0.0, a, 0.0)
        duration = max(SHORTEST_STOP, STOP_PEAK * float(np.abs(v).max()) / stop_acceleration)
        add(t, polynomials.stop(duration, q, v, a), Stage.STARVED)
        q = polynomials.evaluate(coefficients[-1], duration)[0]
        t += duration
    add(t, polynomials.rest(q), last_stage)
    return Pieces(np.array(begins), np.array(begins), np.stack(coefficients), stages)


def _derivatives(times: FloatArray, q: FloatArray,
                 before: tuple[float, FloatArray, FloatArray] | None
                 ) -> tuple[FloatArray, FloatArray]:
    """Return derivatives of positions that come without: a spline that ends at rest."""
    knots, values = times, q
    v_start = np.zeros(q.shape[1])
    if before is not None:
        knots = np.concatenate(([before[0]], times))
        values = np.vstack((before[1], q))
        v_start = before[2]
    if knots.size == 1:
        return np.zeros_like(q), np.zeros_like(q)
    v, a = polynomials.spline_derivatives(knots, values, v_start)
    # The spline would stop with a jerk; the last piece ends without acceleration instead.
    a[-1] = 0.0
    return v[-q.shape[0]:], a[-q.shape[0]:]
