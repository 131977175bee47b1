# SPDX-License-Identifier: Apache-2.0
"""A managed node around a control session: joint states in, efforts out.

The control law runs in the callback of the joint states: an answer waits for
nothing, and its time is that of the state.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.modes import Command, Mode
from robot_dynamics.control.protocol import TrackingController
from robot_dynamics.control.trajectory_points import TrajectoryPoint
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes import qos
from robot_dynamics.nodes.command_output import COMMAND_TYPES, command_obstacle
from robot_dynamics.nodes.controller_parameters import CONTROLLER_PARAMETERS, make_session
from robot_dynamics.nodes.controller_status import command_status, model_status, state_status
from robot_dynamics.nodes.convert import (
    ArrayMessage,
    JointStateMessage,
    StampClock,
    joint_order,
    to_nanoseconds,
)
from robot_dynamics.nodes.description import load_robot
from robot_dynamics.nodes.diagnostics import CycleStatistics, Diagnostics, Status
from robot_dynamics.nodes.managed import ManagedNode
from robot_dynamics.nodes.parameters import Parameter, Values
from robot_dynamics.nodes.runtime import freeze_garbage
from robot_dynamics.nodes.stopping import StopRequest
from robot_dynamics.nodes.telemetry import Telemetry

#: Time between two copies of a safe command. s.
_COPY_PERIOD = 0.002
#: How long to wait until a drive has taken the last command. s.
_LAST_WORDS_TIMEOUT = 0.05
#: Slack of the watchdog, so that it does not ring just before the time is over. s.
_WATCHDOG_SLACK = 0.0005
#: Warnings of one kind are this far apart. s.
_WARNING_PERIOD = 2.0


class EffortControllerNode(ManagedNode):
    """Runs a control session; a subclass brings the law.

    Parameters
    ----------
    name : str
        Name of the node.
    table : sequence of Parameter
        Parameters of the law.
    stopped : StopRequest
        Whether the process is asked to stop.
    """

    def __init__(self, name: str, table: Sequence[Parameter], stopped: StopRequest):
        super().__init__(name, (*CONTROLLER_PARAMETERS, *table), stopped)
        self._publishers_made: list[Any] = []
        self._diagnostics: Diagnostics | None = None
        self._accepted_at = -np.inf

    @abstractmethod
    def make_law(self, robot: Robot, values: Values) -> TrackingController:
        """Return the control law."""

    def law_telemetry(self) -> tuple[Callable[[int], None], ...]:
        """Make the publishers of the law and return what publishes on each."""
        return ()

    def law_status(self) -> dict[str, Callable[[], Status]]:
        """Return diagnostics items of the law."""
        return {}

    def before_cycle(self) -> None:
        """Do what the law needs before a joint state is answered."""

    def build(self) -> None:
        """Build model, law, session and endpoints."""
        values = self.parameters.values
        self.robot = load_robot(self, values, self.stopped)
        with self.stopped.interrupting():
            self.law = self.make_law(self.robot, values)
            self._warm_up()
        self.session = make_session(self.robot, self.law, values)
        self.session.stop('not activated yet')
        self._steady_origin = time.monotonic()
        self._stamps = StampClock(self)
        self._mode: Mode | None = None
        self._cycle = CycleStatistics()
        self._open(values)
        freeze_garbage()
        self.fast.subscribe(JointState, 'joint_states', self._on_joint_state, qos.state())
        self._watchdog = self.fast.tick(values['state_timeout'] + _WATCHDOG_SLACK,
                                        self._on_silence)
        self.fast.subscribe(JointTrajectory, '~/reference', self._on_reference, qos.command())
        self._tell_mode()

    def take_down(self) -> None:
        """Destroy every endpoint."""
        self.fast.destroy()
        for publisher in self._publishers_made:
            self.destroy_publisher(publisher)
        self._publishers_made.clear()
        if self._diagnostics is not None:
            self._diagnostics.destroy()
            self._diagnostics = None

    def obstacle(self) -> str | None:
        """Return what stands against moving the arm."""
        values, session = self.parameters.values, self.session
        states = self.fast.subscriptions[0][0].topic_name
        publishers, wanted = self.count_publishers(states), values['state_publishers']
        if wanted and publishers != wanted:
            return f'{states} has {publishers} publishers, not {wanted}'
        reason = command_obstacle(self, self._commands.topic_name, self._command.message_type)
        if reason is not None:
            return reason
        if time.monotonic() - self._accepted_at > values['state_timeout']:
            return f'no complete joint state; last message: {session.verdict or "none"}'
        return None

    def engage(self) -> None:
        """Answer from the next joint state on."""
        self.session.reactivate()
        self._tell_mode()

    def let_go(self, reason: str) -> None:
        """Send the safe command some times and nothing after it."""
        command = self.session.stop(reason)
        if command is not None:
            for _ in range(self.parameters.values['safe_command_count']):
                self._send(command)
                time.sleep(_COPY_PERIOD)
            # A reliable listener has it for certain; one that is gone is not waited for long.
            self._commands.wait_for_all_acked(Duration(seconds=_LAST_WORDS_TIMEOUT))
        self._tell_mode()
        # The publisher may be destroyed next, and its last word with it.
        self._modes.wait_for_all_acked(Duration(seconds=_LAST_WORDS_TIMEOUT))

    def advertise(self, message_type: type, topic: str, profile: Any) -> Any:
        """Create a publisher that `take_down` destroys."""
        publisher = self.create_publisher(message_type, topic, profile,
                                          qos_overriding_options=qos.overridable())
        self._publishers_made.append(publisher)
        return publisher

    def _warm_up(self) -> None:
        """Call the law once: kernels are compiled, or loaded, at their first call."""
        lower, upper = self.robot.limits.lower, self.robot.limits.upper
        q, still = np.clip(0.0, lower, upper), np.zeros(self.robot.n)
        self.law.update(q, still, q, still, still, 0.0, adapt=False)
        self.law.holding_effort(q, still, q)
        self.law.safe_effort(q, still)
        self.law.reset(q, still)

    def _open(self, values: Values) -> None:
        """Create publishers, telemetry and diagnostics."""
        names = self.robot.joint_names
        order = joint_order('command_joints', values['command_joints'], names)
        self._command = COMMAND_TYPES[values['command_type']](names, order)
        self._commands = self.advertise(self._command.message_type, values['command_topic'],
                                        qos.command())
        self._modes = self.advertise(String, '~/mode', qos.latched())
        self._error = JointStateMessage(names, position=True, velocity=True)
        self._errors = self.advertise(JointState, '~/tracking_error', qos.telemetry())
        self._named = JointStateMessage(names, effort=True, frame=self.robot.base_name)
        self._named_commands = self.advertise(JointState, '~/command', qos.telemetry())
        self._timing = ArrayMessage(('timing',), (4,))
        self._timings = self.advertise(Float64MultiArray, '~/timing', qos.telemetry())
        self._telemetry = Telemetry(values['rate'], values['telemetry_rate'], (
            self._publish_error, self._publish_command, self._publish_timing,
            *self.law_telemetry()))
        self._diagnostics = Diagnostics(self, self.robot.name, {
            'state': lambda: state_status(self.session),
            'loop': lambda: self._cycle.status(1.0 / values['rate']),
            'command': lambda: command_status(
                self.session, self.count_subscribers(self._commands.topic_name)),
            'model': lambda: model_status(self.robot), **self.law_status()})

    def _on_joint_state(self, message: JointState) -> None:
        """Answer a joint state."""
        self._cycle.start()
        self.before_cycle()
        session = self.session
        stamp = to_nanoseconds(message.header.stamp)
        steady = time.monotonic()
        command = session.on_joint_state(
            self._stamps.received(stamp), self._stamps.seconds(stamp), message.name,
            message.position, message.velocity, message.effort,
            steady_time=steady - self._steady_origin)
        if command is not None:
            self._send(command)
            timing = self._timing.values
            timing[0] = self._stamps.now() - command.stamp
            timing[2] = max(timing[2], timing[0])
        if session.verdict.accepted:
            self._accepted_at = steady
            self._watchdog.reset()
        if session.mode is not self._mode:
            self._tell_mode()
        if command is not None:
            self._telemetry.cycle(stamp)
        timing = self._timing.values
        timing[1] = self._cycle.finish()
        timing[3] = max(timing[3], timing[1])

    def _on_silence(self) -> None:
        """Send the safe command some times: no good joint state has come for too long."""
        for _ in range(self.parameters.values['safe_command_count']):
            command = self.session.on_tick(time.monotonic() - self._steady_origin)
            if command is None:
                break
            self._send(command)
            time.sleep(_COPY_PERIOD)
        self._tell_mode()

    def _send(self, command: Command) -> None:
        self._commands.publish(self._command.fill(command.effort, self.session.monitor.q))

    def _tell_mode(self) -> None:
        """Tell of a change of mode."""
        session = self.session
        if session.mode is self._mode:
            return
        self._mode = session.mode
        self._modes.publish(String(data=session.mode.value))
        text = f'{session.mode.value}: {session.reason}'
        if session.mode is Mode.SAFE:
            self.get_logger().error(text)
        else:
            self.get_logger().info(text)

    def _on_reference(self, message: JointTrajectory) -> None:
        """Take over a trajectory, or say why not."""
        stamp = to_nanoseconds(message.header.stamp)
        points = [TrajectoryPoint(point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec,
                                  point.positions, point.velocities, point.accelerations)
                  for point in message.points]
        try:
            self.session.accept_trajectory(
                message.joint_names, points, self._stamps.seconds(stamp))
        except TrajectoryError as error:
            self.get_logger().warning(f'trajectory refused: {error}',
                                      throttle_duration_sec=_WARNING_PERIOD)

    def _publish_error(self, stamp: int) -> None:
        session = self.session
        if session.mode is Mode.TRACKING:
            np.subtract(session.q_d, session.monitor.q, out=self._error.position)
            np.subtract(session.v_d, session.monitor.v, out=self._error.velocity)
            self._errors.publish(self._error.stamp(stamp))

    def _publish_command(self, stamp: int) -> None:
        self._named.effort[:] = self.session.limiter.effort
        self._named_commands.publish(self._named.stamp(stamp))

    def _publish_timing(self, stamp: int) -> None:
        """Publish latency and duration, and the worst of each since the last message."""
        self._timings.publish(self._timing.message)
        self._timing.values[2:] = 0.0
