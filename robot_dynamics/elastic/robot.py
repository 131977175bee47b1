# SPDX-License-Identifier: Apache-2.0
"""``ElasticRobot``: a robot and what drives its joints through springs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.elastic.configuration import (
    Source,
    joints_from_tags,
    joints_from_yaml,
    read_elastic_tags,
)
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.parameters import ParameterOrder, parameter_names, places
from robot_dynamics.errors import DimensionError, ModelError
from robot_dynamics.model.arrays import FloatArray, Rebuilt, real_array
from robot_dynamics.model.robot import Robot


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
        see `robot_dynamics.elastic.bodies`. Friction of the description is not used: the
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
        """Return the name of each parameter; see `robot_dynamics.elastic.parameters`."""
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
