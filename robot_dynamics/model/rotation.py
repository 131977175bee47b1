# SPDX-License-Identifier: Apache-2.0
"""Rotation matrices, from roll-pitch-yaw angles, as a URDF writes them, and from axes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError
from robot_dynamics.model.arrays import FloatArray, real_array


def rotation_from_rpy(rpy: ArrayLike) -> FloatArray:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll): turns about the fixed x, then y, then z axis.

    Parameters
    ----------
    rpy : array_like, shape (3,)
        Roll, pitch and yaw, rad.

    Returns
    -------
    ndarray, shape (3, 3)
        Rotation matrix.
    """
    angles = real_array(rpy, 'rpy')
    if angles.shape != (3,):
        raise DimensionError(f'has shape {angles.shape}, not (3,)', subject='rpy',
                             remedy='give roll, pitch and yaw')
    (sr, sp, sy), (cr, cp, cy) = np.sin(angles), np.cos(angles)
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])


def rpy_from_rotation(rotation: ArrayLike) -> FloatArray:
    """Return the roll, pitch and yaw of a rotation matrix, pitch within [-pi/2, pi/2].

    Yaw is found first and undone; pitch and roll are read from what is left,
    Ry(pitch) Rx(roll). So the three angles give the matrix back to rounding even
    where pitch is close to pi/2 and yaw alone is badly determined.

    Parameters
    ----------
    rotation : array_like, shape (3, 3)
        Rotation matrix.

    Returns
    -------
    ndarray, shape (3,)
        Roll, pitch and yaw, rad.
    """
    R = real_array(rotation, 'rotation')
    if R.shape != (3, 3):
        raise DimensionError(f'has shape {R.shape}, not (3, 3)', subject='rotation',
                             remedy='give one rotation matrix')
    yaw = math.atan2(R[1, 0], R[0, 0])
    cy, sy = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], cy * R[0, 0] + sy * R[1, 0])
    # Second row of Rz(-yaw) R: [0, cos(roll), -sin(roll)].
    roll = math.atan2(sy * R[0, 2] - cy * R[1, 2], cy * R[1, 1] - sy * R[0, 1])
    return np.array([roll, pitch, yaw])


def axis_rotation(axis: FloatArray, angle: float) -> FloatArray:
    """Return the rotation about a unit axis, shape (3, 3).

    ``R = cos(q) 1 + sin(q) [a] + (1 - cos(q)) a a^T`` (Rodrigues).
    """
    x, y, z = axis
    cosine, sine = np.cos(angle), np.sin(angle)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: FloatArray = (cosine * np.eye(3) + sine * cross
                            + (1.0 - cosine) * np.outer(axis, axis))
    return rotation


def plane_axes(normal: FloatArray) -> FloatArray:
    """Return the axes x, y and normal of a plane as columns, shape (3, 3).

    They are what the shortest turn that takes z to the normal makes of x, y and z; for a
    normal of -z, half a turn about x.
    """
    x, y, z = normal
    across = np.hypot(x, y)
    if across == 0.0:
        return np.diag([1.0, np.sign(z), np.sign(z)])
    # 1 + [k] + [k]^2 / (1 + z) for the turn with k = z x normal = (-y, x, 0). With (c, s) the
    # direction of (x, y), x^2 / (1 + z) is c^2 (1 - z): no digits are lost near -z.
    c, s = x / across, y / across
    return np.array([[1.0 - (1.0 - z) * c * c, -(1.0 - z) * c * s, x],
                     [-(1.0 - z) * c * s, 1.0 - (1.0 - z) * s * s, y],
                     [-x, -y, z]])
