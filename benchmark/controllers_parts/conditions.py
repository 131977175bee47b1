# SPDX-License-Identifier: Apache-2.0
"""The rows of the study: in what the arm and its loop differ from what the model says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from closed_loop import LoopConditions

from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.sensors import SensorQuality

#: Position of the payload in the frame of the flange. m.
PAYLOADS = ((0.02, 0.0, 0.18), (0.0, 0.1, 0.05), (-0.08, -0.05, 0.1))

NOISE = SensorQuality(position_resolution=2.0 * np.pi / 2**16, velocity_noise=0.005)
LATE = LoopConditions(delay=0.002)


@dataclass(frozen=True)
class Condition:
    """One row.

    Parameters
    ----------
    name : str
        Of the row.
    payload : float
        Mass at the flange unknown to the model. kg.
    model_scale : float
        Masses of the model over the true ones.
    friction : float
        Coulomb (N m) and viscous (N m s/rad) friction, as a share of 0.4 % of the effort
        limits, unknown to the model.
    effort_gain : float
        True effort per effort commanded.
    quality, loop
        What sensors and loop are like.
    """

    name: str
    payload: float = 0.0
    model_scale: float = 1.0
    friction: float = 0.0
    effort_gain: float = 1.0
    quality: SensorQuality = field(default_factory=SensorQuality)
    loop: LoopConditions = field(default_factory=LoopConditions)

    def true_robot(self, model: Robot, position: int = 0) -> Robot:
        """Return the arm as it is, with the payload at one of `PAYLOADS`."""
        robot = with_scaled_masses(model, 1.0 / self.model_scale)
        if self.payload:
            robot = with_payload(robot, self.payload, PAYLOADS[position], frame='flange')
        if self.friction:
            size = self.friction * 0.004 * robot.limits.effort
            robot = replace(robot, friction=size, damping=size)
        return robot


CONDITIONS = (
    Condition('nominal'),
    Condition('payload', payload=2.0),
    Condition('masses 30 % off', model_scale=1.3),
    Condition('friction', friction=1.0),
    Condition('torque 7 % off', effort_gain=1.07),
    Condition('noise', quality=NOISE),
    Condition('2 ms late', loop=LATE),
    Condition('noise, 2 ms late', quality=NOISE, loop=LATE),
    Condition('mixed', payload=2.0, friction=1.0, effort_gain=1.07, quality=NOISE, loop=LATE),
)
