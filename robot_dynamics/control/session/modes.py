# SPDX-License-Identifier: Apache-2.0
"""Modes of a control session, causes of its safe mode, and its command."""

from __future__ import annotations

from enum import Enum

import numpy as np

from robot_dynamics.model.arrays import FloatArray


class Mode(Enum):
    """Mode of a control session; the value is its name on topics.

    Examples
    --------
    >>> [mode.value for mode in Mode if mode.follows]
    ['tracking', 'guided', 'halted']
    """

    #: No state yet, or none to take the arm over at: no command, but the safe one where one acts.
    WAITING = 'waiting'
    #: The measured pose is held, without adaptation, until the arm obeys.
    HOLDING = 'holding'
    #: The reference is followed.
    TRACKING = 'tracking'
    #: The arm is guided by hand and follows no reference.
    GUIDED = 'guided'
    #: A stop was requested: the arm is led to rest and held there until a resume.
    HALTED = 'halted'
    #: Only the safe command is sent.
    SAFE = 'safe'
    #: The safe command was sent; no command follows.
    STOPPED = 'stopped'

    @property
    def follows(self) -> bool:
        """Whether the control law moves the arm, or lets it be moved by hand."""
        return self in (Mode.TRACKING, Mode.GUIDED, Mode.HALTED)


class Cause(Enum):
    """Cause of the safe mode; the value is the text to show.

    Examples
    --------
    >>> Cause.STATES_STOPPED.passes, Cause.CONTROLLER_FAILED.passes
    (True, False)
    """

    STATES_STOPPED = 'joint states stopped'
    STATES_SLOW = 'joint states come too slowly'
    ANSWERS_LATE = 'states come too late for the feedback'
    CLOCK_JUMPED = 'the clock jumped'
    TOO_FAST = 'the arm is faster than it may be'
    FAR_FROM_REFERENCE = 'the arm is far from its reference'
    INCONSISTENT = 'position and velocity contradict each other'
    POSITION_JUMPED = 'a position jumped for good'
    NOT_FOLLOWING = 'a joint does not follow its reference'
    MOVES_AGAINST = 'a joint moves against its command'
    MORE_PUBLISHERS = 'joint states have another publisher'
    CONTROLLER_FAILED = 'the controller failed'
    CONTROLLER_STOPS = 'the controller requests a stop'

    @property
    def passes(self) -> bool:
        """Whether valid states may end the safe mode; other causes require a new activation."""
        return self in (Cause.STATES_STOPPED, Cause.STATES_SLOW, Cause.ANSWERS_LATE,
                        Cause.CLOCK_JUMPED, Cause.TOO_FAST)


class Command:
    """Efforts to send. One object serves all cycles: read it before the next call.

    `effort`, shape (n,), is finite and within the limits, N m or N; `stamp` is that of the state
    it answers, s; `is_safe` is whether it is the safe command.
    """

    __slots__ = ('effort', 'is_safe', 'stamp')

    def __init__(self, n: int):
        self.effort: FloatArray = np.zeros(n)
        self.stamp = 0.0
        self.is_safe = True
