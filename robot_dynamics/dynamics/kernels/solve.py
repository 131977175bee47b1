# SPDX-License-Identifier: Apache-2.0
"""Solution of M X = B by a factorisation, and eigenvalues of small symmetric matrices.

M = L^T D L with L lower triangular and ones on its diagonal, from the tips to the base:
Featherstone, "Rigid Body Dynamics Algorithms", section 6.5. D_k is then the inertia moved by joint
k when all joints beyond it are free. A D_k that is not positive therefore identifies a joint that
moves no physical inertia.

Eigenvalues are found by cyclic rotations of Jacobi: G. H. Golub and C. F. Van Loan, "Matrix
Computations", section 8.5.

numba's linear algebra is not used, because it needs SciPy at run time.
"""

import math

import numpy as np

from robot_dynamics.dynamics.kernels.joint_table import columns
from robot_dynamics.dynamics.kernels.loading import routine

EPSILON = float(np.finfo(np.float64).eps)
SOLVED = -1
#: Most sweeps over all pairs; five are enough for six rows.
SWEEPS = 12


@routine
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


@routine
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


@routine
def subtract_row(B, j, entry, k):
    """Subtract row k of B, that many times, from row j."""
    for c in columns(0, B.shape[1]):
        B[j, c] -= entry * B[k, c]


@routine
def substitute_rows(M, B):
    """Solve L^T D L X = B in place."""
    n = B.shape[0]
    for k in range(n - 1, -1, -1):
        for j in range(k):
            if M[k, j] != 0.0:
                subtract_row(B, j, M[k, j], k)
    for k in range(n):
        pivot = M[k, k]
        for c in columns(0, B.shape[1]):
            B[k, c] /= pivot
        for j in range(k):
            if M[k, j] != 0.0:
                subtract_row(B, k, M[k, j], j)


@routine
def turn_columns(A, p, q, cosine, sine):
    """Replace columns p and q by c a_p - s a_q and s a_p + c a_q."""
    for k in range(A.shape[0]):
        x, y = A[k, p], A[k, q]
        A[k, p], A[k, q] = cosine * x - sine * y, sine * x + cosine * y


@routine
def turn_rows(A, p, q, cosine, sine):
    """Replace rows p and q by c a_p - s a_q and s a_p + c a_q."""
    for k in range(A.shape[1]):
        x, y = A[p, k], A[q, k]
        A[p, k], A[q, k] = cosine * x - sine * y, sine * x + cosine * y


@routine
def diagonalise(A, V):
    """Overwrite the diagonal of a symmetric A by its eigenvalues, and V by the eigenvectors."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        turned = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) <= EPSILON * math.sqrt(abs(A[p, p] * A[q, q])):
                    continue
                turned = True
                slope = 0.5 * (A[q, q] - A[p, p]) / A[p, q]
                tangent = math.copysign(1.0, slope) / (abs(slope) + math.hypot(slope, 1.0))
                cosine = 1.0 / math.hypot(tangent, 1.0)
                turn_columns(A, p, q, cosine, tangent * cosine)
                turn_rows(A, p, q, cosine, tangent * cosine)
                turn_columns(V, p, q, cosine, tangent * cosine)
        if not turned:
            return
