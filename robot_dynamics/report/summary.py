# SPDX-License-Identifier: Apache-2.0
"""What a recording shows, in numbers: error before and after adaptation, and the loop."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot, position_units
from robot_dynamics.report.recording import Recording

#: Longest stretch over which the error is taken, in s.
LONGEST_WINDOW = 8.0

_TRACKING, _GUIDED = 'tracking', 'guided'

#: Shortest stretch that says anything about tracking, in s.
SHORTEST_WINDOW = 1.0


@dataclass(frozen=True)
class Window:
    """A stretch of time, in s since tracking began."""

    start: float
    end: float

    @property
    def length(self) -> float:
        """Duration in s."""
        return self.end - self.start

    def selects(self, time: FloatArray) -> BoolArray:
        """Return which of the times lie inside."""
        return (time >= self.start) & (time < self.end)


@dataclass(frozen=True, eq=False)
class Tracking:
    """Tracking error in a window.

    Parameters
    ----------
    window : Window
        Where it was taken.
    rms, worst : ndarray, shape (n,)
        Root mean square and largest magnitude of each joint's error, rad or m.
    """

    window: Window
    rms: FloatArray
    worst: FloatArray

    @property
    def total(self) -> float:
        """RMS over all joints."""
        return float(np.sqrt(np.mean(self.rms ** 2)))


@dataclass(frozen=True)
class Loop:
    """How regularly the loop ran.

    Parameters
    ----------
    state_rate, command_rate : float
        Joint states and commands a second; the latter nan when they were not recorded.
    worst_period : float
        Longest time between two stamps of joint states, s.
    latency_median, latency_p99, latency_worst : float
        From the stamp of a joint state to its command published, s; nan when it was
        not recorded.
    callback_median : float
        Duration of the controller's callback, s; nan when it was not recorded.
    """

    state_rate: float
    command_rate: float
    worst_period: float
    latency_median: float
    latency_p99: float
    latency_worst: float
    callback_median: float


@dataclass(frozen=True, eq=False)
class Summary:
    """The result of a run.

    Parameters
    ----------
    joint_names : tuple of str
        Joints, in the order of the vectors.
    adaptation_start : float or None
        When the estimates first moved, s; None when they never did.
    before, after : Tracking
        Error just before that, and at the end. Where the controller adapts from the start,
        at the start and at the end.
    loop : Loop
        From the start of tracking to the end.
    interruptions : int
        How often the controller stopped tracking, between the first error and the last.
    unit : str
        Unit of a thousandth of the joints' coordinates.
    let_go : bool
        Whether the arm was made weightless and led by no reference.
    """

    joint_names: tuple[str, ...]
    adaptation_start: float | None
    before: Tracking
    after: Tracking
    loop: Loop
    interruptions: int
    unit: str
    let_go: bool

    @property
    def compared(self) -> tuple[str, str]:
        """What the two windows are called: only what is learnt has a before and an after."""
        learns = self.adaptation_start is not None and not self.adapts_from_start
        return ('before', 'after') if learns else ('at first', 'at the end')

    @property
    def adapts_from_start(self) -> bool:
        """Whether there is nothing to compare with before adaptation."""
        return self.adaptation_start is not None \
            and self.before.window.end > self.adaptation_start

    @property
    def improvement(self) -> float:
        """How many times smaller the RMS error is after adaptation; infinite where it is none."""
        return self.before.total / self.after.total if self.after.total > 0.0 else np.inf


def summarize(recording: Recording, robot: Robot | None = None, *,
              period: float | None = None) -> Summary:
    """Return what a recording shows.

    The error before and after adaptation is taken over windows of the same length:
    one that ends when the estimates first move, and the last one of the run. Where they move
    from the start, or never, it is the first and the second half that are compared.

    Parameters
    ----------
    recording : Recording
        What was recorded.
    robot : Robot, optional
        The arm; tells which joints turn and which slide.
    period : float, optional
        Period of the reference, in s. Given one that fits, both windows are one
        period long, and so hold the same motion.

    Raises
    ------
    RecordingError
        When the run is too short to say anything.
    """
    errors = recording.errors
    begin, end = float(errors.time[0]), float(errors.time[-1])
    adaptation_start = first_change(recording)
    longest = LONGEST_WINDOW if period is None else period
    if adaptation_start is None or adaptation_start < begin + SHORTEST_WINDOW:
        split = begin + (end - begin) / 2
        length = min(longest, split - begin)
        first = Window(begin, begin + length) if adaptation_start is not None \
            else Window(split - length, split)
    else:
        length = min(longest, adaptation_start - begin, end - adaptation_start)
        first = Window(adaptation_start - length, adaptation_start)
    if length < SHORTEST_WINDOW:
        beside = '' if adaptation_start is None \
            else f', {max(length, 0):.1f} s beside the start of adaptation'
        raise RecordingError(f'holds {end - begin:.1f} s of tracking{beside}', subject='recording',
                             remedy=f'run longer: two stretches of {SHORTEST_WINDOW:g} s or more '
                                    'are compared')
    # The last sample is inside.
    past = float(np.nextafter(end, np.inf))
    return Summary(
        joint_names=recording.states.names, adaptation_start=adaptation_start,
        before=_tracking(recording, first),
        after=_tracking(recording, Window(end - length, past)),
        loop=_loop(recording, Window(begin, past)),
        interruptions=interruptions(recording), unit=unit_of(robot),
        let_go=was_let_go(recording))


def unit_of(robot: Robot | None) -> str:
    """Return the unit of a thousandth of the joints' coordinates; mrad where nothing is known."""
    if robot is None:
        return 'mrad'
    return ' or '.join(f'm{unit}' for unit in sorted(set(position_units(robot)), reverse=True))


