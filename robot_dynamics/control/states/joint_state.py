# SPDX-License-Identifier: Apache-2.0
"""Joint state monitor: complete, plausible states from a stream of joint state messages.

Messages may list joints in any order, contain other joints, be split into parts, contain NaN while
hardware starts, be repeated or late, or have stamps of another clock. The monitor merges them by
joint name, and counts rejected messages by reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import not_negative, positive
from robot_dynamics.dynamics.kernels.loading import helper, kernel
from robot_dynamics.errors import DimensionError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Speed limit assumed where the description has none. rad/s or m/s.
UNKNOWN_SPEED_LIMIT = 10.0
#: Time (s) and number of messages for which the position of a moving arm may stay the same: a
#: driver that publishes faster than it reads the arm also repeats values.
FROZEN_AFTER, FROZEN_COUNT = 0.05, 5
#: Largest number of stored name layouts, and of names in one of them.
MAX_LAYOUTS, MAX_NAMES = 16, 1000
#: Reported speed above which a joint counts as moving; a lower one may be an offset. rad/s or m/s.
MOVING = 0.02
#: Findings of `absorb`.
ACCEPTED, WAITING, SKEW, NOT_FINITE, DUPLICATE, OUT_OF_ORDER, JUMP = range(7)
#: Sources of a velocity.
UNKNOWN, ESTIMATED, MEASURED = range(3)
#: Largest plausible position: ten thousand turns, a hundred kilometres. rad or m.
POSITION_BOUND = 1e5
#: Largest plausible multiple of the limit: of a measured velocity, of a movement between samples.
VELOCITY_MARGIN = 3.0
SPEED_MARGIN = 1.5
#: Time difference below which two stamps count as equal. s.
STAMP_RESOLUTION = 1e-7
#: Time below which a difference of positions is mostly noise. s.
SHORTEST_DIFFERENCE = 5e-4


class Outcome(Enum):
    """Outcome of a message."""

    ACCEPTED = 'accepted'
    PARTIAL = 'partial'
    REJECTED = 'rejected'


class Reason(Enum):
    """Reason of an outcome; the value is the text to show."""

    ACCEPTED = 'complete state'
    WAITING = 'waits for the other joints'
    SKEW = 'joints are too far apart in time'
    FOREIGN = 'no joint of this arm'
    REPEATED_NAME = 'a joint is named twice'
    NO_POSITION = 'no position'
    LENGTH = 'an array has another length than the names'
    NOT_FINITE = 'position is not finite'
    DUPLICATE = 'stamp is a duplicate'
    OUT_OF_ORDER = 'stamp is out of order'
    NO_TIME = 'stamp or receive time is not finite'
    FUTURE = 'stamp lies in the future'
    STALE = 'stamp is too old'
    JUMP = 'position jumped'
    FROZEN = 'positions stand still while a speed is reported'


class Note(Enum):
    """Anomaly of a message that was not rejected for it."""

    NO_STAMP = 'no stamp: receive time used'
    VELOCITY_IMPLAUSIBLE = 'velocity implausible: estimated instead'
    MIMIC = 'a mimic joint is not where its joint puts it'


class VelocitySource(Enum):
    """Source of the velocity of a joint."""

    UNKNOWN = UNKNOWN
    ESTIMATED = ESTIMATED
    MEASURED = MEASURED


@dataclass(frozen=True)
class Verdict:
    """Outcome of one message, with its reason and the joint concerned."""

    outcome: Outcome
    reason: Reason
    joint: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the monitor now holds a new complete state."""
        return self.outcome is Outcome.ACCEPTED

    @property
    def summary(self) -> str:
        """Outcome of this message in words, to explain why a new state is missing."""
        if self.accepted:
            return 'no message was received since the last, which was complete'
        if self.outcome is Outcome.PARTIAL:
            return f'the last message made no complete state: {self}'
        return f'the last message was rejected: {self}'

    def __str__(self) -> str:
        return self.reason.value if self.joint is None else f'{self.joint}: {self.reason.value}'


# In the order of the findings of `absorb`.
_REASONS = (Reason.ACCEPTED, Reason.WAITING, Reason.SKEW, Reason.NOT_FINITE, Reason.DUPLICATE,
            Reason.OUT_OF_ORDER, Reason.JUMP)
_PARTIAL = (Reason.WAITING, Reason.SKEW)
_ACCEPTED = Verdict(Outcome.ACCEPTED, Reason.ACCEPTED)
_NO_VALUES: tuple[float, ...] = ()


