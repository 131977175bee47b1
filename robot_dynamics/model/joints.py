# SPDX-License-Identifier: Apache-2.0
"""Joint types, coordinates, poses, and motion at constant velocity.

The velocity of a floating, planar or spherical joint is the twist (linear, angular) of the
moved body in its own axes, so that a constant velocity moves the body along a screw::

    R(t) = R(0) Exp([w] t),      p(t) = p(0) + R(0) V(w t) v t

with V of `robot_dynamics.model.rotation.screw`. Quaternions are x y z w. Functions of
positions and velocities take batches: arrays with leading axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import (
    DimensionError,
    ParameterError,
    StateError,
    UnknownNameError,
    one_of,
    shown,
)
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray, real_array
from robot_dynamics.model.rotation import (
    axis_rotation,
    inverse,
    inverse_screw,
    plane_axes,
    product,
    quaternion_of_turn,
    rotation_of_quaternion,
    screw,
    turn_of_quaternion,
    turned,
    unit,
)

#: Largest deviation of the length of a quaternion from 1: rounding of each component to four
#: decimals.
UNIT_TOLERANCE = 1e-4


class JointType(IntEnum):
    """Type of the motion of a body relative to its parent.

    The velocities of a joint with several coordinates are not derivatives of its
    positions: they are the velocity of the moved body in that body's own axes.

    ==========  ==============================  ========================================
    type        positions                       velocities
    ==========  ==============================  ========================================
    FLOATING    x y z and a unit quaternion,    of the origin of the body, vx vy vz, and
                qx qy qz qw                     angular, wx wy wz
    PLANAR      x y and an angle about the      vx vy of the origin and the angular
                normal of the plane             velocity w about the normal
    SPHERICAL   a unit quaternion,              angular, wx wy wz
                qx qy qz qw
    ==========  ==============================  ========================================

    Positions are those of the body in the joint frame.

    Examples
    --------
    >>> from robot_dynamics import JointType, Robot
    >>> robot = Robot.from_urdf('rpr')
    >>> [JointType(kind).name for kind in robot.joint_types]
    ['REVOLUTE', 'PRISMATIC', 'REVOLUTE']
    """

    REVOLUTE = 0
    CONTINUOUS = 1
    PRISMATIC = 2
    FLOATING = 3
    PLANAR = 4
    SPHERICAL = 5

    @property
    def position_names(self) -> tuple[str, ...]:
        """Suffixes of the names of its positions; empty for one coordinate."""
        return _POSITIONS.get(self, ())

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Suffixes of the names of its velocities; empty for one coordinate."""
        return _VELOCITIES.get(self, ())

    @property
    def has_one_coordinate(self) -> bool:
        """Whether the position of such a joint is one number."""
        return self not in _VELOCITIES

    @property
    def quaternion(self) -> slice | None:
        """Slice of the unit quaternion x y z w in its positions, or None."""
        return _QUATERNIONS.get(self)


_QUATERNION = ('qx', 'qy', 'qz', 'qw')
_POSITIONS = {JointType.FLOATING: ('x', 'y', 'z', *_QUATERNION),
              JointType.PLANAR: ('x', 'y', 'angle'),
              JointType.SPHERICAL: _QUATERNION}
_VELOCITIES = {JointType.FLOATING: ('vx', 'vy', 'vz', 'wx', 'wy', 'wz'),
               JointType.PLANAR: ('vx', 'vy', 'w'),
               JointType.SPHERICAL: ('wx', 'wy', 'wz')}
_QUATERNIONS = {JointType.FLOATING: slice(3, 7), JointType.SPHERICAL: slice(0, 4)}


