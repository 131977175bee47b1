# SPDX-License-Identifier: Apache-2.0
"""``Log``, the rows of a recording as written, and the rules for leaving out rows.

Every row left out is counted by reason. Gaps split a log into segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray

#: Largest distance from the median time that fits into a stamp in ns, s.
_LONGEST = 4e9
#: A pause longer than this number of sampling periods splits a log.
GAP_PERIODS = 8.0
#: Times are since 1970 from here on (the year 1973), and otherwise from the first row, s.
SINCE_1970 = 1e8
#: Longest sampling period of a motion; larger ones indicate times in another unit, s.
LONGEST_PERIOD = 1.0
#: Fewest rows of a segment.
SHORTEST_SEGMENT = 16
#: Largest position or effort; squares of larger numbers could overflow.
LARGEST_VALUE = 1e9
#: An effort is a spike if it differs from its neighbours by more than this multiple of the 99th
#: percentile of differences, and by more than this fraction of the range of the joint's efforts.
SPIKE_DIFFERENCES, SPIKE_RANGE = 4.0, 0.5
#: Motion below which a joint counts as at rest, because encoders jitter, rad or m.
AT_REST = 0.01
#: Longest run of repeated rows that are dropped, and largest fraction of repeated rows.
LONGEST_REPEAT, MOST_REPEATED = 2, 0.1
#: Number of rows from which typical differences and ranges are estimated.
MOST_LOOKED_AT = 100_000
#: Fastest joint, rad/s or m/s, and smallest jump, rad or m.
FASTEST, LEAST_JUMP = 60.0, 0.02


@dataclass(frozen=True, eq=False)
class Log:
    """Rows of a log in the order of the file, without conversion.

    Joints have the names of the robot; ``stamps``, int64 of shape (N,), are ns from any origin.
    Positions, velocities and efforts, (N, n), are as written, nan where a row has no value;
    ``dropped`` counts unreadable rows by reason. ``source`` is the origin, for messages, ``start``
    the time of the stamp 0, s, and ``notes`` are how columns were read, sentences on the source.
    """

    names: tuple[str, ...]
    stamps: IntArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    dropped: Mapping[str, int] = field(default_factory=dict)
    source: str = 'log'
    start: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.stamps)


@dataclass(frozen=True, eq=False)
class Cleaned:
    """A log without unusable rows.

    Times, (N,), are s from the first row, strictly increasing, ``period`` their median distance.
    Positions and efforts, (N, n), are finite, velocities nan where they were not measured.
    ``bounds`` are the first row of each segment and the row after its last one, and ``counts`` the
    rows left out or corrected, by reason.
    """

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    bounds: tuple[tuple[int, int], ...]
    period: float
    counts: dict[str, int]
    #: Stamp of time 0, ns.
    origin: int


class UsableRows:
    """Rows of a log that are still in use, and the number of dropped ones by reason."""

    def __init__(self, count: int, counts: Mapping[str, int] | None = None):
        self.kept = np.ones(count, dtype=bool)
        self.counts = {reason: number for reason, number in (counts or {}).items() if number}

    @property
    def rows(self) -> IntArray:
        """Numbers of the rows in use."""
        return np.flatnonzero(self.kept)

    def drop(self, reason: str, bad: BoolArray) -> None:
        """Drop rows and count those that were in use."""
        bad = bad & self.kept
        if np.any(bad):
            self.count(reason, int(np.count_nonzero(bad)))
            self.kept[bad] = False

    def drop_some(self, reason: str, found: BoolArray) -> None:
        """Drop rows given by a mask over the rows in use."""
        mask = np.zeros(len(self.kept), dtype=bool)
        mask[self.rows[found]] = True
        self.drop(reason, mask)

    def count(self, reason: str, number: int) -> None:
        """Count rows."""
        self.counts[reason] = self.counts.get(reason, 0) + number

    def drop_disorder(self, time: NDArray[np.generic]) -> None:
        """Drop rows older than a previous row, and rows with the stamp of the previous row."""
        if np.any(self.kept):
            times = time[self.rows]
            behind = np.zeros(len(times), dtype=bool)
            behind[1:] = times[1:] < np.maximum.accumulate(times)[:-1]
            self.drop_some('rows out of order', behind)
            self.drop_some('rows with the stamp of the row before',
                           np.append(False, np.diff(time[self.rows]) == 0))

    def segments(self, time: FloatArray, source: str) -> tuple[list[IntArray], float]:
        """Rows of each segment between gaps, and the median time between rows, s.

        Raises
        ------
        RecordingError
            If fewer than `SHORTEST_SEGMENT` rows in a row are left.
        """
        rows = self.rows
        if len(rows) < SHORTEST_SEGMENT:
            raise RecordingError(f'has {len(rows)} usable rows; left out: {self}', subject=source,
                                 remedy='record some seconds of a moving arm')
        steps = np.diff(time[rows])
        period = float(np.median(steps))
        if period > LONGEST_PERIOD:
            raise RecordingError(f'has rows that are {period:.3g} s apart', subject=source,
                                 remedy='give times in s, or log.time_unit for a table, and rows '
                                        'that follow the motion')
        splits = np.flatnonzero(steps > GAP_PERIODS * period) + 1
        if len(splits):
            self.count('gaps', len(splits))
        pieces = [rows[a:b] for a, b in pairwise([0, *splits.tolist(), len(rows)])]
        whole = [piece for piece in pieces if len(piece) >= SHORTEST_SEGMENT]
        lost = len(rows) - sum(map(len, whole))
        if lost:
            self.count('rows between gaps that are too close', lost)
        if not whole:
            raise RecordingError(f'has no piece of {SHORTEST_SEGMENT} rows without a gap',
                                 subject=source, remedy='record at a steady rate')
        return whole, period

    def __str__(self) -> str:
        return ', '.join(f'{count} {reason}' for reason, count in self.counts.items()) or 'nothing'


def stamps_of(time: FloatArray) -> tuple[IntArray, BoolArray]:
    """Stamps of the rows that have a time, ns from the first of them, and a mask of these rows.

    Times that are not finite or more than a century away from the median are rejected.
    """
    good = np.isfinite(time)
    if not np.any(good):
        return np.empty(0, dtype=np.int64), good
    middle = np.sort(time[good])[np.count_nonzero(good) // 2]
    with np.errstate(over='ignore', invalid='ignore'):
        good &= np.abs(time - middle) <= _LONGEST
    return np.round((time[good] - time[good][0]) * 1e9).astype(np.int64), good


def in_order(names: Sequence[str], wanted: Sequence[str]) -> tuple[int, ...] | None:
    """Index of each wanted name, or None if one is missing or occurs twice."""
    names = list(names)
    if any(names.count(name) != 1 for name in wanted):
        return None
    return tuple(names.index(name) for name in wanted)


def clean(log: Log, rotary: BoolArray, *, times: tuple[float, float] | None = None) -> Cleaned:
    """Leave out the unusable rows of a log and unwrap the angles of rotary joints, shape (n,).

    ``times`` is the interval that is kept, s from the first row, or s since 1970 for times of
    `SINCE_1970` and later. RecordingError if no segment is left.
    """
    used = UsableRows(log.count, log.dropped)
    used.drop('rows without a finite position',
              ~np.all(np.abs(log.position) < LARGEST_VALUE, axis=1))
    used.drop('rows without a finite effort', ~np.all(np.abs(log.effort) < LARGEST_VALUE, axis=1))
    used.drop_disorder(log.stamps)
    if not np.any(used.kept):
        raise RecordingError(f'has no usable row: {used}', subject=log.source,
                             remedy='record position and effort of all joints')
    origin = int(log.stamps[used.kept][0])
    time = (log.stamps - log.stamps[used.kept][0]) * 1e-9
    if times is not None:
        # Stamps since 1970 are compared as they are in the log.
        first = 1e-9 * origin + log.start if times[0] >= SINCE_1970 else 0.0
        used.drop('rows outside the times asked for',
                  (time < times[0] - first) | (time > times[1] - first))
    position = log.position.copy()
    _unwrap(position, used, rotary)
    motion = (position, log.velocity, log.effort)
    for reason, found, arrays in (
            ('rows at rest without any effort, as with brakes on', _braked,
             (position, log.effort)),
            ('rows that repeat the one before', _repeated, motion),
            ('rows with a jump of position', _jumps, (time, position)),
            ('rows with a spike of effort', _spikes, (log.effort,))):
        rows = used.rows
        if len(rows) >= SHORTEST_SEGMENT:
            used.drop_some(reason, found(*(_taken(x, rows) for x in arrays)))
    pieces, period = used.segments(time, log.source)
    rows = np.concatenate(pieces)
    ends = np.cumsum([0, *map(len, pieces)]).tolist()
    return Cleaned(_taken(time, rows), _taken(position, rows), _taken(log.velocity, rows),
                   _taken(log.effort, rows), tuple(pairwise(ends)), period, used.counts,
                   origin)


def _unwrap(position: FloatArray, used: UsableRows, rotary: BoolArray) -> None:
    """Undo jumps of nearly 2 pi between two rows."""
    rows = used.rows
    for joint in np.flatnonzero(rotary):
        steps = np.diff(position[rows, joint])
        turns = np.round(steps / (2.0 * np.pi))
        wraps = (np.abs(steps) > 1.5 * np.pi) & (turns != 0.0)
        if np.any(wraps):
            position[rows[1:], joint] -= 2.0 * np.pi * np.cumsum(np.where(wraps, turns, 0.0))
            used.count('wraps undone', int(np.count_nonzero(wraps)))


def _jumps(time: FloatArray, position: FloatArray) -> BoolArray:
    """Mask of single rows with positions that the joint cannot reach and leave in time.

    They are compared with the line between their neighbours, to which a real motion is close.
    """
    found = np.zeros(len(time), dtype=bool)
    if len(time) > 2:
        before, after = time[1:-1] - time[:-2], time[2:] - time[1:-1]
        most = FASTEST * np.minimum(before, after)[:, np.newaxis]
        steps = np.abs(np.diff(position, axis=0))
        there = (steps[:-1] > most) & (steps[1:] > most)
        rows = np.flatnonzero(np.any(there, axis=1))
        share = (before / (before + after))[rows, np.newaxis]
        line = position[rows] + share * (position[rows + 2] - position[rows])
        off = np.abs(position[rows + 1] - line)
        found[rows + 1] = np.any((off > LEAST_JUMP) & there[rows], axis=1)
        first = np.abs(position[0] - position[1]) / (time[1] - time[0])
        found[0] = bool(np.any(first > FASTEST))
    return found


def _spikes(effort: FloatArray) -> BoolArray:
    """Mask of rows with an effort far from the median of the five rows around them.

    Steps of friction at a reversal do not differ from that median.
    """
    steps = np.abs(np.diff(effort, axis=0))
    some = slice(None, None, max(1, len(effort) // MOST_LOOKED_AT))
    usual = np.percentile(steps[some], 99.0, axis=0)
    low, high = np.percentile(effort[some], (1.0, 99.0), axis=0)
    limit = np.maximum(np.maximum(SPIKE_DIFFERENCES * usual, SPIKE_RANGE * (high - low)), 1e-9)
    # A row that differs from the median of five differs from a neighbour by at least half as much.
    large = np.flatnonzero(np.any(steps > 0.5 * limit, axis=1))
    rows = np.unique((large[:, np.newaxis] + np.arange(-1, 3)).ravel())
    rows = rows[(rows >= 0) & (rows < len(effort))]
    found = np.zeros(len(effort), dtype=bool)
    if len(rows):
        near = np.abs(rows[:, np.newaxis] + np.arange(-2, 3))
        near = np.where(near >= len(effort), 2 * (len(effort) - 1) - near, near)
        around = np.median(effort[near], axis=1)
        found[rows] = np.any(np.abs(effort[rows] - around) > limit, axis=1)
    return found


def _braked(position: FloatArray, effort: FloatArray) -> BoolArray:
    """Mask of rows at rest with zero effort in all drives: the brakes hold the arm."""
    found = np.zeros(len(effort), dtype=bool)
    for a, b in _runs(np.all(effort == 0.0, axis=1)):
        if b - a >= SHORTEST_SEGMENT and np.all(np.ptp(position[a:b], axis=0) < AT_REST):
            found[a:b] = True
    return found


def _runs(mask: BoolArray) -> Iterator[tuple[int, int]]:
    """Yield the first row and the row after the last one of each run of true values."""
    edges = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    yield from zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(),
                   strict=True)


def _repeated(*arrays: FloatArray) -> BoolArray:
    """Mask of rows that are equal to the row before.

    A driver that misses a cycle repeats the old state with a new stamp, once or twice. Longer runs
    are an arm at rest, or an encoder that is sampled faster than it updates.
    """
    same = np.zeros(len(arrays[0]), dtype=bool)
    same[1:] = np.all([np.all((x[1:] == x[:-1]) | (np.isnan(x[1:]) & np.isnan(x[:-1])), axis=1)
                       for x in arrays], axis=0)
    if np.mean(same) > MOST_REPEATED:
        return np.zeros_like(same)
    for a, b in _runs(same):
        if b - a > LONGEST_REPEAT:
            same[a:b] = False
    return same


def _taken(x: FloatArray, rows: IntArray) -> FloatArray:
    """The selected rows, without a copy if all are selected."""
    return x if len(rows) == len(x) else x[rows]
