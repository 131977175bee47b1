# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `normal_equations`, in a process of its own: ``gram_memory.py ROBOT COUNT``.

Prints one line of JSON: seconds, and by how many megabytes the resident memory of the
process grew at most while it computed. What the recording itself takes is not counted.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from dynamics_robots import load


def resident(entry: str) -> float:
    """Return an entry of the kernel's status of this process, VmRSS or VmHWM, in MB."""
    lines = Path('/proc/self/status').read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(entry)]
    return int(line.split()[1]) / 1024.0


def main(name: str, count: int) -> None:
    """Measure one call after the kernel is loaded."""
    dynamics = load(name).dynamics
    motion = np.random.default_rng(0).uniform(-2.0, 2.0, (4, count, dynamics.n))
    dynamics.normal_equations(*motion[:, :300])
    # Forget the largest size so far: that of compiling.
    Path('/proc/self/clear_refs').write_text('5')
    before = resident('VmRSS')
    start = time.perf_counter()
    dynamics.normal_equations(*motion)
    seconds = time.perf_counter() - start
    print(json.dumps({'seconds': seconds, 'growth': resident('VmHWM') - before}))


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
