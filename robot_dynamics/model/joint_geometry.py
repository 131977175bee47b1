# SPDX-License-Identifier: Apache-2.0
"""What each type of joint does: the pose at a position, the directions of its velocities."""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.joint_types import JointType
from robot_dynamics.model.motion import rotation_of_quaternion
from robot_dynamics.model.rotation import axis_rotation, plane_axes


def joint_motion(kind: JointType, axis: FloatArray, link_offset: FloatArray, q: FloatArray
                 ) -> FloatArray:
    """Return the pose of the moved link frame in the joint frame, shape (4, 4).

    Parameters
    ----------
    kind : JointType
        Type of the joint.
    axis, link_offset : ndarray, shape (3,)
        As in `Robot`.
    q : ndarray
        Positions of the joint, rad or m.
    """
    motion = np.eye(4)
    if kind is JointType.PRISMATIC:
        motion[:3, 3] = q[0] * axis + link_offset
        return motion
    if kind.quaternion is not None:
        motion[:3, :3] = rotation_of_quaternion(q[kind.quaternion])
    else:
        motion[:3, :3] = axis_rotation(axis, q[-1])
    if kind is JointType.FLOATING:
        motion[:3, 3] = q[:3]
    elif kind is JointType.PLANAR:
        motion[:3, 3] = plane_axes(axis)[:, :2] @ q[:2]
    else:
        motion[:3, 3] = motion[:3, :3] @ link_offset
    return motion


def directions(kind: JointType, axis: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return which velocities of a joint slide rather than turn, and where or about what.

    Shapes (velocities,) and (velocities, 3); unit vectors in the axes of the moved link.
    """
    if kind is JointType.FLOATING:
        return np.arange(6) < 3, np.tile(np.eye(3), (2, 1))
    if kind is JointType.PLANAR:
        return np.arange(3) < 2, plane_axes(axis).T
    if kind is JointType.SPHERICAL:
        return np.zeros(3, dtype=bool), np.eye(3)
    return np.array([kind is JointType.PRISMATIC]), axis[None]
