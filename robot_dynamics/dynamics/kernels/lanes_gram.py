# SPDX-License-Identifier: Apache-2.0
r"""Sums of products of the columns of stacked regressors, without the stack.

Row r of a regressor has columns only for the bodies that joint r moves. So the samples of
each joint have a table of their own: one row for each column that is kept and not always
zero, last the effort, and along each row the samples. The products of its rows, summed
along the samples, are the joint's share of [W tau]^T [W tau]::

    W^T W = sum_r sum_samples w_r y_r y_r^T,      y_r: row r of the regressor, weight w_r

which for a chain of many joints takes a third of the work of the dense product. The rows
of all tables stand in one; `robot_dynamics.dynamics.gram_layout.GramLayout` says where.
"""

import math

from robot_dynamics.dynamics.kernels import lanes_math  # noqa: F401 (sine and cosine of lanes)
from robot_dynamics.dynamics.kernels.algebra import scale
from robot_dynamics.dynamics.kernels.lanes import (
    LANE_COUNT,
    aligned,
    as_lanes,
    gather,
    lane_table,
    same,
    total,
)
from robot_dynamics.dynamics.kernels.lanes_regressor import (
    BEGIN,
    END,
    ROW,
    block,
    twist_of_row,
)
from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.pose import store_sines
from robot_dynamics.dynamics.kernels.reference_motion import (
    FRAME_WIDTH,
    SINES,
    move_body,
    put_wrench_columns,
    start_at_base,
)
from robot_dynamics.dynamics.kernels.terms import term_value

#: Rows of a table come in tiles, whose products are summed in registers: TILE**2 sums.
TILE = 4

# What is gathered of a sample for each body, and for each independent joint.
Q, V, A = range(3)
RATE, ACCELERATION, EFFORT, ROOT = range(4)

_MOTION = 'float64[:, ::1], ' * 7
_CARRYING = 'int64[::1], int64[:, ::1], int64[::1], float64[::1], '
_LAYOUT = 'int64[:, ::1], int64[:, ::1], int64[::1], '


@part
def gather_sample(motion, sample, of_bodies, of_joints):
    """Put `LANE_COUNT` samples side by side; past the last one with weight zero."""
    q, v, a, joint_v, joint_a, tau, roots = motion
    gather(q, sample, of_bodies[Q])
    gather(v, sample, of_bodies[V])
    gather(a, sample, of_bodies[A])
    gather(joint_v, sample, of_joints[RATE])
    gather(joint_a, sample, of_joints[ACCELERATION])
    gather(tau, sample, of_joints[EFFORT])
    gather(roots, sample, of_joints[ROOT])
    for lane in range(q.shape[0] - sample, LANE_COUNT):
        for r in range(roots.shape[1]):
            of_joints[ROOT, r, lane] = 0.0


@helper
def put_block(table, places, k, column, y):
    """Write the ten entries of a body where ``places[k]`` says."""
    table[places[k, 0], column] = y[0]
    table[places[k, 1], column] = y[1]
    table[places[k, 2], column] = y[2]
    table[places[k, 3], column] = y[3]
    table[places[k, 4], column] = y[4]
    table[places[k, 5], column] = y[5]
    table[places[k, 6], column] = y[6]
    table[places[k, 7], column] = y[7]
    table[places[k, 8], column] = y[8]
    table[places[k, 9], column] = y[9]


