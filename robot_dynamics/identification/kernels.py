# SPDX-License-Identifier: Apache-2.0
"""The state of presliding friction along a motion."""

import math

from robot_dynamics.dynamics.kernels.loading import kernel


@kernel('void(float64[::1], float64[::1], float64[:, ::1])', on_demand=True, nogil=True)
def presliding(position, lengths, out):
    """Write the Dahl state z of each length into out, (N, k): dz = |dx| (sign dx - z) / length.

    Between two samples the motion keeps its direction, so that the step is exact: z comes
    closer to the sign of the motion by exp(-|dx| / length).
    """
    for k in range(lengths.size):
        z = 0.0
        out[0, k] = 0.0
        for i in range(1, position.size):
            step = position[i] - position[i - 1]
            sign = 1.0 if step > 0.0 else (-1.0 if step < 0.0 else 0.0)
            if sign != 0.0:
                z = sign + (z - sign) * math.exp(-abs(step) / lengths[k])
            out[i, k] = z
