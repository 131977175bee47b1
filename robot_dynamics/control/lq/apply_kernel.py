# SPDX-License-Identifier: Apache-2.0
"""Kernels of every sample: errors and their norm, and the feedback."""

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel

#: An argument is not as long as there are joints.
WRONG_SIZE = -np.inf


@kernel('f8(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], b1[::1], f8, f8[::1], '
                        'f8[::1], f8[::1])', on_demand=True)
def tracking_errors(q, v, q_d, v_d, a_d, turns, velocity_share, e, e_dot, largest):
    """Write e = q_d - q, e_dot = v_d - v, and raise the largest of each; return the norm.

    The short way round for joints that turn without end. The norm is
    sum |e| + velocity_share sum |e_dot|, or -1 - i where joint i is not finite, or
    WRONG_SIZE.
    """
    n = e.size
    if not (q.size == n and v.size == n and q_d.size == n and v_d.size == n and a_d.size == n):
        return WRONG_SIZE
    norm = 0.0
    for i in range(n):
        error = q_d[i] - q[i]
        if turns[i]:
            error -= 2.0 * np.pi * np.round(error / (2.0 * np.pi))
        e[i] = error
        e_dot[i] = v_d[i] - v[i]
        if not np.isfinite(e[i] + e_dot[i] + a_d[i]):
            return -1.0 - i
        norm += abs(e[i]) + velocity_share * abs(e_dot[i])
    for i in range(n):
        largest[i] = max(largest[i], abs(e[i]))
        largest[n + i] = max(largest[n + i], abs(e_dot[i]))
    return norm


@kernel('void(f8[::1], f8[::1], f8[:, ::1], f8, f8[:, ::1], f8[::1])', on_demand=True)
def apply_feedback(e, e_dot, K_next, share, K, effort):
    """Lead K by a share of the way to K_next, and write the effort K (e, e_dot).

    A gain of integrals behind them is led as well.
    """
    n = e.size
    for i in range(n):
        total = 0.0
        for j in range(K.shape[1]):
            K[i, j] += share * (K_next[i, j] - K[i, j])
        for j in range(n):
            total += K[i, j] * e[j] + K[i, n + j] * e_dot[j]
        effort[i] = total
