# SPDX-License-Identifier: Apache-2.0
"""Runs processes until they are asked to stop, a time is over or one of them fails."""

from __future__ import annotations

import importlib.util
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.runner import Line, ProcessRunner
from robot_dynamics.errors import BringupError


class StopFlag:
    """Set by the first SIGINT, SIGTERM or SIGHUP; the second one interrupts for good."""

    def __init__(self) -> None:
        self.is_set = False
        self._before: dict[int, signal.Handlers] = {}

    @contextmanager
    def listening(self) -> Iterator[StopFlag]:
        """Listen to signals inside the block."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup a hang-up stays ignored. A shell ignores SIGINT for what it starts in
            # the background too, but whoever sends it all the same wants this to end.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)
        try:
            yield self
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.is_set:
            raise KeyboardInterrupt
        self.is_set = True


def require_ros() -> None:
    """Refuse to run nodes with a Python that has no ROS 2, before they all say so themselves.

    Raises
    ------
    BringupError
        Saying how to get it.
    """
    if importlib.util.find_spec('rclpy') is None:
        raise BringupError('is not installed for this Python', subject='rclpy',
                           remedy='source the setup.bash of ROS 2, use ./demo, which brings what '
                                  "it needs, or pip install '.[ros,sim,record,report]'")


def run_until_stopped(processes: Sequence[NodeProcess], seconds: float | None = None, *,
                      on_line: Callable[[Line], None] | None = None,
                      is_over: Callable[[], bool] = lambda: False,
                      environment: Mapping[str, str] | None = None) -> bool:
    """Run processes, then stop them in order.

    Parameters
    ----------
    processes : sequence of NodeProcess
        What to run.
    seconds : float, optional
        How long, unless stopped earlier.
    on_line : callable of Line, optional
        Gets what they write; the terminal by default.
    is_over : callable, optional
        Asked between lines whether to end.
    environment : mapping of str to str, optional
        Environment of the processes, as `ProcessRunner` takes it.

    Returns
    -------
    bool
        False when a signal ended it, True when it ended by itself.

    Raises
    ------
    BringupError
        When a process that everything depends on has ended.
    """
    with StopFlag().listening() as stop, \
            ProcessRunner(processes, on_line=on_line, environment=environment) as runner:
        end = None if seconds is None else time.monotonic() + seconds
        while not stop.is_set and not is_over() and (end is None or time.monotonic() < end):
            runner.poll(0.1)
        return not stop.is_set
