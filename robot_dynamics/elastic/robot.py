# SPDX-License-Identifier: Apache-2.0
"""``ElasticRobot``: a robot with the motors and springs that drive its joints.

Its 14 n parameters Pi have three orders:

=============  ==================================================================
``'paper'``    m, c, I, Upsilon, f_s, f_v, K: each for all joints, I of a body as
               xx, yy, zz, xy, xz, yz (eq. 14 of Zollo et al., "Identification of
               Dynamic Parameters for Robots with Elastic Joints")
``'tables'``   the same with K first, as in tables 1 and 3 to 6 of that paper
``'bodies'``   the ten of each body as everywhere in this package, then Upsilon,
               f_s, f_v, K
=============  ==================================================================

m is the mass of a body, c its first moment and I its inertia about the origin of the link
frame, off-diagonal entries being those of the tensor; Upsilon and K are the inertia of the
rotor and the stiffness of the spring, f_s and f_v Coulomb and viscous friction of the motor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np
import yaml
from numpy.typing import ArrayLike

from robot_dynamics.elastic.configuration import (
    NEEDED,
    OPTIONAL,
    Source,
    joints_from_tags,
    joints_from_yaml,
    read_elastic_tags,
)
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.errors import DimensionError, ModelError, ParameterError, shown
from robot_dynamics.model.arrays import FloatArray, IntArray, Rebuilt, frozen_array, real_array
from robot_dynamics.model.inertia import parameters_from_com
from robot_dynamics.model.robot import Robot

ParameterOrder = Literal['paper', 'tables', 'bodies']

#: Parameters of each joint, after the ten of each body.
JOINT_PARAMETERS = ('rotor_inertia', 'coulomb', 'viscous', 'stiffness')

# Places of xx, yy, zz, xy, xz, yz among the ten parameters of a body.
_TENSOR = (4, 7, 9, 5, 6, 8)
_HEAD = """\
# Motors and springs of {name}, for ElasticRobot.from_yaml and the parameter elastic_joints.
"""


def places(n: int, order: ParameterOrder) -> IntArray:
    """Places of the parameters of an order in the order ``'bodies'``, shape (14 n,).

    ``in_order = bodies_first[places(n, order)]`` for n joints.
    """
    if order not in get_args(ParameterOrder):
        raise ParameterError(f'must be one of {", ".join(get_args(ParameterOrder))}, got '
                             f'{shown(order)}', subject='order', remedy='correct it')
    if order == 'bodies':
        return np.arange(14 * n)
    of_bodies = np.arange(10 * n).reshape(n, 10)
    of_joints = np.arange(10 * n, 14 * n)
    rotors_and_friction, stiffness = of_joints[:3 * n], of_joints[3 * n:]
    inertial = [of_bodies[:, 0], of_bodies[:, 1:4].ravel(), of_bodies[:, _TENSOR].ravel()]
    if order == 'tables':
        return np.concatenate([stiffness, *inertial, rotors_and_friction])
    return np.concatenate([*inertial, rotors_and_friction, stiffness])


@dataclass(frozen=True, eq=False, repr=False)
class ElasticRobot(Rebuilt):
    """A chain or tree of links, each driven by a motor through a gear and a spring.

    Its coordinates are those of the links, then those of the motors, qbar = (q, theta), with theta
    the motor angle divided by the gear ratio.

    Parameters
    ----------
    links : Robot
        The robot with rigid joints. *Bodies* are links including the stators and the rotors that
        are mounted on them: their masses, and their inertia at rest, transverse and about their
        axes (Zollo et al., eq. A.14); see `with_motors`. Friction of the description is not used,
        because the motors have friction.
    joints : ElasticJoints
        Motors, gears and springs, one per joint.
    is_coupled : bool
        Whether rotors also rotate with the links that carry them, B_d of eq. 8. False gives the
        simplified model of Spong: rotors rotate about their own axes only.

    See Also
    --------
    ElasticDynamics : Its equations of motion.

    Examples
    --------
    >>> from robot_dynamics import ElasticRobot, Robot
    >>> robot = ElasticRobot.from_yaml('arm7', Robot.from_urdf('arm7'))
    >>> robot
    <ElasticRobot arm7: 7 elastic joints>
    >>> robot.coordinate_names[0], robot.coordinate_names[7]
    ('joint1', 'motor_joint1')
    """

    links: Robot
    joints: ElasticJoints
    is_coupled: bool = True

    def __post_init__(self) -> None:
        links, joints = self.links, self.joints
        links.require_single_coordinates('an elastic joint')
        if not links.is_directly_driven:
            raise ModelError('must not have mimic joints or another joint order than its links',
                             subject=links.name,
                             remedy='read it without joints=... and without joints that mimic '
                                    'others: each elastic joint has a motor of its own')
        if joints.n != links.n:
            raise DimensionError(f'must be {links.n}, one per joint of {links.name}, '
                                 f'got {joints.n}',
                                 subject='elastic joints',
                                 remedy='describe each of: ' + ', '.join(links.joint_names))

    @classmethod
    def from_yaml(cls, source: Source, links: Robot, *,
                  description: str | bytes | PathLike[str] | None = None) -> ElasticRobot:
        """Read motors and springs from a file beside the robot; docs/elastic.md has the format.

        Parameters
        ----------
        source : path, str or mapping
            Path of a YAML file, name of a shipped one (``'arm7'``), or its content.
        links : Robot
            The robot with rigid joints.
        description : str, bytes or path, optional
            URDF with tags of ros2_control, such as transmissions, for the fields that the
            file leaves out.

        Raises
        ------
        ModelError, ParameterError
            With the file, or joint and field, the problem, and the remedy.
        """
        tags = None if description is None else read_elastic_tags(description)
        joints, is_coupled = joints_from_yaml(source, links, tags)
        return cls(links, joints, is_coupled)

    @classmethod
    def from_urdf(cls, source: str | bytes | PathLike[str], **options: Any) -> ElasticRobot:
        """Read links, motors and springs from a URDF with tags of ros2_control.

        Parameters
        ----------
        source : str, bytes or path
            As for `Robot.from_urdf`.
        **options
            As for `Robot.from_urdf`.

        Raises
        ------
        ModelError, ParameterError
            As for `from_yaml`.
        """
        links = Robot.from_urdf(source, **options)
        return cls(links, joints_from_tags(read_elastic_tags(source), links))

    def __repr__(self) -> str:
        return f'<ElasticRobot {self.links.name}: {self.n} elastic joints>'

    @property
    def n(self) -> int:
        """Number of joints; there are 2 n coordinates."""
        return self.links.n

    @cached_property
    def rotor_axes(self) -> FloatArray:
        """z_m of each rotor in the axes of the link that carries it, shape (n, 3)."""
        return _rotor_axes(self.links, self.joints)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the 2 n coordinates: ``joint`` for links, ``motor_joint`` for motors."""
        names = self.links.joint_names
        return names + tuple(f'motor_{name}' for name in names)

    def parameter_names(self, order: ParameterOrder = 'paper') -> tuple[str, ...]:
        """Names of Pi, ``link/m`` and the like, ``joint/rotor_inertia`` and the like."""
        names = self.links.parameter_names + tuple(
            f'{joint}/{kind}' for kind in JOINT_PARAMETERS for joint in self.links.joint_names)
        return tuple(names[place] for place in places(self.n, order))

    def parameters(self, order: ParameterOrder = 'paper') -> FloatArray:
        """Pi, shape (14 n,)."""
        bodies_first = np.concatenate([self.links.parameters, *(
            getattr(self.joints, kind) for kind in JOINT_PARAMETERS)])
        return bodies_first[places(self.n, order)]

    def with_parameters(self, parameters: ArrayLike, order: ParameterOrder = 'paper'
                        ) -> ElasticRobot:
        """The same robot with other parameters Pi, shape (14 n,)."""
        given, n = real_array(parameters, 'parameters'), self.n
        if given.shape != (14 * n,):
            raise DimensionError(f'must have shape ({14 * n},), got {given.shape}',
                                 subject='parameters',
                                 remedy='give one for each of parameter_names(order)')
        bodies_first = np.empty(14 * n)
        bodies_first[places(n, order)] = given
        inertial, *of_joints = np.split(bodies_first, n * np.arange(10, 14))
        changed: dict[str, Any] = dict(zip(JOINT_PARAMETERS, of_joints, strict=True))
        return replace(self, links=self.links.with_parameters(inertial),
                       joints=replace(self.joints, **changed))


