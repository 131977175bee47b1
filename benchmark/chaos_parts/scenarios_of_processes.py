# SPDX-License-Identifier: Apache-2.0
"""What happens to processes: they are killed, asked to end, stopped, and started again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

from .rig import ARM, CONTROLLER, INVERSE_DYNAMICS, REFERENCE
from .stage import Stage

#: Name, what plays it, and whether a controller set up to resume has to do so by itself.
Entry = tuple[str, Callable[[Stage], None], bool]


def _killed(name: str) -> Callable[[Stage], None]:
    """Return a scenario in which a node is killed and, a little later, started again."""
    def play(stage: Stage) -> None:
        stage.end(name, signal.SIGKILL)
        stage.wait(stage.chance.uniform(0.0, 1.0))
        stage.start(name)
    return play


def _ending_signals() -> tuple[signal.Signals, ...]:
    """Return what a node ends by; not a hang-up, where this process is told to survive one."""
    survives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM) + (() if survives else (signal.SIGHUP,))


def _asked_to_end(name: str) -> Callable[[Stage], None]:
    """Return a scenario in which a node is asked to end and started again."""
    def play(stage: Stage) -> None:
        stage.end(name, stage.chance.choice(_ending_signals()))
        if name == CONTROLLER and stage.wait(0.3, until=lambda status: False):
            return
        if name == CONTROLLER and stage.link.status().commanded:
            stage.findings.append('commands after the controller has ended')
        stage.start(name)
    return play


def _stopped(name: str, least: float, most: float) -> Callable[[Stage], None]:
    """Return a scenario in which a node stands still for a time in s."""
    def play(stage: Stage) -> None:
        stage.pause(name, stage.chance.uniform(least, most))
    return play


def _all_stopped(stage: Stage) -> None:
    """Let the whole machine stand still, and go on."""
    seconds = stage.chance.uniform(0.05, 0.5)
    stage.absent()
    for name in stage.nodes.names:
        stage.nodes.signal(name, signal.SIGSTOP)
    stage.wait(seconds)
    for name in stage.nodes.names:
        stage.nodes.signal(name, signal.SIGCONT)
    stage.present()


def _entries() -> Iterator[Entry]:
    for name in (ARM, CONTROLLER, REFERENCE, INVERSE_DYNAMICS):
        yield f'{name} is killed', _killed(name), name != ARM
        yield f'{name} is asked to end', _asked_to_end(name), name != ARM
        yield f'{name} stands still', _stopped(name, 0.12, 1.0), True
        yield f'{name} stumbles', _stopped(name, 0.005, 0.09), True
    yield 'everything stands still', _all_stopped, True


SCENARIOS: tuple[Entry, ...] = tuple(_entries())