class JointStateMonitor:
    """Merge joint state messages into complete, plausible states by joint name.

    A message in parts (one for each half of an arm) is merged joint by joint. A state is complete
    when every joint is newer than in the previous state and the oldest is at most `state_skew`
    older than the newest. A rejected message changes nothing. A driver that lost the connection to
    its arm may repeat its last values, which then have nonzero velocities at a constant position:
    such messages are rejected after some time. (At rest they cannot be distinguished from new
    values.)

    Positions of continuous joints are unwrapped, so that q never jumps by a turn.

    All times are seconds on one clock. A float64 resolves 0.24 us at the age of the Unix epoch;
    counted from the start of the process it resolves far better, which finite differences need.

    Parameters
    ----------
    joint_names : sequence of str, length n
        The joints, in the order of the states.
    continuous : array_like of bool, shape (n,)
        Whether each joint turns without limits.
    velocity_limit : array_like, shape (n,), optional
        Largest speeds; nan if unknown (`UNKNOWN_SPEED_LIMIT` is then used). rad/s or m/s.
    dependent : sequence of DependentJoint
        Mimic joints, which are compared with the joints that they follow.
    state_skew : float
        Largest age difference between the joints of one state. s.
    max_age, max_future : float
        Largest time by which a stamp may be before and after the receive time. s.
    max_joint_step : float
        Largest jump of a position in addition to the movement since the last sample, by the
        velocities of both or by 1.5 times the velocity limit. rad or m.
    velocity_cutoff : float
        Corner frequency of the first-order filter on estimated velocities. Hz.
    mimic_tolerance : float
        Largest deviation of a mimic joint without a note. rad or m.
    may_freeze : bool
        Accept positions that are constant for longer than `FROZEN_AFTER` while a speed is
        reported; only for users of the states that move no arm.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> robot = Robot.from_urdf('arm7')
    >>> monitor = JointStateMonitor.for_robot(robot)
    >>> names = list(reversed(robot.joint_names))
    >>> monitor.update(1.0, 1.0, names, [0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]).accepted
    True
    >>> monitor.q
    array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    >>> print(monitor.update(1.0, 1.0, names, [0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]))
    joint1: stamp is a duplicate
    """

    def __init__(self, joint_names: Sequence[str], continuous: ArrayLike, *,
                 velocity_limit: ArrayLike | None = None,
                 dependent: Sequence[DependentJoint] = (), state_skew: float = 0.02,
                 max_age: float = 0.2, max_future: float = 0.05, max_joint_step: float = 0.05,
                 velocity_cutoff: float = 30.0, mimic_tolerance: float = 0.05,
                 may_freeze: bool = False):
        self.joint_names = tuple(joint_names)
        n = len(self.joint_names)
        self._continuous = np.array(continuous, dtype=np.bool_)
        speed = np.full(n, np.nan) if velocity_limit is None \
            else np.array(velocity_limit, dtype=np.float64)
        for name, array in (('continuous', self._continuous), ('velocity_limit', speed)):
            if array.shape != (n,):
                raise DimensionError(f'must have shape ({n},), got {array.shape}', subject=name,
                                     remedy='give one value for each of: '
                                            + ', '.join(self.joint_names))
        self._speed = np.where(np.isnan(speed), UNKNOWN_SPEED_LIMIT, speed)
        self._dependent = tuple(dependent)
        self._state_skew = not_negative('state_skew', state_skew, 's')
        self._max_age = positive('max_age', max_age, 's')
        self._max_future = not_negative('max_future', max_future, 's')
        self._max_step = positive('max_joint_step', max_joint_step, 'rad')
        self._cutoff = 2.0 * np.pi * positive('velocity_cutoff', velocity_cutoff, 'Hz')
        self._mimic_tolerance = positive('mimic_tolerance', mimic_tolerance, 'rad')
        self._may_freeze = may_freeze
        #: The last complete state, shape (n,): unwrapped position, velocity, effort
        #: (nan where unavailable). Overwritten in place.
        self.q, self.v, self.effort = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        #: Stamp of the last complete state, and its distance from the one before
        #: (0 for the first). s.
        self.stamp, self.dt = -np.inf, 0.0
        #: Whether every velocity is measured or estimated, and none is assumed to be zero.
        self.velocity_known = False
        #: Number of each note.
        self.notes = dict.fromkeys(Note, 0)
        self._accepted = 0
        self._counts = dict.fromkeys(Reason, 0)
        self._pending = new_pending(n)
        self._sources = np.zeros(n, dtype=np.int64)
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._layout = Layout((), self.joint_names, ())
        self._absorb = absorb.load()

    @classmethod
    def for_robot(cls, robot: Robot, names: Sequence[str] | None = None,
                  **settings: Any) -> JointStateMonitor:
        """Monitor of the independent joints of a robot, optionally under other names."""
        robot.require_single_coordinates('a JointState')
        dependent = [DependentJoint(name, robot.coupling[body], float(robot.coupling_offset[body]))
                     for body, name in enumerate(robot.body_joint_names)
                     if name not in robot.joint_names]
        return cls(robot.joint_names if names is None else names, robot.is_continuous,
                   velocity_limit=robot.limits.velocity, dependent=dependent, **settings)

    @property
    def counts(self) -> dict[Reason, int]:
        """Number of messages by reason."""
        return {**self._counts, Reason.ACCEPTED: self._accepted}

    @property
    def missing(self) -> tuple[str, ...]:
        """Joints that no message has contained so far."""
        return tuple(name for name, stamp in zip(self.joint_names, self._pending[0], strict=True)
                     if stamp == -math.inf)

    @property
    def has_state(self) -> bool:
        """Whether a complete state has arrived since the start or the last `forget`."""
        return self.stamp > -np.inf

    @property
    def velocity_sources(self) -> tuple[VelocitySource, ...]:
        """Source of the velocity of each joint in the last state."""
        return tuple(VelocitySource(int(source)) for source in self._sources)

    @property
    def effort_available(self) -> bool:
        """Whether the last state has the effort of every joint."""
        return not bool(np.isnan(self.effort).any())

    def forget(self) -> None:
        """Start over with a first state; counts are kept."""
        self._pending = new_pending(len(self.joint_names))
        self.stamp, self.dt, self.velocity_known = -np.inf, 0.0, False

    def update(self, receive_time: float, stamp: float | None, names: Sequence[str],
               position: Sequence[float], velocity: Sequence[float] = _NO_VALUES,
               effort: Sequence[float] = _NO_VALUES) -> Verdict:
        """Process one message.

        Parameters
        ----------
        receive_time : float
            Time of its arrival, on the clock of the stamps. s.
        stamp : float or None
            Stamp of its header; None or 0 if it has none. s.
        names : sequence of str
            The joints of the message.
        position, velocity, effort : sequence of float
            One value per name; velocity and effort may be empty.

        Returns
        -------
        Verdict
            Accepted if `q`, `v`, `effort`, `stamp` and `dt` now contain a new state.
        """
        layout = self._layout if names == self._layout.names else self._find_layout(names)
        self._layout = layout
        count = len(names)
        if layout.defect is not None:
            return self._verdict(layout.defect, layout.joint)
        if len(position) != count:
            return self._verdict(Reason.LENGTH if len(position) else Reason.NO_POSITION)
        if (len(velocity) not in (0, count)) or (len(effort) not in (0, count)):
            return self._verdict(Reason.LENGTH)
        if not stamp:
            stamp = receive_time
            self.notes[Note.NO_STAMP] += 1
        if not (math.isfinite(stamp) and math.isfinite(receive_time)):
            return self._verdict(Reason.NO_TIME)
        if stamp > receive_time + self._max_future:
            return self._verdict(Reason.FUTURE)
        if stamp < receive_time - self._max_age:
            return self._verdict(Reason.STALE)
        layout.fill(position, velocity, effort)
        if not self._may_freeze and layout.repeats(stamp) > FROZEN_COUNT \
                and stamp - layout.unchanged_since > FROZEN_AFTER and layout.reports_motion():
            return self._verdict(Reason.FROZEN)
        code, joint, newest, implausible, known = self._absorb(
            layout.source, layout.position, layout.velocity, layout.effort, stamp,
            *self._pending, self._continuous, self._speed, self._max_step, self._cutoff,
            self._state_skew, self.q, self.v, self.effort, self._sources)
        if implausible:
            self.notes[Note.VELOCITY_IMPLAUSIBLE] += 1
        if code != ACCEPTED:
            return self._verdict(_REASONS[code], joint)
        self.dt = newest - self.stamp if self.has_state else 0.0
        self.stamp, self.velocity_known = newest, known
        if layout.dependent and layout.farthest_dependent(self.q) > self._mimic_tolerance:
            self.notes[Note.MIMIC] += 1
        self._accepted += 1
        return _ACCEPTED

    def _find_layout(self, names: Sequence[str]) -> Layout:
        """Layout of a sequence of names, computed once for each."""
        key = tuple(names)
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= MAX_LAYOUTS:
                self._layouts.clear()
            layout = Layout(key, self.joint_names, self._dependent)
            if len(key) <= MAX_NAMES:
                self._layouts[key] = layout
        return layout

    def _verdict(self, reason: Reason, joint: int = -1) -> Verdict:
        """Count a reason and return its verdict."""
        self._counts[reason] += 1
        outcome = Outcome.PARTIAL if reason in _PARTIAL else Outcome.REJECTED
        return Verdict(outcome, reason, self.joint_names[joint] if joint >= 0 else None)


