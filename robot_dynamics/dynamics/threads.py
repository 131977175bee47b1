# SPDX-License-Identifier: Apache-2.0
"""Large batches in pieces, on several cores.

Kernels run without Python's lock, so plain threads share the work. They live only as
long as the call that needs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from typing import TypeVar

from robot_dynamics.errors import ParameterError

Result = TypeVar('Result')

#: Samples of a piece: enough that starting a thread for them is nothing beside them, few
#: enough that threads end together.
PIECE = 2048


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Return a number of threads; None stands for `available_cores`."""
    if threads is None:
        return available_cores()
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
        raise ParameterError(f'is {threads!r}, not a number of threads', subject='threads',
                             remedy='give a whole number from 1 on, or None for all cores')
    return int(threads)


def in_pieces(count: int, threads: int, work: Callable[[slice], Result],
              piece: int = PIECE) -> Iterator[Result]:
    """Yield the results of ``work`` for each piece of ``count`` samples, in their order.

    A single piece, or a single thread, is worked on by the caller itself.
    """
    pieces = [slice(start, min(start + piece, count)) for start in range(0, count, piece)]
    if min(threads, len(pieces)) <= 1:
        yield from map(work, pieces)
        return
    with ThreadPoolExecutor(min(threads, len(pieces))) as pool:
        yield from pool.map(work, pieces)
