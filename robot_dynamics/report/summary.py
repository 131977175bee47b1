# SPDX-License-Identifier: Apache-2.0
"""The result of a run as numbers and text: errors before and after adaptation, and the loop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot, position_units
from robot_dynamics.report.recording import Recording
from robot_dynamics.report.words import columns, figures

#: Longest window of an error, in s.
LONGEST_WINDOW = 8.0

#: Shortest window for a meaningful error, in s.
SHORTEST_WINDOW = 1.0

_TRACKING, _GUIDED = 'tracking', 'guided'


@dataclass(frozen=True)
class Window:
    """A time window, in s since tracking began."""

    start: float
    end: float

    @property
    def length(self) -> float:
        """Duration in s."""
        return self.end - self.start

    def selects(self, time: FloatArray) -> BoolArray:
        """Mask of the times inside."""
        return (time >= self.start) & (time < self.end)


@dataclass(frozen=True, eq=False)
class Tracking:
    """Root mean square and largest magnitude of each joint's error in a window, rad or m, (n,)."""

    window: Window
    rms: FloatArray
    worst: FloatArray

    @property
    def total(self) -> float:
        """RMS over all joints."""
        return float(np.sqrt(np.mean(self.rms ** 2)))


@dataclass(frozen=True)
class Loop:
    """Regularity of the loop: joint states and commands per second, and times in s.

    ``worst_period`` is the longest time between two stamps of joint states; latencies are from the
    stamp of a joint state to the publication of its command. Values that were not recorded are
    nan.
    """

    state_rate: float
    command_rate: float
    worst_period: float
    latency_median: float
    latency_p99: float
    latency_worst: float


@dataclass(frozen=True, eq=False)
class Summary:
    """The result of a run, with errors in the order of the joints.

    ``adaptation_start`` is the time at which the estimates first changed, s, or None. The errors
    are those just before that and at the end; if the controller adapts from the start, those at
    the start and at the end. The loop is evaluated from the start of tracking; ``interruptions``
    counts how often tracking stopped in between. The unit is a thousandth of that of the joint
    coordinates. ``let_go`` is whether the arm was weightless and followed no reference.
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
        """Names of the two windows; "before" and "after" only if estimates changed."""
        learns = self.adaptation_start is not None and not self.adapts_from_start
        return ('before', 'after') if learns else ('at first', 'at the end')

    @property
    def adapts_from_start(self) -> bool:
        """Whether there is no window before adaptation."""
        return self.adaptation_start is not None \
            and self.before.window.end > self.adaptation_start

    @property
    def improvement(self) -> float:
        """RMS error before adaptation over that after it; infinite for zero error."""
        return self.before.total / self.after.total if self.after.total > 0.0 else np.inf


def summarize(recording: Recording, robot: Robot | None = None, *,
              period: float | None = None) -> Summary:
    """Errors and loop times of a recording.

    The error before and after adaptation is taken over windows of the same length:
    one that ends when the estimates first move, and the last one of the run. If they change from
    the start, or never, the first and the second half are compared.

    Parameters
    ----------
    recording : Recording
        The run.
    robot : Robot, optional
        The arm, for the units of its joints.
    period : float, optional
        Period of the reference, in s. If the run is long enough, both windows are one period long
        and contain the same motion.

    Raises
    ------
    RecordingError
        If the run is too short.

    Examples
    --------
    A run of one joint with an error of 20 mrad that falls to 1 mrad:

    >>> import numpy as np
    >>> from robot_dynamics.report import summarize
    >>> from robot_dynamics.report.recording import NO_VECTORS, JointSeries, Recording
    >>> time = np.arange(1000) / 100
    >>> error = np.where(time < 5, 0.02, 0.001)[:, np.newaxis]
    >>> series = JointSeries(('joint1',), time, error, 0 * error, 0 * error)
    >>> run = Recording(series, series, series, time, {}, None, NO_VECTORS, (), NO_VECTORS, (),
    ...                 'controller', None)
    >>> summary = summarize(run)
    >>> round(summary.before.total, 4), round(summary.after.total, 4)
    (0.02, 0.001)
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
        raise RecordingError(
            f'must have two stretches of {SHORTEST_WINDOW:g} s of tracking or more, got '
            f'{end - begin:.1f} s{beside}', subject='recording', remedy='run longer')
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
    """Unit of a thousandth of the joints' coordinates; mrad for an unknown arm."""
    if robot is None:
        return 'mrad'
    return ' or '.join(f'm{unit}' for unit in sorted(set(position_units(robot)), reverse=True))


def interruptions(recording: Recording) -> int:
    """Number of times that the controller stopped tracking and began again.

    The end of a run is not counted. Only the order of modes is used, because their times are those
    of the recorder, and times of tracking errors are stamps of the arm.
    """
    modes = ['', *(mode for _, mode in recording.modes)]
    begins = sum(before != _TRACKING == mode for before, mode in pairwise(modes))
    return max(0, begins - 1)


