# SPDX-License-Identifier: Apache-2.0
"""``Robot``: what a robot is, in plain read-only arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import DimensionError, ModelError
from robot_dynamics.model import robot_checks as checks
from robot_dynamics.model.arrays import Rebuilt, frozen_array, frozen_integers, real_array
from robot_dynamics.model.findings import Finding

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: The ten inertial parameters of a body, in the order used everywhere in this
#: package: mass, first moment (m c), and the inertia tensor about the origin of
#: the link frame, as entries of the tensor (J_xy is the tensor entry, minus the
#: product of inertia), all in the axes of the link frame.
PARAMETER_SUFFIXES = ('m', 'mx', 'my', 'mz', 'Jxx', 'Jxy', 'Jxz', 'Jyy', 'Jyz', 'Jzz')


class JointType(IntEnum):
    """How a body moves on its parent."""

    REVOLUTE = 0
    CONTINUOUS = 1
    PRISMATIC = 2


@dataclass(frozen=True, eq=False)
class Frame(Rebuilt):
    """A named frame fixed to a body.

    Parameters
    ----------
    body : int
        Index of the body that carries the frame; -1 is the base.
    pose : ndarray, shape (4, 4)
        Pose of the frame in the link frame of that body.
    """

    body: int
    pose: FloatArray

    def __post_init__(self) -> None:
        _store(self, 'pose', frozen_array(self.pose, (4, 4), 'pose of a frame'))


@dataclass(frozen=True, eq=False)
class JointLimits(Rebuilt):
    """Limits of the n independent joints, in rad or m, rad/s or m/s, N m or N.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        Position range; -inf and inf where a joint has none.
    velocity, effort : ndarray, shape (n,)
        Largest speed and effort; nan where the description gives none (or zero,
        which no moving joint can mean).
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    def __post_init__(self) -> None:
        shape = np.shape(self.lower)[:1]
        for name in ('lower', 'upper', 'velocity', 'effort'):
            _store(self, name, frozen_array(getattr(self, name), shape, f'{name} limits',
                                            finite=False))


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Rebuilt):
    """A fixed-base tree of rigid bodies joined by one-degree-of-freedom joints.

    Bodies stand in base-to-tip order: ``parents[i] < i``. With T_i(q_i) the pose
    of link frame i in the link frame of its parent::

        revolute, continuous   R = R_i Exp([axis_i] q_i),   p = p_i + R offset_i
        prismatic              R = R_i,                     p = p_i + R_i (axis_i q_i + offset_i)

    where (R_i, p_i) is ``placements[i]``. In a URDF the link frame sits on the
    joint axis (offset zero); in a standard (distal) DH table it does not.

    The n independent coordinates q drive the nb bodies through a constant
    coupling, ``q_bodies = coupling @ q + coupling_offset``: the identity unless a
    joint mimics another or the caller chose an order of his own. Torques follow
    as tau = coupling^T tau_bodies.

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
        Unit joint axis in the axes of link frame i.
    link_offsets : ndarray, shape (nb, 3)
        Origin of link frame i as seen from the joint frame, in the axes of link
        frame i. Metres.
    inertial_parameters : ndarray, shape (nb, 10)
        `PARAMETER_SUFFIXES` of each body. kg, kg m, kg m^2.
    gravity : ndarray, shape (3,)
        Acceleration of free fall in the base frame, e.g. (0, 0, -9.81). m/s^2.
    joint_names : tuple of str, length n
        Names of the independent coordinates, in the order of every joint vector.
    coupling : ndarray, shape (nb, n)
        S in q_bodies = S q + s0.
    coupling_offset : ndarray, shape (nb,)
        s0 in q_bodies = S q + s0. rad or m.
    limits : JointLimits
        Limits of the independent joints.
    damping, friction, armature : ndarray, shape (n,)
        Viscous coefficient (N m s/rad), Coulomb torque (N m) and reflected rotor
        inertia (kg m^2) of each independent joint, as far as described.
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
        bodies, joints = len(self.body_names), len(self.joint_names)
        if joints == 0:
            raise ModelError('has no moving joint', subject=self.name,
                             remedy='give a description with at least one revolute, continuous '
                                    'or prismatic joint that is not locked')
        self._freeze(bodies, joints)
        self._check()

    def __repr__(self) -> str:
        mass = float(self.inertial_parameters[:, 0].sum())
        return (f'<Robot {self.name}: {self.n} joints, {self.n_bodies} moving bodies, '
                f'{mass:.3g} kg>')

    def _freeze(self, bodies: int, joints: int) -> None:
        """Store every array as a read-only copy of the right shape and type."""
        shapes = {
            'placements': (bodies, 4, 4), 'axes': (bodies, 3), 'link_offsets': (bodies, 3),
            'inertial_parameters': (bodies, 10), 'gravity': (3,),
            'coupling': (bodies, joints), 'coupling_offset': (bodies,),
            'damping': (joints,), 'friction': (joints,), 'armature': (joints,),
        }
        for name, shape in shapes.items():
            _store(self, name, frozen_array(getattr(self, name), shape, name))
        for name in ('parents', 'joint_types'):
            _store(self, name, frozen_integers(getattr(self, name), (bodies,), name))
        for name in ('body_names', 'body_joint_names', 'joint_names', 'findings'):
            _store(self, name, tuple(getattr(self, name)))
        _store(self, 'frames', MappingProxyType(dict(self.frames)))

    def _check(self) -> None:
        """Refuse what is no robot."""
        limits = self.limits
        if limits.lower.shape != (self.n,):
            raise DimensionError(f'are of {len(limits.lower)} joints, not {self.n}',
                                 subject='limits', remedy='give one value for each of: '
                                 + ', '.join(self.joint_names))
        if len(self.body_joint_names) != self.n_bodies:
            raise DimensionError(f'has {len(self.body_joint_names)} names, not {self.n_bodies}',
                                 subject='body_joint_names', remedy='name the joint of each body')
        checks.check_names('robot', (self.name,))
        checks.check_names('link', (self.base_name,))
        checks.check_names('link', self.body_names, (self.base_name,))
        checks.check_names('joint', self.body_joint_names)
        checks.check_names('joint', self.joint_names)
        checks.check_names('frame', self.frames)
        checks.check_parents(self.name, self.parents)
        checks.check_joints(self.body_names, self.joint_types, tuple(JointType), self.axes)
        checks.check_poses(self.body_names, self.placements)
        checks.check_frames({name: (frame.body, frame.pose)
                             for name, frame in self.frames.items()}, self.n_bodies)
        checks.check_limits(self.joint_names, limits.lower, limits.upper, limits.velocity,
                            limits.effort)
        checks.check_dissipation(self.joint_names, damping=self.damping, friction=self.friction,
                                 armature=self.armature)

    @property
    def n(self) -> int:
        """Number of independent coordinates."""
        return len(self.joint_names)

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
        """Whether coordinate i is the joint of body i: no mimic joint, no reordering."""
        return (self.n == self.n_bodies and not np.any(self.coupling_offset)
                and np.array_equal(self.coupling, np.eye(self.n)))

    @property
    def is_continuous(self) -> NDArray[np.bool_]:
        """Which independent joints turn without end, shape (n,).

        Those after a full turn of which every body that they move stands where it stood:
        what follows a continuous joint by half its angle, or slides with it, does not.
        """
        moved = self.coupling != 0.0
        turning = (self.joint_types == JointType.CONTINUOUS)[:, None] \
            & (self.coupling == np.round(self.coupling))
        return np.any(moved, axis=0) & np.all(turning | ~moved, axis=0)

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

    @classmethod
    def from_urdf(cls, source: str | bytes | Path, *, joints: Sequence[str] | None = None,
                  locked: Mapping[str, float] | None = None, base_link: str | None = None,
                  gravity: ArrayLike = (0.0, 0.0, -9.81)) -> Robot:
        """Read a URDF or xacro file, text or bytes; see `robot_dynamics.model.urdf`."""
        from robot_dynamics.model.urdf import robot_from_urdf
        return robot_from_urdf(source, joints=joints, locked=locked, base_link=base_link,
                               gravity=gravity)

    @classmethod
    def from_dh(cls, source: str | bytes | Path | Mapping[str, Any]) -> Robot:
        """Read a DH table in YAML, JSON or as a mapping; see `robot_dynamics.model.dh`."""
        from robot_dynamics.model.dh import robot_from_dh
        return robot_from_dh(source)

    def to_urdf(self) -> str:
        """Write the robot as URDF text; see `robot_dynamics.model.export`."""
        from robot_dynamics.model.export import robot_to_urdf
        return robot_to_urdf(self)


def _store(owner: Any, name: str, value: Any) -> None:
    """Set a field of a frozen dataclass while it is being built."""
    object.__setattr__(owner, name, value)
