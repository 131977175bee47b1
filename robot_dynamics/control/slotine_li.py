# SPDX-License-Identifier: Apache-2.0
"""The adaptive tracking controller of Slotine and Li.

With e = q_d - q, v_r = v_d + lambda e, a_r = a_d + lambda e_dot and s = v_r - v::

    tau    = Yr(q, v, v_r, a_r) pi + K_D s + K_P e        K_D = omega_D M0(q)
    dpi/dt = Gamma Yr^T s

With the true parameters pi_true, along the exact motion::

    V     = 1/2 s^T M s + 1/2 K_P |e|^2 + 1/2 |pi - pi_true|^2 (in Gamma^-1)
    dV/dt = -s^T K_D s - lambda K_P |e|^2 <= 0

so that the error converges to zero, whether the parameters do or not. Two more things
are learnt from, neither of which lets V grow: the prediction error of the last moments
(`robot_dynamics.control.composite`) and the memory of past motion
(`robot_dynamics.control.memory`).

References
----------
J.-J. E. Slotine and W. Li, "On the adaptive control of robot manipulators",
International Journal of Robotics Research 6(3), 1987, eqs. (9)-(16).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.adaptation import Adaptation, StepOutcome
from robot_dynamics.control.composite import PredictionError
from robot_dynamics.control.feedback import LinearFeedback
from robot_dynamics.control.gains import AdaptationGains, FeedbackGains, check_gains
from robot_dynamics.control.memory import RegressionMemory
from robot_dynamics.control.metric import (
    body_metric,
    effective_inertias,
    term_metric,
    typical_motions,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import InertiaError
from robot_dynamics.model.consistency import check_body
from robot_dynamics.model.robot import FloatArray, Robot

_REFUSALS = {
    StepOutcome.NOT_FINITE: 'a step of the estimates was not finite',
    StepOutcome.TOO_LARGE: 'a step of the estimates was implausibly large',
}


class AdaptiveController:
    """Torque law with estimates of every inertial and friction parameter.

    Implements `robot_dynamics.control.protocol.TrackingController`.

    Parameters
    ----------
    robot : Robot
        The model as given: prior of the estimates and source of K_D.
    feedback : FeedbackGains, optional
        Gains of the feedback.
    adaptation : AdaptationGains, optional
        Gains of the adaptation.
    period, delay : float
        Sampling period, and time from the measurement of a state to the torque that
        answers it; the gains are checked against them. s.
    allow_unphysical : bool
        Start from a model whose links no body can have, namely from the nearest that
        bodies can have. Such a model is refused otherwise.
    dynamics : Dynamics, optional
        Equations of the robot, where they exist already.

    Attributes
    ----------
    estimate : ndarray
        Inertial parameters and joint terms as learnt so far; a view, in the order of
        `estimate_names`.
    tau_model, tau_feedback : ndarray, shape (n,)
        Parts of the last effort: Yr pi with the joint terms, and feedback.
    frozen_reason : str
        Why the last update that should have adapted did not; empty when it did. A
        refused step freezes the estimates until `release`.

    Raises
    ------
    InertiaError
        Where a link of the model is unphysical and that is not allowed.
    ControlError
        Where the gains are unstable at this period and delay.
    """

    def __init__(self, robot: Robot, *, feedback: FeedbackGains | None = None,
                 adaptation: AdaptationGains | None = None, period: float = 0.002,
                 delay: float = 0.001, allow_unphysical: bool = False,
                 dynamics: Dynamics | None = None):
        robot.require_single_coordinates('adaptive control')
        if not allow_unphysical:
            refuse_unphysical(robot)
        self.robot = robot
        self.gains = gains = AdaptationGains() if adaptation is None else adaptation
        feedback = FeedbackGains() if feedback is None else feedback
        check_gains(feedback, gains, period=period, delay=delay)
        if dynamics is None:
            dynamics = Dynamics(robot, coulomb_velocity=gains.coulomb_velocity)
        self.dynamics = dynamics
        self.feedback = LinearFeedback(robot, dynamics, feedback)
        self.adaptation = Adaptation(robot.inertial_parameters,
                                     body_metric(robot, dynamics, gains),
                                     term_metric(robot, dynamics, gains))
        self.estimate = self.adaptation.estimate
        self.estimate_names = dynamics.parameter_names(gains.terms)
        # A rotor inertia that is not learnt is taken for known.
        self._rotors = np.where('armature' in gains.terms, 0.0, robot.armature)
        self._has_rotors = bool(np.any(self._rotors))
        self._prediction = PredictionError(dynamics, gains.terms, gains.composite_cutoff,
                                           self._rotors)
        inertias = effective_inertias(dynamics, typical_motions(robot))
        self._memory = RegressionMemory(
            self.adaptation.precision(), gains.composite / (feedback.bandwidth * inertias))
        self._applied = np.zeros(robot.n)
        self.tau_model = np.zeros(robot.n)
        self.tau_feedback = self.feedback.effort
        self._tau = np.zeros(robot.n)
        self.frozen_reason = ''
        self._is_latched = False
        self._load_kernels()

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
        """Sliding variable of the last update, shape (n,). rad/s or m/s."""
        return self.feedback.s

    @property
    def frozen(self) -> bool:
        """Whether the law itself keeps the estimates from changing."""
        return bool(self.frozen_reason)

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Forget filters and finite differences; keep what was learnt."""
        self._prediction.reset()
        self._applied[:] = 0.0

    def forget(self) -> None:
        """Return to the prior and let the estimates change again."""
        self.adaptation.reset()
        self._memory.forget()
        self.release()

    def release(self) -> None:
        """Let the estimates change again after a refused step."""
        self._is_latched = False
        self.frozen_reason = ''

    def note_applied(self, tau: FloatArray) -> None:
        """Say what was really sent after limits: the prediction error needs it."""
        self._applied[:] = tau

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort for this state and desired motion; see `TrackingController`."""
        feedback = self.feedback
        feedback.update(q, v, q_d, v_d, a_d)
        self.tau_model, gradient = self.dynamics.adaptive_terms(
            q, v, feedback.v_r, feedback.a_r, feedback.s, self.estimate, self.gains.terms)
        if self._has_rotors:
            self.tau_model += self._rotors * feedback.a_r
        self._learn(q, v, dt, gradient, adapt)
        np.add(self.tau_model, self.tau_feedback, out=self._tau)
        self._applied[:] = self._tau
        return self._tau

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Return the feedback to rest at a pose plus gravity as estimated, shape (n,)."""
        still = np.zeros(self.robot.n)
        return self.feedback.update(q, v, q_hold, still, still) + self._gravity(q)

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gravity plus damping -K_D v, shape (n,).

        Gravity as estimated; as in the prior where the estimates froze over a refused
        step and are in doubt themselves.
        """
        return self._gravity(q) + self.feedback.damping(q, v)

    def _load_kernels(self) -> None:
        """Use every equation once: what has to be compiled must not wait for the loop."""
        still = np.zeros(self.robot.n)
        for _ in range(2):
            self.update(still, still, still, still, still, self.gains.longest_step, adapt=False)
        self.safe_effort(still, still)
        self.dynamics.gravity_torque(still)
        self.reset(still, still)

    def _gravity(self, q: FloatArray) -> FloatArray:
        """Return the effort that holds the arm, by the estimates unless these are in doubt."""
        if self._is_latched:
            return self.dynamics.gravity_torque(q)
        still = np.zeros(self.robot.n)
        return self.dynamics.adaptive_terms(q, still, still, still, still,
                                            self.adaptation.bodies)[0]

    def _learn(self, q: FloatArray, v: FloatArray, dt: float, gradient: FloatArray,
               adapt: bool) -> None:
        """Take in the last interval, and move the estimates if they may."""
        gains, prediction = self.gains, self._prediction
        if not 0.0 < dt <= gains.longest_step:
            prediction.skip(v)
            if adapt and not self._is_latched:
                self.frozen_reason = 'the time step is too long' if dt > 0.0 else ''
            return
        if gains.composite > 0.0:
            prediction.observe(q, v, self._applied, dt)
        if not adapt or self._is_latched:
            return
        if self.feedback.largest_s > gains.largest_sliding:
            self.frozen_reason = 'the tracking error is implausibly large'
            return
        if gains.composite > 0.0:
            prediction.add_gradient(self.estimate, gains.composite / self.feedback.gains.bandwidth,
                                    self.feedback.mass_matrix, gradient)
        outcome = self.adaptation.step(gradient, dt)
        if outcome is StepOutcome.ACCEPTED and self._memory.observe(prediction.filtered, dt):
            target = self._memory.target(self.estimate)
            if target is not None:
                outcome = self.adaptation.move_to(target)
        self.frozen_reason = _REFUSALS.get(outcome, '')
        self._is_latched = outcome is not StepOutcome.ACCEPTED


def refuse_unphysical(robot: Robot) -> None:
    """Raise InertiaError for the first link that no rigid body can be."""
    for name, parameters in zip(robot.body_names, robot.inertial_parameters, strict=True):
        verdict = check_body(parameters)
        if not verdict.is_consistent:
            raise InertiaError(f'cannot be a rigid body: {verdict.violation}', subject=name,
                               remedy='correct its mass and inertia, or allow an unphysical '
                                      'model: adaptation then starts from the nearest physical '
                                      'one')
