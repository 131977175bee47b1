# SPDX-License-Identifier: Apache-2.0
"""How a process of a node is asked to stop, at any moment of its life.

==================================  =======================================================
asked                               effect
==================================  =======================================================
while the interpreter starts        default of the system, or of our runner as in the next row
while modules are imported          the process exits at once: nothing of ROS exists yet
while a node is made and started    at the next step; a compilation is interrupted
while it runs                       the loop ends: safe command, then everything is destroyed
while it stops, once or more often  none
while the interpreter ends          none
==================================  =======================================================

A Python signal handler may run between any two instructions. One that raises may do so inside
rclpy and leave a state machine between two states, or a lock held. So ours raises only inside
`StopRequest.interrupting`, and sets a flag everywhere else.

The end of its parent asks a node to stop, too. Imports take a second or more, and a process whose
parent ended meanwhile has another parent afterwards. So a node records its parent before its
imports. A launcher may also give its process id in the environment variable `STARTED_BY`, for the
time before Python runs.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from robot_dynamics.nodes.controllers import NODES

#: Package of the modules that are executables.
_ROOM = 'robot_dynamics.nodes'

#: Environment variable with the process id of the launcher of a node.
STARTED_BY = 'ROBOT_DYNAMICS_STARTED_BY'


class StoppedEarlyError(BaseException):
    """A stop was requested before the node ran; not a failure.

    Not an Exception, because it may come out of a compiler or other code that handles
    exceptions as failures of its own.
    """


class StopRequest:
    """Whether this process is asked to stop, by a signal or by the end of its parent.

    rclpy's own handlers would first invalidate the context, and then no safe command could be
    published any more. So these handlers only set a flag.
    """

    #: Process that started this one, where this one is a node.
    first_parent: int | None = None

    def __init__(self) -> None:
        self._requested = False
        self._may_raise = False
        self._parent: int | None = self.first_parent or os.getppid()

    def listen(self) -> None:
        """Install the handlers of SIGINT, SIGTERM and SIGHUP."""
        _handle(self._on_signal)

    def ignore_more(self) -> None:
        """Ignore further signals during shutdown.

        Python removes its own handlers while it ends. A second Ctrl-C, or the one that
        ``ros2 launch`` sends after that of the terminal, would kill the process.
        """
        _handle(signal.SIG_IGN)

    def outlive_parent(self) -> None:
        """Stop watching the parent."""
        self._parent = None

    def request(self) -> None:
        """Ask this process to stop from within, when its work is done."""
        self._requested = True

    def __call__(self) -> bool:
        """Whether to stop."""
        if self._parent is not None and os.getppid() != self._parent:
            self._requested = True
        return self._requested

    def check(self) -> None:
        """Raise a StoppedEarlyError where a stop was requested."""
        if self():
            raise StoppedEarlyError

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let a signal interrupt the block: a long computation that does not call `check`.

        The block must not use ROS, nor do anything that has to be completed once begun. Raises a
        StoppedEarlyError before, in or right after it.
        """
        hook_before = sys.unraisablehook

        def report_others(lost: Any) -> None:
            # Raised where exceptions get lost, in a destructor for example, it is recorded.
            if lost.exc_type is not StoppedEarlyError:
                hook_before(lost)

        sys.unraisablehook = report_others
        self._may_raise = True
        try:
            self.check()
            yield
        finally:
            self._may_raise = False
            sys.unraisablehook = hook_before
        self.check()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._requested = True
        if self._may_raise:
            # Only once: the next signal must not interrupt the cleanup after this one.
            self._may_raise = False
            raise StoppedEarlyError


def attend_while_importing() -> None:
    """Let signals end this process during its imports, if it is a node, and record its parent."""
    if is_node_process(sys.orig_argv, sys.argv):
        StopRequest.first_parent = _starter(os.environ.get(STARTED_BY, ''))
        _handle(lambda number, frame: os._exit(0))


def _starter(given: str) -> int:
    """Process id that started this process: its parent, or a given one that has ended already.

    Between the given process and this one there may be others, a debugger for example. The
    parent is watched while both exist.
    """
    parent = os.getppid()
    if given.isdecimal() and not _exists(int(given)):
        return int(given)
    return parent


def _exists(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of another user, or a system without /proc
        return True


def is_node_process(command: Sequence[str], arguments: Sequence[str]) -> bool:
    """Whether a process was started to run a node of this package.

    The command is its whole command line, `sys.orig_argv`: the interpreter, its options, and
    perhaps ``-m robot_dynamics.nodes.<name>``. The arguments are what Python makes of that,
    `sys.argv`: first the installed script, perhaps.
    """
    if arguments[:1] == ['-m']:  # as long as Python searches for the module
        room, _, name = command[command.index('-m') + 1].rpartition('.')
        return room == _ROOM and name in NODES
    # Where colcon installs executables, or pip.
    script, folders = Path(*arguments[:1]), ('robot_dynamics', Path(sys.executable).parent.name)
    return script.name in NODES and script.parent.name in folders


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """Install a handler of every signal that asks to stop.

    A shell starts background jobs with SIGINT ignored; it stops a node all the same. Under
    nohup SIGHUP stays ignored.
    """
    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)
    if hasattr(signal, 'SIGHUP') and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handler)
    # The runner blocks it until here, where the system can block signals.
    if hasattr(signal, 'pthread_sigmask'):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def forget_output() -> None:
    """Discard buffered output where the reader of a pipe has gone (``... --help | head``).

    Python would report it at its exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
