# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics, and M, C and g, of many samples, several of them side by side.

The equations are those for one sample, which get tables of lanes instead of floats.
"""

from robot_dynamics.dynamics.kernels import (
    lanes_math,  # noqa: F401 (sine and cosine of lanes)
    newton_euler,
)
from robot_dynamics.dynamics.kernels import matrices as single_matrices
from robot_dynamics.dynamics.kernels.lanes import (
    LANE_COUNT,
    aligned,
    as_lanes,
    gather,
    lane_table,
    write_rows,
)
from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.dynamics.kernels.matrices import fill_matrices
from robot_dynamics.dynamics.kernels.newton_euler import fill_inverse_dynamics


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1])', on_demand=True, nogil=True)
def inverse_dynamics(model, q, v, a, tau):
    """Joint efforts of each row of the (N, nb) arguments."""
    bodies = model.shape[0] - 1
    frames = lane_table(bodies + 1, newton_euler.FRAME_WIDTH)
    results = lane_table(1, bodies)[0]
    state = aligned(3 * bodies * LANE_COUNT).reshape(3, bodies, LANE_COUNT)
    lanes = as_lanes(state)
    for sample in range(0, q.shape[0], LANE_COUNT):
        gather(q, sample, state[0])
        gather(v, sample, state[1])
        gather(a, sample, state[2])
        fill_inverse_dynamics(model, lanes[0], lanes[1], lanes[2], frames, results)
        write_rows(results, sample, tau)


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
        'float64[:, ::1], float64[:, ::1])', on_demand=True, nogil=True)
def matrices(model, q, v, M, C, g):
    """M, C and g of each row of the (N, nb) arguments; M and C of shape (N, nb nb)."""
    bodies = model.shape[0] - 1
    frames = lane_table(bodies + 1, single_matrices.FRAME_WIDTH)
    M_lanes, C_lanes = lane_table(bodies, bodies), lane_table(bodies, bodies)
    g_lanes = lane_table(1, bodies)[0]
    state = aligned(2 * bodies * LANE_COUNT).reshape(2, bodies, LANE_COUNT)
    lanes = as_lanes(state)
    for sample in range(0, q.shape[0], LANE_COUNT):
        gather(q, sample, state[0])
        gather(v, sample, state[1])
        fill_matrices(model, lanes[0], lanes[1], frames, M_lanes, C_lanes, g_lanes)
        write_rows(M_lanes.reshape(bodies * bodies), sample, M)
        write_rows(C_lanes.reshape(bodies * bodies), sample, C)
        write_rows(g_lanes, sample, g)
