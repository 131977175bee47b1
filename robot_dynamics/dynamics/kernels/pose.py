# SPDX-License-Identifier: Apache-2.0
"""Where a body stands, given where its parent stands.

All kernels keep a table of *frames*: row 0 is the base, row i + 1 is body i. Each kernel
lays out its own rows; sines and cosines of the joints take two neighbouring columns.
"""

import math

from numba import types
from numba.extending import overload

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    add,
    add_matrices,
    add_scaled,
    cross,
    load,
    load_matrix,
    product,
    scale_matrix,
    times,
)
from robot_dynamics.dynamics.kernels.layout import (
    AXIS,
    COSINE,
    FIXED,
    HAS_OFFSET,
    IS_PRISMATIC,
    OFFSET,
    PARENT,
    POINT,
    SINE,
    SLIDE,
)
from robot_dynamics.dynamics.kernels.loading import helper, part

IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@helper
def parent_row(model, i):
    """Row of the parent of body i in a table of frames."""
    return int(model[i, PARENT]) + 1


@part
def clear_base(frames):
    """Fill the row of the base with zeros."""
    for k in range(frames.shape[1]):
        frames[0, k] = 0.0


def sine_and_cosine(x):
    """Sine and cosine of a float; for lanes see `robot_dynamics.dynamics.kernels.lanes_math`."""
    return math.sin(x), math.cos(x)


@overload(sine_and_cosine, inline='always')
def _of_floats(x):
    return sine_and_cosine if isinstance(x, types.Float) else None


@part
def store_sines(model, q, frames, column):
    """Sine and cosine of each revolute joint.

    Ahead of the recursion, because a call in its midst empties all registers.
    """
    for i in range(model.shape[0] - 1):
        if model[i, IS_PRISMATIC] == 0.0:
            frames[i + 1, column], frames[i + 1, column + 1] = sine_and_cosine(q[i])


@helper
def place(model, i, q, sine, cosine, parent_axes, parent_origin):
    """Axes of link frame i, a point on joint i, and the joint's direction (base axes).

    A revolute joint's matrix is ``fixed + sin(q) sine + cos(q) cosine`` (Rodrigues),
    a prismatic joint's point moves by ``q slide``; see
    `robot_dynamics.dynamics.kernels.layout`.
    """
    turn = load_matrix(model, i, FIXED)
    point = load(model, i, POINT)
    if model[i, IS_PRISMATIC] != 0.0:
        point = add_scaled(point, load(model, i, SLIDE), q)
    else:
        turn = add_matrices(turn, add_matrices(scale_matrix(load_matrix(model, i, SINE), sine),
                                               scale_matrix(load_matrix(model, i, COSINE),
                                                            cosine)))
    axes = product(parent_axes, turn)
    joint = add(parent_origin, times(parent_axes, point))
    direction = times(parent_axes, load(model, i, AXIS))
    return axes, joint, direction


@helper
def link_origin(model, i, axes, joint):
    """Origin of link frame i: the joint, or away from it (standard DH)."""
    if model[i, HAS_OFFSET] != 0.0:
        return add(joint, times(axes, load(model, i, OFFSET)))
    return joint


@helper
def joint_field(is_prismatic, joint, direction):
    """Velocity field ``u + w x X`` that unit speed of a joint gives to all it carries.

    Returns
    -------
    u, w : tuple of 3 floats
        Velocity at the origin of the calculation, and angular velocity.
    """
    if is_prismatic:
        return direction, ZERO
    return cross(joint, direction), direction
