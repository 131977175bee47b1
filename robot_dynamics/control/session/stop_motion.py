# SPDX-License-Identifier: Apache-2.0
r"""Requested stops: the fastest motion to rest, and when the arm may move again.

.. math:: u_i = -U_i \, \mathrm{sign}(v_i), \qquad t_i = |v_i| / U_i, \quad T = \max_i t_i

is the only command that stops every joint as soon as it can. The arm as a whole stops no later
where the faster joints brake less: `minimum_time_set`.

References
----------
A. De Luca, Robotics 2, July 12, 2021, Exercise 1b, eq. 6.
"""

from __future__ import annotations

from enum import Enum
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint, finite_array, positive
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.errors import ControlError, DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Default acceleration with which a joint brakes. rad/s^2 or m/s^2.
STOP_ACCELERATION = 10.0


class StopKind(Enum):
    """How joints that stop before the last one use their time; the value is its name."""

    #: Each joint stops as soon as it can.
    EACH_JOINT = 'each_joint'
    #: All stop together, when the slowest can: the least effort, along a straight line in
    #: joint space.
    TOGETHER = 'together'


def stop_times(v: ArrayLike, bound: ArrayLike) -> FloatArray:
    """Least time in which each joint comes to rest, shape (n,), s."""
    v, bound = _checked(v, bound)
    return np.abs(v) / bound


def stop_acceleration(v: ArrayLike, bound: ArrayLike, kind: StopKind = StopKind.EACH_JOINT
                      ) -> FloatArray:
    """Accelerations that stop the joints, shape (n,), rad/s^2 or m/s^2; zero for one at rest."""
    v, bound = _checked(v, bound)
    if kind is StopKind.EACH_JOINT:
        return -bound * np.sign(v)
    last = np.max(np.abs(v) / bound)
    return -v / last if last > 0.0 else np.zeros_like(v)


