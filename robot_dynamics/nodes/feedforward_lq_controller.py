# SPDX-License-Identifier: Apache-2.0
"""Track a reference by feedforward of the model and least-squares feedback around it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.lq.certificate import ModelErrors
from robot_dynamics.control.lq.design import LARGEST_RESCALE, FeedbackDesign, Schedule
from robot_dynamics.control.lq.gain_table import GainPlanner
from robot_dynamics.control.lq.rules import (
    HIGHEST_ORDER,
    OneStepRule,
    RiccatiRule,
    rule_of_design,
)
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.effort_controller import EffortControllerNode, run_controller
from robot_dynamics.nodes.controller.parameters import group
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.stopping import StopRequest

_DESIGN, _SCHEDULE, _ERRORS = FeedbackDesign(), Schedule(), ModelErrors()

TABLE = (
    Parameter('delay', 0.002, 'Time from the measurement of a state to the effort that answers '
              'it, with which the feedback has to be stable.', 's', 0.0, 0.1, read_only=True),
    Parameter('gain', RiccatiRule.name, 'riccati minimises over an infinite horizon, one_step '
              'over one horizon.', choices=(OneStepRule.name, RiccatiRule.name), read_only=True),
    Parameter('feedback.bandwidth', _DESIGN.bandwidth, 'Rate at which velocity errors decay; '
              'horizon and weights follow.', '1/s', 0.1, 1000.0, read_only=True),
    Parameter('feedback.time_constant', _DESIGN.time_constant, 'Time constant with which position '
              'errors decay.', 's', 1e-4, 100.0, read_only=True),
    Parameter('feedback.disturbance_rate', _DESIGN.disturbance_rate, 'Rate at which an integral '
              'compensates a torque that is not in the model, such as that of a payload; 0 for '
              'no integral. A fifteenth of the bandwidth is robust.', '1/s', 0.0, 1000.0,
              read_only=True),
    Parameter('feedback.largest_disturbance', _DESIGN.largest_disturbance, 'Largest torque that '
              'the integral compensates, as a share of the effort limits.', '', 0.001, 1.0,
              read_only=True),
    Parameter('feedback.series_order', 0, 'Last power of A T in the series of the transition '
              'matrix; 0 for as many as the arm needs.', low=0, high=HIGHEST_ORDER,
              read_only=True),
    Parameter('feedback.ahead', True, 'Whether gains along a trajectory are computed when it '
              'arrives, off the control loop, instead of in it.', read_only=True),
    Parameter('schedule.eps0', _SCHEDULE.eps0, 'Error norm below which the feedback is zero.',
              'rad or m', 0.0, 10.0, read_only=True),
    Parameter('schedule.eps1', _SCHEDULE.eps1, 'Error norm above which the gain is updated.',
              'rad or m', 0.0, 10.0, read_only=True),
    Parameter('schedule.eps2', _SCHEDULE.eps2, 'Error norm above which the arm gets the safe '
              'command.', 'rad or m', 1e-4, 100.0, read_only=True),
    Parameter('schedule.debounce', _SCHEDULE.debounce, 'Number of consecutive states with an '
              'error norm above schedule.eps2 after which the safe command is sent.', low=1,
              high=1000, read_only=True),
    Parameter('schedule.update_period', _SCHEDULE.update_period, 'Shortest time between two '
              'updates of the gain.', 's', 0.0, 1.0, read_only=True),
    Parameter('schedule.rescale', _SCHEDULE.rescale, 'Largest factor by which weights follow the '
              'largest errors; 1 for constant weights.', '', 1.0, LARGEST_RESCALE, read_only=True),
    Parameter('errors.masses', _ERRORS.masses, 'Error of masses of the model with which the '
              'feedback has to be stable.', '%', 0.0, 99.0, read_only=True),
    Parameter('errors.lengths', _ERRORS.lengths, 'Error of lengths of the model with which the '
              'feedback has to be stable.', '%', 0.0, 99.0, read_only=True),
    Parameter('errors.payload', _ERRORS.payload, 'Unknown payload with which the feedback has to '
              'be stable, as a share of the mass of all links.', '%', 0.0, 1000.0, read_only=True),
)

#: Largest number of knots of gains computed ahead, and their largest distance; otherwise gains are
#: computed in the loop. s.
_MOST_KNOTS, _LARGEST_SPACING = 500, 0.05


class FeedforwardLQControllerNode(EffortControllerNode):
    """Feedforward and LQ feedback in a managed node."""

    law: FeedforwardLQController

    def __init__(self, stopped: StopRequest):
        super().__init__('feedforward_lq_controller', TABLE, stopped)
        self._planner: GainPlanner | None = None
        self._planned_load: FloatArray | None = None

    def make_law(self, robot: Robot, values: Values) -> FeedforwardLQController:
        """Make the law that the parameters describe."""
        return make_law(robot, values)

    def build(self) -> None:
        """Build everything; log the stability certificate."""
        super().build()
        values = self.parameters.values
        with self.stopped.interrupting():
            # The certificate was made without payload.
            if np.any(self.law.model.load):
                self.law.certify()
        self.get_logger().info(str(self.law.certificate))
        if values['feedback.ahead']:
            self._planner = GainPlanner(rule_of_design(
                values['gain'], self.robot.n, self.law.design, self.law.period,
                order=self.law.rule.order))

    def before_cycle(self) -> None:
        """Use gains that were computed in the meantime."""
        planner, law = self._planner, self.law
        # Gains for another payload are not used.
        if planner is not None and law.model.load is self._planned_load:
            table = planner.take()
            if table is not None:
                law.follow(table)

    def take_down(self) -> None:
        """Destroy every endpoint, and end the planner."""
        super().take_down()
        if self._planner is not None:
            self._planner.close()
            self._planner = None

    def law_status(self) -> dict[str, Callable[[], Status]]:
        """Diagnostics items of feedback and certificate."""
        return {'feedback': self._feedback_status, 'certificate': self._certificate_status}

    def on_trajectory(self, length: float) -> None:
        """Start to compute the gains along a trajectory."""
        if self._planner is None or self.law.model.changes:
            return
        spacing = min(max(self.parameters.values['schedule.update_period'],
                          1.0 / self.parameters.values['rate'], length / _MOST_KNOTS),
                      _LARGEST_SPACING)
        knots = min(int(length / spacing) + 2, _MOST_KNOTS)
        now = self.session.monitor.stamp
        self._planned_load = self.law.model.load
        self._planner.plan(self.law.model.snapshot(),
                           self.session.trajectory.sample_many(now + spacing * np.arange(knots)),
                           spacing)

    def _feedback_status(self) -> Status:
        law, schedule = self.law, self.law.schedule
        values = {'gain': law.rule.name, 'error norm': f'{law.error_norm:.4g}',
                  'gains updated': schedule.counts['updates'],
                  'of them computed ahead': law.from_table,
                  'states without feedback': schedule.counts['skipped']}
        if law.disturbance is not None:
            values['compensated'] = ', '.join(f'{x:.3g}' for x in law.disturbance.effort)
        failure = '' if self._planner is None else self._planner.failure
        if failure:
            return Status(Level.WARN, f'gains are not computed ahead: {failure}', values)
        return Status(Level.OK, 'feeds back' if self.session.mode.follows else 'does not track',
                      values)

    def _certificate_status(self) -> Status:
        certificate = self.law.certificate
        values = {f'spectral radius, {verdict.arm}': f'{verdict.radius:.4f}'
                  for verdict in certificate.verdicts}
        if self.law.model.load is not self.law.certified_load:
            return Status(Level.WARN, 'certified with another payload; configure the node again '
                                      'for this one', values)
        return Status(Level.OK, f'stable for all assumed model errors, with a delay of '
                                f'{1e3 * certificate.delay:g} ms', values)


def make_law(robot: Robot, values: Values) -> FeedforwardLQController:
    """Make the law that the parameters describe."""
    schedule = Schedule(**group(values, 'schedule', Schedule))
    schedule.require_below(values['max_tracking_error'])
    return FeedforwardLQController(
        robot, gain=values['gain'],
        design=FeedbackDesign(**group(values, 'feedback', FeedbackDesign)),
        order=values['feedback.series_order'] or None, schedule=schedule,
        errors=ModelErrors(**group(values, 'errors', ModelErrors)),
        period=1.0 / values['rate'], delay=values['delay'])


main = partial(run_controller, FeedforwardLQControllerNode, TABLE)

if __name__ == '__main__':
    sys.exit(main())
