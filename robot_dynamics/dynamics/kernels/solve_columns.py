# SPDX-License-Identifier: Apache-2.0
"""M X = B for matrices B of many columns; see `solve`."""

from robot_dynamics.dynamics.kernels.loading import kernel, part
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise


@part
def substitute_rows(M, B):
    """Solve L^T D L X = B in place."""
    n, width = B.shape
    for k in range(n - 1, -1, -1):
        for j in range(k):
            for c in range(width):
                B[j, c] -= M[k, j] * B[k, c]
    for k in range(n):
        for c in range(width):
            B[k, c] /= M[k, k]
        for j in range(k):
            for c in range(width):
                B[k, c] -= M[k, j] * B[j, c]


@kernel('int64(float64[:, :, ::1], float64[:, :, ::1])')
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
