# SPDX-License-Identifier: Apache-2.0
"""``EffortLimiter``: what an arm may be told, at most and at what rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import count, positive
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ControlError, DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot


@kernel('i8(f8[::1], f8[::1], f8[::1], f8[::1], f8, f8[::1], b1[::1])')
def cut_efforts(tau, limit, carried, rate, dt, effort, saturated):
    """Cut efforts to their limits and rates; return how many were cut, -1 for NaN or inf.

    Neither an effort nor its sum with what the hardware carries is beyond the limit;
    where the latter alone is, the effort is zero at least, never a push against it.
    Nothing is written unless all of them are finite.
    """
    n = tau.size
    for i in range(n):
        if not math.isfinite(tau[i]):
            return -1
    count = 0
    for i in range(n):
        low = min(0.0, -limit[i] - min(carried[i], 0.0))
        high = max(0.0, limit[i] - max(carried[i], 0.0))
        wanted = tau[i]
        if math.isfinite(rate[i]) and math.isfinite(dt):
            wanted = min(max(wanted, effort[i] - rate[i] * dt), effort[i] + rate[i] * dt)
        effort[i] = min(max(wanted, low), high)
        saturated[i] = effort[i] != tau[i]
        count += saturated[i]
    return count


@kernel('b1(f8[::1], f8[::1])')
def all_within(values, limit):
    """Whether no value is beyond its limit, either sign; NaN is."""
    for i in range(values.size):
        if not abs(values[i]) <= limit[i]:
            return False
    return True


class EffortLimiter:
    """Clamp efforts to what each joint may bear; no NaN gets through.

    Parameters
    ----------
    joint_names : sequence of str, length n
        The joints, for messages.
    effort_limit : array_like, shape (n,)
        Largest absolute effort. N m or N.
    rate_limit : array_like, shape (n,), optional
        Largest absolute change of effort. N m/s or N/s; unlimited where not given.
    hard_limit : array_like, shape (n,), optional
        The robot's own limits, nan where it has none: no limit may be above them.

    Raises
    ------
    ParameterError
        Where a limit is missing, not finite, not positive or above the robot's own.
    """

    def __init__(self, joint_names: Sequence[str], effort_limit: ArrayLike, *,
                 rate_limit: ArrayLike | None = None, hard_limit: ArrayLike | None = None):
        self.joint_names = tuple(joint_names)
        n = len(self.joint_names)
        self._limit = self._limits('effort_limit', effort_limit)
        self._rate = np.full(n, np.inf) if rate_limit is None \
            else self._limits('effort_rate_limit', rate_limit)
        if hard_limit is not None:
            self._check_below(self._of_joints('limits of the robot', hard_limit))
        #: What the hardware adds to every effort by itself, shape (n,). Finite; for its
        #: owner to overwrite in place before `apply`. N m or N.
        self.hardware_gravity = np.zeros(n)
        #: The last effort let through, shape (n,). Overwritten in place. N m or N.
        self.effort = np.zeros(n)
        #: Which joints were cut in it, shape (n,).
        self.saturated = np.zeros(n, dtype=np.bool_)
        #: Whether any was.
        self.any_saturated = False
        self._has_last = False
        self._cut, self._within = cut_efforts.load(), all_within.load()

    @classmethod
    def for_robot(cls, robot: Robot, effort_limit: ArrayLike | None = None, *,
                  rate_limit: ArrayLike | None = None) -> EffortLimiter:
        """Return a limiter at or below the limits of a robot.

        Parameters
        ----------
        robot : Robot
            The robot.
        effort_limit : array_like, shape (n,), optional
            Limits, nan for the robot's own. N m or N.
        rate_limit : array_like, shape (n,), optional
            As for the class.
        """
        own = robot.limits.effort
        chosen = own if effort_limit is None else real_array(effort_limit, 'effort_limit')
        if chosen.shape == own.shape:
            chosen = np.where(np.isnan(chosen), own, chosen)
        return cls(robot.joint_names, chosen, rate_limit=rate_limit, hard_limit=own)

    @property
    def limit(self) -> FloatArray:
        """Largest absolute efforts, shape (n,), a copy. N m or N."""
        return self._limit.copy()

    def forget(self) -> None:
        """Let the next effort start anywhere within the limits, as nothing precedes it."""
        self._has_last = False

    def begin_at(self, effort: FloatArray) -> None:
        """Take an effort for the last one, so that the rate limit counts from there.

        One that is not finite, or beyond the limits, tells nothing and is ignored.
        """
        if effort.shape == self.effort.shape and self.permits(effort):
            self.effort[:] = effort
            self._has_last = True

    def apply(self, tau: FloatArray, dt: float) -> FloatArray:
        """Return the efforts that may be sent.

        Parameters
        ----------
        tau : ndarray, shape (n,)
            Efforts wanted. N m or N.
        dt : float
            Time since the last call, for the rate limit. s.

        Returns
        -------
        effort : ndarray, shape (n,)
            `effort`, valid until the next call.

        Raises
        ------
        ControlError
            Where an effort is not finite: nothing is sent then, `effort` stays.
        """
        if tau.shape != self.effort.shape:
            raise DimensionError(f'has shape {tau.shape}, not {self.effort.shape}',
                                 subject='effort command',
                                 remedy='give one effort for each of: '
                                        + ', '.join(self.joint_names))
        # Before the first effort there is nothing its rate could be measured against.
        # Time that goes back, or is not a number, allows no change.
        since = math.inf if not self._has_last else dt if dt > 0.0 else 0.0
        count = self._cut(tau, self._limit, self.hardware_gravity, self._rate, since, self.effort,
                          self.saturated)
        if count < 0:
            joint = self.joint_names[int(np.argmin(np.isfinite(tau)))]
            raise ControlError('the effort computed is not finite', subject=joint,
                               remedy='the command was withheld; check the gains and the '
                                      'model of this joint')
        self._has_last = True
        self.any_saturated = count > 0
        return self.effort

    def permits(self, effort: FloatArray) -> bool:
        """Whether every effort is finite and within the limits."""
        return self._within(effort, self._limit)

    def _limits(self, parameter: str, values: ArrayLike) -> FloatArray:
        """Return limits as an array of their own, or name the joints they are wrong for."""
        array = self._of_joints(parameter, values)
        bad = [name for name, value in zip(self.joint_names, array, strict=True)
               if not (value > 0.0 and math.isfinite(value))]
        if bad:
            raise ParameterError('has no finite limit above zero', subject=', '.join(bad),
                                 remedy=f'set {parameter} to one value for each of: '
                                        + ', '.join(self.joint_names) + ' (in this order), or '
                                        'write <limit effort="..."> into the URDF')
        return array

    def _of_joints(self, parameter: str, values: ArrayLike) -> FloatArray:
        """Return one number a joint, as an array of its own."""
        array = np.array(real_array(values, parameter))
        if array.shape != (len(self.joint_names),):
            raise DimensionError(f'has shape {array.shape}, not ({len(self.joint_names)},)',
                                 subject=parameter, remedy='give one value for each of: '
                                 + ', '.join(self.joint_names))
        return array

    def _check_below(self, hard_limit: FloatArray) -> None:
        """Refuse limits above the robot's own."""
        for name, limit, own in zip(self.joint_names, self._limit, hard_limit, strict=True):
            if limit > own:
                raise ParameterError(f'{limit:g} is above the limit {own:g} of the robot itself',
                                     subject=f'effort_limit.{name}',
                                     remedy=f'set it to {own:g} or less, or correct the effort '
                                            'limit in the robot description')


class SpeedGuard:
    """Watch the speed of an arm.

    References keep within the speed limits; who tracks them overshoots a little. A speed far
    beyond that is what a feedback does whose answers come too late or too seldom, or that is
    told wrong positions: it drives the arm to and fro with all it has.

    Parameters
    ----------
    joint_names : sequence of str, length n
        The joints, for messages.
    velocity_limit : array_like, shape (n,)
        Speed limits, nan where there is none. rad/s or m/s.
    units : sequence of str, length n
        Units of the positions, for messages: 'rad' or 'm'.
    margin : float
        Up to this multiple of its limit a joint may be fast.
    states : int
        States in a row that must be faster: one may be a measurement gone wrong.
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
        """Whether the arm runs; to be called once a state, with its velocity, shape (n,)."""
        if self._within(v, self._largest):
            self._in_row = 0
            return False
        np.abs(v, out=self._speed)
        self._in_row += 1
        return self._in_row >= self._states

    @property
    def detail(self) -> str:
        """The joint that was farthest beyond its limit in the last state that was, in words."""
        joint = int(np.argmax(self._speed / self._largest))
        return (f'{self._names[joint]} at {self._speed[joint]:.3g} {self._units[joint]}/s, '
                f'{self._largest[joint]:.3g} at most')
