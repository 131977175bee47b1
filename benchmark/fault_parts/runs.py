# SPDX-License-Identifier: Apache-2.0
"""One run of the fault matrix: a control session, an arm, a driver that lies."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.fault_parts.arm import ARMS, StandIn, load_arm
from benchmark.fault_parts.lies import FAULTS, Fault, Reading
from robot_dynamics.control import (
    AdaptiveController,
    ComputedTorqueController,
    ControlSession,
    FeedforwardLQController,
    GuidingController,
    HandGuidingSession,
    PDGravityController,
    SessionSettings,
)
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

LAWS: dict[str, Callable[..., Any]] = {
    'adaptive': AdaptiveController, 'computed_torque': ComputedTorqueController,
    'feedforward_lq': FeedforwardLQController, 'pd_gravity': PDGravityController,
    'gravity': GuidingController,
}
#: Largest speed of the reference over the speed limits, and its frequency in Hz.
REFERENCE_SHARE, FREQUENCY = 0.28, 0.4
#: When control may follow, when the fault begins after that, and how long it is watched. s.
SETTLING, FAULT_AFTER, WATCHED = 2.5, 1.2, 3.0


@dataclass(frozen=True)
class Outcome:
    """What a run came to: speeds as multiples of the joint limits, times in s, energies in J.

    `time_to_safe` counts from the fault; inf where the session never became safe. `after` is the
    largest speed after that over the one then.
    """

    peak: float
    tip_speed: float
    time_to_safe: float
    after: float
    energy_at_safe: float
    energy_after: float
    reason: str

    @property
    def speed_falls(self) -> bool:
        """Whether the arm never became faster than it was when the session became safe."""
        return self.after <= 1.1


def concerns(fault: str, law: str) -> bool:
    """Whether a fault means anything to a law: an arm guided by hand follows no reference."""
    return law != 'gravity' or fault not in ('brake stuck', 'arm stopped')


def reference_points(model: Robot, q: FloatArray) -> list[TrajectoryPoint]:
    """Sines about a pose that grow from rest within half a second."""
    omega = 2.0 * math.pi * FREQUENCY
    amplitude = REFERENCE_SHARE * model.limits.velocity / omega
    points = []
    duration = FAULT_AFTER + WATCHED
    for time in np.arange(0.0, duration, 0.02):
        grow = min(time / 0.5, 1.0)
        share = grow**3 * (10 - 15 * grow + 6 * grow**2)
        rate = 30 * grow**2 * (1 - grow)**2 / 0.5
        bend = 60 * grow * (1 - grow) * (1 - 2 * grow) / 0.25
        s, c = math.sin(omega * time), math.cos(omega * time)
        points.append(TrajectoryPoint(
            time, q + amplitude * share * s, amplitude * (rate * s + share * omega * c),
            amplitude * (bend * s + 2 * rate * omega * c - share * omega**2 * s)))
    return points


class Bench:
    """A session and an arm, cycle by cycle; `joint` is the one at fault."""

    def __init__(self, arm: str, law: str, rate: float, **options: Any):
        _, flange, pose, self.joint = ARMS[arm]
        self.model, self.period = load_arm(arm), 1.0 / rate
        self.q = np.array(pose)
        self.law = LAWS[law](self.model, period=self.period, **options)
        self.guided = law == 'gravity'
        kind = HandGuidingSession if self.guided else ControlSession
        self.session = kind(self.model, self.law, SessionSettings(period=self.period))
        self.arm = StandIn(self.model, flange, self.q)
        self.limit = self.model.limits.velocity
        self.time, self.effort = 0.0, None
        self._waiting: deque[tuple[float, Reading]] = deque()

    def cycle(self, fault: Fault) -> None:
        """Let one period pass: a state to the session, its effort to the arm."""
        session, now = self.session, self.time
        applied = np.zeros(self.model.n) if self.effort is None else self.effort
        shown = fault.show(Reading(now, self.arm.q, self.arm.v, applied.copy()))
        if shown is not None:
            self._waiting.append((fault.received_at(now), shown))
        command = None
        while self._waiting and self._waiting[0][0] <= now + 1e-9:
            _, state = self._waiting.popleft()
            # The effort that holds an arm which is not commanded is not known.
            effort = state.effort if self.effort is not None else ()
            answer = session.on_joint_state(now + 1.0, state.stamp + 1.0, self.model.joint_names,
                                            state.q, state.v, effort)
            command = answer or command
        command = command or session.on_tick(now + 1.0)
        if command is not None:
            self.effort = command.effort.copy()
        acting = None if self.effort is None else fault.act(now, self.effort)
        if self.guided and session.mode is Mode.GUIDED:
            # A hand pushes to and fro.
            acting = acting + 0.06 * self.model.limits.effort * math.sin(
                2.0 * math.pi * FREQUENCY * now) * (np.arange(self.model.n) == self.joint)
        self.arm.advance(self.period, acting, fault.blocked(now, self.model.n))
        self.time += self.period

    def run_to_tracking(self) -> None:
        """Let it start, and follow a reference if it can."""
        nothing = Fault(self.joint, math.inf)
        end = self.time + SETTLING
        while self.time < end and not self.session.mode.follows:
            self.cycle(nothing)
        if not self.session.mode.follows:
            raise RuntimeError(f'not tracking: {self.session.reason}')
        if not self.guided:
            self.session.accept_trajectory(
                self.model.joint_names, reference_points(self.model, self.session.q_d.copy()))


def run(arm: str, law: str, rate: float, fault_name: str, **options: Any) -> Outcome:
    """One cell of the matrix."""
    bench = Bench(arm, law, rate, **options)
    kind, arguments = FAULTS[fault_name]
    if kind.from_the_start:
        fault = kind(bench.joint, 0.0, *arguments)
    else:
        bench.run_to_tracking()
        nothing = Fault(bench.joint, math.inf)
        end = bench.time + FAULT_AFTER
        while bench.time < end:
            bench.cycle(nothing)
        fault = kind(bench.joint, bench.time, *arguments)
    begin, peak, tip, safe_at = bench.time, 0.0, 0.0, math.inf
    speed_at = energy_at = after = energy = 0.0
    first_effort = bench.effort
    session = bench.session
    while bench.time < begin + WATCHED:
        bench.cycle(fault)
        speed = float(np.max(np.abs(bench.arm.v) / bench.limit))
        peak, tip = max(peak, speed), max(tip, bench.arm.tip_speed)
        if safe_at == math.inf and not session.mode.follows \
                and (session.mode is not Mode.HOLDING or not kind.from_the_start):
            safe_at, speed_at, energy_at = bench.time - begin, speed, bench.arm.kinetic_energy
        if safe_at < math.inf:
            after, energy = max(after, speed), max(energy, bench.arm.kinetic_energy)
    if kind.from_the_start and first_effort is None and bench.effort is None:
        safe_at = 0.0
    return Outcome(peak, tip, safe_at, after / max(speed_at, 0.05), energy_at, energy,
                   f'{session.mode.value}: {session.reason}')
