# SPDX-License-Identifier: Apache-2.0
"""What a scenario can do, and how a system gets on its feet again afterwards."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from random import Random

from .faults import Fault
from .link import Link, Status
from .operator import Operator
from .rig import CONTROLLER, HANDLERS_TIMEOUT, REFERENCE, Nodes, Setup

#: How long a system may take to track again, and to come up, of time in which the machine lets
#: it: to hold, to see that the arm follows, to plan a motion and to settle takes some seconds in
#: a row, and those of any stretch are its own after that. And of any time. s.
RECOVERY_TIMEOUT, START_TIMEOUT = 30.0, 30.0
_IN_A_ROW, LONGEST_RECOVERY = 5.0, 180.0
#: What is told of a system that did not come back, and of one that could not.
NOT_AT_ALL, TOO_BUSY = 'not at all', 'not yet: the machine is too busy'
#: Tracking is tracking with an error below this, for so long. rad, s.
_SMALL_ERROR, _SETTLED = 0.1, 0.3
#: For so long somebody waits for what should come by itself, before he looks at the machine. s.
_PATIENCE = 15.0
#: An arm that is led is this fast at least, as a share of its limit.
_MOVES = 0.02
#: How long a node gets to end when asked to. s.
_END_TIMEOUT = 10.0


class ScenarioSystem:
    """Where a scenario is played.

    Parameters
    ----------
    setup : Setup
        The system.
    nodes, link, people
        Its processes, what stands between them, and who talks to them.
    """

    def __init__(self, setup: Setup, nodes: Nodes, link: Link, operator: Operator):
        self.setup, self.nodes, self.link, self.operator = setup, nodes, link, operator
        #: Chance of the scenario that is played.
        self.chance = Random(0)
        #: What was seen to be wrong.
        self.findings: list[str] = []
        #: When the controller was dead, stopped or not active. ns.
        self.absences: list[tuple[int, int]] = []
        self._absent_since: int | None = None
        # Whether the controller was started and is about to activate by itself, and whether
        # the reference was and has yet to plan a motion.
        self._autostarts = self._plans = False

    def begin(self, chance: Random) -> None:
        """Forget the scenario before."""
        self.chance, self.findings, self.absences = chance, [], []

    def fault(self, fault: Fault, seconds: float) -> None:
        """Let a fault act for a while."""
        self.link.set_fault(fault)
        self.wait(seconds)
        self.link.set_fault(Fault())

    def wait(self, seconds: float, until: Callable[[Status], bool] = lambda status: False
             ) -> bool:
        """Wait for a while, or until things are so; return whether they are."""
        end = time.monotonic() + seconds
        while True:
            self.findings += self.nodes.poll()
            if until(self.link.status()):
                return True
            left = end - time.monotonic()
            if left <= 0.0:
                return False
            time.sleep(min(left, 0.02))

    def start(self, name: str) -> None:
        """Start a node that is not there."""
        pid = self.nodes.start(name)
        if name == CONTROLLER:
            self._autostarts = True
            self.link.watch(pid)
        self._plans = self._plans or name == REFERENCE

    def end(self, name: str, number: signal.Signals) -> None:
        """End a node by a signal; one that was asked politely has to end with status 0."""
        if name == CONTROLLER:
            self.absent()
        if number != signal.SIGKILL:
            self.nodes.wait_for_handlers(name, HANDLERS_TIMEOUT)
        self.nodes.signal(name, number)
        status = self.nodes.wait_for_end(name, _END_TIMEOUT)
        wanted = -number if number == signal.SIGKILL else 0
        if status != wanted:
            self.findings.append(f'{name} ended with status {status} after {number.name}')

    def pause(self, name: str, seconds: float) -> None:
        """Stop a process for a while, as a machine does that is out of breath."""
        if name == CONTROLLER:
            self.absent()
        self.nodes.signal(name, signal.SIGSTOP)
        try:
            self.wait(seconds)
        finally:
            self.nodes.signal(name, signal.SIGCONT)
            if name == CONTROLLER:
                self.present()

    def absent(self) -> None:
        """Note that from now on nothing may be expected of the controller."""
        if self._absent_since is None:
            self._absent_since = time.monotonic_ns()

    def present(self) -> None:
        """Note that it has its duties again."""
        if self._absent_since is not None:
            self.absences.append((self._absent_since, time.monotonic_ns()))
            self._absent_since = None

    def recover(self, by_itself: bool, timeout: float = RECOVERY_TIMEOUT) -> tuple[float, str]:
        """Wait until the arm is led again; return how long that took, and by what.

        Parameters
        ----------
        by_itself : bool
            Whether it has to come by itself where the controller is set up to resume.
        timeout : float
            For how long to wait, of time in which the machine has not stood in the way for long
            enough to recover. s.
        """
        began, how = time.monotonic(), 'by itself'
        had, looked = 0.0, began
        for name in self.nodes.missing:
            self.start(name)
        alone = by_itself and self.setup.resume_after > 0
        # A node that ends by itself is not started again: that would hide why.
        while had < timeout and time.monotonic() - began < LONGEST_RECOVERY \
                and not self.nodes.missing:
            before, looked = looked, time.monotonic()
            if self.link.status().undisturbed > _IN_A_ROW:
                had += looked - before
            self._plans = self._plans and self.link.status().speed < _MOVES
            if self._settles() and not self._plans:
                self._autostarts = False
                self.present()
                return time.monotonic() - began, how
            status = self.link.status()
            # Where the machine has held it up, more may have gone wrong than what was played.
            alone = alone and not (time.monotonic() - began > _PATIENCE
                                   and status.held_up > self.setup.state_timeout / 4.0)
            if (status.mode == 'stopped' and not self._autostarts) \
                    or (status.mode == 'safe' and not alone):
                how = 'activated anew'
                self._reactivate()
            self.wait(0.05)
        self.present()
        took = time.monotonic() - began
        if had < timeout and not self.nodes.missing:
            return took, TOO_BUSY
        self.findings.append(f'no recovery within {took:.0f} s, {had:.0f} s of it undisturbed: '
                             f'{self.link.status()}; '
                             + ' | '.join(list(self.nodes.lines[CONTROLLER])[-5:]))
        return took, NOT_AT_ALL

    def _settles(self) -> bool:
        """Whether the arm is led closely, now and for a while."""
        def is_off(status: Status) -> bool:
            return not (status.mode == 'tracking' and status.commanded
                        and status.error < _SMALL_ERROR)
        return not self.wait(_SETTLED, until=is_off)

    def _reactivate(self) -> None:
        """Do what an operator does."""
        self.absent()
        self._autostarts = False
        self.operator.change_state('deactivate')
        self.operator.change_state('activate')
        self.present()
        self.wait(0.1)
