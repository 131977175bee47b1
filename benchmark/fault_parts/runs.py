# SPDX-License-Identifier: Apache-2.0
"""One run of the fault matrix: a control session, an arm, a driver that lies."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.fault_parts.arm import ARMS, StandIn, load_arm
from benchmark.fault_parts.lies import FAULTS, Fault, Reading
from robot_dynamics.control import (
    AdaptiveController,
    CartesianImpedanceController,
    ComputedTorqueController,
    ControlSession,
    FeedforwardLQController,
    GuidingController,
    HandGuidingSession,
    ImpedanceSession,
    PDGravityController,
    SessionSettings,
)
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.rotation import quaternion_of_rotation

LAWS: dict[str, Callable[..., Any]] = {
    'adaptive': AdaptiveController, 'computed_torque': ComputedTorqueController,
    'feedforward_lq': FeedforwardLQController, 'pd_gravity': PDGravityController,
    'gravity': GuidingController, 'cartesian_impedance': CartesianImpedanceController,
}
#: Sessions of the laws that follow no joint reference: what holds such an arm is no fault.
GUIDED = {'gravity': HandGuidingSession, 'cartesian_impedance': ImpedanceSession}
#: Latest times to safe of some laws, s. A frozen encoder of an arm that is guided by hand shows in
#: nothing but its speed, and that of an arm held by a spring when its force has grown. An end
#: effector as slow as by default shows a wrong speed later.
DEADLINES = {('joint frozen', 'gravity'): math.inf, ('joint frozen briefly', 'gravity'): math.inf,
             ('joint frozen', 'cartesian_impedance'): 0.8,
             ('joint frozen briefly', 'cartesian_impedance'): 0.8,
             ('velocity zero', 'cartesian_impedance'): 0.4}
#: Laws whose goals are given to them in this process only.
IN_THIS_PROCESS = ('cartesian_impedance',)
#: Largest speed of the reference over the speed limits, and its frequency in Hz.
REFERENCE_SHARE, FREQUENCY = 0.28, 0.4
#: Effort of a hand over the limit of its joint, and its phase when guiding begins, in turns.
PUSH_SHARE, PUSH_PHASE = 0.06, 0.4
#: When control may follow, when the fault begins after that, and how long it is watched. s.
SETTLING, FAULT_AFTER, WATCHED = 2.5, 1.2, 3.0
#: Delays of a machine that a time to safe in real time may have. s.
REAL_TIME_MARGIN = 0.01
#: Largest speed over the limit; largest rise of the kinetic energy after safe, and a rise that
#: does no harm, J.
LARGEST_PEAK, ENERGY_RISE, LEAST_ENERGY = 1.5, 1.05, 0.1
#: Time without a command after which a controller has refused to begin. s.
REFUSED_AFTER = 0.5


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
    """Whether a fault means anything to a law: a guided arm follows no joint reference."""
    return law not in GUIDED \
        or fault not in ('brake stuck', 'brake stuck briefly', 'arm stopped')


def findings(fault: str, law: str, rate: float, outcome: Outcome) -> list[str]:
    """What an outcome has that must not be, in words."""
    kind, found = FAULTS[fault][0], []
    deadline = DEADLINES.get((fault, law), kind.deadline)
    # A timeout and a message about the mode are seen one or two periods later.
    margin = 2.0 / rate + (REAL_TIME_MARGIN if kind.needs_real_time else 0.0)
    if outcome.time_to_safe > deadline + margin:
        found.append(f'safe after {outcome.time_to_safe:.3f} s, {deadline:g} s at most')
    if kind.needs_brakes:
        return found
    if outcome.peak > LARGEST_PEAK:
        found.append(f'{outcome.peak:.2f} times the speed limit, {LARGEST_PEAK:g} at most')
    if outcome.energy_after > ENERGY_RISE * outcome.energy_at_safe + LEAST_ENERGY:
        found.append(f'kinetic energy rises from {outcome.energy_at_safe:.3g} J to '
                     f'{outcome.energy_after:.3g} J after safe')
    return found


def reference_points(model: Robot, q: FloatArray, duration: float = FAULT_AFTER + WATCHED
                     ) -> list[TrajectoryPoint]:
    """Sines about a pose that grow from rest within half a second, for some time, s."""
    omega = 2.0 * math.pi * FREQUENCY
    amplitude = REFERENCE_SHARE * model.limits.velocity / omega
    points = []
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


class NotTrackingError(RuntimeError):
    """The controller did not follow when the fault was to begin."""


class FaultBench:
    """An arm with a driver that may lie, period by period; a subclass has the controller.

    `joint` is the one at fault, `q` the pose at the start, shape (n,), `time` that of the arm, s,
    and `effort` what it applies, shape (n,), None before the first command.
    """

    def __init__(self, arm: str, law: str, rate: float):
        _, flange, pose, self.joint = ARMS[arm]
        self.model, self.period = load_arm(arm), 1.0 / rate
        self.q, self.by_hand = np.array(pose), law == 'gravity'
        self.arm = StandIn(self.model, flange, self.q)
        self.limit = self.model.limits.velocity
        self.time = 0.0
        self.effort: FloatArray | None = None
        self._guided_since: float | None = None
        self._waiting: deque[tuple[float, Reading]] = deque()

    @property
    def mode(self) -> Mode:
        """Mode of the controller."""
        raise NotImplementedError

    @property
    def reason(self) -> str:
        """Reason of the mode, in words."""
        raise NotImplementedError

    def start(self, fault: Fault) -> None:
        """Bring the controller to its first command, or to where it refuses to give one."""
        end = self.time + REFUSED_AFTER
        while self.effort is None and self.time < end:
            self.cycle(fault)

    def follow(self, points: list[TrajectoryPoint]) -> None:
        """Give the controller a reference."""
        raise NotImplementedError

    def answers(self, states: list[Reading]) -> Iterator[tuple[float, FloatArray | None]]:
        """Parts of a period, s, and the effort in each, where the controller gets these states."""
        raise NotImplementedError

    def cycle(self, fault: Fault) -> None:
        """Let one period pass: a state to the controller, its effort to the arm."""
        now, n = self.time, self.model.n
        # The effort that holds an arm which is not commanded is not known.
        applied = np.full(n, math.nan) if self.effort is None else self.effort.copy()
        shown = fault.show(Reading(now, self.arm.q, self.arm.v, applied))
        if shown is not None:
            self._waiting.append((fault.received_at(now), shown))
        states = []
        while self._waiting and self._waiting[0][0] <= now + 1e-9:
            states.append(self._waiting.popleft()[1])
        for seconds, effort in self.answers(states):
            self.effort = effort
            acting = None if self.effort is None else fault.act(now, self.effort)
            if self.by_hand and self.mode is Mode.GUIDED:
                # A hand pushes to and fro.
                self._guided_since = now if self._guided_since is None else self._guided_since
                push = math.sin(2.0 * math.pi * (PUSH_PHASE + FREQUENCY * (
                    now - self._guided_since)))
                acting = acting + PUSH_SHARE * push * self.model.limits.effort \
                    * (np.arange(n) == self.joint)
            self.arm.advance(seconds, acting, fault.blocked(now, n))
        self.time += self.period

    def run_to_tracking(self) -> None:
        """Let it start, and follow a reference if it can."""
        nothing = Fault(self.joint, math.inf)
        end = self.time + SETTLING
        while self.time < end and not self.mode.follows:
            self.cycle(nothing)
        if not self.mode.follows:
            raise NotTrackingError(f'not tracking: {self.reason}')
        if not self.by_hand:
            self.follow(reference_points(self.model, self.q))


class Bench(FaultBench):
    """A control session in this process."""

    def __init__(self, arm: str, law: str, rate: float, **options: Any):
        super().__init__(arm, law, rate)
        self.law = LAWS[law](self.model, period=self.period, **options)
        self.session = GUIDED.get(law, ControlSession)(
            self.model, self.law, SessionSettings(period=self.period))
        self._path: list[TrajectoryPoint] = []
        self._led = 0.0

    @property
    def mode(self) -> Mode:
        """Mode of the session."""
        return self.session.mode

    @property
    def reason(self) -> str:
        """Reason of the mode, in words."""
        return self.session.reason

    def follow(self, points: list[TrajectoryPoint]) -> None:
        """Give the session a reference, or lead its end effector along it by poses."""
        if self.mode is Mode.GUIDED:
            self._path = points[::-1]
        else:
            self.session.accept_trajectory(self.model.joint_names, points)

    def lead(self) -> tuple[FloatArray, FloatArray] | None:
        """Next pose of the end effector on its path; None until its time."""
        if not self._path:
            return None
        self._led += self.period
        if self._led < self._path[-1].time_from_start:
            return None
        pose = self.law.model.empty.forward_kinematics(self._path.pop().positions, self.law.link)
        return pose[:3, 3], quaternion_of_rotation(pose[:3, :3])

    def answers(self, states: list[Reading]) -> Iterator[tuple[float, FloatArray | None]]:
        """Effort of the session, for the whole period."""
        session, now, command = self.session, self.time + 1.0, None
        if (pose := self.lead()) is not None:
            self.law.setpoint.follow_pose(*pose)
        for state in states:
            answer = session.on_joint_state(now, state.stamp + 1.0, self.model.joint_names,
                                            state.q, state.v, state.effort)
            command = answer or command
        command = command or session.on_tick(now)
        yield self.period, self.effort if command is None else command.effort.copy()


def run(arm: str, law: str, rate: float, fault_name: str, **options: Any) -> Outcome:
    """One cell of the matrix, with the session in this process."""
    return measure(Bench(arm, law, rate, **options), fault_name)


def measure(bench: FaultBench, fault_name: str) -> Outcome:
    """Let a fault begin in motion, or be there from the start, and watch the arm."""
    kind, arguments = FAULTS[fault_name]
    begin = bench.time
    nothing = Fault(bench.joint, math.inf)
    fault = kind(bench.joint, begin, *arguments) if kind.from_the_start else nothing
    bench.start(fault)
    is_refused = bench.effort is None
    if not kind.from_the_start:
        bench.run_to_tracking()
        end = bench.time + FAULT_AFTER
        while bench.time < end:
            bench.cycle(nothing)
        if not bench.mode.follows:
            raise NotTrackingError(f'safe without a fault: {bench.reason}')
        begin = bench.time
        fault = kind(bench.joint, begin, *arguments)
    elif not is_refused:
        begin = bench.time - bench.period
    peak, tip, safe_at = 0.0, 0.0, math.inf
    speed_at = energy_at = after = energy = 0.0
    while bench.time < begin + WATCHED:
        bench.cycle(fault)
        speed = float(np.max(np.abs(bench.arm.v) / bench.limit))
        peak, tip = max(peak, speed), max(tip, bench.arm.tip_speed)
        if safe_at == math.inf and not bench.mode.follows \
                and (bench.mode is not Mode.HOLDING or not kind.from_the_start):
            safe_at, speed_at, energy_at = bench.time - begin, speed, bench.arm.kinetic_energy
        if safe_at < math.inf:
            after, energy = max(after, speed), max(energy, bench.arm.kinetic_energy)
    if is_refused and bench.effort is None:
        safe_at = 0.0
    return Outcome(peak, tip, safe_at, after / max(speed_at, 0.05), energy_at, energy,
                   f'{bench.mode.value}: {bench.reason}')
