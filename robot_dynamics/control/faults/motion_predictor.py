# SPDX-License-Identifier: Apache-2.0
"""``MotionPredictor``: what a sound arm would do, and how far the measured one is from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.faults import prediction_kernel
from robot_dynamics.control.faults.motion_filter import MotionFilter
from robot_dynamics.dynamics.kernels.solve import SOLVED
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


class MotionPredictor:
    r"""Predicts each measured state from the last ones and the effort between.

    .. math:: a = (M + I_r)^{-1} (\tau - C v - g - D v - f), \qquad f_i \in [-F_i, F_i]

    with f_i the Coulomb friction that brings joint i to rest as far as F_i can: so a joint
    that sticks is predicted to stick, whatever effort holds it up to F_i, and to break loose
    beyond. The mean of C v + g at both ends of an interval counts.

    What is predicted stays at the motion of a moment ago when a joint is blocked: that it
    should move is known from there.

    Parameters
    ----------
    robot : Robot
        The arm, with damping, friction and armature as described.
    motion_filter : MotionFilter
        How measurements correct it.

    Attributes
    ----------
    surprise : ndarray, shape (2, n)
        Measured less predicted position and velocity. rad or m, rad/s or m/s.
    velocity : ndarray, shape (n,)
        Predicted velocity. rad/s or m/s.
    inertia : ndarray, shape (n, n)
        M with the armature.
    motion : ndarray, shape (6, n)
        What is told of the last state, by the rows of
        `robot_dynamics.control.faults.prediction_kernel`. rad/s or m/s, N m or N.
    step : float
        Time since the state before. s.
    """

    def __init__(self, robot: Robot, motion_filter: MotionFilter):
        robot.require_single_coordinates('the motion predictor')
        n = robot.n
        self.filter = motion_filter
        self._described = np.stack([robot.damping, robot.friction])
        self._joints = np.stack([robot.damping, robot.friction, robot.armature])
        self._predict = prediction_kernel.predict.load()
        self._memory, self._work = np.zeros((4, n)), np.zeros((2, n, n))
        self._corrections = -1
        self.surprise, self.velocity = np.zeros((2, n)), np.zeros(n)
        self.inertia, self.motion = np.zeros((n, n)), np.zeros((6, n))
        self.step = 0.0

    @property
    def friction(self) -> FloatArray:
        """Viscous and Coulomb friction known of, shape (2, n). N m s/rad or N s/m, N m or N."""
        return self._joints[:2]

    def correct_friction(self, more: ArrayLike) -> None:
        """Take friction for larger than described; never for less than none.

        Parameters
        ----------
        more : array_like, shape (2, n)
            Viscous and Coulomb friction beyond the description.
        """
        self._joints[:2] = np.maximum(self._described + more, 0.0)

    def update(self, matrices: tuple[FloatArray, FloatArray, FloatArray], q: FloatArray,
               v: FloatArray, effort: FloatArray, dt: float) -> bool:
        """Take one state, and return whether its surprise tells anything.

        Parameters
        ----------
        matrices : tuple of ndarray
            M, C and g at the state.
        q, v, effort : ndarray, shape (n,)
            As for `robot_dynamics.control.faults.momentum_observer.MomentumObserver.update`.
        dt : float
            Time since the last state; it starts over where that is not positive. s.
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
                                self._memory, self.surprise, self.velocity, self.inertia,
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
        self.surprise[:] = 0.0
