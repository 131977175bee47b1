# SPDX-License-Identifier: Apache-2.0
"""The natural update law: on pseudo-inertia matrices, in the metric of the estimate.

The estimate of a body is its 4x4 pseudo-inertia P > 0. With y = Yr^T s and U(y) the symmetric
matrix for which tr(U P) = y . pi for every P, the law is::

    dP/dt = gamma P U(y) P

and with the Bregman divergence of -log det P from the true value,

    V = 1/2 s^T M s + (1/gamma) sum (log det P - log det P_true + tr(P^-1 P_true) - 4),

the derivative of V is that of the law of Slotine and Li. A step is P+ = (L S)(L S)^T with P = L
L^T, A = dt gamma L^T U L and S = 1 + A/2 + A^2/8: it is L exp(A) L^T to third order and positive
definite for any A, so that no projection is needed. Bounds of masses and second moments are
enforced by projections in the same divergence, which do not increase V.

The gain of the loop grows with the estimate, as P (x) P. gamma is chosen at the metric matrix Q
(`robot_dynamics.control.adaptation.metric`). The frequency of the loop in the direction of s,

    w_s^2 = y . Gamma(P) y / (s^T M s),     y = Yr^T s

is at most w_A. If it exceeds this value, the step is shortened by the ratio of the squares, so
that the loop stays stable for any estimates.

References
----------
T. Lee, J. Kwon and F. C. Park, "A natural adaptive control law for robot manipulators", IROS 2018,
eqs. (14)-(18).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.adaptation.gradient import (
    ACCEPTED,
    NOT_FINITE,
    TOO_LARGE,
    BodyMetric,
    Estimates,
    StepOutcome,
    TermMetric,
    is_finite,
    read_pseudo_inertia,
    write_parameters,
)
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import (
    parameters_from_pseudo_inertia,
    project_to_consistent,
    pseudo_inertia,
)

#: Least share of Q in every prior, so that the estimate of a thin body can become thick.
LEAST_SHARE = 1e-6
_OUTCOMES = tuple(StepOutcome)
#: Largest |A|_F of one step, the relative change of a pseudo-inertia. With stable gains it is
#: below 0.01; a longer step indicates an unstable loop.
LARGEST_EXPONENT = 0.3
#: Share of the metric's matrix added to a pseudo-inertia that rounding made singular.
FLOOR = 1e-9
# Offsets in the row of constants of a body.
LEARNT = 0         # 1, zero where the body is known
CONE_GAIN = 1      # 1, gamma
LARGEST_MOMENTS = 2  # 4, largest diagonal entries of P: second moments and mass
MATRIX = 6         # 16, Q, row after row


class NaturalAdaptation(Estimates):
    """The estimates and the natural law; attributes as those of `Adaptation`.

    `learnt`, shape (nb,), is whether each body is learnt, all by default. Steps are shortened
    above the frequency w_s of the loop, `largest_frequency`, rad/s.
    """

    #: Every body's estimate stays physically consistent.
    keeps_bodies = True

    def __init__(self, prior: FloatArray, bodies: BodyMetric, terms: TermMetric, *,
                 learnt: FloatArray | None = None, largest_frequency: float = np.inf):
        learnt = np.ones(len(prior), dtype=bool) if learnt is None else np.asarray(learnt)
        P = pseudo_inertia(project_to_consistent(prior))
        P[learnt] += LEAST_SHARE * bodies.matrices[learnt]
        super().__init__(parameters_from_pseudo_inertia(P), bodies, terms)
        self._step, self._share = natural_step.load(), allowed_share.load()
        self._fastest = float(largest_frequency)
        self._cones = np.array([
            np.concatenate([[float(learnt[b]), bodies.gain],
                            np.full(3, bodies.largest_spread[b]), [bodies.largest_mass[b]],
                            matrix.ravel()])
            for b, matrix in enumerate(bodies.matrices)])
        self._settle.load()
        self.reset()

    def share(self, gradient: FloatArray, s: FloatArray, mass_matrix: FloatArray) -> float:
        """Factor in (0, 1] by which steps are shortened at this gradient Yr^T s."""
        return self._share(self.estimate, gradient, s, mass_matrix, self._fastest,
                           self._cones, self._term_gains)

    def step(self, gradient: FloatArray, dt: float) -> StepOutcome:
        """Move the estimates along a gradient for a time; see `Adaptation.step`."""
        return _OUTCOMES[self._step(self.estimate, gradient, dt, self._cones, self._term_gains,
                                    self._term_ranges, self._target)]


@kernel('i8(f8[::1], f8[::1], f8, f8[:, ::1], f8[::1], f8[:, ::1], f8[::1])', on_demand=True)
def natural_step(estimate, gradient, dt, constants, gains, ranges, target):
    """Move the estimate, bodies then joint terms, along the natural gradient."""
    bodies = constants.shape[0]
    if not is_finite(gradient):
        return NOT_FINITE
    P, L = np.empty((4, 4)), np.empty((4, 4))
    A, work, other = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    for b in range(bodies):
        if constants[b, LEARNT] == 0.0:
            for i in range(10):
                target[10 * b + i] = estimate[10 * b + i]
            continue
        read_pseudo_inertia(estimate, b, P)
        if not factor(P, L):
            for i in range(4):
                for j in range(4):
                    P[i, j] += FLOOR * constants[b, MATRIX + 4 * i + j]
            if not factor(P, L):
                return NOT_FINITE
        exponent(gradient, b, dt * constants[b, CONE_GAIN], L, A, work, other)
        size = 0.0
        for i in range(4):
            for j in range(4):
                size += A[i, j] * A[i, j]
        if not size <= LARGEST_EXPONENT * LARGEST_EXPONENT:
            return TOO_LARGE
        move(L, A, work, other, P)
        for i in range(4):
            keep_moment_below(P, i, constants[b, LARGEST_MOMENTS + i])
        write_parameters(P, target, b)
    for k in range(gains.size):
        i = 10 * bodies + k
        value = estimate[i] + dt * gains[k] * gradient[i]
        target[i] = min(max(value, ranges[0, k]), ranges[1, k])
    if not is_finite(target):
        return NOT_FINITE
    for i in range(target.size):
        estimate[i] = target[i]
    return ACCEPTED


@kernel('f8(f8[::1], f8[::1], f8[::1], f8[:, ::1], f8, f8[:, ::1], f8[::1])', on_demand=True)
def allowed_share(estimate, gradient, s, mass_matrix, fastest, constants, gains):
    """Factor min(1, w^2 s^T M s / (y . Gamma(P) y)) for the largest frequency w, rad/s."""
    momentum = 0.0
    for i in range(s.size):
        for j in range(s.size):
            momentum += s[i] * mass_matrix[i, j] * s[j]
    allowed = fastest * fastest * momentum
    power = loop_power(estimate, gradient, constants, gains)
    return allowed / power if power > allowed else 1.0


@part
def loop_power(estimate, gradient, constants, gains):
    """Power y . Gamma(P) y: gamma tr(U P U P) of every body, and that of the joint terms."""
    bodies = constants.shape[0]
    P, U, W = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    power = 0.0
    for b in range(bodies):
        if constants[b, LEARNT] != 0.0:
            read_pseudo_inertia(estimate, b, P)
            write_dual(gradient, b, U)
            for i in range(4):
                for j in range(4):
                    W[i, j] = 0.0
                    for k in range(4):
                        W[i, j] += U[i, k] * P[k, j]
            for i in range(4):
                for j in range(4):
                    power += constants[b, CONE_GAIN] * W[i, j] * W[j, i]
    for k in range(gains.size):
        power += gains[k] * gradient[10 * bodies + k] * gradient[10 * bodies + k]
    return power


@part
def factor(P, L):
    """Write the lower triangular L with P = L L^T; return whether P is positive definite."""
    good = True
    L[:] = 0.0
    for j in range(4):
        pivot = P[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k]
        good = good and pivot > 0.0
        L[j, j] = np.sqrt(max(pivot, 1e-300))
        for i in range(j + 1, 4):
            total = P[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j]
    return good


@part
def write_dual(gradient, b, U):
    """Write the symmetric U with tr(U P) = gradient . parameters of body b."""
    o = 10 * b
    xx, yy, zz = gradient[o + 4], gradient[o + 7], gradient[o + 9]
    U[0, 0], U[1, 1], U[2, 2], U[3, 3] = yy + zz, xx + zz, xx + yy, gradient[o]
    U[0, 1] = U[1, 0] = -0.5 * gradient[o + 5]
    U[0, 2] = U[2, 0] = -0.5 * gradient[o + 6]
    U[1, 2] = U[2, 1] = -0.5 * gradient[o + 8]
    for i in range(3):
        U[i, 3] = U[3, i] = 0.5 * gradient[o + 1 + i]


@part
def exponent(gradient, b, step, L, A, work, U):
    """Write A = step L^T U L with tr(U P) = gradient . parameters; work and U are buffers."""
    write_dual(gradient, b, U)
    for i in range(4):
        for j in range(4):
            work[i, j] = 0.0
            for k in range(j, 4):
                work[i, j] += U[i, k] * L[k, j]
    for i in range(4):
        for j in range(i, 4):
            total = 0.0
            for k in range(i, 4):
                total += step * L[k, i] * work[k, j]
            A[i, j] = A[j, i] = total


@part
def move(L, A, work, S, P):
    """Write P = (L S)(L S)^T with S = 1 + A/2 + A^2/8; work and S are buffers.

    To third order L exp(A) L^T. x^2/8 + x/2 + 1 has no real root, so that P is positive definite
    for every symmetric A.
    """
    for i in range(4):
        for j in range(i, 4):
            total = 0.5 * A[i, j] + (1.0 if i == j else 0.0)
            for k in range(4):
                total += 0.125 * A[i, k] * A[k, j]
            S[i, j] = S[j, i] = total
    for i in range(4):
        for j in range(4):
            work[i, j] = 0.0
            for k in range(i + 1):
                work[i, j] += L[i, k] * S[k, j]
    for i in range(4):
        for j in range(i, 4):
            total = 0.0
            for k in range(4):
                total += work[i, k] * work[j, k]
            P[i, j] = P[j, i] = total


@part
def keep_moment_below(P, i, largest):
    """Bring a diagonal entry of P to a largest value, the shortest way in the divergence.

    P <- P - (P_ii - b) / P_ii^2 (P e_i)(P e_i)^T has the inverse P^-1 + mu e_i e_i^T: the
    projection in the Bregman divergence of -log det, which brings P closer to every pseudo-inertia
    below the largest value. P stays positive definite.
    """
    if P[i, i] > largest:
        factor_out = (P[i, i] - largest) / (P[i, i] * P[i, i])
        column = np.empty(4)
        for j in range(4):
            column[j] = P[j, i]
        for j in range(4):
            for k in range(4):
                P[j, k] -= factor_out * column[j] * column[k]
