# SPDX-License-Identifier: Apache-2.0
"""What is to be as small as possible, as a function of the coefficients of a motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.identification.excitation.curves import RestToRest
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.identification.excitation.feasible import units
from robot_dynamics.identification.excitation.information import Information
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.identification.excitation.penalty import Penalty
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

if TYPE_CHECKING:
    from robot_dynamics.identification.excitation.design import DesignSettings


#: Samples of the objective a second.
RATE = 20.0
#: Weights of broken limits, one optimisation after the other.
WEIGHTS = (10.0, 1000.0)
# Share of the limits that the optimiser aims at: what it misses is within them.
_AIM = 0.985


class Problem:
    """Objective and broken limits, with their derivatives.

    Parameters
    ----------
    robot : Robot
        The robot.
    start : ndarray, shape (n,)
        Where motions begin and end.
    limits : MotionLimits
        What holds.
    settings : DesignSettings
        What is wanted.
    """

    def __init__(self, robot: Robot, start: FloatArray, limits: MotionLimits,
                 settings: DesignSettings):
        self._given = robot, start, limits, settings
        self._start, self._settings = start, settings
        self.basis = settings.basis()
        self.information = Information(robot, settings.objective, settings.terms)
        self.efforts = EffortEnclosure(self.information.dynamics)
        self._penalty = Penalty(self.basis, start, limits.tightened(_AIM), self.efforts)
        times = np.linspace(0.0, settings.seconds, max(50, round(RATE * settings.seconds)) + 1)
        self._phi = [self.basis.evaluate(times, k) for k in range(3)]
        self._unit = units(self.basis, limits)

    def __reduce__(self) -> tuple[type[Problem], tuple]:
        # Another process makes its own.
        return Problem, self._given

    def condition(self, motion: RestToRest) -> float:
        """Return the condition number of a motion."""
        return self.information.condition(*self._samples(motion.coefficients))

    def judged(self, motion: RestToRest) -> float:
        """Return what is to be small of motions within the limits."""
        if self._settings.objective == 'condition':
            return self.condition(motion)
        return self.information.value_and_gradient(*self._samples(motion.coefficients))[0]

    def improved(self, x: FloatArray, tell: Callable[[], None]) -> FloatArray:
        """Return what optimisations make of coefficients, shape (count, n).

        Parameters
        ----------
        x : ndarray, shape (count, n)
            Where to begin.
        tell : callable
            Called after each iteration.
        """
        # Some tenths of a second, which only who designs a motion has to wait for.
        from scipy.optimize import minimize
        shape, y = x.shape, (x / self._unit).ravel()

        def cost(y: FloatArray, weight: float) -> tuple[float, FloatArray]:
            value, slope = self.cost(y.reshape(shape) * self._unit, weight)
            return value, (slope * self._unit).ravel()

        for weight in WEIGHTS:
            y = minimize(cost, y, (weight,), jac=True, method='L-BFGS-B',
                         callback=lambda _: tell(),
                         options={'maxiter': self._settings.iterations, 'maxcor': 30}).x
        return y.reshape(shape) * self._unit

    def cost(self, x: FloatArray, weight: float) -> tuple[float, FloatArray]:
        """Return objective and broken limits of coefficients (count, n), and the derivative."""
        q, v, a = self._samples(x)
        value, slopes = self.information.value_and_gradient(q, v, a)
        broken, slope = self._penalty.of_motion(x)
        effort, by_effort = self._penalty.of_efforts(q, v, a)
        slope = weight * slope
        for k, phi in enumerate(self._phi):
            by = slopes[k] if by_effort is None else slopes[k] + weight * by_effort[k]
            slope += phi.T @ by
        return value + weight * (broken + effort), slope

    def _samples(self, x: FloatArray) -> tuple[FloatArray, ...]:
        q, v, a = (phi @ x for phi in self._phi)
        return q + self._start, v, a
