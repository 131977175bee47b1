# SPDX-License-Identifier: Apache-2.0
"""``Halt``: a stop that somebody asks for, and what has to happen before the arm moves again."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint, finite_array, positive
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.errors import ControlError, DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: What a joint brakes with where nothing else is said. rad/s^2 or m/s^2.
STOP_ACCELERATION = 10.0


class StopKind(Enum):
    """How joints that stop before the last one use their time; the value is its name."""

    #: Each joint stops as soon as it can.
    EACH_JOINT = 'each_joint'
    #: All stop together, when the slowest can: the least effort, along a straight line in
    #: joint space.
    TOGETHER = 'together'

    @classmethod
    def named(cls, name: str) -> StopKind:
        """Return the kind of a name.

        Raises
        ------
        ControlError
            Where there is none.
        """
        try:
            return cls(name)
        except ValueError:
            raise ControlError(f'is {name!r}', subject='kind of stop', remedy='choose one of: '
                               + ', '.join(kind.value for kind in cls)) from None


def stop_times(v: ArrayLike, bound: ArrayLike) -> FloatArray:
    """Return when each joint can be at rest, shape (n,). s.

    Parameters
    ----------
    v : array_like, shape (n,)
        Velocities. rad/s or m/s.
    bound : array_like, scalar or shape (n,)
        Largest accelerations. rad/s^2 or m/s^2.
    """
    v, bound = _checked(v, bound)
    return np.abs(v) / bound


def stop_acceleration(v: ArrayLike, bound: ArrayLike, kind: StopKind = StopKind.EACH_JOINT
                      ) -> FloatArray:
    """Return the accelerations that stop the joints, shape (n,); zero for one at rest.

    Parameters
    ----------
    v, bound
        As for `stop_times`.
    kind : StopKind
        Each joint at its bound, or all together.
    """
    v, bound = _checked(v, bound)
    if kind is StopKind.EACH_JOINT:
        return -bound * np.sign(v)
    last = np.max(np.abs(v) / bound)
    return -v / last if last > 0.0 else np.zeros_like(v)


def minimum_time_set(v: ArrayLike, bound: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return which constant accelerations stop the whole arm in the least time.

    A joint brakes with the acceleration chosen until it is at rest, and then stays there.

    Parameters
    ----------
    v, bound
        As for `stop_times`.

    Returns
    -------
    lower, upper : ndarray, shape (n,)
        Bounds of each joint's acceleration: equal for the joint that needs longest, and for
        one at rest.
    """
    v, bound = _checked(v, bound)
    ends = np.stack([stop_acceleration(v, bound, kind) for kind in StopKind])
    return ends.min(axis=0), ends.max(axis=0)


def discrete_stop_acceleration(v: ArrayLike, bound: ArrayLike, period: float) -> FloatArray:
    """Return the accelerations of one sampling period that stop the joints, shape (n,).

    Each joint is at its bound, and in its last period brakes by what is left, -v/T, so that
    it does not swing back.

    Parameters
    ----------
    v, bound
        As for `stop_times`.
    period : float
        T, for which the accelerations act. s.
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
    """

    def __init__(self, q: ArrayLike, v: ArrayLike, bound: ArrayLike,
                 kind: StopKind = StopKind.EACH_JOINT):
        self._q = np.array(finite_array('q', q))
        self._v, bound = _checked(v, bound)
        if self._q.shape != self._v.shape:
            raise DimensionError(f'has shape {self._q.shape}, not {self._v.shape}', subject='q',
                                 remedy='give one position for each velocity')
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
        """Where it comes to rest, shape (n,). rad or m."""
        return self._q + 0.5 * self._v * self._times

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        # No joint swings back: its time ends when its velocity does.
        elapsed = np.minimum(max(t, 0.0), self._times)
        moves = elapsed < self._times
        np.multiply(self._u, moves, out=a)
        np.multiply(self._v + self._u * elapsed, moves, out=v)
        np.add(self._q, (self._v + 0.5 * self._u * elapsed) * elapsed, out=q)


