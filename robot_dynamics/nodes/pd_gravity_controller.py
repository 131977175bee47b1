# SPDX-License-Identifier: Apache-2.0
"""Track a reference by PD feedback and the gravity of the model."""

from __future__ import annotations

import sys
from functools import partial

from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.effort_controller import run_controller
from robot_dynamics.nodes.controller.feedback_controller import FeedbackControllerNode
from robot_dynamics.nodes.controller.parameters import FEEDBACK_PARAMETERS, feedback_keywords
from robot_dynamics.nodes.ros.parameters import Values
from robot_dynamics.nodes.ros.stopping import StopRequest

TABLE = FEEDBACK_PARAMETERS


class PDGravityControllerNode(FeedbackControllerNode):
    """PD + gravity in a managed node."""

    def __init__(self, stopped: StopRequest):
        super().__init__('pd_gravity_controller', TABLE, stopped)

    def make_law(self, robot: Robot, values: Values) -> PDGravityController:
        """Make the law with the gains of the parameters."""
        return make_law(robot, values)


def make_law(robot: Robot, values: Values) -> PDGravityController:
    """Make the law that the parameters describe."""
    return PDGravityController(robot, **feedback_keywords(robot, values))


main = partial(run_controller, PDGravityControllerNode, TABLE)

if __name__ == '__main__':
    sys.exit(main())
