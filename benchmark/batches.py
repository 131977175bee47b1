# SPDX-License-Identifier: Apache-2.0
"""Our batches beside a loop of calls to Pinocchio: ``--help``.

Medians of interleaved rounds in one process, after warm-up. Memory is measured in a
process of its own. With ``--write`` the table goes into docs/performance.md.

    python benchmark/batches.py
    python benchmark/batches.py --robots UR5 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import pinocchio
from dynamics import processor
from dynamics_document import DOCUMENT, write
from dynamics_robots import Subject, load

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.lanes import LANE_COUNT

#: Samples in a stack of regressors: some 300 MB for each robot.
SAMPLES = {'UR5': 100_000, 'UR10': 100_000, 'Panda': 50_000, 'Talos reduced': 4_000}
#: Samples of a recording, and what they may cost.
RECORDING, SECONDS, MEGABYTES = 1_000_000, 1.5, 200.0
#: Samples of which the loop multiplies the regressors at once.
CHUNK = 1000


@dataclass(frozen=True)
class Work:
    """The same work by us and by a loop; ``wanted`` is for all threads."""

    title: str
    count: int
    ours: Callable[[Dynamics], object]
    loop: Callable[[], object]
    wanted: float | None = None


@dataclass(frozen=True)
class Result:
    """Medians in microseconds a sample: one thread, all threads, the loop."""

    robot: str
    work: Work
    alone: float
    together: float
    loop: float


def works(subject: Subject) -> list[Work]:
    """All that is compared for one robot."""
    model, data, n = subject.model, subject.data, subject.dynamics.n
    count = SAMPLES[subject.name]
    q, v, a, tau = np.random.default_rng(1).uniform(-2.0, 2.0, (4, count, n))
    Q, V, A = (np.ascontiguousarray(x[:, subject.order]) for x in (q, v, a))
    stack = np.zeros((count, n, 10 * n))
    efforts = np.zeros((count, n))

    def stack_into(out, first=0):
        for k in range(len(out)):
            out[k] = pinocchio.computeJointTorqueRegressor(
                model, data, Q[first + k], V[first + k], A[first + k])

    def efforts_of_loop():
        for k in range(count):
            efforts[k] = pinocchio.rnea(model, data, Q[k], V[k], A[k])

    def matrices_of_loop():
        M, C, g = np.empty((count, n, n)), np.empty((count, n, n)), np.empty((count, n))
        for k in range(count):
            M[k] = pinocchio.crba(model, data, Q[k])
            C[k] = pinocchio.computeCoriolisMatrix(model, data, Q[k], V[k])
            g[k] = pinocchio.computeGeneralizedGravity(model, data, Q[k])

    def gram_of_loop():
        part, G, h = stack[:CHUNK], np.zeros((10 * n, 10 * n)), np.zeros(10 * n)
        for first in range(0, count, CHUNK):
            stack_into(part, first)
            W = part.reshape(-1, 10 * n)
            G += W.T @ W
            h += W.T @ tau[first:first + CHUNK].ravel()

    return [
        Work('regressors, stacked in one array', count,
             lambda dynamics: dynamics.regressor(q, v, a, out=stack),
             lambda: stack_into(stack), 13.0 if subject.name == 'UR5' else None),
        Work('regressors, stacked in new memory', count,
             lambda dynamics: dynamics.regressor(q, v, a),
             lambda: stack_into(np.empty((count, n, 10 * n)))),
        Work('W^T W and W^T tau', count,
             lambda dynamics: dynamics.normal_equations(q, v, a, tau), gram_of_loop),
        Work('M, C and g', count, lambda dynamics: dynamics.matrices(q, v), matrices_of_loop),
        Work('inverse dynamics', count, lambda dynamics: dynamics.inverse_dynamics(q, v, a),
             efforts_of_loop),
    ]


def measure(subject: Subject, threads: int, rounds: int) -> list[Result]:
    """Time all works in turn, round after round."""
    alone, together = (Dynamics(subject.dynamics.robot, threads=count) for count in (1, threads))
    results = []
    for work in works(subject):
        calls = [lambda w=work: w.ours(alone), lambda w=work: w.ours(together), work.loop]
        calls[0]()
        times = np.empty((rounds, len(calls)))
        for times_of_round in times:
            for k, call in enumerate(calls):
                start = time.perf_counter()
                call()
                times_of_round[k] = time.perf_counter() - start
        results.append(Result(subject.name, work, *np.median(times, axis=0) / work.count * 1e6))
    return results


def recording(rounds: int) -> tuple[float, float]:
    """Median seconds and largest growth of memory, MB, for the recording of a UR10."""
    command = [sys.executable, str(Path(__file__).with_name('gram_memory.py')), 'UR10',
               str(RECORDING)]
    lines = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
             for _ in range(rounds)]
    return (float(np.median([line['seconds'] for line in lines])),
            max(line['growth'] for line in lines))


def table(results: list[Result], threads: int) -> str:
    """Results as Markdown."""
    lines = [f'| robot | work | samples | one thread, us | {threads} threads, us | loop, us '
             f'| times faster: one thread | {threads} threads | wanted |',
             '|---|---|---:|---:|---:|---:|---:|---:|---:|']
    for result in results:
        work = result.work
        wanted = '' if work.wanted is None else f'{work.wanted:.0f}'
        lines.append(f'| {result.robot} | {work.title} | {work.count} | {result.alone:.2f} '
                     f'| {result.together:.2f} | {result.loop:.2f} '
                     f'| {result.loop / result.alone:.1f} | {result.loop / result.together:.1f} '
                     f'| {wanted} |')
    return '\n'.join(lines)


def main() -> int:
    """Measure, print, and fail when something wanted is not reached."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--robots', nargs='+', choices=SAMPLES, default=list(SAMPLES),
                        metavar='NAME', help='some of: ' + ', '.join(SAMPLES))
    parser.add_argument('--rounds', type=int, default=7, help='measurements of each work')
    parser.add_argument('--threads', type=int, default=2, help='how many may work together')
    parser.add_argument('--write', action='store_true', help=f'write into {DOCUMENT.name}')
    options = parser.parse_args()

    results = [result for name in options.robots
               for result in measure(load(name), options.threads, options.rounds)]
    seconds, megabytes = recording(3)
    text = (f'{processor()}, Python {platform.python_version()}, numpy {np.__version__}, '
            f'numba {numba.__version__}, Pinocchio {pinocchio.__version__}; {LANE_COUNT} samples '
            f'side by side, medians of {options.rounds} interleaved rounds, microseconds a '
            f'sample.\n\n{table(results, options.threads)}\n\n'
            f'W^T W and W^T tau of {RECORDING // 1_000_000} million samples of a UR10 take '
            f'{seconds:.2f} s (wanted: below {SECONDS}), and the process grows by {megabytes:.0f} '
            f'MB at most (wanted: below {MEGABYTES:.0f}); W would take 2880 MB.')
    print(text)
    if options.write:
        write('batches', text)
    missed = [f'{result.robot}, {result.work.title}' for result in results
              if result.work.wanted and result.loop / result.together < result.work.wanted]
    missed += ['seconds of the recording'] if seconds > SECONDS else []
    missed += ['memory of the recording'] if megabytes > MEGABYTES else []
    for what in missed:
        print(f'missed: {what}', file=sys.stderr)
    return 1 if missed else 0


if __name__ == '__main__':
    raise SystemExit(main())
