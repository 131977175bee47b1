# SPDX-License-Identifier: Apache-2.0
"""Publish the model torques of a moving arm and their parts, faults and contacts."""

from __future__ import annotations

import json
import sys
import time
from functools import partial

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.control.faults.residuals import TorqueTerms
from robot_dynamics.control.states.joint_state import JointStateMonitor
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.parameters import REPORTED_PARAMETERS, make_reported_effort
from robot_dynamics.nodes.observing.fault_watch import FAULT_PARAMETERS, FaultWatch
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS, load_robot
from robot_dynamics.nodes.ros.diagnostics import (
    Diagnostics,
    cycle_status,
    model_status,
    monitor_status,
)
from robot_dynamics.nodes.ros.messages import (
    ArrayMessage,
    JointStateMessage,
    StampClock,
    array_of,
    joint_order,
    to_nanoseconds,
)
from robot_dynamics.nodes.ros.node import NodeParts, PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.runtime import freeze_garbage, run
from robot_dynamics.nodes.ros.stopping import StopRequest

#: Age above which a command is assumed to be inactive. s.
_LONGEST = 0.5

TABLE = (
    *ROBOT_PARAMETERS,
    *REPORTED_PARAMETERS,
    Parameter('effort_source', 'joint_states', 'Source of efforts: joint_states, with the meaning '
              'effort_kind, or commands, for an arm that does not report them.',
              choices=('joint_states', 'commands'), read_only=True),
    Parameter('command_topic', 'effort_controller/commands', 'commands: topic of the commands.',
              read_only=True, topic=True),
    Parameter('command_joints', (), 'commands: order of the joints; empty means that of the '
              'robot.', element=str, read_only=True),
    Parameter('hardware_gravity_compensation', False, 'commands: whether the arm adds gravity to '
              'commands.', read_only=True),
    *FAULT_PARAMETERS,
    Parameter('publish_rate', 100.0, 'Largest rate of every topic published.', 'Hz', 0.1, 2000.0,
              read_only=True),
    Parameter('regressor_rate', 0.0, 'Largest rate of ~/regressor; 0 for none.', 'Hz', 0.0,
              2000.0),
    Parameter('acceleration_cutoff', 20.0, 'Corner frequency of the low-pass that differentiates '
              'velocities.', 'Hz', 0.5, 200.0, read_only=True),
    Parameter('velocity_cutoff', 30.0, 'Corner frequency of estimated velocities, where '
              'joint_states have none.', 'Hz', 0.5, 200.0, read_only=True),
    Parameter('max_gap', 0.1, 'Longest gap between joint states; after a longer one the filters '
              'are reset.', 's', 0.001, 10.0, read_only=True),
)

#: Topics, and the attribute of `TorqueTerms` that each publishes.
_TOPICS = {
    '~/torque': 'torque', '~/terms/gravity': 'gravity', '~/terms/coriolis': 'coriolis',
    '~/terms/inertial': 'inertial', '~/terms/friction': 'friction', '~/residual': 'residual',
}


class ActingEffort:
    """Effort that acts on the joints, from joint states or commands."""

    def __init__(self, node: NodeParts, robot: Robot, dynamics: Dynamics, values: Values):
        self._reported = make_reported_effort(robot, dynamics, values)
        self._gravity = dynamics.gravity_torque if values['hardware_gravity_compensation'] \
            else None
        self._from_commands = values['effort_source'] == 'commands'
        self._order = np.argsort(joint_order('command_joints', values['command_joints'],
                                             robot.joint_names))
        self._command = np.full(robot.n, np.nan)
        self._received_at = -np.inf
        if self._from_commands:
            node.fast.subscribe(Float64MultiArray, values['command_topic'], self._on_command,
                                qos.command_input())

    def acting(self, q: FloatArray, reported: FloatArray) -> FloatArray:
        """Effort on the joints, including gravity, shape (n,), N m or N; nan if unknown.

        `reported`, shape (n,), are the efforts of the joint states.
        """
        if not self._from_commands:
            return self._reported.joint_effort(q, reported)
        if time.monotonic() - self._received_at > _LONGEST:
            return np.full_like(self._command, np.nan)
        return self._command if self._gravity is None else self._command + self._gravity(q)

    def _on_command(self, message: Float64MultiArray) -> None:
        """Store a command; commands that a driver would reject are ignored."""
        effort = array_of(message.data)
        if effort.shape == self._command.shape and np.isfinite(effort).all():
            self._command[:] = effort[self._order]
            self._received_at = time.monotonic()


