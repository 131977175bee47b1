# SPDX-License-Identifier: Apache-2.0
"""A managed node around a control session: joint states in, efforts out.

The control law runs in the callback of the joint states, so that no answer waits for a timer, and
its time is that of the state.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.control.states.joint_state import Reason
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.commands import COMMAND_TYPES, CommandClaim
from robot_dynamics.nodes.controller.follow_joint_trajectory import (
    HAS_CONTROL_MSGS,
    ControllerState,
    TrajectoryAction,
)
from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS, make_session
from robot_dynamics.nodes.controller.references import References
from robot_dynamics.nodes.controller.services import PayloadServices, StopServices, payload_of
from robot_dynamics.nodes.controller.state_publishers import StatePublishers
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import load_robot
from robot_dynamics.nodes.ros.diagnostics import (
    Diagnostics,
    Status,
    command_status,
    cycle_status,
    model_status,
    state_status,
)
from robot_dynamics.nodes.ros.driver import LOOK_PERIOD, Driver
from robot_dynamics.nodes.ros.lifecycle import AUTOSTART, ManagedNode
from robot_dynamics.nodes.ros.messages import (
    ArrayMessage,
    JointStateMessage,
    SizeLimitedReader,
    StampClock,
    joint_order,
    to_nanoseconds,
)
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.runtime import freeze_garbage, run
from robot_dynamics.nodes.ros.spinning import WaitSet
from robot_dynamics.nodes.ros.stopping import StopRequest

#: Longest timeout of the states of an arm that does not wait for its controller. s.
LONGEST_STATE_TIMEOUT = 2.0
#: Time between two safe commands that answer no state. s.
_COPY_PERIOD = 0.002
#: Longest time for the change to the safe command where efforts change slowly. s.
_LONGEST_WIND_DOWN = 0.5
#: Longest wait until subscribers have received the last command. s.
_LAST_COMMAND_TIMEOUT = 0.05
#: How long a controller that was prepared to take over waits for its activation. s.
_PREPARED_TIME = 10.0
#: Longest wait until the effort controller is deactivated. s.
_DEACTIVATION_TIMEOUT = 1.0
#: A driver that did not stop the arm is asked again after this time. s.
_STOP_AGAIN = 1.0
#: Time between two looks for the nodes that publish joint states beside the arm. s.
_NAMING_PERIOD = 0.5
#: Warnings of one kind are this far apart. s.
_WARNING_PERIOD = 2.0


class EffortControllerNode(ManagedNode):
    """Runs a control session; a subclass provides the law."""

    #: The control law, a `TrackingController` and a `Carrier` of payloads.
    law: Any
    #: Class of the session.
    session_type = ControlSession
    #: Whether it follows references, of the topic and of the action.
    follows_references = True
    #: Whether `build` is complete.
    is_built = False

    def __init__(self, name: str, table: Sequence[Parameter], stopped: StopRequest):
        super().__init__(name, (*CONTROLLER_PARAMETERS, *table), stopped)
        self._publishers_made: list[Any] = []
        self._services_made: list[Any] = []
        self._diagnostics: Diagnostics | None = None
        self._accepted_at = self._distrusted_at = -np.inf
        #: `CommandClaim`, None while the node is not configured.
        self._commands: Any = None
        #: `Driver`, None while the node is not configured.
        self._driver: Any = None
        self._action: TrajectoryAction | None = None
        self._looking: Timer | None = None
        self._stop_asked_at = -np.inf
        self._preparation: Timer | None = None

    def load_model(self, values: Values) -> Robot:
        """Load the arm."""
        return load_robot(self, values, self.stopped)

    def states_topic(self, values: Values) -> str:
        """Topic of the states that are answered."""
        return 'joint_states'

    def state_names(self, values: Values) -> tuple[str, ...]:
        """Names of the joints in these states."""
        return self.robot.joint_names

    @abstractmethod
    def make_law(self, robot: Robot, values: Values) -> TrackingController:
        """Make the control law."""

    def law_telemetry(self) -> tuple[Callable[[int], None], ...]:
        """Make publishers of the law; return functions that publish at a stamp in ns."""
        return ()

    def law_status(self) -> dict[str, Callable[[], Status]]:
        """Diagnostics items of the law."""
        return {}

    def before_cycle(self) -> None:
        """Prepare the law before a joint state is answered."""

    def on_trajectory(self, length: float) -> None:
        """Handle a trajectory that the session has accepted, of some length in s."""

    def check(self, values: Values) -> None:
        """Reject a payload that is not physical or that the arm cannot hold."""
        payload_of(values)
        if self.is_built:
            self._payload.check(values)

    def on_parameters(self, values: Values) -> None:
        """Take over changed parameters."""
        self.values = values
        if self.is_built:
            self._payload.on_parameters(values)

    def build(self) -> None:
        """Build model, law, session and endpoints."""
        self.values = values = self.parameters.values
        if values['state_timeout'] > LONGEST_STATE_TIMEOUT \
                and not self.get_parameter('use_sim_time').value:
            raise ParameterError(f'must be {LONGEST_STATE_TIMEOUT:g} s or less, got '
                                 f'{values["state_timeout"]:g} s', subject='state_timeout',
                                 remedy='set it to 0.1, or use_sim_time for a simulated arm that '
                                        'waits for commands')
        self.robot = self.load_model(values)
        with self.stopped.interrupting():
            self.law = self.make_law(self.robot, values)
            self._warm_up()
        self.session = make_session(self.robot, self.law, values, self.session_type,
                                    self.state_names(values))
        self._payload = PayloadServices(self.robot, self.law, self.session, values)
        self._payload_stamp: float | None = None
        self._period = 1.0 / values['rate']
        self.session.stop('not activated yet')
        self._released_at = -np.inf
        self._steady_origin = time.monotonic()
        self._stamps = StampClock(self)
        self._mode: Mode | None = None
        self._cycle = self.fast.cycle
        self._references = References(self, self.session, self._stamps, self.on_trajectory)
        self._open(values)
        freeze_garbage()
        topic = self.states_topic(values)
        states = SizeLimitedReader(self, JointState, topic, self._on_joint_state)
        subscription = self.fast.subscribe(JointState, topic, states.read, qos.state(), raw=True,
                                           with_info=True)
        self._state_publishers = StatePublishers(
            self, subscription.topic_name, values['state_publishers'], values['state_timeout'])
        self.fast.alarm(values['state_timeout'], self._on_deadline)
        self._references.subscribe()
        self._services_made += [
            self.create_service(Trigger, '~/prepare', self._on_prepare),
            self.create_service(SetBool, '~/carry_payload', self._on_carry_payload),
            *StopServices(self, self.session, self._publish_mode).services()]
        self.is_built = True
        self._publish_mode()

    def take_down(self) -> None:
        """Destroy every endpoint."""
        self.is_built = False
        self.fast.destroy()
        if self._action is not None:
            self._action.destroy()
            self._action = None
        self._end_preparation()
        if self._looking is not None:
            self.destroy_timer(self._looking)
            self._looking = None
        if self._driver is not None:
            self._driver.destroy()
            self._driver = None
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

    def why_not_ready(self) -> str | None:
        """Reason that forbids moving the arm, None without one."""
        reason = self._state_publishers.why_not_ready() or self._commands.why_not_ready() \
            or self._driver.why_not_ready(self._commands.joints, ordered=self._commands.is_ordered)
        if reason is not None:
            return reason
        if time.monotonic() - self._accepted_at > self.values['state_timeout']:
            topic = self.fast.subscriptions[0][0].topic_name
            monitor = self.session.monitor
            # Others may be in messages of another rate.
            if monitor.missing and monitor.counts[Reason.WAITING] > self.values['rate']:
                return (f'{topic} has no states of {", ".join(monitor.missing)}; set joints to '
                        'those of the arm, which locks the others at zero, or remap joint_states '
                        'to the topic that has them')
            return f'no complete joint state on {topic}; {self.session.last_message}'
        return None

    def other_publisher(self) -> str | None:
        """Reason that another node commands the arm, None where none does."""
        return self._commands.other_publisher()

    def claim(self) -> None:
        """Announce that this node will command the arm."""
        self._commands.make()

    def wait_for_discovery(self) -> str | None:
        """Wait until all nodes see the claim; return `other_publisher`."""
        return self._commands.wait_for_discovery()

    def release(self) -> None:
        """Withdraw the claim."""
        self._commands.release()

    def engage(self) -> None:
        """Answer from the next joint state on."""
        self.session.reactivate()
        last = self._commands.last_effort()
        if last is None and time.monotonic() - self._released_at < _PREPARED_TIME:
            # The controller that was to follow has sent nothing.
            last = self.session.limiter.effort.copy()
        if last is not None:
            self.session.take_over(last)
        self._commands.forget_predecessors()
        self._publish_mode()

    def release_arm(self, reason: str) -> None:
        """Publish the safe command ``safe_command_count`` times, then stop publishing.

        Before that the effort controller is deactivated, unless another controller takes over:
        it would apply the last command forever.
        """
        if not self._deactivate_effort_controller():
            self._wind_down()
        command = self.session.stop(reason)
        if command is not None:
            for _ in range(self.values['safe_command_count']):
                self._commands.send(command.effort, self.session.monitor.q)
                time.sleep(_COPY_PERIOD)
            # A controller that takes over continues from this effort.
            self._released_at = time.monotonic()
            self._publish_command(self._stamps.nanoseconds(command.stamp))
            # Reliable subscribers get it; one that has ended is not waited for long.
            for publisher in (self._commands, self._named_commands):
                publisher.wait_for_all_acked(Duration(seconds=_LAST_COMMAND_TIMEOUT))
        self._commands.release()
        self._publish_mode()
        if self._action is not None:
            self._action.check()
        # The publisher may be destroyed next, with its last message.
        self._modes.wait_for_all_acked(Duration(seconds=_LAST_COMMAND_TIMEOUT))

    def _deactivate_effort_controller(self) -> bool:
        """Deactivate the effort controller of the driver; return whether it was."""
        if not self.values['deactivate_effort_controller'] or not self.session.has_command \
                or self._commands.other_publisher() is not None:
            return False
        states = WaitSet(self.context, self.fast.subscriptions, self.fast.timers)
        # Until then the arm is controlled as before.
        reason = self._driver.deactivate(_DEACTIVATION_TIMEOUT, states.spin_once)
        if reason is None:
            self.get_logger().info(f'{self._driver.controller.name} is deactivated')
        elif reason:
            self.get_logger().error(f'{reason}; it keeps the last effort')
        return reason is None

    def _look_at_driver(self) -> None:
        """Ask which effort controller takes the commands, and wait for one that does not."""
        self._driver.look()
        session = self.session
        if not session.mode.follows:
            self._close_gate()
        controller = self._driver.controller
        inactive = None if controller is None else controller.why_inactive()
        if inactive is None or not self.is_active:
            return
        if session.mode.follows:
            session.return_to_gate(inactive)
            self._publish_mode()
        elif session.explain(inactive):
            self.get_logger().error(f'{session.mode.value}: {session.reason}')

    def _close_gate(self) -> None:
        """Close the start gate while the effort controller does not apply the commands."""
        self.session.gate.closed_by = self._driver.why_closed(
            self._commands.joints, ordered=self._commands.is_ordered)

    def _request_hardware_stop(self, now: float) -> None:
        """Request that the driver stops an arm that the safe command does not stop."""
        controller = self._driver.controller
        if now - self._stop_asked_at < _STOP_AGAIN \
                or (controller is not None and controller.why_inactive()):
            return
        self._stop_asked_at = now
        asked = self._driver.request_stop(self._on_stop_answer)
        self.get_logger().error('the safe command does not stop the arm; ' + (
            'its driver is requested to stop it' if asked else
            'no stop_service is set, and no effort controller is known that can be deactivated'))

    def _on_stop_answer(self, reason: str | None) -> None:
        if reason is not None:
            self.get_logger().error(reason)

    def _wind_down(self) -> None:
        """Change to the safe effort as fast as efforts may change, within some time."""
        deadline = time.monotonic() + _LONGEST_WIND_DOWN
        while time.monotonic() < deadline \
                and (command := self.session.wind_down(_COPY_PERIOD)) is not None:
            self._commands.send(command.effort, self.session.monitor.q)
            time.sleep(_COPY_PERIOD)

    def _on_prepare(self, request: Trigger.Request, response: Trigger.Response
                    ) -> Trigger.Response:
        """Get ready to follow the controller that commands the arm now, without sending."""
        reason = None if self.is_active else self.why_not_ready()
        response.success = reason is None
        response.message = reason or ('is active' if self.is_active else
                                      f'ready for {_PREPARED_TIME:g} s')
        if response.success and not self.is_active:
            self._commands.make()
            self._commands.listen_to_predecessors()
            self._commands.wait_until_known()
            self._end_preparation()
            self._preparation = self.create_timer(_PREPARED_TIME, self._on_preparation_over,
                                                  clock=Clock(clock_type=ClockType.STEADY_TIME))
        return response

    def _on_preparation_over(self) -> None:
        """Withdraw a claim that was not followed by an activation."""
        self._end_preparation()
        if not self.is_active:
            self._commands.release()

    def _end_preparation(self) -> None:
        if self._preparation is not None:
            self.destroy_timer(self._preparation)
            self._preparation = None

    def _on_carry_payload(self, request: SetBool.Request, response: SetBool.Response
                          ) -> SetBool.Response:
        """Add the payload to the model of the arm, or remove it."""
        try:
            response.message = self._payload.carry(request.data)
            response.success = True
            self.get_logger().info(response.message)
        except RobotDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

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
        self._commands = CommandClaim(self, values['command_topic'],
                                      COMMAND_TYPES[values['command_type']](names, order), names)
        self._driver = Driver(self, self._commands.topic, values['stop_service'])
        self._looking = self.create_timer(LOOK_PERIOD, self._look_at_driver,
                                          clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._modes = self.advertise(String, '~/mode', qos.latched())
        self._error = JointStateMessage(names, position=True, velocity=True)
        self._errors = self.advertise(JointState, '~/tracking_error', qos.telemetry())
        self._named = JointStateMessage(names, effort=True, frame=self.robot.base_name)
        self._named_commands = self.advertise(JointState, '~/command', qos.telemetry())
        self._timing = ArrayMessage(('timing',), (4,))
        self._timings = self.advertise(Float64MultiArray, '~/timing', qos.telemetry())
        self._telemetry = Telemetry(values['rate'], values['telemetry_rate'], (
            self._publish_error, self._publish_command, self._publish_timing,
            *self._offer_control_msgs(), *self.law_telemetry()))
        # With simulated time, which may pass slowly, no cycle is late by the clock of the machine.
        period = None if self.get_parameter('use_sim_time').value else 1.0 / values['rate']
        self._diagnostics = Diagnostics(self, self.robot.name, {
            'state': lambda: state_status(self.session),
            'loop': lambda: cycle_status(self._cycle, period),
            'command': lambda: command_status(
                self.session, self._commands.subscribers),
            'reference': self._references.status,
            'model': lambda: model_status(self.robot), **self.law_status()})

    def _offer_control_msgs(self) -> tuple[Callable[[int], None], ...]:
        """Serve the action and publish `controller_state` where control_msgs is installed."""
        if not self.follows_references:
            return ()
        if not HAS_CONTROL_MSGS:
            self.get_logger().info('control_msgs is not installed: without the action '
                                   'follow_joint_trajectory and the topic controller_state',
                                   once=True)
            return ()
        self._action = TrajectoryAction(self, self.session, self._references, self._stamps)
        return (ControllerState(self, self.session).publish,)

    def _on_joint_state(self, message: JointState, info: Mapping[str, Any]) -> None:
        """Answer a joint state."""
        # First: the following code takes time, and the timeout of states counts from here.
        steady = time.monotonic()
        session, stamps = self.session, self._stamps
        if not self._state_publishers.is_trusted(info, steady):
            self._on_other_publisher(steady)
            return
        self._cycle.start()
        self._advance_payload(session.monitor.stamp)
        self.before_cycle()
        stamp = to_nanoseconds(message.header.stamp)
        command = session.on_joint_state(
            stamps.received(stamp), stamps.seconds(stamp), message.name,
            message.position, message.velocity, message.effort,
            steady_time=steady - self._steady_origin)
        timing = self._timing.values
        if command is not None:
            self._commands.send(command.effort, session.monitor.q)
            timing[0] = stamps.now() - command.stamp
            timing[2] = max(timing[2], timing[0])
        if session.verdict is not None and session.verdict.accepted:
            self._accepted_at = steady
        if session.mode is not self._mode:
            self._publish_mode()
        elif session.mode is Mode.WAITING and session.monitor.has_state:
            self.get_logger().warning(f'waiting: {session.reason}',
                                      throttle_duration_sec=_WARNING_PERIOD)
        if session.mode is Mode.SAFE and session.safe_has_failed:
            self._request_hardware_stop(steady)
        if self._action is not None and self._action.watch is not None:
            self._action.watch()
        if command is not None:
            self._telemetry.cycle(stamp)
        timing[1] = self._cycle.finish()
        timing[3] = max(timing[3], timing[1])

    def _on_other_publisher(self, steady: float) -> None:
        """Go safe instead of answering a state, and brake the arm where no other state is."""
        session = self.session
        if steady - self._distrusted_at > _NAMING_PERIOD \
                or session.mode is Mode.HOLDING or session.mode.follows:
            # The name of a node may be discovered after its messages.
            self._distrusted_at = steady
            summary = self._state_publishers.summary
            session.distrust_states(summary)
            self.get_logger().warning(f'states of another publisher are not answered: {summary}',
                                      throttle_duration_sec=_WARNING_PERIOD)
        self._send_without_state()

    def _advance_payload(self, stamp: float) -> None:
        """Advance the change of a payload to the last state, by two periods at most."""
        if self._payload_stamp is not None:
            self.law.advance(min(stamp - self._payload_stamp, 2.0 * self._period))
        self._payload_stamp = stamp

    def _on_deadline(self) -> float:
        """Send a safe command where good states have stopped; return the time to the next, s."""
        left = self.session.time_left(time.monotonic() - self._steady_origin)
        if left > 0.0:
            return left
        return _COPY_PERIOD if self._send_without_state() else self.values['state_timeout']

    def _send_without_state(self) -> bool:
        """Send the next safe command of an arm without states; return whether there is one."""
        command = self.session.on_tick(time.monotonic() - self._steady_origin)
        if command is not None:
            self._commands.send(command.effort, self.session.monitor.q)
        self._publish_mode()
        return command is not None

    def _publish_mode(self) -> None:
        """Publish and log a change of mode."""
        session = self.session
        if session.mode is self._mode:
            return
        self._mode = session.mode
        if session.mode is Mode.HOLDING:
            # It may have changed while the arm followed.
            self._driver.forget()
            self._close_gate()
        self._modes.publish(String(data=session.mode.value))
        text = f'{session.mode.value}: {session.reason}'
        if session.mode is Mode.SAFE:
            self.get_logger().error(text)
        else:
            self.get_logger().info(text)

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
        """Publish latency and duration, and the largest of each since the last message."""
        self._timings.publish(self._timing.message)
        self._timing.values[2:] = 0.0


def run_controller(make_node: Callable[[StopRequest], EffortControllerNode],
                   table: Sequence[Parameter], args: Sequence[str] | None = None) -> int:
    """Run a controller with the parameters of its law; return the exit status."""
    return run(make_node, args, (AUTOSTART, *CONTROLLER_PARAMETERS, *table), is_real_time=True)


class Telemetry:
    """Calls publishers at a fraction of the cycle rate, spread over the cycles between.

    Each is called with a stamp in ns, at the cycle rate divided by a whole number: close to
    `rate`, Hz, or never for 0.
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
        """Call the publishers of this cycle with the stamp of its state, in ns."""
        if not self._round:
            return
        for publisher in self._slots[self._next]:
            publisher(stamp)
        self._next = (self._next + 1) % self._round
