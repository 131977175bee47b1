# SPDX-License-Identifier: Apache-2.0
"""Base of the controllers with a linear feedback: gains that can change while the arm moves."""

from __future__ import annotations

from typing import Any

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.nodes.controller.effort_controller import EffortControllerNode
from robot_dynamics.nodes.controller.parameters import FEEDBACK_PARAMETERS, make_feedback_gains
from robot_dynamics.nodes.ros.parameters import Values

#: Time over which gains change. s.
CHANGE_TIME = 0.2


class FeedbackControllerNode(EffortControllerNode):
    """A controller with a `LinearFeedback` in its law."""

    law: Any
    #: Names of the parameters that `judge` and `retune` read.
    gains = tuple(row.name for row in FEEDBACK_PARAMETERS if not row.read_only)

    def build(self) -> None:
        """Build everything; log the rotors, and why gains leave little margin."""
        super().build()
        self.get_logger().info('gains for joints with rotors of ' + ', '.join(
            f'{inertia:.3g}' for inertia in self.robot.armature)
            + ' kg m^2 or kg (parameter rotors, or armature in the description)')
        self._warn_of_gains()

    def check(self, values: Values) -> None:
        """Reject gains that are unstable or cannot be changed during control."""
        super().check(values)
        if self.is_built and self._are_new(values):
            try:
                self.judge(values)
            except RobotDynamicsError as error:
                raise ParameterError(error.message, subject=error.subject,
                                     remedy=error.remedy) from error

    def on_parameters(self, values: Values) -> None:
        """Begin a smooth change of the gains."""
        changes = self.is_built and self._are_new(values)
        super().on_parameters(values)
        if changes:
            self.retune(values)
            self._warn_of_gains()

    def judge(self, values: Values) -> None:
        """Raise a RobotDynamicsError if gains cannot be used during control."""
        self.law.feedback.judge(make_feedback_gains(self.robot, values))

    def retune(self, values: Values) -> None:
        """Begin a change to gains that `judge` accepted."""
        self.law.feedback.change(make_feedback_gains(self.robot, values), CHANGE_TIME)

    def _are_new(self, values: Values) -> bool:
        return any(values[name] != self.values[name] for name in self.gains)

    def _warn_of_gains(self) -> None:
        if self.law.feedback.warning:
            self.get_logger().warning(f'feedback {self.law.feedback.warning}')
