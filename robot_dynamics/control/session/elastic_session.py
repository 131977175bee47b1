# SPDX-License-Identifier: Apache-2.0
"""``ElasticSession``: a session that hears of motors and leads the links behind springs."""

from __future__ import annotations

from typing import Any

from robot_dynamics.control.laws.elastic_pd import ElasticPDController
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.model.arrays import FloatArray

#: States over which late ones are counted, and the share of them from which on, and down to
#: which, they are too many. Single ones a loop survives: springs have some damping of their own.
_COUNTED, _TOO_MANY, _FEW = 50, 0.2, 0.05


class ElasticSession(ControlSession):
    """A control session whose states are those of motors, and whose references those of links.

    Poses that are held, and errors, are those of links at rest behind the springs: what is
    held sags no more when it is taken over, and in equilibrium there is no error but that
    of the links. While the arm moves, what springs give way to its acceleration is left out.

    It goes safe where too many states are older, or farther apart, than the loop is stable with
    (`ElasticGainReport.longest_delay`): the feedback would drive the springs. As long as that
    is so it stays safe, and the controller is told to be patient.

    Parameters
    ----------
    *arguments, **options
        As for `ControlSession`; the controller is an `ElasticPDController`.
    """

    controller: ElasticPDController

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._late_share = 0.0

    @property
    def pose(self) -> FloatArray:
        """Where the links hang when the motors stand where they are, shape (n,)."""
        return self.controller.links_at_rest(self.monitor.q)

    def _change_mode(self, silence: float) -> None:
        self._count_lateness()
        if not self.controller.is_patient:
            super()._change_mode(silence)
        elif self.mode is Mode.SAFE:
            self._repeats_left, self._good_states = self.settings.safe_repeats, 0
        else:
            self._go_safe(Cause.ANSWERS_LATE, f'{self._lateness():.4f} s, it is stable up to '
                                              f'{self.controller.report.longest_delay:.4f} s')

    def _lateness(self) -> float:
        """Return how much older than in a regular loop the effort on the arm becomes. s.

        By the age of the last state when it came, and by what it came later than a period after
        the one before.
        """
        monitor = self.monitor
        return self._last_receive - monitor.stamp + max(0.0, monitor.dt - self.settings.period)

    def _count_lateness(self) -> None:
        """Decide whether the controller has to be patient."""
        is_late = self._lateness() > self.controller.report.longest_delay
        self._late_share += (is_late - self._late_share) / _COUNTED
        was_patient = self.controller.is_patient
        self.controller.is_patient = self._late_share > (_FEW if was_patient else _TOO_MANY)