@part
def fill_column(model, carrying, choice, layout, of_bodies, of_joints, frames, W, table, column):
    """Write one column of the table of all joints, `LANE_COUNT` samples."""
    first, pairs, joints, shares = carrying
    places, term_places, effort_places = layout
    store_sines(model, of_bodies[Q], frames, SINES)
    for i in range(model.shape[0] - 1):
        v = of_bodies[V, i]
        axes, p, d, L = move_body(model, i, of_bodies[Q, i], v, v, of_bodies[A, i], frames)
        put_wrench_columns(W, 0, axes, p, d, L)
        for k in range(first[i], first[i + 1]):
            u, w = twist_of_row(frames, joints, shares, pairs[k, BEGIN], pairs[k, END])
            root = of_joints[ROOT, pairs[k, ROW]]
            put_block(table, places, k, column, block(scale(u, root), scale(w, root), W))
    for r in range(effort_places.size):
        root = of_joints[ROOT, r]
        for t in range(choice.size - 1):
            table[term_places[t, r], column] = root * term_value(
                choice[t + 1], of_joints[RATE, r], of_joints[ACCELERATION, r], choice[0])
        table[effort_places[r], column] = root * of_joints[EFFORT, r]


@part
def inner(table, a, b, count):
    """Inner product of two rows of the table, in four sums at once."""
    s0, s1, s2, s3 = same(0.0), same(0.0), same(0.0), same(0.0)
    for column in range(0, count - 3, 4):
        s0 += table[a, column] * table[b, column]
        s1 += table[a, column + 1] * table[b, column + 1]
        s2 += table[a, column + 2] * table[b, column + 2]
        s3 += table[a, column + 3] * table[b, column + 3]
    for column in range(count - count % 4, count):
        s0 += table[a, column] * table[b, column]
    return total((s0 + s1) + (s2 + s3))


@helper
def add_row(s, k, y):
    """Return s + k y."""
    return s[0] + k * y[0], s[1] + k * y[1], s[2] + k * y[2], s[3] + k * y[3]


@helper
def load_tile(table, a, column):
    """Return one column of a tile."""
    return table[a, column], table[a + 1, column], table[a + 2, column], table[a + 3, column]


@helper
def store_row(sums, i, s):
    """Write one row of the sums of a tile."""
    sums[i, 0] = s[0]
    sums[i, 1] = s[1]
    sums[i, 2] = s[2]
    sums[i, 3] = s[3]


@part
def multiply_tiles(table, a, b, count, sums):
    """Products of the rows of two tiles, summed over ``count`` columns."""
    s0 = (same(0.0), same(0.0), same(0.0), same(0.0))
    s1, s2, s3 = s0, s0, s0
    for column in range(count):
        x = load_tile(table, a, column)
        y = load_tile(table, b, column)
        s0 = add_row(s0, x[0], y)
        s1 = add_row(s1, x[1], y)
        s2 = add_row(s2, x[2], y)
        s3 = add_row(s3, x[3], y)
    store_row(sums, 0, s0)
    store_row(sums, 1, s1)
    store_row(sums, 2, s2)
    store_row(sums, 3, s3)


@part
def add_table(table, starts, columns, count, sums, G):
    """Add the products of each joint's rows to the upper triangle of G."""
    for r in range(starts.size - 1):
        for a in range(starts[r], starts[r + 1], TILE):
            for b in range(a, starts[r + 1], TILE):
                multiply_tiles(table, a, b, count, sums)
                for i in range(TILE):
                    for j in range(TILE):
                        if b + j >= a + i:
                            G[columns[a + i], columns[b + j]] += total(sums[i, j])


@part
def absorb_rows(table, start, width, count, R):
    """Turn rows of samples into the triangle above them: R of [R; B] for the old R.

    B holds ``count`` columns of the table. Householder's reflection k takes in column k of
    B, which is a row of the table, with one number of R; v is 1 there::

        beta = -sign(alpha) |(alpha, B_k)|,     v = B_k / (alpha - beta)
        [R_kj; B_j] -= tau v (R_kj + v . B_j),  tau = (beta - alpha) / beta

    (G. H. Golub, C. F. Van Loan, "Matrix Computations", updating of a QR decomposition.)
    """
    for k in range(width):
        alpha = R[start + k, k]
        squares = inner(table, start + k, start + k, count)
        if squares == 0.0:
            continue
        beta = -math.copysign(math.sqrt(alpha * alpha + squares), alpha)
        divisor, tau = alpha - beta, (beta - alpha) / beta
        for column in range(count):
            table[start + k, column] = table[start + k, column] / divisor
        R[start + k, k] = beta
        for j in range(k + 1, width):
            share = tau * (R[start + k, j] + inner(table, start + k, start + j, count))
            R[start + k, j] -= share
            for column in range(count):
                table[start + j, column] -= share * table[start + k, column]


