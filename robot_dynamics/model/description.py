# SPDX-License-Identifier: Apache-2.0
"""A robot as described in a file: named links, and the joints between them.

Every reader produces a `RobotTree`, and `robot_dynamics.model.assembly` turns it into a
`Robot`. Nothing is lumped, locked or reduced yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from robot_dynamics.errors import ModelError, listed, one_of
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.joints import Coordinates, JointType, joint_motion, neutral


class JointKind(Enum):
    """How a joint lets its child move, fixed joints included."""

    REVOLUTE = 'revolute'
    CONTINUOUS = 'continuous'
    PRISMATIC = 'prismatic'
    FIXED = 'fixed'
    PLANAR = 'planar'
    FLOATING = 'floating'

    @property
    def has_coordinate(self) -> bool:
        """Whether the joint has exactly one coordinate."""
        return self in (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)

    @property
    def joint_type(self) -> JointType:
        """The type of a joint that moves."""
        return JointType[self.name]

    @property
    def neutral(self) -> FloatArray:
        """The position of a moving joint in which its frames coincide."""
        return neutral(Coordinates((self.value,), (self.joint_type,)))


@dataclass(frozen=True)
class LimitDescription:
    """Limits as written, rad or m, rad/s or m/s, N m or N; nan for a missing number."""

    lower: float
    upper: float
    velocity: float
    effort: float


@dataclass(frozen=True)
class MimicDescription:
    """A joint that follows another: q = multiplier * q_of(joint) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class LinkDescription:
    """A link and its inertial parameters in the link frame, shape (10,), if described."""

    name: str
    parameters: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class JointDescription:
    """A joint, with the geometry that `Robot` documents.

    Parameters
    ----------
    name : str
        Its name.
    kind : JointKind
        How it moves.
    parent, child : str
        The links it joins.
    placement : ndarray, shape (4, 4)
        Pose of the joint frame in the parent link frame.
    axis : ndarray, shape (3,)
        Unit axis in the axes of the child link frame, or normal of the plane; unused for a
        fixed or floating joint.
    link_offset : ndarray, shape (3,)
        Origin of the child link frame seen from the joint frame, in the axes of
        the child link frame, m.
    limit : LimitDescription, optional
        Its limits.
    soft_range : tuple of two floats, optional
        Positions between which controllers have to keep the joint, rad or m; nan for a text
        that is not a number.
    damping, friction, armature : float
        Viscous coefficient, Coulomb effort and reflected rotor inertia.
    mimic : MimicDescription, optional
        The joint it follows.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    placement: FloatArray
    axis: FloatArray
    link_offset: FloatArray
    limit: LimitDescription | None = None
    soft_range: tuple[float, float] | None = None
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: MimicDescription | None = None

    def pose(self, q: float | FloatArray) -> FloatArray:
        """Pose of the child link in the parent link at position q, shape (4, 4)."""
        if self.kind is JointKind.FIXED:
            motion = np.eye(4)
            motion[:3, 3] = self.link_offset
        else:
            motion = joint_motion(self.kind.joint_type, self.axis, self.link_offset,
                                  np.atleast_1d(q))
        return self.placement @ motion

    def resting_pose(self) -> FloatArray:
        """Pose at zero, or at the limit nearest to zero, shape (4, 4)."""
        several = self.kind in (JointKind.FLOATING, JointKind.PLANAR)
        return self.pose(self.kind.neutral if several else self.clip(0.0))

    def clip(self, q: float) -> float:
        """Position nearest to q that the limits allow."""
        if self.limit is None or self.kind is JointKind.CONTINUOUS:
            return q
        return float(min(max(q, self.limit.lower), self.limit.upper))


@dataclass(frozen=True, eq=False)
class RobotTree:
    """All links and joints of a description by name, in its order; `check_tree` has to hold."""

    name: str
    links: dict[str, LinkDescription]
    joints: dict[str, JointDescription]

    def roots(self) -> list[str]:
        """Links without a parent joint."""
        children = {joint.child for joint in self.joints.values()}
        return [name for name in self.links if name not in children]

    def depth_first(self, base: str) -> Iterator[JointDescription]:
        """Yield the joints below a link, parents first, siblings in the described order."""
        waiting = self._below.get(base, [])[::-1]
        while waiting:
            joint = waiting.pop()
            yield joint
            waiting.extend(reversed(self._below.get(joint.child, [])))

    @cached_property
    def _below(self) -> dict[str, list[JointDescription]]:
        """The child joints of each link."""
        below: dict[str, list[JointDescription]] = {}
        for joint in self.joints.values():
            below.setdefault(joint.parent, []).append(joint)
        return below


def check_tree(tree: RobotTree) -> None:
    """Raise `ModelError` unless one path leads from a root to every link.

    Several roots are allowed here; `robot_dynamics.model.selection` chooses one.
    """
    if not tree.links:
        raise ModelError('has no links: did the xacro instantiate its macro?', subject=tree.name,
                         remedy='call the macro in the xacro file and expand it again')
    carried: dict[str, str] = {}
    for joint in tree.joints.values():
        for link in (joint.parent, joint.child):
            if link not in tree.links:
                raise ModelError(f'joins the link {link!r}, which is not described',
                                 subject=joint.name, remedy='add the link or correct its name; '
                                                            + one_of(tree.links, link))
        if joint.child in carried:
            raise ModelError(f'is the child of two joints, {carried[joint.child]!r} and '
                             f'{joint.name!r}', subject=joint.child,
                             remedy='open the loop: a robot is a tree, and every link but the '
                                    'root has one parent')
        carried[joint.child] = joint.name
    reached = set(tree.roots())
    for root in tree.roots():
        reached.update(joint.child for joint in tree.depth_first(root))
    circling = [name for name in tree.links if name not in reached]
    if circling:
        raise ModelError('is its own ancestor: its joints form a closed loop',
                         subject=circling[0],
                         remedy='open the loop among: ' + listed(circling))
