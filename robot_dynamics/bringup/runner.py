# SPDX-License-Identifier: Apache-2.0
"""Runs nodes as child processes, on machines with or without ``ros2 launch``."""

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from robot_dynamics.bringup.child_process import (
    child_environment,
    command_line,
    parameter_yaml,
    starter_environment,
)
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.errors import BringupError

#: Seconds after SIGTERM before SIGKILL.
TERMINATE_TIMEOUT = 2.0

_ROS_LOG_PREFIX = re.compile(r'^\[[A-Z]+\] \[[0-9.]+\] \[[^]]*\]: ')

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Line:
    """One line that a process has written.

    Parameters
    ----------
    process : NodeProcess
        Who wrote it.
    stream : {'stdout', 'stderr'}
        Where.
    text : str
        The line without its end.
    """

    process: NodeProcess
    stream: str
    text: str


@dataclass(eq=False)
class _Child:
    """A started process and what is known of it."""

    process: NodeProcess
    handle: subprocess.Popen[bytes]
    pending: dict[str, bytes] = field(default_factory=lambda: {'stdout': b'', 'stderr': b''})
    last_words: str = ''

    @property
    def alive(self) -> bool:
        return self.handle.poll() is None


class ProcessRunner:
    """Starts processes in order, passes on what they write, stops them in reverse order.

    Use it as a context manager: leaving the block, also by an exception, ends
    every process by SIGINT, then SIGTERM, then SIGKILL, each only to the process
    ids it started. If this Python is killed, the kernel sends its children SIGTERM.
    Children are in sessions of their own, so that Ctrl-C reaches this process
    alone, which then stops them in order.

    Parameters
    ----------
    processes : sequence of NodeProcess
        What to run. The first is started first and stopped last.
    on_line : callable of Line, optional
        Gets every line that a process writes; `print_line` by default.
    environment : mapping of str to str, optional
        Environment of the processes; `child_environment` by default.
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
            self._kill()
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self._kill()
            self._close()

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each node, by full name."""
        return {child.process.full_name: child.handle.pid for child in self._children}

    def poll(self, timeout: float) -> None:
        """Pass on what was written, waiting at most so long for the first line.

        Parameters
        ----------
        timeout : float
            Seconds.

        Raises
        ------
        BringupError
            When an essential process has ended by itself; tells its status and its
            last words.
        """
        self._read(timeout)
        for child in self._children:
            if child.process.essential and not child.alive:
                self._drain(child)
                # A node that refuses says itself what to do.
                raise BringupError(_obituary(child), subject=child.process.full_name,
                                   remedy=None if child.last_words else
                                   f'run python -m {child.process.module} by itself')

    def stop(self) -> None:
        """End the processes one by one, the last started first."""
        for child in reversed(self._children):
            for number, patience in ((signal.SIGINT, child.process.stop_timeout),
                                     (signal.SIGTERM, TERMINATE_TIMEOUT),
                                     (signal.SIGKILL, TERMINATE_TIMEOUT)):
                if child.alive:
                    child.handle.send_signal(number)
                    self._read_until_end(child, patience)
            self._drain(child)

    def exit_statuses(self) -> dict[str, int | None]:
        """Return the exit status of each process by full name, None while it runs."""
        return {child.process.full_name: child.handle.poll() for child in self._children}

    def _start(self, process: NodeProcess) -> None:
        path = Path(self._folder.name) / f'{process.full_name.strip("/").replace("/", "-")}.yaml'
        path.write_text(parameter_yaml(process), encoding='utf-8')
        handle = subprocess.Popen(command_line(process, path, self.environment),
                                  env={**self.environment, **starter_environment()},
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  start_new_session=True, preexec_fn=_Prepare())
        child = _Child(process, handle)
        self._children.append(child)
        for stream in ('stdout', 'stderr'):
            pipe = _pipe(child, stream)
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, (child, stream))

    def _read(self, timeout: float) -> None:
        if not self._selector.get_map():
            time.sleep(timeout)
            return
        for key, _ in self._selector.select(timeout):
            self._take(*key.data)

    def _read_until_end(self, child: _Child, patience: float) -> None:
        deadline = time.monotonic() + patience
        while child.alive and time.monotonic() < deadline:
            self._read(0.02)

    def _drain(self, child: _Child) -> None:
        """Pass on what is left in the pipes of a process that has ended."""
        for stream in ('stdout', 'stderr'):
            self._take(child, stream)

    def _take(self, child: _Child, stream: str) -> None:
        pipe = _pipe(child, stream)
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
                child.last_words = text
            self._on_line(Line(child.process, stream, text))

    def _kill(self) -> None:
        for child in self._children:
            if child.alive:
                child.handle.kill()
            child.handle.wait()

    def _close(self) -> None:
        for child in self._children:
            for stream in ('stdout', 'stderr'):
                _pipe(child, stream).close()
        self._selector.close()
        self._folder.cleanup()


def print_line(line: Line) -> None:
    """Write a line to the terminal with the name of its node, unless it only goes to the log."""
    if line.process.output == 'screen':
        target = sys.stdout if line.stream == 'stdout' else sys.stderr
        print(f'[{line.process.full_name.lstrip("/")}] {line.text}', file=target, flush=True)


class _Prepare:
    """Runs in the child before the node.

    The kernel is asked for SIGTERM when the parent dies. SIGINT waits until the node can take
    it: an interpreter that is interrupted while it starts prints a traceback of its own.
    """

    def __init__(self) -> None:
        self._parent = os.getpid()
        # Looked up before the fork: the child must not load anything.
        self._prctl = ctypes.CDLL(None).prctl if sys.platform == 'linux' else None

    def __call__(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if self._prctl is not None:
            self._prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != self._parent:  # it died in between
                os._exit(1)


def _pipe(child: _Child, stream: str) -> IO[bytes]:
    pipe = child.handle.stdout if stream == 'stdout' else child.handle.stderr
    assert pipe is not None
    return pipe


def _read_available(descriptor: int) -> tuple[bytes, bool]:
    """Return what a non-blocking pipe holds, and whether its writer has closed it."""
    data = b''
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(descriptor, 65536):
            data += chunk
        return data, True
    return data, False


def _obituary(child: _Child) -> str:
    status = child.handle.returncode
    how = (f'was ended by {signal.Signals(-status).name}' if status < 0
           else f'ended with status {status}')
    words = _ROS_LOG_PREFIX.sub('', child.last_words).strip()
    return f'{how}: {words}' if words else f'{how} without a word'
