# SPDX-License-Identifier: Apache-2.0
r"""A desired pose that follows goals, given as poses or twists at any rate, within limits.

.. math::

    \dot w = k_2 (w_g - w), \qquad w_g = \min(k_1 |r|, \, w_{max}) \, r / |r|, \qquad k_2 = 4 k_1

r is the way to the goal: a displacement, and a rotation vector about the axes of the base. It
shrinks without overshoot, at the rate 2 k_1, and speed and acceleration are cut to their limits. A
goal is a pose, or the twist w_g itself. It is valid for some time: without a new one the desired
pose comes to rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.checks import check_fields, positive
from robot_dynamics.dynamics.kernels.loading import helper, kernel
from robot_dynamics.errors import ControlError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.rotation import (
    inverse,
    product,
    quaternion_of_rotation,
    quaternion_of_turn,
    turn_of_quaternion,
)

#: k_1: speed towards a pose over the distance to it. 1/s.
APPROACH_RATE = 10.0
#: Largest deviation of the length of a quaternion from 1.
QUATERNION_TOLERANCE = 0.01
#: Kinds of goals.
NOTHING, POSE, TWIST = range(3)


@dataclass(frozen=True)
class SetpointLimits:
    """Limits of the motion of a desired pose.

    Parameters
    ----------
    speed, turn_rate : float
        Largest speed of the origin, and largest angular velocity. m/s, rad/s.
    acceleration, turn_acceleration : float
        Largest acceleration of the origin, and largest angular one. m/s^2, rad/s^2.
    timeout : float
        Time for which a goal is valid. s.

    Examples
    --------
    >>> SetpointLimits(speed=0.1).timeout
    0.5
    """

    speed: float = 0.25
    turn_rate: float = 1.0
    acceleration: float = 1.0
    turn_acceleration: float = 4.0
    timeout: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self, positive, speed='m/s', turn_rate='rad/s', acceleration='m/s^2',
                     turn_acceleration='rad/s^2', timeout='s')


class PoseSetpoint:
    """A desired pose, its twist and its acceleration.

    Parameters
    ----------
    limits : SetpointLimits
        Limits of its motion.

    Attributes
    ----------
    position : ndarray, shape (3,)
        Origin, base axes. m.
    quaternion : ndarray, shape (4,)
        Orientation, x y z w, from the axes of the link to those of the base.
    twist, acceleration : ndarray, shape (6,)
        Velocity of the origin and angular velocity, base axes, and their derivative. m/s, rad/s.
    age : float
        Time since the last goal; inf where there was none or it is no longer valid. s.

    Examples
    --------
    >>> import numpy as np
    >>> setpoint = PoseSetpoint(SetpointLimits(speed=0.1))
    >>> setpoint.begin(np.eye(4))
    >>> setpoint.follow_pose(np.array([0.5, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    >>> for _ in range(200):
    ...     setpoint.advance(0.002)
    >>> setpoint.twist[:3].round(3)
    array([0.1, 0. , 0. ])
    """

    def __init__(self, limits: SetpointLimits):
        self.limits = limits
        self.position, self.quaternion = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
        self.twist, self.acceleration = np.zeros(6), np.zeros(6)
        self.age = np.inf
        #: What the goal is: position and quaternion, or a twist.
        self._kind, self._goal = NOTHING, np.zeros(7)
        self._limits = np.array([[limits.speed, limits.acceleration],
                                 [limits.turn_rate, limits.turn_acceleration]])
        self._move = move.load()

    def begin(self, pose: FloatArray) -> None:
        """Rest at a pose, shape (4, 4), without a goal."""
        self.position[:] = pose[:3, 3]
        self.quaternion[:] = quaternion_of_rotation(pose[:3, :3])
        self.twist[:] = self.acceleration[:] = 0.0
        self._forget_goal()

    def follow_pose(self, position: FloatArray, quaternion: FloatArray) -> None:
        """Move towards a pose: position, m, and quaternion x y z w.

        Raises a ControlError where a number is not finite, or the quaternion has no unit length.
        """
        _require_finite('pose', position, quaternion)
        length = float(np.linalg.norm(quaternion))
        if abs(length - 1.0) > QUATERNION_TOLERANCE:
            raise ControlError(f'must have a quaternion of length 1, got {length:.3g}',
                               subject='pose', remedy='give x, y, z and w of a rotation; 0, 0, 0 '
                               'and 1 for the axes of the base')
        self._goal[:3], self._goal[3:] = position, quaternion / length
        self._kind, self.age = POSE, 0.0

    def follow_twist(self, twist: FloatArray) -> None:
        """Move at a twist, shape (6,), m/s and rad/s in base axes, cut to the limits.

        Raises a ControlError where a number is not finite.
        """
        _require_finite('twist', twist)
        self._goal[:6], self._kind, self.age = twist, TWIST, 0.0

    def advance(self, dt: float) -> None:
        """Move for a time, s."""
        self.age += dt
        if self.age > self.limits.timeout:
            self._forget_goal()
        self._move(dt, self._kind, self._goal, self._limits, self.position, self.quaternion,
                   self.twist, self.acceleration)

    def yield_to(self, pose: FloatArray, distance: float, angle: float) -> None:
        """Keep a share of the distance and one of the angle from a measured pose, (4, 4).

        The motion that has led too far ends.
        """
        if distance < 1.0:
            self.twist[:3] = 0.0
        if angle < 1.0:
            self.twist[3:] = 0.0
        here = pose[:3, 3]
        self.position[:] = here + distance * (self.position - here)
        turned = quaternion_of_rotation(pose[:3, :3])
        turn = turn_of_quaternion(product(self.quaternion, inverse(turned)))
        self.quaternion[:] = product(quaternion_of_turn(angle * turn), turned)

    def _forget_goal(self) -> None:
        self._kind, self.age = NOTHING, np.inf


@helper
def turned_by(a, b):
    """Quaternion x y z w of R(a) R(b)."""
    return (a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - a[2] * b[1],
            a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - a[0] * b[2],
            a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - a[1] * b[0],
            a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2])


@helper
def turn_between(goal, quaternion):
    """Rotation vector from an orientation to another, at most pi long."""
    x, y, z, w = turned_by(goal, (-quaternion[0], -quaternion[1], -quaternion[2], quaternion[3]))
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 if sine < 1e-9 else 2.0 * math.atan2(sine, abs(w)) / sine
    factor = math.copysign(factor, w)
    return factor * x, factor * y, factor * z


@helper
def length_of(x):
    """Length of a vector of three."""
    return math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


@kernel('void(f8, i8, f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1])', on_demand=True)
def move(dt, kind, goal, limits, position, quaternion, twist, acceleration):
    """Move a desired pose towards its goal; rows of `limits` are of displacement and rotation."""
    wanted = np.zeros(6)
    if kind == TWIST:
        wanted[:] = goal[:6]
    elif kind == POSE:
        turn = turn_between(goal[3:], quaternion)
        for i in range(3):
            wanted[i], wanted[3 + i] = goal[i] - position[i], turn[i]
    rate = min(4.0 * APPROACH_RATE, 1.0 / dt) if dt > 0.0 else 0.0
    for part in range(2):
        first, last = 3 * part, 3 * part + 3
        x, w, a = wanted[first:last], twist[first:last], acceleration[first:last]
        speed, most = limits[part, 0], limits[part, 1]
        far = length_of(x)
        if kind == POSE:
            # Fast where it is far, but not faster than it can brake.
            speed = min(speed, APPROACH_RATE * far, math.sqrt(most * far))
        share = speed / far if far > speed or (kind == POSE and far > 0.0) else 1.0
        for i in range(3):
            a[i] = rate * (share * x[i] - w[i])
        share = min(1.0, most / max(length_of(a), 1e-300))
        for i in range(3):
            a[i] *= share
    half = np.empty(3)
    for i in range(3):
        position[i] += dt * (twist[i] + 0.5 * dt * acceleration[i])
        half[i] = 0.5 * dt * (twist[3 + i] + 0.5 * dt * acceleration[3 + i])
    angle = length_of(half)
    factor = math.sin(angle) / angle if angle > 1e-9 else 1.0
    after = turned_by((factor * half[0], factor * half[1], factor * half[2], math.cos(angle)),
                      quaternion)
    scale = 1.0 / math.sqrt(after[0]**2 + after[1]**2 + after[2]**2 + after[3]**2)
    for i in range(4):
        quaternion[i] = scale * after[i]
    for i in range(6):
        twist[i] += dt * acceleration[i]


def _require_finite(subject: str, *vectors: FloatArray) -> None:
    if not all(np.isfinite(vector).all() for vector in vectors):
        raise ControlError('contains NaN or inf', subject=subject,
                           remedy='give finite numbers in SI units')
