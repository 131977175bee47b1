# SPDX-License-Identifier: Apache-2.0
"""Ends the processes that a test run leaves behind, however the run ends.

    python test/reaper.py PID MARKER

It runs beside the test run PID, in a session of its own. When that process is gone, it ends
all processes that have MARKER in their environment, and all descendants that it has seen.
"""

import os
import signal
import sys
import time
from pathlib import Path

#: How often it looks, and how long processes have between SIGTERM and SIGKILL. s.
PERIOD, GRACE = 0.25, 3.0


def processes() -> dict[int, tuple[int, str]]:
    """Parent and start time of every process, by its id."""
    out = {}
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / 'stat').read_text().rpartition(')')[2].split()
            except OSError:
                continue
            # A zombie has ended already.
            if fields[0] != 'Z':
                out[int(entry.name)] = int(fields[1]), fields[19]
    return out


def is_marked(pid: int, marker: str) -> bool:
    """Whether a process was started with the marker in its environment."""
    try:
        return marker.encode() in Path(f'/proc/{pid}/environ').read_bytes()
    except OSError:
        return False


def descendants(root: int, table: dict[int, tuple[int, str]]) -> set[tuple[int, str]]:
    """Id and start time of all descendants of a process."""
    found, new = set(), {root}
    while new:
        new = {pid for pid, (parent, _) in table.items() if parent in new}
        found |= {(pid, table[pid][1]) for pid in new}
    return found


def main(root: int, marker: str) -> None:
    """Wait for the end of the test run, then end what is left of it."""
    seen: set[tuple[int, str]] = set()
    while os.getppid() == root:
        table = processes()
        seen = {(pid, start) for pid, start in seen if pid in table and table[pid][1] == start}
        seen |= descendants(root, table)
        time.sleep(PERIOD)
    begin = time.monotonic()
    while time.monotonic() - begin < 3.0 * GRACE:
        table = processes()
        left = [pid for pid, (_, start) in table.items() if pid != os.getpid()
                and ((pid, start) in seen or is_marked(pid, marker))]
        if not left:
            return
        kind = signal.SIGTERM if time.monotonic() - begin < GRACE else signal.SIGKILL
        for pid in left:
            try:
                os.kill(pid, kind)
            except ProcessLookupError:
                pass
        time.sleep(PERIOD)


if __name__ == '__main__':
    main(int(sys.argv[1]), sys.argv[2])
