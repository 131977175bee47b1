# SPDX-License-Identifier: Apache-2.0
r"""Gravity compensation for hand guiding: the arm appears weightless.

.. math::

    \tau = g(q) + b + M(q) u + \rho (D v + F \tanh(v / \epsilon))

A share rho of the joint friction is compensated. u contains all other terms as accelerations, so
that a heavy shoulder and a light wrist feel alike:

=====================================  ==================================================
:math:`-d\,v`                          damping, small and adjustable
:math:`-\omega_D(\dot z + \lambda z)`  grip: a joint at rest stays where it is
:math:`-\omega_D(v - v_c)`             brake above the speed v_c allowed
=====================================  ==================================================

*Grip.* Without weight, an arm drifts because of the errors of its model. Each joint therefore has
a friction model with a deflection z as its state. Below 0.7 z_max it is a spring and damper fixed
to the ground, which does not creep under noise. Above, it begins to slip smoothly, and at z_max
its acceleration reaches the breakaway value :math:`\omega_D \lambda z_{max}`. While it sticks, it
equals the feedback that held the pose.

*Handover.* When guiding begins, the effort of that feedback compensates what the model lacks, for
example a payload. It is kept as b and causes no motion.

*Speed.* v_c is v clipped to the allowed speed. That speed decreases to zero at a joint limit,
:math:`\lambda (q_{max} - q)`, and is directed back beyond it. Above twice the allowed speed an
error is raised.

References
----------
P. Dupont, V. Hayward, B. Armstrong and F. Altpeter, "Single state elastoplastic friction models",
IEEE Transactions on Automatic Control 47(5), 2002, eqs. (7)-(13).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from robot_dynamics.control.checks import (
    check_fields,
    exceeds,
    not_negative,
    positive,
    rounded_down,
)
from robot_dynamics.control.feedback.gains import RATE_MARGIN, FeedbackGains, dead_time
from robot_dynamics.control.laws.model_based import ModelController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import helper, kernel
from robot_dynamics.errors import ControlError, ParameterError, StateError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, position_units

#: Share of z_max below which a joint does not slip.
STICKS = 0.7

#: Halvings of z_max in the search for the deflection.
BISECTIONS = 40

#: Ratio to the allowed speed above which an error is raised.
RUNAWAY = 2.0


@dataclass(frozen=True)
class GuidingSettings:
    """Settings of hand guiding.

    Parameters
    ----------
    damping : float
        d: rate at which a released arm slows down. 1/s.
    friction_help : float
        rho: share of the described friction that is compensated, below 1.
    grip : float
        Breakaway acceleration of a joint; 0 for none. rad/s^2 or m/s^2.
    largest_speed : float or sequence of float
        Speed from which a joint is braked. rad/s or m/s.
    largest_handover : float
        Largest effort taken over from holding a pose, as a share of the effort limits.
    coulomb_velocity : float
        epsilon: speed below which the compensation of Coulomb friction fades out. rad/s or m/s.

    Examples
    --------
    >>> GuidingSettings(friction_help=0.5).damping
    1.0
    """

    damping: float = 1.0
    friction_help: float = 0.0
    grip: float = 2.0
    largest_speed: float | Sequence[float] = 1.0
    largest_handover: float = 0.5
    coulomb_velocity: float = 0.05

    def __post_init__(self) -> None:
        check_fields(self, not_negative, damping='1/s', friction_help='', grip='rad/s^2',
                     largest_handover='')
        check_fields(self, positive, coulomb_velocity='rad/s')
        for speed in np.ravel(self.largest_speed):
            positive('largest_speed', speed, 'rad/s')
        if self.friction_help >= 1.0:
            raise ParameterError(f'must be below 1, got {self.friction_help:g}',
                                 subject='friction_help',
                                 remedy='keep some friction, so that the arm stops')


class GuidingController(ModelController):
    """Controller for hand guiding; desired motions are ignored.

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`.

    Parameters
    ----------
    robot, feedback, period, delay, dynamics
        As for `ModelController`.
    settings : GuidingSettings, optional
        Damping, friction compensation, grip and speed.

    Attributes
    ----------
    rest : ndarray, shape (n,)
        Pose at which the grip holds the arm. rad or m.
    offset : ndarray, shape (n,)
        b. N m or N.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('arm7')
    >>> controller, rest = GuidingController(robot), np.zeros(7)
    >>> q = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.6, 0.0])
    >>> controller.reset(q, rest)
    >>> tau = controller.update(q, rest, q, rest, rest, 0.002, adapt=False)
    >>> bool(np.allclose(tau, Dynamics(robot).gravity_torque(q)))
    True
    """

    _user = 'hand guiding'

    def __init__(self, robot: Robot, *, feedback: FeedbackGains | None = None,
                 settings: GuidingSettings | None = None, period: float = 0.002,
                 delay: float = 0.001, dynamics: Dynamics | None = None):
        super().__init__(robot, feedback=feedback, period=period, delay=delay, dynamics=dynamics)
        n = robot.n
        #: Largest d at this period and delay. 1/s.
        self._most_damping = RATE_MARGIN / dead_time(period, delay)
        self.settings = GuidingSettings() if settings is None else settings
        self.check_damping(self.settings.damping)
        speed = np.asarray(self.settings.largest_speed, dtype=np.float64)
        if speed.shape not in ((), (n,)):
            raise ParameterError(f'must have 1 or {n} values, got {speed.size}',
                                 subject='largest_speed', remedy='give one value, or one for '
                                 'each of: ' + ', '.join(robot.joint_names))
        #: Lowest and highest positions, and speeds.
        self._range = np.stack([robot.limits.lower, robot.limits.upper,
                                np.broadcast_to(speed, n)])
        gains = self.feedback.gains
        self._yield = self.settings.grip / (gains.bandwidth * gains.error_rate)
        self._most = self.settings.largest_handover * np.nan_to_num(robot.limits.effort, nan=0.0)
        self._turns = np.array(robot.is_continuous)
        self._guide, self._feel = guide.load(), feel.load()
        self.rest, self.offset, self._u = np.zeros(n), np.zeros(n), np.zeros(n)
        self.tau_feedback = np.zeros(n)
        self._held: FloatArray | None = None

    def check_damping(self, damping: float) -> None:
        """Reject a damping that is unstable at this period and delay with a ParameterError."""
        if exceeds(damping, self._most_damping):
            raise ParameterError(f'is {damping:g} 1/s, too large for this rate and delay',
                                 subject='damping', remedy='set it to '
                                 f'{rounded_down(self._most_damping):g} 1/s or less')

    def adjust(self, *, damping: float | None = None, friction_help: float | None = None) -> None:
        """Change damping and friction compensation from the next update on.

        Raises
        ------
        ParameterError
            If a value is wrong; nothing changes then.
        """
        given = {'damping': damping, 'friction_help': friction_help}
        settings = replace(self.settings, **{name: value for name, value in given.items()
                                             if value is not None})
        self.check_damping(settings.damping)
        self.settings = settings

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Feedback to rest at a pose plus gravity, shape (n,), N m or N."""
        self._held = np.array(q_hold)
        return super().holding_effort(q, v, q_hold)

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Begin guiding at the last held pose, with the effort that held it."""
        self.rest[:] = q
        self.offset[:] = 0.0
        if self._held is None:
            return
        error = self._held - q
        turns = 2.0 * math.pi * np.round(error / (2.0 * math.pi))
        error -= np.where(self._turns, turns, 0.0)
        gains = self.feedback.gains
        mass = self.model.mass_matrix(q)
        effort = gains.bandwidth * gains.error_rate * (mass @ error) \
            + self.feedback.position_gain * error
        np.clip(effort, -self._most, self._most, out=self.offset)
        self._held = None

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort for this state, shape (n,), N m or N; the desired motion is ignored.

        Raises
        ------
        ControlError
            If the arm is too fast; names the joint.
        StateError
            If the state is not finite.
        """
        settings, gains = self.settings, self.feedback.gains
        rest = (dt, self._turns, self._range, gains.bandwidth, gains.error_rate, self._yield,
                settings.damping, self.rest, self._u)
        try:
            bad = self._guide(q, v, *rest)
        except TypeError:  # read-only, strided or of another type: slower, but right
            q, v = np.array(q, dtype=np.float64), np.array(v, dtype=np.float64)
            bad = self._guide(q, v, *rest)
        if bad >= 0:
            self._refuse(q, v, bad)
        mass, self.tau_model = self.model.mass_and_gravity(q)
        self._feel(mass, self._u, self.offset, self.tau_model, self.tau_feedback,
                   self._tau)
        if settings.friction_help > 0.0:
            help_against = settings.friction_help * (
                self.robot.damping * v
                + self.robot.friction * np.tanh(v / settings.coulomb_velocity))
            self.tau_feedback += help_against
            self._tau += help_against
        return self._tau

    def _refuse(self, q: FloatArray, v: FloatArray, joint: int) -> NoReturn:
        """Raise the error of a joint that is too fast or has no finite state."""
        name = self.robot.joint_names[joint]
        if not np.isfinite(q[joint] + v[joint]):
            raise StateError('has a state that is not finite', subject=name,
                             remedy='pass only complete, finite states to a controller')
        unit = position_units(self.robot)[joint]
        raise ControlError(f'moves at {v[joint]:.3g} {unit}/s, more than twice the '
                           f'{self._range[2, joint]:.3g} allowed', subject=name,
                           remedy='guide it more slowly, or raise guiding.largest_speed')


@helper
def slip_of(share):
    """Share of a motion that slips at a deflection, as a share of z_max; 0 to 1."""
    x = min(max((share - STICKS) / (1.0 - STICKS), 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


@helper
def give_way(share, motion):
    """Deflection after a motion, as a share of z_max, and the share of the motion that slips.

    z solves the implicit equation z + slip(z) motion = z_before + motion, so that the result does
    not depend on the step length. With the explicit slip(z_before), a sliding joint would stick at
    short steps, with a jerk.
    """
    low, high = min(share, STICKS), min(share, 1.0)
    if high + slip_of(high) * motion > share:
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if middle + slip_of(middle) * motion > share:
                high = middle
            else:
                low = middle
    return high, slip_of(high)


@kernel('i8(f8[::1], f8[::1], f8, b1[::1], f8[:, ::1], f8, f8, f8, f8, f8[::1], '
                  'f8[::1])', on_demand=True, nogil=True)
def guide(q, v, dt, turns, allowed, bandwidth, error_rate, most, damping, rest, u):
    """Move the rest poses and write the accelerations u; return a bad joint, or -1.

    Rows of `allowed` are the lowest and highest positions and the speeds.
    """
    for i in range(q.size):
        speed = allowed[2, i]
        # Written so that NaN is rejected.
        if not (abs(v[i]) <= RUNAWAY * speed and np.isfinite(q[i])):
            return i
        z = q[i] - rest[i]
        if turns[i]:
            z -= 2.0 * np.pi * np.round(z / (2.0 * np.pi))
        slips = 0.0
        if most == 0.0:
            slips, z = 1.0, 0.0
        elif z * v[i] > 0.0:
            share, slips = give_way(abs(z) / most, abs(v[i]) * dt / most)
            z = math.copysign(share * most, z)
        z = min(max(z, -most), most)
        rest[i] = q[i] - z
        lowest = min(max(error_rate * (allowed[0, i] - q[i]), -speed), speed)
        highest = min(max(error_rate * (allowed[1, i] - q[i]), -speed), speed)
        slow_enough = min(max(v[i], lowest), highest)
        u[i] = -damping * v[i] - bandwidth * ((1.0 - slips) * v[i] + error_rate * z
                                              + (v[i] - slow_enough))
    return -1


@kernel('void(f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1])', on_demand=True)
def feel(mass, u, offset, gravity, feedback, tau):
    """Write M u + b with rotors in M, and its sum with gravity."""
    for i in range(u.size):
        total = offset[i]
        for j in range(u.size):
            total += mass[i, j] * u[j]
        feedback[i] = total
        tau[i] = gravity[i] + total
