# SPDX-License-Identifier: Apache-2.0
"""For how long threads were ready to run but had no core: Linux keeps the account."""

from __future__ import annotations

import os
import time
from pathlib import Path

#: Time between two looks for new threads. ns.
_NEWS_PERIOD = 1_000_000_000


class Cores:
    """Reads the accounts of a process.

    Parameters
    ----------
    pid : int
        The process.
    """

    def __init__(self, pid: int):
        self._threads = Path(f'/proc/{pid}/task')
        self._main = _open(self._threads / f'{pid}')
        self._others: dict[str, int] = {f'{pid}': -1}
        self._looked = 0

    def waited(self) -> int:
        """Return for how long the main thread has waited since the start. ns."""
        return _waited(self._main)

    def others(self) -> tuple[int, ...]:
        """Return the same of each other thread, those that are new last. ns."""
        now = time.monotonic_ns()
        if now - self._looked > _NEWS_PERIOD:
            self._looked = now
            self._find_others()
        return tuple(_waited(file) for file in self._others.values() if file >= 0)

    def close(self) -> None:
        """Close the files."""
        for file in (self._main, *self._others.values()):
            if file >= 0:
                os.close(file)

    def _find_others(self) -> None:
        try:
            for thread in self._threads.iterdir():
                if thread.name not in self._others:
                    self._others[thread.name] = _open(thread)
        except OSError:  # it has ended meanwhile
            pass


class Couriers:
    """Reads the accounts of those threads of the kernel that deliver packets.

    On a busy machine packets, also those from one process to another, wait for them, and they
    wait for a core as everybody does. Where Linux does not show them, none is there.
    """

    def __init__(self) -> None:
        self._files = [_open(process) for process in Path('/proc').glob('[0-9]*')
                       if _name(process).startswith('ksoftirqd/')]

    def waited(self) -> tuple[int, ...]:
        """Return for how long each has waited since the machine was started. ns."""
        return tuple(_waited(file) for file in self._files)


def _name(process: Path) -> str:
    try:
        return (process / 'comm').read_text(encoding='utf-8', errors='replace')
    except OSError:  # it has ended
        return ''


def _open(thread: Path) -> int:
    return os.open(thread / 'schedstat', os.O_RDONLY)


def _waited(file: int) -> int:
    """Return the second of: time on a core, time waited for one, how often it got one."""
    try:
        return int(os.pread(file, 80, 0).split()[1])
    except (OSError, IndexError):  # it has ended
        return 0