@kernel(f'void(float64[:, ::1], {_CARRYING}float64[::1], {_LAYOUT}int64[::1], '
              f'int64[::1], {_MOTION}int64, boolean, float64[:, ::1])', on_demand=True, nogil=True)
def add_batch(model, first, pairs, joints, shares, choice, places, term_places, effort_places,
              starts, columns, q, v, a, joint_v, joint_a, tau, roots, count, is_factor, out):
    """Add a batch to the products of [W tau], or to the triangles of its joints.

    Parameters
    ----------
    places, term_places, effort_places, starts, columns : ndarray
        See `robot_dynamics.dynamics.gram_layout.GramLayout`.
    q, v, a : ndarray, shape (N, nb)
        Of the joints of the bodies.
    joint_v, joint_a, tau, roots : ndarray, shape (N, n)
        Of the independent joints; roots of the weights.
    count : int
        Columns of the table, `LANE_COUNT` samples each, that are filled at a time.
    is_factor : bool
        What to add to.
    out : ndarray
        Upper triangle of [W tau]^T [W tau], shape (p + 2, p + 2), where products of rows
        of zeros go last; or the triangles, shape (rows, widest), those of joint r in the
        rows from ``starts[r]`` on.
    """
    bodies, n = model.shape[0] - 1, tau.shape[1]
    frames, W = lane_table(bodies + 1, FRAME_WIDTH), lane_table(6, 10)
    of_bodies = aligned(3 * bodies * LANE_COUNT).reshape(3, bodies, LANE_COUNT)
    of_joints = aligned(4 * n * LANE_COUNT).reshape(4, n, LANE_COUNT)
    table, sums = lane_table(columns.size + 1, count), lane_table(TILE, TILE)
    for row in range(columns.size + 1):
        for column in range(count):
            table[row, column] = 0.0
    start_at_base(model, frames)
    filled = 0
    for sample in range(0, q.shape[0], LANE_COUNT):
        gather_sample((q, v, a, joint_v, joint_a, tau, roots), sample, of_bodies, of_joints)
        fill_column(model, (first, pairs, joints, shares), choice,
                    (places, term_places, effort_places), as_lanes(of_bodies),
                    as_lanes(of_joints), frames, W, table, filled)
        filled += 1
        if filled == count or sample + LANE_COUNT >= q.shape[0]:
            if is_factor:
                for r in range(n):
                    absorb_rows(table, starts[r], effort_places[r] + 1 - starts[r], filled, out)
            else:
                add_table(table, starts, columns, filled, sums, out)
            filled = 0


@kernel('void(int64[::1], int64[::1], float64[:, ::1], float64[:, ::1])',
        on_demand=True, nogil=True)
def merge_triangles(starts, effort_places, other, out):
    """Take the triangles of another batch into those in ``out``, see `add_batch`."""
    widest = out.shape[1]
    count = (widest + LANE_COUNT - 1) // LANE_COUNT
    turned = aligned(widest * count * LANE_COUNT).reshape(widest, count * LANE_COUNT)
    table = as_lanes(turned.reshape(widest, count, LANE_COUNT))
    for r in range(effort_places.size):
        width = effort_places[r] + 1 - starts[r]
        turned[:] = 0.0
        for i in range(width):
            for j in range(i, width):
                turned[j, i] = other[starts[r] + i, j]
        absorb_rows(table, 0, width, count, out[starts[r]:starts[r] + width])
