# SPDX-License-Identifier: Apache-2.0
"""``CommandGate``: the one place efforts leave through, and what leaves when they must not."""

from __future__ import annotations

from enum import Enum

import numpy as np

from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.control.session.modes import Command
from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.model.arrays import FloatArray


class CommandGate:
    """Make commands of efforts: finite, within limits, or replaced by the safe effort.

    Parameters
    ----------
    limiter : EffortLimiter
        What may be sent.
    safe : SafeCommand
        What to send when in doubt.
    """

    def __init__(self, limiter: EffortLimiter, safe: SafeCommand):
        self._limiter = limiter
        self._safe = safe
        self._command = Command(len(limiter.joint_names))
        self._fallback: FloatArray | None = None
        #: Commands made since the start; whether any since the arm was last let go.
        self.commands = 0
        self.has_sent = False
        #: Why the safe effort could not be computed, empty where it could.
        self.safe_error = ''

    def prepare(self, q: FloatArray) -> None:
        """Make sure that an arm can be held at a pose before anything is sent to it.

        The effort found is what is sent if later none can be computed.

        Raises
        ------
        ControlError
            Where the effort that carries it is beyond the limits or not finite.
        """
        effort = self._safe.effort(q, q, live=False)
        self._check(effort)
        self._fallback = effort.copy()

    def let_go(self) -> None:
        """Forget an arm that somebody else moves from now on."""
        self._fallback = None
        self.has_sent = False
        self._limiter.forget()

    def send(self, tau: FloatArray, dt: float, stamp: float, *, is_safe: bool = False) -> Command:
        """Return the command for an effort.

        Parameters
        ----------
        tau : ndarray, shape (n,)
            Effort wanted. N m or N.
        dt : float
            Time since the last command, for the rate limit. s.
        stamp : float
            Stamp of the state answered. s.
        is_safe : bool
            Whether it is the safe command.

        Raises
        ------
        ControlError
            Where the effort is not finite; nothing is sent then.
        """
        effort = self._limiter.apply(tau, dt)
        # Nothing gets here that fails this; it stays, because an arm is behind it.
        self._check(effort)
        command = self._command
        command.effort[:] = effort
        command.stamp, command.is_safe = stamp, is_safe
        self.commands += 1
        self.has_sent = True
        return command

    def send_safe(self, q: FloatArray, v: FloatArray, dt: float, stamp: float, *,
                  live: bool) -> Command | None:
        """Return the safe command; see `SafeCommand.effort`.

        None where nothing was sent yet: an arm that still holds itself is not taken over
        by somebody in doubt.
        """
        if not self.has_sent:
            return None
        try:
            command = self.send(self._safe.effort(q, v, live=live), dt, stamp, is_safe=True)
        # Whatever a controller raises, an arm hangs on the answer.
        except Exception as error:
            self.safe_error = f'{type(error).__name__}: {error}'
            return self.send(self._fallback, dt, stamp, is_safe=True)
        self.safe_error = ''
        return command

    def _check(self, effort: FloatArray) -> None:
        """Refuse an effort that is not finite and within the limits."""
        if self._limiter.permits(effort):
            return
        limit = self._limiter.limit
        joint = int(np.argmax(~(np.abs(effort) <= limit)))
        raise ControlError(f'{effort[joint]:.4g} is not within the effort limit '
                           f'{limit[joint]:.4g}', subject=self._limiter.joint_names[joint],
                           remedy='check the masses of the model, or move the arm to a pose '
                                  'it can hold')


class SafeKind(Enum):
    """What a safe command does; the value is its name in parameters."""

    #: Carry the arm and take its speed out.
    GRAVITY = 'gravity'
    #: Take its speed out: for an arm whose driver carries it.
    DAMPING = 'damping'
    #: Let go: only for an arm with brakes, or one that cannot fall.
    ZERO = 'zero'

    @classmethod
    def named(cls, name: str) -> SafeKind:
        """Return the kind of a name.

        Raises
        ------
        ParameterError
            Where there is none.
        """
        try:
            return cls(name)
        except ValueError:
            raise ParameterError(f'is {name!r}', subject='safe_command',
                                 remedy='set it to one of: '
                                        + ', '.join(kind.value for kind in cls)) from None


class SafeCommand:
    """Compute the safe effort of a kind, whatever state the controller is in.

    Parameters
    ----------
    controller : TrackingController
        Knows gravity and damping of the arm.
    n : int
        Number of joints.
    kind : SafeKind
        What to do.
    """

    def __init__(self, controller: TrackingController, n: int, kind: SafeKind):
        self.kind = kind
        self._controller = controller
        self._still = np.zeros(n)
        self._effort = np.zeros(n)

    def effort(self, q: FloatArray, v: FloatArray, *, live: bool) -> FloatArray:
        """Return the effort at a state, shape (n,), not finite where it cannot be computed.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            The state last known.
        live : bool
            Whether the next state will be answered too. If not, whatever is sent now
            may act for ever, and damping of an old velocity would become a push: the
            velocity is then taken as zero.
        """
        speed = v if live else self._still
        self._effort[:] = 0.0
        if self.kind is not SafeKind.ZERO:
            self._effort += self._controller.safe_effort(q, speed)
        if self.kind is SafeKind.DAMPING:
            self._effort -= self._controller.safe_effort(q, self._still)
        return self._effort
