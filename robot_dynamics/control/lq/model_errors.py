# SPDX-License-Identifier: Apache-2.0
"""Arms that a model may be wrong about: masses, lengths and payload off by some per cent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.control.checks import not_negative
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.inertia import parameters_from_com
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot


@dataclass(frozen=True)
class ModelErrors:
    """How far the arm may be from its model.

    Parameters
    ----------
    masses : float
        Masses and inertias of all links, more or less than in the model. %.
    lengths : float
        Distances between joints, more or less than in the model. %.
    payload : float
        Mass that every last link carries unknown to the model, as a share of the mass of
        all moving links: a point twice as far from the link's frame as its centre of mass. %.
    """

    masses: float = 30.0
    lengths: float = 5.0
    payload: float = 2.0

    def __post_init__(self) -> None:
        for name in ('masses', 'lengths', 'payload'):
            object.__setattr__(self, name, not_negative(name, getattr(self, name), '%'))
        for name in ('masses', 'lengths'):
            if getattr(self, name) >= 100.0:
                raise ParameterError(f'is {getattr(self, name):g} %, so that nothing may be left',
                                     subject=name, remedy='set it below 100 %')

    def arms(self, robot: Robot) -> dict[str, Robot]:
        """Return the arms that a robot may be in truth, by what is different."""
        arms = {'as modelled': robot}
        for sign in (1.0, -1.0):
            if self.masses > 0.0:
                arms[f'masses {sign * self.masses:+g} %'] = self._weighed(robot, sign)
            if self.lengths > 0.0:
                arms[f'lengths {sign * self.lengths:+g} %'] = self._stretched(robot, sign)
        if self.payload > 0.0:
            arms[f'payload {self.payload:+g} %'] = self._loaded(robot)
        if len(arms) > 2:
            arms['all more'] = self._loaded(self._stretched(self._weighed(robot, 1.0), 1.0))
            arms['all less'] = self._stretched(self._weighed(robot, -1.0), -1.0)
        return arms

    def _weighed(self, robot: Robot, sign: float) -> Robot:
        return with_scaled_masses(robot, 1.0 + 0.01 * sign * self.masses)

    def _stretched(self, robot: Robot, sign: float) -> Robot:
        factor = 1.0 + 0.01 * sign * self.lengths
        placements = np.array(robot.placements)
        placements[:, :3, 3] *= factor
        return replace(robot, placements=placements, link_offsets=factor * robot.link_offsets)

    def _loaded(self, robot: Robot) -> Robot:
        parameters = np.array(robot.inertial_parameters)
        tips = np.setdiff1d(np.arange(robot.n_bodies), robot.parents)
        mass = 0.01 * self.payload * float(parameters[:, 0].sum())
        if mass > 0.0:
            for tip in tips:
                own = parameters[tip]
                centre = own[1:4] / own[0] if own[0] > 0.0 else np.zeros(3)
                parameters[tip] = own + parameters_from_com(mass, 2.0 * centre, np.zeros((3, 3)))
        return robot.with_parameters(parameters)
