# SPDX-License-Identifier: Apache-2.0
"""The sums of `regressor_gradient`, sample by sample."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel, part


@part
def _times(x, y, out):
    """Write the product of two 4 x 4 matrices."""
    for i in range(4):
        for j in range(4):
            out[i, j] = (x[i, 0] * y[0, j] + x[i, 1] * y[1, j] + x[i, 2] * y[2, j]
                         + x[i, 3] * y[3, j])


@part
def _times_transposed(x, y, out):
    """Write x y^T."""
    for i in range(4):
        for j in range(4):
            out[i, j] = (x[i, 0] * y[j, 0] + x[i, 1] * y[j, 1] + x[i, 2] * y[j, 2]
                         + x[i, 3] * y[j, 3])


@kernel('void(f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,:,::1], '
                  'f8[:,:,:,::1], f8[:,:,:,::1], f8[::1], i8[::1], f8[:,:,:,::1], f8[:,::1], '
                  'f8[:,::1], f8[:,::1])', on_demand=True, nogil=True)
def weighted_sum_slopes(T, S, V, A, S_dot, S_ddot, gravity, parents, Z, dq, dv, da):
    """Write the derivatives of L by the motion of all bodies, (m, nb) each.

    Matrices T, S, V, A, dS/dt and d^2S/dt^2 have shape (nb, m, 4, 4); Z has shape
    (m, nb, nb, 10): row of a joint, body, parameter.
    """
    bodies, count = T.shape[0], T.shape[1]
    chain = np.empty(bodies, np.int64)
    J, K, Q, R, P = (np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4)),
                     np.empty((4, 4)))
    before, after, some, PVt, PQt = (np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4)),
                                     np.empty((4, 4)), np.empty((4, 4)))
    SKR, KR = np.empty((bodies, 4, 4)), np.empty((bodies, 4, 4))
    dq[:] = 0.0
    dv[:] = 0.0
    da[:] = 0.0
    for m in range(count):
        for k in range(bodies):
            length, body = 0, k
            while body >= 0:
                length += 1
                body = parents[body]
            body = k
            for at in range(length - 1, -1, -1):
                chain[at] = body
                body = parents[body]
            _times(V[k, m], V[k, m], Q)
            for i in range(4):
                for j in range(4):
                    Q[i, j] += A[k, m, i, j]
                    R[i, j] = Q[i, j]
                    P[i, j] = 0.0
                    after[i, j] = 0.0
                    before[i, j] = 0.0
            for i in range(3):
                R[i, 3] -= gravity[i]
            for at in range(length):
                h = chain[at]
                # [[tr(J)/2 1 - J, m c], [m c^T, m]] of the tensor J about the origin.
                z = Z[m, h, k]
                half = 0.5 * (z[4] + z[7] + z[9])
                J[0, 0], J[1, 1], J[2, 2], J[3, 3] = half - z[4], half - z[7], half - z[9], z[0]
                J[0, 1] = J[1, 0] = -z[5]
                J[0, 2] = J[2, 0] = -z[6]
                J[1, 2] = J[2, 1] = -z[8]
                J[0, 3] = J[3, 0] = z[1]
                J[1, 3] = J[3, 1] = z[2]
                J[2, 3] = J[3, 2] = z[3]
                _times(T[k, m], J, some)
                _times_transposed(some, T[k, m], K)
                _times(S[h, m], K, some)
                _times_transposed(K, R, KR[at])
                _times(S[h, m], KR[at], SKR[at])
                for i in range(4):
                    for j in range(4):
                        P[i, j] += some[i, j]
                        after[i, j] += SKR[at, i, j]
            _times_transposed(P, V[k, m], PVt)
            _times_transposed(P, Q, PQt)
            for at in range(length):
                h = chain[at]
                _times(KR[at], S[h, m], some)
                by_q, by_v, by_a = 0.0, 0.0, 0.0
                for i in range(4):
                    for j in range(4):
                        after[i, j] -= SKR[at, i, j]
                        before[i, j] += some[i, j]
                for i in range(4):
                    for j in range(4):
                        s, rate = S[h, m, i, j], S_dot[h, m, i, j]
                        by_a += P[i, j] * s
                        by_v += PVt[i, j] * s + P[i, j] * rate
                        by_q += (s * (after[j, i] + before[j, i]) + P[i, j] * S_ddot[h, m, i, j]
                                 + 2.0 * PVt[i, j] * rate + PQt[i, j] * s)
                da[m, h] += by_a
                dv[m, h] += 2.0 * by_v
                dq[m, h] += by_q
