# SPDX-License-Identifier: Apache-2.0
"""Finds processes that a run has left, and ends those of a run that is interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

#: Variable in the environment of every process of a run.
_MARK = 'ROBOT_DYNAMICS_CHAOS'
#: Time between two checks of the parent. s.
_PERIOD = 0.2


def marked_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Environment with the mark of one run, and that mark."""
    mark = uuid.uuid4().hex
    return {**environment, _MARK: mark}, mark


def processes_with(mark: str) -> list[int]:
    """Ids of all processes on this machine with that mark, except this one."""
    wanted, found = f'{_MARK}={mark}'.encode(), []
    for folder in Path('/proc').iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            environment = (folder / 'environ').read_bytes()
        except OSError:  # ended meanwhile, or of another user
            continue
        if wanted in environment.split(b'\0'):
            found.append(int(folder.name))
    return found


def end_with_parent() -> None:
    """Kill this process with all its descendants, stopped ones too, when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PERIOD)
        for pid in descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def descendants(root: int) -> list[int]:
    """Ids of the children of a process, of their children, and so on."""
    parents: dict[int, int] = {}
    for folder in Path('/proc').iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / 'stat').read_text().rpartition(')')[2].split()
                parents[int(folder.name)] = int(fields[1])
    found, new = [], [root]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found
