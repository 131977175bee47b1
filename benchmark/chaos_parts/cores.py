# SPDX-License-Identifier: Apache-2.0
"""For how long threads were ready to run but had no core: Linux keeps the account."""

from __future__ import annotations

import os
import time
from pathlib import Path

#: Threads of Fast DDS that take messages off a transport.
_RECEIVERS = ('dds.udp', 'dds.shm')
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
        self._receivers: dict[str, int] = {}
        self._looked = 0

    def waited(self) -> int:
        """Return for how long the main thread has waited since the start. ns."""
        return _waited(self._main)

    def received(self) -> int:
        """Return for how long those threads have waited that receive messages. ns."""
        now = time.monotonic_ns()
        if now - self._looked > _NEWS_PERIOD:
            self._looked = now
            self._find_receivers()
        return sum(map(_waited, self._receivers.values()))

    def close(self) -> None:
        """Close the files."""
        for file in (self._main, *self._receivers.values()):
            os.close(file)

    def _find_receivers(self) -> None:
        try:
            for thread in self._threads.iterdir():
                if thread.name not in self._receivers \
                        and (thread / 'comm').read_text().startswith(_RECEIVERS):
                    self._receivers[thread.name] = _open(thread)
        except OSError:  # it has ended meanwhile
            pass


def _open(thread: Path) -> int:
    return os.open(thread / 'schedstat', os.O_RDONLY)


def _waited(file: int) -> int:
    """Return the second of: time on a core, time waited for one, how often it got one."""
    try:
        return int(os.pread(file, 80, 0).split()[1])
    except (OSError, IndexError):  # it has ended
        return 0
