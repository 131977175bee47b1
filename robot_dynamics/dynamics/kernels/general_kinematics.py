# SPDX-License-Identifier: Apache-2.0
"""Poses of the link frames and the Jacobian of a body for robots with any joints."""

import math

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import add, cross, load, store, times
from robot_dynamics.dynamics.kernels.general_pose import (
    field,
    is_first,
    is_single,
    place_joint,
    position_of,
)
from robot_dynamics.dynamics.kernels.kinematics import axes_of, store_pose
from robot_dynamics.dynamics.kernels.layout import (
    BODIES,
    BODY,
    IS_PRISMATIC,
    LAST_ROW,
    ORIGIN,
    PARENT,
)
from robot_dynamics.dynamics.kernels.loading import helper, kernel, routine
from robot_dynamics.dynamics.kernels.pose import IDENTITY, joint_field, link_origin, place


@helper
def pose_above(model, i, poses):
    """Axes and origin of the link frame that carries the joint at row i."""
    parent = int(model[i, PARENT])
    axes, origin = IDENTITY, load(model, model.shape[0] - 1, ORIGIN)
    if parent >= 0:
        above = poses[int(model[parent, BODY])]
        axes, origin = axes_of(above), (above[0, 3], above[1, 3], above[2, 3])
    return axes, origin


@routine
def fill_poses(model, q, poses, fields):
    """Poses, shape (nb, 4, 4), and fields, one row of 6 a velocity, of one sample.

    Both with respect to the base frame.
    """
    for i in range(model.shape[0] - 1):
        if is_single(model, i):
            angle = position_of(model, i, q)
            parent_axes, parent_origin = pose_above(model, i, poses)
            axes, joint, z = place(model, i, angle, math.sin(angle), math.cos(angle),
                                   parent_axes, parent_origin)
            u, w = joint_field(model[i, IS_PRISMATIC] != 0.0, joint, z)
            store_pose(poses[int(model[i, BODY])], axes, link_origin(model, i, axes, joint))
            store(fields, i, 0, u)
            store(fields, i, 3, w)
        elif is_first(model, i):
            parent_axes, parent_origin = pose_above(model, i, poses)
            axes, p = place_joint(model, i, q, parent_axes, parent_origin)
            store_pose(poses[int(model[i, BODY])], axes, p)
            for k in range(i, int(model[i, LAST_ROW]) + 1):
                u, w = field(model, k, axes, p)
                store(fields, k, 0, u)
                store(fields, k, 3, w)


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, :, :, ::1])', nogil=True)
def poses_of_bodies(model, q, poses):
    """Poses of the link frames in the base frame for each row of q."""
    fields = np.empty((model.shape[0] - 1, 6))
    for k in range(q.shape[0]):
        fill_poses(model, q[k], poses[k], fields)


@kernel('void(float64[:, ::1], float64[:, ::1], int64, float64[::1], float64[:, :, ::1])',
        nogil=True)
def jacobians(model, q, body, point, out):
    """Jacobian of a point of a body, for each row of q; see `kinematics.jacobians`."""
    rows = model.shape[0] - 1
    poses = np.empty((int(model[rows, BODIES]), 4, 4))
    fields = np.empty((rows, 6))
    last = -1
    for i in range(rows):
        if model[i, BODY] == body:
            last = i
    for k in range(q.shape[0]):
        fill_poses(model, q[k], poses, fields)
        pose = poses[body]
        turned = times(axes_of(pose), (point[0], point[1], point[2]))
        X = add((pose[0, 3], pose[1, 3], pose[2, 3]), turned)
        out[k] = 0.0
        j = last
        while j >= 0:
            w = load(fields, j, 3)
            linear = add(load(fields, j, 0), cross(w, X))
            for row in range(3):
                out[k, row, j] = linear[row]
                out[k, row + 3, j] = w[row]
            j = int(model[j, PARENT])
