# SPDX-License-Identifier: Apache-2.0
"""From the start of a process to its first regressor, and the one-time compilation.

The robot is plain arrays: reading a description comes on top.

    python benchmark/first_call.py
    python benchmark/first_call.py --runs 21 --compile --write
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from dynamics_document import DOCUMENT, write

#: Seconds that are wanted at most.
FIRST_CALL, COMPILATION = 0.6, 15.0

PROGRAM = """
import sys, time
import numpy as np
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_data import JointLimits
from robot_dynamics.model.robot import Robot
n = 7
names = tuple(f'joint{i}' for i in range(n))
nothing = np.zeros(n)
robot = Robot(
    name='arm', base_name='base', body_names=tuple(f'link{i}' for i in range(n)),
    body_joint_names=names, parents=np.arange(n) - 1, joint_types=np.zeros(n, int),
    placements=np.tile(np.eye(4), (n, 1, 1)), axes=np.eye(3)[np.arange(n) % 3],
    link_offsets=np.zeros((n, 3)), inertial_parameters=np.ones((n, 10)),
    gravity=(0.0, 0.0, -9.81), joint_names=names, coupling=np.eye(n),
    coupling_offset=nothing, limits=JointLimits(nothing - 3.0, nothing + 3.0, nothing + 2.0,
                                                nothing + 50.0),
    damping=nothing, friction=nothing, armature=nothing)
Dynamics(robot).slotine_li_regressor(nothing, nothing, nothing, nothing)
print(time.clock_gettime(time.CLOCK_MONOTONIC))
"""


def first_call() -> float:
    """Seconds from before a process starts to after its first regressor."""
    start = time.clock_gettime(time.CLOCK_MONOTONIC)
    done = subprocess.run([sys.executable, '-c', PROGRAM], check=True, text=True,
                          stdout=subprocess.PIPE)
    return float(done.stdout) - start


def numba_import() -> float:
    """Seconds from before a process starts to after it has imported what compiles kernels."""
    start = time.perf_counter()
    subprocess.run([sys.executable, '-c', 'import numba'], check=True)
    return time.perf_counter() - start


def compilation() -> float:
    """Seconds to compile what is compiled ahead, without a C compiler and without a cache."""
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        subprocess.run([sys.executable, '-m', 'robot_dynamics.dynamics.warmup'], check=True,
                       env=os.environ | {'NUMBA_CACHE_DIR': directory,
                                         'ROBOT_DYNAMICS_BACKEND': 'numba'})
        return time.perf_counter() - start


def main() -> int:
    """Measure, print, and fail when something wanted is not reached."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--runs', type=int, default=11, help='processes to start')
    parser.add_argument('--compile', action='store_true', help='measure the compilation too')
    parser.add_argument('--write', action='store_true', help=f'write into {DOCUMENT.name}')
    options = parser.parse_args()

    first_call()
    numba_import()
    times, imports = zip(*((first_call(), numba_import()) for _ in range(options.runs)),
                         strict=True)
    median = statistics.median(times)
    rows = [f'| start of a process to its first regressor, s | {median:.2f} (best '
            f'{min(times):.2f}, worst {max(times):.2f}) | {FIRST_CALL} |',
            '| of this, a process that does nothing but `import numba`, s | '
            f'{statistics.median(imports):.2f} | |']
    missed = median > FIRST_CALL
    if options.compile:
        seconds = compilation()
        rows.append(f'| kernels of a control loop without a C compiler, once, s | {seconds:.1f} '
                    f'| {COMPILATION:.0f} |')
        missed = missed or seconds > COMPILATION
    text = '\n'.join(['| | measured | wanted at most |', '|---|---:|---:|', *rows])
    print(text)
    if options.write:
        write('first call', text)
    return 1 if missed else 0


if __name__ == '__main__':
    raise SystemExit(main())
