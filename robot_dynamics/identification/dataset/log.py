# SPDX-License-Identifier: Apache-2.0
"""``Log``: what a file says of some joints, as it stands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray

#: Times that are further from the middle one do not fit a stamp in ns. s.
_LONGEST = 4e9


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
