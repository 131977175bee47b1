# SPDX-License-Identifier: Apache-2.0
"""Where a body stands, given where its parent stands."""

import math

from robot_dynamics.dynamics.kernels.algebra import (
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
from robot_dynamics.dynamics.kernels.loading import helper
from robot_dynamics.dynamics.kernels.layout import (
    AXIS,
    COSINE,
    FIXED,
    HAS_OFFSET,
    IS_PRISMATIC,
    OFFSET,
    POINT,
    SINE,
    SLIDE,
)

IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@helper
def place(model, i, q, parent_axes, parent_origin):
    """Axes of link frame i, a point on joint i, and the joint's direction (base axes).

    A revolute joint's matrix is ``fixed + sin(q) sine + cos(q) cosine`` (Rodrigues),
    a prismatic joint's point moves by ``q slide``; see `robot_dynamics.dynamics.kernels.layout`.
    """
    turn = load_matrix(model, i, FIXED)
    point = load(model, i, POINT)
    if model[i, IS_PRISMATIC] != 0.0:
        point = add_scaled(point, load(model, i, SLIDE), q)
    else:
        sine = scale_matrix(load_matrix(model, i, SINE), math.sin(q))
        cosine = scale_matrix(load_matrix(model, i, COSINE), math.cos(q))
        turn = add_matrices(turn, add_matrices(sine, cosine))
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
        return direction, (0.0, 0.0, 0.0)
    return cross(joint, direction), direction
