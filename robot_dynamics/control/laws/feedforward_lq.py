# SPDX-License-Identifier: Apache-2.0
"""Feedforward of the model, and a least squares feedback around the trajectory.

With x = (q - q_d, v - v_d)::

    tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d) + friction(v_d) - K x

The gain K is that of the linear model at the desired motion, not at the measured one. It is as
smooth as the trajectory, and can be computed ahead if the trajectory is known. It is updated every
few samples and interpolated in between, so that it never jumps. The same law holds the arm before
it tracks, so that its certificate is valid there, too.

As an option of the design, unknown torques are estimated and compensated
(`robot_dynamics.control.lq.rules`). Their integral is bounded, pauses while efforts are cut, the
arm is held or states are missing, and is cleared by `reset`.

References
----------
J. C. Van Winssen and C. W. deSilva, "Accurate trajectory control of robotic manipulators",
Carnegie Mellon University, CMU-RI-TR-85-15, 1985, section 2.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.control.checks import not_negative, positive
from robot_dynamics.control.feedback.gains import FEEDBACK_MARGIN, LATE_MARGIN, dead_time
from robot_dynamics.control.feedback.loaded_model import FeedforwardModel
from robot_dynamics.control.feedback.typical_motions import mass_matrices, typical_motions
from robot_dynamics.control.laws.model_based import LawWithPayload
from robot_dynamics.control.lq.certificate import Certificate, ModelErrors, certify
from robot_dynamics.control.lq.design import (
    FASTEST,
    FeedbackDesign,
    Schedule,
    ScheduleState,
    rescaled_weights,
)
from robot_dynamics.control.lq.gain_table import GainTable
from robot_dynamics.control.lq.rules import (
    DEFAULT_ORDER,
    GainRule,
    rule_of_design,
    sufficient_order,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ControlError, DimensionError, ParameterError, StateError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Longest time between two states over which an error is integrated, in periods.
LONGEST_GAP = 10.0

#: Result for an argument of another length than the number of joints.
WRONG_SIZE = -np.inf

#: Number of points across the range of an arm at which a feedback is checked without a trajectory.
CERTIFIED_POINTS = 40
#: Longest period for which the series of a linear model are valid. s.
LONGEST_PERIOD = 1.0


class FeedforwardLQController(LawWithPayload):
    """Feedforward and least squares feedback.

    Implements `robot_dynamics.control.feedback.protocol.TrackingController`.

    Parameters
    ----------
    robot : Robot
        The model, including a payload that is always carried.
    gain : {'riccati', 'one_step'}
        The regulator of the infinite horizon, or the minimiser of one step.
    design : FeedbackDesign, optional
        Bandwidth and time constant, and the compensation of unknown torques.
    schedule : Schedule, optional
        Thresholds of feedback, gain updates and stops.
    errors : ModelErrors, optional
        Largest differences between arm and model; see `certify`.
    period, delay : float
        Sampling period, and time from the measurement of a state to the effort that answers it. s.
    order : int, optional
        Last power of A T in the series of Phi; by default as high as this arm needs.
    rule : GainRule, optional
        Rule of the gains, instead of gain, design and order.
    dynamics : Dynamics, optional
        Equations of the robot, where they exist already.

    Attributes
    ----------
    certificate : Certificate
        Stability of the feedback across the range of the arm.
    model : FeedforwardModel
        Model of feedforward and linearisation.
    rule : GainRule
        Rule of the gains.
    e, e_dot : ndarray, shape (n,)
        Errors q_d - q and v_d - v of the last update.
    certified_load : ndarray, shape (nb, 10)
        Payload of the certificate.
    error_norm : float
        ``mean |e| + t_c mean |e_dot|`` of the last update, t_c the time constant. rad or m.
    K : ndarray, shape (n, 2 n) or (n, 3 n)
        Gain of the last update; columns of the integral, if any, come last.
    tau_model, tau_feedback : ndarray, shape (n,)
        Parts of the last effort: feedforward and -K x.
    disturbance : SummedDisturbance or None
        The third part: compensation of unknown torques.
    from_table : int
        Number of gains taken from a table.

    Raises
    ------
    ControlError
        If the feedback is unstable at this period and delay, for the arm as modelled or for one
        within `errors`, with present gains or those of the previous update.
    InertiaError
        If some motion of the model moves no mass.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> controller = FeedforwardLQController(Robot.from_urdf('arm7'), delay=0.001)
    >>> controller.certificate.is_stable, controller.K.shape
    (True, (7, 14))
    """

    model: FeedforwardModel

    def __init__(self, robot: Robot, *, gain: str = 'riccati',
                 design: FeedbackDesign | None = None, schedule: Schedule | None = None,
                 errors: ModelErrors | None = None, period: float = 0.002, delay: float = 0.002,
                 order: int | None = None, rule: GainRule | None = None,
                 dynamics: Dynamics | None = None):
        robot.require_single_coordinates('feedforward and LQ control')
        self.robot = robot
        self.period = positive('period', period, 's')
        if not 1.0 / FASTEST <= self.period <= LONGEST_PERIOD:
            raise ParameterError(f'must be between {1.0 / FASTEST:g} and {LONGEST_PERIOD:g} s, '
                                 f'got {self.period:g}', subject='period', remedy='give it in s')
        self.delay = not_negative('delay', delay, 's')
        self.design = FeedbackDesign() if design is None else design
        self.schedule = ScheduleState(Schedule() if schedule is None else schedule)
        self.model = FeedforwardModel(robot, dynamics)
        # Checked before any gain is computed: the error names the joint.
        motions = typical_motions(robot)
        mass_matrices(self.model.empty, motions.q)
        self.rule = rule_of_design(gain, robot.n, self.design, self.period, order=DEFAULT_ORDER
                                   if order is None else order) if rule is None else rule
        if rule is None and order is None:
            points = self.model.linearise(motions.q, motions.v, motions.a)
            self.rule = rule_of_design(gain, robot.n, self.design, self.period,
                                       order=sufficient_order(points, self.rule.time))
        self._errors = ModelErrors() if errors is None else errors
        self.certificate: Certificate
        self.certified_load = self.model.load
        self.certify()
        self._table: GainTable | None = None
        self.from_table = 0
        self._apply, self._subtract = apply_feedback.load(), tracking_errors.load()
        self._turns = np.ascontiguousarray(robot.is_continuous)
        n = robot.n
        self.e, self.e_dot = np.zeros(n), np.zeros(n)
        self.error_norm = 0.0
        self.K, self._K_next, self._K_held = np.zeros((3, n, self.rule.columns))
        self.damping_rate = min(self.design.damping,
                            FEEDBACK_MARGIN / dead_time(self.period, self.delay))
        self.longest_delay = LATE_MARGIN / self.damping_rate
        self._largest = np.zeros(2 * n)
        self._lead_left = 0.0
        largest = self.design.largest_disturbance * np.fmin(robot.limits.effort, np.inf)
        self.disturbance = SummedDisturbance(largest, self.period) \
            if self.rule.columns > 2 * n else None
        self.tau_model, self.tau_feedback = np.zeros(n), np.zeros(n)
        self._tau = np.zeros(n)
        self._load_kernels()

    @property
    def follows_table(self) -> bool:
        """Whether gains were computed ahead."""
        return self._table is not None

    def reset(self, q: FloatArray, v: FloatArray) -> None:
        """Clear gain, schedule and disturbance; keep payload and certificate."""
        self.schedule.reset()
        if self.disturbance is not None:
            self.disturbance.reset()
        self._largest[:] = 0.0
        self._lead_left = 0.0

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Begin a change of the payload; see `LoadedModel.carry`.

        Feedforward and gains follow without a jump of the effort; gains computed ahead are
        discarded.
        """
        super().carry(load, seconds)
        self._table = None

    def follow(self, table: GainTable | None) -> None:
        """Take gains from a table while the desired motion is on its trajectory."""
        if table is not None and table.gains.shape[1:] != self.K.shape:
            joints, columns = table.gains.shape[1:]
            raise DimensionError(f'must have {self.robot.n} joints with {self.K.shape[1]} gains '
                                 f'each, got {joints} with {columns}', subject='gain table',
                                 remedy='compute it along a trajectory of this robot, with the '
                                        'same design')
        self._table = table

    def certify(self) -> None:
        """Check the feedback with the present payload across the range of the arm.

        Raises
        ------
        ControlError
            If it is unstable.
        """
        motions = typical_motions(self.robot)
        points = [x[:CERTIFIED_POINTS] for x in (motions.q, motions.v, motions.a)]
        self.certificate = self.certify_along(*points)
        self.certificate.require()
        self._require_stale_gains(*points)
        most = self.schedule.schedule.rescale
        if most > 1.0:
            # The extreme weights during operation: stiffest first, then best damped.
            try:
                for factors in ((most, 1.0 / most), (1.0 / most, most)):
                    self.rule.weights[:] = (self.rule.base_weights
                                            * np.repeat(factors, self.robot.n))
                    self.certify_along(*points).require()
            finally:
                self.rule.weights[:] = self.rule.base_weights
        self.certified_load = self.model.load

    def _require_stale_gains(self, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Check gains that are one update period old; reject too long a period."""
        age = self.schedule.schedule.update_period
        robot = self.model.robot
        gains = self.rule.gains_at(FeedforwardModel(robot).linearise(q - age * v, v, a))
        worst = certify(self.rule, robot, q, v, a, period=self.period, delay=self.delay,
                        errors=self._errors, gains=gains).worst
        if not worst.is_stable:
            raise ControlError(f'is {age:g} s, too long for this arm: spectral radius '
                               f'{worst.radius:.4f} of the arm "{worst.arm}" with old gains',
                               subject='update_period',
                               remedy=f'set it to {Schedule.update_period:g} s')

    def certify_along(self, q: FloatArray, v: FloatArray, a: FloatArray) -> Certificate:
        """Check the feedback along a trajectory with the present payload.

        Parameters
        ----------
        q, v, a : ndarray, shape (k, n)
            Points of it.
        """
        return certify(self.rule, self.model.robot, q, v, a, period=self.period,
                       delay=self.delay, errors=self._errors)

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray, dt: float, *, adapt: bool) -> FloatArray:
        """Effort for a state and desired motion; see `TrackingController`.

        Raises
        ------
        StateError
            If one of them is not finite; names the joint.
        StopRequestedError
            If the error is excessive.
        """
        q_d, v_d, a_d = self._subtracted(q, v, q_d, v_d, a_d)
        # NaN and negative time count as no time.
        dt = dt if dt > 0.0 else 0.0
        schedule = self.schedule
        schedule.observe(self.error_norm, dt)
        self.tau_model = self.model.feedforward(q_d, v_d, a_d)
        if schedule.is_due:
            self._update_gain(q_d, v_d, a_d)
        share = 1.0 if dt >= self._lead_left else dt / self._lead_left
        self._lead_left = max(self._lead_left - dt, 0.0)
        self._apply(self.e, self.e_dot, self._K_next, share, self.K, self.tau_feedback)
        if not schedule.feeds_back:
            self.tau_feedback[:] = 0.0
        tau = np.add(self.tau_model, self.tau_feedback, out=self._tau)
        if self.disturbance is not None:
            tau += self.disturbance.effort
            if adapt and schedule.feeds_back:
                self.disturbance.add(self.K, self.e, dt)
        return tau

    def holding_effort(self, q: FloatArray, v: FloatArray, q_hold: FloatArray) -> FloatArray:
        """Effort of the law at rest at a pose, shape (n,), N m or N.

        With the gain of that pose, independent of the schedule, and without the disturbance
        integral.
        """
        still = np.zeros(self.robot.n)
        q_d, v_d, a_d = self._subtracted(q, v, q_hold, still, still)
        self.rule.weights[:] = self.rule.base_weights
        self.rule.gain(self.model.linearise(q_d, v_d, a_d), self._K_held)
        # Without the integral, which would push against an obstacle.
        self._apply(self.e, self.e_dot, self._K_held, 1.0, self._K_held, self.tau_feedback)
        return self.model.feedforward(q_d, v_d, a_d) + self.tau_feedback

    def safe_effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Gravity plus damping -k M v, shape (n,), N m or N.

        k is k_v of the design, limited to `FEEDBACK_MARGIN` / (T/2 + delay).
        """
        return self.model.gravity_torque(q) - self.damping_rate * (self.model.mass_matrix(q) @ v)

    def _subtracted(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
                    a_d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Write errors and their norm; return the desired motion as arrays for the kernels."""
        # Positions and velocities are scaled to one unit, so that they can be added.
        rest = (self._turns, self.design.time_constant, self.e, self.e_dot, self._largest)
        try:
            norm = self._subtract(q, v, q_d, v_d, a_d, *rest)
        except TypeError:  # read-only, strided or of another type: slower, but right
            q, v, q_d, v_d, a_d = (np.array(x, dtype=np.float64) for x in (q, v, q_d, v_d, a_d))
            norm = self._subtract(q, v, q_d, v_d, a_d, *rest)
        if norm == WRONG_SIZE:
            raise DimensionError(f'must have shape ({self.robot.n},)',
                                 subject='q, v, q_d, v_d and a_d',
                                 remedy='give one value for each of: '
                                        + ', '.join(self.robot.joint_names))
        if norm < 0.0:
            raise StateError('has a state or desired motion that is not finite',
                             subject=self.robot.joint_names[int(-1.0 - norm)],
                             remedy='pass only complete, finite states to a controller')
        self.error_norm = norm
        return q_d, v_d, a_d

    def _update_gain(self, q_d: FloatArray, v_d: FloatArray, a_d: FloatArray) -> None:
        """Find the gain at the desired motion, and begin to interpolate to it."""
        K = None if self._table is None else self._table.find(q_d, v_d)
        if K is not None:
            self._K_next[:] = K
            self.from_table += 1
        else:
            if self.schedule.schedule.rescale > 1.0:
                self.rule.weights[:] = rescaled_weights(
                    self.rule.base_weights, self._largest, self.schedule.schedule.rescale)
            self.rule.gain(self.model.linearise(q_d, v_d, a_d), self._K_next)
        self._largest[:] = 0.0
        self._lead_left = 0.0 if self.schedule.is_first else self.schedule.schedule.update_period
        self.schedule.note_updated()

    def _load_kernels(self) -> None:
        """Call every equation once, so that all are compiled before the loop starts."""
        still = np.zeros(self.robot.n)
        for _ in range(2):
            self.update(still, still, still, still, still, self.period, adapt=False)
        self.holding_effort(still, still, still)
        self.safe_effort(still, still)
        self.schedule = ScheduleState(self.schedule.schedule)
        self.reset(still, still)


@kernel('f8(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], b1[::1], f8, f8[::1], '
                        'f8[::1], f8[::1])', on_demand=True)
def tracking_errors(q, v, q_d, v_d, a_d, turns, velocity_share, e, e_dot, largest):
    """Write e = q_d - q and e_dot = v_d - v, update the largest of each, and return the norm.

    The short way round for continuous joints. The norm is ``mean |e| + velocity_share mean
    |e_dot|``, or -1 - i where joint i is not finite, or WRONG_SIZE.
    """
    n = e.size
    if not (q.size == n and v.size == n and q_d.size == n and v_d.size == n and a_d.size == n):
        return WRONG_SIZE
    norm = 0.0
    for i in range(n):
        error = q_d[i] - q[i]
        if turns[i]:
            error -= 2.0 * np.pi * np.round(error / (2.0 * np.pi))
        e[i] = error
        e_dot[i] = v_d[i] - v[i]
        if not np.isfinite(e[i] + e_dot[i] + a_d[i]):
            return -1.0 - i
        norm += abs(e[i]) + velocity_share * abs(e_dot[i])
    for i in range(n):
        largest[i] = max(largest[i], abs(e[i]))
        largest[n + i] = max(largest[n + i], abs(e_dot[i]))
    return norm / n


@kernel('void(f8[::1], f8[::1], f8[:, ::1], f8, f8[:, ::1], f8[::1])', on_demand=True)
def apply_feedback(e, e_dot, K_next, share, K, effort):
    """Move K by a share of the way to K_next, and write the effort K (e, e_dot).

    The gain of the integral in the last columns is moved as well.
    """
    n = e.size
    for i in range(n):
        total = 0.0
        for j in range(K.shape[1]):
            K[i, j] += share * (K_next[i, j] - K[i, j])
        for j in range(n):
            total += K[i, j] * e[j] + K[i, n + j] * e_dot[j]
        effort[i] = total


class SummedDisturbance:
    """Integral part of the estimate of unknown torques: `effort`, shape (n,), within its bound."""

    def __init__(self, bound: FloatArray, period: float):
        self.effort = np.zeros(len(bound))
        self._bound = np.ascontiguousarray(bound)
        self._longest = LONGEST_GAP * period
        self._add = add_error.load()

    def reset(self) -> None:
        """Clear the sum."""
        self.effort[:] = 0.0

    def add(self, K: FloatArray, e: FloatArray, dt: float) -> None:
        """Add an error q_d - q over a time, s, with the gain K (n, 3 n); ignored after a gap."""
        # Written so that NaN is ignored.
        if 0.0 < dt <= self._longest:
            self._add(K, e, dt, self._bound, self.effort)


@kernel('void(f8[:, ::1], f8[::1], f8, f8[::1], f8[::1])', on_demand=True, nogil=True)
def add_error(K, e, dt, bound, effort):
    """Add dt K_i e to an effort, within its bounds; NaN and inf are ignored."""
    n = e.size
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += K[i, 2 * n + j] * e[j]
        if math.isfinite(dt * total):
            effort[i] = min(max(effort[i] + dt * total, -bound[i]), bound[i])
