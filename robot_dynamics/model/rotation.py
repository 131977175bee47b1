# SPDX-License-Identifier: Apache-2.0
"""Rotation matrices, unit quaternions (x y z w) and rigid motions along a screw.

Quaternion functions take batches: arrays with leading axes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.model.arrays import FloatArray, real_array, shaped_array

# Angle below which a series is more accurate than the formula, rad.
_SMALL = 1e-2


def rotation_from_rpy(rpy: ArrayLike) -> FloatArray:
    """R = Rz(yaw) Ry(pitch) Rx(roll), shape (..., 3, 3): rotations about fixed x, y, z.

    Roll, pitch and yaw, shape (..., 3), are in rad.
    """
    angles = np.moveaxis(shaped_array(rpy, (3,), 'rpy'), -1, 0)
    (sr, sp, sy), (cr, cp, cy) = np.sin(angles), np.cos(angles)
    return _matrices([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])


def _matrices(entries: list[list[FloatArray]]) -> FloatArray:
    """Matrices, shape (..., 3, 3), of entries of shape (...)."""
    return np.moveaxis(np.array(entries), (0, 1), (-2, -1))


def rpy_from_rotation(rotation: ArrayLike) -> FloatArray:
    """Roll, pitch and yaw (3,) of a rotation matrix (3, 3), pitch within [-pi/2, pi/2], rad.

    Yaw is computed first; pitch and roll follow from the remaining rotation Ry(pitch) Rx(roll).
    The three angles therefore reproduce the matrix to rounding, even for pitch close to pi/2,
    where yaw alone is ill-conditioned.
    """
    R = shaped_array(rotation, (3, 3), 'rotation')
    yaw = math.atan2(R[1, 0], R[0, 0])
    cy, sy = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], cy * R[0, 0] + sy * R[1, 0])
    # Second row of Rz(-yaw) R: [0, cos(roll), -sin(roll)].
    roll = math.atan2(sy * R[0, 2] - cy * R[1, 2], cy * R[1, 1] - sy * R[0, 1])
    return np.array([roll, pitch, yaw])


def axis_rotation(axis: FloatArray, angle: float) -> FloatArray:
    """Rotation about a unit axis, shape (3, 3).

    ``R = cos(q) 1 + sin(q) [a] + (1 - cos(q)) a a^T`` (Rodrigues).
    """
    x, y, z = axis
    cosine, sine = np.cos(angle), np.sin(angle)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: FloatArray = (cosine * np.eye(3) + sine * cross
                            + (1.0 - cosine) * np.outer(axis, axis))
    return rotation


def plane_axes(normal: FloatArray) -> FloatArray:
    """Axes x, y and normal of a plane as columns, shape (3, 3).

    They are x, y and z after the shortest rotation from z to the normal; for a normal of -z this
    is half a turn about x.
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


def rotation_of_quaternion(quaternion: ArrayLike) -> FloatArray:
    """Rotation matrices, shape (..., 3, 3), of quaternions x y z w, which are normalised."""
    x, y, z, w = np.moveaxis(unit(real_array(quaternion, 'quaternion')), -1, 0)
    return _matrices([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ])


def quaternion_of_rotation(rotation: FloatArray) -> FloatArray:
    """Unit quaternion x y z w of a rotation matrix, w >= 0.

    The row of the outer product of the quaternion with itself that has the largest diagonal (S. W.
    Shepperd, "Quaternion from rotation matrix", Journal of Guidance and Control 1(3), 1978).
    """
    R = rotation
    x, y, z = np.diagonal(R)
    rows = np.array([
        [1.0 + x - y - z, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]],
        [R[0, 1] + R[1, 0], 1.0 - x + y - z, R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
        [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1.0 - x - y + z, R[1, 0] - R[0, 1]],
        [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1.0 + x + y + z]])
    row = unit(rows[int(np.argmax(np.diagonal(rows)))])
    return -row if row[3] < 0.0 else row


def unit(quaternion: FloatArray) -> FloatArray:
    """Quaternion divided by its length."""
    return quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Quaternion of R(a) R(b)."""
    u, v = a[..., :3], b[..., :3]
    s, t = a[..., 3:], b[..., 3:]
    return np.concatenate([s * v + t * u + np.cross(u, v),
                           s * t - np.sum(u * v, axis=-1, keepdims=True)], axis=-1)


def turned(quaternion: FloatArray, x: FloatArray) -> FloatArray:
    """Vector x turned by a unit quaternion."""
    u, s = quaternion[..., :3], quaternion[..., 3:]
    once = 2.0 * np.cross(u, x)
    return x + s * once + np.cross(u, once)


def inverse(quaternion: FloatArray) -> FloatArray:
    """Inverse of a unit quaternion."""
    return quaternion * np.array([-1.0, -1.0, -1.0, 1.0])


def quaternion_of_turn(r: FloatArray) -> FloatArray:
    """Quaternion of Exp([r])."""
    half = 0.5 * np.linalg.norm(r, axis=-1, keepdims=True)
    # sinc of numpy is sin(pi x) / (pi x).
    return np.concatenate([0.5 * np.sinc(half / np.pi) * r, np.cos(half)], axis=-1)


def turn_of_quaternion(quaternion: FloatArray) -> FloatArray:
    """Rotation vector r with Exp([r]) the rotation of a unit quaternion, |r| <= pi."""
    quaternion = np.where(quaternion[..., 3:] < 0.0, -quaternion, quaternion)
    u, s = quaternion[..., :3], quaternion[..., 3:]
    sine = np.linalg.norm(u, axis=-1, keepdims=True)
    half = np.arctan2(sine, s)
    return 2.0 * u / np.sinc(half / np.pi)


def screw(r: FloatArray, x: FloatArray) -> FloatArray:
    """V(r) x with V(r) = 1 + (1 - cos s)/s^2 [r] + (s - sin s)/s^3 [r]^2, s = |r|.

    Displacement of a body that rotates by r while its origin moves by x in its own axes (R. M.
    Murray, Z. Li, S. S. Sastry, *A Mathematical Introduction to Robotic Manipulation*, CRC Press,
    1994, eq. 2.36).
    """
    s = np.linalg.norm(r, axis=-1, keepdims=True)
    first = 0.5 * np.sinc(0.5 * s / np.pi) ** 2
    with np.errstate(invalid='ignore', divide='ignore'):
        second = np.where(s < _SMALL, 1.0 / 6.0 - s ** 2 / 120.0 + s ** 4 / 5040.0,
                          (s - np.sin(s)) / s ** 3)
    across = np.cross(r, x)
    return x + first * across + second * np.cross(r, across)


def inverse_screw(r: FloatArray, x: FloatArray) -> FloatArray:
    """V(r)^-1 x = x - r x x / 2 + (1 - s/2 cot(s/2)) / s^2 r x (r x x)."""
    s = np.linalg.norm(r, axis=-1, keepdims=True)
    with np.errstate(invalid='ignore', divide='ignore'):
        second = np.where(s < _SMALL, 1.0 / 12.0 + s ** 2 / 720.0 + s ** 4 / 30240.0,
                          (1.0 - 0.5 * s / np.tan(0.5 * s)) / s ** 2)
    across = np.cross(r, x)
    return x - 0.5 * across + second * np.cross(r, across)
