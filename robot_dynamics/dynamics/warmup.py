# SPDX-License-Identifier: Apache-2.0
"""Compile every kernel ahead of time: ``python -m robot_dynamics.dynamics.warmup``.

The first time takes some twenty seconds and is announced on stderr; after that, all is
read from disk. A control node warms up before it subscribes to anything. The kernels of
robots that float are among them once there is a `Dynamics` of such a robot.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from robot_dynamics.dynamics import equations  # noqa: F401 (defines the kernels)
from robot_dynamics.dynamics.kernels.loading import Kernel, all_kernels, progress

#: What a kernel takes on a machine that has something else to do, too. s.
_AHEAD, _ON_DEMAND = 2, 5


def warm_up(more: Sequence[Kernel] = ()) -> float:
    """Compile or load every kernel that the imported modules define.

    Parameters
    ----------
    more : sequence of Kernel
        Kernels on demand that somebody is going to ask for.

    Returns
    -------
    float
        Seconds that it took.
    """
    start = time.perf_counter()
    kernels = tuple(dict.fromkeys((*all_kernels(), *more)))
    missing = [kernel for kernel in kernels if not kernel.is_cached]
    if missing:
        expected = sum(_ON_DEMAND if kernel.is_on_demand else _AHEAD for kernel in missing)
        progress(f'compiling {len(missing)} kernels, once, in some {expected} s; '
                 f'kept in {missing[0].directory.parent}')
    for kernel in kernels:
        kernel.load(announce=False)
    seconds = time.perf_counter() - start
    if missing:
        progress(f'compiled in {seconds:.1f} s')
    return seconds


def main() -> int:
    """Warm up and say how long it took."""
    seconds = warm_up()
    print(f'{len(all_kernels())} kernels ready after {seconds:.2f} s')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
