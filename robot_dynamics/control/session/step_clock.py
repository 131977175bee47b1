# SPDX-License-Identifier: Apache-2.0
"""``StepClock``: how much time a control step may count for."""

from __future__ import annotations

from robot_dynamics.control.checks import positive
from robot_dynamics.errors import ParameterError


class StepClock:
    """Bound the time steps a controller sees, and say which are fit to learn from.

    A step as long as a gap would move the estimates as if the last error had lasted
    all the time; one much shorter than a period makes noise of a finite difference.
    Both are answered with torque but not learnt from.

    Parameters
    ----------
    period : float
        Nominal time between states. s.
    max_factor : float
        Longest step counted, in periods.
    gap_factor, short_factor : float
        Steps longer or shorter than this many periods are not learnt from.
    """

    def __init__(self, period: float, *, max_factor: float = 5.0, gap_factor: float = 3.0,
                 short_factor: float = 0.5):
        self.period = positive('period', period, 's')
        if not 0.0 < short_factor < 1.0 < gap_factor <= max_factor:
            raise ParameterError(f'{short_factor:g}, {gap_factor:g}, {max_factor:g}',
                                 subject='short_factor, gap_factor, max_factor',
                                 remedy='give 0 < short_factor < 1 < gap_factor <= max_factor')
        self.max_dt = max_factor * period
        self._gap, self._short = gap_factor * period, short_factor * period
        #: Steps longer than `max_dt`: all, and in a row up to now.
        self.overruns, self.overruns_in_row = 0, 0
        #: Steps without any time in them.
        self.empty_steps = 0
        #: The longest step met. s.
        self.worst = 0.0
        #: Whether the last step was fit to learn from.
        self.is_regular = False

    def step(self, dt: float) -> float:
        """Return a time step between 0 and `max_dt`; one that is not a number counts 0."""
        if not dt > 0.0:
            self.empty_steps += 1
            self.is_regular = False
            return 0.0
        self.worst = max(self.worst, dt)
        self.is_regular = self._short <= dt <= self._gap
        if dt > self.max_dt:
            self.overruns += 1
            self.overruns_in_row += 1
            return self.max_dt
        self.overruns_in_row = 0
        return dt
