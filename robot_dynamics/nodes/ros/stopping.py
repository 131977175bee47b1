# SPDX-License-Identifier: Apache-2.0
"""How a process of ours learns that it is to stop, at whatever instant that is asked.

==================================  =======================================================
asked                               what happens
==================================  =======================================================
while the interpreter starts        what the system does, or by our runner as in the next row
while modules are imported          it leaves at once: there is nothing of ROS yet
while a node is made and started    at the next step; a compilation is broken off
while it runs                       the loop ends: last words, then everything is destroyed
while it stops, once more or often  nothing more
while the interpreter ends          nothing more
==================================  =======================================================

A handler of Python may run between any two instructions, so that one which raises does so
also inside of rclpy, and leaves a state machine half way between two states, or a lock
held. Ours raise where it has been said that this is safe, and nowhere else.

The death of its parent asks a node to stop, too. Imports take a second or more, and a process
whose parent has died before they are over has another one afterwards, as if that had started it.
So a node notes its parent before its imports; and where it is known who starts it, it is told by
`STARTED_BY` in its environment, for what happens before it is Python's turn.
"""
from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from robot_dynamics.nodes.controllers import NODES

#: Package of these modules.
_ROOM = 'robot_dynamics.nodes'

#: Names the process id of whoever starts a node, in the node's environment.
STARTED_BY = 'ROBOT_DYNAMICS_STARTED_BY'


class StoppedEarlyError(BaseException):
    """A stop was asked for before the node was up: not a failure.

    No Exception, because it may come out of anything, a compiler for example, that
    must not take it for a failure of its own.
    """


class StopRequest:
    """Whether this process is asked to stop, by a signal or by its parent's death.

    rclpy's own handlers would first invalidate the context, and then nothing can be
    published any more: no safe command. So these only raise a flag.
    """

    #: Who has started this process, where it is one of our nodes.
    first_parent: int | None = None

    def __init__(self) -> None:
        self._requested = False
        self._may_raise = False
        self._parent: int | None = self.first_parent or os.getppid()

    def listen(self) -> None:
        """Install the handlers of SIGINT, SIGTERM and SIGHUP."""
        _handle(self._on_signal)

    def ignore_more(self) -> None:
        """Let no signal turn the end of a process into a death.

        Python gives up its own handlers while it ends, and a second Ctrl-C, or the one
        that ``ros2 launch`` sends after that of the terminal, would kill it.
        """
        _handle(signal.SIG_IGN)

    def outlive_parent(self) -> None:
        """Stop looking at the parent."""
        self._parent = None

    def request(self) -> None:
        """Ask this process to stop from within: what it was for is done."""
        self._requested = True

    def __call__(self) -> bool:
        """Whether to stop."""
        if self._parent is not None and os.getppid() != self._parent:
            self._requested = True
        return self._requested

    def check(self) -> None:
        """Go no further with a start when a stop was asked for.

        Raises
        ------
        StoppedEarlyError
            Then.
        """
        if self():
            raise StoppedEarlyError

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let a signal break off what is in the block: a long computation that asks nobody.

        Nothing of ROS may be in it, and nothing that has to be finished once begun.

        Raises
        ------
        StoppedEarlyError
            Before, in or right after the block.
        """
        told_before = sys.unraisablehook
        sys.unraisablehook = partial(_tell_unraisable, told_before)
        self._may_raise = True
        try:
            self.check()
            yield
        finally:
            self._may_raise = False
            sys.unraisablehook = told_before
        # It may have been raised where exceptions get lost, in a destructor for example.
        self.check()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._requested = True
        if self._may_raise:
            # Once: the next signal must not break off the clearing up after this one.
            self._may_raise = False
            raise StoppedEarlyError


def _tell_unraisable(tell: Callable[[Any], None], lost: Any) -> None:
    """Say nothing of a stop that got lost in a destructor: it is not forgotten."""
    if lost.exc_type is not StoppedEarlyError:
        tell(lost)


def attend_while_importing() -> None:
    """Let signals end this process, if it is one of our nodes, and note who has started it.

    Imports take a second or more, and those who have just mistyped a name press Ctrl-C then.
    """
    if is_node_process(sys.orig_argv, sys.argv):
        StopRequest.first_parent = _starter(os.environ.get(STARTED_BY, ''))
        _handle(lambda number, frame: os._exit(0))


def _starter(told: str) -> int:
    """Return who has started this process: its parent, or one that is told and gone already.

    Between the one that is told and this process there may be others, a debugger for example,
    so that its parent is somebody else. That one is looked at as long as both are there.
    """
    parent = os.getppid()
    if told.isdecimal() and not _is_there(int(told)):
        return int(told)
    return parent


def _is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended stays known until somebody asks how."""
    try:
        os.kill(pid, 0)
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's, or a system that does not tell by files
        return True


def is_node_process(command: Sequence[str], arguments: Sequence[str]) -> bool:
    """Whether a process was started for a node of ours and for nothing else.

    Parameters
    ----------
    command : sequence of str
        Its whole command line, `sys.orig_argv`: the interpreter, its options, and perhaps
        ``-m robot_dynamics.nodes.<name>``.
    arguments : sequence of str
        What Python makes of that, `sys.argv`: first the installed script, perhaps.
    """
    if arguments[:1] == ['-m']:  # as long as Python looks for the module
        room, _, name = command[command.index('-m') + 1].rpartition('.')
        return room == _ROOM and name in NODES
    # Where colcon installs executables, or pip.
    script, folders = Path(*arguments[:1]), ('robot_dynamics', Path(sys.executable).parent.name)
    return script.name in NODES and script.parent.name in folders


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """Install a handler of every signal that asks to stop.

    A shell starts background jobs with SIGINT ignored; whoever sends it to a node
    all the same wants it to stop. Under nohup a hang-up stays ignored.
    """
    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)
    if hasattr(signal, 'SIGHUP') and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handler)
    # The runner, which Windows has not, holds it back until here.
    if hasattr(signal, 'pthread_sigmask'):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def forget_output() -> None:
    """Throw away what waits to be written, of which Python would complain at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
