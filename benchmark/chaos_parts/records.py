# SPDX-License-Identifier: Apache-2.0
"""What an observer has heard during one scenario, on one steady clock."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from operator import attrgetter

from .states import Belief


@dataclass(frozen=True)
class ReceivedCommand:
    """A command as it was heard.

    Parameters
    ----------
    time : int
        When, on the steady clock. ns.
    late : int
        For how long it had been on its way by then: from the publisher's own time stamp,
        which the middleware sends along. ns.
    number : int
        Its place in the sequence of its publisher; -1 where the middleware does not tell.
    publisher : bytes
        Who that is.
    effort : tuple of float
        What it says.
    """

    time: int
    late: int
    number: int
    publisher: bytes
    effort: tuple[float, ...]

    @property
    def published(self) -> int:
        """When it was published, on the steady clock. ns."""
        return self.time - self.late


@dataclass(frozen=True)
class Relayed:
    """A joint state as it was sent on to the controller.

    Parameters
    ----------
    time : int
        When, just before it was published, on the steady clock. ns.
    belief : Belief
        Whether the controller has to believe it.
    position : tuple of float
        Where the arm really was when it was measured, robot's order. rad or m.
    held : int
        For how long the relay had no core meanwhile. ns.
    """

    time: int
    belief: Belief
    position: tuple[float, ...]
    held: int = 0


@dataclass(frozen=True)
class Wait:
    """How much the machine itself has stood in the way up to a moment.

    Parameters
    ----------
    time : int
        The moment, on the steady clock. ns.
    controller : int
        Time the controller was ready to run since it was started, but no core was free. ns.
    others : tuple of int
        The same of each other thread of its process: those of the middleware, which it
        hears by and whose locks it may wait for. ns.
    stolen : int
        Time for which nobody ran: the observer overslept, and not for want of a core. ns.
    couriers : tuple of int
        Time each thread of the kernel that delivers packets has waited for a core. ns.
    overslept : int
        Time for which the observer, who sleeps for 2 ms at most, did not come back. ns.
    """

    time: int
    controller: int
    others: tuple[int, ...]
    stolen: int
    couriers: tuple[int, ...] = ()
    overslept: int = 0

    def taken_since(self, before: Wait) -> int:
        """Return for how long the machine has kept the controller waiting since then. ns."""
        others, couriers = (
            max((now - then for then, now in zip(olds, news, strict=False)), default=0)
            for olds, news in ((before.others, self.others), (before.couriers, self.couriers)))
        return max(0, self.controller - before.controller + others + couriers,
                   self.stolen - before.stolen)


@dataclass
class Records:
    """Everything heard in one scenario, each list in the order of time.

    Parameters
    ----------
    begin, end : int
        Of the time they are about, on the steady clock. ns.
    modes : list of (int, str)
        When the controller said what it does.
    estimates : list of (int, tuple of float)
        Parameter estimates.
    speeds : list of (int, float)
        Speed of the arm itself as a share of its limit, the fastest joint.
    """

    begin: int
    end: int = 0
    commands: list[ReceivedCommand] = field(default_factory=list)
    states: list[Relayed] = field(default_factory=list)
    modes: list[tuple[int, str]] = field(default_factory=list)
    estimates: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)
    speeds: list[tuple[int, float]] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)

    def taken(self, begin: int, end: int) -> int:
        """Return for how long within that time the machine kept the controller waiting. ns."""
        looks = self._looks(begin, end)
        return looks[1].taken_since(looks[0]) if looks else 0

    def stalled(self, begin: int, end: int) -> int:
        """Return for how long within that time somebody who slept did not come back. ns."""
        looks = self._looks(begin, end)
        return looks[1].overslept - looks[0].overslept if looks else 0

    def _looks(self, begin: int, end: int) -> tuple[Wait, Wait] | None:
        """Return the last look before, and the first after, None where nobody looked after."""
        moment = attrgetter('time')
        last = bisect_left(self.waits, end, key=moment)
        if last >= len(self.waits):
            return None
        first = max(0, bisect_right(self.waits, begin, key=moment) - 1)
        return self.waits[first], self.waits[last]
