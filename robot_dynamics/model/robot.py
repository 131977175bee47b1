# SPDX-License-Identifier: Apache-2.0
"""``Robot``: a robot in plain read-only arrays, and its readers and writers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, ModelError, ModelTypeError, shown
from robot_dynamics.model.arrays import BoolArray, FloatArray, real_array
from robot_dynamics.model.assembly import GRAVITY, robot_fields
from robot_dynamics.model.dh import read_dh
from robot_dynamics.model.export import robot_to_urdf, urdf_parser_py_robot
from robot_dynamics.model.inertia import PARAMETER_SUFFIXES, pseudo_inertia
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot_data import RobotData
from robot_dynamics.model.shipped import shipped_or
from robot_dynamics.model.urdf import read_urdf


@dataclass(frozen=True, eq=False, repr=False)
class Robot(RobotData):
    """A tree of rigid bodies, each moved by one joint; the root of the tree is fixed.

    Read one with `from_urdf` or `from_dh`. Robots are immutable: arrays are read-only, and
    the methods ``with_...`` return another robot.

    Bodies are in base-to-tip order: ``parents[i] < i``. With T_i(q_i) the pose
    of link frame i in the link frame of its parent::

        revolute, continuous   R = R_i Exp([axis_i] q_i),        p = p_i + R offset_i
        prismatic              R = R_i,                          p = p_i + R_i (axis_i q_i
                                                                                + offset_i)
        floating               R = R_i Q(qx, qy, qz, qw),        p = p_i + R_i (x, y, z)
        planar                 R = R_i Exp([axis_i] angle),      p = p_i + R_i (x e_i + y f_i)
        spherical              R = R_i Q(qx, qy, qz, qw),        p = p_i

    where (R_i, p_i) is ``placements[i]`` and Q the rotation of a unit quaternion;
    the shortest rotation from z to axis_i maps the axes x, y, z to (e_i, f_i, axis_i). In a URDF
    the origin of the link frame is on the joint axis (offset zero), in a standard (distal) DH
    table it is not.

    A floating, planar or spherical joint has several coordinates (`JointType`); its
    velocities are those of the moved body in that body's own axes, so that v is not dq/dt and nq
    differs from n; `integrate` and `difference` convert between q and v. A robot with a floating
    base has such a joint between its base and the world.

    The n independent velocities drive the bodies through a constant coupling,
    ``v_bodies = coupling @ v``, and so do the positions of joints with one coordinate,
    ``q_bodies = coupling @ q + coupling_offset``: both are identities unless a joint mimics
    another or ``joints`` gives another order. Torques are tau = coupling^T tau_bodies. A joint of
    several coordinates is always independent.

    Parameters
    ----------
    name : str
        Name of the robot.
    base_name : str
        Name of the fixed link.
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
        joint; unused for floating and spherical joints.
    link_offsets : ndarray, shape (nb, 3)
        Origin of link frame i as seen from the joint frame, in the axes of link
        frame i. Metres. Zero for joints of several coordinates.
    inertial_parameters : ndarray, shape (nb, 10)
        `PARAMETER_SUFFIXES` of each body. kg, kg m, kg m^2.
    gravity : ndarray, shape (3,)
        Acceleration of free fall in the base frame, e.g. (0, 0, -9.81). m/s^2.
    joint_names : tuple of str
        Names of the independent joints, in the order of every joint vector; n of them if each has
        one coordinate.
    coupling : ndarray, shape (velocities of all bodies, n)
        S in v_bodies = S v; of shape (nb, n) if each joint has one coordinate.
    coupling_offset : ndarray, shape (velocities of all bodies,)
        s0 in q_bodies = S q + s0. rad or m.
    limits : JointLimits
        Limits of the independent coordinates; joints of several have none.
    damping, friction, armature : ndarray, shape (n,)
        Viscous coefficient (N m s/rad), Coulomb torque (N m) and reflected rotor inertia (kg m^2)
        of each independent coordinate; zero if not described.
    frames : mapping of str to Frame
        Every named link of the description, lumped or moving.
    findings : tuple of Finding
        Remarks of the reader about the description.

    See Also
    --------
    robot_dynamics.Dynamics : The equations of motion of a robot.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> robot = Robot.from_urdf('arm7')
    >>> robot
    <Robot arm7: 7 joints, 7 moving bodies, 15.3 kg>
    >>> robot.joint_names[:2], robot.parameter_names[:3]
    (('joint1', 'joint2'), ('link1/m', 'link1/mx', 'link1/my'))
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Robot:
        """Reject a path as the only argument: files are read by `from_urdf` and `from_dh`."""
        if len(args) == 1 and not kwargs:
            raise ModelTypeError('cannot be read by the constructor of Robot',
                                 subject=shown(args[0]),
                                 remedy="read a file with Robot.from_urdf('arm.urdf') or "
                                        "Robot.from_dh('table.yaml')")
        return super().__new__(cls)

    @classmethod
    def from_urdf(cls, source: str | bytes | PathLike[str] | Any, *,
                  joints: Sequence[str] | None = None,
                  locked: Mapping[str, ArrayLike] | None = None, base_link: str | None = None,
                  gravity: ArrayLike = GRAVITY, floating_base: bool = False,
                  xacro_args: Mapping[str, str] | None = None) -> Robot:
        """Read a robot from a URDF or xacro file.

        Links joined by fixed joints are lumped, mimic joints are reduced, and joints that do not
        move are held at the positions in ``locked``. Meshes are never opened; visual, collision,
        transmission, simulator and other vendor elements are ignored.

        Parameters
        ----------
        source : str, bytes, path, or urdf_parser_py.urdf.URDF
            A path, the name of a robot of this package (``'arm7'``), the description itself
            (a string with a ``<`` in it), or the robot of ``urdf_parser_py``. A xacro file is
            expanded if the ``xacro`` package is installed; text must already be expanded.
        joints : sequence of str, optional
            The independent joints, in the order of every joint vector; all others
            are held. By default all joints that are not fixed, locked or mimic joints, from the
            base to the tips.
        locked : mapping of str to float or array_like, optional
            Positions of held joints, rad or m; of a planar or floating joint all of its
            positions (`JointType`), or 0. Joints without one are held at zero or at the limit
            nearest to zero.
        base_link : str, optional
            The fixed or floating link; links that are not below it are left out. By default the
            root.
        gravity : array_like, shape (3,)
            Acceleration of free fall in the frame of the base link, or of the world if that
            floats, m/s^2.
        floating_base : bool
            Whether the base link floats: the joint ``floating_base`` then connects it to a link
            ``world``. It is the first of `joint_names` unless ``joints`` gives an order.
        xacro_args : mapping of str to str, optional
            Values for arguments of a xacro file, such as ``{'ur_type': 'ur5e'}``.

        Returns
        -------
        Robot
            The robot. Its ``findings`` list unusable limits, impossible inertia, joints that move
            no inertia, and positions of held joints that were chosen.

        Raises
        ------
        ModelError
            With file, link or joint, the problem, and the remedy.

        See Also
        --------
        from_dh : Read a Denavit-Hartenberg table.
        to_urdf : Write a URDF.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> Robot.from_urdf('arm7', locked={'joint7': 0.5}).n
        6
        >>> Robot.from_urdf('arm7', joints=['joint2', 'joint1']).joint_names
        ('joint2', 'joint1')
        """
        tree, findings = read_urdf(source, xacro_args)
        return cls(**robot_fields(tree, findings=findings, joints=joints, locked=locked,
                                  base_link=base_link, gravity=gravity,
                                  floating_base=floating_base))

    @classmethod
    def from_dh(cls, source: str | bytes | PathLike[str] | Mapping[str, Any]) -> Robot:
        """Read a robot from a Denavit-Hartenberg table; docs/dh_tables.md has the format.

        The link frame of body i is DH frame i. ``frames`` contains the base, every link and
        ``'tool'``; the pose of the base is part of the placement of the first joint.

        Parameters
        ----------
        source : str, bytes, path or mapping
            Path of a YAML or JSON file, the name of a table of this package
            (``'puma560'``), the text of a table, or the mapping that it contains.

        Raises
        ------
        ModelError
            With the link, the field and the remedy.

        See Also
        --------
        from_urdf : Read a URDF or xacro file.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> Robot.from_dh('puma560').joint_names[0]
        'joint1'
        >>> row = {'a': 0.5, 'alpha': 0, 'd': 0, 'mass': 2, 'com': [-0.25, 0, 0]}
        >>> Robot.from_dh({'convention': 'standard', 'links': [row, row]}).n
        2
        """
        tree, gravity, findings = read_dh(shipped_or(source, '.yaml'))
        return cls(**robot_fields(tree, gravity=GRAVITY if gravity is None else gravity,
                                  findings=findings))

    def to_urdf(self) -> str:
        """Text of a URDF with the same equations of motion.

        Numbers are the shortest decimals that read back as the same float64. A URDF does not
        contain gravity (pass ``gravity=robot.gravity`` when reading it back) or an order of joints
        other than that of the tree (pass ``joints=robot.joint_names``).

        Raises
        ------
        ModelError
            If a URDF cannot describe a link or joint: a joint that follows several others, a
            spherical joint, a first moment without mass.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> robot = Robot.from_dh('puma560')
        >>> Robot.from_urdf(robot.to_urdf()).joint_names == robot.joint_names
        True
        """
        return robot_to_urdf(self)

    def to_urdf_parser_py(self) -> Any:
        """The robot as a ``urdf_parser_py.urdf.URDF``, as used by many ROS programs.

        Rotor inertia (``armature``) has no place there and is left out.

        Raises
        ------
        ModelError
            As `to_urdf`, or if the package is not installed.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> peer = Robot.from_urdf('arm7').to_urdf_parser_py()  # doctest: +SKIP
        >>> peer.joint_map['joint1'].limit.effort  # doctest: +SKIP
        176.0
        """
        return urdf_parser_py_robot(replace(self, armature=np.zeros(self.n)))

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
    def last_frame(self) -> str:
        """Last link or frame of the description that moves; where none does, the last one.

        Descriptions have fixed frames in any order: that of a UR5 ends with its base.
        """
        moving = [name for name, frame in self.frames.items() if frame.body >= 0]
        return (moving or list(self.frames))[-1]

    @property
    def is_directly_driven(self) -> bool:
        """Whether v is that of the bodies, without mimic joints and reordering."""
        return (self.n == self.body_coordinates.n and not np.any(self.coupling_offset)
                and np.array_equal(self.coupling, np.eye(self.n)))

    @property
    def is_continuous(self) -> BoolArray:
        """Whether each independent coordinate turns without limits, shape (n,).

        After a full turn of such a coordinate, every body has the same pose as before. This
        excludes a coordinate that another joint follows with half its angle or by sliding.
        """
        moved = self.coupling != 0.0
        endless = np.repeat(self.joint_types == JointType.CONTINUOUS,
                            self.body_coordinates.velocity_counts)
        # The angle of a planar joint; quaternions have no turns to count.
        endless[[self.body_coordinates.velocities(int(body)).stop - 1
                 for body in np.flatnonzero(self.joint_types == JointType.PLANAR)]] = True
        turning = endless[:, None] & (self.coupling == np.round(self.coupling))
        return np.any(moved, axis=0) & np.all(turning | ~moved, axis=0)

    def require_single_coordinates(self, user: str) -> None:
        """Raise an error if a joint is floating, planar or spherical.

        Parameters
        ----------
        user : str
            The function that needs one coordinate per joint, such as 'adaptive control'.

        Raises
        ------
        ModelError
            If there is one; with the joint and how to hold it.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> Robot.from_urdf('arm7').require_single_coordinates('adaptive control')
        """
        for k in self.body_coordinates.several:
            joint, kind = self.body_joint_names[k], self.body_coordinates.types[k].name.lower()
            raise ModelError(f'is {kind}, but {user} needs joints with one coordinate each',
                             subject=joint,
                             remedy=f'read the robot with base_link={self.body_names[k]!r}, or '
                                    'name the joints that move in joints; in Python also hold '
                                    f'it with locked={{{joint!r}: 0}}')

    def with_parameters(self, parameters: ArrayLike) -> Robot:
        """The same robot with other inertial parameters.

        Parameters
        ----------
        parameters : array_like, shape (10 nb,) or (nb, 10)
            Inertial parameters of each body.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> robot = Robot.from_urdf('planar_2r')
        >>> heavier = robot.with_parameters(2 * robot.parameters)
        >>> np.allclose(heavier.parameters, 2 * robot.parameters)
        True
        """
        array = real_array(parameters, 'parameters')
        if array.shape not in ((10 * self.n_bodies,), (self.n_bodies, 10)):
            raise DimensionError(f'must have shape ({10 * self.n_bodies},) or ({self.n_bodies}, '
                                 f'10), got {array.shape}', subject='parameters',
                                 remedy='give ten inertial parameters for each of: '
                                        + ', '.join(self.body_names))
        return replace(self, inertial_parameters=array.reshape(self.n_bodies, 10))

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """The same robot with another gravity.

        Parameters
        ----------
        gravity : array_like, shape (3,)
            Acceleration of free fall in the base frame, m/s^2.

        Examples
        --------
        >>> from robot_dynamics import Robot
        >>> Robot.from_urdf('planar_2r').with_gravity([0, 0, 0]).gravity.tolist()
        [0.0, 0.0, 0.0]
        """
        return replace(self, gravity=real_array(gravity, 'gravity'))