@dataclass(frozen=True, eq=False)
class DependentJoint:
    """A joint that follows others: q = row @ q_independent + offset."""

    name: str
    row: FloatArray
    offset: float


class Layout:
    """Indices of the joints in one sequence of names, with buffers for its messages.

    The buffers give compiled code the same types for every message.
    """

    def __init__(self, names: tuple[str, ...], joint_names: tuple[str, ...],
                 dependent: Sequence[DependentJoint]):
        #: As a list, which is what messages carry: equal lists compare fastest.
        self.names = list(names)
        count = len(names)
        index = {name: i for i, name in enumerate(names)}
        #: Index in the message of each joint, -1 for a missing one, shape (n,).
        self.source = np.array([index.get(name, -1) for name in joint_names], dtype=np.int64)
        #: Mimic joints in the message, with their index.
        self.dependent = [(index[d.name], d) for d in dependent if d.name in index]
        #: Reason for which such messages are rejected, and the joint concerned.
        self.defect = Reason.FOREIGN if np.all(self.source < 0) else None
        self.joint = -1
        counts = Counter(names) if len(index) < count else {}
        repeated = [i for i, name in enumerate(joint_names) if counts.get(name, 0) > 1]
        if repeated:
            self.defect, self.joint = Reason.REPEATED_NAME, repeated[0]
        self.position, self.velocity = np.empty(count), np.empty(count)
        self.effort = np.empty(count)
        # Views into which arrays of doubles are copied fast.
        self._position: Any = self.position.data
        self._velocity: Any = self.velocity.data
        self._effort: Any = self.effort.data
        #: Stamp of the first message with the values of the last one. s.
        self.unchanged_since = -np.inf
        self._values, self._repeats = b'', 0

    def fill(self, position: Sequence[float], velocity: Sequence[float],
             effort: Sequence[float]) -> None:
        """Copy the values of a message; missing ones become nan."""
        try:
            # Arrays of doubles, as in messages, are copied ten times faster in this way.
            self._position[:] = position
            self._velocity[:] = velocity
            self._effort[:] = effort
        except (TypeError, ValueError):
            self.position[:] = position
            self.velocity[:] = velocity if len(velocity) else np.nan
            self.effort[:] = effort if len(effort) else np.nan

    def repeats(self, stamp: float) -> int:
        """Number of messages before this one with the same positions and velocities."""
        values = self.position.tobytes() + self.velocity.tobytes()
        if values == self._values:
            self._repeats += 1
        else:
            self._values, self._repeats, self.unchanged_since = values, 0, stamp
        return self._repeats

    def reports_motion(self) -> bool:
        """Whether the message reports a speed of a joint of this arm."""
        return bool(np.any(np.abs(self.velocity[self.source[self.source >= 0]]) > MOVING))

    def farthest_dependent(self, q: FloatArray) -> float:
        """Largest deviation of a mimic joint from its position for q, rad or m."""
        away = [abs(float(self.position[index] - (joint.row @ q + joint.offset)))
                for index, joint in self.dependent]
        # NaN of a mimic joint is ignored.
        return max((distance for distance in away if distance >= 0.0), default=0.0)