def minimum_time_set(v: ArrayLike, bound: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of the constant accelerations that stop the arm in the least time.

    A joint brakes with the chosen acceleration until it is at rest. The bounds are equal for the
    joint that needs longest, and for one at rest.
    """
    v, bound = _checked(v, bound)
    ends = np.stack([stop_acceleration(v, bound, kind) for kind in StopKind])
    return ends.min(axis=0), ends.max(axis=0)


def discrete_stop_acceleration(v: ArrayLike, bound: ArrayLike, period: float) -> FloatArray:
    """Accelerations of one sampling period, s, that stop the joints, shape (n,), rad/s^2 or m/s^2.

    Each joint is at its bound. In its last period it brakes by the remaining -v/T, so that it does
    not swing back.
    """
    period = positive('period', period, 's')
    v, bound = _checked(v, bound)
    return -np.clip(v / period, -bound, bound)


class FastestStop(Reference):
    """From a state in motion to rest, each joint at its bound.

    Parameters
    ----------
    q, v : array_like, shape (n,)
        State at time 0. rad, rad/s or m, m/s.
    bound : array_like, scalar or shape (n,)
        Largest accelerations. rad/s^2 or m/s^2.
    kind : StopKind
        Each joint at its bound, or all together.

    Examples
    --------
    >>> stop = FastestStop([0.0, 0.0], [1.0, -2.0], bound=4.0)
    >>> stop.duration, stop.end
    (0.5, array([ 0.125, -0.5  ]))
    """

    def __init__(self, q: ArrayLike, v: ArrayLike, bound: ArrayLike,
                 kind: StopKind = StopKind.EACH_JOINT):
        self._q = np.array(finite_array('q', q))
        self._v, bound = _checked(v, bound)
        if self._q.shape != self._v.shape:
            raise DimensionError(f'must have shape {self._v.shape}, got {self._q.shape}',
                                 subject='q', remedy='give one position for each velocity')
        self.n = self._q.size
        with np.errstate(over='ignore'):
            times = np.abs(self._v) / bound
            self.duration = float(np.max(times))
            is_finite = np.isfinite(self._v * self.duration).all()
        if not is_finite:
            raise ControlError('never ends', subject='stop',
                               remedy='give velocities and bounds in SI units')
        self._times = times if kind is StopKind.EACH_JOINT \
            else np.where(self._v != 0.0, self.duration, 0.0)
        self._u = np.divide(-self._v, self._times, out=np.zeros(self.n), where=self._times > 0.0)

    @property
    def end(self) -> FloatArray:
        """Pose at rest, shape (n,), rad or m."""
        return self._q + 0.5 * self._v * self._times

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        # The time of each joint ends when its velocity is zero.
        elapsed = np.minimum(max(t, 0.0), self._times)
        moves = elapsed < self._times
        np.multiply(self._u, moves, out=a)
        np.multiply(self._v + self._u * elapsed, moves, out=v)
        np.add(self._q, (self._v + 0.5 * self._u * elapsed) * elapsed, out=q)


def _checked(v: ArrayLike, bound: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Velocities and bounds as arrays of shape (n,)."""
    v = np.array(finite_array('velocities', v))
    if v.ndim != 1 or v.size == 0:
        raise DimensionError(f'must have shape (n,), got {v.shape}', subject='velocities',
                             remedy='give one value per joint')
    bound = each_joint('acceleration bounds', bound, v.size)
    if not np.all(bound > 0.0):
        joint = int(np.argmin(bound > 0.0))
        raise ControlError(f'must be above zero, got {bound[joint]:g} for joint {joint}',
                           subject='acceleration bounds',
                           remedy='give the largest acceleration of each joint')
    return v, bound


class StopMotion:
    """A requested stop, and the motion that leads the arm to rest.

    A request lasts, whatever happens in between, until `end`.

    Parameters
    ----------
    n : int
        Number of joints.
    acceleration : array_like, scalar or shape (n,)
        Acceleration with which the joints brake. rad/s^2 or m/s^2.
    kind : StopKind
        Each joint as soon as it can, or all together.
    lower, upper : array_like, scalar or shape (n,)
        Position limits, at which a joint rests that cannot stop before. rad or m.

    Attributes
    ----------
    acceleration : ndarray, shape (n,)
        Acceleration with which the joints brake. rad/s^2 or m/s^2.
    is_requested : bool
        Whether the arm is to stop, or to stay stopped.

    Examples
    --------
    >>> import numpy as np
    >>> stop = StopMotion(2, acceleration=4.0)
    >>> stop.begin(10.0, np.zeros(2), np.array([1.0, -2.0]))
    0.5
    >>> stop.is_over(10.4), stop.is_over(10.5)
    (False, True)
    """

    def __init__(self, n: int, acceleration: ArrayLike = STOP_ACCELERATION,
                 kind: StopKind = StopKind.EACH_JOINT, *, lower: ArrayLike = -np.inf,
                 upper: ArrayLike = np.inf):
        self._lower = each_joint('lower limits', lower, n)
        self._upper = each_joint('upper limits', upper, n)
        self.acceleration = each_joint('stop_acceleration', acceleration, n)
        if not np.all((self.acceleration > 0.0) & np.isfinite(self.acceleration)):
            raise ParameterError('must hold positive numbers, got '
                                 + ', '.join(f'{bound:g}' for bound in self.acceleration),
                                 subject='stop_acceleration',
                                 remedy='set it to the largest braking acceleration of each '
                                        'joint')
        #: Whether joints come to rest together.
        self.kind = kind
        self._motion: FastestStop | None = None
        self._since = 0.0
        self._range = (self._lower, self._upper)
        self.is_requested = False

    @classmethod
    def for_robot(cls, robot: Robot, acceleration: ArrayLike = STOP_ACCELERATION,
                  kind: StopKind = StopKind.EACH_JOINT) -> StopMotion:
        """Stop motion within the position limits of a robot."""
        return cls(robot.n, acceleration, kind, lower=robot.limits.lower,
                   upper=robot.limits.upper)

    def request(self) -> None:
        """Request a stop."""
        self.is_requested = True

    def begin(self, stamp: float, q: FloatArray, v: FloatArray) -> float:
        """Lead the desired motion to rest from its state at a time; return the duration, s."""
        self._motion = FastestStop(q, v, self.acceleration, self.kind)
        self._since = stamp
        # An arm that sags a little beyond a limit must not jump.
        self._range = np.fmin(self._lower, q), np.fmax(self._upper, q)
        return self._motion.duration

    def sample_into(self, stamp: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the desired motion at a time."""
        cast(FastestStop, self._motion).sample_into(stamp - self._since, q, v, a)
        lower, upper = self._range
        inside = (q >= lower) & (q <= upper)
        np.clip(q, lower, upper, out=q)
        v *= inside
        a *= inside

    def is_over(self, stamp: float) -> bool:
        """Whether the desired motion is at rest at a time."""
        return self._motion is None or stamp - self._since >= self._motion.duration

    def abandon(self) -> None:
        """Drop the motion, as where another controller takes the arm; the request stays."""
        self._motion = None

    def end(self) -> None:
        """End the requested stop."""
        self._motion = None
        self.is_requested = False
