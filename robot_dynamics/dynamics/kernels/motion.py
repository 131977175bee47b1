# SPDX-License-Identifier: Apache-2.0
r"""Motion of all joints to second order, for derivatives.

Unit speed of column k moves all that it carries by the field J_k(X) = u_k + w_k x X. Fields
are twists at the origin, S_k = (u_k, w_k), and are carried along by the moved body: with v
its twist, a = dv/dt, and [x, y] the Lie bracket of two twists::

    dS_k/dt   = [v, S_k]
    d2S_k/dt2 = [a, S_k] + [v, dS_k/dt]

The rows of the table of columns (`joint_table`) are laid out here.
"""

import math

from robot_dynamics.dynamics.kernels.algebra import ZERO
from robot_dynamics.dynamics.kernels.general_pose import (
    field,
    is_first,
    is_single,
    place_in_dynamics,
    place_joint,
    position_of,
)
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
from robot_dynamics.dynamics.kernels.layout import IS_PRISMATIC, LAST_ROW
from robot_dynamics.dynamics.kernels.loading import helper, part
from robot_dynamics.dynamics.kernels.pose import IDENTITY, joint_field, link_origin, place

# Rows: the link frame and the twist of the body, the field of the column and its rates.
AXES = 0           # 9
POSITION = 9       # 3, p
TWIST = 12         # 6, b and O: velocity of the point at the origin, angular velocity
ACCELERATION = 18  # 6, their time derivatives
FIELD = 24         # 6, u and w
RATE = 30          # 6, u' and w'
CURVE = 36         # 6, u'' and w''
SINE = 42
COSINE = 43
# Moments of mass, see `moments`, of a body and then of all that its joint carries:
MASS = 44          # m = sum m
FIRST = 45         # 3, h = sum m X
SECOND = 48        # 6, S = sum m X X^T
MOMENTUM = 54      # 3, P = sum m X'
FLOW = 57          # 9, D = sum m X' X^T
MORE_SUMS = 66     # up to 12, what a kernel wants to be summed beside this
AFTER_SUMS = 78


@helper
def place_base(table, base, acceleration):
    """Write the column of the base: at rest, but for what stands for gravity."""
    put_matrix(table, AXES, base, IDENTITY)
    put(table, POSITION, base, ZERO)
    put_pair(table, TWIST, base, (ZERO, ZERO))
    put_pair(table, ACCELERATION, base, (acceleration, ZERO))


@helper
def move_body(model, i, q, v, a, table):
    """Move a body as its joint, of one coordinate, and its parent do."""
    parent = parent_column(model, i)
    axes, joint, z = place(model, i, q, table[SINE, i], table[COSINE, i],
                           get_matrix(table, AXES, parent), get(table, POSITION, parent))
    S = joint_field(model[i, IS_PRISMATIC] != 0.0, joint, z)
    twist = get_pair(table, TWIST, parent)
    rate = bracket(twist, S)
    put_matrix(table, AXES, i, axes)
    put(table, POSITION, i, link_origin(model, i, axes, joint))
    put_pair(table, FIELD, i, S)
    put_pair(table, RATE, i, rate)
    put_pair(table, TWIST, i, add_scaled_pair(twist, S, v))
    acceleration = add_scaled_pair(get_pair(table, ACCELERATION, parent), S, a)
    put_pair(table, ACCELERATION, i, add_scaled_pair(acceleration, rate, v))


@part
def move_joint(model, first, q, v, a, is_in_place, table):
    """Move the body of the joint of several coordinates that begins with this column.

    All columns of the joint get the frame and the motion of the body.
    """
    parent = parent_column(model, first)
    above, origin = get_matrix(table, AXES, parent), get(table, POSITION, parent)
    axes, p = (place_joint(model, first, q, above, origin) if is_in_place
               else place_in_dynamics(model, first, q, above, origin))
    end = int(model[first, LAST_ROW]) + 1
    twist = get_pair(table, TWIST, parent)
    for k in range(first, end):
        S = field(model, k, axes, p)
        put_pair(table, FIELD, k, S)
        twist = add_scaled_pair(twist, S, v[k])
    acceleration = get_pair(table, ACCELERATION, parent)
    for k in range(first, end):
        S = get_pair(table, FIELD, k)
        rate = bracket(twist, S)
        put_pair(table, RATE, k, rate)
        acceleration = add_scaled_pair(add_scaled_pair(acceleration, S, a[k]), rate, v[k])
    for k in range(first, end):
        put_matrix(table, AXES, k, axes)
        put(table, POSITION, k, p)
        put_pair(table, TWIST, k, twist)
        put_pair(table, ACCELERATION, k, acceleration)


@part
def move_all(model, q, v, a, base_acceleration, is_in_place, table):
    """Frames, twists, accelerations, fields and their first rates.

    ``is_in_place`` asks for true positions where a body floats; see
    `general_pose.place_in_dynamics` for what dynamics gain without them.
    """
    count = model.shape[0] - 1
    place_base(table, count, base_acceleration)
    for i in range(count):
        if is_single(model, i) and model[i, IS_PRISMATIC] == 0.0:
            angle = position_of(model, i, q)
            table[SINE, i] = math.sin(angle)
            table[COSINE, i] = math.cos(angle)
    for i in range(count):
        if is_single(model, i):
            move_body(model, i, position_of(model, i, q), v[i], a[i], table)
        elif is_first(model, i):
            move_joint(model, i, q, v, a, is_in_place, table)


@part
def bend_all(table, count):
    """Second rates of the fields."""
    for i in columns(0, count):
        by_velocity = bracket(get_pair(table, TWIST, i), get_pair(table, RATE, i))
        by_acceleration = bracket(get_pair(table, ACCELERATION, i), get_pair(table, FIELD, i))
        put_pair(table, CURVE, i, add_pairs(by_acceleration, by_velocity))
