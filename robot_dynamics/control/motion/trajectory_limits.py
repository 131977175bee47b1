# SPDX-License-Identifier: Apache-2.0
"""Position, speed and acceleration limits of references, checked at every time of a motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint
from robot_dynamics.control.motion.piecewise import PiecewiseMotion
from robot_dynamics.control.motion.trajectory_points import Points
from robot_dynamics.dynamics.kernels.loading import helper, kernel, routine
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot_data import JointLimits

#: Findings of `find_violation`.
NOTHING, POSITION, VELOCITY, ACCELERATION = range(4)
#: Degree of a piece.
DEGREE = 5
#: Number of bisections for the time of an extreme.
HALVINGS = 30

#: Tolerance of limits for rounding: rad or m, and as a fraction of a speed or acceleration.
ROUNDING = 1e-6
#: Share by which a motion may exceed a speed limit between points that keep it. A time
#: parameterisation switches between acceleration and full speed at any time, and its samples do
#: not show when: polynomials through samples 0.1 s apart overshoot by up to 2.6 %.
OVERSHOOT = 0.03
#: Value for no limit: no finite number is beyond it.
NO_LIMIT = np.finfo(np.float64).max


class TrajectoryLimits:
    """Check points and whole motions against position, speed and acceleration limits.

    A joint beyond a position limit, for example pushed onto its stop, may move back but not
    farther away. A speed limit of nan and an acceleration limit of inf (scalar or shape (n,),
    rad/s^2 or m/s^2) mean no limit.
    """

    def __init__(self, joint_names: Sequence[str], limits: JointLimits,
                 acceleration: ArrayLike):
        self._joint_names = tuple(joint_names)
        n = len(self._joint_names)
        lower, upper = (each_joint(f'{name} limits', getattr(limits, name), n)
                        for name in ('lower', 'upper'))
        #: Limits of every point and motion, finite, shape (n,).
        self.lower = np.maximum(lower - ROUNDING, -NO_LIMIT)
        self.upper = np.minimum(upper + ROUNDING, NO_LIMIT)
        self.velocity = np.fmin(limits.velocity * (1.0 + ROUNDING), NO_LIMIT)
        self.acceleration = np.minimum(
            each_joint('acceleration limits', acceleration, n) * (1.0 + ROUNDING), NO_LIMIT)
        self._find_violation = find_violation.load()

    def check_points(self, given: Points, *poses: FloatArray) -> None:
        """Reject points that are beyond a limit with a TrajectoryError that names the joint.

        `poses` are present poses of the arm, measured or desired.
        """
        lower, upper = self._range(poses)
        for field, values, low, high in (
                ('positions', given.q, lower, upper),
                ('velocities', given.v, -self.velocity, self.velocity),
                ('accelerations', given.a, -self.acceleration, self.acceleration)):
            if values is None:
                continue
            # Written so that NaN is outside.
            outside = ~((values >= low) & (values <= high))
            if outside.any():
                k, joint = np.argwhere(outside)[0]
                raise TrajectoryError(f'has points[{k}].{field} {values[k, joint]:.4g} outside '
                                      f'{low[joint]:.4g} to {high[joint]:.4g}',
                                      subject=self._joint_names[joint],
                                      remedy='keep every point inside the limits')

    def check_motion(self, motion: PiecewiseMotion, *poses: FloatArray,
                     overshoot: float = 0.0) -> None:
        """Reject a motion that exceeds a limit at any time; parameters as in `check_points`.

        `overshoot` is the share by which it may exceed speed limits.
        """
        lower, upper = self._range(poses)
        kind, joint, t, value = self._find_violation(
            motion.begins, motion.origins, motion.coefficients, motion.begins[-1], lower, upper,
            np.minimum(self.velocity * (1.0 + overshoot), NO_LIMIT), self.acceleration)
        if kind == NOTHING:
            return
        if kind == POSITION:
            what, limit = 'position', (lower if value < lower[joint] else upper)[joint]
            remedy = ('keep the points, and the stop after the last one, inside the position '
                      'limits')
        elif kind == VELOCITY:
            what, limit = 'speed', self.velocity[joint]
            remedy = 'give the motion more time or a nearer start'
        else:
            what, limit = 'acceleration', self.acceleration[joint]
            remedy = 'give the motion more time, smoother points or a nearer start'
        raise TrajectoryError(f'has {what} {value:.4g} beyond {limit:.4g}, '
                              f'{t - motion.begins[0]:.3f} s after the trajectory takes over',
                              subject=self._joint_names[joint], remedy=remedy)

    def clip(self, q: FloatArray, *poses: FloatArray) -> FloatArray:
        """Pose within the position limits, shape (n,); poses as in `check_points`."""
        return np.clip(q, *self._range(poses))

    def _range(self, poses: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray]:
        """Position limits, widened to the present pose."""
        return (np.minimum.reduce((self.lower, *poses)), np.maximum.reduce((self.upper, *poses)))


@routine
def taylor(c, k, i, start, rows):
    """Write the coefficients of a joint's piece and of its derivatives about a time in it.

    Row d of rows, shape (6, 6), gets those of derivative d; entries beyond its degree stay zero.
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
    """Whether the Bernstein coefficients of derivative d on [0, h] are within the limits.

    For x from 0 to 1, g_0 + g_1 x + ... + g_5 x^5 lies between the least and the largest of its
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
    """Time at which derivative d is farthest outside low to high, or -1, and its value.

    Between two neighbouring extremes a polynomial has at most one root, and its extremes are the
    roots of its derivative. The extremes of derivative d therefore follow recursively from those
    of the higher derivatives, of which the fifth is constant. `rows` is as `taylor` leaves it;
    `length` is the end of the interval, s; `knots`, shape (2, 17), is work space.
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
    """First piece that exceeds a limit at any time: kind, joint, time (s) and value.

    At that time the joint is farthest beyond the limit. Comparisons are written so that NaN
    exceeds a limit. `end` is the end of the last piece, s; limits have shape (n,), the largest
    float for none.
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
                # Most pieces are far from their limits; only the others need their extremes.
                if _surely_within(rows, d, length, low, high):
                    continue
                where, value = farthest_outside(rows, d, length, low, high, knots)
                if where >= 0.0:
                    return POSITION + d, i, begins[k] + where, value
    return NOTHING, -1, 0.0, 0.0
