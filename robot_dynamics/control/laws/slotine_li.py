# SPDX-License-Identifier: Apache-2.0
"""The adaptive tracking controller of Slotine and Li.

With e = q_d - q, v_r = v_d + lambda e, a_r = a_d + lambda e_dot and s = v_r - v::

    tau    = Yr(q, v, v_r, a_r) pi + K_D s + K_P e        K_D = omega_D M0(q)
    dpi/dt = Gamma Yr^T s

With the true parameters pi_true, in continuous time::

    V     = 1/2 s^T M s + 1/2 K_P |e|^2 + 1/2 |pi - pi_true|^2 (in Gamma^-1)
    dV/dt = -s^T K_D s - lambda K_P |e|^2 <= 0

so that the tracking error converges to zero, even if the parameters do not. The law also learns
from the prediction error of recent samples (`robot_dynamics.control.adaptation.learning`) and from
the memory of past motion (`robot_dynamics.control.adaptation.regressor_memory`); V does not grow
by either.

The gains follow from rules: K_D = omega_D M0(q), and Gamma from a covariance of the prior, scaled
so that the frequency of the adaptation loop is at most w_A
(`robot_dynamics.control.adaptation.metric`). `loop_report` evaluates both along a motion, with the
model as given and with the largest expected payload, joint terms included::

    w_A^2 = lambda_max(M^-1 Y Gamma Y^T) < omega_D / (T/2 + delay)

References
----------
J.-J. E. Slotine and W. Li, "On the adaptive control of robot manipulators", International Journal
of Robotics Research 6(3), 1987, eqs. (9)-(16).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
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
from robot_dynamics.control.adaptation.metric import (
    adaptive_loop_frequency,
    body_metric,
    term_metric,
)
from robot_dynamics.control.adaptation.natural_adaptation import NaturalAdaptation
from robot_dynamics.control.adaptation.partial_knowledge import (
    PartialKnowledge,
    unknown_directions,
)
from robot_dynamics.control.feedback.gains import (
    FEEDBACK_MARGIN,
    LATE_MARGIN,
    AdaptationGains,
    FeedbackGains,
    check_gains,
    dead_time,
    largest_frequency,
)
from robot_dynamics.control.feedback.linear_feedback import JointGains, make_feedback
from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.control.feedback.typical_motions import Motions, typical_motions
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, InertiaError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot, arm_length

#: Share of the stability limit of w_A that a natural law may use.
NATURAL_SHARE = 0.7
#: Number of past estimates for `AdaptiveController.forget_recent`, and the time between two. s.
KEPT, KEPT_EVERY = 3, 0.1
#: Points of a reference in a loop report, and the part of an endless reference, s.
POINTS, LONGEST = 200, 60.0


class AdaptiveController:
    """Adaptive torque law with estimates of all inertial and friction parameters.

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`.

    Parameters
    ----------
    robot : Robot
        The model as given: prior of the estimates and source of K_D.
    feedback : FeedbackGains or JointGains, optional
        Gains of the feedback omega_D M0(q) s + K_P e, or of K_P e + K_D e_dot with diagonal K_P
        and K_D.
    adaptation : AdaptationGains, optional
        Gains of the adaptation, its update law and coordinates.
    known : PartialKnowledge, optional
        Known part of the model: the rest is learnt.
    period, delay : float
        Sampling period, and time from the measurement of a state to the effort that answers it;
        the gains are checked against them. s.
    allow_unphysical : bool
        Accept a model with links that are not physically consistent, and start from the nearest
        consistent one. Such a model is rejected otherwise.
    dynamics : Dynamics, optional
        Equations of the robot, where they exist already.

    Attributes
    ----------
    estimate : ndarray
        Present estimates of inertial parameters and joint terms, without payload; a view, in the
        order of `estimate_names`.
    parameters : ndarray
        The same with the payload, as of the last update.
    model : LoadedModel
        The model as given, with its payload.
    e, e_dot, s : ndarray, shape (n,)
        Position and velocity error and sliding variable of the last update.
    tau_model, tau_feedback : ndarray, shape (n,)
        Parts of the last effort: Yr pi with the joint terms, and feedback.
    learning : Learning
        Update of the estimates; a rejected step freezes them until `release`.

    Raises
    ------
    InertiaError
        If a link of the model is not physically consistent, unless `allow_unphysical`.
    ControlError
        If the gains are unstable at this period and delay.

    See Also
    --------
    loop_report : Stability of the gains along a motion.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> controller = AdaptiveController(Robot.from_urdf('planar_2r'))
    >>> q, rest, wanted = np.array([0.3, 0.4]), np.zeros(2), np.array([0.31, 0.4])
    >>> for _ in range(2):
    ...     tau = controller.update(q, rest, wanted, rest, rest, 0.002, adapt=True)
    >>> controller.frozen, bool(np.any(controller.estimate != controller.adaptation.prior))
    (False, True)
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
        self._period, self._delay = period, delay
        self.estimate_names = dynamics.column_names(gains.terms)
        self.known = PartialKnowledge() if known is None else known
        self._constraints = self.known.constraints(robot, self.estimate_names)
        limit = largest_frequency(self.feedback.gains.bandwidth, period, delay)
        self.adaptation = make_adaptation(robot, dynamics, gains, self.known, self._constraints,
                                          limit)
        self.estimate = self.adaptation.estimate
        self.parameters, self._load = self.estimate.copy(), np.zeros(self.estimate.size)
        # A rotor inertia that is not estimated counts as known.
        self._rotors = np.where('armature' in gains.terms, 0.0, robot.armature)
        self._has_rotors = bool(np.any(self._rotors))
        self.learning = Learning(dynamics, self.adaptation, self.feedback, gains,
                                 self._constraints, self._rotors)
        self._applied = np.zeros(robot.n)
        self.e, self.e_dot, self.s = self.feedback.e, self.feedback.e_dot, self.feedback.s
        self.damping_rate = self.feedback.damping_rate
        self.longest_delay = LATE_MARGIN / self.damping_rate
        self.tau_model = np.zeros(robot.n)
        self.tau_feedback = self.feedback.effort
        self._tau = np.zeros(robot.n)
        self._recent: deque[FloatArray] = deque(maxlen=KEPT)
        self._since_kept = 0.0
        self._load_kernels()
        self._recent.clear()

    @property
    def frozen_reason(self) -> str:
        """Reason why the last update did not adapt although that was allowed; empty if it did."""
        return self.learning.frozen_reason

    @property
    def frozen(self) -> bool:
        """Whether the law itself keeps the estimates from changing."""
        return bool(self.learning.frozen_reason)

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Reset filters and finite differences; keep the estimates, unless they are frozen.

        Estimates that a rejected step froze may be wrong: the law then restarts from the model.
        """
        if self.learning.is_latched:
            self.learning.forget()
        self.learning.reset()
        self._applied[:] = 0.0

    def forget(self) -> None:
        """Return to the prior and let the estimates change again."""
        self.learning.forget()

    def forget_recent(self) -> None:
        """Return to the estimates of 0.2 to 0.3 s ago; the memory of past motion is cleared."""
        if not self._recent or self.learning.is_latched:
            return
        trusted = self._recent[0]
        self.learning.forget()
        self.adaptation.move_to(trusted)
        self._recent.clear()

    def save(self, path: str | Path) -> None:
        """Write the estimates to a file; see `robot_dynamics.control.adaptation.estimates_file`.

        Raises
        ------
        FileError
            Where it cannot be written, or a file of the user is in its place.
        """
        save_estimates(path, self.robot, self.estimate_names, self.adaptation.prior,
                       self.estimate)

    def restore(self, path: str | Path) -> None:
        """Continue from saved estimates; the memory of past motion is cleared.

        Raises
        ------
        ParameterError
            If the file cannot be read, is of another robot or model, contradicts known
            parameters, or has a link that is not physically consistent.
        """
        prior = self.adaptation.prior
        estimate = load_estimates(path, self.robot, self.estimate_names, prior)
        if self.adaptation.keeps_bodies:
            require_bodies(path, self.robot, estimate)
        moved = self._constraints @ (estimate - prior)
        size = np.abs(self._constraints) @ np.maximum(np.abs(estimate), np.abs(prior))
        if np.any(np.abs(moved) > SAME * size):
            raise ParameterError('has another value of a known parameter', subject=str(path),
                                 remedy='declare the same known parameters as when it was '
                                        'saved, or start from the model')
        self.learning.forget()
        outcome = self.adaptation.move_to(estimate)
        if outcome is not StepOutcome.ACCEPTED \
                or np.any(np.abs(self.estimate - estimate) > SAME * np.abs(estimate).max()):
            self.adaptation.reset()
            raise ParameterError('has values beyond the range of the estimates',
                                 subject=str(path),
                                 remedy='raise adaptation.largest_payload, or start from the '
                                        'model')

    def release(self) -> None:
        """Let the estimates change again after a rejected step."""
        self.learning.release()

    def known_and_unknown(self, q: FloatArray, v: FloatArray, v_r: FloatArray, a_r: FloatArray,
                          ) -> tuple[FloatArray, FloatArray]:
        """Y_U, shape (n, u), and Y_K a_K, shape (n,), of a state and reference motion.

        tau = Y_U a_U + Y_K a_K + feedback, with a_U the coordinates of the estimate in
        `robot_dynamics.control.adaptation.partial_knowledge.unknown_directions`.
        """
        Y = self.dynamics.slotine_li_regressor(q, v, v_r, a_r, self.gains.terms)
        N, prior = unknown_directions(self._constraints), self.adaptation.prior
        return Y @ N, Y @ (prior - N @ (N.T @ prior))

    def note_applied(self, tau: FloatArray) -> None:
        """Take the effort that was sent after limits, for the prediction error."""
        self._applied[:] = tau

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort for a state and desired motion; see `TrackingController`."""
        feedback = self.feedback
        feedback.update(q, v, q_d, v_d, a_d)
        np.add(self.estimate, self._load, out=self.parameters)
        self.tau_model, gradient = self.dynamics.adaptive_terms(
            q, v, feedback.v_r, feedback.a_r, feedback.s, self.parameters, self.gains.terms)
        if self._has_rotors:
            self.tau_model += self._rotors * feedback.a_r
        # While the payload changes, the efforts of the model differ from the true ones.
        self.learning.learn(q, v, v_d, self._applied, dt, gradient,
                            adapt=adapt and not self.model.changes)
        self._since_kept += dt
        if self._since_kept >= KEPT_EVERY or not self._recent:
            self._since_kept = 0.0
            self._recent.append(self.estimate.copy())
        np.add(self.tau_model, self.tau_feedback, out=self._tau)
        self._applied[:] = self._tau
        return self._tau

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Begin a change of the payload; see `LoadedModel.carry`.

        The payload is known and not part of the estimates, so that the memory stays valid.
        """
        self.model.carry(load, seconds)
        self._note_load()

    def check_frequency(self, frequency: float, feedback: FeedbackGains) -> None:
        """Reject a frequency of the adaptation, rad/s, that is unstable with a feedback.

        Raises a ControlError that names the gain and its largest value.
        """
        gains = replace(self.gains, frequency=frequency, term_frequency=self.gains.term_frequency
                        * frequency / self.gains.frequency)
        check_gains(feedback, gains, period=self._period, delay=self._delay)

    def change_frequency(self, frequency: float, seconds: float) -> None:
        """Begin a change of the frequency of the adaptation, rad/s, over a time, s.

        The gains of inertial parameters and joint terms change in proportion to its square.
        Raises a ControlError, and changes nothing, if it is unstable.
        """
        self.check_frequency(frequency, self.feedback.gains)
        self.learning.change_rate((frequency / self.gains.frequency)**2, seconds)

    def advance(self, dt: float) -> None:
        """Continue changes of the payload and of the gains."""
        self.feedback.advance(dt)
        self.learning.advance(dt)
        if self.model.changes:
            self.model.advance(dt)
            self._note_load()

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Feedback to rest at a pose plus gravity as estimated, shape (n,), N m or N."""
        still = np.zeros(self.robot.n)
        return self.feedback.update(q, v, q_hold, still, still) + self._gravity(q)

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Gravity plus damping -K_D v, shape (n,), N m or N.

        Gravity as estimated, or as in the prior where a rejected step froze the estimates.
        """
        return self._gravity(q) + self.feedback.damping(q, v)

    def _load_kernels(self) -> None:
        """Call every equation once, so that all are compiled before the loop starts."""
        still = np.zeros(self.robot.n)
        for _ in range(2):
            self.update(still, still, still, still, still, self.gains.longest_step, adapt=False)
        self.safe_effort(still, still)
        self.dynamics.gravity_torque(still)
        self.reset(still, still)

    def _note_load(self) -> None:
        """Update the parameters of the payload."""
        load = self.model.parameters - self.robot.inertial_parameters
        self._load[:load.size] = load.ravel()
        self.learning.prediction.known[:] = self._load

    def _gravity(self, q: FloatArray) -> FloatArray:
        """Gravity effort, by the estimates unless a rejected step froze them."""
        if self.learning.is_latched:
            return self.model.gravity_torque(q)
        still, bodies = np.zeros(self.robot.n), self.adaptation.bodies
        return self.dynamics.adaptive_terms(q, still, still, still, still,
                                            bodies + self._load[:bodies.size])[0]


def make_adaptation(robot: Robot, dynamics: Dynamics, gains: AdaptationGains,
                    known: PartialKnowledge, constraints: FloatArray, limit: float
                    ) -> Adaptation | NaturalAdaptation:
    """Estimates with the update law of the gains.

    `constraints`, shape (k, p), are the equations of `known`; `limit` is the largest frequency w_A
    of a stable loop, rad/s. Raises a ParameterError if single parameters are known under a
    natural law.
    """
    parts, prior = gains.parts, robot.inertial_parameters
    bodies, terms = body_metric(robot, dynamics, gains), term_metric(robot, dynamics, gains)
    if not parts.is_natural:
        keeps_bodies = parts.keeps_bodies and gains.coordinates == 'links'
        return Adaptation(prior, bodies, terms, constraints=constraints,
                          keeps_bodies=keeps_bodies,
                          leakage=gains.leakage if parts.leaks else 0.0)
    if known.parameters or known.combinations:
        raise ParameterError('must not be known under the natural law, which adapts whole '
                             'bodies', subject=', '.join(known.parameters + known.combinations),
                             remedy='declare whole links as known, or choose the law composite '
                                    'or memory')
    learnt = np.array([name not in known.links for name in robot.body_names])
    return NaturalAdaptation(prior, bodies, terms, learnt=learnt,
                             largest_frequency=NATURAL_SHARE * limit)


def refuse_unphysical(robot: Robot) -> None:
    """Raise InertiaError for the first link that is not physically consistent."""
    for name, parameters in zip(robot.body_names, robot.inertial_parameters, strict=True):
        verdict = check_body(parameters)
        if not verdict.is_consistent:
            raise InertiaError(f'cannot be a rigid body: {verdict.violation}', subject=name,
                               remedy='correct its mass and inertia, or set allow_unphysical: '
                                      'adaptation then starts from the nearest physical model')


@dataclass(frozen=True)
class LoopReport:
    """Frequencies of the loop, and their limits.

    omega_D and its limit, 1/s; w_A at the worst point, without and with the payload, and its
    limit, rad/s; the largest expected payload, kg.
    """

    bandwidth: float
    largest_bandwidth: float
    frequency: float
    limit: float
    payload: float
    law: str

    def __str__(self) -> str:
        """The report in one line."""
        return (f'update law {self.law}: feedback {self.bandwidth:.3g} of at most '
                f'{self.largest_bandwidth:.3g} 1/s, adaptation {self.frequency:.3g} of less than '
                f'{self.limit:.3g} rad/s, with up to {self.payload:.3g} kg at the tip')

    def require(self) -> None:
        """Raise ControlError where the loop is not stable."""
        # Written so that NaN fails.
        if not self.frequency < self.limit:
            raise ControlError(f'gives a loop of {self.frequency:.3g} rad/s along this motion, '
                               f'beyond the stability limit of {self.limit:.3g} rad/s',
                               subject='adaptation.frequency', remedy='lower it in proportion')


def loop_report(law: AdaptiveController, reference: Reference | None = None, *,
                period: float = 0.002, delay: float = 0.001, payload: float | None = None,
                ) -> LoopReport:
    """Frequencies of the loop of a law along a motion.

    Parameters
    ----------
    law : AdaptiveController
        The law with its gains.
    reference : Reference, optional
        The motion; motions across the joint ranges by default.
    period, delay : float
        Sampling period, and time from the measurement of a state to the effort that answers it. s.
    payload : float, optional
        Largest expected payload at the tips; that of the gains by default. kg.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> report = loop_report(AdaptiveController(Robot.from_urdf('planar_2r')))
    >>> report.law, report.frequency < report.limit
    ('memory', True)
    """
    robot, gains = law.robot, law.gains
    if reference is None:
        motions = typical_motions(robot)
    else:
        end = min(reference.duration, LONGEST)
        motions = Motions(*reference.sample_many(np.linspace(0.0, end, POINTS)))
    load = gains.payload * float(robot.inertial_parameters[:, 0].sum()) \
        if payload is None else float(payload)
    gain = law.adaptation.gain()
    loaded = robot
    for tip in np.setdiff1d(np.arange(robot.n_bodies), robot.parents):
        if load > 0.0:
            loaded = with_payload(loaded, load, (0.0, 0.0, gains.spread * arm_length(robot)),
                                  frame=robot.body_names[tip])
    frequency = max(adaptive_loop_frequency(dynamics, gain, motions, gains.terms)
                    for dynamics in (law.dynamics, Dynamics(loaded)))
    bandwidth = law.feedback.gains.bandwidth
    return LoopReport(bandwidth, FEEDBACK_MARGIN / dead_time(period, delay), frequency,
                      largest_frequency(bandwidth, period, delay), load, gains.law)
