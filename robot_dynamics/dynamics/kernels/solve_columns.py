# SPDX-License-Identifier: Apache-2.0
"""M X = B for matrices B of many columns; see `solve`."""

from robot_dynamics.dynamics.kernels.direct import (
    DONE,
    REFUSED,
    are_apart,
    direct_kernel,
    is_matrix_to_write,
    length,
    matrix,
)
from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.dynamics.kernels.slotine_li import columns
from robot_dynamics.dynamics.kernels.solve import NO_INERTIA, SOLVED, factorise


@part
def subtract_row(B, j, entry, k):
    """Subtract row k of B, that many times, from row j."""
    for c in columns(0, B.shape[1]):
        B[j, c] -= entry * B[k, c]


@part
def substitute_rows(M, B):
    """Solve L^T D L X = B in place."""
    n = B.shape[0]
    for k in range(n - 1, -1, -1):
        for j in range(k):
            subtract_row(B, j, M[k, j], k)
    for k in range(n):
        pivot = M[k, k]
        for c in columns(0, B.shape[1]):
            B[k, c] /= pivot
        for j in range(k):
            subtract_row(B, k, M[k, j], j)


@part
def negate(source, target):
    """Write the negative of a matrix."""
    for i in range(source.shape[0]):
        for c in columns(0, source.shape[1]):
            target[i, c] = -source[i, c]


@part
def write_identity(out):
    """Write ones on the diagonal and zeros elsewhere."""
    for i in range(out.shape[0]):
        for c in columns(0, out.shape[1]):
            out[i, c] = 0.0
        out[i, i] = 1.0


@kernel('int64(float64[:, :, ::1], float64[:, :, ::1])', on_demand=True, nogil=True)
def solve_columns(M, B):
    """Overwrite each matrix of B, shape (N, n, m), by M^-1 B; M is overwritten too.

    Returns SOLVED, or the joint at which some M proved not to be positive definite.
    """
    for s in range(M.shape[0]):
        joint = factorise(M[s])
        if joint != SOLVED:
            return joint
        substitute_rows(M[s], B[s])
    return SOLVED


@direct_kernel
def divide_by_inertia(model, M, dtau_dq, dtau_dv, da_dq, da_dv, da_dtau):
    """Write -M^-1 dtau/dq, -M^-1 dtau/dv and M^-1 of one sample; M is overwritten too.

    Returns DONE, REFUSED, or NO_INERTIA plus the joint at which M proved not to be positive
    definite.
    """
    n = length(model, 0) - 1
    size = n * n
    if not (is_matrix_to_write(M, model, n, n) and is_matrix_to_write(dtau_dq, model, n, n)
            and is_matrix_to_write(dtau_dv, model, n, n)
            and is_matrix_to_write(da_dq, model, n, n) and is_matrix_to_write(da_dv, model, n, n)
            and is_matrix_to_write(da_dtau, model, n, n) and are_apart(M, size, da_dq, size)
            and are_apart(M, size, da_dv, size) and are_apart(M, size, da_dtau, size)):
        return REFUSED
    M = matrix(M, n, n)
    joint = factorise(M)
    if joint != SOLVED:
        return NO_INERTIA + joint
    of_q, of_v, of_tau = matrix(da_dq, n, n), matrix(da_dv, n, n), matrix(da_dtau, n, n)
    negate(matrix(dtau_dq, n, n), of_q)
    negate(matrix(dtau_dv, n, n), of_v)
    write_identity(of_tau)
    substitute_rows(M, of_q)
    substitute_rows(M, of_v)
    substitute_rows(M, of_tau)
    return DONE
