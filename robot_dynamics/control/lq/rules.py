# SPDX-License-Identifier: Apache-2.0
"""Gain rules: the gain for the linear model at a point, fast enough for a control loop.

With u = M w the input matrix becomes (0, 1), which scales all joints alike, and K = M K_w. A =
[[0, 1], [F_q, F_v]] with [F_q, F_v] = -M^-1 [dtau/dq, dtau/dv] is never formed: A X is the lower
half of X above [F_q, F_v] X. The series of order m are evaluated as S_k = 1 + A T / (k + 1) S_(k +
1), the innermost first::

    Gamma = T S_1 (0, 1)        S_1 = 1 + A T / 2! + ... + (A T)^(m - 1) / m!
    Phi   = 1 + A T S_1

The order m that an arm needs follows from a bound (`sufficient_order`). Light joints that carry
gravity or move fast have large F_q and F_v, and need more terms. In the coordinates L^T q and
L^T v / f, with M = L L^T and f^2 = |L^-1 dtau/dq L^-T|, the norm of A is at most a = f + |L^-1
dtau/dv L^-T|, and what the series of S_1 leaves out at most::

    (a T)^m / (m + 1)! exp(a T)

*Unknown torques.* About the desired motion, with x = (q - q_d, v - v_d) and Kq, D the
derivatives of the efforts, an unknown payload or friction is a torque d that hardly changes::

    M dv/dt = -Kq q - D v + u + d

With u = -K x - d^, the gain K does not depend on d. d is estimated at a rate w from the difference
between the motion and that of the regulated model::

    d d^/dt = w (M dv/dt + (Kq + K_p) q + (D + K_v) v)

The right hand side is w (d - d^), so that the eigenvalues are those of the regulator, and -w, n
times. The acceleration is not measured, but its integral is the velocity. The estimate therefore
adds to the gains of positions and velocities, and has an integral gain::

    u = -(K_p + w (K_v + D)) q - (K_v + w M) v - int w (K_p + Kq) q dt

This is the reduced-order observer of a constant disturbance. With k_p, k_v of a joint it is a PID
controller with poles -b, -1/t_c, -w. The integral is stored as an effort, so that a change of the
gain does not change its value. An arm heavier than its model by a factor f is stable for f < (k_p
+ w k_v)(k_v + w) / (w k_p). A lower w permits more: f < 15 for w = b/5 with b = 1/t_c, 21 for b/8,
and 35 for b/15.

References
----------
J. C. Van Winssen and C. W. deSilva, "Accurate trajectory control of robotic manipulators",
Carnegie Mellon University, CMU-RI-TR-85-15, 1985, eqs. 10, 13, 14.

D. G. Luenberger, "An introduction to observers", IEEE Trans. Automatic Control 16(6), 1971.
"""

from __future__ import annotations

import itertools
import math
import reprlib
from abc import ABC, abstractmethod

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.feedback.loaded_model import LinearPoint
from robot_dynamics.control.lq.design import FeedbackDesign
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute_rows
from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.model.arrays import FloatArray

#: Last power of A T in the series of Phi, of an arm that has not been looked at.
DEFAULT_ORDER = 3
#: Largest bound of what a series leaves out, and the least order that then serves.
SERIES_TOLERANCE, LEAST_ORDER = 1e-6, 3
#: Highest order; further terms are below the resolution of doubles.
HIGHEST_ORDER = 20
#: A matrix to be inverted is not positive definite.
SINGULAR = 1


