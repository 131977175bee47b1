# SPDX-License-Identifier: Apache-2.0
"""What every tracking controller of this package offers to the session that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from robot_dynamics.model.arrays import FloatArray

#: Joint efforts that gravity needs at positions q, shape (n,) both. N m or N.
Gravity = Callable[[FloatArray], FloatArray]


class TrackingController(Protocol):
    """A joint-space torque law with its own memory; pure, deterministic, no clock of its own.

    All vectors have shape (n,) in ``robot.joint_names`` order, SI units.
    """

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Forget filters and finite differences; keep what was learnt."""

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort for this state and desired motion.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            Measured state.
        q_d, v_d, a_d : ndarray, shape (n,)
            Desired motion at the stamp of the state.
        dt : float
            Time since the last update in seconds, already bounded; 0 on the first.
        adapt : bool
            Whether the estimates may change in this step.

        Returns
        -------
        tau : ndarray, shape (n,)
            Effort command before limits. A buffer of the controller, valid until the
            next call.
        """

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Return PD + gravity at a fixed pose, without any adaptation."""

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gravity plus damping: the effort to send when in doubt."""

    def note_applied(self, tau: FloatArray) -> None:
        """Say what was really sent after limits (the composite law needs it)."""


class HardwareGravityController:
    r"""Turn joint efforts into what to send to hardware that adds gravity itself.

    .. math::

        \tau_{sent} = \tau - \hat g(q), \qquad \tau = \tau_{sent} + g_{hardware}(q)

    Everything after it, limits, safe command and start gate, then speaks of efforts
    sent: at rest they are zero, the safe command is pure damping, and the effort to
    fall back on is none at all. Where the hardware's idea of gravity is not the
    model's, the difference is an error like any other, which the law learns.

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`.

    Parameters
    ----------
    controller : TrackingController
        The law, in joint efforts.
    gravity : callable
        g of the model the law starts from.
    carried : ndarray, shape (n,)
        Where to leave what the hardware adds at the state last answered, so that
        limits can take it into account. N m or N.
    """

    def __init__(self, controller: TrackingController, gravity: Gravity, carried: FloatArray):
        self._controller = controller
        self._gravity = gravity
        self._carried = carried
        self._tau = np.zeros_like(carried)
        self._applied = np.zeros_like(carried)

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Forget filters and finite differences; keep what was learnt."""
        self._controller.reset(q, v)

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort to send for this state and desired motion."""
        return self._less_gravity(q, self._controller.update(q, v, q_d, v_d, a_d, dt,
                                                             adapt=adapt))

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Return the effort to send to hold a pose."""
        return self._less_gravity(q, self._controller.holding_effort(q, v, q_hold))

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the effort to send in doubt: damping."""
        return self._less_gravity(q, self._controller.safe_effort(q, v))

    def note_applied(self, tau: FloatArray) -> None:
        """Tell the law what the joints got: what was sent and what the hardware adds."""
        np.add(tau, self._carried, out=self._applied)
        self._controller.note_applied(self._applied)

    def _less_gravity(self, q: FloatArray, tau: FloatArray) -> FloatArray:
        gravity = self._gravity(q)
        # Limits need a finite number; an effort that is none is refused further on.
        np.copyto(self._carried, gravity, where=np.isfinite(gravity))
        return np.subtract(tau, gravity, out=self._tau)
