# SPDX-License-Identifier: Apache-2.0
"""Interface of tracking controllers, and a wrapper for hardware that compensates gravity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from robot_dynamics.model.arrays import FloatArray

#: Gravity efforts, shape (n,), at positions q, shape (n,). N m or N.
Gravity = Callable[[FloatArray], FloatArray]


class TrackingController(Protocol):
    """A joint-space control law: deterministic, without a clock.

    All vectors have shape (n,) in ``robot.joint_names`` order, SI units.

    Examples
    --------
    Every law has the same methods:

    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.control import PDGravityController
    >>> law: TrackingController = PDGravityController(Robot.from_urdf('planar_2r'))
    >>> law.holding_effort(np.array([0.3, 0.4]), np.zeros(2), np.array([0.3, 0.4])).shape
    (2,)
    """

    @property
    def damping_rate(self) -> float:
        """Fastest rate at which the safe effort damps a motion, 1/s."""

    @property
    def longest_delay(self) -> float:
        """Dead time T/2 + delay up to which a running loop is continued, s."""

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Reset filters and finite differences; keep the estimates."""

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort for a state and desired motion.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            Measured state.
        q_d, v_d, a_d : ndarray, shape (n,)
            Desired motion at the stamp of the state.
        dt : float
            Time since the last update, limited by the caller; 0 on the first. s.
        adapt : bool
            Whether the estimates may change in this step.

        Returns
        -------
        tau : ndarray, shape (n,)
            Effort before limits, N m or N. A buffer of the controller, valid until the next call.
        """

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Feedback to a fixed pose plus gravity, without any adaptation, shape (n,), N m or N."""

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Gravity plus damping, for the safe command, shape (n,), N m or N."""

    def note_applied(self, tau: FloatArray) -> None:
        """Store the effort that was sent after limits; composite adaptation needs it."""

    def forget_recent(self) -> None:
        """Return to the estimates of some tenths of a second ago, before a fault."""


class HardwareGravityController:
    r"""Wrapper of a control law for hardware that adds gravity itself.

    .. math::

        \tau_{sent} = \tau - \hat g(q), \qquad \tau = \tau_{sent} + g_{hardware}(q)

    Limits, safe command and start gate then apply to the efforts sent: at rest these are zero, the
    safe command is pure damping, and the fallback is zero effort. If the gravity of the hardware
    differs from that of the model, an adaptive law learns the difference.

    `gravity` is g of the model that the law starts from; `hardware_gravity`, shape (n,), receives
    the gravity that the hardware adds at the last state, for the limits.
    """

    def __init__(self, controller: TrackingController, gravity: Gravity,
                 hardware_gravity: FloatArray):
        self.controller = controller
        self._gravity = gravity
        self._hardware_gravity = hardware_gravity
        self._tau = np.zeros_like(hardware_gravity)
        self._applied = np.zeros_like(hardware_gravity)

    @property
    def damping_rate(self) -> float:
        """Fastest rate at which the safe effort damps a motion, 1/s."""
        return self.controller.damping_rate

    @property
    def longest_delay(self) -> float:
        """Dead time T/2 + delay up to which a running loop is continued, s."""
        return self.controller.longest_delay

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Reset filters and finite differences; keep the estimates."""
        self.controller.reset(q, v)

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort to send for a state and desired motion."""
        return self._less_gravity(q, self.controller.update(q, v, q_d, v_d, a_d, dt,
                                                             adapt=adapt))

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Effort to send to hold a pose."""
        return self._less_gravity(q, self.controller.holding_effort(q, v, q_hold))

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Effort to send in the safe mode: damping."""
        return self._less_gravity(q, self.controller.safe_effort(q, v))

    def note_applied(self, tau: FloatArray) -> None:
        """Pass on the joint efforts: those sent plus the gravity that the hardware adds."""
        np.add(tau, self._hardware_gravity, out=self._applied)
        self.controller.note_applied(self._applied)

    def forget_recent(self) -> None:
        """Return to the estimates of some tenths of a second ago, before a fault."""
        self.controller.forget_recent()

    def _less_gravity(self, q: FloatArray, tau: FloatArray) -> FloatArray:
        gravity = self._gravity(q)
        # Limits need finite numbers; the limiter rejects an effort that is not finite.
        np.copyto(self._hardware_gravity, gravity, where=np.isfinite(gravity))
        return np.subtract(tau, gravity, out=self._tau)