def interruptions(recording: Recording) -> int:
    """Return how often the controller stopped tracking and began again.

    The end of a run is none. It is told by the order of the modes, not by their times: those
    are when the recorder got them, tracking errors are stamped by the arm.
    """
    modes = ['', *(mode for _, mode in recording.modes)]
    begins = sum(before != _TRACKING == mode for before, mode in pairwise(modes))
    return max(0, begins - 1)


def was_let_go(recording: Recording) -> bool:
    """Whether the controller made the arm weightless, and never followed a reference."""
    modes = {mode for _, mode in recording.modes}
    return _GUIDED in modes and _TRACKING not in modes


def first_change(recording: Recording) -> float | None:
    """Return when the parameter estimates first differ from their first value, in s."""
    values = recording.estimates.values
    if len(values) == 0:
        return None
    moved = np.flatnonzero(np.any(values != values[0], axis=1))
    return float(recording.estimates.time[moved[0]]) if moved.size else None


def _tracking(recording: Recording, window: Window) -> Tracking:
    errors = recording.errors.position[window.selects(recording.errors.time)]
    errors = errors[np.all(np.isfinite(errors), axis=1)]
    if len(errors) == 0:
        raise RecordingError('holds no tracking error', subject=f'{window.start:.1f} s to '
                             f'{window.end:.1f} s', remedy='record until the controller tracks')
    return Tracking(window, np.sqrt(np.mean(errors ** 2, axis=0)), np.max(np.abs(errors), axis=0))


def _loop(recording: Recording, window: Window) -> Loop:
    stamps = recording.states.time[window.selects(recording.states.time)]
    commands = recording.command_times[window.selects(recording.command_times)]
    timing = recording.timing.values[window.selects(recording.timing.time)]
    latency, callback, worst = timing[:, :3].T if timing.size else np.full((3, 1), np.nan)
    return Loop(
        state_rate=_rate(stamps), command_rate=_rate(commands),
        worst_period=float(np.max(np.diff(stamps), initial=0.0)),
        latency_median=float(np.median(latency)),
        latency_p99=float(np.percentile(latency, 99)),
        latency_worst=float(np.max(worst)),
        callback_median=float(np.median(callback)))


def _rate(times: FloatArray) -> float:
    length = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    return (len(times) - 1) / length if length > 0.0 else np.nan
