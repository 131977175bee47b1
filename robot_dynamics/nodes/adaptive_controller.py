# SPDX-License-Identifier: Apache-2.0
"""Track a reference while estimating the inertial parameters of the arm (Slotine and Li)."""
from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray, String

from robot_dynamics.control.adaptation.learning import AT_REST
from robot_dynamics.control.adaptation.partial_knowledge import PartialKnowledge
from robot_dynamics.control.feedback.gains import (
    COORDINATES,
    UPDATE_LAWS,
    AdaptationGains,
)
from robot_dynamics.control.laws.slotine_li import AdaptiveController, loop_report
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import FileError, ParameterError
from robot_dynamics.files import require_replaceable
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.effort_controller import run_controller
from robot_dynamics.nodes.controller.feedback_controller import CHANGE_TIME, FeedbackControllerNode
from robot_dynamics.nodes.controller.parameters import (
    FEEDBACK_PARAMETERS,
    feedback_keywords,
    group,
    make_feedback_gains,
)
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.messages import ArrayMessage, JointStateMessage
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.stopping import StopRequest

_ADAPTATION = AdaptationGains()
_FREQUENCY = 'adaptation.frequency'


def _estimates_file(values: Values) -> str:
    """File of estimates to start from, empty for none."""
    source, sink = values['estimates.restore_from'], values['estimates.save_to']
    return source if source != sink or Path(source).exists() else ''


TABLE = (
    Parameter('adapt', True, 'Whether the estimates may change.'),
    Parameter('adapt_after', 0.0, 'Time from the start of the reference during which the '
              'estimates do not change.', 's', 0.0, 3600.0),
    Parameter('allow_unphysical', False, 'Accept a model with inertial parameters that are not '
              'physical, and start from the nearest physical ones.', read_only=True),
    *FEEDBACK_PARAMETERS,
    Parameter(_FREQUENCY, _ADAPTATION.frequency, 'Largest bandwidth of the loop '
              'through the estimates; in motion it changes the gain of joint terms as well.',
              'rad/s', 0.01, 1000.0),
    Parameter('adaptation.payload', _ADAPTATION.payload, 'Mass at the tip that may be missing in '
              'the model, as a share of the mass of all links.', '', 1e-6, 10.0, read_only=True),
    Parameter('adaptation.spread', _ADAPTATION.spread, 'Assumed distance of unknown mass, as a '
              'share of the length of the arm.', '', 1e-3, 10.0, read_only=True),
    Parameter('adaptation.terms', (*_ADAPTATION.terms, 'armature'), 'Joint terms estimated in '
              'addition to the inertial parameters.', element=str,
              choices=('viscous', 'coulomb', 'armature', 'offset'), read_only=True),
    Parameter('adaptation.term_frequency', _ADAPTATION.term_frequency, 'Largest bandwidth of the '
              'loop through one joint term.', 'rad/s', 0.01, 1000.0, read_only=True),
    Parameter('adaptation.composite', _ADAPTATION.composite, 'Weight of the prediction error; 0 '
              'for the tracking error alone.', '', 0.0, 100.0, read_only=True),
    Parameter('adaptation.composite_cutoff', _ADAPTATION.composite_cutoff, 'Corner frequency of '
              'the filter of the prediction error.', 'Hz', 0.1, 200.0, read_only=True),
    Parameter('adaptation.coulomb_velocity', _ADAPTATION.coulomb_velocity, 'Speed below which '
              'Coulomb friction fades out.', 'rad/s or m/s', 1e-4, 10.0, read_only=True),
    Parameter('adaptation.largest_payload', _ADAPTATION.largest_payload, 'Mass that the estimate '
              'of a link may gain, as a share of the mass of all links.', '', 1e-3, 100.0,
              read_only=True),
    Parameter('adaptation.longest_step', _ADAPTATION.longest_step, 'Longest time between two '
              'states over which estimates are integrated.', 's', 1e-4, 1.0, read_only=True),
    Parameter('adaptation.largest_sliding', _ADAPTATION.largest_sliding, 'Largest plausible entry '
              'of s; above it estimates do not change.', 'rad/s or m/s', 0.01, 1000.0,
              read_only=True),
    Parameter('adaptation.law', _ADAPTATION.law, 'Update law: gradient, projection (with '
              'leakage), dead_zone, composite, memory, natural, natural_memory.',
              choices=tuple(UPDATE_LAWS), read_only=True),
    Parameter('adaptation.coordinates', _ADAPTATION.coordinates, 'links: every link stays a body; '
              'base: only base parameters are learnt, and nothing else drifts.',
              choices=COORDINATES, read_only=True),
    Parameter('adaptation.leakage', _ADAPTATION.leakage, 'Rate at which estimates return to the '
              'model, for the law projection.', '1/s', 0.0, 100.0, read_only=True),
    Parameter('adaptation.dead_zone', _ADAPTATION.dead_zone, 'Norm of s below which estimates do '
              'not change, for the law dead_zone.', 'rad/s or m/s', 0.0, 100.0, read_only=True),
    Parameter('adaptation.rest_after', _ADAPTATION.rest_after, 'Time without desired motion after '
              'which estimates do not change.', 's', 0.0, 1e6, read_only=True),
    Parameter('adaptation.rest_sliding', _ADAPTATION.rest_sliding, 'Entry of s above which '
              'estimates change although the arm is at rest.', 'rad/s or m/s', 0.0, 1e6,
              read_only=True),
    Parameter('known.links', (), 'Links with known inertial parameters, which are not estimated.',
              element=str, read_only=True),
    Parameter('known.parameters', (), 'Single parameters that are known, e.g. link7/m or '
              'joint3/viscous.', element=str, read_only=True),
    Parameter('known.combinations', (), 'Sums of parameters that are known, e.g. link1/Jzz + 0.25 '
              'link2/m.', element=str, read_only=True),
    Parameter('estimates.restore_from', '', 'File of estimates to start from; empty for none. It '
              'need not exist if estimates are saved to the same file.', read_only=True),
    Parameter('estimates.save_to', '', 'File that estimates are written to when the controller '
              'releases the arm; empty for none.', read_only=True),
    Parameter('contact_topic', 'inverse_dynamics/contact', 'Topic with contacts of the arm; '
              'during a contact estimates do not change.', read_only=True, topic=True),
    Parameter('contact_freezes', True, 'Whether contacts freeze estimates.', read_only=True),
)


