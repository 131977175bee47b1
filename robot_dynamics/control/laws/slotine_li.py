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
(`robot_dynamics.control.adaptation.learning`) and the memory of past motion
(`robot_dynamics.control.adaptation.regressor_memory`).

References
----------
J.-J. E. Slotine and W. Li, "On the adaptive control of robot manipulators",
International Journal of Robotics Research 6(3), 1987, eqs. (9)-(16).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.control.adaptation.estimates_file import (
    SAME,
    load_estimates,
    require_bodies,
    save_estimates,
)
from robot_dynamics.control.adaptation.gradient import Adaptation, StepOutcome
from robot_dynamics.control.adaptation.learning import Learning
from robot_dynamics.control.adaptation.metric import arm_length, body_metric, term_metric
from robot_dynamics.control.adaptation.natural_adaptation import NaturalAdaptation
from robot_dynamics.control.adaptation.partial_knowledge import (
    PartialKnowledge,
    known_and_unknown,
    unknown_directions,
)
from robot_dynamics.control.feedback.gains import (
    FEEDBACK_MARGIN,
    AdaptationGains,
    FeedbackGains,
    check_gains,
    dead_time,
    largest_frequency,
)
from robot_dynamics.control.feedback.linear_feedback import (
    JointFeedback,
    JointGains,
    LinearFeedback,
    WithFeedback,
    check_position_gain,
)
from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.control.feedback.typical_motions import Motions, mass_matrices, typical_motions
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ControlError, InertiaError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot

#: Share of the stability limit of w_A that a natural law may use once it has learnt.
NATURAL_SHARE = 0.7
#: Points of a reference that are looked at, and how much of an endless one. s.
POINTS, LONGEST = 200, 60.0


