# SPDX-License-Identifier: Apache-2.0
"""The 14 n parameters Pi of a robot with n elastic joints, in three orders.

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


``ElasticRobot``: a robot and what drives its joints through springs.


Links with the motors that stand on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import yaml
from numpy.typing import ArrayLike

from robot_dynamics.elastic.configuration import (
    GEAR_RATIO,
    OPTIONAL,
    Source,
    joints_from_tags,
    joints_from_yaml,
    read_elastic_tags,
)
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.errors import DimensionError, ModelError, ParameterError, shown
from robot_dynamics.model.arrays import FloatArray, IntArray, Rebuilt, real_array
from robot_dynamics.model.robot import Robot

ParameterOrder = Literal['paper', 'tables', 'bodies']

#: Of each joint, after the ten of each body.
JOINT_PARAMETERS = ('rotor_inertia', 'coulomb', 'viscous', 'stiffness')

# Where xx, yy, zz, xy, xz, yz stand among the ten parameters of a body.
_TENSOR = (4, 7, 9, 5, 6, 8)


def places(n: int, order: ParameterOrder) -> IntArray:
    """Return where each parameter of an order stands in the order ``'bodies'``.

    Parameters
    ----------
    n : int
        Number of joints.
    order : {'paper', 'tables', 'bodies'}
        The order.

    Returns
    -------
    ndarray of int64, shape (14 n,)
        ``in_order = bodies_first[places(n, order)]``.

    Raises
    ------
    ParameterError
        When there is no such order.
    """
    if order not in get_args(ParameterOrder):
        raise ParameterError(f'is {shown(order)}', subject='order',
                             remedy='choose among: ' + ', '.join(get_args(ParameterOrder)))
    if order == 'bodies':
        return np.arange(14 * n)
    of_bodies = np.arange(10 * n).reshape(n, 10)
    of_joints = np.arange(10 * n, 14 * n)
    rotors_and_friction, stiffness = of_joints[:3 * n], of_joints[3 * n:]
    inertial = [of_bodies[:, 0], of_bodies[:, 1:4].ravel(), of_bodies[:, _TENSOR].ravel()]
    if order == 'tables':
        return np.concatenate([stiffness, *inertial, rotors_and_friction])
    return np.concatenate([*inertial, rotors_and_friction, stiffness])


def parameter_names(links: Robot, order: ParameterOrder) -> tuple[str, ...]:
    """Return ``link/m`` and the like, and ``joint/rotor_inertia`` and the like, in order."""
    names = links.parameter_names + tuple(f'{joint}/{kind}' for kind in JOINT_PARAMETERS
                                          for joint in links.joint_names)
    return tuple(names[place] for place in places(links.n, order))


@dataclass(frozen=True, eq=False, repr=False)
class ElasticRobot(Rebuilt):
    """A chain or tree of links, each driven by a motor through a gear and a spring.

    Its coordinates are those of the links and then those of the motors, qbar = (q, theta),
    theta being the angle of the motor divided by the gear ratio.

    Parameters
    ----------
    links : Robot
        The robot as it would be with rigid joints. *Bodies* are links with the stators that
        stand on them and with the masses of the rotors, whose inertia across their axes they
        carry and whose inertia about their axes at rest as well (Zollo et al.,
        "Identification of Dynamic Parameters for Robots with Elastic Joints", eq. A.14);
        see `robot_dynamics.elastic.robot`. Friction of the description is not used: the
        motors have it.
    joints : ElasticJoints
        Motors, gears and springs, one a joint.
    is_coupled : bool
        Whether rotors turn with the links that carry them, B_d of eq. 8. False is the
        simplified model of Spong: rotors turn about their own axes only.
    """

    links: Robot
    joints: ElasticJoints
    is_coupled: bool = True

    def __post_init__(self) -> None:
        links, joints = self.links, self.joints
        links.require_single_coordinates('an elastic joint')
        if not links.is_directly_driven:
            raise ModelError('has mimic joints, or its joints in another order than its links',
                             subject=links.name,
                             remedy='read it without joints=... and without joints that mimic '
                                    'others: each elastic joint has a motor of its own')
        if joints.n != links.n:
            raise DimensionError(f'are {joints.n}, but {links.name} has {links.n} joints',
                                 subject='elastic joints',
                                 remedy='describe each of: ' + ', '.join(links.joint_names))

    @classmethod
    def from_yaml(cls, source: Source, links: Robot, *,
                  description: str | bytes | PathLike[str] | None = None) -> ElasticRobot:
        """Read motors and springs from a file beside the robot; docs/elastic.md has the format.

        Parameters
        ----------
        source : path, str or mapping
            Path of a YAML file, name of one of this package (``'arm7'``), or what it holds.
        links : Robot
            The robot as it would be with rigid joints.
        description : str, bytes or path, optional
            URDF whose tags of ros2_control, such as transmissions, tell what the file does
            not.

        Raises
        ------
        ModelError, ParameterError
            Naming the file, or joint and field, what is wrong, and what to do.
        """
        tags = None if description is None else read_elastic_tags(description)
        joints, is_coupled = joints_from_yaml(source, links, tags)
        return cls(links, joints, is_coupled)

    @classmethod
    def from_urdf(cls, source: str | bytes | Path, **options: Any) -> ElasticRobot:
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
        if self.joints.rotor_axes is not None:
            return self.joints.rotor_axes
        links = self.links
        return np.einsum('ijk,ik->ij', links.placements[:, :3, :3], links.axes)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the 2 n coordinates: ``joint`` for links, ``motor_joint`` for motors."""
        names = self.links.joint_names
        return names + tuple(f'motor_{name}' for name in names)

    def parameter_names(self, order: ParameterOrder = 'paper') -> tuple[str, ...]:
        """Return the name of each parameter; see `robot_dynamics.elastic.robot`."""
        return parameter_names(self.links, order)

    def parameters(self, order: ParameterOrder = 'paper') -> FloatArray:
        """Return Pi, shape (14 n,)."""
        joints = self.joints
        bodies_first = np.concatenate([self.links.parameters, joints.rotor_inertia,
                                       joints.coulomb, joints.viscous, joints.stiffness])
        return bodies_first[places(self.n, order)]

    def with_parameters(self, parameters: ArrayLike, order: ParameterOrder = 'paper'
                        ) -> ElasticRobot:
        """Return the same robot with other parameters Pi, shape (14 n,)."""
        given, n = real_array(parameters, 'parameters'), self.n
        if given.shape != (14 * n,):
            raise DimensionError(f'has shape {given.shape}, not ({14 * n},)',
                                 subject='parameters',
                                 remedy='give one for each of parameter_names(order)')
        bodies_first = np.empty(14 * n)
        bodies_first[places(n, order)] = given
        inertial, rotor, coulomb, viscous, stiffness = np.split(
            bodies_first, [10 * n, 11 * n, 12 * n, 13 * n])
        return replace(self, links=self.links.with_parameters(inertial), joints=replace(
            self.joints, rotor_inertia=rotor, coulomb=coulomb, viscous=viscous,
            stiffness=stiffness))


