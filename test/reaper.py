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
PERIOD, GRACE = 0.5, 3.0


def start_of(pid: int) -> str:
    """Start time of a process, which tells it from a later one of the same id; '' if it ended."""
    try:
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return ''
    return '' if fields[0] == 'Z' else fields[19]


def children(pid: int) -> list[int]:
    """Ids of the children of a process."""
    out: list[int] = []
    try:
        for thread in Path(f'/proc/{pid}/task').iterdir():
            out += map(int, (thread / 'children').read_text().split())
    except OSError:
        pass
    return out


def descendants(root: int) -> set[tuple[int, str]]:
    """Id and start time of all descendants of a process, this one left out."""
    found, new = set(), children(root)
    while new:
        found |= {(pid, start_of(pid)) for pid in new if pid != os.getpid()}
        new = [child for pid in new for child in children(pid)]
    return found


def marked(marker: str) -> set[int]:
    """Ids of all processes that were started with the marker in their environment."""
    out = set()
    for entry in Path('/proc').iterdir():
        try:
            if entry.name.isdigit() and marker.encode() in (entry / 'environ').read_bytes():
                out.add(int(entry.name))
        except OSError:
            continue
    return out - {os.getpid()}


def main(root: int, marker: str) -> None:
    """Wait for the end of the test run, then end what is left of it."""
    seen: set[tuple[int, str]] = set()
    while os.getppid() == root:
        seen = {(pid, start) for pid, start in seen if start and start_of(pid) == start}
        seen |= descendants(root)
        time.sleep(PERIOD)
    begin = time.monotonic()
    while time.monotonic() - begin < 3.0 * GRACE:
        left = {pid for pid, start in seen if start and start_of(pid) == start}
        left |= {pid for pid in marked(marker) if start_of(pid)}
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
