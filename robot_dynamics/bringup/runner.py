# SPDX-License-Identifier: Apache-2.0
"""Run nodes as child processes until they are stopped, on machines without ``ros2 launch``."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from robot_dynamics.bringup.processes import (
    NodeProcess,
    child_environment,
    command_line,
    parameter_yaml,
    starter_environment,
)
from robot_dynamics.errors import BringupError

#: Seconds after SIGTERM before SIGKILL.
TERMINATE_TIMEOUT = 2.0

_ROS_LOG_PREFIX = re.compile(r'^\[[A-Z]+\] \[[0-9.]+\] \[[^]]*\]: ')

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Line:
    """One line of the output of a process, without its end, on stdout or stderr."""

    process: NodeProcess
    stream: str
    text: str


@dataclass(eq=False)
class _Child:
    """A started process and its unfinished output."""

    process: NodeProcess
    handle: subprocess.Popen[bytes]
    pipes: dict[str, IO[bytes]]
    pending: dict[str, bytes] = field(default_factory=lambda: {'stdout': b'', 'stderr': b''})
    last_line: str = ''
    #: Whether its end was reported although the others go on.
    is_reported: bool = False

    @property
    def alive(self) -> bool:
        return self.handle.poll() is None

    @property
    def end_message(self) -> str:
        return end_message(self.handle.returncode, self.last_line)


class ProcessRunner:
    """Starts processes in order, forwards their output, and stops them in reverse order.

    Use it as a context manager: at the end of the block, also after an exception, every process is
    ended by SIGINT, then SIGTERM, then SIGKILL, sent only to process ids that it started. If this
    Python is killed, the kernel sends SIGTERM to its children. Children have separate sessions, so
    that Ctrl-C reaches only this process, which then stops them in order.

    Parameters
    ----------
    processes : sequence of NodeProcess
        The processes in start order; they are stopped in reverse order.
    on_line : callable of Line, optional
        Called with every line of output; `print_line` by default.
    environment : mapping of str to str, optional
        Environment of the processes; that of
        `robot_dynamics.bringup.processes.child_environment` by default.

    See Also
    --------
    run_until_stopped : Runs processes until a signal or the end of a time.

    Examples
    --------
    >>> from robot_dynamics.bringup import ProcessRunner
    >>> with ProcessRunner([]) as runner:
    ...     runner.pids
    {}
    """

    def __init__(self, processes: Sequence[NodeProcess], *,
                 on_line: Callable[[Line], None] | None = None,
                 environment: Mapping[str, str] | None = None) -> None:
        self.processes = tuple(processes)
        self._on_line = print_line if on_line is None else on_line
        self.environment = child_environment() if environment is None else dict(environment)
        self._children: list[_Child] = []
        self._selector = selectors.DefaultSelector()
        self._folder = tempfile.TemporaryDirectory(prefix='robot_dynamics-')

    def __enter__(self) -> ProcessRunner:
        try:
            for process in self.processes:
                self._start(process)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self._close()

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each node, by its full name."""
        return {child.process.full_name: child.handle.pid for child in self._children}

    def poll(self, timeout: float) -> None:
        """Forward output; ``timeout`` is the longest time to wait for the first line, s.

        Raises a BringupError with exit status and last line of stderr if an essential process has
        ended by itself. The failure of another one is reported as a line of its output.
        """
        self._read(timeout)
        for child in self._children:
            if child.alive or child.is_reported:
                continue
            self._drain(child)
            if child.process.essential:
                # The last line of a node contains a remedy.
                raise BringupError(child.end_message, subject=child.process.full_name,
                                   remedy=None if child.last_line else
                                   f'run python -m {child.process.module} by itself')
            child.is_reported = True
            if child.handle.returncode:
                self._on_line(Line(child.process, 'stderr',
                                   f'{child.end_message}; the others go on'))

    def require_success(self) -> None:
        """Raise a BringupError where a process that was not essential has failed.

        To be called after `stop`, which may show a failure, too.
        """
        for child in self._children:
            if not child.process.essential and child.handle.returncode:
                raise BringupError(child.end_message, subject=child.process.full_name,
                                   remedy='what it wrote before may be incomplete')

    def stop(self) -> None:
        """End the processes one by one in reverse order."""
        for child in reversed(self._children):
            for number, timeout in ((signal.SIGINT, child.process.stop_timeout),
                                     (signal.SIGTERM, TERMINATE_TIMEOUT),
                                     (signal.SIGKILL, TERMINATE_TIMEOUT)):
                if child.alive:
                    child.handle.send_signal(number)
                    self._read_until_end(child, timeout)
            self._drain(child)

    def exit_statuses(self) -> dict[str, int | None]:
        """Exit status of each process by its full name, None while it runs."""
        return {child.process.full_name: child.handle.poll() for child in self._children}

    def _start(self, process: NodeProcess) -> None:
        path = Path(self._folder.name) / f'{process.full_name.strip("/").replace("/", "-")}.yaml'
        path.write_text(parameter_yaml(process), encoding='utf-8')
        handle = subprocess.Popen(command_line(process, path, self.environment),
                                  env={**self.environment, **starter_environment()},
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  start_new_session=True, preexec_fn=_preparation())
        assert handle.stdout is not None and handle.stderr is not None
        child = _Child(process, handle, {'stdout': handle.stdout, 'stderr': handle.stderr})
        self._children.append(child)
        for stream, pipe in child.pipes.items():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, (child, stream))

    def _read(self, timeout: float) -> None:
        if not self._selector.get_map():
            time.sleep(timeout)
            return
        for key, _ in self._selector.select(timeout):
            self._take(*key.data)

    def _read_until_end(self, child: _Child, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while child.alive and time.monotonic() < deadline:
            self._read(0.02)

    def _drain(self, child: _Child) -> None:
        """Forward the remaining output of a process that has ended."""
        for stream in child.pipes:
            self._take(child, stream)

    def _take(self, child: _Child, stream: str) -> None:
        pipe = child.pipes[stream]
        if pipe.closed:
            return
        data, ended = _read_available(pipe.fileno())
        *complete, rest = (child.pending[stream] + data).split(b'\n')
        if ended:
            self._selector.unregister(pipe)
            pipe.close()
            complete, rest = ([*complete, rest] if rest else complete), b''
        child.pending[stream] = rest
        for raw in complete:
            text = raw.decode('utf-8', 'replace').rstrip('\r')
            if stream == 'stderr' and text.strip():
                child.last_line = text
            self._on_line(Line(child.process, stream, text))

    def _close(self) -> None:
        for child in self._children:
            if child.alive:
                child.handle.kill()
            child.handle.wait()
            for pipe in child.pipes.values():
                pipe.close()
        self._selector.close()
        self._folder.cleanup()


def print_line(line: Line) -> None:
    """Print a line with the name of its node, unless its output goes to the log only."""
    if line.process.output == 'screen':
        target = sys.stdout if line.stream == 'stdout' else sys.stderr
        print(f'[{line.process.full_name.lstrip("/")}] {line.text}', file=target, flush=True)


def _preparation() -> Callable[[], None]:
    """Function that runs in a child before the node.

    It requests SIGTERM from the kernel at the end of the parent, and blocks SIGINT until the node
    handles it, because an interpreter interrupted during its start prints a traceback.
    """
    parent = os.getpid()
    # Loaded before the fork, because the child must not load libraries.
    prctl = ctypes.CDLL(None).prctl if sys.platform == 'linux' else None

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:  # it died meanwhile
                os._exit(1)

    return prepare


def _read_available(descriptor: int) -> tuple[bytes, bool]:
    """Content of a non-blocking pipe, and whether its writer has closed it."""
    data = b''
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(descriptor, 65536):
            data += chunk
        return data, True
    return data, False


def end_message(status: int, last_line: str) -> str:
    """How a process ended: its exit status and the last line of its log."""
    how = (f'was ended by {signal.Signals(-status).name}' if status < 0
           else f'ended with status {status}')
    line = _ROS_LOG_PREFIX.sub('', last_line).strip()
    return f'{how}: {line}' if line else f'{how} without a message'


class StopFlag:
    """Flag set by the first SIGINT, SIGTERM or SIGHUP; a second one interrupts the program."""

    def __init__(self) -> None:
        self.is_set = False
        self._before: dict[signal.Signals, Any] = {}

    @contextmanager
    def listening(self) -> Iterator[StopFlag]:
        """Handle signals inside the block."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup SIGHUP stays ignored. A shell also ignores SIGINT for background jobs,
            # but an explicit SIGINT must end them.
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


def run_until_stopped(processes: Sequence[NodeProcess], seconds: float | None = None, *,
                      on_line: Callable[[Line], None] | None = None,
                      is_over: Callable[[], bool] = lambda: False,
                      environment: Mapping[str, str] | None = None) -> bool:
    """Run processes until a signal, a time limit or a condition, then stop them in order.

    Parameters
    ----------
    processes : sequence of NodeProcess
        The processes.
    seconds : float, optional
        Time limit, s; none by default.
    on_line : callable of Line, optional
        Called with every line of output; prints it by default.
    is_over : callable, optional
        Called between lines; True ends the run.
    environment : mapping of str to str, optional
        Environment of the processes, as for `ProcessRunner`.

    Returns
    -------
    bool
        False after a signal, else True.

    Raises
    ------
    BringupError
        If an essential process has ended, at once; if another one has failed, at the end.

    See Also
    --------
    robot_dynamics.bringup.System : Describes the processes of an arm and its controller.

    Examples
    --------
    >>> from robot_dynamics.bringup import run_until_stopped
    >>> run_until_stopped([], seconds=0.0)
    True

    A simulated arm with its controller, for two seconds::

        run_until_stopped(System(robot='planar_2r').processes(), seconds=2.0)
    """
    with StopFlag().listening() as stop, \
            ProcessRunner(processes, on_line=on_line, environment=environment) as runner:
        end = None if seconds is None else time.monotonic() + seconds
        while not stop.is_set and not is_over() and (end is None or time.monotonic() < end):
            runner.poll(0.1)
    runner.require_success()
    return not stop.is_set
