# SPDX-License-Identifier: Apache-2.0
"""``Pace``: how fast the time of a simulated arm goes by.

A real arm waits for nobody, so a controller whose machine is busy answers too late. A
simulated one may stand still meanwhile: its time goes by more slowly, and the loop stays
what it is, whatever else the machine has to do.
"""

from __future__ import annotations

from robot_dynamics.errors import SimulationError


class Pace:
    """Time of the arm: wall time less what it has waited for its controller.

    While somebody commands, the arm goes on by one period a tick, and after a state that was
    told it waits for the answer, for as long as `patience`. Who does not answer in that time
    is waited for no more until he commands again, and nobody is before his first command.

    Parameters
    ----------
    period : float
        Time between two ticks, at which states are told. s.
    patience : float
        Longest wait for the answer to one state; 0 for none. s.
    """

    def __init__(self, period: float, patience: float):
        if not period > 0.0 or not patience >= 0.0:
            raise SimulationError(f'period {period}, patience {patience}', subject='pace',
                                  remedy='give period > 0 and patience >= 0, in seconds')
        self._period, self._patience = period, patience
        self._is_commanded = False
        self._now = 0.0
        # Time of the arm at the last tick; None where time goes by as on the wall.
        self._ticked: float | None = None
        self._told_at = 0.0
        #: Whether the last state has no answer yet and is waited for.
        self.is_waiting = False
        #: Wall time for which the arm has waited. s.
        self.waited = 0.0

    def now(self, wall: float) -> float:
        """Return the time of the arm at a wall time, both since the start. s."""
        self._now = wall - self.waited
        if self._ticked is not None:
            # However late anybody looks, this process itself included: there is no leap.
            self._set(min(self._now, self._ticked + self._period), wall)
            if self.is_waiting and wall - self._told_at > self._patience:
                self._ticked, self.is_waiting, self._is_commanded = None, False, False
        return self._now

    def tick(self, wall: float) -> float:
        """Return the time of the arm at a tick; while a state waits it is no other. s."""
        self.now(wall)
        if self._ticked is not None and not self.is_waiting:
            # A whole period, though a tick be late: the arm keeps its rate, and up with the wall.
            self._set(min(self._ticked + self._period, wall), wall)
            self._ticked = self._now
        return self._now

    def tell(self, wall: float) -> None:
        """Note that a state of now is told."""
        if self._patience > 0.0 and self._is_commanded:
            self._ticked, self._told_at, self.is_waiting = self._now, wall, True

    def answer(self) -> None:
        """Note that a command has come."""
        self.is_waiting, self._is_commanded = False, True
        if self._ticked is None and self._patience > 0.0:
            self._ticked = self._now

    def _set(self, now: float, wall: float) -> None:
        self._now, self.waited = now, wall - now
