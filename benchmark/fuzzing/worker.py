# SPDX-License-Identifier: Apache-2.0
"""A worker: examines its share of the inputs, with bounded memory, and reports each."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fuzzing.judge import examine
from fuzzing.kind import BLOCK
from fuzzing.kinds import KINDS
from fuzzing.memory import limit_growth, resident
from robot_dynamics import dynamics
from robot_dynamics.bringup.warmup import warm_up as compile_kernels
from robot_dynamics.dynamics.kernels.loading import all_kernels

#: By how much the address space of a worker may grow, in bytes.
GROWTH = 2**30


@dataclass(frozen=True)
class Share:
    """The inputs of one worker.

    Parameters
    ----------
    counts : dict of str to int
        How many inputs there are of each kind, by its name.
    seed : int
        Seed of all of them.
    worker, workers : int
        Which worker of how many.
    after : tuple of str and int, optional
        Kind and number of the input before the first one; from the beginning where missing.
    """

    counts: dict[str, int]
    seed: int
    worker: int
    workers: int
    after: tuple[str, int] | None = None

    def inputs(self) -> Iterator[tuple[str, int]]:
        """Yield kind and number of each input."""
        waiting = self.after is not None
        for kind, count in self.counts.items():
            for index in range(count):
                if index // BLOCK % self.workers != self.worker:
                    continue
                if not waiting:
                    yield kind, index
                elif (kind, index) == self.after:
                    waiting = False


def work(share: Share) -> None:
    """Examine the inputs of a share; a line of JSON on stdout before and after each."""
    # Output of the product must not mix with reports.
    out = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix='robot_dynamics-fuzz-') as folder:
        kinds = {name: KINDS[name](Path(folder)) for name in share.counts}
        warm_up()
        limit_growth(GROWTH)
        begin = resident()
        for name, index in share.inputs():
            _report(out, {'begin': [name, index]})
            outcome = examine(kinds[name], kinds[name].make(share.seed, index))
            _report(out, {'input': [name, index], 'outcome': outcome.__dict__})
        _report(out, {'growth': resident() - begin})
    sys.stdout.flush()


def warm_up() -> None:
    """Compile and import everything first, so that the time of inputs does not include it."""
    for module in pkgutil.walk_packages(dynamics.__path__, f'{dynamics.__name__}.'):
        importlib.import_module(module.name)
    compile_kernels()
    for kernel in all_kernels():
        kernel.load(announce=False)
    importlib.import_module('matplotlib.figure')


def _report(out: object, line: dict[str, object]) -> None:
    print(json.dumps(line), file=out, flush=True)
