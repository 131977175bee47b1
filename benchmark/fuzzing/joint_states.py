# SPDX-License-Identifier: Apache-2.0
"""Joint states as they come from a topic, handed to a control session."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from fuzzing import bags, mutate_bytes, odd
from fuzzing.judge import ACCEPTED, promise
from fuzzing.kind import Drawn, Mutated
from fuzzing.trajectories import (
    ARMS,
    arm_called,
    durations,
    middle_pose,
    names,
    numbers,
    points,
    start_stamp,
    trajectories,
)
from fuzzing.usable import check_command
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.session.modes import Command, Mode
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.control.states.joint_state import Reason
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros.messages import to_nanoseconds

PERIOD = 0.002


@dataclass(frozen=True)
class Stream:
    """What a session hears.

    Parameters
    ----------
    robot : str
        Of which arm.
    adaptive : bool
        Under which law.
    events : list of tuple
        Kind of event and its arguments, in order.
    """

    robot: str
    adaptive: bool
    events: list[tuple[Any, ...]]


class Streams(Drawn):
    """Joint states between good ones, with trajectories and silence, to a control session."""

    name = 'joint_states'
    text = 'streams of joint states'
    share = 1200

    def strategy(self) -> st.SearchStrategy[Any]:
        """Return streams."""
        good = st.tuples(st.just('good'), st.integers(1, 60))
        state = st.tuples(st.just('state'), _stamps(), names(), numbers(),
                          numbers() | st.none(), numbers() | st.none())
        tick = st.tuples(st.just('tick'), durations())
        trajectory = st.tuples(st.just('trajectory'), trajectories())
        other = st.tuples(st.sampled_from(('stop', 'reactivate', 'nudge')))
        return st.builds(
            Stream, st.sampled_from(ARMS), st.booleans(),
            st.lists(good | state | state | tick | trajectory | other, min_size=1, max_size=12)
            .map(lambda events: [('good', 25), *events]))

    def run(self, item: Stream) -> str:
        """Play the stream."""
        return _Player(item).play()


class Messages(Mutated):
    """Joint states as bytes of a DDS packet, mutated, through the message to a session."""

    name = 'messages'
    text = 'joint states in CDR'
    share = 3000

    def mutant(self, random: Random) -> list[bytes]:
        """Return some packets."""
        return [_packet(random) for _ in range(random.randint(1, 6))]

    def run(self, item: list[bytes]) -> str:
        """Answer every packet that the middleware makes a message of."""
        arm = arm_called('arm7')
        session = _session(arm, adaptive=False)
        heard = 0
        for k, packet in enumerate(item):
            try:
                message = deserialize_message(packet, JointState)
            # The middleware drops such a packet itself.
            except Exception:
                continue
            heard += 1
            t = (k + 1) * PERIOD
            stamp = 1e-9 * (to_nanoseconds(message.header.stamp) - bags.EPOCH * 10**9)
            check_command(session, session.on_joint_state(
                t, stamp, message.name, message.position, message.velocity, message.effort))
            check_command(session, session.on_tick(t + 0.2))
        if not heard:
            return 'no message'
        accepted = session.monitor.counts[Reason.ACCEPTED]
        return ACCEPTED if accepted else session.verdict.reason.name


class _Player:
    """Plays a stream to a session, with the arm that its good states come from."""

    def __init__(self, stream: Stream):
        self.arm = arm_called(stream.robot)
        self.events = stream.events
        self.session = _session(self.arm, adaptive=stream.adaptive)
        self.t = 0.0
        self.q = middle_pose(self.arm)
        self.effort = np.zeros(self.arm.n)
        self.refused: RobotDynamicsError | None = None

    def play(self) -> str:
        """Play all events; return how far the session came."""
        modes = set()
        for kind, *arguments in self.events:
            getattr(self, f'_{kind}')(*arguments)
            modes.add(self.session.mode)
            reason = self.session.reason
            promise(reason.isprintable() and len(reason) <= 1000, f'says {reason[:200]!r}')
        if self.refused is not None:
            raise self.refused
        return ACCEPTED if Mode.TRACKING in modes or Mode.HOLDING in modes else 'not held'

    def _good(self, count: int) -> None:
        for _ in range(count):
            self.t += PERIOD
            self._hear(self.t, list(self.arm.joint_names), self.q, np.zeros(self.arm.n),
                       self.effort)

    def _state(self, stamp: float | None, names: list[str] | None, position: list[float],
               velocity: list[float] | None, effort: list[float] | None) -> None:
        self.t += PERIOD
        if names is None:
            names = list(self.arm.joint_names)
            position, velocity, effort = (
                values and (values * len(names))[:len(names)]
                for values in (position, velocity, effort))
        self._hear(None if stamp is None else self.t + stamp, names,
                   *(array('d', values or ()) for values in (position, velocity, effort)))

    def _tick(self, seconds: float) -> None:
        if math.isfinite(seconds):
            self.t = min(self.t + abs(seconds), 1e9)
        self._note(self.session.on_tick(self.t if math.isfinite(seconds) else seconds))

    def _trajectory(self, trajectory: dict[str, Any]) -> None:
        try:
            self.session.accept_trajectory(*points(trajectory, self.arm),
                                           stamp=start_stamp(trajectory, self.t))
        except TrajectoryError as error:
            if self.session.mode is Mode.TRACKING:
                self.refused = error

    def _stop(self) -> None:
        self._note(self.session.stop('asked to'))

    def _reactivate(self) -> None:
        self.session.reactivate()

    def _nudge(self) -> None:
        self.q = self.q + 0.3

    def _hear(self, stamp: float | None, names: Sequence[str], position: Sequence[float],
              velocity: Sequence[float], effort: Sequence[float]) -> None:
        session = self.session
        self._note(session.on_joint_state(self.t, stamp, names, position, velocity, effort))
        if session.verdict.accepted:
            monitor = session.monitor
            promise(bool(np.all(np.isfinite((monitor.q, monitor.v)))), 'a state is not finite')

    def _note(self, command: Command | None) -> None:
        check_command(self.session, command)
        if command is not None:
            self.effort = command.effort.copy()


def _session(arm: Robot, *, adaptive: bool) -> ControlSession:
    """Return a session that follows an arm soon: no second of rest is asked for."""
    law = AdaptiveController(arm, period=PERIOD) if adaptive \
        else PDGravityController(arm, period=PERIOD)
    session = ControlSession(arm, law, SessionSettings(period=PERIOD, resume_after=20))
    session.gate = StartGate(session.limiter.limit, samples=5, settle_time=0.02)
    return session


def _packet(random: Random) -> bytes:
    """Return a joint state as it goes over the wire, with mistakes of publishers and of bytes."""
    joints = list(arm_called('arm7').joint_names)
    stamp = (random.choice((bags.EPOCH,) * 5 + (0, -2**31, 2**31 - 1)),
             random.choice((0, 2_000_000, 4_000_000, 6_000_000, 2**32 - 1)))
    fields = [np.array([odd.float64(random) if random.random() < 0.02 else 0.1
                        for _ in range(random.choice((7,) * 12 + (0, 6, 8)))])
              for _ in range(3)]
    if random.random() < 0.2:
        joints[random.randrange(7)] = _utf8(odd.name(random))
        joints *= random.choice((1, 1, 1, 2, 1000))
    kinds = bags.STORE.types
    header = kinds['std_msgs/msg/Header'](kinds['builtin_interfaces/msg/Time'](*stamp), '')
    # Written by rosbags: rclpy leaves in the gaps what was in memory there before.
    state = kinds['sensor_msgs/msg/JointState'](header, joints, *fields)
    raw = bytes(bags.STORE.serialize_cdr(state, 'sensor_msgs/msg/JointState'))
    return mutate_bytes.mutate(raw, random, 2) if random.random() < 0.5 else raw


def _utf8(text: str) -> str:
    """Return text without what rclpy cannot send."""
    return text.encode('utf-8', 'replace').decode().replace('\0', '')


def _stamps() -> st.SearchStrategy[float | None]:
    """Return stamps, counted from when the message arrives."""
    return st.sampled_from((None, 0.0, 0.0, 0.0, -1e-8, 0.04, 0.06, -0.1, -0.3)) | st.floats()