class GainRule(ABC):
    """Rule of K in u = -K x, x = (q - q_d, v - v_d), from the model at a point.

    The model is discretised over `time`, s, to the power `order` of A T in the series of Phi,
    `HIGHEST_ORDER` at most. The weights given are those of every position and of every velocity;
    `weights`, shape (2 n,), is the diagonal of Q, positions first, and may be rescaled between two
    gains.
    """

    name: str

    def __init__(self, n: int, time: float, weights: tuple[float, float], order: int):
        if isinstance(order, bool) or not isinstance(order, (int, np.integer)) \
                or not 1 <= order <= HIGHEST_ORDER:
            raise ParameterError(f'must be a whole number from 1 to {HIGHEST_ORDER}, got '
                                 f'{reprlib.repr(order)}',
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

        Raises a ControlError if a mass matrix is not positive definite.
        """

    def gains_at(self, points: LinearPoint) -> FloatArray:
        """Gains at independent points, shape (k, n, columns)."""
        gains = np.empty((len(points.M), self.n, self.columns))
        for point, K in zip(points, gains, strict=True):
            self._gain_alone(point, K)
        return gains

    def gains_along(self, points: LinearPoint, spacing: float) -> FloatArray:
        """Gains along a trajectory with a spacing in s, shape (k, n, columns)."""
        return self.gains_at(points)

    def _gain_alone(self, point: LinearPoint, K: FloatArray) -> None:
        """Write the gain at a point without regard to the point before."""
        self.gain(point, K)

    def _check(self, failed: int) -> None:
        if failed:
            raise ControlError('cannot be computed: a mass matrix is not positive definite',
                               subject=f'{self.name} gain',
                               remedy='give every link that moves a mass and an inertia')


class OneStepRule(GainRule):
    """One-step rule: K = (Gamma^T Q Gamma)^-1 Gamma^T Q Phi over a horizon, with q_p = 1."""

    name = 'one_step'

    def __init__(self, n: int, horizon: float, velocity_weight: float, *,
                 order: int = DEFAULT_ORDER):
        super().__init__(n, horizon, (1.0, velocity_weight), order)
        self._kernel = one_step_gain_of.load()

    def gain(self, point: LinearPoint, K: FloatArray) -> None:
        """Write the gain at a point into K, shape (n, 2 n)."""
        self._check(self._kernel(point.dtau_dq, point.dtau_dv, point.M, self.time, self.order,
                                 self.weights, K))


class RiccatiRule(GainRule):
    """Regulator of the infinite horizon, by steps of the Riccati difference equation.

    Neighbouring points hardly differ, so that a few steps from the previous cost matrix
    approximate the solution of the algebraic equation closely. The weights are q_p and q_v for an
    acceleration weight of 1.
    """

    name = 'riccati'

    #: Steps for each gain on-line; each reduces the error by exp(-2 T / t_c).
    STEPS = 2
    #: Largest relative difference of an off-line gain from that of the algebraic equation.
    TOLERANCE = 1e-10
    _BATCH, _MOST_BATCHES = 100, 1000

    def __init__(self, n: int, period: float, weights: tuple[float, float], *,
                 order: int = DEFAULT_ORDER):
        super().__init__(n, period, weights, order)
        self._kernel = riccati_gain_of.load()
        self._initial = self._cost_of_double_integrators()
        self._cost = self._initial.copy()

    def gain(self, point: LinearPoint, K: FloatArray) -> None:
        """Write the gain at a point into K, shape (n, 2 n); continues from the point before."""
        failed = self._step(point, self.STEPS, self._cost, K)
        if failed or not np.isfinite(self._cost[0, 0]):
            self._cost[:] = self._initial
        self._check(failed)

    def _gain_alone(self, point: LinearPoint, K: FloatArray) -> None:
        """Write the gain of the algebraic equation at a point."""
        self._settle(point, self._initial.copy(), K)

    def gains_along(self, points: LinearPoint, spacing: float) -> FloatArray:
        """Gains along a trajectory, backwards from its end, shape (k, n, 2 n).

        At the end of the trajectory the arm is regulated over the infinite horizon.
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
        """Iterate to convergence."""
        before = np.full_like(K, np.inf)
        for _ in range(self._MOST_BATCHES):
            self._check(self._step(point, self._BATCH, cost, K))
            if np.abs(K - before).max() <= self.TOLERANCE * np.abs(K).max():
                return
            before[:] = K
        raise ControlError('does not converge', subject='Riccati gain',
                           remedy='choose a shorter time_constant')

    def _cost_of_double_integrators(self) -> FloatArray:
        """Cost matrix of joints as double integrators."""
        from scipy.linalg import solve_discrete_are
        T = self.time
        try:
            X = solve_discrete_are(np.array([[1.0, T], [0.0, 1.0]]),
                                   np.array([[0.5 * T * T], [T]]),
                                   np.diag(self.base_weights[[0, self.n]]), np.eye(1))
        except (np.linalg.LinAlgError, ValueError) as error:
            raise ControlError(f'has no solution for these weights: {error}',
                               subject='Riccati equation',
                               remedy='choose a lower bandwidth or a longer time_constant'
                               ) from None
        return np.kron(X, np.eye(self.n))


class DisturbanceRule(GainRule):
    """A rule extended by the compensation of unknown torques at a rate, 1/s."""

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

    def gains_along(self, points: LinearPoint, spacing: float) -> FloatArray:
        """Gains along a trajectory, shape (k, n, 3 n)."""
        regulators = self._rule.gains_along(points, spacing)
        gains = np.empty((len(regulators), self.n, self.columns))
        for point, regulator, K in zip(points, regulators, gains, strict=True):
            self._extend(point, regulator, K)
        return gains

    def _gain_alone(self, point: LinearPoint, K: FloatArray) -> None:
        self._rule._gain_alone(point, self._regulator)
        self._extend(point, self._regulator, K)

    def _extend(self, point: LinearPoint, regulator: FloatArray, K: FloatArray) -> None:
        self._kernel(point.dtau_dq, point.dtau_dv, point.M, self.rate, regulator, K)


def rule_of_design(kind: str, n: int, design: FeedbackDesign, period: float, *,
                   order: int = DEFAULT_ORDER) -> GainRule:
    """Rule with the gains of a design.

    Parameters
    ----------
    kind : {'one_step', 'riccati'}
        Kind of the rule.
    n : int
        Number of joints.
    design : FeedbackDesign
        The design.
    period : float
        Sampling period. s.
    order : int
        Last power of A T in the series of Phi.

    Examples
    --------
    >>> rule = rule_of_design('riccati', 2, FeedbackDesign(), period=0.002)
    >>> rule.name, rule.columns
    ('riccati', 4)
    """
    if not isinstance(kind, str) or kind not in (OneStepRule.name, RiccatiRule.name):
        raise ParameterError(f'must be {OneStepRule.name} or {RiccatiRule.name}, got {kind!r}',
                             subject='gain', remedy='choose one of them')
    rule: GainRule
    if kind == RiccatiRule.name:
        rule = RiccatiRule(n, period, design.riccati_weights, order=order)
    elif order != 1:
        rule = OneStepRule(n, design.horizon, design.one_step_weight, order=order)
    else:
        raise ParameterError('must be 2 or more, got 1: without effect of efforts on positions',
                             subject='series_order', remedy='set it to 2 or more')
    return DisturbanceRule(rule, design.disturbance_rate) if design.disturbance_rate else rule


def sufficient_order(points: LinearPoint, time: float) -> int:
    """Least order of the series of Phi over a time, s, at points of an arm.

    At most `HIGHEST_ORDER`, beyond which nothing is gained in doubles.

    Examples
    --------
    >>> import numpy as np
    >>> pendulum = LinearPoint(*(np.array([[[x]]]) for x in (-9.81, 0.1, 1.0)))
    >>> [sufficient_order(pendulum, time) for time in (0.002, 0.02, 0.2)]
    [3, 3, 7]
    """
    half = np.linalg.inv(np.linalg.cholesky(points.M))
    stiffness, damping = (np.linalg.norm(half @ x @ np.swapaxes(half, -1, -2), 2, axis=(-2, -1))
                          for x in (points.dtau_dq, points.dtau_dv))
    reach = time * float((np.sqrt(stiffness) + damping).max())
    bounds = (reach**m / math.factorial(m + 1) * math.exp(min(reach, 700.0))
              for m in range(LEAST_ORDER, HIGHEST_ORDER))
    return LEAST_ORDER + sum(1 for _ in itertools.takewhile(
        lambda bound: bound > SERIES_TOLERANCE, bounds))


@part
def multiply(X, Y, out):
    """Write X Y."""
    out[:] = 0.0
    for i in range(X.shape[0]):
        for k in range(Y.shape[0]):
            factor = X[i, k]
            for j in range(Y.shape[1]):
                out[i, j] += factor * Y[k, j]


@part
def multiply_transposed(X, Y, out):
    """Write X^T Y."""
    out[:] = 0.0
    for k in range(X.shape[0]):
        for i in range(X.shape[1]):
            factor = X[k, i]
            for j in range(Y.shape[1]):
                out[i, j] += factor * Y[k, j]


@part
def accelerate(dq, dv, M, F, factor):
    """Write F = -M^-1 [dq, dv]; `factor` is a buffer for a factorisation of M."""
    n = M.shape[0]
    for i in range(n):
        for j in range(n):
            factor[i, j] = M[i, j]
            F[i, j] = -dq[i, j]
            F[i, n + j] = -dv[i, j]
    if factorise(factor) != SOLVED:
        return SINGULAR
    substitute_rows(factor, F)
    return 0


@part
def apply_state_matrix(F, scale, X, out):
    """Write 1 + scale A X."""
    n = F.shape[0]
    for i in range(n):
        for j in range(2 * n):
            out[i, j] = scale * X[n + i, j]
            out[n + i, j] = 0.0
        for k in range(2 * n):
            factor = scale * F[i, k]
            for j in range(2 * n):
                out[n + i, j] += factor * X[k, j]
    for i in range(2 * n):
        out[i, i] += 1.0


@part
def discretise(F, period, order, Phi, Gamma, series, spare):
    """Write Phi and Gamma of the inputs w; `series` and `spare` are buffers."""
    n = F.shape[0]
    for i in range(2 * n):
        for j in range(2 * n):
            series[i, j] = 1.0 if i == j else 0.0
    for k in range(order, 1, -1):
        apply_state_matrix(F, period / k, series, spare)
        series[:] = spare
    for i in range(2 * n):
        for j in range(n):
            Gamma[i, j] = period * series[i, n + j]
    apply_state_matrix(F, period, series, Phi)


@part
def minimise_next_state(Phi, Gamma, weights, gain, weighted, reached):
    """Write K_w = (Gamma^T Q Gamma)^-1 Gamma^T Q Phi."""
    for i in range(Gamma.shape[0]):
        for j in range(Gamma.shape[1]):
            weighted[i, j] = weights[i] * Gamma[i, j]
    multiply_transposed(weighted, Gamma, reached)
    multiply_transposed(weighted, Phi, gain)
    if factorise(reached) != SOLVED:
        return SINGULAR
    substitute_rows(reached, gain)
    return 0


@part
def step_back(Phi, Gamma, weights, cost, gain, ahead, reached, spare, closed):
    """One step of the Riccati difference equation with R = 1; writes K_w, and X in place."""
    size, n = Gamma.shape
    multiply(cost, Gamma, ahead)
    multiply_transposed(ahead, Gamma, reached)
    multiply_transposed(ahead, Phi, gain)
    for i in range(n):
        reached[i, i] += 1.0
    if factorise(reached) != SOLVED:
        return SINGULAR
    substitute_rows(reached, gain)
    # X = Q + Phi^T X (Phi - Gamma K)
    for i in range(size):
        for j in range(size):
            total = Phi[i, j]
            for k in range(n):
                total -= Gamma[i, k] * gain[k, j]
            closed[i, j] = total
    multiply(cost, closed, spare)
    multiply_transposed(Phi, spare, cost)
    for i in range(size):
        cost[i, i] += weights[i]
        # Symmetrised, because asymmetric rounding errors would grow from step to step.
        for j in range(i):
            mean = 0.5 * (cost[i, j] + cost[j, i])
            cost[i, j] = mean
            cost[j, i] = mean
    return 0


@kernel('i8(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8, i8, f8[::1], f8[:, ::1])',
        on_demand=True, nogil=True)
def one_step_gain_of(dq, dv, M, horizon, order, weights, K):
    """Write the one-step gain of a point; returns 0 or SINGULAR."""
    n = M.shape[0]
    F, factor, gain = np.empty((n, 2 * n)), np.empty((n, n)), np.empty((n, 2 * n))
    Phi, series, spare = (np.empty((2 * n, 2 * n)), np.empty((2 * n, 2 * n)),
                          np.empty((2 * n, 2 * n)))
    Gamma, weighted = np.empty((2 * n, n)), np.empty((2 * n, n))
    if accelerate(dq, dv, M, F, factor) != 0:
        return SINGULAR
    discretise(F, horizon, order, Phi, Gamma, series, spare)
    if minimise_next_state(Phi, Gamma, weights, gain, weighted, factor) != 0:
        return SINGULAR
    multiply(M, gain, K)
    return 0


@kernel('i8(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8, i8, f8[::1], i8, f8[:, ::1], f8[:, ::1])',
        on_demand=True, nogil=True)
def riccati_gain_of(dq, dv, M, period, order, weights, steps, cost, K):
    """Write the gain of a point after some steps from a cost matrix, which is updated.

    Returns 0, or SINGULAR, in which case neither is valid.
    """
    n = M.shape[0]
    F, factor, gain = np.empty((n, 2 * n)), np.empty((n, n)), np.empty((n, 2 * n))
    Phi, spare, closed = (np.empty((2 * n, 2 * n)), np.empty((2 * n, 2 * n)),
                          np.empty((2 * n, 2 * n)))
    Gamma, ahead = np.empty((2 * n, n)), np.empty((2 * n, n))
    if accelerate(dq, dv, M, F, factor) != 0:
        return SINGULAR
    discretise(F, period, order, Phi, Gamma, spare, closed)
    for _ in range(steps):
        if step_back(Phi, Gamma, weights, cost, gain, ahead, factor, spare, closed) != 0:
            return SINGULAR
    multiply(M, gain, K)
    return 0


@kernel('void(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8, f8[:, ::1], f8[:, ::1])',
        on_demand=True, nogil=True)
def gain_with_estimate(dq, dv, M, rate, regulator, K):
    """Write the gains of position, velocity and integral, given those of the regulator."""
    n = M.shape[0]
    for i in range(n):
        for j in range(n):
            K[i, j] = regulator[i, j] + rate * (regulator[i, n + j] + dv[i, j])
            K[i, n + j] = regulator[i, n + j] + rate * M[i, j]
            K[i, 2 * n + j] = rate * (regulator[i, j] + dq[i, j])
