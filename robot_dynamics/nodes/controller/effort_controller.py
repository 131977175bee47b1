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
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.session.modes import Command, Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.commands import COMMAND_TYPES, CommandClaim
from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS, make_session
from robot_dynamics.nodes.controller.services import PayloadServices, StopServices, payload_of
from robot_dynamics.nodes.controller.trajectory_message import read_trajectory
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import load_robot
from robot_dynamics.nodes.ros.diagnostics import (
    CycleStatistics,
    Diagnostics,
    Status,
    command_status,
    model_status,
    state_status,
)
from robot_dynamics.nodes.ros.lifecycle import ManagedNode
from robot_dynamics.nodes.ros.messages import (
    ArrayMessage,
    JointStateMessage,
    StampClock,
    joint_order,
    to_nanoseconds,
)
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.runtime import freeze_garbage
from robot_dynamics.nodes.ros.stopping import StopRequest
from robot_dynamics.nodes.ros.subscriptions import SizeLimitedReader

#: Time between two copies of a safe command. s.
_COPY_PERIOD = 0.002
#: Longest time that going over to the safe command may take where efforts change slowly. s.
_LONGEST_WIND_DOWN = 0.5
#: How long to wait until a drive has taken the last command. s.
_LAST_WORDS_TIMEOUT = 0.05
#: How long a preparation to take over waits for being activated. s.
PATIENCE = 10.0
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

    #: How the arm is led.
    session_type = ControlSession
    #: Whether there is a law, and everything around it.
    is_built = False

    def __init__(self, name: str, table: Sequence[Parameter], stopped: StopRequest):
        super().__init__(name, (*CONTROLLER_PARAMETERS, *table), stopped)
        self._publishers_made: list[Any] = []
        self._services_made: list[Any] = []
        self._diagnostics: Diagnostics | None = None
        self._accepted_at = -np.inf
        self._commands: CommandClaim | None = None
        self._patience: Timer | None = None

    def load_model(self, values: Values) -> Robot:
        """Return the arm."""
        return load_robot(self, values, self.stopped)

    def states_topic(self, values: Values) -> str:
        """Return where the states come from that are answered."""
        return 'joint_states'

    def state_names(self, values: Values) -> tuple[str, ...]:
        """Return what joints are called there."""
        return self.robot.joint_names

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

    def check(self, values: Values) -> None:
        """Refuse a payload that cannot be, or that the arm cannot hold."""
        payload_of(values)
        if self.is_built:
            self._payload.check(values)

    def on_parameters(self, values: Values) -> None:
        """Take over changed parameters."""
        if self.is_built:
            self._payload.on_parameters(values)

    def build(self) -> None:
        """Build model, law, session and endpoints."""
        values = self.parameters.values
        self.robot = self.load_model(values)
        with self.stopped.interrupting():
            self.law = self.make_law(self.robot, values)
            self._warm_up()
        self.session = make_session(self.robot, self.law, values, self.session_type,
                                    self.state_names(values))
        self._payload = PayloadServices(self.robot, self.law, lambda: self.session, values)
        self._period = 1.0 / values['rate']
        self.session.stop('not activated yet')
        self._steady_origin = time.monotonic()
        self._stamps = StampClock(self)
        self._mode: Mode | None = None
        self._cycle = CycleStatistics()
        self._open(values)
        freeze_garbage()
        topic = self.states_topic(values)
        states = SizeLimitedReader(self, JointState, topic, self._on_joint_state)
        self.fast.subscribe(JointState, topic, states.read, qos.state(), raw=True)
        self.fast.alarm(values['state_timeout'], self._on_deadline)
        self.fast.subscribe(JointTrajectory, '~/reference', self._on_reference, qos.command(),
                            raw=True)
        self._services_made += [
            self.create_service(Trigger, '~/prepare', self._on_prepare),
            self.create_service(SetBool, '~/carry_payload', self._on_carry_payload),
            *StopServices(self, lambda: self.session, self._tell_mode).services()]
        self.is_built = True
        self._tell_mode()

    def take_down(self) -> None:
        """Destroy every endpoint."""
        self.is_built = False
        self.fast.destroy()
        self._forget_preparation()
        if self._commands is not None:
            self._commands.release()
            self._commands = None
        for service in self._services_made:
            self.destroy_service(service)
        self._services_made.clear()
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
        reason = self._commands.obstacle()
        if reason is not None:
            return reason
        if time.monotonic() - self._accepted_at > values['state_timeout']:
            return f'no complete joint state on {states}; {session.last_message}'
        return None

    def rival(self) -> str | None:
        """Return who else commands the arm."""
        return self._commands.rival()

    def claim(self) -> None:
        """Let everybody see that this node will command the arm."""
        self._commands.make()

    def settle(self) -> str | None:
        """Wait until everybody has seen it; return who else commands the arm."""
        return self._commands.settle()

    def release(self) -> None:
        """Take that back."""
        self._commands.release()

    def engage(self) -> None:
        """Answer from the next joint state on."""
        self.session.reactivate()
        last = self._commands.last_effort()
        if last is not None:
            self.session.take_over(last)
        self._commands.forget_predecessors()
        self._tell_mode()

    def let_go(self, reason: str) -> None:
        """Send the safe command some times and nothing after it."""
        self._wind_down()
        command = self.session.stop(reason)
        if command is not None:
            for _ in range(self.parameters.values['safe_command_count']):
                self._send(command)
                time.sleep(_COPY_PERIOD)
            # Whoever takes over goes on from here.
            self._publish_command(self._stamps.nanoseconds(command.stamp))
            # A reliable listener has it for certain; one that is gone is not waited for long.
            for publisher in (self._commands, self._named_commands):
                publisher.wait_for_all_acked(Duration(seconds=_LAST_WORDS_TIMEOUT))
        self._commands.release()
        self._tell_mode()
        # The publisher may be destroyed next, and its last word with it.
        self._modes.wait_for_all_acked(Duration(seconds=_LAST_WORDS_TIMEOUT))

    def _wind_down(self) -> None:
        """Go over to the safe effort as fast as efforts may change, within some time."""
        deadline = time.monotonic() + _LONGEST_WIND_DOWN
        while time.monotonic() < deadline \
                and (command := self.session.wind_down(_COPY_PERIOD)) is not None:
            self._send(command)
            time.sleep(_COPY_PERIOD)

    def _on_prepare(self, request: Trigger.Request, response: Trigger.Response
                    ) -> Trigger.Response:
        """Get ready to follow whoever commands the arm now, without sending anything."""
        reason = None if self.is_active else self.obstacle()
        response.success = reason is None
        response.message = reason or ('is active' if self.is_active else
                                      f'ready for {PATIENCE:g} s')
        if response.success and not self.is_active:
            self._commands.make()
            self._commands.listen_to_predecessors()
            self._commands.wait_until_known()
            self._forget_preparation()
            self._patience = self.create_timer(PATIENCE, self._on_impatience,
                                               clock=Clock(clock_type=ClockType.STEADY_TIME))
        return response

    def _on_carry_payload(self, request: SetBool.Request, response: SetBool.Response
                          ) -> SetBool.Response:
        """Take the arm to carry its payload, or nothing."""
        try:
            response.message = self._payload.carry(request.data)
            response.success = True
            self.get_logger().info(response.message)
        except RobotDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_impatience(self) -> None:
        """Give up what nobody came for."""
        self._forget_preparation()
        if not self.is_active:
            self._commands.release()

    def _forget_preparation(self) -> None:
        if self._patience is not None:
            self.destroy_timer(self._patience)
            self._patience = None

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
        self._commands = CommandClaim(self, values['command_topic'], self._command.message_type,
                                      names)
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
        # Simulated time may go by as slowly as it likes: no cycle is late by that of the machine.
        period = None if self.get_parameter('use_sim_time').value else 1.0 / values['rate']
        self._diagnostics = Diagnostics(self, self.robot.name, {
            'state': lambda: state_status(self.session),
            'loop': lambda: self._cycle.status(period),
            'command': lambda: command_status(
                self.session, self.count_subscribers(self._commands.topic)),
            'model': lambda: model_status(self.robot), **self.law_status()})

    def _on_joint_state(self, message: JointState) -> None:
        """Answer a joint state."""
        # First of all: what follows takes its time, and silence is counted from here.
        steady = time.monotonic()
        self._cycle.start()
        self._payload.before_cycle(self._period)
        self.before_cycle()
        session = self.session
        stamp = to_nanoseconds(message.header.stamp)
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
        if session.mode is not self._mode:
            self._tell_mode()
        if command is not None:
            self._telemetry.cycle(stamp)
        timing = self._timing.values
        timing[1] = self._cycle.finish()
        timing[3] = max(timing[3], timing[1])

    def _on_deadline(self) -> float:
        """Send the safe command where good states have stopped; return when to look again. s."""
        left = self.session.time_left(time.monotonic() - self._steady_origin)
        if left > 0.0:
            return left
        self._say_safe()
        return self.parameters.values['state_timeout']

    def _say_safe(self) -> None:
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

    def _on_reference(self, data: bytes) -> None:
        """Take over a trajectory, or say why not."""
        session = self.session
        refused = session.counts['trajectories_refused']
        try:
            message = read_trajectory(
                data, max_points=self.parameters.values['max_trajectory_points'])
            session.accept_trajectory(message.names, message.points,
                                      self._stamps.seconds(message.stamp))
        except TrajectoryError as error:
            session.counts['trajectories_refused'] = refused + 1
            self.get_logger().warning(f'refused: {error}',
                                      throttle_duration_sec=_WARNING_PERIOD)
            return
        self.on_trajectory(float(message.points.times[-1]))

    def on_trajectory(self, length: float) -> None:
        """Take note of a trajectory that the session has taken over, and of its length in s."""

    def _publish_error(self, stamp: int) -> None:
        session = self.session
        if session.mode.follows:
            np.subtract(session.q_d, session.pose, out=self._error.position)
            np.subtract(session.v_d, session.monitor.v, out=self._error.velocity)
            self._errors.publish(self._error.stamp(stamp))

    def _publish_command(self, stamp: int) -> None:
        self._named.effort[:] = self.session.limiter.effort
        self._named_commands.publish(self._named.stamp(stamp))

    def _publish_timing(self, stamp: int) -> None:
        """Publish latency and duration, and the worst of each since the last message."""
        self._timings.publish(self._timing.message)
        self._timing.values[2:] = 0.0


class Telemetry:
    """Calls one of several publishers in each cycle, each at the rate asked for.

    A cycle that published everything at once would be the slowest of all; so each
    has its own cycle of a round.

    Parameters
    ----------
    cycle_rate : float
        Rate at which `cycle` is called. Hz.
    rate : float
        Wanted rate of each publisher; the cycle rate divided by a whole number is
        what it gets. 0 for none. Hz.
    publishers : sequence of callable
        What to call, with the stamp in nanoseconds.
    """

    def __init__(self, cycle_rate: float, rate: float,
                 publishers: tuple[Callable[[int], None], ...]):
        self._round = max(1, round(cycle_rate / rate)) if rate > 0.0 else 0
        self._slots: list[list[Callable[[int], None]]] = [[] for _ in range(self._round)]
        for index, publisher in enumerate(publishers):
            if self._round:
                self._slots[index * self._round // len(publishers)].append(publisher)
        self._next = 0

    def cycle(self, stamp: int) -> None:
        """Publish what is due in this cycle; the stamp is that of the state, in ns."""
        if not self._round:
            return
        for publisher in self._slots[self._next]:
            publisher(stamp)
        self._next = (self._next + 1) % self._round
