# SPDX-License-Identifier: Apache-2.0
"""For how long a process was ready to run but had no core: Linux keeps the account."""

from __future__ import annotations

import os
from pathlib import Path


class Cores:
    """Reads the account of the main thread of a process.

    Parameters
    ----------
    pid : int
        The process.
    """

    def __init__(self, pid: int):
        # Time on a core, time it waited for one, and how often it got one. ns.
        self._file = os.open(Path(f'/proc/{pid}/task/{pid}/schedstat'), os.O_RDONLY)

    def waited(self) -> int:
        """Return for how long it has waited since it was started, 0 when it has ended. ns."""
        try:
            return int(os.pread(self._file, 80, 0).split()[1])
        except (OSError, IndexError):
            return 0

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
