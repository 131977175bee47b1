# SPDX-License-Identifier: Apache-2.0
"""Accelerations from efforts: M a = b by an L D L^T factorisation of our own.

Our own, because numba's linear algebra needs scipy at run time.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel, part

EPSILON = float(np.finfo(np.float64).eps)


@part
def factorise(M):
    """Overwrite the lower triangle of M by L and D of M = L D L^T.

    Returns
    -------
    int
        -1, or the first k whose pivot shows that M is not positive definite: joint k
        moves no inertia that the joints before it do not move already.
    """
    n = M.shape[0]
    for k in range(n):
        pivot = M[k, k]
        smallest = n * EPSILON * pivot
        for j in range(k):
            pivot -= M[k, j] * M[k, j] * M[j, j]
        if not pivot > smallest:
            return k
        M[k, k] = pivot
        for i in range(k + 1, n):
            entry = M[i, k]
            for j in range(k):
                entry -= M[i, j] * M[k, j] * M[j, j]
            M[i, k] = entry / pivot
    return -1


@part
def substitute(M, b):
    """Solve L D L^T x = b in place."""
    n = M.shape[0]
    for i in range(n):
        for j in range(i):
            b[i] -= M[i, j] * b[j]
    for i in range(n - 1, -1, -1):
        b[i] /= M[i, i]
        for j in range(i + 1, n):
            b[i] -= M[j, i] * b[j]


@kernel('int64(float64[:, :, ::1], float64[:, ::1])')
def solve_accelerations(M, b):
    """Overwrite each row of b, shape (N, n), by M^-1 b; M is overwritten too.

    Returns -1, or the joint at which some M proved not to be positive definite.
    """
    for k in range(M.shape[0]):
        joint = factorise(M[k])
        if joint >= 0:
            return joint
        substitute(M[k], b[k])
    return -1
