# SPDX-License-Identifier: Apache-2.0
"""The gate at the start of control: hold the measured pose until the arm obeys.

Discovery between two processes is not symmetric: a controller may receive joint states for a third
of a second before its commands reach the arm. An estimate or a moving reference would wind up
during that time. So the controller holds the measured pose until there is evidence that its
commands act.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import count, not_negative, positive
from robot_dynamics.model.arrays import FloatArray, real_array


class StartGate:
    """Decide from the reported efforts whether the arm applies the commands.

    The evidence is the reported effort: it must agree with one of the last commands, at every
    joint and for `samples` states in a row. Agreement proves nothing where the arm reported about
    that effort before it can have received a command (a horizontal arm at rest needs none, an arm
    held by its own gravity compensation applies the same); it does as soon as one joint disagreed
    then.

    Where the effort proves nothing, is not reported or is not comparable (a motor current), the
    arm must stay still for `settle_time` instead, which is several times what discovery takes.

    Parameters
    ----------
    effort_limit : array_like, shape (n,)
        Effort limits, the scale of the tolerance. N m or N.
    samples : int
        States in a row that must agree.
    tolerance : float
        Largest difference that counts as agreement, as a fraction of the limit.
    settle_time : float
        Time for which the arm must stay still where efforts prove nothing. s.
    still_tolerance : float
        Largest movement of a still arm. rad or m.
    compare_effort : bool
        Whether the reported effort is a torque that commands can be compared with.
    history : int
        Number of stored commands: an effort reported now may answer an older one.
    as_sent : callable, optional
        Takes positions and reported efforts and returns the command they answer to, shape (n,)
        all; the reported efforts themselves by default.

    Examples
    --------
    >>> import numpy as np
    >>> gate = StartGate([10.0], samples=1)
    >>> gate.begin(0.0, np.zeros(1), np.zeros(1))
    >>> gate.note_sent(np.array([5.0]))
    >>> gate.observe(0.002, np.zeros(1), np.array([5.0]))
    True
    """

    def __init__(self, effort_limit: ArrayLike, *, samples: int = 50, tolerance: float = 0.03,
                 settle_time: float = 1.0, still_tolerance: float = 0.02,
                 compare_effort: bool = True, history: int = 10,
                 as_sent: Callable[[FloatArray, FloatArray], FloatArray] = lambda q, effort: effort
                 ):
        limit = real_array(effort_limit, 'effort_limit')
        #: Settings, with the tolerance of each joint, shape (n,), N m or N.
        self.samples = count('samples', samples)
        self.tolerance = positive('tolerance', tolerance) * limit
        self.settle_time = not_negative('settle_time', settle_time, 's')
        self.still_tolerance = positive('still_tolerance', still_tolerance, 'rad')
        #: Whether reported efforts can be compared, and the commands they answer to.
        self.compares_efforts, self.as_sent = compare_effort, as_sent
        self._sent = np.full((count('history', history), limit.size), np.nan)
        self._difference = np.empty_like(self._sent)
        self._effort_before = np.full(limit.size, np.nan)
        self._still_at = np.zeros(limit.size)
        self._still_since = math.inf
        self._count = 0
        self._next = 0
        self._proven = False
        #: Reason that keeps the gate closed whatever the arm does, empty without one.
        self.closed_by = ''
        #: Why the gate is closed, to show.
        self.reason = 'no joint state yet'

    def begin(self, stamp: float, q: FloatArray, effort: FloatArray) -> None:
        """Start over with the first state of an arm that has received no command yet.

        Parameters
        ----------
        stamp : float
            Its stamp. s.
        q, effort : ndarray, shape (n,)
            Its positions, and efforts as reported (nan for none).
        """
        self._sent[:] = np.nan
        self._next = 0
        self._count = 0
        self._proven = False
        self._effort_before[:] = self.as_sent(q, effort)
        self._still_at[:] = q
        self._still_since = stamp
        self.reason = 'holding the measured pose'

    def note_sent(self, tau: FloatArray) -> None:
        """Remember a command, shape (n,)."""
        self._sent[self._next] = tau
        self._next = (self._next + 1) % self._sent.shape[0]

    def observe(self, stamp: float, q: FloatArray, effort: FloatArray) -> bool:
        """Whether the arm is known to obey, by a state after a command was sent.

        Parameters
        ----------
        stamp : float
            Its stamp. s.
        q, effort : ndarray, shape (n,)
            Its positions and reported efforts.
        """
        if np.abs(q - self._still_at).max() > self.still_tolerance:
            self._still_at[:] = q
            self._still_since = stamp
        if self.closed_by:
            # What the arm does until then proves nothing.
            self._still_since, self._count = stamp, 0
            self.reason = self.closed_by
            return False
        settled = stamp - self._still_since >= self.settle_time
        if not self.compares_efforts or np.isnan(effort).any():
            self._count = 0
            self.reason = 'no effort to compare: waiting for the arm to stay still'
            return settled
        effort = self.as_sent(q, effort)
        if not self._agrees(effort):
            self._count = 0
            self._proven = False
            self.reason = 'the effort reported is not the one commanded'
            return False
        self._count += 1
        if not self._proven:
            # A joint that reports our command now and reported another effort before.
            self._proven = bool((np.abs(effort - self._effort_before)
                                 > 2.0 * self.tolerance).any())
        self.reason = 'the arm follows: counting states' if self._proven \
            else 'efforts agree but always did: waiting for the arm to stay still'
        return self._count >= self.samples and (self._proven or settled)

    def _agrees(self, effort: FloatArray) -> bool:
        """Whether one of the last commands is the effort reported at each joint, shape (n,)."""
        np.abs(np.subtract(self._sent, effort, out=self._difference), out=self._difference)
        # Unused rows hold nan, which agrees with nothing.
        return bool((self._difference <= self.tolerance).all(axis=1).any())
