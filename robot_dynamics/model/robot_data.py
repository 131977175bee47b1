# SPDX-License-Identifier: Apache-2.0
"""``RobotData``: the fields of a `Robot` in read-only arrays, and the checks that they pass.

Without these checks, an axis of length two or a mirrored placement would silently give wrong
torques.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, Finding, ModelError
from robot_dynamics.model.arrays import (
    FloatArray,
    IntArray,
    Rebuilt,
    frozen_array,
    frozen_integers,
    real_array,
    store,
)
from robot_dynamics.model.joints import (
    Coordinates,
    JointType,
    check_positions,
    difference,
    integrate,
    neutral,
)

#: Longest name of a robot, link, joint or frame.
LONGEST_NAME = 200

# Rounding of a unit axis, or of a rotation that is a product of rounded ones.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Frame(Rebuilt):
    """A named frame fixed to a body.

    Parameters
    ----------
    body : int
        Index of the body that carries the frame; -1 is the base.
    pose : ndarray, shape (4, 4)
        Pose of the frame in the link frame of that body.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> frame = Robot.from_urdf('arm7').frames['flange']
    >>> frame.body, frame.pose[:3, 3].tolist()
    (6, [0.0, 0.0, 0.107])
    """

    body: int
    pose: FloatArray

    def __post_init__(self) -> None:
        store(self, 'pose', frozen_array(self.pose, (4, 4), 'pose of a frame'))


@dataclass(frozen=True, eq=False)
class JointLimits(Rebuilt):
    """Limits of the n independent coordinates, in rad or m, rad/s or m/s, N m or N.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        Position range; -inf and inf for an unlimited joint.
    velocity, effort : ndarray, shape (n,)
        Largest speed and effort; nan if the description has none, or an unusable zero.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> limits = Robot.from_urdf('planar_2r').limits
    >>> limits.effort.tolist()
    [100.0, 50.0]
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    def __post_init__(self) -> None:
        shape = real_array(self.lower, 'lower limits').shape[:1]
        for name in ('lower', 'upper', 'velocity', 'effort'):
            store(self, name, frozen_array(getattr(self, name), shape, f'{name} limits',
                                           finite=False))


