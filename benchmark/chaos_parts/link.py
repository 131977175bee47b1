# SPDX-License-Identifier: Apache-2.0
"""Stands between arm and controller, passes states on as a fault has it, and listens.

It runs in a process of its own and does nothing else, so that it is quick. What it knows
is asked for through a pipe, see `Link`.
"""

from __future__ import annotations

import gc
import heapq
import multiprocessing
import os
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import to_nanoseconds, write_stamp
from robot_dynamics.nodes.ros.transports import without_shared_memory

from .command_reader import CommandReader, messages, received_command
from .cores import Cores, Couriers
from .faults import Fault
from .records import Records, Relayed, Wait
from .states import NANOSECONDS, Belief, State

#: What the arm publishes, instead of the names everybody else reads.
ARM_STATES, ARM_CLOCK = 'chaos/joint_states', 'chaos/clock'
COMMANDS, CONTROLLER = 'effort_controller/commands', 'adaptive_controller'
#: Longest wait, and what is more than the sloppiness of a timer when it was longer. ns.
_LONGEST_WAIT, _STALL = 2_000_000, 1_000_000
#: Stamps of real time are greater than this, and old at this age. ns.
_REAL_TIME, _OLD = 10**18, 50_000_000
#: States of the arm farther apart than this came late, commands longer on their way, too; and
#: who waited for a core for so long between two looks was held up. ns.
_LATE, _HELD_UP = 25_000_000, 10_000_000
#: Telemetry younger than this is of now. ns.
_FRESH = 300_000_000


@dataclass(frozen=True)
class Status:
    """How things are now.

    Parameters
    ----------
    mode : str
        What the controller said last that it does.
    commanded : bool
        Whether a command was heard in the last moments.
    error : float
        Its tracking error, the worst joint; infinite where it tells none. rad.
    speed : float
        Largest speed of the arm in the last moments as a share of its limit.
    held_up, silence : float
        Longest time since the last `Link.take` for which the machine had no core for the
        controller, and for which the arm was silent. s.
    undisturbed : float
        For how long states have now come, commands were heard and the controller got a core in
        time. s.
    """

    mode: str
    commanded: bool
    error: float
    speed: float
    held_up: float
    silence: float
    undisturbed: float