def new_pending(n: int) -> tuple[FloatArray, ...]:
    """Buffers for the last values of each joint, shape (n,) each.

    Stamp (-inf: never), position as reported, full turns to add to it, unwrapped position,
    velocity, effort, source of the velocity, and whether a value arrived since the last complete
    state.
    """
    return (np.full(n, -np.inf), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n),
            np.full(n, np.nan), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_))


@helper
def _turns_passed(step, continuous):
    """Whole turns in a step of a continuous joint, 0 for any other."""
    return round(step / (2.0 * math.pi)) if continuous else 0.0


@kernel('(i8[::1], f8[::1], f8[::1], f8[::1], f8, '
        'f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], i8[::1], b1[::1], '
        'b1[::1], f8[::1], f8, f8, f8, f8[::1], f8[::1], f8[::1], i8[::1])')
def absorb(source, position, velocity, effort, stamp,
           stamps, reported, turns, q, v, tau, origin, fresh,
           continuous, speed, max_step, cutoff, state_skew,
           q_out, v_out, tau_out, origin_out):
    """Check one message joint by joint, merge it, and write a state once complete.

    All joints are checked before any is written, so that a rejected message changes nothing. A
    missing velocity is estimated by the filtered difference v <- v + (1 - exp(-w dt)) (dq/dt - v),
    the exact response of a first-order low pass of corner w (rad/s) to an input held over dt. The
    first estimate is dq/dt, reduced for intervals shorter than `SHORTEST_DIFFERENCE`: two states
    may be a microsecond apart, where noise would cause any speed.

    `source` has the index of each joint in the message, -1 for a missing one; position, velocity
    and effort are the message, nan for missing values; `stamps` to `fresh` are those of
    `new_pending`; the complete state goes to `q_out` to `origin_out`. Returns the finding, the
    joint concerned (-1 for none), the newest stamp of a complete state, whether a measured
    velocity was implausible, and whether every velocity of the state is known.
    """
    n = source.size
    for i in range(n):
        k = source[i]
        if k < 0:
            continue
        # Comparisons are written so that NaN fails.
        if not abs(position[k]) <= POSITION_BOUND:
            return NOT_FINITE, i, stamp, False, False
        dt = stamp - stamps[i]
        if dt < -STAMP_RESOLUTION:
            return OUT_OF_ORDER, i, stamp, False, False
        if dt < STAMP_RESOLUTION:
            return DUPLICATE, i, stamp, False, False
        step = position[k] - reported[i]
        step -= 2.0 * math.pi * _turns_passed(step, continuous[i])
        # An arm that was pushed may be faster than its limits: it has to be braked, not ignored.
        slow, fast = min(v[i], velocity[k]) * dt, max(v[i], velocity[k]) * dt
        if not (abs(step) <= max_step + SPEED_MARGIN * speed[i] * dt
                or (not math.isnan(velocity[k]) and slow - max_step <= step <= fast + max_step)):
            return JUMP, i, stamp, False, False

    implausible = False
    for i in range(n):
        k = source[i]
        if k < 0:
            continue
        first = stamps[i] == -math.inf
        dt = stamp - stamps[i]
        step = position[k] - reported[i]
        if first:
            step = 0.0
            turns[i] = 0.0
        else:
            passed = _turns_passed(step, continuous[i])
            turns[i] -= passed
            step -= 2.0 * math.pi * passed
        reported[i] = position[k]
        q[i] = position[k] + 2.0 * math.pi * turns[i]
        measured = abs(velocity[k]) <= VELOCITY_MARGIN * speed[i]
        if measured:
            v[i] = velocity[k]
            origin[i] = MEASURED
        elif first:
            v[i] = 0.0
            origin[i] = UNKNOWN
        elif origin[i] == UNKNOWN:
            v[i] = (1.0 - math.exp(-dt / SHORTEST_DIFFERENCE)) * step / dt
            origin[i] = ESTIMATED
        else:
            v[i] += (1.0 - math.exp(-cutoff * dt)) * (step / dt - v[i])
            origin[i] = ESTIMATED
        implausible = implausible or (not measured and not math.isnan(velocity[k]))
        tau[i] = effort[k] if math.isfinite(effort[k]) else math.nan
        stamps[i] = stamp
        fresh[i] = True

    oldest, newest = math.inf, -math.inf
    for i in range(n):
        if not fresh[i]:
            return WAITING, i, newest, implausible, False
        oldest = min(oldest, stamps[i])
        newest = max(newest, stamps[i])
    if newest - oldest > state_skew:
        return SKEW, -1, newest, implausible, False
    known = True
    for i in range(n):
        known = known and origin[i] != UNKNOWN
        q_out[i] = q[i]
        v_out[i] = v[i]
        tau_out[i] = tau[i]
        origin_out[i] = origin[i]
        fresh[i] = False
    return ACCEPTED, -1, newest, implausible, known