@dataclass(frozen=True, eq=False, repr=False)
class RobotData(Rebuilt):
    """The fields documented in `Robot`, and the sizes and names that follow from them."""

    name: str
    base_name: str
    body_names: tuple[str, ...]
    body_joint_names: tuple[str, ...]
    parents: IntArray
    joint_types: IntArray
    placements: FloatArray
    axes: FloatArray
    link_offsets: FloatArray
    inertial_parameters: FloatArray
    gravity: FloatArray
    joint_names: tuple[str, ...]
    coupling: FloatArray
    coupling_offset: FloatArray
    limits: JointLimits
    damping: FloatArray
    friction: FloatArray
    armature: FloatArray
    frames: Mapping[str, Frame] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if len(self.joint_names) == 0:
            raise ModelError('has no moving joint', subject=self.name,
                             remedy='give a description with at least one revolute, continuous '
                                    'or prismatic joint that is not locked')
        self._freeze()
        self._check()

    def __repr__(self) -> str:
        with np.errstate(over='ignore'):
            mass = float(self.inertial_parameters[:, 0].sum())
        free = '' if self.all_joints_1dof else f' with {self.n} velocities'
        return (f'<Robot {self.name}: {len(self.joint_names)} joints{free}, {self.n_bodies} '
                f'moving bodies, {mass:.3g} kg>')

    def _freeze(self) -> None:
        """Store every array as a read-only copy of the right shape and type."""
        bodies = len(self.body_names)
        for name in ('body_names', 'body_joint_names', 'joint_names', 'findings'):
            store(self, name, tuple(getattr(self, name)))
        for name in ('parents', 'joint_types'):
            store(self, name, frozen_integers(getattr(self, name), (bodies,), name))
        if len(self.body_joint_names) != bodies:
            raise DimensionError(f'must have {bodies} names, got {len(self.body_joint_names)}',
                                 subject='body_joint_names', remedy='name the joint of each body')
        for k in np.flatnonzero(~np.isin(self.joint_types, list(JointType))).tolist():
            raise ModelError(f'has a joint of the unknown type {self.joint_types[k]}',
                             subject=self.body_names[k], remedy='use the values of JointType')
        rows, joints = self.body_coordinates.n, self.coordinates.n
        shapes = {
            'placements': (bodies, 4, 4), 'axes': (bodies, 3), 'link_offsets': (bodies, 3),
            'inertial_parameters': (bodies, 10), 'gravity': (3,),
            'coupling': (rows, joints), 'coupling_offset': (rows,),
            'damping': (joints,), 'friction': (joints,), 'armature': (joints,),
        }
        for name, shape in shapes.items():
            store(self, name, frozen_array(getattr(self, name), shape, name))
        store(self, 'frames', MappingProxyType(dict(self.frames)))

    def _check(self) -> None:
        limits = self.limits
        if limits.lower.shape != (self.n,):
            raise DimensionError(f'must have one value for each of {self.n} coordinates, got '
                                 f'{len(limits.lower)}', subject='limits',
                                 remedy='give the limits of: ' + ', '.join(self.velocity_names))
        for kind, names in (('robot', (self.name,)), ('link', (self.base_name, *self.body_names)),
                            ('joint', self.body_joint_names), ('joint', self.joint_names),
                            ('frame', self.frames)):
            _check_names(kind, names)
        if np.any(self.parents >= np.arange(self.n_bodies)) or np.any(self.parents < -1):
            raise ModelError('must have its bodies in base-to-tip order', subject=self.name,
                             remedy='give each body after its parent; the base is -1')
        if not self.all_joints_1dof:
            _check_names('coordinate', self.position_names)
            _check_names('coordinate', self.velocity_names)
            _check_several(self)
        lengths = np.linalg.norm(self.axes, axis=1)
        for k in np.flatnonzero(np.abs(lengths - 1.0) > _ROUNDING).tolist():
            raise ModelError(f'must have a joint axis of length 1, got {lengths[k]:g}',
                             subject=self.body_names[k], remedy='give a unit axis')
        _check_poses(self.body_names, self.placements)
        _check_frames(self.frames, self.n_bodies)
        _check_limits(self.velocity_names, limits)
        for name in ('damping', 'friction', 'armature'):
            values = getattr(self, name)
            for k in np.flatnonzero(values < 0.0).tolist():
                raise ModelError(f'has the negative {name} {values[k]:g}',
                                 subject=self.velocity_names[k],
                                 remedy=f'give a {name} of zero or more')

    @cached_property
    def coordinates(self) -> Coordinates:
        """Slices of the coordinates of each independent joint in q and v."""
        types = dict(zip(self.body_joint_names, self.body_coordinates.types, strict=True))
        return Coordinates(self.joint_names, tuple(types.get(name, JointType.REVOLUTE)
                                                   for name in self.joint_names))

    @cached_property
    def body_coordinates(self) -> Coordinates:
        """Slices of the coordinates of each body's joint in the vectors of all bodies.

        Its ``joint_of_velocity`` is the index of the body that each velocity moves.
        """
        return Coordinates(self.body_joint_names, tuple(map(JointType, self.joint_types)))

    @cached_property
    def n(self) -> int:
        """Number of independent velocity coordinates; equals that of joints if each has one."""
        return self.coordinates.n

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates: n if each joint has one coordinate, else more."""
        return self.coordinates.nq

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the n velocity coordinates, such as ``joint`` or ``joint/vx``."""
        return self.coordinates.velocity_names

    @property
    def position_names(self) -> tuple[str, ...]:
        """Names of the nq position coordinates, such as ``joint`` or ``joint/qx``."""
        return self.coordinates.position_names

    @property
    def all_joints_1dof(self) -> bool:
        """Whether each joint has one coordinate: revolute, continuous or prismatic."""
        return self.body_coordinates.are_single

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies."""
        return len(self.body_names)

    @cached_property
    def position_coupling(self) -> tuple[FloatArray, FloatArray]:
        """S and s0 in q_bodies = S q + s0 for all positions, (.., nq) and (..,)."""
        if self.all_joints_1dof:
            return self.coupling, self.coupling_offset
        bodies, joints = self.body_coordinates, self.coordinates
        matrix, offset = np.zeros((bodies.nq, self.nq)), np.zeros(bodies.nq)
        single = {joints.velocities(k).start: joints.positions(k).start
                  for k in range(len(joints.joints))}
        for body, name in enumerate(bodies.joints):
            to, row = bodies.positions(body), bodies.velocities(body).start
            if body in bodies.several:
                matrix[to, joints.positions(name)] = np.eye(to.stop - to.start)
                continue
            for column in np.flatnonzero(self.coupling[row]):
                matrix[to, single[int(column)]] = self.coupling[row, column]
            offset[to] = self.coupling_offset[row]
        return matrix, offset

    def neutral(self) -> FloatArray:
        """Position in which every joint frame coincides: zeros and unit quaternions, (nq,).

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> Robot.from_urdf('planar_2r').neutral().tolist()
        [0.0, 0.0]
        """
        return neutral(self.coordinates)

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> FloatArray:
        """Positions after a time at constant velocity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Positions, rad or m.
        v : array_like, shape (..., n)
            Velocities, rad/s or m/s; for joints with several coordinates those of the moved body
            in its own axes.
        dt : float, default 1
            Time, s.

        Returns
        -------
        ndarray, shape (..., nq)
            Positions after dt, with quaternions of length 1. The angle of a planar joint is not
            wrapped.

        See Also
        --------
        difference : The velocity between two positions.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> Robot.from_urdf('planar_2r').integrate([0.0, 1.0], [0.5, -0.5], dt=2.0).tolist()
        [1.0, 0.0]
        """
        return integrate(self.coordinates, q, v, dt)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
        """Constant velocity from one position to another within 1 s.

        Parameters
        ----------
        q0, q1 : array_like, shape (..., nq)
            Positions, rad or m.

        Returns
        -------
        ndarray, shape (..., n)
            v with ``integrate(q0, v, 1) = q1``. Free rotations use the shortest way, at most half
            a turn, because several quaternions or angles of a planar joint represent one pose.

        See Also
        --------
        integrate : The position after a time at constant velocity.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> Robot.from_urdf('planar_2r').difference([0.0, 1.0], [0.5, 1.0]).tolist()
        [0.5, 0.0]
        """
        return difference(self.coordinates, q0, q1)

    def check_positions(self, q: ArrayLike, subject: str = 'q') -> FloatArray:
        """Positions as an array, after a check of lengths and quaternions.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Positions, rad or m.
        subject : str
            Name of the positions in messages.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> Robot.from_urdf('planar_2r').check_positions([1, 2]).tolist()
        [1.0, 2.0]
        """
        return check_positions(self.coordinates, q, subject)


def is_name(text: object) -> bool:
    """Whether a text can be displayed in messages, files and plots."""
    return (isinstance(text, str) and text.strip() != '' and len(text) <= LONGEST_NAME
            and text.isprintable())


def _check_names(kind: str, names: Iterable[str]) -> None:
    """Reject names that cannot be displayed, and names that are not unique."""
    seen = set()
    for name in names:
        if not is_name(name):
            raise ModelError(f'cannot be the name of a {kind}', subject=reprlib.repr(name),
                             remedy=f'use at most {LONGEST_NAME} printable characters')
        if name in seen:
            raise ModelError(f'is the name of two {kind}s', subject=name,
                             remedy='rename one of them')
        seen.add(name)


def _check_several(robot: RobotData) -> None:
    """Reject joints of several coordinates with couplings, limits or an offset."""
    bodies, joints, coupling = robot.body_coordinates, robot.coordinates, robot.coupling
    for body in bodies.several:
        name, rows = bodies.joints[body], bodies.velocities(body)
        kind = bodies.types[body].name.lower()
        if name not in joints.joints:
            raise ModelError(f'is {kind} and not among the independent joints', subject=name,
                             remedy='add it to joint_names, because no other joint can drive it')
        columns = joints.velocities(name)
        alone = np.zeros_like(coupling)
        alone[rows, columns] = np.eye(rows.stop - rows.start)
        if (np.any(coupling[rows] != alone[rows])
                or np.any(coupling[:, columns] != alone[:, columns])
                or np.any(robot.coupling_offset[rows])):
            raise ModelError(f'is {kind} and coupled to other coordinates', subject=name,
                             remedy='make the coupling the identity in its rows and columns')
        if np.any(robot.link_offsets[body]):
            raise ModelError(f'is {kind} and has its link frame off the joint', subject=name,
                             remedy='move the link frame to the joint, with a zero offset')
        if np.any(np.isfinite([robot.limits.lower[columns], robot.limits.upper[columns]])):
            raise ModelError(f'is {kind} and has position limits', subject=name,
                             remedy='give -inf and inf for its coordinates')


def _check_poses(names: Sequence[str], poses: FloatArray) -> None:
    """Reject (N, 4, 4) matrices that are not a rotation and a translation."""
    rotations = poses[:, :3, :3]
    skewed = np.abs(rotations @ np.swapaxes(rotations, 1, 2) - np.eye(3)).max(axis=(1, 2))
    wrong = ((skewed > _ROUNDING) | (np.linalg.det(rotations) < 0.0)
             | np.any(poses[:, 3] != (0.0, 0.0, 0.0, 1.0), axis=1))
    for k in np.flatnonzero(wrong).tolist():
        raise ModelError('has a pose that is not a rotation and a translation',
                         subject=names[k],
                         remedy='give [[R, p], [0, 0, 0, 1]] with a rotation matrix R')


def _check_frames(frames: Mapping[str, Frame], bodies: int) -> None:
    for name, frame in frames.items():
        if not isinstance(frame.body, (int, np.integer)) or not -1 <= frame.body < bodies:
            raise ModelError(f'is a frame of the unknown body {frame.body!r}', subject=name,
                             remedy=f'give the index of a body, 0 to {bodies - 1}, or -1 for the '
                                    'base')
    if frames:
        _check_poses(list(frames), np.array([frame.pose for frame in frames.values()]))


def _check_limits(joints: Sequence[str], limits: JointLimits) -> None:
    """Reject empty ranges, and speeds and efforts that are neither positive nor nan."""
    for k, joint in enumerate(joints):
        lower, upper = limits.lower[k], limits.upper[k]
        if not (lower <= upper and lower < np.inf and upper > -np.inf):
            raise ModelError('must have a lower limit below the upper one, got '
                             f'{lower:g} to {upper:g}', subject=joint,
                             remedy='use -inf and inf for an unlimited joint')
        for quantity, value in (('velocity', limits.velocity[k]), ('effort', limits.effort[k])):
            if value <= 0.0:
                raise ModelError(f'must have a positive {quantity} limit, got {value:g}',
                                 subject=joint, remedy='use nan for an unknown limit')
