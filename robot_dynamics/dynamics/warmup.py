# SPDX-License-Identifier: Apache-2.0
"""Compile every kernel ahead of time: ``python -m robot_dynamics.dynamics.warmup``.

The first time takes some seconds and is announced on stderr; later it loads what is on
disk. A control node warms up before it subscribes to anything.
"""

from __future__ import annotations

import time

from robot_dynamics.dynamics import equations  # noqa: F401 (defines the kernels)
from robot_dynamics.dynamics.kernels.loading import all_kernels, progress


def warm_up() -> float:
    """Load or compile every kernel; return the seconds it took."""
    start = time.perf_counter()
    for kernel in all_kernels():
        kernel.load()
    return time.perf_counter() - start


def main() -> int:
    """Warm up and say how long it took."""
    progress(f'{len(all_kernels())} kernels ready after {warm_up():.2f} s')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
