# SPDX-License-Identifier: Apache-2.0
"""``SpeedGuard``: an arm that is faster than it may be is not led, it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import count, positive
from robot_dynamics.control.session.limits import all_within
from robot_dynamics.model.arrays import FloatArray, real_array


class SpeedGuard:
    """Watch the speed of an arm.

    References keep within the speed limits; who tracks them overshoots a little. A speed far
    beyond that is what a feedback does whose answers come too late or too seldom, or that is
    told wrong positions: it drives the arm to and fro with all it has.

    Parameters
    ----------
    joint_names : sequence of str, length n
        The joints, for messages.
    velocity_limit : array_like, shape (n,)
        Speed limits, nan where there is none. rad/s or m/s.
    units : sequence of str, length n
        Units of the positions, for messages: 'rad' or 'm'.
    margin : float
        Up to this multiple of its limit a joint may be fast.
    states : int
        States in a row that must be faster: one may be a measurement gone wrong.
    """

    def __init__(self, joint_names: Sequence[str], velocity_limit: ArrayLike, *,
                 units: Sequence[str], margin: float = 1.5, states: int = 3):
        limit = real_array(velocity_limit, 'velocity_limit')
        self._names, self._units = tuple(joint_names), tuple(units)
        self._largest = positive('margin', margin) * np.where(np.isnan(limit), np.inf, limit)
        self._states = count('states', states)
        self._speed = np.zeros(limit.size)
        self._in_row = 0
        self._within = all_within.load()

    def is_fast(self, v: FloatArray) -> bool:
        """Whether the arm runs; to be called once a state, with its velocity, shape (n,)."""
        if self._within(v, self._largest):
            self._in_row = 0
            return False
        np.abs(v, out=self._speed)
        self._in_row += 1
        return self._in_row >= self._states

    @property
    def detail(self) -> str:
        """The joint that was farthest beyond its limit in the last state that was, in words."""
        joint = int(np.argmax(self._speed / self._largest))
        return (f'{self._names[joint]} at {self._speed[joint]:.3g} {self._units[joint]}/s, '
                f'{self._largest[joint]:.3g} at most')
