# SPDX-License-Identifier: Apache-2.0
"""What every tracking controller of this package offers to the session that runs it."""

from __future__ import annotations

from typing import Protocol

from robot_dynamics.model.arrays import FloatArray


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