_UPPER = np.triu_indices(3)


def with_motors(links: Robot, joints: ElasticJoints, masses: ArrayLike,
                positions: ArrayLike | None = None, inertias: ArrayLike | None = None) -> Robot:
    """Return a robot whose bodies are links with the motors mounted on them.

    The motor of joint i stands on the link before that joint; one that stands on the base
    moves nothing. Of its rotor a body has the mass, and the inertia it has when it does
    not turn (Zollo et al., "Identification of Dynamic Parameters for Robots with Elastic
    Joints", eq. A.14)::

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
        default the place of the joint it drives. m.
    inertias : array_like, shape (n, 3, 3), optional
        I_m of each motor with its rotor about that centre, in the axes of the same frame;
        by default that of a thin rotor alone, Upsilon about its axis. kg m^2.

    Returns
    -------
    Robot
        The same robot with the parameters of bodies.
    """
    n = links.n
    masses = _shaped(masses, 'masses', (n,))
    if not np.all(np.isfinite(masses)) or np.any(masses < 0.0):
        joint = links.joint_names[int(np.argmax(~(masses >= 0.0) | ~np.isfinite(masses)))]
        raise ParameterError('the mass of its motor is negative or not finite', subject=joint,
                             remedy='give zero or a positive number, in kg')
    positions = links.placements[:, :3, 3] if positions is None \
        else _shaped(positions, 'positions', (n, 3))
    if inertias is None:
        axes = joints.rotor_axes if joints.rotor_axes is not None else np.einsum(
            'ijk,ik->ij', links.placements[:, :3, :3], links.axes)
        inertias = np.einsum('i,ij,ik->ijk', joints.rotor_inertia, axes, axes)
    inertias = _shaped(inertias, 'inertias', (n, 3, 3))
    parameters = np.array(links.inertial_parameters)
    for k in range(n):
        body = links.parents[k]
        if body >= 0:
            p, mass = positions[k], masses[k]
            inertia = inertias[k] + mass * (p @ p * np.eye(3) - np.outer(p, p))
            parameters[body] += np.concatenate([[mass], mass * p, inertia[_UPPER]])
    return links.with_parameters(parameters)


def _shaped(value: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    array = real_array(value, name)
    if array.shape != shape:
        raise DimensionError(f'has shape {array.shape}, not {shape}', subject=name,
                             remedy='give one for the motor of each joint, in the order of joints')
    return array


_HEAD = """\
# Motors and springs of {name}, for ElasticRobot.from_yaml and the parameter elastic_joints.
"""
_NUMBERS = (GEAR_RATIO, 'rotor_inertia', 'stiffness', *OPTIONAL)


def elastic_joints_yaml(robot: ElasticRobot) -> str:
    """Return a file that has everything of each joint; docs/elastic.md has the format.

    Parameters
    ----------
    robot : ElasticRobot
        The robot. A motor that turns the other way has its axis turned round.
    """
    joints = {
        name: {**{field: float(getattr(robot.joints, field)[k]) for field in _NUMBERS},
               'rotor_axis': [float(x) for x in robot.rotor_axes[k]]}
        for k, name in enumerate(robot.links.joint_names)}
    content = {'coupled': robot.is_coupled, 'joints': joints}
    return _HEAD.format(name=robot.links.name.replace('\n', ' ')) + yaml.safe_dump(
        content, allow_unicode=True, sort_keys=False, default_flow_style=None,
        width=float('inf'))
