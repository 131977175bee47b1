# SPDX-License-Identifier: Apache-2.0
"""``Payload``: something known that the arm may carry, as a user gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from robot_dynamics.control.checks import not_negative
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.modify import payload_parameters, with_payload
from robot_dynamics.model.robot import Robot


class Carrier(Protocol):
    """A law that can be told at run time what the arm carries."""

    def carry(self, load: FloatArray, seconds: float) -> None:
        """Take the arm to carry a load, shape (nb, 10), over a time; zeros for nothing."""

    def advance(self, dt: float) -> None:
        """Go on with such a change for a time; called before a state is answered."""


@dataclass(frozen=True)
class Payload:
    """A rigid body in the hand.

    Parameters
    ----------
    mass : float
        Its mass; 0 for nothing. kg.
    com : sequence of float, length 3
        Its centre of mass in the frame that carries it. m.
    inertia : sequence of float, length 6 or 0
        ``ixx ixy ixz iyy iyz izz`` about its centre of mass, in the axes of that frame;
        that of a point by default. kg m^2.
    frame : str
        Link or frame that carries it; by default the only link that carries no other.

    Raises
    ------
    ParameterError
        Where a number is missing or no body is like that.
    """

    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia: Sequence[float] = ()
    frame: str = ''

    def __post_init__(self) -> None:
        not_negative('payload.mass', self.mass, 'kg')
        if np.shape(self.com) != (3,):
            raise ParameterError(f'has {np.size(self.com)} values', subject='payload.com',
                                 remedy='give x, y and z in m')
        if np.shape(self.inertia) not in ((0,), (6,)):
            raise ParameterError(f'has {np.size(self.inertia)} values', subject='payload.inertia',
                                 remedy='give ixx ixy ixz iyy iyz izz in kg m^2, or nothing for '
                                        'a point')
        if self.mass > 0.0:
            try:
                payload_parameters(self.mass, self.com, self.tensor)
            except RobotDynamicsError as error:
                raise ParameterError(error.message, subject=error.subject,
                                     remedy=error.remedy) from error
        elif np.any(self.inertia):
            raise ParameterError('is given without a mass', subject='payload.inertia',
                                 remedy='set payload.mass, too')

    @property
    def tensor(self) -> FloatArray:
        """Inertia about the centre of mass, shape (3, 3). kg m^2."""
        xx, xy, xz, yy, yz, zz = self.inertia if len(self.inertia) else (0.0,) * 6
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def load_on(self, robot: Robot) -> FloatArray:
        """Return what it adds to the inertial parameters of a robot, shape (nb, 10).

        Raises
        ------
        ModelError
            Where there is no such frame, or it does not move.
        """
        if self.mass == 0.0:
            return np.zeros((robot.n_bodies, 10))
        loaded = with_payload(robot, self.mass, self.com, self.tensor, frame=self.frame or None)
        return loaded.inertial_parameters - robot.inertial_parameters
