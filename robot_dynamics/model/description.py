# SPDX-License-Identifier: Apache-2.0
"""A robot as described in a file: its links and joints, and which of them move.

Every reader produces a `RobotTree`. `select` determines which joints move, follow others or are
held, and `robot_dynamics.model.assembly` makes a `Robot`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import (
    DimensionError,
    Finding,
    ModelError,
    ModelTypeError,
    RobotDynamicsError,
    Severity,
    UnknownNameError,
    listed,
    one_of,
    shown,
)
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.joints import (
    Coordinates,
    JointType,
    check_positions,
    joint_motion,
    neutral,
)

# Names of the joint of a floating base, and of its fixed link.
_FLOATING_BASE, _WORLD = 'floating_base', 'world'
# Largest plausible ratio or offset of a mimic joint.
_MAX_RATIO = 1e9
# Largest plausible position of a joint, rad or m.
_FARTHEST = 1e9


class JointKind(Enum):
    """Kind of motion of a joint, including fixed joints."""

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
    """A joint from its parent to its child link, with the geometry that `Robot` documents.

    Controllers have to keep the joint within the soft range, rad or m; nan stands for a text that
    is not a number.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    placement: FloatArray
    axis: FloatArray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    link_offset: FloatArray = field(default_factory=lambda: np.zeros(3))
    limit: LimitDescription | None = None
    soft_range: tuple[float, float] | None = None
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: MimicDescription | None = None

    def pose(self, q: float | tuple[float, ...]) -> FloatArray:
        """Pose of the child link in the parent link at position q, shape (4, 4)."""
        if self.kind is JointKind.FIXED:
            motion = np.eye(4)
            motion[:3, 3] = self.link_offset
        else:
            motion = joint_motion(self.kind.joint_type, self.axis, self.link_offset,
                                  np.atleast_1d(np.asarray(q)))
        return self.placement @ motion

    @property
    def rest(self) -> float | tuple[float, ...]:
        """Position zero, or the limit nearest to it; all positions of the described pose."""
        if self.kind in (JointKind.FLOATING, JointKind.PLANAR):
            return tuple(neutral(Coordinates((self.name,), (self.kind.joint_type,))).tolist())
        return self.clip(0.0)

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

    Several roots are allowed here; `select` chooses one.
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
            raise ModelError(f'must be the child of one joint, got {carried[joint.child]!r} and '
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


@dataclass(frozen=True)
class Drive:
    """Dependence of a joint on the coordinates: q_joint = multiplier * q_of(joint) + offset.

    An independent joint follows itself with multiplier 1 and offset 0; ``joint`` is None for a
    joint that is held at ``offset``, rad or m. Joints of several coordinates are independent or
    held.
    """

    joint: str | None
    multiplier: float
    offset: float | tuple[float, ...]


@dataclass(frozen=True)
class Selection:
    """The part of a tree that becomes a robot."""

    tree: RobotTree  # With a joint from the world to the base if that floats.
    base: str  # The link that stands still.
    below: tuple[JointDescription, ...]  # All joints below the base, parents first.
    independent: tuple[str, ...]  # In the order of the joint vectors.
    drives: dict[str, Drive]  # Of each joint below the base.
    findings: tuple[Finding, ...]  # Positions that were chosen here.


def select(tree: RobotTree, *, joints: Sequence[str] | None = None,
           locked: Mapping[str, ArrayLike] | None = None,
           base_link: str | None = None, floating_base: bool = False) -> Selection:
    """Choose the joints that move; arguments as for `Robot.from_urdf`."""
    base = _base(tree, base_link)
    if not isinstance(floating_base, (bool, np.bool_)):
        raise ModelError(f'must be True or False, got {shown(floating_base)}',
                         subject='floating_base', remedy='give True for a base that floats')
    if floating_base:
        tree, base = _on_floating_base(tree, base)
    below = tuple(tree.depth_first(base))
    held = _locked_positions(tree, {} if locked is None else locked)
    independent = (tuple(name for name in _movable(below) if name not in held)
                   if joints is None else _chosen(tree, below, joints, held))
    return Selection(tree, base, below, independent, _drives(tree, below, independent, held),
                     tuple(_held_findings(below, independent, held)))


def _base(tree: RobotTree, base_link: str | None) -> str:
    if base_link is not None:
        if not isinstance(base_link, str) or base_link not in tree.links:
            raise UnknownNameError('is not a link of the description (given as base_link)',
                                   subject=str(base_link), remedy=one_of(tree.links, base_link))
        return tree.links[base_link].name
    roots = tree.roots()
    if len(roots) > 1:
        raise ModelError(f'has {len(roots)} links without parent: {listed(roots)}',
                         subject=tree.name,
                         remedy='join them by fixed joints, or choose one as base_link')
    return roots[0]


def _on_floating_base(tree: RobotTree, base: str) -> tuple[RobotTree, str]:
    """The tree with its base on a floating joint from a new link, the world; and its name."""
    for joint in tree.joints.values():
        if (joint.kind is JointKind.FLOATING and joint.parent == base
                and tree.links[base].parameters is None):
            raise ModelError('is a floating base already', subject=joint.name,
                             remedy='omit floating_base')
    world, name = _unused(_WORLD, tree.links), _unused(_FLOATING_BASE, tree.joints)
    floating = JointDescription(name, JointKind.FLOATING, world, base, np.eye(4))
    others = {key: joint for key, joint in tree.joints.items() if joint.child != base}
    return RobotTree(tree.name, {world: LinkDescription(world), **tree.links},
                     {name: floating, **others}), world


def _unused(name: str, taken: Container[str]) -> str:
    numbered = (f'{name}_{k}' for k in count(2))
    return next(candidate for candidate in chain([name], numbered) if candidate not in taken)


def _locked_positions(tree: RobotTree, locked: Mapping[str, ArrayLike]
                      ) -> dict[str, float | tuple[float, ...]]:
    """Positions of explicitly locked joints after a check."""
    if not isinstance(locked, Mapping):
        raise ModelTypeError(f'must be a mapping, got a value of type {type(locked).__name__}',
                             subject='locked',
                             remedy="give positions by joint name: locked={'joint': 0.0}")
    positions: dict[str, float | tuple[float, ...]] = {}
    for name, value in locked.items():
        joint = _known(tree, name, 'locked')
        if joint.kind is JointKind.FIXED:
            raise ModelError('is fixed and cannot be locked', subject=name,
                             remedy='leave it out of locked')
        position: Any = math.nan
        with contextlib.suppress(DimensionError):
            position = real_array(value, 'position')
        if not joint.kind.has_coordinate:
            positions[joint.name] = _several_positions(joint, position, value)
        elif np.ndim(position) == 0 and abs(position) < _FARTHEST:
            positions[joint.name] = float(position)
        else:
            raise ModelError(f'cannot be locked at {shown(value)}', subject=name,
                             remedy='give a position in rad or m')
    return positions


def _several_positions(joint: JointDescription, position: FloatArray | float, given: ArrayLike
                       ) -> float | tuple[float, ...]:
    """All positions of a joint of several coordinates."""
    coordinates = Coordinates((joint.name,), (joint.kind.joint_type,))
    if np.ndim(position) == 0 and position == 0.0:
        return joint.rest
    names = ', '.join(joint.kind.joint_type.position_names)
    try:
        positions = check_positions(coordinates, position, 'locked')
        is_position = positions.ndim == 1 and bool(np.all(np.abs(positions) < _FARTHEST))
    except RobotDynamicsError:
        is_position = False
    if not is_position:
        raise ModelError(f'is {joint.kind.value} and cannot be locked at {shown(given)}',
                         subject=joint.name,
                         remedy=f'lock it at 0, its described pose, or give {names}'
                                + (' with a quaternion of length 1' if 'qw' in names else ''))
    return tuple(positions.tolist())


def _known(tree: RobotTree, name: str, argument: str) -> JointDescription:
    """A joint of the tree, named by the caller."""
    if not isinstance(name, str) or name not in tree.joints:
        raise UnknownNameError(f'is not a joint of the description (given in {argument})',
                               subject=str(name),
                               remedy=one_of(_movable(tree.joints.values()), name))
    return tree.joints[name]


def _movable(joints: Iterable[JointDescription]) -> list[str]:
    """Names of the joints that could be independent."""
    return [joint.name for joint in joints
            if joint.kind is not JointKind.FIXED and joint.mimic is None]


def _chosen(tree: RobotTree, below: Sequence[JointDescription], joints: Sequence[str],
            held: Container[str]) -> tuple[str, ...]:
    """The joints chosen by the caller, after a check that each can be independent."""
    if isinstance(joints, str):
        raise ModelTypeError(f'must be a list of names, got the text {shown(joints)}',
                             subject='joints', remedy=f'give a list: joints=[{joints!r}]')
    if isinstance(joints, (Set, bytes)) or not isinstance(joints, Iterable):
        raise ModelTypeError('must be an ordered list of names, got a value of type '
                             f'{type(joints).__name__}', subject='joints',
                             remedy='give a list: its order is that of every joint vector')
    names = tuple(joints)
    remedy = one_of(_movable(below))
    if not names:
        raise ModelError('must name at least one joint', subject='joints', remedy=remedy)
    below_names = {joint.name for joint in below}
    for name in names:
        joint = _known(tree, name, 'joints')
        if name not in below_names:
            raise ModelError('is not below the base link', subject=name, remedy=remedy)
        if joint.kind is JointKind.FIXED:
            raise ModelError('is fixed and has no coordinate', subject=name, remedy=remedy)
        if joint.mimic is not None:
            raise ModelError(f'mimics {joint.mimic.joint!r} and is not independent', subject=name,
                             remedy=f'leave it out; it moves with {joint.mimic.joint!r}')
        if name in held:
            raise ModelError('is named in joints and in locked', subject=name,
                             remedy='leave it out of one of them')
        if names.count(name) > 1:
            raise ModelError('is named twice in joints', subject=name, remedy='name it once')
    return tuple(tree.joints[name].name for name in names)


def _drives(tree: RobotTree, below: Iterable[JointDescription], independent: Container[str],
            held: Mapping[str, float | tuple[float, ...]]) -> dict[str, Drive]:
    """Drive of each joint by the independent ones, through chains of mimic joints."""
    drives: dict[str, Drive] = {}
    for joint in below:
        chain: list[JointDescription] = []
        while joint.name not in drives:
            if joint.name in independent:
                drives[joint.name] = Drive(joint.name, 1.0, 0.0)
            elif joint.name in held or joint.mimic is None:
                drives[joint.name] = Drive(None, 0.0, held.get(joint.name, joint.rest))
            else:
                chain.append(joint)
                if len(chain) > len(tree.joints):
                    raise ModelError('mimics itself, directly or through others',
                                     subject=joint.name,
                                     remedy='remove one of the <mimic> elements of the loop')
                joint = _followed(tree, joint, joint.mimic)
        drive = drives[joint.name]
        for follower in reversed(chain):
            drive = drives[follower.name] = _follow(follower, drive)
    return drives


def _followed(tree: RobotTree, joint: JointDescription, mimic: MimicDescription
              ) -> JointDescription:
    """The joint that a joint mimics."""
    followed = tree.joints.get(mimic.joint)
    if followed is None or not followed.kind.has_coordinate:
        state = 'does not exist' if followed is None else f'is {followed.kind.value}'
        others = listed(other.name for other in tree.joints.values()
                        if other.kind.has_coordinate and other.mimic is None)
        raise ModelError(f'mimics {mimic.joint!r}, which {state}', subject=joint.name,
                         remedy=f'lock {joint.name!r}, or '
                                + (f'let it mimic one of: {others}' if others
                                   else 'remove its <mimic> element'))
    return followed


def _follow(joint: JointDescription, drive: Drive) -> Drive:
    """Drive of a mimic joint from that of the joint it follows."""
    assert joint.mimic is not None
    assert isinstance(drive.offset, float)
    multiplier = joint.mimic.multiplier * drive.multiplier
    offset = joint.mimic.multiplier * drive.offset + joint.mimic.offset
    if not (abs(multiplier) < _MAX_RATIO and abs(offset) < _MAX_RATIO):
        raise ModelError(f'has a ratio of {multiplier:g} and an offset of {offset:g}, '
                         'which no mechanism has', subject=joint.name,
                         remedy='correct its <mimic> element')
    return Drive(None if multiplier == 0.0 else drive.joint, multiplier, offset)


def _held_findings(below: Iterable[JointDescription], independent: Container[str],
                   held: Mapping[str, float | tuple[float, ...]]) -> Iterator[Finding]:
    """Yield remarks about the joints that are held."""
    for joint in below:
        if joint.kind is JointKind.FIXED or joint.name in independent:
            continue
        position = held.get(joint.name)
        if isinstance(position, float):
            if joint.limit is not None and joint.clip(position) != position:
                yield Finding(Severity.WARNING, joint.name,
                              f'is locked at {position:g}, outside its limits '
                              f'{joint.limit.lower:g} to {joint.limit.upper:g}',
                              'lock it at a position within them')
        elif not joint.kind.has_coordinate:
            if position in (None, joint.rest):
                yield Finding(Severity.INFO, joint.name,
                              f'is {joint.kind.value} and is held at its described pose')
        elif joint.mimic is None and joint.rest != 0.0:
            yield Finding(Severity.INFO, joint.name,
                          f'is held at {joint.rest:g}: zero is outside its limits',
                          'give another position in locked if it is held elsewhere')
