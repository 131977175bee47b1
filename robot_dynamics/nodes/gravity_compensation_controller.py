# SPDX-License-Identifier: Apache-2.0
"""Compensate the weight of an arm, so that it can be guided by hand."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

from robot_dynamics.control.laws.guiding import GuidingController, GuidingSettings
from robot_dynamics.control.session.hand_guiding import HandGuidingSession
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.effort_controller import EffortControllerNode, run_controller
from robot_dynamics.nodes.controller.parameters import (
    FEEDBACK_PARAMETERS,
    feedback_keywords,
    group,
)
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint
from robot_dynamics.nodes.ros.stopping import StopRequest

_SETTINGS = GuidingSettings()

#: Gains of the feedback that holds the arm before it is guided.
_HOLDING = tuple(replace(row, read_only=True) for row in FEEDBACK_PARAMETERS
                 if row.name != 'feedback.damping')

TABLE = (
    *_HOLDING,
    Parameter('guiding.damping', _SETTINGS.damping, 'Rate at which an arm that is released slows '
              'down.', '1/s', 0.0, 30.0),
    Parameter('guiding.friction_help', _SETTINGS.friction_help, 'Share of the friction of the '
              'description that is compensated.', '', 0.0, 0.95),
    Parameter('guiding.grip', _SETTINGS.grip, 'Acceleration that a push has to exceed before a '
              'joint moves, so that an arm at rest does not drift; 0 to switch this off.',
              'rad/s^2 or m/s^2', 0.0, 100.0, read_only=True),
    Parameter('guiding.largest_speed', (_SETTINGS.largest_speed,), 'Speeds above which joints are '
              'braked; an arm twice as fast gets the safe command.', 'rad/s or m/s', 0.01, 10.0,
              read_only=True),
    Parameter('guiding.largest_handover', _SETTINGS.largest_handover, 'Largest effort beyond the '
              'model that is taken over from holding, as a share of the effort limits.', '', 0.0,
              1.0, read_only=True),
    Parameter('guiding.coulomb_velocity', _SETTINGS.coulomb_velocity, 'Speed below which the '
              'compensation of Coulomb friction fades out.', 'rad/s or m/s', 1e-4, 10.0,
              read_only=True),
)


class GravityCompensationControllerNode(EffortControllerNode):
    """Hand guiding in a managed node."""

    law: GuidingController
    session_type = HandGuidingSession
    follows_references = False

    def __init__(self, stopped: StopRequest):
        super().__init__('gravity_compensation_controller', TABLE, stopped)

    def make_law(self, robot: Robot, values: Values) -> GuidingController:
        """Make the law of the parameters."""
        settings = GuidingSettings(**{
            **group(values, 'guiding', GuidingSettings),
            'largest_speed': per_joint(values, 'guiding.largest_speed', robot.joint_names,
                                       default=_SETTINGS.largest_speed)})
        return GuidingController(robot, settings=settings, **feedback_keywords(robot, values))

    def check(self, values: Values) -> None:
        """Reject also a damping that is too high for the rate of this node."""
        super().check(values)
        if self.is_built:
            self.law.check_damping(values['guiding.damping'])

    def on_parameters(self, values: Values) -> None:
        """Use changed damping and friction compensation."""
        super().on_parameters(values)
        if self.is_built:
            self.law.adjust(damping=values['guiding.damping'],
                            friction_help=values['guiding.friction_help'])


main = partial(run_controller, GravityCompensationControllerNode, TABLE)

if __name__ == '__main__':
    sys.exit(main())
