# SPDX-License-Identifier: Apache-2.0
"""The linear feedback of the tracking controllers, in two forms, and its stability.

With e = q_d - q (the short way round for continuous joints), e_dot = v_d - v and s = e_dot +
lambda e::

    tau_fb = omega_D M0(q) s + K_P e

M0 is the mass matrix of the model as given. One bandwidth omega_D therefore suits both a heavy
shoulder and a light wrist, and K_D = omega_D M0(q) stays symmetric and positive definite during
adaptation. The reference motion of the adaptive law is v_r = v_d + lambda e = v + s and a_r = a_d
+ lambda e_dot. The second form has constant diagonal gains, `JointGains`::

    tau_fb = K_P e + K_D e_dot = K_D s,   Lambda = K_D^-1 K_P

To first order, the open loop of a joint under omega_D M s + K_P e with dead time tau is ``(omega_D
p + omega_D lambda + kappa) / p^2 exp(-p tau)``, kappa an eigenvalue of M^-1 K_P. K_P makes
position errors decay as if lambda were larger by kappa / omega_D. The lightest motion of the arm
has the largest kappa: a position gain that is small for a shoulder can make a wrist oscillate.
Gains beyond `FEEDBACK_MARGIN` or `RATE_MARGIN` are refused if the sampled and delayed loop is
unstable somewhere across the joint ranges, for the arm with the rotors that its drives have or are
assumed to have (`robot_dynamics.control.feedback.drives`). Otherwise `LinearFeedback.warning`
names them.

References
----------
A. De Luca, Robotics 2, examination of 12 July 2021, exercise 3, eq. (2): constant gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.checks import exceeds, rounded_down
from robot_dynamics.control.feedback.drives import with_rotors
from robot_dynamics.control.feedback.gains import (
    FEEDBACK_MARGIN,
    RATE_MARGIN,
    FeedbackGains,
    check_gains,
    dead_time,
)
from robot_dynamics.control.feedback.sampled_loop import closed_loop, spectral_radii
from robot_dynamics.control.feedback.typical_motions import mass_matrices, typical_motions
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.errors import ControlError, DimensionError, ParameterError, StateError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Largest ratio of the damping rate after a change during control to the first one. Supervision
#: ends a loop with a dead time above the inverse of the first rate, and s is stable up to pi/2
#: over the present one.
RETUNED = 1.5
#: Number of postures at which gains are judged during control, in some ms.
LIGHTEST = 8


@dataclass(frozen=True)
class JointGains:
    """Diagonals of K_P and K_D, one value per joint.

    Parameters
    ----------
    stiffness : tuple of float
        K_P. N m/rad or N/m.
    damping : tuple of float
        K_D. N m s/rad or N s/m.

    Examples
    --------
    >>> JointGains(stiffness=(100.0, 50.0), damping=(20.0, 5.0)).damping
    (20.0, 5.0)
    """

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ('stiffness', 'damping'):
            values = tuple(float(x) for x in getattr(self, name))
            if not all(0.0 < x < np.inf for x in values):
                raise ParameterError(f'must be positive, got {min(values):g}',
                                     subject=name, remedy='give a positive gain for each joint')
            object.__setattr__(self, name, values)


class LinearFeedback:
    """Tracking errors and the effort of the feedback, all buffers of this object.

    Of the last update: errors, sliding variable and reference motion `e`, `e_dot`, `s`, `v_r`,
    `a_r`; `mass_matrix` M0, rotor inertias included; `effort` tau_fb, N m or N; `largest_s`, the
    largest entry of s, either sign. `gains` are those given, or under `JointGains` the slowest
    decay rate of any motion under K_D, and the slowest lambda; `damping_rate` is the fastest decay
    rate due to `damping`, 1/s. `warning` is the reason why the gains leave little margin, empty
    for none.

    Raises a ControlError that names an unstable gain at this sampling period and delay, s, and an
    InertiaError where some motion of the model moves no mass.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, gains: FeedbackGains | JointGains, *,
                 period: float = 0.002, delay: float = 0.001):
        self._robot, self._dynamics, n = robot, dynamics, robot.n
        self._stability = _Stability(robot, dynamics, period, delay)
        judged = self._stability.judge(gains)
        self.gains, self.warning = judged.gains, judged.warning
        self.damping_rate = judged.damping_rate
        #: Whether K_P and K_D are constant, see `JointGains`.
        self.is_constant = isinstance(gains, JointGains)
        # omega_D, then lambda, K_P and K_D of each joint: now, and before and after a change.
        self._first = judged.values
        self._now, self._before, self._after = (judged.values.copy() for _ in range(3))
        self._rates, self.position_gain, _ = self._now[1:].reshape(3, n)
        self._progress, self._pace = 1.0, 0.0
        self._errors, self._apply = tracking_errors.load(), apply_gains.load()
        self._continuous = np.ascontiguousarray(robot.is_continuous)
        self.e, self.e_dot, self.s = np.zeros(n), np.zeros(n), np.zeros(n)
        self.v_r, self.a_r = np.zeros(n), np.zeros(n)
        self.mass_matrix = np.zeros((n, n))
        self.effort = np.zeros(n)
        self.largest_s = 0.0

    @property
    def bandwidth(self) -> float:
        """omega_D now, 1/s; zero for constant gains."""
        return float(self._now[0])

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray) -> FloatArray:
        """tau_fb at a state and desired motion, shape (n,), a buffer of this object.

        Raises a StateError that names the joint if an argument, shape (n,), is not finite.
        """
        self.note_errors(q, v, q_d, v_d, a_d)
        return self.answer_errors(self._dynamics.mass_matrix(q))

    def note_errors(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
                    a_d: FloatArray) -> None:
        """Compute errors, sliding variable and reference motion; see `update`."""
        outputs = (self._rates, self._continuous, self.e, self.e_dot, self.s, self.v_r, self.a_r)
        try:
            bad = self._errors(q, v, q_d, v_d, a_d, *outputs)
        except TypeError:  # read-only, strided or of another type: slower, but right
            bad = self._errors(*(np.array(x, dtype=np.float64) for x in (q, v, q_d, v_d, a_d)),
                               *outputs)
        if bad >= 0:
            raise StateError('has a state or desired motion that is not finite',
                             subject=self._robot.joint_names[bad],
                             remedy='pass only complete, finite states to a controller')

    def answer_errors(self, mass_matrix: FloatArray) -> FloatArray:
        """tau_fb for the errors noted last, shape (n,), a buffer of this object; keeps M0."""
        self.mass_matrix = mass_matrix
        self.largest_s = self._apply(mass_matrix, self._now, self.s, self.e, self.effort)
        return self.effort

    def damping(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Damping effort -K_D v with the first gains, shape (n,), N m or N."""
        momentum = self._dynamics.mass_matrix(q) @ v
        return -self._first[0] * momentum - self._first[-v.size:] * v

    def change(self, gains: FeedbackGains | JointGains, seconds: float) -> None:
        """Begin a change to other gains of the same kind over a time, s; see `advance`.

        Raises a ControlError, and changes nothing, if they are unstable.
        """
        judged = self.judge(gains)
        self.gains, self.warning = judged.gains, judged.warning
        self._before[:], self._after[:] = self._now, judged.values
        self._progress, self._pace = 0.0, 1.0 / seconds if seconds > 0.0 else np.inf

    def judge(self, gains: FeedbackGains | JointGains) -> Judged:
        """Values of other gains; raises a ControlError if these cannot be used during control."""
        if isinstance(gains, JointGains) is not self.is_constant:
            raise ControlError('cannot begin or cease to replace bandwidth and error_rate during '
                               'control', subject='feedback.damping',
                               remedy='configure the controller again')
        judged = self._stability.judge(gains, postures=self._stability.lightest)
        if exceeds(judged.damping_rate, RETUNED * self.damping_rate):
            raise ControlError(f'would damp at {judged.damping_rate:.3g} 1/s, too much for a '
                               f'controller configured for {self.damping_rate:.3g} 1/s',
                               subject='feedback', remedy=f'stay below '
                               f'{rounded_down(RETUNED * self.damping_rate):g} 1/s, or configure '
                               'the controller again')
        return judged

    def advance(self, dt: float) -> None:
        """Continue a change of the gains for a time, s; called before a state is answered."""
        if self._progress < 1.0:
            self._progress = min(self._progress + self._pace * max(dt, 0.0), 1.0)
            self._now[:] = self._before + self._progress * (self._after - self._before)


class Judged(NamedTuple):
    """Gains that are stable: those of the arm, their values for the loop, and their margin."""

    gains: FeedbackGains
    values: FloatArray
    damping_rate: float
    warning: str


class _Stability:
    """Judges gains across the joint ranges, at a sampling period and delay, s."""

    def __init__(self, robot: Robot, dynamics: Dynamics, period: float, delay: float):
        self._robot, self._period, self._delay = robot, period, delay
        # Checked for every model, because a feedback weighted by M has no effect on a joint
        # without mass.
        self._masses = mass_matrices(dynamics, typical_motions(robot).q)
        # The same with the rotors of the drives.
        geared = self._masses + np.diag(with_rotors(robot).armature - robot.armature)
        self._mobility = np.asarray(np.linalg.inv(geared), dtype=np.float64)
        #: Postures at which the lightest motions of the arm are lightest.
        self.lightest = np.argsort(np.linalg.eigvalsh(geared)[:, 0])[:LIGHTEST]

    def judge(self, gains: FeedbackGains | JointGains,
              postures: NDArray[np.intp] | slice = slice(None)) -> Judged:
        """Values of gains, with their rates; raises a ControlError if they are unstable.

        All postures are judged before control. During control there is time for few.
        """
        if isinstance(gains, JointGains):
            return self._judge_constant(gains, postures)
        check_gains(gains, None, period=self._period, delay=self._delay)
        stiffness = self._per_joint('stiffness', gains.position_gain)
        rates = np.full(self._robot.n, gains.error_rate)
        values = np.concatenate([[gains.bandwidth], rates, stiffness, np.zeros(rates.size)])
        damping = gains.bandwidth * self._masses[postures]
        warning = self._require_stable(self._doubt(gains, stiffness), gains.error_rate * damping
                                       + np.diag(stiffness), damping, postures)
        return Judged(gains, values, gains.bandwidth, warning)

    def _judge_constant(self, gains: JointGains, postures: NDArray[np.intp] | slice) -> Judged:
        stiffness = self._per_joint('stiffness', gains.stiffness)
        damping = self._per_joint('damping', gains.damping)
        root = np.sqrt(damping)
        decay = np.linalg.eigvalsh(root[:, None] * self._mobility * root)
        slowest, fastest = float(decay.min()), float(decay.max())
        rates = stiffness / damping
        warning = self._require_stable(self._doubt_constant(fastest, rates), np.diag(stiffness),
                                       np.diag(damping), postures)
        return Judged(FeedbackGains(slowest, float(rates.min())),
                      np.concatenate([[0.0], rates, np.zeros(rates.size), damping]), fastest,
                      warning)

    def _require_stable(self, doubt: ControlError | None, stiffness: FloatArray,
                        damping: FloatArray, postures: NDArray[np.intp] | slice) -> str:
        """Raise a doubt about K_P and K_D if the loop is unstable; otherwise its text."""
        if doubt is None:
            return ''
        mobility = self._mobility[postures]
        still = np.zeros_like(mobility)
        K = np.concatenate([still + stiffness, still + damping], axis=-1)
        arm = LinearModel.of(still, still, still, mobility)
        # Written so that NaN fails.
        if not spectral_radii(closed_loop(arm, K, self._period, self._delay)).max() < 1.0:
            raise doubt
        return f'leaves little margin: {doubt}'

    def _doubt(self, gains: FeedbackGains, stiffness: FloatArray) -> ControlError | None:
        """Error for a position gain K_P that leaves too little margin."""
        if not np.any(stiffness):
            return None
        root = np.sqrt(stiffness)
        kappas, vectors = np.linalg.eigh(root[:, None] * np.linalg.inv(self._masses) * root)
        posture = int(np.argmax(kappas[:, -1]))
        joint = int(np.argmax(np.abs(vectors[posture, :, -1])))
        kappa = float(kappas[posture, -1])
        rate = RATE_MARGIN / dead_time(self._period, self._delay) - gains.error_rate
        most = max(rate * gains.bandwidth / kappa, 0.0) * stiffness[joint]
        if not exceeds(float(stiffness[joint]), most):
            return None
        return ControlError(
            f'is {stiffness[joint]:g} N m/rad or N/m, too large for '
            f'{self._robot.joint_names[joint]}, which moves {stiffness[joint] / kappa:.3g} kg m^2 '
            f'or kg, at a period of {1e3 * self._period:g} ms and a delay of '
            f'{1e3 * self._delay:g} ms', subject='stiffness',
            remedy=f'set it to {rounded_down(most):g} or less; for a stiffer arm raise bandwidth '
                   'and error_rate, which follow the inertia of each joint')

    def _doubt_constant(self, fastest: float, rates: FloatArray) -> ControlError | None:
        """Error for constant gains that leave too little margin."""
        tau = dead_time(self._period, self._delay)
        late = f'for a period of {1e3 * self._period:g} ms and a delay of {1e3 * self._delay:g} ms'
        if fastest * tau > FEEDBACK_MARGIN:
            return ControlError(
                f'damps some motion of the arm at {fastest:.3g} 1/s, too large {late}',
                subject='damping', remedy=f'divide all by {fastest * tau / FEEDBACK_MARGIN:.2g} '
                'or more, most of all of the lightest joint')
        stiffest = int(np.argmax(rates))
        if rates[stiffest] * tau > RATE_MARGIN:
            return ControlError(
                f'is {rates[stiffest]:.3g} 1/s times its damping, too large {late}',
                subject=f'stiffness of {self._robot.joint_names[stiffest]}',
                remedy=f'divide it by {rates[stiffest] * tau / RATE_MARGIN:.2g} or more')
        return None

    def _per_joint(self, name: str, values: float | Sequence[float]) -> FloatArray:
        array = np.array(values, dtype=np.float64)
        if array.shape not in ((), (self._robot.n,)):
            raise DimensionError(f'must have {self._robot.n} values, got {array.size}',
                                 subject=name, remedy='give one for each of: '
                                 + ', '.join(self._robot.joint_names))
        return np.broadcast_to(array, self._robot.n).copy()


def make_feedback(robot: Robot, dynamics: Dynamics, gains: FeedbackGains | JointGains | None, *,
                  period: float, delay: float) -> LinearFeedback:
    """Feedback of either form, with gains checked against sampling period and delay, s.

    Raises a ControlError that names an unstable gain and its largest value, and an InertiaError
    where some motion of the model moves no mass.
    """
    return LinearFeedback(robot, dynamics, FeedbackGains() if gains is None else gains,
                          period=period, delay=delay)


def lightest_motion(dynamics: Dynamics) -> tuple[float, int]:
    """Least eigenvalue of M over the joint ranges, kg m^2 or kg, and its main joint."""
    mass: FloatArray = mass_matrices(dynamics, typical_motions(dynamics.robot).q)
    eigenvalues, vectors = np.linalg.eigh(mass)
    posture = int(np.argmin(eigenvalues[:, 0]))
    return (float(eigenvalues[posture, 0]), int(np.argmax(np.abs(vectors[posture, :, 0]))))


@kernel('i8(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], b1[::1], f8[::1], '
        'f8[::1], f8[::1], f8[::1], f8[::1])')
def tracking_errors(q, v, q_d, v_d, a_d, rates, continuous, e, e_dot, s, v_r, a_r):
    """Write errors and reference motion; return the first joint that is not finite, or -1."""
    for i in range(q.size):
        e[i] = q_d[i] - q[i]
        if continuous[i]:
            e[i] -= 2.0 * np.pi * np.round(e[i] / (2.0 * np.pi))
        e_dot[i] = v_d[i] - v[i]
        s[i] = e_dot[i] + rates[i] * e[i]
        v_r[i] = v_d[i] + rates[i] * e[i]
        a_r[i] = a_d[i] + rates[i] * e_dot[i]
        if not np.isfinite(s[i] + a_r[i]):
            return i
    return -1


@kernel('f8(f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1])')
def apply_gains(mass_matrix, gains, s, e, effort):
    """Write omega_D M s + K_P e + K_D s, and return the largest entry of s.

    `gains` are omega_D, then lambda, K_P and K_D of each joint.
    """
    n = s.size
    largest = 0.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += mass_matrix[i, j] * s[j]
        effort[i] = gains[0] * total + gains[1 + n + i] * e[i] + gains[1 + 2 * n + i] * s[i]
        largest = max(largest, abs(s[i]))
    return largest
