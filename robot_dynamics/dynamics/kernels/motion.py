# SPDX-License-Identifier: Apache-2.0
r"""Motion of all bodies, for every equation.

Unit speed of column k moves everything that it carries by the field J_k(X) = u_k + w_k x X. Fields
are twists at the origin, S_k = (u_k, w_k), and move with the body. With v its twist, and [x, y]
the Lie bracket of two twists::

    dS_k/dt   = [v, S_k]
    d2S_k/dt2 = [dv/dt, S_k] + [v, dS_k/dt]

    v = sum S_k v_k,     r = sum S_k v_r,k,     A = A_base + sum S_k a_k + dS_k/dt v_r,k

over all columns that carry a body: its twist, its reference twist, and its acceleration, or for
a reference motion v_r, a_r its reference acceleration: the field u(A) + w(A) x X + w(r) x X',
X' = u(v) + w(v) x X. Gravity is an upward acceleration of the base.

This module defines the rows of the table of columns (`joint_table`).
"""

import math

from robot_dynamics.dynamics.kernels.algebra import ZERO
from robot_dynamics.dynamics.kernels.joint_table import (
    add_pairs,
    add_scaled_pair,
    bracket,
    columns,
    get,
    get_matrix,
    get_pair,
    parent_column,
    put,
    put_matrix,
    put_pair,
)
from robot_dynamics.dynamics.kernels.layout import FIRST_ROW, IS_PRISMATIC, LAST_ROW
from robot_dynamics.dynamics.kernels.loading import routine
from robot_dynamics.dynamics.kernels.pose import (
    IDENTITY,
    field,
    is_first,
    is_single,
    joint_field,
    link_origin,
    place,
    place_joint,
    position_of,
)

# Rows: the link frame and the twist of the body, the field of the column and its rates.
AXES = 0           # 9
POSITION = 9       # 3, p
TWIST = 12         # 6, b and O: velocity of the point at the origin, angular velocity
ACCELERATION = 18  # 6, A
FIELD = 24         # 6, u and w
RATE = 30          # 6, u' and w'
CURVE = 36         # 6, u'' and w''
SINE = 42
COSINE = 43
REFERENCE = 36     # 6, r, where no second rates are wanted
# Moments of mass, see `moments`, of a body and then of all that its joint carries:
MASS = 44          # m = sum m
FIRST = 45         # 3, h = sum m X
SECOND = 48        # 6, S = sum m X X^T
MOMENTUM = 54      # 3, P = sum m X'
FLOW = 57          # 9, D = sum m X' X^T
MORE_SUMS = 66     # up to 12, further sums of a kernel
AFTER_SUMS = 78


@routine
def place_all(model, q, is_in_place, table):
    """Link frames and fields.

    With ``is_in_place`` positions of floating bodies are the true ones; see `pose.place_joint`.
    """
    count = model.shape[0] - 1
    put_matrix(table, AXES, count, IDENTITY)
    put(table, POSITION, count, ZERO)
    # Before the recursion, because a call within it would spill all registers.
    for i in range(count):
        if is_single(model, i) and model[i, IS_PRISMATIC] == 0.0:
            angle = position_of(model, i, q)
            table[SINE, i] = math.sin(angle)
            table[COSINE, i] = math.cos(angle)
    for i in range(count):
        parent = parent_column(model, i)
        if is_single(model, i):
            axes, joint, z = place(model, i, position_of(model, i, q), table[SINE, i],
                                   table[COSINE, i], get_matrix(table, AXES, parent),
                                   get(table, POSITION, parent))
            put_matrix(table, AXES, i, axes)
            put(table, POSITION, i, link_origin(model, i, axes, joint))
            put_pair(table, FIELD, i, joint_field(model[i, IS_PRISMATIC] != 0.0, joint, z))
        elif is_first(model, i):
            axes, p = place_joint(model, i, q, get_matrix(table, AXES, parent),
                                  get(table, POSITION, parent), is_in_place)
            for k in range(i, int(model[i, LAST_ROW]) + 1):
                put_matrix(table, AXES, k, axes)
                put(table, POSITION, k, p)
                put_pair(table, FIELD, k, field(model, k, axes, p))


@routine
def move_all(model, v, v_r, a_r, base_acceleration, table):
    """Twists, accelerations and the first rates of the fields, after `place_all`."""
    count = model.shape[0] - 1
    put_pair(table, TWIST, count, (ZERO, ZERO))
    put_pair(table, ACCELERATION, count, (base_acceleration, ZERO))
    for k in range(count):
        twist = get_pair(table, TWIST, parent_column(model, k))
        put_pair(table, TWIST, k, add_scaled_pair(twist, get_pair(table, FIELD, k), v[k]))
    for k in range(count):
        body = int(model[k, LAST_ROW])
        S = get_pair(table, FIELD, k)
        rate = bracket(get_pair(table, TWIST, body), S)
        put_pair(table, RATE, k, rate)
        acceleration = get_pair(table, ACCELERATION, parent_column(model, k))
        put_pair(table, ACCELERATION, k, add_scaled_pair(
            add_scaled_pair(acceleration, S, a_r[k]), rate, v_r[k]))
        if k == body:
            # All columns of a joint have the motion of its body.
            for other in range(int(model[k, FIRST_ROW]), k):
                put_pair(table, TWIST, other, get_pair(table, TWIST, k))
                put_pair(table, ACCELERATION, other, get_pair(table, ACCELERATION, k))


@routine
def bend_all(table, count):
    """Second rates of the fields."""
    for i in columns(0, count):
        by_velocity = bracket(get_pair(table, TWIST, i), get_pair(table, RATE, i))
        by_acceleration = bracket(get_pair(table, ACCELERATION, i), get_pair(table, FIELD, i))
        put_pair(table, CURVE, i, add_pairs(by_acceleration, by_velocity))


@routine
def refer_all(model, v_r, table):
    """Reference twists."""
    count = model.shape[0] - 1
    put_pair(table, REFERENCE, count, (ZERO, ZERO))
    for k in range(count):
        twist = get_pair(table, REFERENCE, parent_column(model, k))
        put_pair(table, REFERENCE, k, add_scaled_pair(twist, get_pair(table, FIELD, k), v_r[k]))
