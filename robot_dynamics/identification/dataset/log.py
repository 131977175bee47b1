# SPDX-License-Identifier: Apache-2.0
"""``Log``: what a file says of some joints, as it stands there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray

#: Times that are further from the middle one do not fit a stamp in ns. s.
_LONGEST = 4e9
#: A pause of more than so many sampling periods splits a log.
GAP_PERIODS = 8.0
#: Rows further apart tell nothing of a motion: their times are in other units. s.
LONGEST_PERIOD = 1.0
#: Rows a segment must have to be of use.
SHORTEST_SEGMENT = 16
#: An effort is a spike where it leaves its neighbours by more than so many of their larger
#: differences (the 99th percentile), and by more than this part of the joint's range.
SPIKE_DIFFERENCES, SPIKE_RANGE = 4.0, 0.5
#: Who moves by less, rad or m, is at rest: encoders jitter.
AT_REST = 0.01
#: Rows that repeat the one before, one after the other, and of all rows, at most.
LONGEST_REPEAT, MOST_REPEATED = 2, 0.1
#: Rows that tell how large steps and ranges usually are.
MOST_LOOKED_AT = 100_000
#: Joints move slower than this, rad/s or m/s, and a jump is no less than this, rad or m.
FASTEST, LEAST_JUMP = 60.0, 0.02

_HALF_TURN = np.pi


@dataclass(frozen=True, eq=False)
class Log:
    """Rows of a log, in the order of the file; nothing is converted or left out yet.

    Parameters
    ----------
    names : tuple of str, length n
        The joints, by the names that the robot has for them.
    stamps : ndarray of int64, shape (N,)
        When each row was measured, ns from any origin.
    position, velocity, effort : ndarray, shape (N, n)
        As written; nan where a row does not tell.
    dropped : mapping of str to int
        Rows that could not be read at all, by reason.
    source : str
        What the log was read from, for messages.
    """

    names: tuple[str, ...]
    stamps: IntArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    dropped: Mapping[str, int] = field(default_factory=dict)
    source: str = 'log'

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.stamps)


def stamps_of(time: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return the stamps of rows, and which rows have one.

    Parameters
    ----------
    time : ndarray, shape (N,)
        As written, s.

    Returns
    -------
    stamps : ndarray of int64, shape (M,)
        Of the rows that have a time, ns since the first of them.
    good : ndarray of bool, shape (N,)
        Which these are: the time is finite, and no century away from the others.
    """
    good = np.isfinite(time)
    if not np.any(good):
        return np.empty(0, dtype=np.int64), good
    middle = np.sort(time[good])[np.count_nonzero(good) // 2]
    with np.errstate(over='ignore', invalid='ignore'):
        good &= np.abs(time - middle) <= _LONGEST
    return np.round((time[good] - time[good][0]) * 1e9).astype(np.int64), good


def in_order(names: Sequence[str], wanted: Sequence[str]) -> tuple[int, ...] | None:
    """Return where each wanted name stands, or None where one is missing or stands twice."""
    names = list(names)
    if any(names.count(name) != 1 for name in wanted):
        return None
    return tuple(names.index(name) for name in wanted)


@dataclass(frozen=True, eq=False)
class Cleaned:
    """A log without unusable rows.

    Parameters
    ----------
    time : ndarray, shape (N,)
        s from the first row, strictly increasing.
    position, velocity, effort : ndarray, shape (N, n)
        Finite positions and efforts; velocity nan where it is not told.
    starts : tuple of int
        First row of each segment.
    period : float
        Usual time between rows, s.
    counts : dict of str to int
        How many rows were left out, or mended, by reason; reasons without rows are missing.
    """

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    starts: tuple[int, ...]
    period: float
    counts: dict[str, int]


def clean(log: Log, rotary: BoolArray, *, times: tuple[float, float] | None = None) -> Cleaned:
    """Leave out what cannot be used of a log, and unwrap angles.

    Parameters
    ----------
    log : Log
        As read.
    rotary : ndarray of bool, shape (n,)
        Joints whose positions are angles: a jump of about a turn is a wrap.
    times : (float, float), optional
        Keep only what lies between, s from the first row.

    Returns
    -------
    Cleaned
        The rest.

    Raises
    ------
    RecordingError
        When next to nothing is left.
    """
    counts = {reason: count for reason, count in log.dropped.items() if count}
    kept = np.ones(log.count, dtype=bool)

    def drop(reason: str, bad: BoolArray) -> None:
        bad = bad & kept
        if np.any(bad):
            counts[reason] = counts.get(reason, 0) + int(np.count_nonzero(bad))
            kept[bad] = False

    # Beyond this nothing is a position or an effort, and squares would overflow.
    usable = np.abs(log.position) < 1e9
    drop('rows whose position is no number', ~np.all(usable, axis=1))
    drop('rows whose effort is no number', ~np.all(np.abs(log.effort) < 1e9, axis=1))
    stamps = log.stamps
    _drop_disorder(stamps, kept, drop)
    if not np.any(kept):
        raise RecordingError('has no usable row: ' + _listed(counts), subject=log.source,
                             remedy='record position and effort of all joints')
    time = (stamps - stamps[kept][0]) * 1e-9
    if times is not None:
        drop('rows outside the times asked for', (time < times[0]) | (time > times[1]))
    position = log.position.copy()
    _unwrap(position, kept, rotary, counts)
    motion = (position, log.velocity, log.effort)
    for reason, judge, arrays in (
            ('rows at rest without any effort, as with brakes on', _braked,
             (position, log.effort)),
            ('rows that repeat the one before', _repeated, motion),
            ('rows with a jump of position', _jumps, (time, position)),
            ('rows with a spike of effort', _spikes, (log.effort,))):
        rows = np.flatnonzero(kept)
        if len(rows) >= SHORTEST_SEGMENT:
            drop(reason, _scattered(rows, kept, judge(*(_taken(x, rows) for x in arrays))))
    rows = np.flatnonzero(kept)
    if len(rows) < SHORTEST_SEGMENT:
        raise RecordingError(f'has {len(rows)} usable rows; left out: ' + _listed(counts),
                             subject=log.source, remedy='record some seconds of a moving arm')
    return _segmented(*(_taken(x, rows) for x in (time, position, log.velocity, log.effort)),
                      counts, log.source)


def _drop_disorder(stamps: IntArray, kept: BoolArray,
                   drop: Callable[[str, BoolArray], None]) -> None:
    """Drop rows with the stamp of the row before, and rows older than one before them."""
    rows = np.flatnonzero(kept)
    if len(rows) < 2:
        return
    newest = np.maximum.accumulate(stamps[rows])
    behind = np.zeros(len(rows), dtype=bool)
    behind[1:] = stamps[rows][1:] < newest[:-1]
    drop('rows out of order', _scattered(rows, kept, behind))
    rows = np.flatnonzero(kept)
    same = np.zeros(len(rows), dtype=bool)
    same[1:] = np.diff(stamps[rows]) == 0
    drop('rows with the stamp of the row before', _scattered(rows, kept, same))


def _scattered(rows: IntArray, kept: BoolArray, found: BoolArray) -> BoolArray:
    """Return a mask of all rows from one of those that are kept."""
    mask = np.zeros(len(kept), dtype=bool)
    mask[rows[found]] = True
    return mask


def _unwrap(position: FloatArray, kept: BoolArray, rotary: BoolArray, counts: dict[str, int]
            ) -> None:
    """Undo jumps of a turn; only jumps of nearly 2 pi within a row are wraps."""
    rows = np.flatnonzero(kept)
    for joint in np.flatnonzero(rotary):
        steps = np.diff(position[rows, joint])
        turns = np.round(steps / (2.0 * np.pi))
        wraps = (np.abs(steps) > 1.5 * _HALF_TURN) & (turns != 0.0)
        if np.any(wraps):
            position[rows[1:], joint] -= 2.0 * np.pi * np.cumsum(np.where(wraps, turns, 0.0))
            counts['wraps undone'] = (counts.get('wraps undone', 0)
                                      + int(np.count_nonzero(wraps)))


def _jumps(time: FloatArray, position: FloatArray) -> BoolArray:
    """Return single rows that no joint can reach and leave again in time.

    They are judged against the line between their neighbours: a real motion is close to it.
    """
    found = np.zeros(len(time), dtype=bool)
    if len(time) > 2:
        before, after = time[1:-1] - time[:-2], time[2:] - time[1:-1]
        most = FASTEST * np.minimum(before, after)[:, np.newaxis]
        # Faster than any joint there, and back; few rows are looked at closely.
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
    """Return rows where an effort is nowhere near those around it.

    The median of the five rows around it is what a row is compared with, so that a step,
    which friction makes at each reversal, is no spike.
    """
    steps = np.abs(np.diff(effort, axis=0))
    some = slice(None, None, max(1, len(effort) // MOST_LOOKED_AT))
    usual = np.percentile(steps[some], 99.0, axis=0)
    low, high = np.percentile(effort[some], (1.0, 99.0), axis=0)
    limit = np.maximum(np.maximum(SPIKE_DIFFERENCES * usual, SPIKE_RANGE * (high - low)), 1e-9)
    # Who leaves the median of five leaves a neighbour by half as much: few rows do.
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
    """Return rows of an arm that stands still while no drive gives the least effort.

    Brakes or friction carry it then, which no model of a moving arm should be made to explain.
    A passive arm that swings is another matter, and so is a single row of zeros.
    """
    found = np.zeros(len(effort), dtype=bool)
    for a, b in _runs(np.all(effort == 0.0, axis=1)):
        if b - a >= SHORTEST_SEGMENT and np.all(np.ptp(position[a:b], axis=0) < AT_REST):
            found[a:b] = True
    return found


def _runs(mask: BoolArray) -> Iterator[tuple[int, int]]:
    """Yield first row and the row after the last one of what is true in a row."""
    edges = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    yield from zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(),
                   strict=True)


def _repeated(*arrays: FloatArray) -> BoolArray:
    """Return rows that say in every number what the row before said.

    A driver that misses a cycle sends the old state under a new stamp, once or twice. Longer
    runs are an arm at rest, or an encoder sampled faster than it counts, and so are many.
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


def _segmented(time: FloatArray, position: FloatArray, velocity: FloatArray, effort: FloatArray,
               counts: dict[str, int], source: str) -> Cleaned:
    """Split at gaps and leave out what is too short between two of them."""
    steps = np.diff(time)
    period = float(np.median(steps))
    if period > LONGEST_PERIOD:
        raise RecordingError(f'has rows that are {period:.3g} s apart', subject=source,
                             remedy='give times in s, and rows that follow the motion')
    splits = np.flatnonzero(steps > GAP_PERIODS * period) + 1
    if len(splits):
        counts['gaps'] = len(splits)
    bounds = [0, *splits.tolist(), len(time)]
    whole = [(a, b) for a, b in pairwise(bounds)
             if b - a >= SHORTEST_SEGMENT]
    lost = len(time) - sum(b - a for a, b in whole)
    if lost:
        counts['rows between gaps that are too close'] = lost
    if not whole:
        raise RecordingError('has no piece of ' + f'{SHORTEST_SEGMENT} rows without a gap',
                             subject=source, remedy='record at a steady rate')
    rows = np.concatenate([np.arange(a, b) for a, b in whole])
    starts, at = [], 0
    for a, b in whole:
        starts.append(at)
        at += b - a
    return Cleaned(*(_taken(x, rows) for x in (time, position, velocity, effort)),
                   tuple(starts), period, counts)


def _taken(x: FloatArray, rows: IntArray) -> FloatArray:
    """Return some rows, without a copy where they are all."""
    return x if len(rows) == len(x) else x[rows]


def _listed(counts: dict[str, int]) -> str:
    return ', '.join(f'{count} {reason}' for reason, count in counts.items()) or 'nothing'