def was_let_go(recording: Recording) -> bool:
    """Whether the controller made the arm weightless, and never followed a reference."""
    modes = {mode for _, mode in recording.modes}
    return _GUIDED in modes and _TRACKING not in modes


def first_change(recording: Recording) -> float | None:
    """Time at which the parameter estimates first differ from their first value, in s."""
    values = recording.estimates.values
    if len(values) == 0:
        return None
    moved = np.flatnonzero(np.any(values != values[0], axis=1))
    return float(recording.estimates.time[moved[0]]) if moved.size else None


def _tracking(recording: Recording, window: Window) -> Tracking:
    errors = recording.errors.position[window.selects(recording.errors.time)]
    errors = errors[np.all(np.isfinite(errors), axis=1)]
    if len(errors) == 0:
        raise RecordingError('has no tracking error', subject=f'{window.start:.1f} s to '
                             f'{window.end:.1f} s', remedy='record until the controller tracks')
    return Tracking(window, np.sqrt(np.mean(errors ** 2, axis=0)), np.max(np.abs(errors), axis=0))


def _loop(recording: Recording, window: Window) -> Loop:
    stamps = recording.states.time[window.selects(recording.states.time)]
    commands = recording.command_times[window.selects(recording.command_times)]
    timing = recording.timing.values[window.selects(recording.timing.time)]
    latency, worst = timing[:, [0, 2]].T if timing.size else np.full((2, 1), np.nan)
    return Loop(
        state_rate=_rate(stamps), command_rate=_rate(commands),
        worst_period=float(np.max(np.diff(stamps), initial=0.0)),
        latency_median=float(np.median(latency)),
        latency_p99=float(np.percentile(latency, 99)),
        latency_worst=float(np.max(worst)))


def _rate(times: FloatArray) -> float:
    length = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    return (len(times) - 1) / length if length > 0.0 else np.nan


def verdict(summary: Summary) -> str:
    """The result in one sentence."""
    before, after = (f'{figures(1e3 * tracking.total)} {summary.unit}'
                     for tracking in (summary.before, summary.after))
    if summary.let_go:
        return (f'Released, the arm is {before} from the pose held before at first, {after} at '
                'the end.')
    if summary.adaptation_start is None:
        return (f'Without adaptation the arm follows its reference to {before} at first and '
                f'{after} at the end.')
    if summary.adapts_from_start:
        length = summary.before.window.length
        return (f'Adapting from the start, the arm follows its reference to {before} in the first '
                f'{length:.0f} s and to {after} in the last.')
    seconds = summary.after.window.end - summary.adaptation_start
    if summary.improvement >= 1.05:
        factor = 'infinitely' if summary.improvement == math.inf else \
            f'{figures(summary.improvement, 2)} times'
        return (f'After {seconds:.0f} s of adaptation the arm follows its reference {factor} more '
                f'closely: {before} before, {after} now.')
    return (f'{seconds:.0f} s of adaptation did not improve tracking: {before} before, '
            f'{after} now.')


def table(summary: Summary) -> str:
    """Tracking error of each joint in the two windows, and the loop, for a terminal."""
    first, last = summary.compared
    errors = [*zip(summary.joint_names, summary.before.rms, summary.after.rms, strict=True),
              ('all joints', summary.before.total, summary.after.total)]
    rows = [(name, figures(1e3 * before), figures(1e3 * after), ratio(before, after))
            for name, before, after in errors]
    heading, *joints, total = columns(
        (f'RMS tracking error, {summary.unit}', first, last, 'ratio'), rows, indent='')
    line = '-' * len(heading)
    loop = summary.loop
    lines = [
        heading, line, *joints, line, total, '',
        f'loop rate        {loop.state_rate:.1f} joint states a second, '
        f'{loop.command_rate:.1f} commands',
        f'longest period   {1e3 * loop.worst_period:.1f} ms',
        f'latency          {latency(loop)}',
    ]
    if summary.interruptions:
        lines += ['', interrupted(summary.interruptions)]
    return '\n'.join(lines)


def latency(loop: Loop) -> str:
    """Median, 99 % and worst latency of a loop as text, as far as known."""
    if math.isnan(loop.latency_median):
        return 'unknown: controllers publish it, and only in wall time'
    return (f'{1e3 * loop.latency_median:.2f} ms median, {1e3 * loop.latency_p99:.2f} ms at 99 %, '
            f'{1e3 * loop.latency_worst:.2f} ms worst')


def interrupted(count: int) -> str:
    """Advice on a run in which the controller stopped tracking."""
    often = 'once' if count == 1 else f'{count} times'
    return (f'The controller stopped tracking {often}, in a simulation most likely because this '
            'machine was busy: the figures are worse than they could be.')


def ratio(before: float, after: float) -> str:
    """Ratio of the first to the second, e.g. ``'23 x'``."""
    return f'{figures(before / after, 2)} x' if after > 0 else '-'