def _checked(v: ArrayLike, bound: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return velocities and bounds as arrays of shape (n,)."""
    v = np.array(finite_array('velocities', v))
    if v.ndim != 1 or v.size == 0:
        raise DimensionError(f'have shape {v.shape}', subject='velocities',
                             remedy='give one value a joint')
    bound = each_joint('acceleration bounds', bound, v.size)
    if not np.all(bound > 0.0):
        raise ControlError(f'of joint {int(np.argmin(bound > 0.0))} is not above zero',
                           subject='acceleration bounds',
                           remedy='give what each joint may brake with')
    return v, bound


class StopMotion:
    """Remember that the arm is to stop, and lead it to rest.

    It is asked for at any time and stays so, whatever happens in between, until somebody
    ends it.

    Parameters
    ----------
    n : int
        Number of joints.
    acceleration : array_like, scalar or shape (n,)
        What the joints brake with. rad/s^2 or m/s^2.
    kind : StopKind
        Each joint as soon as it can, or all together.
    lower, upper : array_like, scalar or shape (n,)
        Position limits, at which a joint rests that cannot stop before. rad or m.

    Attributes
    ----------
    is_requested : bool
        Whether the arm is to stop, or to stay so.
    """

    def __init__(self, n: int, acceleration: ArrayLike = STOP_ACCELERATION,
                 kind: StopKind = StopKind.EACH_JOINT, *, lower: ArrayLike = -np.inf,
                 upper: ArrayLike = np.inf):
        self._lower = each_joint('lower limits', lower, n)
        self._upper = each_joint('upper limits', upper, n)
        self._bound = each_joint('stop_acceleration', acceleration, n)
        if not np.all((self._bound > 0.0) & np.isfinite(self._bound)):
            raise ParameterError('holds a value that is not a positive number',
                                 subject='stop_acceleration',
                                 remedy='set it to what the joints may brake with')
        self._kind = kind
        self._motion: FastestStop | None = None
        self._since = 0.0
        self._range = (self._lower, self._upper)
        self.is_requested = False

    @classmethod
    def for_robot(cls, robot: Robot, acceleration: ArrayLike = STOP_ACCELERATION,
                  kind: StopKind = StopKind.EACH_JOINT) -> StopMotion:
        """Return a halt that keeps a robot's position limits."""
        return cls(robot.n, acceleration, kind, lower=robot.limits.lower,
                   upper=robot.limits.upper)

    @property
    def leads(self) -> bool:
        """Whether there is a way to rest that the arm has to follow."""
        return self._motion is not None

    def request(self) -> None:
        """Ask for a stop."""
        self.is_requested = True

    def begin(self, stamp: float, q: FloatArray, v: FloatArray) -> float:
        """Lead the desired motion to rest from where it is at a time; return how long. s."""
        self._motion = FastestStop(q, v, self._bound, self._kind)
        self._since = stamp
        # A sagging arm may hang a little outside; that is no reason to jump.
        self._range = np.fmin(self._lower, q), np.fmax(self._upper, q)
        return self._motion.duration

    def sample_into(self, stamp: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the desired motion at a time."""
        self._motion.sample_into(stamp - self._since, q, v, a)
        lower, upper = self._range
        inside = (q >= lower) & (q <= upper)
        np.clip(q, lower, upper, out=q)
        v *= inside
        a *= inside

    def is_over(self, stamp: float) -> bool:
        """Whether the desired motion is at rest at a time."""
        return self._motion is None or stamp - self._since >= self._motion.duration

    def abandon(self) -> None:
        """Stop leading, as when the arm is somebody else's; what was asked for stays."""
        self._motion = None

    def end(self) -> None:
        """Forget that a stop was asked for."""
        self._motion = None
        self.is_requested = False
