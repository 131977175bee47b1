# SPDX-License-Identifier: Apache-2.0
"""``JointBounds``: which accelerations keep joints within their acceleration, speed and range."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.checks import each_joint
from robot_dynamics.errors import ControlError
from robot_dynamics.model.robot import Robot

FloatArray = NDArray[np.float64]

#: A speed limit is approached over so many steps, not in one.
_APPROACH = 5.0
#: Share of its acceleration that a joint keeps for stopping before its limit.
_BRAKING = 0.8


class JointBounds:
    r"""Bounds of position, velocity and acceleration, as bounds of acceleration.

    .. math::

        u \le \min\left( A, \; \frac{V - v}{\tau}, \;
                         \frac{\sqrt{2 A' (q_{max} - q)} - v}{\tau} \right),

    and the like below: from any velocity that the last term allows, the joint can stop
    before its limit with A'. tau is some steps long.

    Parameters
    ----------
    lower, upper : array_like, shape (n,)
        Position limits, infinite where there is none. rad or m.
    velocity, acceleration : array_like, scalar or shape (n,)
        Largest values. rad/s, rad/s^2 or m/s, m/s^2.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, velocity: ArrayLike,
                 acceleration: ArrayLike):
        lower = np.atleast_1d(np.asarray(lower, dtype=np.float64))
        self.n = lower.size
        self.lower = each_joint('lower limits', lower, self.n)
        self.upper = each_joint('upper limits', upper, self.n)
        self.velocity = each_joint('velocity limits', velocity, self.n)
        self.acceleration = each_joint('acceleration limits', acceleration, self.n)
        for name in ('velocity', 'acceleration'):
            if not np.all(getattr(self, name) > 0.0):
                raise ControlError('hold a value that is not above zero',
                                   subject=f'{name} limits', remedy='give inf where there is none')
        if not np.all(self.lower <= self.upper):
            raise ControlError('are below the lower ones', subject='upper limits',
                               remedy='give the range of each joint')

    @classmethod
    def for_robot(cls, robot: Robot, *, velocity: ArrayLike = np.inf,
                  acceleration: ArrayLike = np.inf) -> JointBounds:
        """Return the limits of a robot, speed and acceleration no higher than given."""
        return cls(robot.limits.lower, robot.limits.upper,
                   np.fmin(velocity, robot.limits.velocity), acceleration)

    def accelerations(self, q: FloatArray, v: FloatArray, step: float
                      ) -> tuple[FloatArray, FloatArray]:
        """Return the least and largest accelerations at a state, shape (n,) each.

        Where the first is above the second, the joint cannot keep its limits any more.
        """
        below, above = self._kinds(q, v, step)
        return np.max(below, axis=0), np.min(above, axis=0)

    def tightest(self, joint: int, q: FloatArray, v: FloatArray, step: float) -> str:
        """Return which limit of a joint bounds it most at a state: a word for messages."""
        below, above = self._kinds(q, v, step)
        kinds = ('acceleration', 'speed', 'range')
        # The more a bound has moved in from that of acceleration alone, the more it matters.
        low, high = below[:, joint], above[:, joint]
        return kinds[int(np.argmax(low))] if np.max(low) - low[0] > high[0] - np.min(high) \
            else kinds[int(np.argmin(high))]

    def _kinds(self, q: FloatArray, v: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
        """Return the bounds from acceleration, speed and range, shape (3, n) each."""
        tau = _APPROACH * step
        braking = 2.0 * _BRAKING * self.acceleration
        up = np.minimum(np.sqrt(braking * np.maximum(self.upper - q, 0.0)), np.inf)
        down = np.minimum(np.sqrt(braking * np.maximum(q - self.lower, 0.0)), np.inf)
        return (np.stack([-self.acceleration, (-self.velocity - v) / tau, (-down - v) / tau]),
                np.stack([self.acceleration, (self.velocity - v) / tau, (up - v) / tau]))
