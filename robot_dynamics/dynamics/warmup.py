# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels ahead of time: ``python -m robot_dynamics.dynamics.warmup``.

The first run takes some seconds and is announced on stderr, where a terminal also shows a count;
later runs read the cache on disk. A control node warms up before it subscribes to topics. The C
code of a robot is compiled when its `Dynamics` is made.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from robot_dynamics.dynamics.caller import is_for_c
from robot_dynamics.dynamics.kernels.cache import is_kept
from robot_dynamics.dynamics.kernels.equation import Equation
from robot_dynamics.dynamics.kernels.loading import Compiled, all_kernels, progress
from robot_dynamics.dynamics.native import numba_gate
from robot_dynamics.dynamics.native.robot import NAMES

#: Seconds for the first kernel, including the start of numba, and for each kernel.
_PREPARATION, _EACH = 3.0, 0.4


def kernels_ahead() -> list[Compiled]:
    """Kernels of the imported modules that a control loop may call.

    Kernels on demand are left out. With a C compiler, equations generated in C are left out, too;
    without one, the gate is included.
    """
    if not is_for_c():
        return [numba_gate.CALL, numba_gate.RUN_ROWS, *all_kernels()]
    return [kernel for kernel in all_kernels()
            if not (isinstance(kernel, Equation) and kernel.name.rpartition('.')[2] in NAMES)]


def warm_up(more: Sequence[Compiled] = ()) -> float:
    """Compile or load the kernels of the imported modules; see `kernels_ahead`.

    Parameters
    ----------
    more : sequence of Compiled
        Kernels on demand that will be called.

    Returns
    -------
    float
        Seconds that it took.
    """
    start = time.perf_counter()
    kernels = list(dict.fromkeys((*kernels_ahead(), *more)))
    missing = [kernel for kernel in kernels if not kernel.is_cached]
    if missing:
        progress(f'compiling {len(missing)} kernels, about '
                 f'{_PREPARATION + _EACH * len(missing):.0f} s, once')
    done = 0
    for kernel in kernels:
        kernel.load(announce=False)
        if kernel in missing and sys.stderr.isatty():
            done += 1
            print(f'\r{done} of {len(missing)} ', end='', file=sys.stderr, flush=True)
    if done:
        print(file=sys.stderr)
    seconds = time.perf_counter() - start
    if missing:
        progress(f'compiled in {seconds:.1f} s, {is_kept()}')
    return seconds


def main() -> int:
    """Warm up and print the duration."""
    from robot_dynamics.dynamics import equations  # noqa: F401 (defines the kernels)
    seconds = warm_up()
    print(f'{len(kernels_ahead())} kernels ready after {seconds:.2f} s')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
