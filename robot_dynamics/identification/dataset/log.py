# SPDX-License-Identifier: Apache-2.0
"""``Log``: what a file says of some joints, as it stands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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


def in_order(names: Sequence[str], wanted: Sequence[str]) -> tuple[int, ...] | None:
    """Return where each wanted name stands, or None where one is missing."""
    places = {name: k for k, name in enumerate(names)}
    if any(name not in places for name in wanted):
        return None
    return tuple(places[name] for name in wanted)
