# SPDX-License-Identifier: Apache-2.0
"""The effort to send when in doubt."""

from __future__ import annotations

from enum import Enum

import numpy as np

from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray


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
