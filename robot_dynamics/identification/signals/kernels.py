# SPDX-License-Identifier: Apache-2.0
"""Recursive filters of many signals at once."""

from robot_dynamics.dynamics.kernels.loading import batch_kernel


@batch_kernel('void(float64[:, ::1], float64[:, ::1], float64[:, :, ::1])')
def cascade(sections, x, state):
    """Run x, (N, k), through filters of second order, in place.

    Direct form II, transposed: a row of sections, (s, 6), holds b0 b1 b2 and 1 a1 a2; state,
    (s, 2, k), is where they begin, and where they end.
    """
    for i in range(x.shape[0]):
        for s in range(sections.shape[0]):
            b0, b1, b2 = sections[s, 0], sections[s, 1], sections[s, 2]
            a1, a2 = sections[s, 4], sections[s, 5]
            for k in range(x.shape[1]):
                value = x[i, k]
                out = b0 * value + state[s, 0, k]
                state[s, 0, k] = b1 * value - a1 * out + state[s, 1, k]
                state[s, 1, k] = b2 * value - a2 * out
                x[i, k] = out
