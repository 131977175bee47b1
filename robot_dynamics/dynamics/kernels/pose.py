# SPDX-License-Identifier: Apache-2.0
"""Pose of a body from that of its parent, and velocity field of a joint."""

import math

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
    COORDINATE,
    COSINE,
    FIRST_ROW,
    FIXED,
    HAS_OFFSET,
    IS_PRISMATIC,
    KIND,
    LAST_ROW,
    OFFSET,
    PARENT,
    POINT,
    SINE,
    SLIDE,
)
from robot_dynamics.dynamics.kernels.loading import helper, routine

IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

# Values of `robot_dynamics.model.joint_types.JointType`.
FLOATING, PLANAR, SPHERICAL = 3.0, 4.0, 5.0

#: Largest deviation of the squared length of a quaternion from 1 without a further check.
UNIT = 1e-4


@helper
def parent_row(model, i):
    """Row of the parent of body i in a table whose first row is the base."""
    return int(model[i, PARENT]) + 1


@helper
def is_single(model, i):
    """Whether row i is the only one of its joint."""
    return model[i, FIRST_ROW] == model[i, LAST_ROW]


@helper
def is_first(model, i):
    """Whether row i is the first of its joint."""
    return model[i, FIRST_ROW] == i


@helper
def is_body(model, i):
    """Whether row i is the last of its joint, which represents the body."""
    return model[i, LAST_ROW] == i


@helper
def position_of(model, i, q):
    """Position of a joint of one coordinate."""
    return q[int(model[i, COORDINATE])]


@routine
def have_unit_length(model, q):
    """Whether the quaternions in q have length 1; nan is accepted."""
    good = True
    for i in range(model.shape[0] - 1):
        if is_first(model, i) and (model[i, KIND] == FLOATING or model[i, KIND] == SPHERICAL):
            c = int(model[i, COORDINATE]) + (3 if model[i, KIND] == FLOATING else 0)
            square = (q[c] * q[c] + q[c + 1] * q[c + 1] + q[c + 2] * q[c + 2]
                      + q[c + 3] * q[c + 3])
            if abs(square - 1.0) > UNIT:
                good = False
    return good


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
    """Origin of link frame i: at the joint, or at an offset (standard DH)."""
    if model[i, HAS_OFFSET] != 0.0:
        return add(joint, times(axes, load(model, i, OFFSET)))
    return joint


@helper
def joint_field(is_prismatic, joint, direction):
    """Velocity field ``u + w x X`` of unit speed of a joint.

    Returns
    -------
    u, w : tuple of 3 floats
        Velocity at the origin of the calculation, and angular velocity.
    """
    if is_prismatic:
        return direction, ZERO
    return cross(joint, direction), direction


# Joints of several coordinates.


@helper
def quaternion_axes(x, y, z, w):
    """Axes x, y and z rotated by a quaternion of any length but zero."""
    k = 2.0 / (x * x + y * y + z * z + w * w)
    return ((1.0 - k * (y * y + z * z), k * (x * y + z * w), k * (x * z - y * w)),
            (k * (x * y - z * w), 1.0 - k * (x * x + z * z), k * (y * z + x * w)),
            (k * (x * z + y * w), k * (y * z - x * w), 1.0 - k * (x * x + y * y)))


@helper
def axis_axes(a, angle):
    """Axes x, y and z rotated about the unit vector a (Rodrigues)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    k = 1.0 - cosine
    return ((cosine + k * a[0] * a[0], k * a[0] * a[1] + sine * a[2],
             k * a[0] * a[2] - sine * a[1]),
            (k * a[0] * a[1] - sine * a[2], cosine + k * a[1] * a[1],
             k * a[1] * a[2] + sine * a[0]),
            (k * a[0] * a[2] + sine * a[1], k * a[1] * a[2] - sine * a[0],
             cosine + k * a[2] * a[2]))


@routine
def joint_motion(model, i, q):
    """Rotation and translation, in its frame, of the joint of several coordinates at row i."""
    c = int(model[i, COORDINATE])
    shift = ZERO
    if model[i, KIND] == PLANAR:
        turn = axis_axes(load(model, i + 2, AXIS), q[c + 2])
        shift = add_scaled(add_scaled(ZERO, load(model, i, AXIS), q[c]),
                           load(model, i + 1, AXIS), q[c + 1])
    elif model[i, KIND] == FLOATING:
        turn = quaternion_axes(q[c + 3], q[c + 4], q[c + 5], q[c + 6])
        shift = q[c], q[c + 1], q[c + 2]
    else:
        turn = quaternion_axes(q[c], q[c + 1], q[c + 2], q[c + 3])
    return turn, shift


@helper
def place_joint(model, i, q, parent_axes, parent_origin, is_in_place):
    """Axes and origin of the link frame that the joint at row i, its first, moves.

    Unless ``is_in_place``, the origin of the calculation moves with a body that floats relative to
    the base. Bodies on other joints of the base are not affected. M, C and all other results do
    not depend on the position of a floating robot, and keep their precision far away.
    """
    turn, shift = joint_motion(model, i, q)
    joint_axes = product(parent_axes, load_matrix(model, i, FIXED))
    origin = add(parent_origin, times(parent_axes, load(model, i, POINT)))
    origin = add(origin, times(joint_axes, shift))
    if not is_in_place and model[i, PARENT] < 0.0 and model[i, KIND] != SPHERICAL:
        origin = ZERO
    return product(joint_axes, turn), origin


@helper
def field(model, k, axes, origin):
    """Field u + w x X of unit velocity k of a joint of several coordinates."""
    along = times(axes, load(model, k, AXIS))
    if model[k, IS_PRISMATIC] != 0.0:
        return along, ZERO
    return cross(origin, along), along
