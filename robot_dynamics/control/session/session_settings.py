# SPDX-License-Identifier: Apache-2.0
"""Settings of a control session."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.control.checks import exceeds, positive
from robot_dynamics.control.session.safe_command import SafeKind
from robot_dynamics.errors import ParameterError

#: Least time-out, in periods: what comes a little late is no loss.
SHORTEST_TIMEOUT = 1.5


@dataclass(frozen=True)
class SessionSettings:
    """How a session behaves.

    Parameters
    ----------
    period : float
        Nominal time between joint states. s.
    state_timeout : float
        Without a good state for this long the session goes safe; until then the arm
        holds the last effort. s.
    resume_after : int or None
        Good states in a row after which it holds the arm again, at the pose then
        measured; None to wait for `ControlSession.reactivate`.
    safe_kind : SafeKind
        What the safe command does.
    safe_repeats : int
        How often it is sent when no state comes any more.
    max_tracking_error : float
        An arm farther than this from its reference is not followed. rad or m.
    max_overruns : int
        States in a row that may be later than the step clock's longest step.
    """

    period: float
    state_timeout: float = 0.1
    resume_after: int | None = None
    safe_kind: SafeKind = SafeKind.GRAVITY
    safe_repeats: int = 5
    max_tracking_error: float = 0.5
    max_overruns: int = 10

    def __post_init__(self) -> None:
        for name in ('period', 'state_timeout', 'safe_repeats', 'max_tracking_error',
                     'max_overruns'):
            positive(name, getattr(self, name))
        shortest = SHORTEST_TIMEOUT * self.period
        if exceeds(shortest, self.state_timeout):
            raise ParameterError(f'is {self.state_timeout:g} s, and states come every '
                                 f'{self.period:g} s: all of them would be late',
                                 subject='state_timeout',
                                 remedy=f'set it to {float(f"{1.005 * shortest:.3g}"):g} s or '
                                        'more, or have states come more often')
        if self.resume_after is not None:
            positive('resume_after', self.resume_after)
