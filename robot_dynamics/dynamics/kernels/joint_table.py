# SPDX-License-Identifier: Apache-2.0
"""Tables with one quantity of all joints in each row.

Derivatives need similar arithmetic for each joint. If the same quantities of neighbouring joints
are adjacent in memory, the compiler computes several joints at once. Row ``q`` of a table is
quantity q; column i is velocity i of the bodies (body i, where each joint has one coordinate), and
the column after the last one is the base.
"""

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import add, add_scaled, cross, dot, scale
from robot_dynamics.dynamics.kernels.layout import BODY, FIRST_ROW, IS_SCATTERED, PARENT, RUN_END
from robot_dynamics.dynamics.kernels.loading import helper


@helper
def columns(start, stop):
    """Range of columns; unsigned, so that negative indices are impossible."""
    return range(np.uint64(start), np.uint64(stop))


@helper
def parent_column(model, i):
    """Column of the parent of column i, which may be that of the base."""
    parent = int(model[i, PARENT])
    return parent if parent >= 0 else model.shape[0] - 1


@helper
def is_carried(model, k, h):
    """Whether column h moves the field of column k, which is on the same branch.

    It moves the fields of outer joints, and all fields of the same joint if that has several
    coordinates, because their directions are axes of the moved link.
    """
    return k >= int(model[h, FIRST_ROW])


@helper
def run_end(model, j):
    """End of the contiguous run of columns ``j, j + 1, ...`` that joint j carries."""
    last_body = model[j, RUN_END]
    end = j + 1
    while end < model.shape[0] - 1 and model[end, BODY] < last_body:
        end += 1
    return end


@helper
def carries_beyond(model, j, k):
    """Whether column j carries column k, which comes after its contiguous run."""
    if model[j, IS_SCATTERED] == 0.0:
        return False
    while k > j:
        k = int(model[k, PARENT])
    return k == j


@helper
def get(table, row, i):
    """Vector in three consecutive rows."""
    return table[row, i], table[row + 1, i], table[row + 2, i]


@helper
def put(table, row, i, x):
    """Write a vector to three consecutive rows."""
    table[row, i] = x[0]
    table[row + 1, i] = x[1]
    table[row + 2, i] = x[2]


@helper
def get_matrix(table, row, i):
    """Matrix in nine consecutive rows, column after column."""
    return get(table, row, i), get(table, row + 3, i), get(table, row + 6, i)


@helper
def put_matrix(table, row, i, A):
    """Write a matrix to nine consecutive rows, column after column."""
    put(table, row, i, A[0])
    put(table, row + 3, i, A[1])
    put(table, row + 6, i, A[2])


@helper
def get_symmetric(table, row, i):
    """Symmetric matrix in six consecutive rows: xx, xy, xz, yy, yz, zz."""
    xx, xy, xz = get(table, row, i)
    yy, yz, zz = get(table, row + 3, i)
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


@helper
def put_symmetric(table, row, i, A):
    """Write a symmetric matrix to six consecutive rows."""
    put(table, row, i, A[0])
    put(table, row + 3, i, (A[1][1], A[1][2], A[2][2]))


# Twists and wrenches are pairs of vectors: a field (u, w) with velocity u + w x X, and a
# force and a moment about the origin.


@helper
def get_pair(table, row, i):
    """Twist or wrench in six consecutive rows."""
    return get(table, row, i), get(table, row + 3, i)


@helper
def put_pair(table, row, i, x):
    """Write a twist or wrench to six consecutive rows."""
    put(table, row, i, x[0])
    put(table, row + 3, i, x[1])


@helper
def add_pairs(x, y):
    """Sum of two twists or two wrenches."""
    return add(x[0], y[0]), add(x[1], y[1])


@helper
def add_scaled_pair(x, y, k):
    """X + k y."""
    return add_scaled(x[0], y[0], k), add_scaled(x[1], y[1], k)


@helper
def scale_pair(x, k):
    """K x."""
    return scale(x[0], k), scale(x[1], k)


@helper
def power(twist, wrench):
    """Power of a wrench on a twist."""
    return dot(twist[0], wrench[0]) + dot(twist[1], wrench[1])


@helper
def bracket(x, y):
    """Lie bracket [x, y] of two twists: rate of the second field when moved by the first."""
    return add(cross(x[1], y[0]), cross(x[0], y[1])), cross(x[1], y[1])


@helper
def carried_wrench(x, f):
    """Dual bracket x x* f of a twist and a wrench; z . (x x* f) = [z, x] . f for every twist z."""
    return cross(x[1], f[0]), add(cross(x[1], f[1]), cross(x[0], f[0]))
