# SPDX-License-Identifier: Apache-2.0
"""Limits of the efforts sent to an arm and of its speed.

Every command passes `CommandGate`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import count, positive
from robot_dynamics.control.session.modes import Command
from robot_dynamics.control.session.safe_command import SafeCommand, SafeMotion
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ControlError, DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot

#: Time in which an effort may change by its limit while control changes hands, where no rate limit
#: is given; twice that time is enough for every change. s.
RAMP_TIME = 0.02


@kernel('i8(f8[::1], f8[::1], f8[::1], f8[::1], f8, b1, f8[::1], b1[::1])')
def cut_efforts(tau, limit, hardware, rate, dt, together, effort, saturated):
    """Cut efforts to their limits and rates; return how many were cut, -1 for NaN or inf.

    Neither an effort nor its sum with the effort that the hardware adds is beyond the limit. Where
    the latter alone is, the effort is zero or against it. Changes are cut in proportion where
    `together`. Nothing is written unless all efforts are finite.
    """
    n = tau.size
    for i in range(n):
        if not math.isfinite(tau[i]):
            return -1
    share = 1.0
    if together:
        for i in range(n):
            change = abs(min(max(tau[i], -limit[i]), limit[i]) - effort[i])
            if change > rate[i] * dt:
                share = min(share, rate[i] * dt / change)
    count = 0
    for i in range(n):
        low = min(0.0, -limit[i] - min(hardware[i], 0.0))
        high = max(0.0, limit[i] - max(hardware[i], 0.0))
        wanted = tau[i]
        if share < 1.0:
            wanted = effort[i] + share * (min(max(wanted, -limit[i]), limit[i]) - effort[i])
        if math.isfinite(rate[i]) and math.isfinite(dt):
            wanted = min(max(wanted, effort[i] - rate[i] * dt), effort[i] + rate[i] * dt)
        effort[i] = min(max(wanted, low), high)
        saturated[i] = effort[i] != tau[i]
        count += saturated[i]
    return count


@kernel('b1(f8[::1], f8[::1])')
def all_within(values, limit):
    """Whether no value is beyond its limit, either sign; false for NaN."""
    for i in range(values.size):
        if not abs(values[i]) <= limit[i]:
            return False
    return True


class EffortLimiter:
    """Clamp efforts to the limits of the joints and reject NaN and inf.

    Parameters
    ----------
    joint_names : sequence of str, length n
        The joints, for messages.
    effort_limit : array_like, shape (n,)
        Largest absolute effort. N m or N.
    rate_limit : array_like, shape (n,), optional
        Largest absolute change of effort; unlimited by default, and where it is inf. N m/s or N/s.
    ramp_limit : array_like, shape (n,), optional
        The same for the time after `begin_ramp`. N m/s or N/s.
    hard_limit : array_like, shape (n,), optional
        Limits of the robot itself, nan for none: no limit may be above them.

    Raises
    ------
    ParameterError
        Where a limit is missing, not finite, not positive or above the robot's own.

    Examples
    --------
    >>> import numpy as np
    >>> limiter = EffortLimiter(['shoulder', 'elbow'], [10.0, 5.0])
    >>> limiter.apply(np.array([20.0, -1.0]), 0.002)
    array([10., -1.])
    >>> limiter.saturated
    array([ True, False])
    """

    def __init__(self, joint_names: Sequence[str], effort_limit: ArrayLike, *,
                 rate_limit: ArrayLike | None = None, ramp_limit: ArrayLike | None = None,
                 hard_limit: ArrayLike | None = None):
        self.joint_names = tuple(joint_names)
        n = len(self.joint_names)
        self._limit = self._limits('effort_limit', effort_limit)
        #: Largest changes, always and after `begin_ramp`, shape (n,). N m/s or N/s.
        self.rate = np.full(n, np.inf) if rate_limit is None else self._rates(rate_limit)
        self.ramp = self.rate if ramp_limit is None \
            else np.minimum(self.rate, self._rates(ramp_limit))
        self._ramp_left, self._longest_step = 0.0, math.inf
        #: Largest efforts that may act before a command, shape (n,). N m or N.
        self.possible = self._limit
        if hard_limit is not None:
            own = self._of_joints('limits of the robot', hard_limit)
            self._check_below(own)
            self.possible = np.where(np.isnan(own), self._limit, own)
        #: Effort that the hardware adds by itself, shape (n,), finite; overwritten in place
        #: by its owner before `apply`. N m or N.
        self.hardware_gravity = np.zeros(n)
        #: The last effort, shape (n,). Overwritten in place. N m or N.
        self.effort = np.zeros(n)
        #: Whether it was cut at each joint, shape (n,), and at any.
        self.saturated = np.zeros(n, dtype=np.bool_)
        self.any_saturated = False
        self._has_last = False
        self._cut, self._within = cut_efforts.load(), all_within.load()

    @classmethod
    def for_robot(cls, robot: Robot, effort_limit: ArrayLike | None = None, *,
                  rate_limit: ArrayLike | None = None) -> EffortLimiter:
        """Limiter at or below the limits of a robot.

        Parameters
        ----------
        robot : Robot
            The robot.
        effort_limit : array_like, shape (n,), optional
            Limits, nan for the robot's own. N m or N.
        rate_limit : array_like, shape (n,), optional
            As for the class; by default efforts are limited while control changes hands, when a
            change by the whole limit takes `RAMP_TIME`.
        """
        own = robot.limits.effort
        chosen = own if effort_limit is None else real_array(effort_limit, 'effort_limit')
        if chosen.shape == own.shape:
            chosen = np.where(np.isnan(chosen), own, chosen)
        return cls(robot.joint_names, chosen, rate_limit=rate_limit, hard_limit=own,
                   ramp_limit=chosen / RAMP_TIME if rate_limit is None else None)

    @property
    def limit(self) -> FloatArray:
        """Largest absolute efforts, shape (n,), a copy. N m or N."""
        return self._limit.copy()

    def forget(self) -> None:
        """Let the next effort start anywhere within the limits, without a rate limit."""
        self._has_last = False

    def begin_at(self, effort: FloatArray) -> None:
        """Count the rate limit from an effort; ignored where it is beyond those of the robot."""
        if effort.shape == self.effort.shape and self._within(effort, self.possible):
            np.clip(effort, -self._limit, self._limit, out=self.effort)
            self._has_last = True
            self.begin_ramp()

    def begin_ramp(self, longest_step: float = math.inf) -> None:
        """Go on from the last effort, if there is one, within the limit of a ramp.

        It ends when any change may be complete. With a limit of its own, all efforts change in
        proportion: if only some were delayed, the joints coupled with them would be thrown. A
        longer time between two efforts counts as `longest_step`, s.
        """
        self._ramp_left = 2.0 * RAMP_TIME if self._has_last else 0.0
        self._longest_step = longest_step

    def end_ramp(self) -> None:
        """End a ramp at once."""
        self._ramp_left = 0.0

    def apply(self, tau: FloatArray, dt: float) -> FloatArray:
        """Efforts within the limits, shape (n,).

        Parameters
        ----------
        tau : ndarray, shape (n,)
            Wanted efforts. N m or N.
        dt : float
            Time since the last call, for the rate limit. s.

        Returns
        -------
        effort : ndarray, shape (n,)
            `effort`, valid until the next call.

        Raises
        ------
        ControlError
            Where an effort is not finite; `effort` stays as it was.
        """
        if tau.shape != self.effort.shape:
            raise DimensionError(f'must have shape {self.effort.shape}, got {tau.shape}',
                                 subject='effort command',
                                 remedy='give one effort for each of: '
                                        + ', '.join(self.joint_names))
        # The first effort has no rate. Negative time and NaN allow no change.
        since = math.inf if not self._has_last else dt if dt > 0.0 else 0.0
        is_ramp = self._ramp_left > 1e-9
        if is_ramp:
            since = min(since, self._longest_step)
            self._ramp_left -= since
        count = self._cut(tau, self._limit, self.hardware_gravity,
                          self.ramp if is_ramp else self.rate, since,
                          is_ramp and self.ramp is not self.rate, self.effort, self.saturated)
        if count < 0:
            joint = self.joint_names[int(np.argmin(np.isfinite(tau)))]
            raise ControlError('needs an effort that is not finite', subject=joint,
                               remedy='the command was withheld; check the gains and the '
                                      'model of this joint')
        self._has_last = True
        self.any_saturated = count > 0
        return self.effort

    def permits(self, effort: FloatArray) -> bool:
        """Whether every effort is finite and within the limits."""
        return self._within(effort, self._limit)

    def _limits(self, parameter: str, values: ArrayLike) -> FloatArray:
        """Limits as a new array; raises for the joints where one is missing."""
        array = self._of_joints(parameter, values)
        bad = [name for name, value in zip(self.joint_names, array, strict=True)
               if not (value > 0.0 and math.isfinite(value))]
        if bad:
            raise ParameterError('must have a finite effort limit above zero',
                                 subject=', '.join(bad),
                                 remedy=f'set {parameter} to one value for each of: '
                                        + ', '.join(self.joint_names) + ' (in this order), or '
                                        'write <limit effort="..."> into the URDF')
        return array

    def _rates(self, values: ArrayLike) -> FloatArray:
        """Rate limits as a new array; raises where one is not above zero."""
        rates = self._of_joints('effort_rate_limit', values)
        for name, rate in zip(self.joint_names, rates, strict=True):
            if not rate > 0.0:
                raise ParameterError(f'must be above zero, got {rate:g}',
                                     subject=f'effort_rate_limit.{name}',
                                     remedy='give it in N m/s or N/s, or inf for no limit')
        return rates

    def _of_joints(self, parameter: str, values: ArrayLike) -> FloatArray:
        """One number per joint, as a new array."""
        array = np.array(real_array(values, parameter))
        if array.shape != (len(self.joint_names),):
            raise DimensionError(f'must have shape ({len(self.joint_names)},), got {array.shape}',
                                 subject=parameter, remedy='give one value for each of: '
                                 + ', '.join(self.joint_names))
        return array

    def _check_below(self, hard_limit: FloatArray) -> None:
        """Reject limits above the robot's own."""
        for name, limit, own in zip(self.joint_names, self._limit, hard_limit, strict=True):
            if limit > own:
                raise ParameterError(f'must not be above the limit {own:g} of the robot, got '
                                     f'{limit:g}',
                                     subject=f'effort_limit.{name}',
                                     remedy=f'set it to {own:g} or less, or correct the effort '
                                            'limit in the robot description')


