# SPDX-License-Identifier: Apache-2.0
"""A joint state on its way from the arm to the controller, and how it can be spoilt."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from random import Random

NANOSECONDS = 1_000_000_000


class Belief(Enum):
    """Whether a controller has to believe a state."""

    #: True, complete and in time: it has to answer.
    GOOD = 1
    #: It may believe it or not; nothing is concluded from what it does.
    OPEN = 0
    #: It must not count as a sign of life.
    BAD = -1


@dataclass
class State:
    """A joint state as it is on the wire.

    Parameters
    ----------
    stamp : int
        Stamp of its header. ns.
    names : list of str
        The joints.
    position, velocity, effort : list of float
        One value a name, where nobody has spoilt it.
    belief : Belief
        Whether a controller has to believe it.
    second : bool
        Whether it comes from a second publisher.
    """

    stamp: int
    names: list[str]
    position: list[float]
    velocity: list[float]
    effort: list[float]
    belief: Belief = field(default=Belief.GOOD)
    second: bool = False

    def copy(self) -> State:
        """Return one that can be spoilt without this one."""
        return State(self.stamp, list(self.names), list(self.position), list(self.velocity),
                     list(self.effort), self.belief, self.second)


Corruption = Callable[[State, Random], None]

#: By name, and what a controller may do about it. They spoil a state in place.
CORRUPTIONS: dict[str, tuple[Corruption, Belief]] = {}


def corruption(belief: Belief) -> Callable[[Corruption], Corruption]:
    """Enter a function into `CORRUPTIONS` under its own name."""
    def enter(spoil: Corruption) -> Corruption:
        CORRUPTIONS[spoil.__name__] = spoil, belief
        return spoil
    return enter


def _some_joint(state: State, chance: Random) -> int:
    return chance.randrange(len(state.names))


@corruption(Belief.BAD)
def nan_position(state: State, chance: Random) -> None:
    """One encoder says NaN."""
    state.position[_some_joint(state, chance)] = math.nan


@corruption(Belief.BAD)
def nan_everywhere(state: State, chance: Random) -> None:
    """Hardware that has not started says NaN of everything."""
    state.position = state.velocity = state.effort = [math.nan] * len(state.names)


@corruption(Belief.BAD)
def infinite_position(state: State, chance: Random) -> None:
    """One encoder says infinity, of either sign."""
    state.position[_some_joint(state, chance)] = chance.choice((math.inf, -math.inf))


@corruption(Belief.BAD)
def huge_position(state: State, chance: Random) -> None:
    """One encoder says something no joint can be at."""
    state.position[_some_joint(state, chance)] = chance.choice((1e6, -1e12, 1e300, -1e308))


@corruption(Belief.GOOD)
def nan_velocity(state: State, chance: Random) -> None:
    """One velocity is NaN: the controller can do without."""
    state.velocity[_some_joint(state, chance)] = math.nan


@corruption(Belief.GOOD)
def huge_velocity(state: State, chance: Random) -> None:
    """One velocity is beyond every limit: the controller can do without."""
    state.velocity[_some_joint(state, chance)] = chance.choice((1e3, -1e9, math.inf, 1e308))


@corruption(Belief.GOOD)
def no_velocity(state: State, chance: Random) -> None:
    """No velocities: a driver that measures none."""
    state.velocity = []


@corruption(Belief.GOOD)
def huge_effort(state: State, chance: Random) -> None:
    """One effort reported is nonsense: nothing that is sent may depend on it."""
    state.effort[_some_joint(state, chance)] = chance.choice((1e30, -math.inf, math.nan))


@corruption(Belief.GOOD)
def shuffled(state: State, chance: Random) -> None:
    """Put the joints in another order, which is nothing wrong."""
    order = chance.sample(range(len(state.names)), len(state.names))
    for values in (state.names, state.position, state.velocity, state.effort):
        values[:] = [values[index] for index in order]


@corruption(Belief.GOOD)
def foreign_joints(state: State, chance: Random) -> None:
    """Joints of a gripper between ours, with nonsense of their own."""
    place = _some_joint(state, chance)
    state.names.insert(place, 'gripper')
    for values in (state.position, state.velocity, state.effort):
        values.insert(place, math.nan)


@corruption(Belief.BAD)
def short_position(state: State, chance: Random) -> None:
    """Fewer positions than names."""
    del state.position[chance.randrange(len(state.position)):]


@corruption(Belief.BAD)
def long_position(state: State, chance: Random) -> None:
    """More positions than names."""
    state.position += [0.0] * chance.choice((1, 5, 1000))


@corruption(Belief.BAD)
def short_velocity(state: State, chance: Random) -> None:
    """Fewer velocities than names, but some."""
    del state.velocity[1 + chance.randrange(len(state.velocity) - 1):]


@corruption(Belief.BAD)
def empty(state: State, chance: Random) -> None:
    """Nothing but a stamp."""
    state.names, state.position, state.velocity, state.effort = [], [], [], []


@corruption(Belief.BAD)
def wrong_names(state: State, chance: Random) -> None:
    """Name the joints of another arm."""
    state.names = [f'other_{name}' for name in state.names]


@corruption(Belief.BAD)
def changing_names(state: State, chance: Random) -> None:
    """Names nobody has heard, new ones every time: nothing may grow with them."""
    state.names = [f'{chance.random()}' for _ in state.names]


@corruption(Belief.BAD)
def missing_joint(state: State, chance: Random) -> None:
    """One of our joints is never told of."""
    for values in (state.names, state.position, state.velocity, state.effort):
        del values[0]


@corruption(Belief.BAD)
def repeated_name(state: State, chance: Random) -> None:
    """Name a joint twice, with two positions."""
    state.names[1] = state.names[0]


@corruption(Belief.BAD)
def jump(state: State, chance: Random) -> None:
    """One joint is suddenly elsewhere, and elsewhere again with the next message."""
    state.position[_some_joint(state, chance)] += chance.choice((-1.0, 1.0)) * chance.uniform(2.0,
                                                                                              3.0)


@corruption(Belief.OPEN)
def no_stamp(state: State, chance: Random) -> None:
    """Stamp with zero: there is none."""
    state.stamp = 0
