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

References
----------
A. De Luca, Robotics 2, examination of 12 July 2021, exercise 3, eq. (2): constant gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.checks import exceeds, rounded_down
from robot_dynamics.control.feedback.gains import (
    FEEDBACK_MARGIN,
    RATE_MARGIN,
    FeedbackGains,
    check_gains,
    dead_time,
)
from robot_dynamics.control.feedback.typical_motions import mass_matrices, typical_motions
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ControlError, DimensionError, ParameterError, StateError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


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
    largest entry of s, either sign.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, gains: FeedbackGains):
        self.gains = gains
        self._robot = robot
        self._dynamics = dynamics
        self._errors = tracking_errors.load()
        self._continuous = np.ascontiguousarray(robot.is_continuous)
        #: lambda of each joint.
        self._rates = np.full(robot.n, gains.error_rate)
        self._apply = apply_gains.load()
        self.e, self.e_dot, self.s = np.zeros(robot.n), np.zeros(robot.n), np.zeros(robot.n)
        self.v_r, self.a_r = np.zeros(robot.n), np.zeros(robot.n)
        self.mass_matrix = np.zeros((robot.n, robot.n))
        self.effort = np.zeros(robot.n)
        self.largest_s = 0.0
        #: Fastest decay rate due to `damping`. 1/s.
        self.damping_rate = gains.bandwidth

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
        self.largest_s = self._apply(mass_matrix, self.gains.bandwidth,
                                     self.gains.position_gain, self.s, self.e, self.effort)
        return self.effort

    def damping(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Damping effort -K_D v, shape (n,), N m or N."""
        momentum = self._dynamics.mass_matrix(q) @ v
        return -self.gains.bandwidth * momentum


class JointFeedback(LinearFeedback):
    """Tracking errors and the effort of constant gains, `JointGains`; see `LinearFeedback`.

    `gains` are the slowest decay rate of any motion of the arm under K_D, and the slowest lambda.
    Raises a ControlError if they are unstable at this period and delay.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, gains: JointGains, *, period: float,
                 delay: float):
        stiffness, damping = (_per_joint(robot, name, getattr(gains, name))
                              for name in ('stiffness', 'damping'))
        slowest, fastest = damping_rates(Dynamics(robot), damping)
        tau = dead_time(period, delay)
        if fastest * tau > FEEDBACK_MARGIN:
            raise ControlError(f'damps some motion of the arm at {fastest:.3g} 1/s, too large '
                               f'for a period of {1e3 * period:g} ms and a delay of '
                               f'{1e3 * delay:g} ms', subject='damping',
                               remedy=f'divide all by {fastest * tau / FEEDBACK_MARGIN:.2g} or '
                                      'more, most of all of the lightest joint')
        rates = stiffness / damping
        stiffest = int(np.argmax(rates))
        if rates[stiffest] * tau > RATE_MARGIN:
            raise ControlError(f'is {rates[stiffest]:.3g} 1/s times its damping, too large for a '
                               f'period of {1e3 * period:g} ms and a delay of {1e3 * delay:g} ms',
                               subject=f'stiffness of {robot.joint_names[stiffest]}',
                               remedy=f'divide it by {rates[stiffest] * tau / RATE_MARGIN:.2g} '
                                      'or more')
        super().__init__(robot, dynamics, FeedbackGains(slowest, float(rates.min())))
        self._rates, self._damping = rates, damping
        self.damping_rate = fastest
        self._apply_joints = apply_joint_gains.load()

    def answer_errors(self, mass_matrix: FloatArray) -> FloatArray:
        """tau_fb for the errors noted last."""
        self.mass_matrix = mass_matrix
        self.largest_s = self._apply_joints(self._damping, self.s, self.effort)
        return self.effort

    def damping(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Damping effort -K_D v, shape (n,), N m or N."""
        return -self._damping * v


def make_feedback(robot: Robot, dynamics: Dynamics, gains: FeedbackGains | JointGains | None, *,
                  period: float, delay: float) -> LinearFeedback:
    """Feedback of either form, with gains checked against sampling period and delay, s.

    Raises a ControlError that names an unstable gain and its largest value, and an InertiaError
    where some motion of the model moves no mass.
    """
    if isinstance(gains, JointGains):
        return JointFeedback(robot, dynamics, gains, period=period, delay=delay)
    feedback = FeedbackGains() if gains is None else gains
    check_gains(feedback, None, period=period, delay=delay)
    check_position_gain(dynamics, feedback, period=period, delay=delay)
    return LinearFeedback(robot, dynamics, feedback)


def check_position_gain(dynamics: Dynamics, gains: FeedbackGains, *, period: float,
                        delay: float) -> None:
    """Reject a position gain K_P that is unstable at a sampling period and delay, s.

    Raises a ControlError that names the joint of the lightest motion and the largest gain, and an
    InertiaError where some motion of the model moves no mass.
    """
    # Checked for every model, because a feedback weighted by M has no effect on a joint without
    # mass.
    inertia, joint = lightest_motion(dynamics)
    if gains.position_gain == 0.0:
        return
    largest = RATE_MARGIN / dead_time(period, delay) - gains.error_rate
    most = max(largest * gains.bandwidth * inertia, 0.0)
    if exceeds(gains.position_gain, most):
        name = dynamics.robot.joint_names[joint]
        raise ControlError(f'is {gains.position_gain:g} N m/rad or N/m, too large for {name}, '
                           f'which moves {inertia:.3g} kg m^2 or kg, at a period of '
                           f'{1e3 * period:g} ms and a delay of {1e3 * delay:g} ms',
                           subject='stiffness',
                           remedy=f'set it to {rounded_down(most):g} or less; for a stiffer arm '
                                  'raise bandwidth and error_rate, which follow the inertia of '
                                  'each joint')


def lightest_motion(dynamics: Dynamics) -> tuple[float, int]:
    """Least eigenvalue of M over the joint ranges, kg m^2 or kg, and its main joint."""
    mass: FloatArray = mass_matrices(dynamics, typical_motions(dynamics.robot).q)
    eigenvalues, vectors = np.linalg.eigh(mass)
    posture = int(np.argmin(eigenvalues[:, 0]))
    return (float(eigenvalues[posture, 0]), int(np.argmax(np.abs(vectors[posture, :, 0]))))


def damping_rates(dynamics: Dynamics, damping: FloatArray) -> tuple[float, float]:
    """Least and largest eigenvalue of M^-1 K_D over the joint ranges, 1/s."""
    inverse = np.linalg.inv(mass_matrices(dynamics, typical_motions(dynamics.robot).q))
    root = np.sqrt(damping)
    rates = np.linalg.eigvalsh(root[:, None] * inverse * root)
    return float(rates.min()), float(rates.max())


def _per_joint(robot: Robot, name: str, values: Sequence[float]) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    if array.shape != (robot.n,):
        raise DimensionError(f'must have {robot.n} values, got {array.size}', subject=name,
                             remedy='give one for each of: ' + ', '.join(robot.joint_names))
    return array


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


@kernel('f8(f8[:, ::1], f8, f8, f8[::1], f8[::1], f8[::1])')
def apply_gains(mass_matrix, bandwidth, position_gain, s, e, effort):
    """Write omega_D M s + K_P e, and return the largest entry of s."""
    largest = 0.0
    for i in range(s.size):
        total = 0.0
        for j in range(s.size):
            total += mass_matrix[i, j] * s[j]
        effort[i] = bandwidth * total + position_gain * e[i]
        largest = max(largest, abs(s[i]))
    return largest


@kernel('f8(f8[::1], f8[::1], f8[::1])')
def apply_joint_gains(damping, s, effort):
    """Write K_D s, and return the largest entry of s."""
    largest = 0.0
    for i in range(s.size):
        effort[i] = damping[i] * s[i]
        largest = max(largest, abs(s[i]))
    return largest