@dataclass(frozen=True)
class Coordinates:
    """Slices of the coordinates of joints, in their order, in vectors q and v."""

    joints: tuple[str, ...]
    types: tuple[JointType, ...]

    @cached_property
    def n(self) -> int:
        """Number of velocity coordinates."""
        return len(self.joint_of_velocity)

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates."""
        return int(self._position_starts[-1])

    @cached_property
    def position_names(self) -> tuple[str, ...]:
        """Names of the position coordinates, ``joint`` or ``joint/qx``, length nq."""
        return tuple(name for joint, kind in zip(self.joints, self.types, strict=True)
                     for name in _names(joint, kind.position_names))

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocity coordinates, ``joint`` or ``joint/vx``, length n."""
        return tuple(name for joint, kind in zip(self.joints, self.types, strict=True)
                     for name in _names(joint, kind.velocity_names))

    @cached_property
    def joint_of_velocity(self) -> IntArray:
        """Index of the joint of each velocity coordinate, shape (n,)."""
        return np.repeat(np.arange(len(self.types)), self.velocity_counts)

    @cached_property
    def velocity_counts(self) -> IntArray:
        """Number of velocity coordinates of each joint."""
        return np.diff(self._velocity_starts)

    @property
    def are_single(self) -> bool:
        """Whether each joint has one coordinate, so that q and v have the same layout."""
        return all(kind.has_one_coordinate for kind in self.types)

    @property
    def several(self) -> tuple[int, ...]:
        """Indices of the joints that have several coordinates."""
        return tuple(k for k, kind in enumerate(self.types) if not kind.has_one_coordinate)

    def positions(self, joint: int | str) -> slice:
        """Slice of the positions of a joint, by its index or name."""
        k = self._index(joint)
        return slice(int(self._position_starts[k]), int(self._position_starts[k + 1]))

    def velocities(self, joint: int | str) -> slice:
        """Slice of the velocities of a joint, by its index or name."""
        k = self._index(joint)
        return slice(int(self._velocity_starts[k]), int(self._velocity_starts[k + 1]))

    def _index(self, joint: int | str) -> int:
        if not isinstance(joint, str):
            return joint
        if joint not in self.joints:
            raise UnknownNameError('is not an independent joint of the robot', subject=joint,
                                   remedy=one_of(self.joints, joint))
        return self.joints.index(joint)

    @cached_property
    def _position_starts(self) -> IntArray:
        return _starts([kind.position_names for kind in self.types])

    @cached_property
    def _velocity_starts(self) -> IntArray:
        return _starts([kind.velocity_names for kind in self.types])


def _names(joint: str, endings: Sequence[str]) -> tuple[str, ...]:
    return tuple(f'{joint}/{ending}' for ending in endings) or (joint,)


def _starts(names: Sequence[Sequence[str]]) -> IntArray:
    """Index of the first coordinate of each joint and, last, their number."""
    counts = [max(1, len(endings)) for endings in names]
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def joint_motion(kind: JointType, axis: FloatArray, link_offset: FloatArray, q: FloatArray
                 ) -> FloatArray:
    """Pose of the moved link frame in the joint frame, shape (4, 4).

    Axis and link offset are those of `Robot`; q are the positions of the joint, rad or m.
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
    """Directions of the velocities of a joint: whether each is linear, and its unit vector.

    Shapes (velocities,) and (velocities, 3), in the axes of the moved link.
    """
    if kind is JointType.FLOATING:
        return np.arange(6) < 3, np.tile(np.eye(3), (2, 1))
    if kind is JointType.PLANAR:
        return np.arange(3) < 2, plane_axes(axis).T
    if kind is JointType.SPHERICAL:
        return np.zeros(3, dtype=bool), np.eye(3)
    return np.array([kind is JointType.PRISMATIC]), axis[None]


def neutral(coordinates: Coordinates) -> FloatArray:
    """Zeros with unit quaternions, shape (nq,)."""
    q = np.zeros(coordinates.nq)
    for k in coordinates.several:
        if coordinates.types[k].quaternion is not None:
            q[coordinates.positions(k).stop - 1] = 1.0
    return q


def integrate(coordinates: Coordinates, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> FloatArray:
    """Positions after a time at constant velocity; see `Robot.integrate`."""
    q = check_positions(coordinates, q, 'q')
    v, dt = _rows(v, coordinates.n, coordinates.velocity_names, 'v'), _time(dt)
    shape = _common_shape(q.shape[:-1], v.shape[:-1])
    result = np.empty((*shape, coordinates.nq))
    # NaN and inf pass without a warning, as in kernels.
    with np.errstate(over='ignore', invalid='ignore'):
        step = v * dt
        if coordinates.are_single:
            return q + step
        for k, kind in enumerate(coordinates.types):
            at, along = coordinates.positions(k), coordinates.velocities(k)
            result[..., at] = _INTEGRATE.get(kind, np.add)(q[..., at], step[..., along])
    return result


def difference(coordinates: Coordinates, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
    """Constant velocity from one position to another within 1 s; see `Robot.difference`."""
    q0 = check_positions(coordinates, q0, 'q0')
    q1 = check_positions(coordinates, q1, 'q1')
    shape = _common_shape(q0.shape[:-1], q1.shape[:-1])
    result = np.empty((*shape, coordinates.n))
    with np.errstate(over='ignore', invalid='ignore'):
        if coordinates.are_single:
            return q1 - q0
        for k, kind in enumerate(coordinates.types):
            at, along = coordinates.positions(k), coordinates.velocities(k)
            start, end = q0[..., at], q1[..., at]
            result[..., along] = _DIFFERENCE[kind](start, end) if kind in _DIFFERENCE \
                else end - start
    return result


def check_positions(coordinates: Coordinates, q: ArrayLike, subject: str) -> FloatArray:
    """Positions as an array of shape (..., nq), after a check of lengths and quaternions."""
    array = _rows(q, coordinates.nq, coordinates.position_names, subject)
    for k in coordinates.several:
        part = coordinates.types[k].quaternion
        if part is not None:
            # The norm of huge numbers overflows to inf.
            with np.errstate(over='ignore'):
                lengths = np.linalg.norm(array[..., coordinates.positions(k)][..., part], axis=-1)
            # A length of nan is accepted; the results are then nan.
            wrong = np.abs(lengths - 1.0) > UNIT_TOLERANCE
            if np.any(wrong):
                raise StateError(f'must have a unit quaternion in {subject}, got one of length '
                                 f'{np.max(lengths[wrong]):.6g}', subject=coordinates.joints[k],
                                 remedy='give qx, qy, qz, qw divided by their length')
    return array


def _time(dt: float) -> float:
    remedy = 'give a finite number of seconds'
    time = real_array(dt, 'dt', remedy)
    if time.ndim != 0 or not np.isfinite(time):
        raise ParameterError(f'must be a finite number, got {shown(dt)}', subject='dt',
                             remedy=remedy)
    return float(time)


def _rows(value: ArrayLike, width: int, names: tuple[str, ...], subject: str) -> FloatArray:
    array = real_array(value, subject)
    if array.ndim == 0 or array.shape[-1] != width:
        raise DimensionError(f'must have shape ({width},) or (..., {width}), got {array.shape}',
                             subject=subject,
                             remedy='give one value for each of: ' + ', '.join(names))
    return array


def _common_shape(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        raise DimensionError(f'shapes {one} and {other} do not broadcast', subject='batch',
                             remedy='give both arguments the same leading axes, or none') from None


def _in_space(x: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Vectors (x, y, 0) and (0, 0, z) of a planar motion."""
    zero = np.zeros((*x.shape[:-1], 1))
    return np.concatenate([x, zero], axis=-1), np.concatenate([zero, zero, z], axis=-1)


