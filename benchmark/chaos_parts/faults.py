# SPDX-License-Identifier: Apache-2.0
"""Faults of the connection between arm and controller: what becomes of each state.

A fault takes every state the arm sends and says what is sent on, and how much later. They
know nothing of ROS, so that their tests need none.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from .states import CORRUPTIONS, NANOSECONDS, Belief, State

#: A state to be sent on, and after how many ns.
Passed = tuple[int, State]


class Fault:
    """No fault: every state is passed on as it is."""

    #: Whether there is a second publisher while it lasts.
    has_second_publisher = False
    #: What is added to the clock, s.
    clock_offset = 0.0

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return what is sent on."""
        return ((0, state),)


class Drop(Fault):
    """Loses a share of the states."""

    def __init__(self, chance: Random, share: float = 1.0):
        self._chance, self._share = chance, share

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the state, or nothing."""
        return () if self._chance.random() < self._share else ((0, state),)


class Corrupt(Fault):
    """Spoils a share of the states, see `CORRUPTIONS`."""

    def __init__(self, chance: Random, kind: str, share: float = 1.0):
        self._chance, self._share = chance, share
        self._spoil, self._belief = CORRUPTIONS[kind]

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the state, spoilt or not."""
        if self._chance.random() >= self._share:
            return ((0, state),)
        spoilt = state.copy()
        self._spoil(spoilt, self._chance)
        spoilt.belief = self._belief
        return ((0, spoilt),)


class Late(Fault):
    """Every state comes later, by a time that may differ each time.

    In order or not, each is true when it comes; a controller may find it too old.
    """

    def __init__(self, chance: Random, least: float, most: float):
        self._chance, self._least, self._most = chance, least, most

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the state with its delay."""
        late = state.copy()
        late.belief = Belief.OPEN
        return ((int(self._chance.uniform(self._least, self._most) * NANOSECONDS), late),)


class Duplicate(Fault):
    """Every state comes several times; the copies are worth nothing."""

    def __init__(self, chance: Random, copies: int = 2, spread: float = 0.002):
        self._chance, self._copies, self._spread = chance, copies, spread

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the state and its copies."""
        yield 0, state
        for _ in range(self._copies):
            again = state.copy()
            again.belief = Belief.BAD
            yield int(self._chance.uniform(0.0, self._spread) * NANOSECONDS), again


class FrozenStamp(Fault):
    """The stamp stands still while positions go on."""

    def __init__(self) -> None:
        self._stamp: int | None = None

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the state under the stamp of the first."""
        if self._stamp is None:
            self._stamp = state.stamp
            return ((0, state),)
        frozen = state.copy()
        frozen.stamp, frozen.belief = self._stamp, Belief.BAD
        return ((0, frozen),)


class FrozenValues(Fault):
    """A driver that has lost its arm goes on to tell what it knew last, as new."""

    def __init__(self) -> None:
        self._first: State | None = None

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the values of the first state under a fresh stamp."""
        if self._first is None:
            self._first = state
        frozen = self._first.copy()
        frozen.stamp, frozen.belief = state.stamp, Belief.OPEN
        return ((0, frozen),)


class Offset(Fault):
    """Stamps are off by a constant: the clock of the arm, or of everybody, was set.

    Parameters
    ----------
    seconds : float
        How far.
    belief : Belief
        What a controller has to make of it.
    clock : bool
        Whether the clock everybody reads jumps as well.
    """

    def __init__(self, seconds: float, belief: Belief, *, clock: bool = False):
        self._offset = int(seconds * NANOSECONDS)
        self._belief = belief
        self.clock_offset = seconds if clock else 0.0

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the state under another stamp."""
        moved = state.copy()
        moved.stamp, moved.belief = max(1, state.stamp + self._offset), self._belief
        return ((0, moved),)


class Moved(Fault):
    """One joint is said to be elsewhere from now on, as by an encoder that lost its zero."""

    def __init__(self, chance: Random, distance: float):
        self._joint, self._distance = chance.random(), distance

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the state with the joint elsewhere."""
        moved = state.copy()
        moved.position[int(self._joint * len(state.names))] += self._distance
        # Not to be followed there; but after a silence it is a first state like any other.
        moved.belief = Belief.OPEN
        return ((0, moved),)


class SecondPublisher(Fault):
    """Somebody else says where the arm is, as often as the arm itself.

    Parameters
    ----------
    kind : {'zero', 'frozen', 'near', 'same'}
        What it says: the zero pose, that of the beginning, one 0.03 rad beside the true
        one, or the same once more.
    """

    has_second_publisher = True

    def __init__(self, kind: str):
        self._kind = kind
        self._first: State | None = None

    def pass_on(self, state: State) -> Iterable[Passed]:
        """Return the true state, and the other one half a millisecond later."""
        if self._first is None:
            self._first = state
        true, other = state.copy(), state.copy()
        true.belief = other.belief = Belief.OPEN
        other.second = True
        if self._kind != 'same':
            other.stamp += NANOSECONDS // 2000
        if self._kind == 'zero':
            other.position = [0.0] * len(state.names)
        elif self._kind == 'near':
            other.position = [value + 0.03 for value in state.position]
        elif self._kind == 'frozen':
            other.position = list(self._first.position)
        return (0, true), (NANOSECONDS // 2000, other)
