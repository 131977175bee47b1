# SPDX-License-Identifier: Apache-2.0
"""``Halt``: a stop that somebody asks for, and what has to happen before the arm moves again."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint
from robot_dynamics.control.motion.fastest_stop import FastestStop, StopKind
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: What a joint brakes with where nothing else is said. rad/s^2 or m/s^2.
STOP_ACCELERATION = 10.0


class Halt:
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
    is_asked : bool
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
        self.is_asked = False

    @classmethod
    def for_robot(cls, robot: Robot, acceleration: ArrayLike = STOP_ACCELERATION,
                  kind: StopKind = StopKind.EACH_JOINT) -> Halt:
        """Return a halt that keeps a robot's position limits."""
        return cls(robot.n, acceleration, kind, lower=robot.limits.lower,
                   upper=robot.limits.upper)

    @property
    def leads(self) -> bool:
        """Whether there is a way to rest that the arm has to follow."""
        return self._motion is not None

    def ask(self) -> None:
        """Ask for a stop."""
        self.is_asked = True

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

    def let_go(self) -> None:
        """Stop leading, as when the arm is somebody else's; what was asked for stays."""
        self._motion = None

    def end(self) -> None:
        """Forget that a stop was asked for."""
        self._motion = None
        self.is_asked = False
