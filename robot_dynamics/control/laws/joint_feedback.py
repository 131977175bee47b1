# SPDX-License-Identifier: Apache-2.0
"""Feedback with constant gains of each joint: tau_fb = K_P e + K_D e_dot.

K_P and K_D are diagonal and positive. With Lambda = K_D^-1 K_P it is K_D s, s = e_dot +
Lambda e, and the reference motion is v_r = v_d + Lambda e: the form in which the adaptive
law is often written.

References
----------
A. De Luca, Robotics 2, examination of 12 July 2021, exercise 3, eq. (2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.adaptation.metric import mass_matrices, typical_motions
from robot_dynamics.control.feedback.gains import (
    FEEDBACK_MARGIN,
    RATE_MARGIN,
    FeedbackGains,
    dead_time,
)
from robot_dynamics.control.feedback.linear_feedback import LinearFeedback
from robot_dynamics.control.feedback.loaded_model import LoadedModel
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ControlError, DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


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
