# SPDX-License-Identifier: Apache-2.0
"""Poses of the link frames and the geometric Jacobian of a body."""

import math

import numpy as np

from robot_dynamics.dynamics.kernels.algebra import add, cross, load, store, times
from robot_dynamics.dynamics.kernels.layout import IS_PRISMATIC, ORIGIN, PARENT
from robot_dynamics.dynamics.kernels.loading import helper, kernel, part
from robot_dynamics.dynamics.kernels.pose import IDENTITY, joint_field, link_origin, place


@helper
def axes_of(pose):
    """Axes of the frame with a 4 x 4 pose."""
    return ((pose[0, 0], pose[1, 0], pose[2, 0]),
            (pose[0, 1], pose[1, 1], pose[2, 1]),
            (pose[0, 2], pose[1, 2], pose[2, 2]))


@part
def store_pose(pose, axes, p):
    """Write the 4 x 4 pose of a frame with these axes and origin."""
    for row in range(3):
        for column in range(3):
            pose[row, column] = axes[column][row]
        pose[row, 3] = p[row]
        pose[3, row] = 0.0
    pose[3, 3] = 1.0


@part
def fill_poses(model, q, poses, fields):
    """Poses, shape (nb, 4, 4), and joint fields, shape (nb, 6), of one sample.

    Both with respect to the base frame.
    """
    bodies = model.shape[0] - 1
    base = load(model, bodies, ORIGIN)
    for i in range(bodies):
        sine, cosine = math.sin(q[i]), math.cos(q[i])
        parent = int(model[i, PARENT])
        if parent < 0:
            axes, joint, z = place(model, i, q[i], sine, cosine, IDENTITY, base)
        else:
            above = poses[parent]
            origin = (above[0, 3], above[1, 3], above[2, 3])
            axes, joint, z = place(model, i, q[i], sine, cosine, axes_of(above), origin)
        p = link_origin(model, i, axes, joint)
        u, w = joint_field(model[i, IS_PRISMATIC] != 0.0, joint, z)
        store(fields, i, 0, u)
        store(fields, i, 3, w)
        store_pose(poses[i], axes, p)


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, :, :, ::1])', nogil=True)
def poses_of_bodies(model, q, poses):
    """Poses of the link frames in the base frame for each row of q."""
    fields = np.empty((model.shape[0] - 1, 6))
    for k in range(q.shape[0]):
        fill_poses(model, q[k], poses[k], fields)


@kernel('void(float64[:, ::1], float64[:, ::1], int64, float64[::1], float64[:, :, ::1])',
        nogil=True)
def jacobians(model, q, body, point, out):
    """Jacobian of a point of a body, for each row of q.

    ``point`` is in the axes of the link frame. Column j is what unit speed of joint j
    gives that point: the linear velocity u + w x X in rows 0-2, the angular velocity w
    in rows 3-5, both in the axes of the base.
    """
    bodies = model.shape[0] - 1
    poses = np.empty((bodies, 4, 4))
    fields = np.empty((bodies, 6))
    for k in range(q.shape[0]):
        fill_poses(model, q[k], poses, fields)
        pose = poses[body]
        turned = times(axes_of(pose), (point[0], point[1], point[2]))
        X = add((pose[0, 3], pose[1, 3], pose[2, 3]), turned)
        out[k] = 0.0
        j = body
        while j >= 0:
            w = load(fields, j, 3)
            linear = add(load(fields, j, 0), cross(w, X))
            for row in range(3):
                out[k, row, j] = linear[row]
                out[k, row + 3, j] = w[row]
            j = int(model[j, PARENT])