class SpeedGuard:
    """Detect an arm faster than `margin` times its speed limits in some consecutive states.

    References keep within the speed limits, and a tracking arm overshoots a little. A speed far
    beyond that comes from a feedback with too much delay, too low a rate, or wrong positions: it
    drives the arm to and fro with its full effort. A single fast state may be a wrong measurement.
    """

    def __init__(self, joint_names: Sequence[str], velocity_limit: ArrayLike, *,
                 units: Sequence[str], margin: float = 1.5, states: int = 3):
        limit = real_array(velocity_limit, 'velocity_limit')
        self._names, self._units = tuple(joint_names), tuple(units)
        self._largest = positive('margin', margin) * np.where(np.isnan(limit), np.inf, limit)
        self._states = count('states', states)
        self._speed = np.zeros(limit.size)
        self._in_row = 0
        self._within = all_within.load()

    def is_fast(self, v: FloatArray) -> bool:
        """Whether the arm is too fast; to be called once a state, with v of shape (n,)."""
        if self._within(v, self._largest):
            self._in_row = 0
            return False
        np.abs(v, out=self._speed)
        self._in_row += 1
        return self._in_row >= self._states

    @property
    def detail(self) -> str:
        """The joint farthest beyond its limit in the last state that was too fast, in words."""
        joint = int(np.argmax(self._speed / self._largest))
        return (f'{self._names[joint]} at {self._speed[joint]:.3g} {self._units[joint]}/s, '
                f'{self._largest[joint]:.3g} at most')


