# SPDX-License-Identifier: Apache-2.0
"""What a controller owes, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from robot_dynamics.model.arrays import FloatArray


@dataclass(frozen=True)
class Requirements:
    """What a controller owes.

    Parameters
    ----------
    effort_limit : ndarray, shape (n,)
        N m or N.
    state_timeout, period : float
        s.
    copies : int
        How often the last safe command is sent, after those that brake the arm.
    gravity : callable
        Takes a pose, shape (n,), and the parameter estimates last heard or None; returns
        the efforts that may be said to carry the arm there, each of shape (n,).
    """

    effort_limit: FloatArray
    state_timeout: float
    period: float
    copies: int
    gravity: Callable[[FloatArray, Sequence[float] | None], Iterable[FloatArray]]


@dataclass(frozen=True)
class Loss:
    """One loss of states and the safe command after it; times in s.

    Parameters
    ----------
    reaction : float
        From the publication of the last good state to that of the safe command.
    machine : float
        Part of that which the machine has taken.
    on_its_way : float
        From the publication of the command to its reception.
    """

    reaction: float
    machine: float
    on_its_way: float

    @property
    def own(self) -> float:
        """What the controller itself has taken. s."""
        return self.reaction - self.machine


@dataclass
class Verdict:
    """What came of a scenario.

    Parameters
    ----------
    findings : list of str
        What was wrong.
    losses : list of Loss
        Losses of states that could be judged.
    commands : int
        Commands heard.
    largest_effort : float
        Largest effort as a share of its limit.
    largest_speed : float
        Largest speed of the arm as a share of its limit.
    stalls : int
        Losses after which something was late that only a machine which stood still explains.
    """

    findings: list[str] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    commands: int = 0
    largest_effort: float = 0.0
    largest_speed: float = 0.0
    stalls: int = 0
