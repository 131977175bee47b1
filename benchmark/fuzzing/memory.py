# SPDX-License-Identifier: Apache-2.0
"""How much memory this process may have, and how much it had."""

from __future__ import annotations

import resource
from pathlib import Path

_STATUS = Path('/proc/self/status')
_RESET = Path('/proc/self/clear_refs')


class Peak:
    """The growth of resident memory from now to its peak."""

    def __init__(self) -> None:
        try:
            # This resets the highest mark of Linux.
            _RESET.write_text('5')
            self._mark = 'VmHWM'
        except OSError:
            # Where a container does not let it, what is there in the end has to do.
            self._mark = 'VmRSS'
        self._before = _field('VmRSS')

    def bytes(self) -> int:
        """Return how far resident memory has grown at most, in bytes."""
        return max(_field(self._mark) - self._before, 0)


def resident() -> int:
    """Return the resident memory of this process, in bytes."""
    return _field('VmRSS')


def limit_growth(most: int) -> None:
    """Let the address space of this process grow by so many bytes and no more."""
    bound = _field('VmSize') + most
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


def _field(name: str) -> int:
    """Return a field of the status of this process, in bytes."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name):
            return 1024 * int(line.split()[1])
    raise KeyError(name)