class AdaptiveControllerNode(FeedbackControllerNode):
    """The law of Slotine and Li in a managed node."""

    law: AdaptiveController
    gains = (*FeedbackControllerNode.gains, _FREQUENCY)

    def __init__(self, stopped: StopRequest):
        super().__init__('adaptive_controller', TABLE, stopped)
        self._reference_began: float | None = None
        self._trajectories = 0

    def make_law(self, robot: Robot, values: Values) -> AdaptiveController:
        """Make the law that the parameters describe, with restored estimates."""
        law = make_law(robot, values)
        if source := _estimates_file(values):
            self.get_logger().info(f'estimates restored from {source}')
        if values['estimates.save_to']:
            # Now, not after the motion, when the estimates would be lost.
            path = Path(values['estimates.save_to'])
            require_replaceable(path.parent, (path.name,))
        return law

    def build(self) -> None:
        """Build everything; log the analysis of the gains, and subscribe to contacts."""
        self._in_contact = False
        super().build()
        values = self.parameters.values
        # The gains are analysed and logged before the arm moves.
        report = loop_report(self.law, period=1.0 / values['rate'], delay=values['delay'])
        if report.frequency < report.limit:
            self.get_logger().info(str(report))
        else:
            self.get_logger().warning(f'{report}: lower adaptation.frequency')
        self.fast.subscribe(Bool, values['contact_topic'], self._on_contact, qos.command())

    def release_arm(self, reason: str) -> None:
        """Release the arm, then save the estimates if a file is set."""
        super().release_arm(reason)
        path = self.parameters.values['estimates.save_to']
        if not path:
            return
        try:
            self.law.save(path)
            self.get_logger().info(f'estimates saved to {path}')
        except (FileError, ParameterError) as error:
            self.get_logger().error(f'estimates not saved: {error}')

    def judge(self, values: Values) -> None:
        """Raise a RobotDynamicsError if gains cannot be used during control."""
        judged = self.law.feedback.judge(make_feedback_gains(self.robot, values))
        self.law.check_frequency(values[_FREQUENCY], judged.gains)

    def retune(self, values: Values) -> None:
        """Begin a change to gains that `judge` accepted."""
        super().retune(values)
        self.law.change_frequency(values[_FREQUENCY], CHANGE_TIME)

    def before_cycle(self) -> None:
        """Decide whether the estimates may change."""
        values, session = self.values, self.session
        if session.mode is not Mode.TRACKING:
            self._reference_began = None
        elif self._reference_began is None and session.counts['trajectories'] > self._trajectories:
            self._reference_began = session.monitor.stamp
        self._trajectories = session.counts['trajectories']
        session.adapt_enabled = values['adapt'] and not self._contact_counts() \
            and self._reference_began is not None and (
                session.monitor.stamp - self._reference_began >= values['adapt_after'])

    def law_telemetry(self) -> tuple[Callable[[int], None], ...]:
        """Make the publishers of the sliding variable and the estimates."""
        self._trajectories = 0
        names = self.robot.joint_names
        self._sliding = JointStateMessage(names, velocity=True)
        self._slidings = self.advertise(JointState, '~/sliding_variable', qos.telemetry())
        self._estimate = ArrayMessage(('parameter',), (len(self.law.estimate),))
        self._estimates = self.advertise(Float64MultiArray, '~/parameter_estimate',
                                         qos.telemetry())
        self.advertise(String, '~/parameter_names', qos.latched()).publish(
            String(data=json.dumps(list(self.law.estimate_names))))
        return self._publish_sliding, self._publish_estimate

    def law_status(self) -> dict[str, Callable[[], Status]]:
        """Diagnostics item of the estimates."""
        return {'adaptation': self._adaptation_status}

    def _publish_sliding(self, stamp: int) -> None:
        if self.session.mode is Mode.TRACKING:
            self._sliding.velocity[:] = self.law.s
            self._slidings.publish(self._sliding.stamp(stamp))

    def _publish_estimate(self, stamp: int) -> None:
        self._estimates.publish(self._estimate.fill(self.law.parameters))

    def _on_contact(self, message: Bool) -> None:
        self._in_contact = message.data

    def _contact_counts(self) -> bool:
        """Whether there is a contact that freezes the estimates."""
        return self._in_contact and self.values['contact_freezes']

    def _adaptation_status(self) -> Status:
        session, law = self.session, self.law
        values = {'adapts': session.adapted and not law.frozen,
                  'steps not adapted': session.counts['not_adapted']}
        if law.frozen_reason == AT_REST:
            return Status(Level.OK, f'held: {AT_REST}', values)
        if law.frozen:
            return Status(Level.WARN, f'frozen: {law.frozen_reason}', values)
        if self._contact_counts():
            return Status(Level.OK, 'held: the arm is in contact', values)
        return Status(Level.OK, 'adapts' if session.adapted else 'held', values)


def make_law(robot: Robot, values: Values) -> AdaptiveController:
    """Make the law that the parameters describe, with restored estimates."""
    law = AdaptiveController(
        robot, adaptation=AdaptationGains(**group(values, 'adaptation', AdaptationGains)),
        known=PartialKnowledge(**group(values, 'known', PartialKnowledge)),
        allow_unphysical=values['allow_unphysical'], **feedback_keywords(robot, values))
    if source := _estimates_file(values):
        law.restore(source)
    return law


main = partial(run_controller, AdaptiveControllerNode, TABLE)

if __name__ == '__main__':
    sys.exit(main())