class Link:
    """The process, as seen from the one that makes chaos.

    Parameters
    ----------
    velocity_limit : dict of str to float
        Speed limits by joint, in the robot's order. rad/s or m/s.
    """

    def __init__(self, velocity_limit: dict[str, float]):
        context = multiprocessing.get_context('spawn')
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(theirs, velocity_limit))
        self._process.start()
        theirs.close()

    def set_fault(self, fault: Fault) -> None:
        """Pass states on as this fault has it from now on."""
        self._ask('set_fault', fault)

    def watch(self, pid: int) -> None:
        """Look at how long this process waits for a core."""
        self._ask('watch', pid)

    def status(self) -> Status:
        """Return how things are."""
        return self._ask('status')

    def take(self) -> Records:
        """Return what was heard since the last time."""
        return self._ask('take')

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(5.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _ask(self, name: str, *arguments: object) -> object:
        self._pipe.send((name, arguments))
        return self._pipe.recv()


class _Relay:
    """The node: what comes from the arm goes out again."""

    def __init__(self, velocity_limit: dict[str, float]):
        self._limit = velocity_limit
        self._node = node = rclpy.create_node('chaos_link')
        many = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
        def listen(kind: type, topic: str, profile: QoSProfile):
            return node.create_subscription(kind, topic, lambda message: None, profile)

        self._states = listen(JointState, ARM_STATES, many)
        self._clocks = listen(Clock, ARM_CLOCK, many)
        self._commands = listen(Float64MultiArray, COMMANDS, QoSProfile(depth=5000))
        self._modes = listen(String, f'{CONTROLLER}/mode', qos.latched())
        self._errors = listen(JointState, f'{CONTROLLER}/tracking_error', qos.telemetry())
        self._estimates = listen(Float64MultiArray, f'{CONTROLLER}/parameter_estimate',
                                 qos.telemetry())
        self._reader = CommandReader(node, (self._states, self._clocks, self._commands,
                                            self._modes, self._errors, self._estimates))
        self._out = node.create_publisher(JointState, 'joint_states', qos.state())
        self._clock_out = node.create_publisher(Clock, '/clock', many)
        self._second_out = None
        self._fault = Fault()
        self._due: list[tuple[int, int, State, tuple[float, ...]]] = []
        self._count = 0
        self._own, self._couriers = Cores(os.getpid()), Couriers()
        self._watched: Cores | None = None
        self._stolen = self._overslept = self._held_up = self._silence = self._simulated = 0
        self._state_at = self._disturbed_at = 0
        self._mode = ''
        self._error, self._error_at, self._command_at = float('inf'), 0, 0
        self._records = Records(time.monotonic_ns())

    def step(self) -> None:
        """Wait a little and do everything there is to do."""
        now = time.monotonic_ns()
        wait = _LONGEST_WAIT
        if self._due:
            wait = max(0, min(wait, self._due[0][0] - now))
        overslept, stolen = self._reader.wait(wait)
        self._overslept += overslept if overslept > _STALL else 0
        self._stolen += stolen if stolen > _STALL else 0
        for message, _ in messages(self._clocks):
            self._pass_clock(message)
        for message, _ in messages(self._states):
            self._pass_state(message)
        self._send_due()
        for command in (received_command(*each) for each in messages(self._commands)):
            self._command_at = command.time
            if command.late > _LATE:
                self._disturbed_at = command.time
            self._records.commands.append(command)
            self._look()
        self._hear_telemetry()

    def set_fault(self, fault: Fault) -> None:
        self._fault = fault
        if fault.has_second_publisher and self._second_out is None:
            self._second_out = self._node.create_publisher(JointState, 'joint_states',
                                                           qos.state())
        elif not fault.has_second_publisher and self._second_out is not None:
            self._node.destroy_publisher(self._second_out)
            self._second_out = None

    def watch(self, pid: int) -> None:
        if self._watched is not None:
            self._watched.close()
        self._watched = Cores(pid)
        self._look()

    def status(self) -> Status:
        now = time.monotonic_ns()
        speeds = [speed for at, speed in self._records.speeds[-500:] if now - at < NANOSECONDS]
        return Status(self._mode, now - self._command_at < _FRESH,
                      self._error if now - self._error_at < _FRESH else float('inf'),
                      max(speeds, default=0.0), 1e-9 * self._held_up, 1e-9 * self._silence,
                      1e-9 * (now - self._disturbed_at))

    def take(self) -> Records:
        taken, now = self._records, time.monotonic_ns()
        taken.end = now
        self._held_up = self._silence = 0
        self._records = Records(now, modes=[(now, self._mode)] if self._mode else [],
                                states=taken.states[-1:], estimates=taken.estimates[-1:],
                                waits=taken.waits[-1:])
        return taken

    def close(self) -> None:
        self._node.destroy_node()

    def _pass_clock(self, message: Clock) -> None:
        self._simulated = to_nanoseconds(message.clock)
        if self._fault.clock_offset:
            write_stamp(message.clock, max(0, self._simulated + int(
                self._fault.clock_offset * NANOSECONDS)))
        self._clock_out.publish(message)

    def _pass_state(self, message: JointState) -> None:
        """Note where the arm is, and hand the state to the fault."""
        now = time.monotonic_ns()
        if self._state_at:
            silence = now - self._state_at
            self._silence = max(self._silence, silence)
            if silence > _LATE:
                self._disturbed_at = now
        self._state_at = now
        speed = max(abs(value) / self._limit[name]
                    for name, value in zip(message.name, message.velocity, strict=True))
        self._records.speeds.append((now, speed))
        place = dict(zip(message.name, message.position, strict=True))
        position = tuple(place[name] for name in self._limit)
        stamp = to_nanoseconds(message.header.stamp)
        # True or not, no controller has to believe what is beyond the arm's limits, or old.
        present = time.time_ns() if stamp > _REAL_TIME else self._simulated
        is_odd = speed > 1.0 or present - stamp > _OLD
        state = State(stamp, list(message.name), list(message.position), list(message.velocity),
                      list(message.effort))
        for delay, passed in self._fault.pass_on(state):
            if is_odd and passed.belief is Belief.GOOD:
                passed = replace(passed, belief=Belief.OPEN)
            self._count += 1
            heapq.heappush(self._due, (now + delay, self._count, passed, position))

    def _send_due(self) -> None:
        while self._due and self._due[0][0] <= time.monotonic_ns():
            _, _, state, position = heapq.heappop(self._due)
            out = self._second_out if state.second else self._out
            if out is None:
                continue
            message = JointState(name=state.names, position=state.position,
                                 velocity=state.velocity, effort=state.effort)
            write_stamp(message.header.stamp, state.stamp)
            self._look()
            now, waited = time.monotonic_ns(), self._own.waited()
            out.publish(message)
            self._records.states.append(Relayed(now, state.belief, position,
                                                self._own.waited() - waited))

    def _hear_telemetry(self) -> None:
        now = time.monotonic_ns()
        for message, _ in messages(self._modes):
            self._mode = message.data
            self._records.modes.append((now, message.data))
        for message, _ in messages(self._errors):
            self._error, self._error_at = max(map(abs, message.position)), now
        for message, _ in messages(self._estimates):
            self._records.estimates.append((now, tuple(message.data)))

    def _look(self) -> None:
        """Note how much the machine has stood in the way so far."""
        watched, waits = self._watched, self._records.waits
        waits.append(Wait(
            time.monotonic_ns(), *((watched.waited(), watched.others()) if watched else (0, ())),
            self._stolen, self._couriers.waited(), self._overslept))
        if len(waits) > 1:
            taken = waits[-1].taken_since(waits[-2])
            self._held_up = max(self._held_up, taken)
            if taken > _HELD_UP:
                self._disturbed_at = waits[-1].time


def _run(pipe: Connection, velocity_limit: dict[str, float]) -> None:
    """Relay until the other end of the pipe is closed."""
    with without_shared_memory():
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    relay = _Relay(velocity_limit)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        while True:
            relay.step()
            if pipe.poll():
                name, arguments = pipe.recv()
                pipe.send(getattr(relay, name)(*arguments))
    except (EOFError, KeyboardInterrupt):
        pass
    finally:
        relay.close()
        rclpy.try_shutdown()
