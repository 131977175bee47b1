# SPDX-License-Identifier: Apache-2.0
"""``Pace``: the clock of a simulated arm, which can wait for its controller.

A controller on a busy machine commands a real arm too late. The time of a simulated arm can
stand still meanwhile, so that the control loop does not depend on the load of the machine.
"""

from __future__ import annotations

from robot_dynamics.errors import SimulationError


class Pace:
    """Time of the arm: wall time less the time for which it waited for its controller.

    While commands arrive, the time advances by one period a tick. After each published state it
    waits for the command that answers it, for at most `patience`. A controller that misses this
    deadline is not waited for until its next command, nor before its first one.

    Parameters
    ----------
    period : float
        Time between two ticks, at which states are published. s.
    patience : float
        Longest wait for the answer to one state; 0 for none. s.
    """

    def __init__(self, period: float, patience: float):
        if not period > 0.0 or not patience >= 0.0:
            raise SimulationError('must have period > 0 and patience >= 0, got period '
                                  f'{period}, patience {patience}', subject='pace',
                                  remedy='give times in seconds')
        self._period, self._patience = period, patience
        self._is_commanded = False
        self._now = 0.0
        # Time of the arm at the last tick; None while it advances with wall time.
        self._ticked: float | None = None
        self._published_at = 0.0
        #: Whether the arm waits for the command that answers the last state.
        self.is_waiting = False
        #: Wall time for which the arm has waited. s.
        self.waited = 0.0

    def now(self, wall: float) -> float:
        """Time of the arm at a wall time, both since the start. s."""
        self._now = wall - self.waited
        if self._ticked is not None:
            # There is no leap, however late this is called.
            self._set(min(self._now, self._ticked + self._period), wall)
            if self.is_waiting and wall - self._published_at > self._patience:
                self._ticked, self.is_waiting, self._is_commanded = None, False, False
        return self._now

    def tick(self, wall: float) -> float:
        """Time of the arm at a tick; it stands still while the arm waits. s."""
        self.now(wall)
        if self._ticked is not None and not self.is_waiting:
            # A whole period even when a tick is late, so that the arm keeps its rate.
            self._set(min(self._ticked + self._period, wall), wall)
            self._ticked = self._now
        return self._now

    def tell(self, wall: float) -> None:
        """Note that the state of now is published."""
        if self._patience > 0.0 and self._is_commanded:
            self._ticked, self._published_at, self.is_waiting = self._now, wall, True

    def answer(self) -> None:
        """Note that a command has arrived."""
        self.is_waiting, self._is_commanded = False, True
        if self._ticked is None and self._patience > 0.0:
            self._ticked = self._now

    def _set(self, now: float, wall: float) -> None:
        self._now, self.waited = now, wall - now