class AdaptiveController(WithFeedback):
    """Torque law with estimates of every inertial and friction parameter.

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`.

    Parameters
    ----------
    robot : Robot
        The model as given: prior of the estimates and source of K_D.
    feedback : FeedbackGains or JointGains, optional
        Gains of the feedback: omega_D M0(q) s + K_P e, or K_P e + K_D e_dot with diagonal
        K_P and K_D.
    adaptation : AdaptationGains, optional
        Gains of the adaptation, its update law and coordinates.
    known : PartialKnowledge, optional
        What of the model is known: the rest is learnt.
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
        Inertial parameters and joint terms as learnt so far, without what the arm is told
        to carry; a view, in the order of `estimate_names`.
    parameters : ndarray
        The same with that, as of the last update.
    model : LoadedModel
        The model as given, with what the arm is told to carry.
    tau_model, tau_feedback : ndarray, shape (n,)
        Parts of the last effort: Yr pi with the joint terms, and feedback.
    learning : Learning
        What moves the estimates; a refused step freezes them until `release`.

    Raises
    ------
    InertiaError
        Where a link of the model is unphysical and that is not allowed.
    ControlError
        Where the gains are unstable at this period and delay.
    """

    def __init__(self, robot: Robot, *, feedback: FeedbackGains | JointGains | None = None,
                 adaptation: AdaptationGains | None = None, known: PartialKnowledge | None = None,
                 period: float = 0.002, delay: float = 0.001, allow_unphysical: bool = False,
                 dynamics: Dynamics | None = None):
        robot.require_single_coordinates('adaptive control')
        if not allow_unphysical:
            refuse_unphysical(robot)
        self.robot = robot
        self.gains = gains = AdaptationGains() if adaptation is None else adaptation
        if dynamics is None:
            dynamics = Dynamics(robot, coulomb_velocity=gains.coulomb_velocity)
        self.dynamics = dynamics
        self.model = LoadedModel(dynamics)
        self.feedback = make_feedback(robot, dynamics, feedback, period=period, delay=delay)
        check_gains(self.feedback.gains, gains, period=period, delay=delay)
        self.estimate_names = dynamics.column_names(gains.terms)
        self.known = PartialKnowledge() if known is None else known
        self._constraints = self.known.constraints(robot, self.estimate_names)
        limit = largest_frequency(self.feedback.gains.bandwidth, period, delay)
        self.adaptation = make_adaptation(robot, dynamics, gains, self.known, self._constraints,
                                          limit)
        self.estimate = self.adaptation.estimate
        self.parameters, self._load = self.estimate.copy(), np.zeros(self.estimate.size)
        # A rotor inertia that is not learnt is taken for known.
        self._rotors = np.where('armature' in gains.terms, 0.0, robot.armature)
        self._has_rotors = bool(np.any(self._rotors))
        self.learning = Learning(dynamics, self.adaptation, self.feedback, gains,
                                 self._constraints, self._rotors)
        self._sum = sum_of.load()
        self._applied = np.zeros(robot.n)
        self.tau_model = np.zeros(robot.n)
        self.tau_feedback = self.feedback.effort
        self._tau = np.zeros(robot.n)
        self._load_kernels()

    @property
    def frozen_reason(self) -> str:
        """Why the last update that should have adapted did not; empty when it did."""
        return self.learning.frozen_reason

    @property
    def frozen(self) -> bool:
        """Whether the law itself keeps the estimates from changing."""
        return bool(self.learning.frozen_reason)

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Forget filters and finite differences; keep what was learnt, unless it is in doubt.

        Where a refused step has frozen the estimates, what led there is among them: an arm
        that is about to be moved anew starts over from the model.
        """
        if self.learning.is_latched:
            self.learning.forget()
        self.learning.reset()
        self._applied[:] = 0.0

    def forget(self) -> None:
        """Return to the prior and let the estimates change again."""
        self.learning.forget()

    def save(self, path: str | Path) -> None:
        """Write what was learnt to a file; see `robot_dynamics.control.adaptation.estimates_file`.

        Raises
        ------
        ParameterError
            Where it cannot be written.
        """
        save_estimates(path, self.robot, self.estimate_names, self.adaptation.prior,
                       self.estimate)

    def restore(self, path: str | Path) -> None:
        """Go on from what was learnt before; what is remembered of past motion is forgotten.

        Raises
        ------
        ParameterError
            Where the file cannot be read, is of another robot or model, contradicts what is
            known, or has a link that no body can be.
        """
        prior = self.adaptation.prior
        estimate = load_estimates(path, self.robot, self.estimate_names, prior)
        if self.adaptation.keeps_bodies:
            require_bodies(path, self.robot, estimate)
        moved = self._constraints @ (estimate - prior)
        size = np.abs(self._constraints) @ np.maximum(np.abs(estimate), np.abs(prior))
        if np.any(np.abs(moved) > SAME * size):
            raise ParameterError('has another value of what is known', subject=str(path),
                                 remedy='name the same as known as when it was saved, or start '
                                        'from the model')
        self.learning.forget()
        outcome = self.adaptation.move_to(estimate)
        if outcome is not StepOutcome.ACCEPTED \
                or np.any(np.abs(self.estimate - estimate) > SAME * np.abs(estimate).max()):
            self.adaptation.reset()
            raise ParameterError('is beyond what estimates may be', subject=str(path),
                                 remedy='raise adaptation.largest_payload, or start from the '
                                        'model')

    def release(self) -> None:
        """Let the estimates change again after a refused step."""
        self.learning.release()

    def known_and_unknown(self, q: FloatArray, v: FloatArray, v_r: FloatArray, a_r: FloatArray,
                          ) -> tuple[FloatArray, FloatArray]:
        """Return Y_U, shape (n, u), and Y_K a_K, shape (n,), of a state and reference motion.

        tau = Y_U a_U + Y_K a_K + feedback, with a_U the coordinates of the estimate in
        `robot_dynamics.control.adaptation.partial_knowledge.unknown_directions`.
        """
        Y = self.dynamics.slotine_li_regressor(q, v, v_r, a_r, self.gains.terms)
        directions = unknown_directions(self._constraints)
        prior = self.adaptation.prior
        return known_and_unknown(Y, directions, prior - directions @ (directions.T @ prior))

    def note_applied(self, tau: FloatArray) -> None:
        """Say what was really sent after limits: the prediction error needs it."""
        self._applied[:] = tau

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Return the effort for this state and desired motion; see `TrackingController`."""
        feedback = self.feedback
        feedback.update(q, v, q_d, v_d, a_d)
        self._sum(self.estimate, self._load, self.parameters)
        self.tau_model, gradient = self.dynamics.adaptive_terms(
            q, v, feedback.v_r, feedback.a_r, feedback.s, self.parameters, self.gains.terms)
        if self._has_rotors:
            self.tau_model += self._rotors * feedback.a_r
        # Until efforts have gone over to what is carried, they differ from what is true.
        self.learning.learn(q, v, v_d, self._applied, dt, gradient,
                            adapt=adapt and not self.model.changes)
        self._sum(self.tau_model, self.tau_feedback, self._tau)
        self._applied[:] = self._tau
        return self._tau

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Take the arm to carry something; see `LoadedModel.carry`.

        It is known, and no part of the estimates: these stay those of the arm, and what is
        remembered of it stays true.
        """
        self.model.carry(load, seconds)
        self._note_load()

    def advance(self, dt: float) -> None:
        """Go on with a change of what is carried; see `LoadedModel.advance`."""
        if self.model.advance(dt):
            self._note_load()

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

    def _note_load(self) -> None:
        """Take over what is carried now."""
        carried = self.model.parameters - self.robot.inertial_parameters
        self._load[:carried.size] = carried.ravel()
        self.learning.prediction.known[:] = self._load

    def _gravity(self, q: FloatArray) -> FloatArray:
        """Return the effort that holds the arm, by the estimates unless these are in doubt."""
        if self.learning.is_latched:
            return self.model.gravity_torque(q)
        still, bodies = np.zeros(self.robot.n), self.adaptation.bodies
        return self.dynamics.adaptive_terms(q, still, still, still, still,
                                            bodies + self._load[:bodies.size])[0]


@kernel('void(f8[::1], f8[::1], f8[::1])')
def sum_of(one, other, out):
    """Write the sum of two vectors."""
    for i in range(out.size):
        out[i] = one[i] + other[i]


def make_feedback(robot: Robot, dynamics: Dynamics, gains: FeedbackGains | JointGains | None, *,
                  period: float, delay: float) -> LinearFeedback:
    """Return the feedback that gains of either form describe."""
    if isinstance(gains, JointGains):
        return JointFeedback(robot, dynamics, gains, period=period, delay=delay)
    feedback = FeedbackGains() if gains is None else gains
    check_gains(feedback, None, period=period, delay=delay)
    check_position_gain(dynamics, feedback, period=period, delay=delay)
    return LinearFeedback(robot, dynamics, feedback)


def make_adaptation(robot: Robot, dynamics: Dynamics, gains: AdaptationGains,
                    known: PartialKnowledge, constraints: FloatArray, limit: float
                    ) -> Adaptation | NaturalAdaptation:
    """Return the estimates with the update law that the gains name.

    Parameters
    ----------
    robot, dynamics : Robot, Dynamics
        The prior and its equations.
    gains : AdaptationGains
        The law and its gains.
    known : Known
        What is known, by name.
    constraints : ndarray, shape (k, p)
        The same as equations.
    limit : float
        Frequency w_A beyond which the loop is unstable. rad/s.

    Raises
    ------
    ParameterError
        Where the natural law is told of single parameters that are known.
    """
    parts, prior = gains.parts, robot.inertial_parameters
    bodies, terms = body_metric(robot, dynamics, gains), term_metric(robot, dynamics, gains)
    if not parts.is_natural:
        keeps_bodies = parts.keeps_bodies and gains.coordinates == 'links'
        return Adaptation(prior, bodies, terms, constraints=constraints,
                          keeps_bodies=keeps_bodies,
                          leakage=gains.leakage if parts.leaks else 0.0)
    if known.parameters or known.combinations:
        raise ParameterError('are known, but the natural law moves whole bodies',
                             subject=', '.join(known.parameters + known.combinations),
                             remedy='name whole links as known, or choose the law composite '
                                    'or memory')
    learnt = np.array([name not in known.links for name in robot.body_names])
    return NaturalAdaptation(prior, bodies, terms, learnt=learnt,
                             largest_frequency=NATURAL_SHARE * limit)


def refuse_unphysical(robot: Robot) -> None:
    """Raise InertiaError for the first link that no rigid body can be."""
    for name, parameters in zip(robot.body_names, robot.inertial_parameters, strict=True):
        verdict = check_body(parameters)
        if not verdict.is_consistent:
            raise InertiaError(f'cannot be a rigid body: {verdict.violation}', subject=name,
                               remedy='correct its mass and inertia, or set allow_unphysical: '
                                      'adaptation then starts from the nearest physical model')


@dataclass(frozen=True)
class LoopReport:
    """Frequencies of the loop, and their limits.

    Parameters
    ----------
    bandwidth : float
        omega_D. 1/s.
    largest_bandwidth : float
        What it may be at this period and delay. 1/s.
    frequency : float
        w_A at the worst point, without and with the payload. rad/s.
    limit : float
        Where the loop is unstable. rad/s.
    payload : float
        Largest payload expected. kg.
    law : str
        Name of the update law.
    """

    bandwidth: float
    largest_bandwidth: float
    frequency: float
    limit: float
    payload: float
    law: str

    def __str__(self) -> str:
        """Return it in one line."""
        return (f'update law {self.law}: feedback {self.bandwidth:.3g} of at most '
                f'{self.largest_bandwidth:.3g} 1/s, adaptation {self.frequency:.3g} of less than '
                f'{self.limit:.3g} rad/s, with up to {self.payload:.3g} kg at the tip')

    def require(self) -> None:
        """Raise ControlError where the loop is not stable."""
        # Written so that NaN fails.
        if not self.frequency < self.limit:
            raise ControlError(f'lets the estimates close the loop at {self.frequency:.3g} rad/s '
                               f'along this motion, beyond the stability limit of '
                               f'{self.limit:.3g} rad/s', subject='adaptation.frequency',
                               remedy='lower it in proportion')


def loop_report(law: AdaptiveController, reference: Reference | None = None, *,
                period: float = 0.002, delay: float = 0.001, payload: float | None = None,
                ) -> LoopReport:
    """Return what the gains of a law come to along a motion.

    Parameters
    ----------
    law : AdaptiveController
        The law with its gains.
    reference : Reference, optional
        The motion; motions all over the joint ranges where not given.
    period, delay : float
        Sampling period, and time from the measurement of a state to the torque that
        answers it. s.
    payload : float, optional
        Largest payload expected at the tips; the one that gains take for possible where not
        given. kg.
    """
    robot, gains = law.robot, law.gains
    motions = typical_motions(robot) if reference is None else _along(reference)
    load = gains.payload * float(robot.inertial_parameters[:, 0].sum()) \
        if payload is None else float(payload)
    gain = law.adaptation.gain()
    loaded = robot
    for tip in np.setdiff1d(np.arange(robot.n_bodies), robot.parents):
        if load > 0.0:
            loaded = with_payload(loaded, load, (0.0, 0.0, gains.spread * arm_length(robot)),
                                  frame=robot.body_names[tip])
    frequency = max(_frequency(dynamics, gain, motions, gains.terms)
                    for dynamics in (law.dynamics, Dynamics(loaded)))
    bandwidth = law.feedback.gains.bandwidth
    return LoopReport(bandwidth, FEEDBACK_MARGIN / dead_time(period, delay), frequency,
                      largest_frequency(bandwidth, period, delay), load, gains.law)


def _along(reference: Reference) -> Motions:
    """Return points of a reference."""
    end = min(reference.duration, LONGEST)
    return Motions(*reference.sample_many(np.linspace(0.0, end, POINTS)))


def _frequency(dynamics: Dynamics, gain: np.ndarray, motions: Motions,
               terms: tuple[str, ...]) -> float:
    """Return w_A with the joint terms, at the worst of some motions. rad/s."""
    Y = dynamics.regressor(motions.q, motions.v, motions.a, terms)
    stiffness = Y @ gain @ np.swapaxes(Y, -1, -2)
    mass = mass_matrices(dynamics, motions.q)
    eigenvalues = np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real
    return float(np.sqrt(max(eigenvalues.max(), 0.0)))
