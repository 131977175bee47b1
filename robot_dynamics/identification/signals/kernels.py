# SPDX-License-Identifier: Apache-2.0
"""Filters and derivatives of many signals at once."""

from robot_dynamics.dynamics.kernels.loading import kernel


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, :, ::1], boolean)',
        on_demand=True, nogil=True)
def cascade(sections, x, state, backwards):
    """Run x, (N, k), through filters of second order, in place.

    Direct form II, transposed: a row of sections, (s, 6), holds b0 b1 b2 and 1 a1 a2; state,
    (s, 2, k), is where they begin, and where they end. Backwards they begin at the last row.
    """
    for row in range(x.shape[0]):
        i = x.shape[0] - 1 - row if backwards else row
        for s in range(sections.shape[0]):
            b0, b1, b2 = sections[s, 0], sections[s, 1], sections[s, 2]
            a1, a2 = sections[s, 4], sections[s, 5]
            for k in range(x.shape[1]):
                value = x[i, k]
                out = b0 * value + state[s, 0, k]
                state[s, 0, k] = b1 * value - a1 * out + state[s, 1, k]
                state[s, 1, k] = b2 * value - a2 * out
                x[i, k] = out


@kernel('void(float64[:, ::1], float64, float64[:, ::1])', on_demand=True, nogil=True)
def central(x, rate, out):
    """Write the slope of x, (N, k), by the three samples on both sides, into rows 3 to N - 4.

    Its error is (w T)^6 / 140 of the slope.
    """
    for i in range(3, x.shape[0] - 3):
        for k in range(x.shape[1]):
            near, far = x[i + 1, k] - x[i - 1, k], x[i + 2, k] - x[i - 2, k]
            out[i, k] = rate * (45.0 * near - 9.0 * far + (x[i + 3, k] - x[i - 3, k])) / 60.0
