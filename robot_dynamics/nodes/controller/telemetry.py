# SPDX-License-Identifier: Apache-2.0
"""Telemetry at a fraction of the control rate, spread over the cycles between."""

from __future__ import annotations

from collections.abc import Callable


class Telemetry:
    """Calls one of several publishers in each cycle, each at the rate asked for.

    A cycle that published everything at once would be the slowest of all; so each
    has its own cycle of a round.

    Parameters
    ----------
    cycle_rate : float
        Rate at which `cycle` is called. Hz.
    rate : float
        Wanted rate of each publisher; the cycle rate divided by a whole number is
        what it gets. 0 for none. Hz.
    publishers : sequence of callable
        What to call, with the stamp in nanoseconds.
    """

    def __init__(self, cycle_rate: float, rate: float,
                 publishers: tuple[Callable[[int], None], ...]):
        self._round = max(1, round(cycle_rate / rate)) if rate > 0.0 else 0
        self._slots: list[list[Callable[[int], None]]] = [[] for _ in range(self._round)]
        for index, publisher in enumerate(publishers):
            if self._round:
                self._slots[index * self._round // len(publishers)].append(publisher)
        self._next = 0

    def cycle(self, stamp: int) -> None:
        """Publish what is due in this cycle; the stamp is that of the state, in ns."""
        if not self._round:
            return
        for publisher in self._slots[self._next]:
            publisher(stamp)
        self._next = (self._next + 1) % self._round
