# SPDX-License-Identifier: Apache-2.0
"""Where a body stands that a joint of several coordinates moves.

Kernels named ``general_...`` take robots with any joints. Rows of the model and of the
table of frames are velocities; what belongs to a body stands in the last row of its joint,
see `robot_dynamics.dynamics.kernels.layout`.
"""

import math

from robot_dynamics.dynamics.kernels.algebra import (
    ZERO,
    add,
    add_scaled,
    cross,
    load,
    load_matrix,
    product,
    times,
)
from robot_dynamics.dynamics.kernels.layout import (
    AXIS,
    COORDINATE,
    FIRST_ROW,
    FIXED,
    IS_PRISMATIC,
    KIND,
    LAST_ROW,
    PARENT,
    POINT,
)
from robot_dynamics.dynamics.kernels.loading import helper, part

# Values of `robot_dynamics.model.joints.JointType`.
FLOATING, PLANAR, SPHERICAL = 3.0, 4.0, 5.0

#: How far the square of a quaternion's length may be from 1 without a closer look.
UNIT = 1e-4


@helper
def is_single(model, i):
    """Whether row i is all of its joint."""
    return model[i, FIRST_ROW] == model[i, LAST_ROW]


@helper
def is_first(model, i):
    """Whether row i is the first of its joint."""
    return model[i, FIRST_ROW] == i


@helper
def is_body(model, i):
    """Whether row i is the last of its joint, which stands for the body."""
    return model[i, LAST_ROW] == i


@helper
def position_of(model, i, q):
    """Position of a joint of one coordinate."""
    return q[int(model[i, COORDINATE])]


@part
def store_sines(model, q, frames, column):
    """Sine and cosine of each single revolute joint; see `pose.store_sines`."""
    for i in range(model.shape[0] - 1):
        if is_single(model, i) and model[i, IS_PRISMATIC] == 0.0:
            angle = position_of(model, i, q)
            frames[i + 1, column] = math.sin(angle)
            frames[i + 1, column + 1] = math.cos(angle)


@part
def have_unit_length(model, q):
    """Whether the quaternions in q are of length 1; nan is none that is not."""
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
def quaternion_axes(x, y, z, w):
    """Axes that a turn by a quaternion, of any length but zero, makes of x, y and z."""
    k = 2.0 / (x * x + y * y + z * z + w * w)
    return ((1.0 - k * (y * y + z * z), k * (x * y + z * w), k * (x * z - y * w)),
            (k * (x * y - z * w), 1.0 - k * (x * x + z * z), k * (y * z + x * w)),
            (k * (x * z + y * w), k * (y * z - x * w), 1.0 - k * (x * x + y * y)))


@helper
def axis_axes(a, angle):
    """Axes that a turn about the unit vector a makes of x, y and z (Rodrigues)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    k = 1.0 - cosine
    return ((cosine + k * a[0] * a[0], k * a[0] * a[1] + sine * a[2],
             k * a[0] * a[2] - sine * a[1]),
            (k * a[0] * a[1] - sine * a[2], cosine + k * a[1] * a[1],
             k * a[1] * a[2] + sine * a[0]),
            (k * a[0] * a[2] + sine * a[1], k * a[1] * a[2] - sine * a[0],
             cosine + k * a[2] * a[2]))


@helper
def joint_motion(model, i, q):
    """Turn and shift, seen from its frame, of the joint of several coordinates at row i."""
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
def place_joint(model, i, q, parent_axes, parent_origin):
    """Axes and origin of the link frame that the joint at row i, its first, moves."""
    turn, shift = joint_motion(model, i, q)
    joint_axes = product(parent_axes, load_matrix(model, i, FIXED))
    origin = add(parent_origin, times(parent_axes, load(model, i, POINT)))
    return product(joint_axes, turn), add(origin, times(joint_axes, shift))


@helper
def place_in_dynamics(model, i, q, parent_axes, parent_origin):
    """As `place_joint`, with an origin of the calculation that goes along with the body.

    What hangs from the base by another joint does not feel it, nor does it matter where in
    space it moves: M, C and the rest do not change with the place of a robot that floats,
    and do not lose digits far away. So the origin is that of its own first body.
    """
    axes, origin = place_joint(model, i, q, parent_axes, parent_origin)
    if model[i, PARENT] < 0.0 and model[i, KIND] != SPHERICAL:
        origin = ZERO
    return axes, origin


@helper
def direction(model, k, axes):
    """Where or about what velocity k of a joint of several goes, base axes."""
    return times(axes, load(model, k, AXIS))


@helper
def field(model, k, axes, origin):
    """Field u + w x X of unit velocity k of a joint of several coordinates."""
    along = direction(model, k, axes)
    if model[k, IS_PRISMATIC] != 0.0:
        return along, ZERO
    return cross(origin, along), along


@part
def joint_rates(model, i, axes, v):
    """Velocity of its origin and angular velocity that a joint gives to its body.

    Parameters
    ----------
    model, i
        The model and the first row of the joint.
    axes
        Those of the moved link.
    v
        Velocities of all bodies; or accelerations, or references.
    """
    slide, turn = ZERO, ZERO
    for k in range(i, int(model[i, LAST_ROW]) + 1):
        along = direction(model, k, axes)
        if model[k, IS_PRISMATIC] != 0.0:
            slide = add_scaled(slide, along, v[k])
        else:
            turn = add_scaled(turn, along, v[k])
    return slide, turn