def _rotor_axes(links: Robot, joints: ElasticJoints) -> FloatArray:
    if joints.rotor_axes is not None:
        return joints.rotor_axes
    axes: FloatArray = np.einsum('ijk,ik->ij', links.placements[:, :3, :3], links.axes)
    return axes


def with_motors(links: Robot, joints: ElasticJoints, masses: ArrayLike,
                positions: ArrayLike | None = None, inertias: ArrayLike | None = None) -> Robot:
    """The robot with motors included in the links that carry them.

    The motor of joint i is mounted on the link before that joint; a motor on the base
    has no effect. The mass of its rotor, and the inertia of the rotor at rest, are added to the
    link (Zollo et al., eq. A.14)::

        m = m_l + m_m,    c = m_l p_l + m_m p_m,    I = I_l + I_m + m_m [p_m]^T [p_m]

    Parameters
    ----------
    links : Robot
        Links alone.
    joints : ElasticJoints
        Their rotors.
    masses : array_like, shape (n,)
        m_m, mass of each motor with its rotor. kg.
    positions : array_like, shape (n, 3), optional
        p_m, centre of mass of each motor in the frame of the link that carries it; by
        default the origin of the joint it drives. m.
    inertias : array_like, shape (n, 3, 3), optional
        I_m of each motor with its rotor about that centre, in the axes of the same frame;
        by default that of a thin rotor alone, Upsilon about its axis. kg m^2.

    Examples
    --------
    >>> from robot_dynamics import ElasticRobot, Robot
    >>> from robot_dynamics.elastic import with_motors
    >>> links = Robot.from_urdf('planar_2r')
    >>> joints = ElasticRobot.from_yaml('planar_2r', links).joints
    >>> bodies = with_motors(links, joints, masses=[1.0, 0.5])
    >>> (bodies.inertial_parameters[:, 0] - links.inertial_parameters[:, 0]).tolist()
    [0.5, 0.0]
    """
    n = links.n
    masses = frozen_array(masses, (n,), 'masses', finite=False)
    if not np.all(np.isfinite(masses)) or np.any(masses < 0.0):
        k = int(np.argmax(~(masses >= 0.0) | ~np.isfinite(masses)))
        raise ParameterError(f'must have a motor of zero or positive mass, got {masses[k]:g}',
                             subject=links.joint_names[k], remedy='give a finite mass in kg')
    positions = frozen_array(links.placements[:, :3, 3] if positions is None else positions,
                             (n, 3), 'positions')
    if inertias is None:
        axes = _rotor_axes(links, joints)
        inertias = np.einsum('i,ij,ik->ijk', joints.rotor_inertia, axes, axes)
    motors = parameters_from_com(masses, positions,
                                 frozen_array(inertias, (n, 3, 3), 'inertias'))
    parameters = np.array(links.inertial_parameters)
    moved = links.parents >= 0
    np.add.at(parameters, links.parents[moved], motors[moved])
    return links.with_parameters(parameters)


def elastic_joints_yaml(robot: ElasticRobot) -> str:
    """Text of a file that `ElasticRobot.from_yaml` reads, with all fields of each joint.

    Parameters
    ----------
    robot : ElasticRobot
        The robot. A motor that turns in the opposite direction is written with a reversed axis.

    Examples
    --------
    >>> from robot_dynamics import ElasticRobot, Robot
    >>> from robot_dynamics.elastic import elastic_joints_yaml
    >>> robot = ElasticRobot.from_yaml('planar_2r', Robot.from_urdf('planar_2r'))
    >>> elastic_joints_yaml(robot).splitlines()[1]
    'coupled: true'
    """
    joints = {
        name: {**{field: float(getattr(robot.joints, field)[k]) for field in (*NEEDED, *OPTIONAL)},
               'rotor_axis': [float(x) for x in robot.rotor_axes[k]]}
        for k, name in enumerate(robot.links.joint_names)}
    content = {'coupled': robot.is_coupled, 'joints': joints}
    return _HEAD.format(name=robot.links.name.replace('\n', ' ')) + yaml.safe_dump(
        content, allow_unicode=True, sort_keys=False, default_flow_style=None,
        width=float('inf'))
