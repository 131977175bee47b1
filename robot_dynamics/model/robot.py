# SPDX-License-Identifier: Apache-2.0
"""``Robot``: what a robot is, in plain read-only arrays.

Which joints of a robot slide, and so in which units their numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, Finding, ModelError
from robot_dynamics.model import joints as motion
from robot_dynamics.model import robot_data as checks
from robot_dynamics.model.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Rebuilt,
    frozen_array,
    frozen_integers,
    real_array,
    store,
)
from robot_dynamics.model.inertia import PARAMETER_SUFFIXES
from robot_dynamics.model.joints import Coordinates, JointType
from robot_dynamics.model.robot_data import Frame, JointLimits

__all__ = ['PARAMETER_SUFFIXES', 'FloatArray', 'Frame', 'IntArray', 'JointLimits', 'JointType',
           'Robot']


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Rebuilt):
    """A tree of rigid bodies, each moved by one joint; the root of the tree stands still.

    Bodies stand in base-to-tip order: ``parents[i] < i``. With T_i(q_i) the pose
    of link frame i in the link frame of its parent::

        revolute, continuous   R = R_i Exp([axis_i] q_i),        p = p_i + R offset_i
        prismatic              R = R_i,                          p = p_i + R_i (axis_i q_i
                                                                                + offset_i)
        floating               R = R_i Q(qx, qy, qz, qw),        p = p_i + R_i (x, y, z)
        planar                 R = R_i Exp([axis_i] angle),      p = p_i + R_i (x e_i + y f_i)
        spherical              R = R_i Q(qx, qy, qz, qw),        p = p_i

    where (R_i, p_i) is ``placements[i]`` and Q the rotation of a unit quaternion;
    (e_i, f_i, axis_i) is what the shortest turn that takes z to axis_i makes of the
    axes x, y, z. In a URDF the link frame sits on the joint axis (offset zero); in a
    standard (distal) DH table it does not.

    A floating, planar or spherical joint has several coordinates (`JointType`); its
    velocities are those of the moved body in that body's own axes, so that v is not
    dq/dt and nq is not n; `integrate` and `difference` go between them. A robot
    that floats as a whole hangs by such a joint from a base that stands for the world.

    The n independent velocities drive the bodies through a constant coupling,
    ``v_bodies = coupling @ v``, and so do the positions of joints with one coordinate,
    ``q_bodies = coupling @ q + coupling_offset``: the identity unless a joint mimics
    another or the caller chose an order of his own. Torques follow as tau =
    coupling^T tau_bodies. A joint of several coordinates is always independent.

    Parameters
    ----------
    name : str
        Name of the robot.
    base_name : str
        Name of the link that stands still.
    body_names, body_joint_names : tuple of str, length nb
        Moving links, and the joint that moves each.
    parents : ndarray of int64, shape (nb,)
        Index of the parent body; -1 is the base.
    joint_types : ndarray of int64, shape (nb,)
        Values of `JointType`.
    placements : ndarray, shape (nb, 4, 4)
        Pose of joint frame i (at q_i = 0) in the parent's link frame, its axes
        parallel to those of link frame i at q_i = 0. Metres.
    axes : ndarray, shape (nb, 3)
        Unit joint axis in the axes of link frame i; the normal of the plane of a planar
        joint; of no meaning for floating and spherical joints.
    link_offsets : ndarray, shape (nb, 3)
        Origin of link frame i as seen from the joint frame, in the axes of link
        frame i. Metres. Zero for joints of several coordinates.
    inertial_parameters : ndarray, shape (nb, 10)
        `PARAMETER_SUFFIXES` of each body. kg, kg m, kg m^2.
    gravity : ndarray, shape (3,)
        Acceleration of free fall in the base frame, e.g. (0, 0, -9.81). m/s^2.
    joint_names : tuple of str
        Names of the independent joints, in the order of every joint vector; n of them
        where each has one coordinate.
    coupling : ndarray, shape (velocities of all bodies, n)
        S in v_bodies = S v; of shape (nb, n) where each joint has one coordinate.
    coupling_offset : ndarray, shape (velocities of all bodies,)
        s0 in q_bodies = S q + s0. rad or m.
    limits : JointLimits
        Limits of the independent coordinates; joints of several have none.
    damping, friction, armature : ndarray, shape (n,)
        Viscous coefficient (N m s/rad), Coulomb torque (N m) and reflected rotor
        inertia (kg m^2) of each independent coordinate, as far as described.
    frames : mapping of str to Frame
        Every named link of the description, lumped or moving.
    findings : tuple of Finding
        What the reader noticed.
    """

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
            raise DimensionError(f'has {len(self.body_joint_names)} names, not {bodies}',
                                 subject='body_joint_names', remedy='name the joint of each body')
        checks.check_joint_types(self.body_names, self.joint_types)
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
        """Refuse what is no robot."""
        limits = self.limits
        if limits.lower.shape != (self.n,):
            raise DimensionError(f'are of {len(limits.lower)} joints, not {self.n}',
                                 subject='limits', remedy='give one value for each of: '
                                 + ', '.join(self.velocity_names))
        checks.check_names('robot', (self.name,))
        checks.check_names('link', (self.base_name,))
        checks.check_names('link', self.body_names, (self.base_name,))
        checks.check_names('joint', self.body_joint_names)
        checks.check_names('joint', self.joint_names)
        checks.check_names('frame', self.frames)
        checks.check_parents(self.name, self.parents)
        if not self.all_joints_1dof:
            checks.check_names('coordinate', self.position_names)
            checks.check_names('coordinate', self.velocity_names)
            checks.check_several(self.body_coordinates, self.coordinates, self.coupling,
                                 self.coupling_offset, self.link_offsets, limits)
        checks.check_axes(self.body_names, self.axes)
        checks.check_poses(self.body_names, self.placements)
        checks.check_frames({name: (frame.body, frame.pose)
                             for name, frame in self.frames.items()}, self.n_bodies)
        checks.check_limits(self.velocity_names, limits.lower, limits.upper, limits.velocity,
                            limits.effort)
        checks.check_dissipation(self.velocity_names, damping=self.damping,
                                 friction=self.friction, armature=self.armature)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Where the coordinates of each independent joint stand in q and v."""
        types = dict(zip(self.body_joint_names, self.body_coordinates.types, strict=True))
        return Coordinates(self.joint_names, tuple(types.get(name, JointType.REVOLUTE)
                                                   for name in self.joint_names))

    @cached_property
    def body_coordinates(self) -> Coordinates:
        """Where those of the joint of each body stand in the vectors of the bodies.

        Its ``joint_of_velocity`` is the index of the body that each velocity moves.
        """
        return Coordinates(self.body_joint_names, tuple(map(JointType, self.joint_types)))

    @cached_property
    def n(self) -> int:
        """Number of independent velocity coordinates; of joints, where each has one."""
        return self.coordinates.n

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates: n where each joint has one coordinate, else more."""
        return self.coordinates.nq

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the n velocity coordinates: ``joint``, or ``joint/vx`` and the like."""
        return self.coordinates.velocity_names

    @property
    def position_names(self) -> tuple[str, ...]:
        """Names of the nq position coordinates: ``joint``, or ``joint/qx`` and the like."""
        return self.coordinates.position_names

    @property
    def all_joints_1dof(self) -> bool:
        """Whether each joint has one coordinate: none is floating, planar or spherical."""
        return self.body_coordinates.are_single

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies."""
        return len(self.body_names)

    @property
    def parameters(self) -> FloatArray:
        """All inertial parameters pi, shape (10 nb,), body after body."""
        return self.inertial_parameters.reshape(-1)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of `parameters`, ``link/m`` to ``link/Jzz``."""
        return tuple(f'{body}/{suffix}' for body in self.body_names
                     for suffix in PARAMETER_SUFFIXES)

    @property
    def is_directly_driven(self) -> bool:
        """Whether the velocities are those of the bodies: no mimic joint, no reordering."""
        return (self.n == self.body_coordinates.n and not np.any(self.coupling_offset)
                and np.array_equal(self.coupling, np.eye(self.n)))

    @property
    def is_continuous(self) -> BoolArray:
        """Which independent coordinates turn without end, shape (n,).

        Those after a full turn of which every body that they move stands where it stood:
        what follows a continuous joint by half its angle, or slides with it, does not.
        """
        moved = self.coupling != 0.0
        endless = np.repeat(self.joint_types == JointType.CONTINUOUS,
                            self.body_coordinates.velocity_counts)
        # The angle of a planar joint; quaternions have no turns to count.
        endless[[self.body_coordinates.velocities(body).stop - 1
                 for body in np.flatnonzero(self.joint_types == JointType.PLANAR)]] = True
        turning = endless[:, None] & (self.coupling == np.round(self.coupling))
        return np.any(moved, axis=0) & np.all(turning | ~moved, axis=0)

    def require_single_coordinates(self, user: str) -> None:
        """Refuse a floating, planar or spherical joint, on behalf of what is for arms only.

        Parameters
        ----------
        user : str
            What that is, such as 'adaptive control'.

        Raises
        ------
        ModelError
            Naming the joint and how to hold it.
        """
        for k in self.body_coordinates.several:
            joint, kind = self.body_joint_names[k], self.body_coordinates.types[k].name.lower()
            raise ModelError(f'is {kind}, and {user} is for robots whose joints have one '
                             'coordinate each', subject=joint,
                             remedy=f'read the robot with base_link={self.body_names[k]!r}, or '
                                    f'name the joints that shall move in joints; in Python also '
                                    f'hold it with locked={{{joint!r}: 0}}')

    def with_parameters(self, parameters: ArrayLike) -> Robot:
        """Return the same robot with other inertial parameters, shape (10 nb,) or (nb, 10)."""
        array = real_array(parameters, 'parameters')
        if array.shape not in ((10 * self.n_bodies,), (self.n_bodies, 10)):
            raise DimensionError(f'has shape {array.shape}, not ({10 * self.n_bodies},) or '
                                 f'({self.n_bodies}, 10)', subject='parameters',
                                 remedy='give ten inertial parameters for each of: '
                                        + ', '.join(self.body_names))
        return replace(self, inertial_parameters=array.reshape(self.n_bodies, 10))

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """Return the same robot under another gravity vector, shape (3,), base frame, m/s^2."""
        return replace(self, gravity=real_array(gravity, 'gravity'))

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
        """Return the position in which every joint frame coincides: zeros, and unit quaternions.

        Shape (nq,).
        """
        return motion.neutral(self.coordinates)

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> FloatArray:
        """Return where the constant velocity v takes q within dt; see `model.motion`."""
        return motion.integrate(self.coordinates, q, v, dt)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
        """Return the constant velocity that takes q0 to q1 within 1 s; see `model.motion`."""
        return motion.difference(self.coordinates, q0, q1)

    def check_positions(self, q: ArrayLike, subject: str = 'q') -> FloatArray:
        """Return positions (..., nq) as an array; refuse wrong lengths and quaternions."""
        return motion.check_positions(self.coordinates, q, subject)

    @classmethod
    def from_urdf(cls, source: str | bytes | Path, *, joints: Sequence[str] | None = None,
                  locked: Mapping[str, ArrayLike] | None = None, base_link: str | None = None,
                  gravity: ArrayLike = (0.0, 0.0, -9.81), floating_base: bool = False) -> Robot:
        """Read a URDF or xacro file, text or bytes; see `robot_dynamics.model.urdf`."""
        from robot_dynamics.model.urdf import robot_from_urdf
        return robot_from_urdf(source, joints=joints, locked=locked, base_link=base_link,
                               gravity=gravity, floating_base=floating_base)

    @classmethod
    def from_dh(cls, source: str | bytes | Path | Mapping[str, Any]) -> Robot:
        """Read a DH table in YAML, JSON or as a mapping; see `robot_dynamics.model.dh`."""
        from robot_dynamics.model.dh import robot_from_dh
        return robot_from_dh(source)

    def to_urdf(self) -> str:
        """Write the robot as URDF text; see `robot_dynamics.model.export`."""
        from robot_dynamics.model.export import robot_to_urdf
        return robot_to_urdf(self)


def prismatic_joints(robot: Robot) -> BoolArray:
    """Return which joints slide: those whose body does, shape of ``robot.joint_names``."""
    kinds = dict(zip(robot.body_joint_names, robot.joint_types.tolist(), strict=True))
    return np.array([kinds.get(name) == JointType.PRISMATIC for name in robot.joint_names],
                    dtype=np.bool_)


def position_units(robot: Robot) -> tuple[str, ...]:
    """Return the unit of each joint's position, ``'rad'`` or ``'m'``."""
    return tuple('m' if slides else 'rad' for slides in prismatic_joints(robot))


def effort_units(robot: Robot) -> tuple[str, ...]:
    """Return the unit of each joint's effort, ``'N m'`` or ``'N'``."""
    return tuple('N' if slides else 'N m' for slides in prismatic_joints(robot))
