# SPDX-License-Identifier: Apache-2.0
"""What moves the estimates of the adaptive law, and what keeps them from moving.

The gradient Yr^T s of the tracking error, the prediction error of the last moments and
the memory of past motion, as the update law (`robot_dynamics.control.feedback.update_laws`) has
them. Nothing is learnt while the caller forbids it, from a time step that is none, from an
error no sound loop has, or when the arm has come to rest; a step that is not finite or
implausibly large is refused, and freezes the estimates until they are released.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.adaptation.composite import PredictionError
from robot_dynamics.control.adaptation.gradient import Adaptation, StepOutcome
from robot_dynamics.control.adaptation.metric import effective_inertias, typical_motions
from robot_dynamics.control.adaptation.natural_adaptation import NaturalAdaptation
from robot_dynamics.control.adaptation.partial_knowledge import unknown_directions
from robot_dynamics.control.adaptation.regressor_memory import RegressionMemory
from robot_dynamics.control.adaptation.rest_detector import RestWatch
from robot_dynamics.control.adaptation.velocity_filter import LikelyVelocity
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.feedback.linear_feedback import LinearFeedback
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray

#: Why an arm at rest learns nothing.
AT_REST = 'the arm is at rest'

_REFUSALS = {
    StepOutcome.NOT_FINITE: 'a step of the estimates was not finite',
    StepOutcome.TOO_LARGE: 'a step of the estimates was implausibly large',
}


class Learning:
    """Moves the estimates, or says why not.

    Parameters
    ----------
    dynamics : Dynamics
        Equations of the model.
    adaptation : Adaptation or NaturalAdaptation
        The estimates.
    feedback : LinearFeedback
        The errors of the last update.
    gains : AdaptationGains
        The choices of the user.
    constraints : ndarray, shape (k, p)
        What is known.
    rotors : ndarray, shape (n,)
        Rotor inertias that are taken for known. kg m^2 or kg.

    Attributes
    ----------
    frozen_reason : str
        Why the last update that should have adapted did not; empty when it did.
    is_latched : bool
        Whether a refused step keeps the estimates frozen until `release`.
    """

    def __init__(self, dynamics: Dynamics, adaptation: Adaptation | NaturalAdaptation,
                 feedback: LinearFeedback, gains: AdaptationGains, constraints: FloatArray,
                 rotors: FloatArray):
        self.adaptation, self.gains = adaptation, gains
        # None where steps need not be shortened.
        self._natural = adaptation if isinstance(adaptation, NaturalAdaptation) else None
        self._has_dead_zone = gains.parts.has_dead_zone
        self._feedback = feedback
        self._weight = gains.composite_weight / feedback.gains.bandwidth
        self.prediction = PredictionError(dynamics, gains.terms, gains.composite_cutoff, rotors)
        self._velocity = LikelyVelocity(dynamics.n)
        self.memory: _Memory | None = None
        if gains.parts.remembers and self._weight > 0.0:
            inertias = effective_inertias(dynamics, typical_motions(dynamics.robot))
            self.memory = _Memory(adaptation, self._weight / inertias, constraints)
        self._rest = RestWatch(gains.rest_after, gains.rest_sliding)
        self.frozen_reason = ''
        self.is_latched = False

    def reset(self) -> None:
        """Forget filters and finite differences; keep what was learnt."""
        self.prediction.reset()
        self._velocity.reset()
        self._rest.reset()

    def forget(self) -> None:
        """Return to the prior and let the estimates change again."""
        self.adaptation.reset()
        self.forget_past()
        self.release()

    def forget_past(self) -> None:
        """Forget what is remembered of past motion: the arm is another one now."""
        if self.memory is not None:
            self.memory.forget()
        self.reset()

    def release(self) -> None:
        """Let the estimates change again after a refused step."""
        self.is_latched = False
        self.frozen_reason = ''

    def learn(self, q: FloatArray, v: FloatArray, v_d: FloatArray, effort: FloatArray,
              dt: float, gradient: FloatArray, *, adapt: bool) -> None:
        """Take in the last interval, and move the estimates if they may.

        Parameters
        ----------
        q, v, v_d : ndarray, shape (n,)
            State and desired velocity at its end.
        effort : ndarray, shape (n,)
            What acted during it. N m or N.
        dt : float
            Its length. s.
        gradient : ndarray, shape (p,)
            Yr^T s; changed.
        adapt : bool
            Whether the estimates may change.
        """
        gains = self.gains
        if not 0.0 < dt <= gains.longest_step:
            self.prediction.skip(v)
            self._velocity.skip()
            if adapt and not self.is_latched:
                self.frozen_reason = 'the time step is too long' if dt > 0.0 else ''
            return
        if self._weight > 0.0:
            self.prediction.observe(q, self._velocity.observe(v, v_d, dt), effort, dt)
        if not adapt or self.is_latched:
            self._rest.reset()
            return
        if self._feedback.largest_s > gains.largest_sliding:
            self.frozen_reason = 'the tracking error is implausibly large'
            return
        if self._rest.observe(v_d, self._feedback.largest_s, dt):
            self.frozen_reason = AT_REST
            return
        self._take(self._move(gradient, dt))

    def _move(self, gradient: FloatArray, dt: float) -> StepOutcome:
        """Move the estimates along the gradients, and to where the memory leads."""
        feedback = self._feedback
        if self._has_dead_zone:
            gradient *= _beyond(feedback.s, self.gains.dead_zone)
        share = 1.0 if self._natural is None else self._natural.share(
            gradient, feedback.s, feedback.mass_matrix)
        if self._weight > 0.0:
            self.prediction.add_gradient(self.adaptation.estimate, self._weight,
                                         feedback.mass_matrix, gradient)
        outcome = self.adaptation.step(gradient, share * dt)
        if outcome is StepOutcome.ACCEPTED and self.memory is not None:
            return self.memory.move(self.prediction.filtered, dt)
        return outcome

    def _take(self, outcome: StepOutcome) -> None:
        self.frozen_reason = _REFUSALS.get(outcome, '')
        self.is_latched = outcome is not StepOutcome.ACCEPTED


class _Memory:
    """The memory of past motion, in the coordinates that are not known.

    Parameters
    ----------
    adaptation : Adaptation
        The estimates.
    weights : ndarray, shape (n,)
        Weights of the prediction error.
    constraints : ndarray, shape (k, p)
        What is known.
    """

    def __init__(self, adaptation: Adaptation, weights: FloatArray, constraints: FloatArray):
        self._adaptation = adaptation
        precision = adaptation.precision()
        self._directions: FloatArray | None = None
        if len(constraints):
            # Orthonormal columns: N^T is a left inverse.
            self._directions = N = unknown_directions(constraints)
            precision = np.ascontiguousarray(N.T @ precision @ N)
            # [Y, tau] -> [Y N, tau - Y pi_0]
            self._to_unknown = np.zeros((len(N) + 1, N.shape[1] + 1))
            self._to_unknown[:-1, :-1], self._to_unknown[:-1, -1] = N, -adaptation.prior
            self._to_unknown[-1, -1] = 1.0
            self._sample = np.zeros((len(weights), N.shape[1] + 1))
        self._memory = RegressionMemory(precision, weights)

    @property
    def contradictions(self) -> int:
        """How often everything was forgotten because the present contradicted it."""
        return self._memory.contradictions

    def forget(self) -> None:
        """Forget everything."""
        self._memory.forget()

    def move(self, filtered: FloatArray, dt: float) -> StepOutcome:
        """Take in a sample; move the estimates when a step has been worked out."""
        adaptation, N = self._adaptation, self._directions
        if N is None:
            if self._memory.observe(filtered, dt):
                target = self._memory.target(adaptation.estimate)
                if target is not None:
                    return adaptation.move_to(target)
            return StepOutcome.ACCEPTED
        if self._memory.observe(np.dot(filtered, self._to_unknown, out=self._sample), dt):
            target = self._memory.target(N.T @ (adaptation.estimate - adaptation.prior))
            if target is not None:
                return adaptation.move_to(adaptation.prior + N @ target)
        return StepOutcome.ACCEPTED


def _beyond(s: FloatArray, zone: float) -> float:
    """Return the share of s that lies beyond a ball: it grows from zero, without a jump."""
    length = float(np.sqrt(s @ s))
    return max(0.0, 1.0 - zone / length) if length > 0.0 else 0.0
