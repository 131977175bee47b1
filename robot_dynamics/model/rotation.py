# SPDX-License-Identifier: Apache-2.0
"""Roll-pitch-yaw angles, as a URDF writes them, and rotation matrices."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import DimensionError
from robot_dynamics.model.arrays import real_array

FloatArray = NDArray[np.float64]


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
