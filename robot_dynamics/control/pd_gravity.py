# SPDX-License-Identifier: Apache-2.0
"""The baseline: the same feedback with the gravity of the model, and nothing learnt."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.feedback import LinearFeedback
from robot_dynamics.control.gains import FeedbackGains, check_gains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import FloatArray, Robot


class PDGravityController:
    """tau = omega_D M0(q) (e_dot + lambda e) + K_P e + g0(q).

    Implements `robot_dynamics.control.protocol.TrackingController`. Its feedback is that
    of `robot_dynamics.control.slotine_li.AdaptiveController`, to the last digit, so that
    the two differ by what is fed forward and learnt alone.

    Parameters
    ----------
    robot : Robot
        The model.
    feedback : FeedbackGains, optional
        Gains of the feedback.
    period, delay : float
        Sampling period, and time from the measurement of a state to the torque that
        answers it; the gains are checked against them. s.
    dynamics : Dynamics, optional
        Equations of the robot, where they exist already.

    Attributes
    ----------
    tau_model, tau_feedback : ndarray, shape (n,)
        Parts of the last effort: gravity and feedback.
    estimate, estimate_names
        Empty: nothing is learnt.
    """

    frozen = False
    frozen_reason = ''

    def __init__(self, robot: Robot, *, feedback: FeedbackGains | None = None,
                 period: float = 0.002, delay: float = 0.001, dynamics: Dynamics | None = None):
        robot.require_single_coordinates('PD control')
        feedback = FeedbackGains() if feedback is None else feedback
        check_gains(feedback, None, period=period, delay=delay)
        self.robot = robot
        self.dynamics = Dynamics(robot) if dynamics is None else dynamics
        self.feedback = LinearFeedback(robot, self.dynamics, feedback)
        self.estimate = np.zeros(0)
        self.estimate_names: tuple[str, ...] = ()
        self.tau_model = np.zeros(robot.n)
        self.tau_feedback = self.feedback.effort
        self._tau = np.zeros(robot.n)
        # What has to be compiled must not wait for the loop.
        self.holding_effort(self._tau, self._tau, self._tau)

    @property
    def e(self) -> FloatArray:
        """Position error q_d - q of the last update, shape (n,). rad or m."""
        return self.feedback.e

    @property
    def e_dot(self) -> FloatArray:
        """Velocity error v_d - v of the last update, shape (n,). rad/s or m/s."""
        return self.feedback.e_dot

    @property
    def s(self) -> FloatArray:
        """e_dot + lambda e of the last update, shape (n,). rad/s or m/s."""
        return self.feedback.s

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Do nothing: there is no memory."""

    def note_applied(self, tau: FloatArray) -> None:
        """Do nothing: there is no memory."""

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort for this state and desired motion; see `TrackingController`."""
        self.feedback.update(q, v, q_d, v_d, a_d)
        self.tau_model = self.dynamics.gravity_torque(q)
        np.add(self.tau_model, self.tau_feedback, out=self._tau)
        return self._tau

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Return the feedback to rest at a pose plus gravity, shape (n,)."""
        still = np.zeros(self.robot.n)
        return self.feedback.update(q, v, q_hold, still, still) + self.dynamics.gravity_torque(q)

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gravity plus damping -K_D v, shape (n,)."""
        return self.dynamics.gravity_torque(q) + self.feedback.damping(q, v)
