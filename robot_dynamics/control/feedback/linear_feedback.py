# SPDX-License-Identifier: Apache-2.0
"""The linear feedback that the tracking controllers share, with and without adaptation.

With e = q_d - q (the short way round for joints that turn without end),
e_dot = v_d - v and s = e_dot + lambda e::

    tau_fb = omega_D M0(q) s + K_P e

M0 is the mass matrix of the model as given: one bandwidth omega_D serves a heavy
shoulder and a light wrist alike, and K_D = omega_D M0(q) stays symmetric and positive
definite whatever is learnt. The reference motion of the adaptive law is
v_r = v_d + lambda e = v + s and a_r = a_d + lambda e_dot.
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
    dead_time,
)
from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.control.feedback.typical_motions import mass_matrices, typical_motions
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ControlError, DimensionError, ParameterError, StateError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


class WithFeedback:
    """A law around a `LinearFeedback`, whose errors are its own."""

    feedback: LinearFeedback

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
        """Sliding variable e_dot + lambda e of the last update, shape (n,). rad/s or m/s."""
        return self.feedback.s


class LinearFeedback:
    """Tracking errors and the effort they ask for.

    Parameters
    ----------
    robot : Robot
        The model as given.
    dynamics : Dynamics
        Its equations.
    gains : FeedbackGains
        Bandwidth, error rate and position gain.

    Attributes
    ----------
    e, e_dot, s, v_r, a_r : ndarray, shape (n,)
        Errors, sliding variable and reference motion of the last update.
    mass_matrix : ndarray, shape (n, n)
        M0 at the last state, rotor inertias included.
    effort : ndarray, shape (n,)
        tau_fb of the last update. N m or N.
    largest_s : float
        Largest entry of s, either sign, of the last update. rad/s or m/s.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, gains: FeedbackGains):
        self.gains = gains
        self._robot = robot
        self._dynamics = dynamics
        self._errors = tracking_errors.load()
        self._turns = np.ascontiguousarray(robot.is_continuous)
        #: lambda of each joint.
        self._rates = np.full(robot.n, gains.error_rate)
        self._apply = apply_gains.load()
        self._rotors = np.array(robot.armature)
        self.e, self.e_dot, self.s = np.zeros(robot.n), np.zeros(robot.n), np.zeros(robot.n)
        self.v_r, self.a_r = np.zeros(robot.n), np.zeros(robot.n)
        self.mass_matrix = np.zeros((robot.n, robot.n))
        self._still = np.zeros(robot.n)
        # M of the last update, and what comes with it: C at rest and g.
        self._matrices = (np.zeros((robot.n, robot.n)), np.zeros((robot.n, robot.n)),
                          np.zeros(robot.n))
        self.effort = np.zeros(robot.n)
        self.largest_s = 0.0

    def update(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
               a_d: FloatArray) -> FloatArray:
        """Return tau_fb at a state and desired motion, a buffer of this object.

        Parameters
        ----------
        q, v, q_d, v_d, a_d : ndarray, shape (n,)
            State and desired motion, SI units.

        Raises
        ------
        StateError
            Where one of them is not finite; names the joint.
        """
        self.note_errors(q, v, q_d, v_d, a_d)
        return self.answer_errors(
            self._dynamics.matrices(q, self._still, self._matrices)[0])

    def note_errors(self, q: FloatArray, v: FloatArray, q_d: FloatArray, v_d: FloatArray,
                    a_d: FloatArray) -> None:
        """Work out errors, sliding variable and reference motion, and no effort.

        Takes and raises what `update` does.
        """
        outputs = (self._rates, self._turns, self.e, self.e_dot, self.s, self.v_r, self.a_r)
        try:
            bad = self._errors(q, v, q_d, v_d, a_d, *outputs)
        except TypeError:  # read-only, strided or of another type: slower, but right
            bad = self._errors(*(np.array(x, dtype=np.float64) for x in (q, v, q_d, v_d, a_d)),
                               *outputs)
        if bad >= 0:
            raise StateError('the state or the desired motion is not finite',
                             subject=self._robot.joint_names[bad],
                             remedy='pass only complete, finite states to a controller')

    def answer_errors(self, mass_matrix: FloatArray) -> FloatArray:
        """Return tau_fb for the errors noted last, a buffer of this object.

        Parameters
        ----------
        mass_matrix : ndarray, shape (n, n)
            M0 without rotors, which are added to it in place: it is kept.
        """
        self.mass_matrix = mass_matrix
        self.largest_s = self._apply(mass_matrix, self._rotors, self.gains.bandwidth,
                                     self.gains.position_gain, self.s, self.e, self.effort)
        return self.effort

    def damping(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return -K_D v, the effort that brakes the arm, shape (n,)."""
        momentum = self._dynamics.mass_matrix(q) @ v + self._rotors * v
        return -self.gains.bandwidth * momentum


@kernel('i8(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], b1[::1], f8[::1], '
              'f8[::1], f8[::1], f8[::1], f8[::1])')
def tracking_errors(q, v, q_d, v_d, a_d, rates, turns, e, e_dot, s, v_r, a_r):
    """Write errors and reference motion; return the first joint that is not finite, or -1."""
    for i in range(q.size):
        e[i] = q_d[i] - q[i]
        if turns[i]:
            e[i] -= 2.0 * np.pi * np.round(e[i] / (2.0 * np.pi))
        e_dot[i] = v_d[i] - v[i]
        s[i] = e_dot[i] + rates[i] * e[i]
        v_r[i] = v_d[i] + rates[i] * e[i]
        a_r[i] = a_d[i] + rates[i] * e_dot[i]
        if not np.isfinite(s[i] + a_r[i]):
            return i
    return -1


@kernel('f8(f8[:, ::1], f8[::1], f8, f8, f8[::1], f8[::1], f8[::1])')
def apply_gains(mass_matrix, rotors, bandwidth, position_gain, s, e, effort):
    """Add the rotors to M, write omega_D M s + K_P e, and return the largest entry of s."""
    largest = 0.0
    for i in range(s.size):
        mass_matrix[i, i] += rotors[i]
        total = 0.0
        for j in range(s.size):
            total += mass_matrix[i, j] * s[j]
        effort[i] = bandwidth * total + position_gain * e[i]
        largest = max(largest, abs(s[i]))
    return largest


@dataclass(frozen=True)
class JointGains:
    """Diagonals of K_P and K_D, one value a joint.

    Parameters
    ----------
    stiffness : tuple of float
        K_P. N m/rad or N/m.
    damping : tuple of float
        K_D. N m s/rad or N s/m.
    """

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ('stiffness', 'damping'):
            values = tuple(float(x) for x in getattr(self, name))
            if not all(0.0 < x < np.inf for x in values):
                raise ParameterError(f'holds {min(values)}, not positive numbers alone',
                                     subject=name, remedy='give a positive gain for each joint')
            object.__setattr__(self, name, values)


class JointFeedback(LinearFeedback):
    """Tracking errors and the effort that constant gains ask for.

    Parameters
    ----------
    robot : Robot
        The model as given.
    dynamics : Dynamics
        Its equations.
    gains : JointGains
        K_P and K_D.
    period, delay : float
        Sampling period, and time from the measurement of a state to the torque that
        answers it; both are checked against them. s.

    Attributes
    ----------
    gains : FeedbackGains
        The slowest rate K_D gives any motion of the arm, and the slowest lambda.

    Raises
    ------
    DimensionError
        Where there is not one gain for each joint.
    ControlError
        Where K_D, or K_P beside it, is unstable at this period and delay.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics | LoadedModel, gains: JointGains, *,
                 period: float, delay: float):
        stiffness, damping = (_per_joint(robot, name, getattr(gains, name))
                              for name in ('stiffness', 'damping'))
        slowest, fastest = damping_rates(Dynamics(robot), damping)
        tau = dead_time(period, delay)
        if fastest * tau > FEEDBACK_MARGIN:
            raise ControlError(f'brakes some motion of the arm at {fastest:.3g} 1/s, too much '
                               f'for a period of {1e3 * period:g} ms and a delay of '
                               f'{1e3 * delay:g} ms', subject='damping',
                               remedy=f'divide it by {fastest * tau / FEEDBACK_MARGIN:.2g} or '
                                      'more, most of all of the lightest joint')
        rates = stiffness / damping
        stiffest = int(np.argmax(rates))
        if rates[stiffest] * tau > RATE_MARGIN:
            raise ControlError(f'is {rates[stiffest]:.3g} 1/s times its damping, too much for a '
                               f'period of {1e3 * period:g} ms and a delay of {1e3 * delay:g} ms',
                               subject=f'stiffness of {robot.joint_names[stiffest]}',
                               remedy=f'divide it by {rates[stiffest] * tau / RATE_MARGIN:.2g} '
                                      'or more')
        super().__init__(robot, dynamics, FeedbackGains(slowest, float(rates.min())))
        self._rates, self._damping = rates, damping
        self._apply_joints = apply_joint_gains.load()

    def answer_errors(self, mass_matrix: FloatArray) -> FloatArray:
        """Return tau_fb for the errors noted last; the rotors are added to the matrix."""
        self.mass_matrix = mass_matrix
        self.largest_s = self._apply_joints(mass_matrix, self._rotors, self._damping, self.s,
                                            self.effort)
        return self.effort

    def damping(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return -K_D v, the effort that brakes the arm, shape (n,)."""
        return -self._damping * v


def damping_rates(dynamics: Dynamics, damping: FloatArray) -> tuple[float, float]:
    """Return the least and the largest eigenvalue of M^-1 K_D over the joint ranges. 1/s."""
    inverse = np.linalg.inv(mass_matrices(dynamics, typical_motions(dynamics.robot).q))
    root = np.sqrt(damping)
    rates = np.linalg.eigvalsh(root[:, None] * inverse * root)
    return float(rates.min()), float(rates.max())


def _per_joint(robot: Robot, name: str, values: Sequence[float]) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    if array.shape != (robot.n,):
        raise DimensionError(f'has {array.size} values for {robot.n} joints', subject=name,
                             remedy='give one for each of: ' + ', '.join(robot.joint_names))
    return array


@kernel('f8(f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1])')
def apply_joint_gains(mass_matrix, rotors, damping, s, effort):
    """Add the rotors to M, write K_D s, and return the largest entry of s."""
    largest = 0.0
    for i in range(s.size):
        mass_matrix[i, i] += rotors[i]
        effort[i] = damping[i] * s[i]
        largest = max(largest, abs(s[i]))
    return largest


def check_position_gain(dynamics: Dynamics, gains: FeedbackGains, *, period: float,
                    delay: float) -> None:
    """Refuse a stiffness K_P that is unstable at a sampling period and delay.

    Parameters
    ----------
    dynamics : Dynamics
        Equations of the arm, of which the mass matrix is asked all over the joint ranges.
    gains : FeedbackGains
        Gains that `robot_dynamics.control.feedback.gains.check_gains` has passed.
    period, delay : float
        Sampling period, and time from the measurement of a state to the torque that
        answers it. s.

    Raises
    ------
    ControlError
        Names the joint of the lightest motion, and the largest stiffness there may be.
    InertiaError
        Where some motion of the model moves no mass.
    """
    # Asked of every model: a feedback weighted by M leaves a joint alone that moves no mass.
    inertia, joint = lightest_motion(dynamics)
    if gains.position_gain == 0.0:
        return
    largest = RATE_MARGIN / dead_time(period, delay) - gains.error_rate
    most = max(largest * gains.bandwidth * inertia, 0.0)
    if exceeds(gains.position_gain, most):
        name = dynamics.robot.joint_names[joint]
        raise ControlError(f'is {gains.position_gain:g} N m/rad or N/m, too large for {name}, '
                           f'which moves {inertia:.3g} kg m^2 or kg, at a period of {1e3 * period:g} ms '
                           f'and a delay of {1e3 * delay:g} ms', subject='stiffness',
                           remedy=f'set it to {rounded_down(most):g} or less; to be stiffer, '
                                  'raise bandwidth and error_rate, which follow the inertia of '
                                  'each joint')


def lightest_motion(dynamics: Dynamics) -> tuple[float, int]:
    """Return the least eigenvalue of M over the joint ranges, and the joint that moves most.

    kg m^2 or kg.
    """
    mass: FloatArray = mass_matrices(dynamics, typical_motions(dynamics.robot).q)
    eigenvalues, vectors = np.linalg.eigh(mass)
    posture = int(np.argmin(eigenvalues[:, 0]))
    return (float(eigenvalues[posture, 0]), int(np.argmax(np.abs(vectors[posture, :, 0]))))
