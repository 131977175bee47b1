# SPDX-License-Identifier: Apache-2.0
r"""Kernels of the gains, in acceleration units and in blocks.

With u = M w the input matrix loses M: B w = (0, 1), so that all joints are of a size, and
K = M K_w. A = [[0, 1], [F_q, F_v]] with [F_q, F_v] = -M^-1 [dtau/dq, dtau/dv] is never
multiplied out: A X has the lower half of X above [F_q, F_v] X.

The series of order m are evaluated as S_k = 1 + A T / (k + 1) S_(k + 1), the innermost first::

    Gamma = T S_1 (0, 1)        S_1 = 1 + A T / 2! + ... + (A T)^(m - 1) / m!
    Phi   = 1 + A T S_1

Van Winssen, deSilva, "Accurate trajectory control of robotic manipulators", eqs. 13, 14.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise
from robot_dynamics.dynamics.kernels.solve_columns import substitute_rows

#: A matrix to be inverted is not positive definite.
SINGULAR = 1


@part
def multiply(X, Y, out):
    """Write X Y."""
    for i in range(X.shape[0]):
        for j in range(Y.shape[1]):
            out[i, j] = 0.0
        for k in range(Y.shape[0]):
            factor = X[i, k]
            for j in range(Y.shape[1]):
                out[i, j] += factor * Y[k, j]


@part
def multiply_transposed(X, Y, out):
    """Write X^T Y."""
    for i in range(X.shape[1]):
        for j in range(Y.shape[1]):
            out[i, j] = 0.0
    for k in range(X.shape[0]):
        for i in range(X.shape[1]):
            factor = X[k, i]
            for j in range(Y.shape[1]):
                out[i, j] += factor * Y[k, j]


@part
def accelerate(dq, dv, M, F, factor):
    """Write F = -M^-1 [dq, dv]; `factor` is room for a factorisation of M."""
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
    """Write Phi and Gamma of the inputs w; `series` and `spare` are room for matrices."""
    n = F.shape[0]
    for i in range(2 * n):
        for j in range(2 * n):
            series[i, j] = 1.0 if i == j else 0.0
    for k in range(order, 1, -1):
        apply_state_matrix(F, period / k, series, spare)
        for i in range(2 * n):
            for j in range(2 * n):
                series[i, j] = spare[i, j]
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
        # Left alone, what rounding makes asymmetric grows from step to step.
        for j in range(i):
            mean = 0.5 * (cost[i, j] + cost[j, i])
            cost[i, j] = mean
            cost[j, i] = mean
    return 0


@kernel('int64(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64, int64, '
        'float64[::1], '
        'float64[:, ::1])', on_demand=True, nogil=True)
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


@kernel('int64(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64, int64, '
        'float64[::1], '
        'int64, float64[:, ::1], float64[:, ::1])', on_demand=True, nogil=True)
def riccati_gain_of(dq, dv, M, period, order, weights, steps, cost, K):
    """Write the gain of a point after some steps from a cost matrix, which goes on from there.

    Returns 0 or SINGULAR, where neither is to be used any more.
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
