# SPDX-License-Identifier: Apache-2.0
"""``JointBounds``: which accelerations keep joints within their acceleration, speed and range."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint
from robot_dynamics.errors import ControlError
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import JointLimits, Robot

#: A speed limit is approached over so many steps, not in one.
_APPROACH = 5.0
#: Share of its acceleration with which a joint counts for stopping before its limit.
_BRAKING = 0.8


class JointBounds:
    r"""Bounds of position, velocity and acceleration, as bounds of acceleration.

    .. math::

        u \le \min\left( A, \; \frac{V - v}{\tau}, \; u_{stop} \right),

    and the like below. After a time tau, some steps long, at u_stop a joint still comes to
    rest at its limit, d away now, by braking with A' < A:

    .. math::

        (v + u \tau)^2 = 2 A' \left( d - v \tau - \tfrac{1}{2} u \tau^2 \right)
        \;\Rightarrow\; u_{stop} = \frac{x / (\tau + \sqrt{\tau^2 + x / A'}) - 2 v}{2 \tau},
        \quad x = 8 d - 4 v \tau,

    where that leaves it moving towards the limit, 2 d > v tau; else it stops there before tau,
    u_stop = -v^2 / (2 d). So from a state in which it can stop before its limit every step
    leads to one in which it can, whatever it does within the bounds.

    Parameters
    ----------
    lower, upper : array_like, shape (n,)
        Position limits, infinite where there is none. rad or m.
    velocity, acceleration : array_like, scalar or shape (n,)
        Largest values. rad/s, rad/s^2 or m/s, m/s^2.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, velocity: ArrayLike,
                 acceleration: ArrayLike):
        lower = real_array(lower, 'lower limits')
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

    @property
    def limits(self) -> JointLimits:
        """Ranges and speeds, as a robot has them; efforts are unknown."""
        return JointLimits(self.lower, self.upper, self.velocity, np.full(self.n, np.nan))

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
        up = self._stopping(self.upper - q, v, tau)
        down = self._stopping(q - self.lower, -v, tau)
        return (np.stack([-self.acceleration, (-self.velocity - v) / tau, -down]),
                np.stack([self.acceleration, (self.velocity - v) / tau, up]))

    def _stopping(self, way: FloatArray, v: FloatArray, tau: float) -> FloatArray:
        """Return the largest accelerations towards a limit that is so far away, u_stop."""
        with np.errstate(divide='ignore', invalid='ignore'):
            x = 8.0 * way - 4.0 * tau * v
            later = (x / (tau + np.sqrt(tau**2 + x / (_BRAKING * self.acceleration)))
                     - 2.0 * v) / (2.0 * tau)
            bound = np.where(x >= 0.0, later, -v**2 / (2.0 * way))
        # Beyond its limit a joint comes to rest, or goes back no slower than it does.
        bound = np.where(way > 0.0, bound, -v / tau)
        return np.where(np.isinf(way), np.inf, bound)
