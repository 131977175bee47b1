# SPDX-License-Identifier: Apache-2.0
"""Optimisations from several points, one after the other or in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from robot_dynamics.model.arrays import FloatArray

Improve = Callable[[FloatArray, Callable[[], None]], FloatArray]

#: Threads of a BLAS fight each other over matrices of this size.
_ONE_THREAD = {'OPENBLAS_NUM_THREADS': '1', 'OMP_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1'}
# Time between two looks at what is done. s.
_GLANCE = 0.2

# Iterations done by all processes; set in each of them as it starts.
_done: Any = None


def in_processes(improve: Improve, starts: Sequence[FloatArray], workers: int,
                 progress: Callable[[int], None]) -> list[FloatArray]:
    """Improve each of several starts.

    Parameters
    ----------
    improve : callable
        Takes a start and what to call after each iteration; where there are several
        workers, pickled with what it belongs to.
    starts : sequence of ndarray
        Where to begin.
    workers : int
        Number of processes; with 1, this one does it all.
    progress : callable of int
        Gets how many iterations are done.
    """
    if min(workers, len(starts)) <= 1:
        count = 0

        def tell() -> None:
            nonlocal count
            count += 1
            progress(count)

        return [improve(start, tell) for start in starts]
    context = multiprocessing.get_context('spawn')
    counter = context.Value('l', 0)
    with _one_thread_each(), ProcessPoolExecutor(
            min(workers, len(starts)), mp_context=context, initializer=_begin,
            initargs=(counter,)) as pool:
        futures = [pool.submit(_improved, improve, start) for start in starts]
        waiting = set(futures)
        while waiting:
            waiting = wait(waiting, timeout=_GLANCE).not_done
            progress(counter.value)
        return [future.result() for future in futures]


def _begin(counter: Any) -> None:
    global _done  # the only way into a task of a pool
    _done = counter


def _improved(improve: Improve, start: FloatArray) -> FloatArray:
    def tell() -> None:
        with _done.get_lock():
            _done.value += 1

    return improve(start, tell)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that start meanwhile use one thread each, unless the user says otherwise."""
    added = {name: value for name, value in _ONE_THREAD.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
