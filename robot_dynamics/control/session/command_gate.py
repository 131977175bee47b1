# SPDX-License-Identifier: Apache-2.0
"""The gate that every command passes, and the safe command that replaces a failed one."""

from __future__ import annotations

from enum import Enum
from typing import cast

import numpy as np

from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.control.session.modes import Command
from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.model.arrays import FloatArray


class SafeKind(Enum):
    """Kind of the safe command; the value is its name in parameters."""

    #: Gravity compensation and damping.
    GRAVITY = 'gravity'
    #: Damping only: for an arm with a driver that compensates gravity.
    DAMPING = 'damping'
    #: No effort: only for an arm with brakes, or one that cannot fall.
    ZERO = 'zero'

    @classmethod
    def named(cls, name: str) -> SafeKind:
        """Kind of a name.

        Raises
        ------
        ParameterError
            Where the name is unknown.
        """
        try:
            return cls(name)
        except ValueError:
            raise ParameterError('must be one of ' + ', '.join(kind.value for kind in cls)
                                 + f', got {name!r}', subject='safe_command',
                                 remedy='choose the kind that suits the drives') from None


class SafeCommand:
    """Safe effort of an arm, from gravity and damping of its controller."""

    def __init__(self, controller: TrackingController, n: int, kind: SafeKind):
        self.kind = kind
        self._controller = controller
        self._still = np.zeros(n)
        self._effort = np.zeros(n)

    def effort(self, q: FloatArray, v: FloatArray, *, live: bool) -> FloatArray:
        """Safe effort at a state, shape (n,), N m or N; NaN or inf where it has none.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            The last known state.
        live : bool
            Whether the next state will be answered too. If not, the command may act for ever, and
            damping of an old velocity would become a push: the velocity then counts as zero.
        """
        speed = v if live else self._still
        self._effort[:] = 0.0
        if self.kind is not SafeKind.ZERO:
            self._effort += self._controller.safe_effort(q, speed)
        if self.kind is SafeKind.DAMPING:
            self._effort -= self._controller.safe_effort(q, self._still)
        return self._effort


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

        The effort found is the fallback where later none can be computed.

        Raises
        ------
        ControlError
            Where the effort that holds the pose is beyond the limits or not finite.
        """
        effort = self._safe.effort(q, q, live=False)
        self._check(effort)
        self._fallback = effort.copy()

    def release_arm(self) -> None:
        """Forget the arm, which another controller moves from now on."""
        self._fallback = None
        self.has_sent = False
        self._limiter.forget()

    def send(self, tau: FloatArray, dt: float, stamp: float, *, is_safe: bool = False) -> Command:
        """Command for an effort.

        Parameters
        ----------
        tau : ndarray, shape (n,)
            Wanted effort. N m or N.
        dt : float
            Time since the last command, for the rate limit. s.
        stamp : float
            Stamp of the state answered. s.
        is_safe : bool
            Whether it is the safe command.

        Raises
        ------
        ControlError
            Where the effort is not finite; no command is made then.
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

    def send_safe(self, q: FloatArray, v: FloatArray, dt: float, stamp: float, *,
                  live: bool) -> Command | None:
        """Safe command; see `SafeCommand.effort`.

        None where nothing was sent yet: an arm that still holds itself is left alone.
        """
        if not self.has_sent:
            return None
        try:
            command = self.send(self._safe.effort(q, v, live=live), dt, stamp, is_safe=True)
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
