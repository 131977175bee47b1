# SPDX-License-Identifier: Apache-2.0
"""``GainRule``: from the linear model at a point to the gain there, fast enough for a loop."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.lq import kernels
from robot_dynamics.control.lq.design import FeedbackDesign
from robot_dynamics.control.lq.disturbance import gain_with_estimate
from robot_dynamics.control.lq.gains import riccati_gain
from robot_dynamics.control.lq.model import LinearPoint
from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.model.arrays import FloatArray

#: Last power of A T in the series of Phi. Over a horizon of 13 ms the gains of an arm are
#: then right to 5e-4 at speeds of several rad/s, over a period of 2 ms to 5e-7.
DEFAULT_ORDER = 3
#: Beyond it a series of doubles changes no more where it is of any use.
HIGHEST_ORDER = 20


class GainRule(ABC):
    """Computes K of u = -K x, x = (q - q_d, v - v_d), from the model at a point.

    Parameters
    ----------
    n : int
        Number of joints.
    time : float
        Time over which the model is discretised. s.
    weights : tuple of two floats
        Weight of every position and of every velocity.
    order : int
        Last power of A T in the series of Phi, `HIGHEST_ORDER` at most.

    Attributes
    ----------
    weights : ndarray, shape (2 n,)
        Diagonal of Q, positions first; may be rescaled between two gains.
    """

    name: str

    def __init__(self, n: int, time: float, weights: tuple[float, float], order: int):
        if isinstance(order, bool) or not isinstance(order, (int, np.integer)) \
                or not 1 <= order <= HIGHEST_ORDER:
            raise ParameterError(f'is {reprlib.repr(order)}, not a whole number from 1 to '
                                 f'{HIGHEST_ORDER}',
                                 subject='series_order', remedy='give the last power of A T, '
                                 f'for example {DEFAULT_ORDER}')
        self.n = n
        self.time = positive('time', time, 's')
        self.order = int(order)
        self.base_weights = np.repeat([positive('position weight', weights[0]),
                                       positive('velocity weight', weights[1])], n)
        self.weights = self.base_weights.copy()

    @property
    def columns(self) -> int:
        """Columns of a gain: 2 n, or 3 n with the integral of positions."""
        return 2 * self.n

    @abstractmethod
    def gain(self, point: LinearPoint, K: FloatArray) -> None:
        """Write the gain at a point into K, shape (n, columns).

        Raises
        ------
        ControlError
            Where the point has none.
        """

    @abstractmethod
    def gains_along(self, points: LinearPoint, spacing: float) -> FloatArray:
        """Return the gains along a trajectory, shape (k, n, columns).

        Parameters
        ----------
        points : LinearPoint
            Of shape (k, n, n) each.
        spacing : float
            Time from one point to the next. s.
        """

    @abstractmethod
    def gains_at(self, points: LinearPoint) -> FloatArray:
        """Return the gains at points that have nothing to do with each other, (k, n, columns)."""

    def _check(self, failed: int) -> None:
        if failed:
            raise ControlError('cannot be computed: a mass matrix is not positive definite',
                               subject=f'{self.name} gain',
                               remedy='give every link that moves a mass and an inertia')


class OneStepRule(GainRule):
    """K = (Gamma^T Q Gamma)^-1 Gamma^T Q Phi over a horizon.

    Parameters
    ----------
    n : int
        Number of joints.
    horizon : float
        Time over which Phi and Gamma are taken. s.
    velocity_weight : float
        q_v where q_p is 1. s^2.
    order : int
        Last power of A T in the series of Phi.
    """

    name = 'one_step'

    def __init__(self, n: int, horizon: float, velocity_weight: float, *,
                 order: int = DEFAULT_ORDER):
        super().__init__(n, horizon, (1.0, velocity_weight), order)
        self._kernel = kernels.one_step_gain_of.load()

    def gain(self, point: LinearPoint, K: FloatArray) -> None:
        """Write the gain at a point into K, shape (n, 2 n)."""
        self._check(self._kernel(point.dtau_dq, point.dtau_dv, point.M, self.time, self.order,
                                 self.weights, K))

    def gains_at(self, points: LinearPoint) -> FloatArray:
        """Return the gains at points that have nothing to do with each other, (k, n, 2 n)."""
        gains = np.empty((len(points.M), self.n, 2 * self.n))
        for point, K in zip(points, gains, strict=True):
            self.gain(point, K)
        return gains

    def gains_along(self, points: LinearPoint, spacing: float) -> FloatArray:
        """Return the gains along a trajectory, shape (k, n, 2 n): each knows its point alone."""
        return self.gains_at(points)


class RiccatiRule(GainRule):
    """The regulator of all time to come, by steps of the Riccati difference equation.

    One point hardly differs from the one before it, so that few steps from the cost
    matrix there follow the solution of the algebraic equation closely.

    Parameters
    ----------
    n : int
        Number of joints.
    period : float
        Sampling period. s.
    weights : tuple of two floats
        q_p and q_v, the weight of an acceleration being 1.
    order : int
        Last power of A T in the series of Phi.
    """

    name = 'riccati'

    #: Steps for each gain on line; each shrinks what is left by exp(-2 T / t_c).
    STEPS = 2
    #: Largest relative difference of a gain from that of the algebraic equation, off line.
    TOLERANCE = 1e-10
    _BATCH, _MOST_BATCHES = 100, 1000

    def __init__(self, n: int, period: float, weights: tuple[float, float], *,
                 order: int = DEFAULT_ORDER):
        super().__init__(n, period, weights, order)
        self._kernel = kernels.riccati_gain_of.load()
        self._initial = self._cost_of_double_integrators()
        self._cost = self._initial.copy()

    def gain(self, point: LinearPoint, K: FloatArray) -> None:
        """Write the gain at a point into K, shape (n, 2 n); goes on from the point before."""
        failed = self._step(point, self.STEPS, self._cost, K)
        if failed or not np.isfinite(self._cost[0, 0]):
            self._cost[:] = self._initial
        self._check(failed)

    def gains_at(self, points: LinearPoint) -> FloatArray:
        """Return the gains of the algebraic equation at points, shape (k, n, 2 n)."""
        gains = np.empty((len(points.M), self.n, 2 * self.n))
        for point, K in zip(points, gains, strict=True):
            self._settle(point, self._initial.copy(), K)
        return gains

    def gains_along(self, points: LinearPoint, spacing: float) -> FloatArray:
        """Return the gains along a trajectory, backwards from its end, shape (k, n, 2 n).

        Those of the horizon that ends with the trajectory, where the arm is to be
        regulated for all time to come.
        """
        steps = max(1, round(spacing / self.time))
        gains = np.empty((len(points.M), self.n, 2 * self.n))
        cost = self._initial.copy()
        last = len(gains) - 1
        self._settle(points[last], cost, gains[last])
        for k in range(last - 1, -1, -1):
            self._check(self._step(points[k], steps, cost, gains[k]))
        return gains

    def _step(self, point: LinearPoint, steps: int, cost: FloatArray, K: FloatArray) -> int:
        return self._kernel(point.dtau_dq, point.dtau_dv, point.M, self.time, self.order,
                            self.weights, steps, cost, K)

    def _settle(self, point: LinearPoint, cost: FloatArray, K: FloatArray) -> None:
        """Step until nothing changes any more."""
        before = np.full_like(K, np.inf)
        for _ in range(self._MOST_BATCHES):
            self._check(self._step(point, self._BATCH, cost, K))
            if np.abs(K - before).max() <= self.TOLERANCE * np.abs(K).max():
                return
            before[:] = K
        raise ControlError('does not settle', subject='Riccati gain',
                           remedy='choose a shorter time_constant')

    def _cost_of_double_integrators(self) -> FloatArray:
        """Return the cost matrix of joints that nothing but their input moves."""
        T = self.time
        _, X = riccati_gain([[1.0, T], [0.0, 1.0]], [[0.5 * T * T], [T]],
                            self.base_weights[[0, self.n]], [1.0])
        return np.kron(X, np.eye(self.n))


class DisturbanceRule(GainRule):
    """Another rule, and with it the estimate of a torque that the model does not know of.

    Parameters
    ----------
    rule : GainRule
        Of the regulator; shares its weights.
    rate : float
        Rate at which the torque is made up for. 1/s.
    """

    def __init__(self, rule: GainRule, rate: float):
        self.name, self.n, self.time, self.order = rule.name, rule.n, rule.time, rule.order
        self.base_weights, self.weights = rule.base_weights, rule.weights
        self.rate = positive('disturbance_rate', rate, '1/s')
        self._rule = rule
        self._regulator = np.empty((rule.n, rule.columns))
        self._kernel = gain_with_estimate.load()

    @property
    def columns(self) -> int:
        """3 n: positions, velocities, and the integral of positions."""
        return 3 * self.n

    def gain(self, point: LinearPoint, K: FloatArray) -> None:
        """Write the gain at a point into K, shape (n, 3 n)."""
        self._rule.gain(point, self._regulator)
        self._extend(point, self._regulator, K)

    def gains_at(self, points: LinearPoint) -> FloatArray:
        """Return the gains at points that have nothing to do with each other, (k, n, 3 n)."""
        return self._extended(points, self._rule.gains_at(points))

    def gains_along(self, points: LinearPoint, spacing: float) -> FloatArray:
        """Return the gains along a trajectory, shape (k, n, 3 n)."""
        return self._extended(points, self._rule.gains_along(points, spacing))

    def _extended(self, points: LinearPoint, regulators: FloatArray) -> FloatArray:
        gains = np.empty((len(regulators), self.n, self.columns))
        for point, regulator, K in zip(points, regulators, gains, strict=True):
            self._extend(point, regulator, K)
        return gains

    def _extend(self, point: LinearPoint, regulator: FloatArray, K: FloatArray) -> None:
        self._kernel(point.dtau_dq, point.dtau_dv, point.M, self.rate, regulator, K)


def rule_of_design(kind: str, n: int, design: FeedbackDesign, period: float, *,
                   order: int = DEFAULT_ORDER) -> GainRule:
    """Return the rule that gives what was asked for.

    Parameters
    ----------
    kind : {'one_step', 'riccati'}
        Which.
    n : int
        Number of joints.
    design : FeedbackDesign
        What was asked for.
    period : float
        Sampling period. s.
    order : int
        Last power of A T in the series of Phi.
    """
    if not isinstance(kind, str) or kind not in (OneStepRule.name, RiccatiRule.name):
        raise ParameterError(f'is {kind!r}', subject='gain',
                             remedy=f'set it to {OneStepRule.name} or {RiccatiRule.name}')
    rule: GainRule
    if kind == RiccatiRule.name:
        rule = RiccatiRule(n, period, design.riccati_weights, order=order)
    elif order != 1:
        rule = OneStepRule(n, design.horizon, design.one_step_weight, order=order)
    else:
        raise ParameterError('is 1: where no effort moves a position there is no stiffness',
                             subject='series_order', remedy='set it to 2 or more')
    return DisturbanceRule(rule, design.disturbance_rate) if design.disturbance_rate else rule