class InverseDynamicsNode(PlainNode):
    """Node that publishes model torques for joint states."""

    def __init__(self, stopped: StopRequest):
        self._watch: FaultWatch | None = None
        super().__init__('inverse_dynamics', TABLE, stopped)

    def start(self) -> None:
        """Build the model and subscribe."""
        values = self.parameters.values
        robot = load_robot(self, values, self.stopped)
        with self.stopped.interrupting():
            self._dynamics = Dynamics(robot)
        # States may also be published by hand, for example to inspect torques.
        self._monitor = JointStateMonitor.for_robot(
            robot, velocity_cutoff=values['velocity_cutoff'], may_freeze=True)
        self._terms = TorqueTerms(robot, self._dynamics, cutoff=values['acceleration_cutoff'])
        self._stamps = StampClock(self)
        self._effort = ActingEffort(self, robot, self._dynamics, values)
        if values['faults.watch']:
            self._watch = FaultWatch(self, robot, self._dynamics, values)
        self._message = JointStateMessage(robot.joint_names, effort=True,
                                          frame=robot.base_name)
        self._outputs = [
            (part, self.advertise(JointState, topic, qos.telemetry()))
            for topic, part in _TOPICS.items()]
        self._regressor = ArrayMessage(('joint', 'parameter'), (robot.n, 10 * robot.n_bodies))
        self._regressors = self.advertise(Float64MultiArray, '~/regressor', qos.telemetry())
        self.advertise(String, '~/parameter_names', qos.latched()).publish(
            String(data=json.dumps(robot.parameter_names)))
        self._due = _Pace(values['publish_rate'])
        self._regressor_due = _Pace(values['regressor_rate'])
        with self.stopped.interrupting():
            self._warm_up(robot.n)
        faults = {} if self._watch is None else {'faults': self._watch.status}
        Diagnostics(self, robot.name, {'state': lambda: monitor_status(self._monitor),
                                       'loop': lambda: cycle_status(self.fast.cycle),
                                       'model': lambda: model_status(robot), **faults})
        freeze_garbage()
        self.fast.subscribe(JointState, 'joint_states', self._on_joint_state, qos.state())

    def on_parameters(self, values: Values) -> None:
        """Use changed parameters."""
        self._regressor_due = _Pace(values['regressor_rate'])
        if self._watch is not None:
            self._watch.on_parameters(values)

    def check(self, values: Values) -> None:
        """Reject thresholds that do not match the robot."""
        if self._watch is not None:
            self._watch.check(values)

    def _warm_up(self, n: int) -> None:
        """Compile, or load, the kernels before they are needed."""
        zero = np.zeros(n)
        self._terms.update(zero, zero, zero, 0.0)
        self._dynamics.regressor(zero, zero, zero)
        if self._watch is not None:
            self._watch.warm_up()

    def _on_joint_state(self, message: JointState) -> None:
        """Process a state, and publish when it is due."""
        self.fast.cycle.start()
        stamp = to_nanoseconds(message.header.stamp)
        monitor = self._monitor
        verdict = monitor.update(self._stamps.received(stamp), self._stamps.seconds(stamp),
                                 message.name, message.position, message.velocity,
                                 message.effort)
        if not verdict.accepted:
            return
        gap = monitor.dt > self.parameters.values['max_gap']
        dt = 0.0 if gap else monitor.dt
        effort = self._effort.acting(monitor.q, monitor.effort)
        self._terms.update(monitor.q, monitor.v, effort, dt)
        state_stamp = self._stamps.nanoseconds(monitor.stamp)
        due = self._due(monitor.stamp)
        if self._watch is not None:
            self._watch.update(monitor.q, monitor.v, effort, dt, monitor.stamp, state_stamp,
                               due=due)
        if due:
            for part, publisher in self._outputs:
                self._message.effort[:] = getattr(self._terms, part)
                publisher.publish(self._message.stamp(state_stamp))
        if self._regressor_due(monitor.stamp):
            self._regressors.publish(self._regressor.fill(self._dynamics.regressor(
                monitor.q, monitor.v, self._terms.acceleration)))
        self.fast.cycle.finish()


class _Pace:
    """Rate limiter; at rate 0 nothing is ever due."""

    def __init__(self, rate: float):
        # With a tolerance of one per cent, because states are not exactly periodic.
        self._period = 0.99 / rate if rate > 0.0 else np.inf
        self._last = -np.inf if rate > 0.0 else np.inf

    def __call__(self, now: float) -> bool:
        """Whether the period has passed, or time has gone back."""
        due = not 0.0 <= now - self._last < self._period and np.isfinite(self._period)
        if due:
            self._last = now
        return due


main = partial(run, InverseDynamicsNode, table=TABLE)

if __name__ == '__main__':
    sys.exit(main())
