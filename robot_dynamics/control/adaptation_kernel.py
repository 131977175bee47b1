# SPDX-License-Identifier: Apache-2.0
"""The compiled step of `robot_dynamics.control.adaptation`: every body, all or none."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.kernels.loading import helper, kernel

#: Longest step of a body's estimate in one update, |dX|_F against 1 + |X|_F. Sound
#: gains move it by less than 0.01; more than this is a loop gone unstable.
LARGEST_RELATIVE_STEP = 0.3


@helper
def _fill_dual(y, k, u):
    """Write U of the ten weights y[k:k + 10]."""
    u[3, 3] = y[k]
    u[0, 3] = u[3, 0] = 0.5 * y[k + 1]
    u[1, 3] = u[3, 1] = 0.5 * y[k + 2]
    u[2, 3] = u[3, 2] = 0.5 * y[k + 3]
    u[0, 0] = y[k + 7] + y[k + 9]
    u[1, 1] = y[k + 4] + y[k + 9]
    u[2, 2] = y[k + 4] + y[k + 7]
    u[0, 1] = u[1, 0] = -0.5 * y[k + 5]
    u[0, 2] = u[2, 0] = -0.5 * y[k + 6]
    u[1, 2] = u[2, 1] = -0.5 * y[k + 8]


@helper
def _fill_parameters(p, k, parameters):
    """Write the ten parameters of the pseudo-inertia p to parameters[k:k + 10]."""
    parameters[k] = p[3, 3]
    parameters[k + 1] = p[0, 3]
    parameters[k + 2] = p[1, 3]
    parameters[k + 3] = p[2, 3]
    parameters[k + 4] = p[1, 1] + p[2, 2]
    parameters[k + 5] = -p[0, 1]
    parameters[k + 6] = -p[0, 2]
    parameters[k + 7] = p[0, 0] + p[2, 2]
    parameters[k + 8] = -p[1, 2]
    parameters[k + 9] = p[0, 0] + p[1, 1]


@helper
def _congruence(root, matrix, transposed, work, out):
    """Write L^T A L (transposed) or L A L^T, for L lower triangular and A symmetric."""
    for i in range(4):
        for j in range(4):
            total = 0.0
            if transposed:
                for k in range(j, 4):
                    total += matrix[i, k] * root[k, j]
            else:
                for k in range(j + 1):
                    total += matrix[i, k] * root[j, k]
            work[i, j] = total
    for i in range(4):
        for j in range(i, 4):
            total = 0.0
            if transposed:
                for k in range(i, 4):
                    total += root[k, i] * work[k, j]
            else:
                for k in range(i + 1):
                    total += root[i, k] * work[k, j]
            out[i, j] = out[j, i] = total


@helper
def _limit_mass(x, root, largest):
    """Move X to the half-space m <= largest, where m = a^T X a with a^T the last row of L."""
    mass, square = 0.0, 0.0
    for i in range(4):
        square += root[3, i]**2
        for j in range(4):
            mass += root[3, i] * x[i, j] * root[3, j]
    if mass > largest:
        excess = (mass - largest) / square**2
        for i in range(4):
            for j in range(4):
                x[i, j] -= excess * root[3, i] * root[3, j]


@helper
def _limit_spread(x, root, largest):
    """Move X to the half-space tr Sigma <= largest.

    tr Sigma = tr(W X) with W = L^T diag(1, 1, 1, 0) L, the gradient to move along.
    """
    weight = np.empty((4, 4))
    spread, square = 0.0, 0.0
    for i in range(4):
        for j in range(4):
            total = 0.0
            for k in range(3):
                total += root[k, i] * root[k, j]
            weight[i, j] = total
            spread += total * x[i, j]
            square += total**2
    if spread > largest:
        for i in range(4):
            for j in range(4):
                x[i, j] -= (spread - largest) / square * weight[i, j]


@helper
def _is_positive(x, work):
    """Say whether X is positive definite, by its Cholesky factor."""
    for j in range(4):
        pivot = x[j, j]
        for k in range(j):
            pivot -= work[j, k]**2
        if not pivot > 0.0:
            return False
        work[j, j] = np.sqrt(pivot)
        for i in range(j + 1, 4):
            total = x[i, j]
            for k in range(j):
                total -= work[i, k] * work[j, k]
            work[i, j] = total / work[j, j]
    return True


@helper
def _project_to_cone(x):
    """Replace X by the nearest positive semi-definite matrix: negative eigenvalues to zero.

    Eigenvalues by cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations,
    algorithm 8.5.3): four sweeps bring a 4x4 matrix to rounding.
    """
    diagonal, vectors = x.copy(), np.eye(4)
    for _ in range(6):
        for p in range(3):
            for q in range(p + 1, 4):
                _rotate(diagonal, vectors, p, q)
    for i in range(4):
        for j in range(4):
            total = 0.0
            for k in range(4):
                total += max(diagonal[k, k], 0.0) * vectors[i, k] * vectors[j, k]
            x[i, j] = total


@helper
def _rotate(a, vectors, p, q):
    """Zero a[p, q] by a plane rotation, and gather it in the eigenvectors."""
    if a[p, q] == 0.0:
        return
    theta = 0.5 * (a[q, q] - a[p, p]) / a[p, q]
    tangent = 1.0 / (abs(theta) + np.sqrt(1.0 + theta**2))
    if theta < 0.0:
        tangent = -tangent
    c = 1.0 / np.sqrt(1.0 + tangent**2)
    s = tangent * c
    for k in range(4):
        left, right = a[k, p], a[k, q]
        a[k, p], a[k, q] = c * left - s * right, s * left + c * right
    for k in range(4):
        upper, lower = a[p, k], a[q, k]
        a[p, k], a[q, k] = c * upper - s * lower, s * upper + c * lower
    for k in range(4):
        left, right = vectors[k, p], vectors[k, q]
        vectors[k, p], vectors[k, q] = c * left - s * right, s * left + c * right


@kernel('i8(f8[:,:,::1], f8[:,:,::1], f8[:,:,::1], f8[::1], f8, f8[::1], f8[::1], f8[::1], '
        'f8[:,::1], f8[:,::1], f8, f8[:,::1], f8[:,::1])')
def adaptation_step(coordinates, trial, roots, gradient, scale, largest_mass, largest_spread,
                    estimate, terms, term_gain, dt, least, largest):
    """Take one step of every body and joint term, or none of them.

    Arguments as in `robot_dynamics.control.adaptation.Adaptation`; scale is gamma dt.
    Returns a value of `robot_dynamics.control.adaptation.StepOutcome`.
    """
    for value in gradient:
        if not np.isfinite(value):
            return 1
    bodies = coordinates.shape[0]
    dual, step, work = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    for b in range(bodies):
        _fill_dual(gradient, 10 * b, dual)
        _congruence(roots[b], dual, True, work, step)
        size, length = 0.0, 0.0
        for i in range(4):
            for j in range(4):
                size += coordinates[b, i, j]**2
                length += (scale * step[i, j])**2
                trial[b, i, j] = coordinates[b, i, j] + scale * step[i, j]
        if not np.sqrt(length) <= LARGEST_RELATIVE_STEP * (1.0 + np.sqrt(size)):
            return 2
        _limit_mass(trial[b], roots[b], largest_mass[b])
        _limit_spread(trial[b], roots[b], largest_spread[b])
        if not _is_positive(trial[b], work):
            _project_to_cone(trial[b])
    for b in range(bodies):
        coordinates[b] = trial[b]
        _congruence(roots[b], coordinates[b], False, work, step)
        _fill_parameters(step, 10 * b, estimate)
    k = 10 * bodies
    for i in range(terms.shape[0]):
        for j in range(terms.shape[1]):
            value = terms[i, j] + dt * term_gain[i, j] * gradient[k]
            terms[i, j] = min(max(value, least[i, j]), largest[i, j])
            k += 1
    return 0
