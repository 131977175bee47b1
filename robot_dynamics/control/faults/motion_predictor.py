# SPDX-License-Identifier: Apache-2.0
r"""Prediction of the motion of an arm without faults, corrected by a Kalman filter.

Position and velocity of each joint are predicted from the equations of motion and corrected by the
measurements, with one gain for all joints:

.. math::

    x^- = A x + (T^2/2, T) a, \qquad e = z - x^-, \qquad x = x^- + K e, \qquad
    A = \begin{pmatrix} 1 & T \\ 0 & 1 \end{pmatrix}

If the acceleration of a joint exceeds the prediction by 1 from some time on, the innovations e
follow a known sequence s_1, s_2, ... The unexplained acceleration since L states ago is then, by
weighted least squares (the generalised likelihood ratio),

.. math:: \sum_j s_j^T S^{-1} e_j \; / \; \sum_j s_j^T S^{-1} s_j

with S the covariance of e. Velocities respond first, positions later and more reliably.

References
----------
R. E. Kalman, "A new approach to linear filtering and prediction problems", Journal of Basic
Engineering 82, 1960.

A. S. Willsky and H. L. Jones, "A generalized likelihood ratio approach to the detection and
estimation of jumps in linear systems", IEEE Transactions on Automatic Control 21, 1976.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import positive
from robot_dynamics.control.faults.residuals import corrected_joints
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot

#: Ratio of the spread of innovations to its final value below which they are valid after a start.
SETTLED = 1.1
#: Shortest period. s.
SHORTEST_PERIOD = 2e-5
#: Smallest and largest noise.
SENSIBLE = (1e-12, 1e6)
#: Largest number of states of a window.
LONGEST_WINDOW = 10_000
#: Corrections after which the gain is constant.
_LONGEST = 1000
#: Iterations of the Coulomb friction of all joints.
ROUNDS = 4
#: Rows of the memory: position, velocity, Coulomb friction, C v + g.
POSITION, VELOCITY, COULOMB, REST = 0, 1, 2, 3
#: Rows of `MotionPredictor.motion`: measured, predicted and corrected velocity, effort that has
#: acted, C^T v - g, Coulomb friction as an effort.
MEASURED, PREDICTED, CORRECTED, ACTING, REMAINDER, HOLDING = range(6)


class MotionPredictor:
    r"""Prediction of each measured state from previous ones and the effort in between.

    .. math:: a = (M + I_r)^{-1} (\tau - C v - g - D v - f), \qquad f_i \in [-F_i, F_i]

    with f_i the Coulomb friction that brings joint i to rest if F_i is large enough: a sticking
    joint is predicted to stick under efforts up to F_i, and to move beyond. C v + g is the mean
    over both ends of an interval.

    Parameters
    ----------
    robot : Robot
        The arm, with damping, friction and armature as described.
    motion_filter : MotionFilter
        Correction by measurements.

    Attributes
    ----------
    innovation : ndarray, shape (2, n)
        Measured minus predicted position and velocity. rad or m, rad/s or m/s.
    velocity : ndarray, shape (n,)
        Predicted velocity. rad/s or m/s.
    inertia : ndarray, shape (n, n)
        M with the armature.
    position_limits : ndarray, shape (2, n)
        Lower and upper limits of the positions. rad or m.
    motion : ndarray, shape (6, n)
        The last state, by the rows MEASURED, PREDICTED ... of this module. rad/s or m/s, N m or N.
    step : float
        Time since the previous state. s.
    """

    def __init__(self, robot: Robot, motion_filter: MotionFilter):
        robot.require_single_coordinates('the motion predictor')
        n = robot.n
        self.filter = motion_filter
        self._robot = robot
        self.position_limits = np.stack([robot.limits.lower, robot.limits.upper])
        self.correct_joints(np.zeros((3, n)))
        self._predict = predict.load()
        self._memory, self._work = np.zeros((4, n)), np.zeros((2, n, n))
        self._corrections = -1
        self.innovation, self.velocity = np.zeros((2, n)), np.zeros(n)
        self.inertia, self.motion = np.zeros((n, n)), np.zeros((6, n))
        self.step = 0.0

    @property
    def friction(self) -> FloatArray:
        """Viscous and Coulomb friction, shape (2, n). N m s/rad or N s/m, N m or N."""
        return self._joints[:2]

    @property
    def position(self) -> FloatArray:
        """Corrected position, shape (n,). rad or m."""
        return self._memory[POSITION]

    def correct_joints(self, more: ArrayLike) -> None:
        """Add friction and armature, as `MomentumObserver.correct_joints`."""
        self._joints = np.stack(corrected_joints(self._robot, more))

    def update(self, matrices: tuple[FloatArray, FloatArray, FloatArray], q: FloatArray,
               v: FloatArray, effort: FloatArray, dt: float) -> bool:
        """Add one state, and return whether its innovation is valid.

        `matrices` are M, C and g at the state; q, v and effort as for `MomentumObserver.update`;
        dt is the time since the last state, s; the predictor starts over if it is not positive.
        """
        is_sound = bool(np.isfinite(effort).all() and np.isfinite(q).all()
                        and np.isfinite(v).all() and np.isfinite(matrices[2]).all())
        if not is_sound:
            self.reset()
            return False
        goes_on = dt > 0.0 and self._corrections >= 0
        gains = self.filter.gains
        outcome = self._predict(*matrices, q, v, effort, dt if goes_on else 0.0, self._joints,
                                gains[min(max(self._corrections, 0), len(gains) - 1)],
                                self._memory, self.innovation, self.velocity, self.inertia,
                                self.motion, self._work)
        self.step = dt
        if outcome != SOLVED:
            self.reset()
            return False
        self._corrections = self._corrections + 1 if goes_on else 0
        return self._corrections > self.filter.settled

    def reset(self) -> None:
        """Start over with the next state."""
        self._corrections = -1
        self.innovation[:] = 0.0


@dataclass(frozen=True)
class FilterSettings:
    """Noise of the measurements; with learnt thresholds, only ratios matter.

    Parameters
    ----------
    velocity_noise, position_noise : float
        Standard deviation. rad/s or m/s, rad or m.
    wander : float
        Random walk of a velocity about its prediction. rad/s or m/s per square root of a second.
    windows : sequence of float
        Durations since the beginning of an acceleration, increasing. s.
    """

    velocity_noise: float = 0.005
    position_noise: float = 3e-5
    wander: float = 0.0134
    windows: Sequence[float] = (0.004, 0.008, 0.016, 0.032, 0.064)

    def __post_init__(self) -> None:
        windows = real_array(self.windows, 'windows', 'give increasing times in s')
        # Written so that NaN fails.
        if windows.ndim != 1 or windows.size == 0 or not np.all(np.diff(windows) > 0.0):
            raise ParameterError(f'must be increasing, got {reprlib.repr(self.windows)}',
                                 subject='windows', remedy='give increasing times in s')
        positive('windows', windows[0], 's')
        positive('windows', windows[-1], 's')
        for name in ('velocity_noise', 'position_noise', 'wander'):
            value, (low, high) = positive(name, getattr(self, name)), SENSIBLE
            if not low <= value <= high:
                raise ParameterError(f'must be between {low:g} and {high:g}, got {value:g}',
                                     subject=name, remedy='give a standard deviation')


class MotionFilter:
    """Gains and weights of the filter for one period.

    `gains`, shape (k, 2, 2), are K of the first, second, ... correction after a start, the last
    for all that follow; innovations are valid after `settled` of them. `lengths`, shape (w,), are
    the states of each window, two at least: a single one may be a wrong measurement. `weights`,
    shape (w, length, 2), are those of innovations in position and velocity, the newest first.
    `noise`, shape (w,), is the standard deviation of the accelerations by the noise, rad/s^2 or
    m/s^2. `lasting`, shape (w,), is what an acceleration of 1 that has lasted for long shows in a
    window: more than 1, because it is taken for one that has just begun. `corrected` is the
    standard deviation of a corrected velocity, as a share of that of a measured one.
    """

    def __init__(self, period: float, settings: FilterSettings | None = None):
        settings = FilterSettings() if settings is None else settings
        self.settings = settings
        self.period = period = positive('period', period, 's')
        if period < SHORTEST_PERIOD:
            raise ParameterError(f'must be {SHORTEST_PERIOD:g} s or more, got {period:g} s',
                                 subject='period', remedy='give it in s')
        if settings.windows[-1] > LONGEST_WINDOW * period:
            raise ParameterError(f'must have at most {LONGEST_WINDOW} states, got '
                                 f'{settings.windows[-1]:g} s', subject='windows',
                                 remedy='give shorter windows, or a longer period')
        self.lengths = np.array([max(2, round(window / period)) for window in settings.windows],
                                dtype=np.int64)
        self.gains, spreads = _gains(period, settings)
        # K = P R^-1, with P the covariance after the correction and R that of the measurement.
        self.corrected = float(np.sqrt(self.gains[-1][1, 1]))
        close = np.diagonal(spreads, axis1=1, axis2=2) \
            <= SETTLED**2 * np.diagonal(spreads[-1])
        self.settled = int(np.argmax(close.all(axis=1)))
        course = _course(self.gains[-1], period, int(self.lengths[-1]))
        final = _course(self.gains[-1], period, _LONGEST)[-1]
        weighted = course @ np.linalg.inv(spreads[-1])
        self.weights = np.zeros((self.lengths.size, int(self.lengths[-1]), 2))
        self.noise = np.zeros(self.lengths.size)
        for w, length in enumerate(self.lengths):
            information = np.sum(weighted[:length] * course[:length])
            self.weights[w, :length] = weighted[:length][::-1] / information
            self.noise[w] = information**-0.5
        self.lasting = np.sum(self.weights @ final, axis=1)


def _gains(period: float, settings: FilterSettings) -> tuple[FloatArray, FloatArray]:
    """K and the covariance of innovations for each state after a start."""
    transition = np.array([[1.0, period], [0.0, 1.0]])
    measured = np.diag([settings.position_noise**2, settings.velocity_noise**2])
    kick = np.array([0.5 * period, 1.0])
    wander = settings.wander**2 * period * np.outer(kick, kick)
    gains, spreads, covariance = [], [], measured
    while True:
        before = transition @ covariance @ transition.T + wander
        spread = before + measured
        gain = before @ np.linalg.inv(spread)
        covariance = before - gain @ before
        gains.append(gain)
        spreads.append(spread)
        if len(gains) == _LONGEST or (len(gains) > 1 and np.allclose(gain, gains[-2], rtol=1e-3,
                                                                    atol=0.0)):
            return np.array(gains), np.array(spreads)


def _course(gain: FloatArray, period: float, length: int) -> FloatArray:
    """Innovations of an acceleration of 1, shape (length, 2)."""
    course, error = np.zeros((length, 2)), np.zeros(2)
    for k in range(length):
        course[k] = (error[0] + period * error[1] + 0.5 * period**2, error[1] + period)
        error = course[k] - gain @ course[k]
    return course


@kernel('i8(f8[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1], f8, f8[:, ::1], '
        'f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[::1], f8[:, ::1], f8[:, ::1], f8[:, :, ::1])')
def predict(M, C, g, q, v, effort, dt, joints, gain, memory, innovation, velocity, inertia, motion,
            work):
    """Predict the measured state, and correct the prediction.

    Coulomb friction is the effort in [-F, F] that stops the joint, or an end of that range.
    Projected Gauss-Seidel iterations, starting at the last solution, solve this for all joints
    together. With dt = 0 it begins at the measured state. `joints` has damping, Coulomb friction
    and armature beyond M, `gain` is K of `MotionFilter`, `memory` has predicted and corrected
    position and velocity, Coulomb friction and C v + g; innovation, velocity, inertia and motion
    are those of `MotionPredictor`. Returns SOLVED, or the joint at which the inertia is not
    positive definite.
    """
    n = v.size
    factor, inverse = work[0], work[1]
    for i in range(n):
        for j in range(n):
            inertia[i, j] = M[i, j] + (joints[2, i] if i == j else 0.0)
            # Implicit damping: explicit damping of a joint with little inertia is unstable.
            factor[i, j] = inertia[i, j] + (dt * joints[0, i] if i == j else 0.0)
            inverse[i, j] = 1.0 if i == j else 0.0
    joint = factorise(factor)
    if joint != SOLVED:
        return joint
    if dt > 0.0:
        for i in range(n):
            substitute(factor, inverse[i])
            velocity[i] = g[i]
            for j in range(n):
                velocity[i] += C[i, j] * memory[VELOCITY, j]
            # The effort that drives the joint, without Coulomb friction.
            velocity[i] = effort[i] - 0.5 * (velocity[i] + memory[REST, i]) \
                - joints[0, i] * memory[VELOCITY, i] + memory[COULOMB, i]
        for i in range(n):
            innovation[1, i] = memory[VELOCITY, i]
            for j in range(n):
                innovation[1, i] += dt * inverse[i, j] * velocity[j]
        for i in range(n):
            velocity[i] = innovation[1, i]
        for _ in range(ROUNDS):
            for j in range(n):
                limit, before = joints[1, j], memory[COULOMB, j]
                needed = before - velocity[j] / (dt * inverse[j, j])
                memory[COULOMB, j] = min(max(needed, -limit), limit)
                change = dt * (memory[COULOMB, j] - before)
                for i in range(n):
                    velocity[i] += inverse[i, j] * change
    for i in range(n):
        if dt > 0.0:
            at = memory[POSITION, i] + 0.5 * dt * (memory[VELOCITY, i] + velocity[i])
            innovation[0, i], innovation[1, i] = q[i] - at, v[i] - velocity[i]
            memory[POSITION, i] = at + gain[0, 0] * innovation[0, i] \
                + gain[0, 1] * innovation[1, i]
            memory[VELOCITY, i] = velocity[i] + gain[1, 0] * innovation[0, i] \
                + gain[1, 1] * innovation[1, i]
        else:
            memory[POSITION, i], memory[VELOCITY, i], memory[COULOMB, i] = q[i], v[i], 0.0
            innovation[0, i] = innovation[1, i] = 0.0
            velocity[i] = v[i]
    for i in range(n):
        memory[REST, i] = g[i]
        for j in range(n):
            memory[REST, i] += C[i, j] * memory[VELOCITY, j]
        motion[MEASURED, i], motion[PREDICTED, i] = v[i], velocity[i]
        motion[CORRECTED, i], motion[ACTING, i] = memory[VELOCITY, i], effort[i]
        motion[REMAINDER, i], motion[HOLDING, i] = -g[i], memory[COULOMB, i]
        for j in range(n):
            motion[REMAINDER, i] += C[j, i] * v[j]
    return joint
