# SPDX-License-Identifier: Apache-2.0
"""Faults of an arm and of its driver: what a controller is shown, and what the arm does.

A fault begins at `begin`, s, and lasts. Times, positions and velocities are those of the arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.model.arrays import FloatArray

#: Speed of a stuck velocity and of a drifting encoder. rad/s.
LIE_SPEED = 3.0
#: Jump of an encoder. rad.
LIE_JUMP = 0.4
#: Duration of faults that end. s.
LIE_TIME = 0.5
#: Time between two readings of a slow driver. s.
READ_EVERY = 0.04
#: Shortest and longest delay of a busy machine, and mean time between two. s.
SHORT_DELAY, LONG_DELAY, DELAYS_APART = 0.01, 0.09, 0.02


@dataclass
class Reading:
    """One state as the driver publishes it: stamp, s; q, v and effort, shape (n,) each."""

    stamp: float
    q: FloatArray
    v: FloatArray
    effort: FloatArray


class Fault:
    """No fault: the driver publishes what is, the arm applies what it receives.

    `joint` is the index of the joint concerned, `begin` the time from which on a subclass lies.
    """

    #: Time within which the session must be safe, s; None where the fault must not be noticed.
    deadline: float | None = 0.1
    #: Whether the fault is present when control begins.
    from_the_start = False
    #: Whether a controller finds it by its own clock, so that simulated time cannot show it.
    needs_real_time = False
    #: Whether an arm without brakes falls some time later.
    needs_brakes = False

    def __init__(self, joint: int, begin: float):
        self.joint, self.begin = joint, begin

    def show(self, true: Reading) -> Reading | None:
        """State that is published, None for none."""
        return self.lie(true) if true.stamp >= self.begin else true

    def lie(self, true: Reading) -> Reading | None:
        """State that is published once the fault has begun."""
        return true

    def received_at(self, stamp: float) -> float:
        """Time at which the controller receives a state, s."""
        return stamp

    def act(self, time: float, effort: FloatArray) -> FloatArray:
        """Effort that the arm applies, N m or N."""
        return effort

    def blocked(self, time: float, n: int) -> FloatArray:
        """Whether brakes hold each joint, shape (n,)."""
        return np.zeros(n, dtype=np.bool_)


class VelocitySign(Fault):
    """The velocity of a joint changes its sign."""

    def lie(self, true: Reading) -> Reading:
        true.v[self.joint] *= -1.0
        return true


class VelocityStuck(Fault):
    """The velocity of a joint is stuck at a high speed."""

    def lie(self, true: Reading) -> Reading:
        true.v[self.joint] = LIE_SPEED
        return true


class VelocityZero(Fault):
    """The velocity of a joint is reported as zero."""

    def lie(self, true: Reading) -> Reading:
        true.v[self.joint] = 0.0
        return true


class EncoderDrift(Fault):
    """The position of a joint drifts while its velocity is right."""

    def lie(self, true: Reading) -> Reading:
        true.q[self.joint] += LIE_SPEED * (true.stamp - self.begin)
        return true


class EncoderJump(Fault):
    """The position of a joint jumps, for good."""

    #: Until the new position is accepted, the arm is braked by the time that passes.
    needs_real_time = True

    def lie(self, true: Reading) -> Reading:
        true.q[self.joint] += LIE_JUMP
        return true


class JointFrozen(Fault):
    """Position and velocity of a joint stay as they are: position constant, velocity zero."""

    #: Only motion can show it.
    deadline = 0.2
    needs_brakes = True

    def __init__(self, joint: int, begin: float):
        super().__init__(joint, begin)
        self._q: float | None = None

    def lie(self, true: Reading) -> Reading:
        if self._q is None:
            self._q = float(true.q[self.joint])
        true.q[self.joint], true.v[self.joint] = self._q, 0.0
        return true


class JointFrozenBriefly(JointFrozen):
    """Position and velocity of a joint stay as they are for a while, and are right after it."""

    def show(self, true: Reading) -> Reading | None:
        return super().show(true) if true.stamp < self.begin + LIE_TIME else true


class Late(Fault):
    """States arrive late, with honest stamps."""

    needs_real_time = True

    def __init__(self, joint: int, begin: float, delay: float):
        super().__init__(joint, begin)
        self._delay = delay

    def received_at(self, stamp: float) -> float:
        return stamp + (self._delay if stamp >= self.begin else 0.0)


class MachineDelays(Fault):
    """The machine delays the controller again and again: the last effort acts on meanwhile."""

    #: One delay does no harm.
    deadline = 0.4
    needs_real_time = True

    def __init__(self, joint: int, begin: float, seed: int):
        super().__init__(joint, begin)
        self._random = np.random.default_rng(seed)
        self._from = self._until = begin

    def lie(self, true: Reading) -> Reading | None:
        while true.stamp >= self._from:
            self._until = self._from + self._random.uniform(SHORT_DELAY, LONG_DELAY)
            self._from = self._until + self._random.exponential(DELAYS_APART)
        return None if true.stamp < self._until else true


class StatesRepeated(Fault):
    """The driver reads the arm 25 times a second, and repeats its values with new stamps."""

    def __init__(self, joint: int, begin: float):
        super().__init__(joint, begin)
        self._last: Reading | None = None

    def lie(self, true: Reading) -> Reading:
        if self._last is None or true.stamp > self._last.stamp + READ_EVERY - 1e-9:
            self._last = true
        last = self._last
        return Reading(true.stamp, last.q.copy(), last.v.copy(), last.effort.copy())


class Degrees(Fault):
    """The driver publishes degrees."""

    from_the_start = True
    deadline = 0.0

    def show(self, true: Reading) -> Reading:
        true.q, true.v = np.degrees(true.q), np.degrees(true.v)
        return true


class TorqueSign(Fault):
    """A joint applies the negative effort (wiring), from the start."""

    from_the_start = True
    needs_brakes = True

    def act(self, time: float, effort: FloatArray) -> FloatArray:
        effort = effort.copy()
        effort[self.joint] *= -1.0
        return effort


class BrakeStuck(Fault):
    """The brake of a joint closes."""

    deadline = 0.2

    def blocked(self, time: float, n: int) -> FloatArray:
        blocked = np.zeros(n, dtype=np.bool_)
        blocked[self.joint] = time >= self.begin
        return blocked


class BrakeStuckBriefly(BrakeStuck):
    """The brake of a joint closes, and opens again."""

    def blocked(self, time: float, n: int) -> FloatArray:
        return super().blocked(time, n) & (time < self.begin + LIE_TIME)


class ArmStopped(Fault):
    """The whole arm stands still: protective stop, program paused, controller inactive."""

    deadline = 0.2

    def blocked(self, time: float, n: int) -> FloatArray:
        return np.full(n, time >= self.begin)


class StatesStop(Fault):
    """No state comes any more."""

    needs_real_time = True
    needs_brakes = True

    def lie(self, true: Reading) -> None:
        return None


#: Faults by name, and their arguments.
FAULTS: dict[str, tuple[type[Fault], tuple[Any, ...]]] = {
    'velocity sign': (VelocitySign, ()),
    'velocity stuck': (VelocityStuck, ()),
    'velocity zero': (VelocityZero, ()),
    'encoder drift': (EncoderDrift, ()),
    'encoder jump': (EncoderJump, ()),
    'joint frozen': (JointFrozen, ()),
    'joint frozen briefly': (JointFrozenBriefly, ()),
    '40 ms late': (Late, (0.04,)),
    '80 ms late': (Late, (0.08,)),
    '120 ms late': (Late, (0.12,)),
    'machine delays': (MachineDelays, (2,)),
    'states repeated': (StatesRepeated, ()),
    'degrees': (Degrees, ()),
    'torque sign': (TorqueSign, ()),
    'brake stuck': (BrakeStuck, ()),
    'brake stuck briefly': (BrakeStuckBriefly, ()),
    'arm stopped': (ArmStopped, ()),
    'states stop': (StatesStop, ()),
}
