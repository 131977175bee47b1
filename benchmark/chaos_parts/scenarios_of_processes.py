# SPDX-License-Identifier: Apache-2.0
"""What happens to processes: they are killed, asked to end, stopped, and started again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

from .rig import ARM, CONTROLLER, INVERSE_DYNAMICS, REFERENCE
from .scenario_system import ScenarioSystem

#: Name, what plays it, and whether a controller set up to resume has to do so by itself.
Entry = tuple[str, Callable[[ScenarioSystem], None], bool]


def _killed(name: str) -> Callable[[ScenarioSystem], None]:
    """Return a scenario in which a node is killed and, a little later, started again."""
    def play(tested: ScenarioSystem) -> None:
        tested.end(name, signal.SIGKILL)
        tested.wait(tested.chance.uniform(0.0, 1.0))
        tested.start(name)
    return play


def _ending_signals() -> tuple[signal.Signals, ...]:
    """Return what a node ends by; not a hang-up, where this process is told to survive one."""
    survives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM) + (() if survives else (signal.SIGHUP,))


def _asked_to_end(name: str) -> Callable[[ScenarioSystem], None]:
    """Return a scenario in which a node is asked to end and started again."""
    def play(tested: ScenarioSystem) -> None:
        tested.end(name, tested.chance.choice(_ending_signals()))
        if name == CONTROLLER and tested.wait(0.3, until=lambda status: False):
            return
        if name == CONTROLLER and tested.link.status().commanded:
            tested.findings.append('commands after the controller has ended')
        tested.start(name)
    return play


def _stopped(name: str, least: float, most: float) -> Callable[[ScenarioSystem], None]:
    """Return a scenario in which a node stands still for a time in s."""
    def play(tested: ScenarioSystem) -> None:
        tested.pause(name, tested.chance.uniform(least, most))
    return play


def _all_stopped(tested: ScenarioSystem) -> None:
    """Let the whole machine stand still, and go on."""
    seconds = tested.chance.uniform(0.05, 0.5)
    tested.absent()
    for name in tested.nodes.names:
        tested.nodes.signal(name, signal.SIGSTOP)
    tested.wait(seconds)
    for name in tested.nodes.names:
        tested.nodes.signal(name, signal.SIGCONT)
    tested.present()


def _entries() -> Iterator[Entry]:
    for name in (ARM, CONTROLLER, REFERENCE, INVERSE_DYNAMICS):
        yield f'{name} is killed', _killed(name), name != ARM
        yield f'{name} is asked to end', _asked_to_end(name), name != ARM
        yield f'{name} stands still', _stopped(name, 0.12, 1.0), True
        yield f'{name} stumbles', _stopped(name, 0.005, 0.09), True
    yield 'everything stands still', _all_stopped, True


SCENARIOS: tuple[Entry, ...] = tuple(_entries())
