# SPDX-License-Identifier: Apache-2.0
"""Track a reference with an arm with elastic joints, from the encoders of its motors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from robot_dynamics.control.laws.elastic_gains import ElasticLoop, ElasticPDGains
from robot_dynamics.control.laws.elastic_pd import ElasticPDController
from robot_dynamics.control.session.elastic_session import ElasticSession
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot, effort_units, position_units
from robot_dynamics.nodes.controller.effort_controller import EffortControllerNode, run_controller
from robot_dynamics.nodes.ros.description import (
    DESCRIPTION,
    ELASTIC_JOINTS,
    MOTOR_PARAMETERS,
    load_described,
    load_elastic_robot,
    motor_names,
)
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint
from robot_dynamics.nodes.ros.stopping import StopRequest

TABLE = (
    Parameter('elastic_joints', DESCRIPTION, ELASTIC_JOINTS + '.', read_only=True),
    *MOTOR_PARAMETERS,
    Parameter('delay', 0.001, 'Time from the measurement of a state to the effort that answers '
              'it, which bounds the gains.', 's', 0.0, 0.1, read_only=True),
    Parameter('gains.stiffness', (), 'K_P of each motor; empty for a value slightly above the '
              'smallest one that excludes other equilibria.', 'N m/rad or N/m', 1e-6, 1e9,
              read_only=True),
    Parameter('gains.damping', (), 'K_D of each motor, below the limit of the sampled loop; '
              'empty for the values that maximise the decay rate of the slowest mode.',
              'N m s/rad or N s/m', 1e-6, 1e9, read_only=True),
)


class ElasticPDControllerNode(EffortControllerNode):
    """PD control with on-line gravity compensation in a managed node."""

    law: ElasticPDController
    session_type = ElasticSession

    def __init__(self, stopped: StopRequest):
        super().__init__('elastic_pd_controller', TABLE, stopped)

    def load_model(self, values: Values) -> Robot:
        """Load motors and springs; return the links."""
        if values['hardware_gravity_compensation']:
            raise ParameterError('must be false for an arm with elastic joints, got true',
                                 subject='parameter hardware_gravity_compensation',
                                 remedy='switch gravity compensation of the drives off')
        described = load_described(self, values, self.stopped)
        self._elastic = load_elastic_robot(described, values)
        return self._elastic.links

    def make_law(self, robot: Robot, values: Values) -> ElasticPDController:
        """Make the law with the gains of the parameters, or those of its design."""
        return make_law(self._elastic, values)

    def states_topic(self, values: Values) -> str:
        """Topic of the states of the motors."""
        return values['motor_states']

    def state_names(self, values: Values) -> tuple[str, ...]:
        """Names of the motors in these states."""
        return motor_names(values, self.robot.joint_names)

    def build(self) -> None:
        """Build everything; log the gains and their analysis."""
        super().build()
        with self.stopped.interrupting():
            # The gains were analysed without payload.
            if np.any(self.law.model.load):
                self.law.judge()
        gains = self.law.gains
        units = tuple(zip(effort_units(self.robot), position_units(self.robot), strict=True))
        self.get_logger().info(
            'K_P ' + ', '.join(f'{gain:.4g}' for gain in gains.stiffness) + ' '
            + ' or '.join(dict.fromkeys(f'{effort}/{position}' for effort, position in units))
            + '; K_D ' + ', '.join(f'{gain:.3g}' for gain in gains.damping) + ' '
            + ' or '.join(dict.fromkeys(f'{effort} s/{position}' for effort, position in units)))
        self.get_logger().info(str(self.law.report))

    def law_status(self) -> dict[str, Callable[[], Status]]:
        """Diagnostics item of the gains."""
        return {'gains': self._gains_status}

    def _gains_status(self) -> Status:
        law, report = self.law, self.law.report
        values = {'sufficient stiffness': f'{report.least_stiffness:.4g}',
                  'spectral radius': f'{report.radius:.4f}',
                  'stable up to a delay of': f'{1e3 * report.longest_delay:.3g} ms',
                  **{f'damping of {name}': f'{gain:.3g} of {bound:.3g}'
                     for name, gain, bound in zip(law.robot.joint_names, law.gains.damping,
                                                  report.damping_bound, strict=True)}}
        if law.model.load is not law.judged_load:
            return Status(Level.WARN, 'analysed with another payload; configure the node again '
                                      'for this one', values)
        if not report.is_stiff_enough:
            return Status(Level.WARN, 'stable, but other equilibria are not excluded', values)
        return Status(Level.OK, 'stable, and the set point is the only equilibrium', values)


def make_law(robot: ElasticRobot, values: Values) -> ElasticPDController:
    """Make the law of the parameters for a robot.

    Raises a RobotDynamicsError if values do not match the robot or gains are outside their bounds.
    """
    names = robot.links.joint_names
    timing = {'period': 1.0 / values['rate'], 'delay': values['delay']}
    given = {name: per_joint(values, f'gains.{name}', names) for name in ('stiffness', 'damping')
             if values[f'gains.{name}']}
    if not given:
        return ElasticPDController(robot, **timing)
    if len(given) < 2:
        designed = ElasticLoop(ElasticDynamics(robot), **timing).design(given.get('stiffness'))
        given = {'stiffness': designed.stiffness, 'damping': designed.damping, **given}
    return ElasticPDController(robot, gains=ElasticPDGains(**given), **timing)


main = partial(run_controller, ElasticPDControllerNode, TABLE)

if __name__ == '__main__':
    sys.exit(main())
