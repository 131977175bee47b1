# SPDX-License-Identifier: Apache-2.0
"""The compiled step of `robot_dynamics.control.adaptation.natural_adaptation`."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.adaptation.gradient_kernel import ACCEPTED, NOT_FINITE, TOO_LARGE
from robot_dynamics.dynamics.kernels.loading import kernel, part

#: Largest |A|_F of one step, the relative change of a pseudo-inertia. Sound gains stay
#: below 0.01; more than this is a loop gone unstable.
LARGEST_EXPONENT = 0.3

#: What is added of the metric's matrix to a pseudo-inertia that rounding made singular.
FLOOR = 1e-9

# Offsets in the row of constants of a body.
LEARNT = 0         # 1, zero where the body is known
CONE_GAIN = 1      # 1, gamma
LARGEST_MOMENTS = 2  # 4, largest diagonal entries of P: second moments and mass
MATRIX = 6         # 16, Q, row after row
CONE_WIDTH = 22


@kernel('i8(f8[::1], f8[::1], f8, f8[:, ::1], f8[::1], f8[:, ::1], f8[::1])', on_demand=True)
def natural_step(estimate, gradient, dt, constants, gains, ranges, target):
    """Move the estimate along the natural gradient; return an outcome.

    Parameters
    ----------
    estimate, gradient, target : (10 nb + m,)
        Bodies, then m joint terms; target is for work.
    dt : float
        Time. s.
    constants : (nb, CONE_WIDTH)
        Of each body.
    gains, ranges : (m,), (2, m)
        Of the joint terms.
    """
    bodies = constants.shape[0]
    for k in range(gradient.size):
        if not np.isfinite(gradient[k]):
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
    for i in range(target.size):
        if not np.isfinite(target[i]):
            return NOT_FINITE
    for i in range(target.size):
        estimate[i] = target[i]
    return ACCEPTED


@kernel('f8(f8[::1], f8[::1], f8[::1], f8[:, ::1], f8, f8[:, ::1], f8[::1])', on_demand=True)
def allowed_share(estimate, gradient, s, mass_matrix, fastest, constants, gains):
    """Return min(1, w^2 s^T M s / (y . Gamma(P) y)) for the largest frequency w.

    Parameters
    ----------
    estimate, gradient : (10 nb + m,)
        Bodies, then m joint terms; y = Yr^T s.
    s, mass_matrix : (n,), (n, n)
        Sliding variable, and M.
    fastest : float
        w. rad/s.
    constants, gains : (nb, CONE_WIDTH), (m,)
        Of each body and of the joint terms.
    """
    momentum = 0.0
    for i in range(s.size):
        for j in range(s.size):
            momentum += s[i] * mass_matrix[i, j] * s[j]
    allowed = fastest * fastest * momentum
    power = loop_power(estimate, gradient, constants, gains)
    return allowed / power if power > allowed else 1.0


@part
def loop_power(estimate, gradient, constants, gains):
    """Return y . Gamma(P) y: gamma tr(U P U P) of every body, and what the joint terms add."""
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
def read_pseudo_inertia(estimate, b, P):
    """Write the pseudo-inertia of body b to P."""
    o = 10 * b
    half = 0.5 * (estimate[o + 4] + estimate[o + 7] + estimate[o + 9])
    P[0, 0], P[1, 1] = half - estimate[o + 4], half - estimate[o + 7]
    P[2, 2], P[3, 3] = half - estimate[o + 9], estimate[o]
    P[0, 1] = P[1, 0] = -estimate[o + 5]
    P[0, 2] = P[2, 0] = -estimate[o + 6]
    P[1, 2] = P[2, 1] = -estimate[o + 8]
    for i in range(3):
        P[i, 3] = P[3, i] = estimate[o + 1 + i]


@part
def write_parameters(P, target, b):
    """Write the parameters of a pseudo-inertia to body b of target."""
    o = 10 * b
    target[o] = P[3, 3]
    target[o + 1], target[o + 2], target[o + 3] = P[0, 3], P[1, 3], P[2, 3]
    target[o + 4], target[o + 7] = P[1, 1] + P[2, 2], P[0, 0] + P[2, 2]
    target[o + 9] = P[0, 0] + P[1, 1]
    target[o + 5], target[o + 6], target[o + 8] = -P[0, 1], -P[0, 2], -P[1, 2]


@part
def factor(P, L):
    """Write the lower triangular L with P = L L^T; return whether there is one."""
    good = True
    for i in range(4):
        for j in range(4):
            L[i, j] = 0.0
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
    """Write A = step L^T U L with tr(U P) = gradient . parameters; work and U are for work."""
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
    """Write P = (L S)(L S)^T with S = 1 + A/2 + A^2/8; work and S are for work.

    To third order L exp(A) L^T. x^2/8 + x/2 + 1 has no real root, so that P is positive
    definite for every symmetric A.
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
    """Bring a diagonal entry of P to a largest value, the shortest way for the proof.

    P <- P - (P_ii - b) / P_ii^2 (P e_i)(P e_i)^T has the inverse P^-1 + mu e_i e_i^T: the
    projection in the Bregman divergence of -log det, which brings P closer to every
    pseudo-inertia below the largest value. It stays positive definite.
    """
    if P[i, i] > largest:
        factor_out = (P[i, i] - largest) / (P[i, i] * P[i, i])
        column = np.empty(4)
        for j in range(4):
            column[j] = P[j, i]
        for j in range(4):
            for k in range(4):
                P[j, k] -= factor_out * column[j] * column[k]