# help() shows the fields, which __new__ hides.
Robot.__signature__ = inspect.signature(RobotData)  # type: ignore[attr-defined]


def prismatic_joints(robot: RobotData) -> BoolArray:
    """Whether each of ``robot.joint_names`` is prismatic."""
    kinds = dict(zip(robot.body_joint_names, robot.joint_types.tolist(), strict=True))
    return np.array([kinds.get(name) == JointType.PRISMATIC for name in robot.joint_names],
                    dtype=np.bool_)


def position_units(robot: RobotData) -> tuple[str, ...]:
    """Unit of each joint's position, ``'rad'`` or ``'m'``."""
    return tuple('m' if slides else 'rad' for slides in prismatic_joints(robot))


def effort_units(robot: RobotData) -> tuple[str, ...]:
    """Unit of each joint's effort, ``'N m'`` or ``'N'``."""
    return tuple('N' if slides else 'N m' for slides in prismatic_joints(robot))


def arm_length(robot: RobotData) -> float:
    """Length of the longest chain of links beyond the first joint, m.

    If all joints share a point, twice the largest radius of gyration; 1 m for links without
    extent.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> round(arm_length(Robot.from_urdf('planar_2r')), 2)
    0.59
    """
    steps = np.linalg.norm(robot.placements[:, :3, 3], axis=1)
    steps += np.linalg.norm(robot.link_offsets, axis=1)
    length = np.zeros(robot.n_bodies)
    for body in range(robot.n_bodies):
        parent = robot.parents[body]
        length[body] = length[parent] + steps[body] if parent >= 0 else 0.0
    masses = robot.inertial_parameters[:, 0]
    moments = pseudo_inertia(robot.inertial_parameters)[:, :3, :3].trace(axis1=1, axis2=2)
    heavy = masses > 0.0
    gyration = np.sqrt(np.maximum(moments[heavy] / masses[heavy], 0.0))
    longest = max(length.max(), 2.0 * gyration.max(initial=0.0))
    return float(longest) if longest > 0.0 else 1.0
