# SPDX-License-Identifier: Apache-2.0
"""How joints move, and the coordinates that each type of joint has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import IntArray


class JointType(IntEnum):
    """How a body moves on its parent.

    A joint of several coordinates has velocities that are no derivatives of its
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
    """

    REVOLUTE = 0
    CONTINUOUS = 1
    PRISMATIC = 2
    FLOATING = 3
    PLANAR = 4
    SPHERICAL = 5

    @property
    def position_names(self) -> tuple[str, ...]:
        """What follows the joint's name in those of its positions; empty for one coordinate."""
        return _POSITIONS.get(self, ())

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """What follows the joint's name in those of its velocities; empty for one coordinate."""
        return _VELOCITIES.get(self, ())

    @property
    def has_one_coordinate(self) -> bool:
        """Whether one number is the position of such a joint."""
        return self not in _VELOCITIES

    @property
    def quaternion(self) -> slice | None:
        """Where a unit quaternion x y z w stands among its positions, if it has one."""
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
    """Where the coordinates of some joints stand in vectors of positions and velocities.

    Parameters
    ----------
    joints : tuple of str
        Names of the joints, in the order of the vectors.
    types : tuple of JointType
        Type of each.
    """

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
        """Whether each joint has one coordinate, so that positions stand like velocities."""
        return all(kind.has_one_coordinate for kind in self.types)

    @property
    def several(self) -> tuple[int, ...]:
        """Indices of the joints that have several coordinates."""
        return tuple(k for k, kind in enumerate(self.types) if not kind.has_one_coordinate)

    def positions(self, joint: int | str) -> slice:
        """Return where the positions of a joint stand, by its index or name."""
        k = self._index(joint)
        return slice(int(self._position_starts[k]), int(self._position_starts[k + 1]))

    def velocities(self, joint: int | str) -> slice:
        """Return where the velocities of a joint stand, by its index or name."""
        k = self._index(joint)
        return slice(int(self._velocity_starts[k]), int(self._velocity_starts[k + 1]))

    def _index(self, joint: int | str) -> int:
        if not isinstance(joint, str):
            return joint
        if joint not in self.joints:
            raise ModelError('is no independent joint of the robot', subject=joint,
                             remedy='use one of: ' + ', '.join(self.joints))
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
    """Return where each joint's coordinates begin and, last, where they all end."""
    counts = [max(1, len(endings)) for endings in names]
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
