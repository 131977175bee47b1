# SPDX-License-Identifier: Apache-2.0
"""Track a reference by computed torque: mass matrix, Coriolis and gravity of the model."""

from __future__ import annotations

import sys
from functools import partial

from robot_dynamics.control.laws.model_based import ComputedTorqueController
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.effort_controller import run_controller
from robot_dynamics.nodes.controller.feedback_controller import FeedbackControllerNode
from robot_dynamics.nodes.controller.parameters import FEEDBACK_PARAMETERS, feedback_keywords
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.stopping import StopRequest

TABLE = (
    *FEEDBACK_PARAMETERS,
    Parameter('coulomb_velocity', 0.05, 'Desired speed below which the Coulomb friction of the '
              'description fades out.', 'rad/s or m/s', 1e-4, 10.0, read_only=True),
)


class ComputedTorqueControllerNode(FeedbackControllerNode):
    """Computed torque in a managed node."""

    def __init__(self, stopped: StopRequest):
        super().__init__('computed_torque_controller', TABLE, stopped)

    def make_law(self, robot: Robot, values: Values) -> ComputedTorqueController:
        """Make the law with the gains of the parameters."""
        return make_law(robot, values)


def make_law(robot: Robot, values: Values) -> ComputedTorqueController:
    """Make the law that the parameters describe."""
    return ComputedTorqueController(robot, coulomb_velocity=values['coulomb_velocity'],
                                    **feedback_keywords(robot, values))


main = partial(run_controller, ComputedTorqueControllerNode, TABLE)

if __name__ == '__main__':
    sys.exit(main())