def _integrate_floating(q: FloatArray, step: FloatArray) -> FloatArray:
    quaternion, r = unit(q[..., 3:]), step[..., 3:]
    return np.concatenate([q[..., :3] + turned(quaternion, screw(r, step[..., :3])),
                           _integrate_spherical(q[..., 3:], r)], axis=-1)


def _integrate_planar(q: FloatArray, step: FloatArray) -> FloatArray:
    slide, r = _in_space(step[..., :2], step[..., 2:])
    turn = quaternion_of_turn(_in_space(q[..., :2], q[..., 2:])[1])
    return np.concatenate([q[..., :2] + turned(turn, screw(r, slide))[..., :2],
                           q[..., 2:] + step[..., 2:]], axis=-1)


def _integrate_spherical(q: FloatArray, step: FloatArray) -> FloatArray:
    return unit(product(unit(q), quaternion_of_turn(step)))


def _difference_floating(q0: FloatArray, q1: FloatArray) -> FloatArray:
    r = _difference_spherical(q0[..., 3:], q1[..., 3:])
    shift = turned(inverse(unit(q0[..., 3:])), q1[..., :3] - q0[..., :3])
    return np.concatenate([inverse_screw(r, shift), r], axis=-1)


def _difference_planar(q0: FloatArray, q1: FloatArray) -> FloatArray:
    angle = q1[..., 2:] - q0[..., 2:]
    angle = angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))
    shift, r = _in_space(q1[..., :2] - q0[..., :2], angle)
    back = quaternion_of_turn(_in_space(q0[..., :2], -q0[..., 2:])[1])
    return np.concatenate([inverse_screw(r, turned(back, shift))[..., :2], angle], axis=-1)


def _difference_spherical(q0: FloatArray, q1: FloatArray) -> FloatArray:
    return turn_of_quaternion(product(inverse(unit(q0)), unit(q1)))


# Joints of one coordinate add and subtract.
_INTEGRATE = {JointType.FLOATING: _integrate_floating, JointType.PLANAR: _integrate_planar,
              JointType.SPHERICAL: _integrate_spherical}
_DIFFERENCE = {JointType.FLOATING: _difference_floating, JointType.PLANAR: _difference_planar,
               JointType.SPHERICAL: _difference_spherical}
