# SPDX-License-Identifier: Apache-2.0
"""Accelerations from efforts: M a = tau - C v - g by a factorisation of our own.

M = L^T D L with L lower triangular and ones on its diagonal, from the tips to the base:
Featherstone, "Rigid Body Dynamics Algorithms", section 6.5. D_k is then the inertia that
the effort of joint k feels when all joints beyond it are free, so that a D_k which is
not positive names a joint with nothing real to move.

Our own, because numba's linear algebra needs scipy at run time.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.direct import (
    DONE,
    REFUSED,
    direct_kernel,
    is_matrix_to_write,
    is_vector,
    is_vector_to_write,
    length,
    matrix,
    vector,
)
from robot_dynamics.dynamics.kernels.loading import kernel, part

EPSILON = float(np.finfo(np.float64).eps)
SOLVED = -1

#: What a direct kernel returns more than the number of a joint that has no inertia to move.
NO_INERTIA = 2


@part
def factorise(M):
    """Overwrite the lower triangle of M by L and D.

    Returns
    -------
    int
        SOLVED, or the last joint whose pivot shows that M is not positive definite.
    """
    n = M.shape[0]
    for k in range(n - 1, -1, -1):
        pivot = M[k, k]
        smallest = n * EPSILON * pivot
        for i in range(k + 1, n):
            pivot -= M[i, k] * M[i, k] * M[i, i]
        if not (pivot > smallest and pivot > 0.0):
            return k
        M[k, k] = pivot
        for j in range(k):
            entry = M[k, j]
            for i in range(k + 1, n):
                entry -= M[i, k] * M[i, j] * M[i, i]
            M[k, j] = entry / pivot
    return SOLVED


@part
def substitute(M, b):
    """Solve L^T D L x = b in place."""
    n = M.shape[0]
    for k in range(n - 1, -1, -1):
        for j in range(k):
            b[j] -= M[k, j] * b[k]
    for k in range(n):
        b[k] /= M[k, k]
        for j in range(k):
            b[k] -= M[k, j] * b[j]


@part
def solve_for_acceleration(M, C, g, v, tau, a):
    """Write M^-1 (tau - C v - g) to a, M being overwritten; return what `factorise` does."""
    n = M.shape[0]
    for i in range(n):
        rest = tau[i] - g[i]
        for k in range(n):
            rest -= C[i, k] * v[k]
        a[i] = rest
    joint = factorise(M)
    if joint == SOLVED:
        substitute(M, a)
    return joint


@kernel('int64(float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, ::1])', nogil=True)
def many_accelerations(M, C, g, v, tau, a):
    """Write M^-1 (tau - C v - g) of each sample to a row of a; M is overwritten.

    Returns SOLVED, or the joint at which some M proved not to be positive definite.
    """
    for k in range(M.shape[0]):
        joint = solve_for_acceleration(M[k], C[k], g[k], v[k], tau[k], a[k])
        if joint != SOLVED:
            return joint
    return SOLVED


@direct_kernel
def acceleration(model, M, C, g, v, tau, a):
    """Write M^-1 (tau - C v - g) of one sample to a; M is overwritten too.

    Returns DONE, REFUSED, or NO_INERTIA plus the joint at which M proved not to be positive
    definite.
    """
    n = length(model, 0) - 1
    if not (is_matrix_to_write(M, model, n, n) and is_matrix_to_write(C, model, n, n)
            and is_vector(g, model, n) and is_vector(v, model, n) and is_vector(tau, model, n)
            and is_vector_to_write(a, model, n)):
        return REFUSED
    joint = solve_for_acceleration(matrix(M, n, n), matrix(C, n, n), vector(g, n), vector(v, n),
                                   vector(tau, n), vector(a, n))
    return DONE if joint == SOLVED else NO_INERTIA + joint
