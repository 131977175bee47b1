# SPDX-License-Identifier: Apache-2.0
"""Tracks a reference with an arm while learning what the arm weighs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray, String

from robot_dynamics.control.adaptation.learning import AT_REST
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.laws.loop_report import loop_report
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.effort_controller import EffortControllerNode
from robot_dynamics.nodes.controller.gain_parameters import FEEDBACK_PARAMETERS
from robot_dynamics.nodes.controller.learning_parameters import (
    LEARNING_PARAMETERS,
    estimates_file,
    make_adaptive_law,
)
from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.lifecycle import AUTOSTART
from robot_dynamics.nodes.ros.messages import ArrayMessage, JointStateMessage
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.runtime import run
from robot_dynamics.nodes.ros.stopping import StopRequest

_ADAPTATION = AdaptationGains()

TABLE = (
    Parameter('adapt', True, 'Whether the estimates may change.'),
    Parameter('adapt_after', 0.0, 'Time from the start of the reference during which they may '
              'not.', 's', 0.0, 3600.0),
    Parameter('allow_unphysical', False, 'Start from a model whose links no body can have, '
              'namely from the nearest that bodies can have.', read_only=True),
    *FEEDBACK_PARAMETERS,
    Parameter('adaptation.frequency', _ADAPTATION.frequency, 'How fast the estimates may close '
              'the loop.', 'rad/s', 0.01, 1000.0, read_only=True),
    Parameter('adaptation.payload', _ADAPTATION.payload, 'Mass a tip may carry unknown to the '
              'model, as a share of the mass of all links.', '', 1e-6, 10.0, read_only=True),
    Parameter('adaptation.spread', _ADAPTATION.spread, 'Distance within which unknown mass sits, '
              'as a share of the length of the arm.', '', 1e-3, 10.0, read_only=True),
    Parameter('adaptation.terms', _ADAPTATION.terms, 'Joint terms learnt beside the inertial '
              'parameters: viscous, coulomb, armature, offset.', element=str,
              choices=('viscous', 'coulomb', 'armature', 'offset'), read_only=True),
    Parameter('adaptation.term_frequency', _ADAPTATION.term_frequency, 'How fast one of them may '
              'close the loop of its joint.', 'rad/s', 0.01, 1000.0, read_only=True),
    Parameter('adaptation.composite', _ADAPTATION.composite, 'Weight of the prediction error; 0 '
              'for learning from the tracking error alone.', '', 0.0, 100.0, read_only=True),
    Parameter('adaptation.composite_cutoff', _ADAPTATION.composite_cutoff, 'Corner frequency of '
              'the filter of the prediction error.', 'Hz', 0.1, 200.0, read_only=True),
    Parameter('adaptation.coulomb_velocity', _ADAPTATION.coulomb_velocity, 'Speed below which '
              'Coulomb friction fades out.', 'rad/s or m/s', 1e-4, 10.0, read_only=True),
    Parameter('adaptation.largest_payload', _ADAPTATION.largest_payload, 'Mass the estimate of a '
              'link may gain, as a share of the mass of all links.', '', 1e-3, 100.0,
              read_only=True),
    Parameter('adaptation.longest_step', _ADAPTATION.longest_step, 'Longest time between two '
              'states over which the estimates are moved.', 's', 1e-4, 1.0, read_only=True),
    Parameter('adaptation.largest_sliding', _ADAPTATION.largest_sliding, 'Largest plausible '
              'entry of s; beyond it nothing is learnt.', 'rad/s or m/s', 0.01, 1000.0,
              read_only=True),
    *LEARNING_PARAMETERS,
)


class AdaptiveControllerNode(EffortControllerNode):
    """The law of Slotine and Li in a managed node."""

    law: AdaptiveController

    def __init__(self, stopped: StopRequest):
        super().__init__('adaptive_controller', TABLE, stopped)
        self._reference_began: float | None = None

    def make_law(self, robot: Robot, values: Values) -> AdaptiveController:
        """Return the law that the parameters ask for."""
        law = make_adaptive_law(robot, values)
        if path := estimates_file(values):
            self.get_logger().info(f'estimates restored from {path}')
        return law

    def build(self) -> None:
        """Build what every effort controller has, and listen for contacts."""
        self._is_touched = False
        super().build()
        self._tell_gains()
        self.fast.subscribe(Bool, self.parameters.values['contact_topic'], self._on_contact,
                            qos.command())

    def _tell_gains(self) -> None:
        """Say what the gains come to, before the arm moves."""
        values = self.parameters.values
        report = loop_report(self.law, period=1.0 / values['rate'], delay=values['delay'])
        if report.frequency < report.limit:
            self.get_logger().info(str(report))
        else:
            self.get_logger().warning(f'{report}: lower adaptation.frequency')

    def let_go(self, reason: str) -> None:
        """Let go of the arm, then keep what was learnt where the user wants it."""
        super().let_go(reason)
        path = self.parameters.values['estimates.save_to']
        if not path:
            return
        try:
            self.law.save(path)
            self.get_logger().info(f'estimates saved to {path}')
        except ParameterError as error:
            self.get_logger().error(f'estimates not saved: {error}')

    def before_cycle(self) -> None:
        """Decide whether the estimates may change."""
        values, session = self.parameters.values, self.session
        if session.mode is not Mode.TRACKING:
            self._reference_began = None
        elif self._reference_began is None and session.counts['trajectories'] > self._heard:
            self._reference_began = session.monitor.stamp
        self._heard = session.counts['trajectories']
        session.adapt_enabled = values['adapt'] and not self._touches() \
            and self._reference_began is not None and (
                session.monitor.stamp - self._reference_began >= values['adapt_after'])

    def law_telemetry(self) -> tuple[Callable[[int], None], ...]:
        """Make the publishers of sliding variable and estimates."""
        self._heard = 0
        names = self.robot.joint_names
        self._sliding = JointStateMessage(names, velocity=True)
        self._slidings = self.advertise(JointState, '~/sliding_variable', qos.telemetry())
        self._estimate = ArrayMessage(('parameter',), (len(self.law.estimate),))
        self._estimates = self.advertise(Float64MultiArray, '~/parameter_estimate',
                                         qos.telemetry())
        self._names = self.advertise(String, '~/parameter_names', qos.latched())
        self._names.publish(String(data=json.dumps(list(self.law.estimate_names))))
        return self._publish_sliding, self._publish_estimate

    def law_status(self) -> dict[str, Callable[[], Status]]:
        """Return the item about learning."""
        return {'adaptation': self._adaptation_status}

    def _publish_sliding(self, stamp: int) -> None:
        if self.session.mode is Mode.TRACKING:
            self._sliding.velocity[:] = self.law.s
            self._slidings.publish(self._sliding.stamp(stamp))

    def _publish_estimate(self, stamp: int) -> None:
        self._estimates.publish(self._estimate.fill(self.law.parameters))

    def _on_contact(self, message: Bool) -> None:
        self._is_touched = message.data

    def _touches(self) -> bool:
        """Whether the arm is said to touch something, and that counts."""
        return self._is_touched and self.parameters.values['contact_freezes']

    def _adaptation_status(self) -> Status:
        session, law = self.session, self.law
        values = {'adapts': session.adapted and not law.frozen,
                  'steps not adapted': session.counts['not_adapted']}
        if law.frozen_reason == AT_REST:
            return Status(Level.OK, f'held: {AT_REST}', values)
        if law.frozen:
            return Status(Level.WARN, f'frozen: {law.frozen_reason}', values)
        if self._touches():
            return Status(Level.OK, 'held: the arm touches something', values)
        return Status(Level.OK, 'adapts' if session.adapted else 'held', values)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(AdaptiveControllerNode, args, (AUTOSTART, *CONTROLLER_PARAMETERS, *TABLE))


if __name__ == '__main__':
    sys.exit(main())
