# SPDX-License-Identifier: Apache-2.0
"""Slotine-Li regressors of many samples, several of them side by side.

The equations are those of `robot_dynamics.dynamics.kernels.slotine_li`, body by body::

    Yr[row r, block i] = F^T W_i,      F = sum of shares of the fields of the joints of row r
                                           that carry body i

A row belongs to an independent joint; with mimicking joints several joints of bodies have
a share in it. `robot_dynamics.dynamics.carrying.Carrying` lists which, as four arrays:
``first``, ``pairs``, ``joints``, ``shares``.
"""

from robot_dynamics.dynamics.kernels import lanes_math  # noqa: F401 (sine and cosine of lanes)
from robot_dynamics.dynamics.kernels.algebra import add_scaled, dot, load, scale
from robot_dynamics.dynamics.kernels.lanes import (
    LANE_COUNT,
    aligned,
    as_lanes,
    gather,
    lane_table,
    put_rows,
)
from robot_dynamics.dynamics.kernels.lanes_memory import copy, finish_copies
from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.pose import store_sines
from robot_dynamics.dynamics.kernels.reference_motion import (
    FIELD_U,
    FIELD_W,
    FRAME_WIDTH,
    SINES,
    move_body,
    put_wrench_columns,
    start_at_base,
)
from robot_dynamics.dynamics.kernels.slotine_li import on_twist
from robot_dynamics.dynamics.kernels.terms import term_value

# Columns of ``pairs``: a row of the regressor, and where its joints stand in ``joints``.
ROW, BEGIN, END = range(3)


@helper
def on_turning(w, W, c):
    """One entry of F^T W for a column of W without force: those of the inertia tensor."""
    return dot(w, (W[3, c], W[4, c], W[5, c]))


@helper
def block(u, w, W):
    """Entries of the ten parameters of one body: F^T W for the twist F = (u, w)."""
    return (on_twist(u, w, W, 0), on_twist(u, w, W, 1), on_twist(u, w, W, 2),
            on_twist(u, w, W, 3), on_turning(w, W, 4), on_turning(w, W, 5),
            on_turning(w, W, 6), on_turning(w, W, 7), on_turning(w, W, 8), on_turning(w, W, 9))


@part
def twist_of_row(frames, joints, shares, begin, end):
    """Sum of the fields of some joints, each by its share."""
    row = joints[begin] + 1
    u = scale(load(frames, row, FIELD_U), shares[begin])
    w = scale(load(frames, row, FIELD_W), shares[begin])
    for t in range(begin + 1, end):
        row = joints[t] + 1
        u = add_scaled(u, load(frames, row, FIELD_U), shares[t])
        w = add_scaled(w, load(frames, row, FIELD_W), shares[t])
    return u, w


@part
def put_blocks(model, state, first, pairs, joints, shares, frames, W, out, columns):
    """Write the inertial columns of `LANE_COUNT` samples, one after the other in ``out``."""
    q, v, v_r, a_r = state[0], state[1], state[2], state[3]
    size = out.size // LANE_COUNT
    store_sines(model, q, frames, SINES)
    for i in range(model.shape[0] - 1):
        axes, p, d, L = move_body(model, i, q[i], v[i], v_r[i], a_r[i], frames)
        put_wrench_columns(W, 0, axes, p, d, L)
        for k in range(first[i], first[i + 1]):
            u, w = twist_of_row(frames, joints, shares, pairs[k, BEGIN], pairs[k, END])
            put_rows(block(u, w, W), out, pairs[k, ROW] * columns + 10 * i, size)


@part
def put_terms(choice, v, a, start, out, columns):
    """Write the columns of the joint terms of `LANE_COUNT` samples, which begin at ``start``."""
    n = v.size
    size = out.size // LANE_COUNT
    for t in range(choice.size - 1):
        for j in range(n):
            value = term_value(choice[t + 1], v[j], a[j], choice[0])
            put_rows((value,), out, j * columns + start + t * n + j, size)


@kernel('void(float64[:, ::1], int64[::1], int64[:, ::1], int64[::1], float64[::1], '
        'float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], '
              'float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], boolean)',
        on_demand=True, nogil=True)
def regressors(model, first, pairs, joints, shares, choice, q, v, v_r, a_r, joint_v_r, joint_a_r,
               out, past_cache):
    """Yr and the chosen terms of each sample, written to all of ``out``.

    Parameters
    ----------
    q, v, v_r, a_r : ndarray, shape (N, nb)
        Of the joints of the bodies.
    joint_v_r, joint_a_r : ndarray, shape (N, n)
        Of the independent joints, for the terms.
    out : ndarray, shape (N, n, columns)
        Results.
    past_cache : bool
        Whether ``out`` is too large to be read from the cache afterwards.

    Notes
    -----
    Samples are written side by side into a block in the cache, whose zeros are there
    already, and go from it to memory in one piece.
    """
    bodies, n = model.shape[0] - 1, out.shape[1]
    columns = out.shape[2]
    size = n * columns
    frames, W = lane_table(bodies + 1, FRAME_WIDTH), lane_table(6, 10)
    state = aligned(4 * bodies * LANE_COUNT).reshape(4, bodies, LANE_COUNT)
    rates = aligned(2 * n * LANE_COUNT).reshape(2, n, LANE_COUNT)
    in_lanes, rates_in_lanes = as_lanes(state), as_lanes(rates)
    results = aligned(LANE_COUNT * size)
    results[:] = 0.0
    memory = out.reshape(out.size)
    start_at_base(model, frames)
    for sample in range(0, q.shape[0], LANE_COUNT):
        gather(q, sample, state[0])
        gather(v, sample, state[1])
        gather(v_r, sample, state[2])
        gather(a_r, sample, state[3])
        put_blocks(model, in_lanes, first, pairs, joints, shares, frames, W, results, columns)
        if choice.size > 1:
            gather(joint_v_r, sample, rates[0])
            gather(joint_a_r, sample, rates[1])
            put_terms(choice, rates_in_lanes[0], rates_in_lanes[1], 10 * bodies, results, columns)
        count = size * min(LANE_COUNT, q.shape[0] - sample)
        copy(results, count, memory, sample * size, past_cache)
    if past_cache:
        finish_copies()
