# SPDX-License-Identifier: Apache-2.0
"""``Pace``: how fast the time of a simulated arm goes by.

A real arm waits for nobody, so a controller whose machine is busy answers too late. A
simulated one may stand still meanwhile: its time goes by more slowly, and the loop stays
what it is, whatever else the machine has to do.
"""

from __future__ import annotations

import math

from robot_dynamics.errors import SimulationError


class Pace:
    """Time of the arm: wall time less what it has waited for its controller.

    While somebody commands, the arm goes on for one period, and a step, at most after each
    state: until the next one is told, and that waits for the answer to the last, for as long
    as `patience`. Who does not answer in that time is waited for no more until he commands
    again, and nobody is before his first command.

    Parameters
    ----------
    period : float
        Time between two states. s.
    patience : float
        Longest wait for the answer to one state; 0 for none. s.
    step : float
        Step of the simulation: the times of states are whole numbers of it. s.
    """

    def __init__(self, period: float, patience: float, *, step: float = 0.0):
        if not period > 0.0 or not patience >= 0.0 or not step >= 0.0:
            raise SimulationError(f'period {period}, patience {patience}, step {step}',
                                  subject='pace', remedy='give period > 0, patience >= 0 and '
                                                         'step >= 0, in seconds')
        # A state is told up to a step late, and there has to be one to tell another.
        self._most, self._patience = period + step, patience
        self._is_commanded = False
        # Time of the arm, and wall time, when the last state was told.
        self._told: tuple[float, float] | None = None
        self._now = 0.0
        #: Whether that state has no answer yet and is waited for.
        self.is_waiting = False
        #: Wall time for which the arm has waited. s.
        self.waited = 0.0

    def now(self, wall: float) -> float:
        """Return the time of the arm at a wall time, both since the start. s."""
        self._now = wall - self.waited
        if self._told is not None:
            told, since = self._told
            if self.is_waiting and wall - since > self._patience:
                self._told, self.is_waiting, self._is_commanded = None, False, False
            latest = told + self._most
            if self._now > latest:
                self.waited += self._now - latest
                self._now = latest
        return self._now

    def tell(self, now: float, wall: float) -> None:
        """Note that a state of that time of the arm is told at a wall time. s."""
        if self._patience > 0.0 and self._is_commanded:
            self._told, self.is_waiting = (now, wall), True

    def answer(self) -> None:
        """Note that a command has come."""
        self.is_waiting, self._is_commanded = False, True
        if self._told is None and self._patience > 0.0:
            # No state was told that this answers: the arm goes no farther from here, either.
            self._told = (self._now, math.inf)