class CommandGate:
    """Turn efforts into commands: finite and within limits, or replaced by the safe effort."""

    def __init__(self, limiter: EffortLimiter, safe: SafeCommand):
        self._limiter = limiter
        self._safe = safe
        self._command = Command(len(limiter.joint_names))
        self._fallback: FloatArray | None = None
        #: Commands made since the start; whether any since the arm was last released.
        self.commands = 0
        self.has_sent = False
        #: Why the safe effort could not be computed, empty where it could.
        self.safe_error = ''

    def prepare(self, q: FloatArray) -> None:
        """Check, before anything is sent, that the arm can be held at a pose.

        The effort found is the fallback where later none can be computed. Raises a ControlError
        where it is beyond the limits or not finite.
        """
        effort = self._safe.effort(q, np.zeros_like(q))
        self._check(effort)
        self._fallback = effort.copy()

    def release_arm(self) -> None:
        """Forget the arm, which another controller moves from now on."""
        self._fallback = None
        self.has_sent = False
        self._limiter.forget()

    def send(self, tau: FloatArray, dt: float, stamp: float, *, is_safe: bool = False) -> Command:
        """Command for a wanted effort tau, N m or N, that answers the state of a stamp, s.

        `dt` is the time since the last command, for the rate limit, s. Raises a ControlError where
        the effort is not finite; no command is made then.
        """
        effort = self._limiter.apply(tau, dt)
        # A second check behind the limiter, because an arm is behind it.
        self._check(effort)
        command = self._command
        command.effort[:] = effort
        command.stamp, command.is_safe = stamp, is_safe
        self.commands += 1
        self.has_sent = True
        return command

    def send_safe(self, q: FloatArray, v: FloatArray, dt: float, stamp: float,
                  motion: SafeMotion) -> Command | None:
        """Safe command; see `SafeCommand.effort`.

        None where nothing was sent yet: an arm that still holds itself is left alone.
        """
        if not self.has_sent:
            return None
        try:
            wanted = self._safe.effort(q, v, motion)
            command = self.send(wanted, dt, stamp, is_safe=True)
            if self._limiter.any_saturated:
                wanted = wanted.copy()
                held = self._safe.effort(q, np.zeros_like(q), motion)
                motion.note_limits(wanted - held, command.effort - held)
        # Any exception: an arm depends on the answer.
        except Exception as error:
            self.safe_error = f'{type(error).__name__}: {error}'
            return self.send(cast(FloatArray, self._fallback), dt, stamp, is_safe=True)
        self.safe_error = ''
        return command

    def _check(self, effort: FloatArray) -> None:
        """Reject an effort that is not finite and within the limits."""
        if self._limiter.permits(effort):
            return
        limit = self._limiter.limit
        joint = int(np.argmax(~(np.abs(effort) <= limit)))
        raise ControlError(f'needs an effort of {effort[joint]:.4g}, beyond its limit '
                           f'{limit[joint]:.4g}', subject=self._limiter.joint_names[joint],
                           remedy='check the masses of the model, or move the arm to a pose '
                                  'it can hold')
