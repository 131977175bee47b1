# SPDX-License-Identifier: Apache-2.0
"""Runs of the fault matrix in real processes: the controller is a node, and DDS in between.

This process is the arm and its driver. In *lock step* the controller has simulated time, and the
arm waits for the command to each state: a busy machine only makes a run slow. Faults that a
controller finds by its own clock, late and missing states, need *real time*: the arm moves with
the clock of the machine, whether commands come or not.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

import numpy as np
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from benchmark.chaos_parts.command_reader import CommandReader, messages
from benchmark.chaos_parts.operator import Operator
from benchmark.fault_parts.arm import TIMESTEP, load_arm
from benchmark.fault_parts.lies import Fault, Reading
from benchmark.fault_parts.runs import FaultBench, NotTrackingError, Outcome, measure
from robot_dynamics.bringup.processes import NodeProcess, child_environment
from robot_dynamics.bringup.runner import Line, ProcessRunner
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.nodes.controllers import CONTROLLERS
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import (
    JointStateMessage,
    to_nanoseconds,
    trajectory_message,
    write_stamp,
)
from robot_dynamics.nodes.ros.transports import overridden

#: Longest wait for a command in lock step, and the state timeout of the controller then, which
#: counts the time of the machine. s.
PATIENCE, LOCK_STEP_TIMEOUT = 1.0, 2.0
#: Longest time for a transition: kernels may have to be compiled. s.
TRANSITION_TIMEOUT = 120.0
#: Delay of this process beyond which a run in real time is repeated, s, and how often.
LARGEST_LAG, ATTEMPTS = 0.03, 4
_NANOSECONDS = 1_000_000_000
#: Variables that would put a run into a domain of the user.
_OF_DDS = ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY')


class ControllerNode:
    """A controller in a process of its own, and the topics of its arm.

    Parameters
    ----------
    arm, law : str
        Names of `ARMS` and `LAWS`.
    rate : float
        Joint states a second. Hz.
    simulated_time : bool
        Whether the time of the controller is that of the states.
    """

    def __init__(self, arm: str, law: str, rate: float, *, simulated_time: bool):
        model, node = load_arm(arm), CONTROLLERS[law].node
        parameters = {'robot_description': model.to_urdf(), 'rate': rate, 'spin': 'waitset',
                      'use_sim_time': simulated_time, 'autostart': False,
                      # The stand-in has the rotors of its description: none.
                      'rotors': [0.0], **CONTROLLERS[law].parameters}
        if CONTROLLERS[law].learns:
            parameters['adaptation.terms'] = list(AdaptationGains().terms)
        if simulated_time:
            # Every command is followed by a message with the stamp of the state that it answers.
            parameters.update(state_timeout=LOCK_STEP_TIMEOUT, telemetry_rate=rate)
        self.simulated_time = simulated_time
        environment = child_environment({name: value for name, value in os.environ.items()
                                         if name not in _OF_DDS})
        self.lines: deque[str] = deque(maxlen=30)
        self._runner = ProcessRunner([NodeProcess(node, parameters=parameters)],
                                     on_line=self._note, environment=environment)
        with overridden({name: environment[name] for name in _OF_DDS if name in environment}):
            self._operator = Operator(node)
            # It is not spun, and answers no services.
            self._node = rclpy.create_node('arm', start_parameter_services=False)
        self._states = self._node.create_publisher(JointState, 'joint_states', qos.state())
        self._clock = self._node.create_publisher(
            Clock, '/clock', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))

        def listen(kind: type, topic: str, profile: QoSProfile) -> rclpy.subscription.Subscription:
            return self._node.create_subscription(kind, topic, lambda message: None, profile)

        self._commands = listen(Float64MultiArray, 'effort_controller/commands',
                                qos.command_input())
        self._stamped = listen(JointState, f'{node}/command', QoSProfile(
            depth=10, reliability=ReliabilityPolicy.BEST_EFFORT))
        self._modes = listen(String, f'{node}/mode', qos.latched())
        self._reader = CommandReader(self._node, (self._commands, self._stamped, self._modes))
        self._state = JointStateMessage(model.joint_names, position=True, velocity=True,
                                        effort=True)
        self._time = Clock()
        self.mode = Mode.STOPPED
        #: Stamps of the last state, and of the last one that was answered in lock step. ns.
        self.stamp = self.answered = 0

    def __enter__(self) -> ControllerNode:
        self._runner.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._runner.__exit__(kind, error, traceback)
        self._node.destroy_node()
        self._operator.close()

    @property
    def reason(self) -> str:
        """Last line of its log about its mode."""
        self._runner.poll(0.0)
        beginning = f'{self.mode.value}: '
        return next((line.partition(beginning)[2] for line in reversed(self.lines)
                     if beginning in line), '')

    def change_state(self, transition: str) -> bool:
        """Request a lifecycle transition; return whether it was made."""
        return bool(self._operator.change_state(transition, TRANSITION_TIMEOUT))

    def send_reference(self, names: tuple[str, ...], points: list[TrajectoryPoint]) -> None:
        """Send a trajectory that begins with the last state, however late it arrives."""
        message = trajectory_message(names, points)
        write_stamp(message.header.stamp, self.stamp)
        self._operator.send_reference(message)

    def publish(self, stamp: int, state: Reading) -> None:
        """Publish a state with a stamp in ns, and simulated time."""
        message = self._state
        message.position[:], message.velocity[:] = state.q, state.v
        message.effort[:] = state.effort
        self._states.publish(message.stamp(stamp))
        self.stamp = stamp
        if self.simulated_time:
            write_stamp(self._time.clock, stamp)
            self._clock.publish(self._time)

    def receive(self, seconds: float) -> FloatArray | None:
        """Wait for a command for some time, s; return its efforts, None without one."""
        end = time.monotonic() + seconds
        while (effort := self._take()) is None and (left := end - time.monotonic()) > 0.0:
            self._reader.wait(int(left * _NANOSECONDS))
        return effort

    def receive_answer(self, seconds: float) -> FloatArray | None:
        """Wait for the command to the last state; as `receive`.

        The time counts until any command comes: from then on the controller answers.
        """
        end = time.monotonic() + seconds
        effort, before = None, self.answered
        while self.answered != self.stamp and (left := end - time.monotonic()) > 0.0:
            self._reader.wait(int(left * _NANOSECONDS))
            command = self._take()
            effort = effort if command is None else command
            if self.answered != before:
                end, before = time.monotonic() + PATIENCE, self.answered
        return effort

    def _take(self) -> FloatArray | None:
        """Take the messages that have come; return the efforts of the last command, if any.

        The stamp comes last, when command and mode are there.
        """
        effort = None
        for message, _ in messages(self._stamped):
            self.answered = to_nanoseconds(message.header.stamp)
        for message, _ in messages(self._commands):
            effort = np.array(message.data)
        for message, _ in messages(self._modes):
            self.mode = Mode(message.data)
        return effort

    def _note(self, line: Line) -> None:
        self.lines.append(line.text)


class NodeBench(FaultBench):
    """An arm in this process that is controlled by a `ControllerNode`; arguments as for both."""

    def __init__(self, controller: ControllerNode, arm: str, law: str, rate: float):
        super().__init__(arm, law, rate)
        self._controller = controller
        #: Stamp, ns, and time of the machine, s, when the arm was switched on.
        self._origin, self._began = 0, 0.0
        self._is_answered = False
        #: Longest time by which a state was later than it should be. s.
        self.lag = 0.0

    @property
    def mode(self) -> Mode:
        """Last mode that was received."""
        return self._controller.mode

    @property
    def reason(self) -> str:
        """Reason of the mode, in words."""
        return self._controller.reason

    def start(self, fault: Fault) -> None:
        """Activate the controller, with new estimates, while the arm publishes its states."""
        if not self._controller.change_state('configure'):
            raise SystemExit(f'not configured: {" | ".join(self._controller.lines)}')
        self._began = time.monotonic()
        # Simulated time goes on where that of the last arm has ended.
        self._origin = self._controller.stamp + _NANOSECONDS if self._controller.simulated_time \
            else time.time_ns()
        with ThreadPoolExecutor(1) as thread:
            activation = thread.submit(self._controller.change_state, 'activate')
            while not activation.done():
                self.cycle(fault)
        self.lag = 0.0
        super().start(fault)

    def end(self) -> None:
        """Take the controller down."""
        for transition in ('deactivate', 'cleanup'):
            self._controller.change_state(transition)
        # The last commands are not for the next arm.
        self._controller.receive(0.0)

    def follow(self, points: list[TrajectoryPoint]) -> None:
        """Send a trajectory to the controller."""
        self._controller.send_reference(self.model.joint_names, points)

    def answers(self, states: list[Reading]) -> Iterator[tuple[float, FloatArray | None]]:
        """Publish the states, and wait for the commands of a period."""
        for state in states:
            self._controller.publish(self._origin + round(state.stamp * _NANOSECONDS), state)
        if not self._controller.simulated_time:
            yield from self._answers_in_real_time()
            return
        # After a state without an answer it does not wait for one until the next command.
        effort = self._controller.receive_answer(PATIENCE if self._is_answered else self.period)
        self._is_answered = effort is not None
        yield self.period, self.effort if effort is None else effort

    def _answers_in_real_time(self) -> Iterator[tuple[float, FloatArray | None]]:
        """Commands until the period is over, each from its arrival on."""
        begin, steps, done = self._began + self.time, round(self.period / TIMESTEP), 0
        self.lag = max(self.lag, time.monotonic() - begin)
        effort = self.effort
        while True:
            left = max(0.0, begin + self.period - time.monotonic())
            command = self._controller.receive(left)
            if command is None:
                break
            arrived = min(steps, math.ceil((time.monotonic() - begin) / TIMESTEP))
            if arrived > done:
                yield (arrived - done) * TIMESTEP, effort
                done = arrived
            effort = command
        yield (steps - done) * TIMESTEP, effort


def run_configuration(arm: str, law: str, rate: float, faults: list[str], *, real_time: bool
                      ) -> list[Outcome | None]:
    """Cells of the matrix with one process of a controller, which is configured for each.

    None for a cell that the machine was too busy for.
    """
    with ControllerNode(arm, law, rate, simulated_time=not real_time) as controller:
        return [_run(controller, arm, law, rate, fault) for fault in faults]


def _run(controller: ControllerNode, arm: str, law: str, rate: float, fault: str
         ) -> Outcome | None:
    """One cell, again where the machine delayed the arm, or the controller before the fault."""
    for _ in range(ATTEMPTS):
        bench = NodeBench(controller, arm, law, rate)
        try:
            outcome = measure(bench, fault)
            if controller.simulated_time or bench.lag <= LARGEST_LAG:
                return outcome
        except NotTrackingError as error:
            print(f'{fault}, {arm}, {law}, {rate:g} Hz: {error}', file=sys.stderr, flush=True)
        finally:
            bench.end()
    return None
