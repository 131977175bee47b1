# SPDX-License-Identifier: Apache-2.0
"""Our equations of motion beside Pinocchio's, call by call from Python: ``--help``.

Medians of interleaved rounds in one process and one thread, after warm-up. With
``--write`` the table goes into docs/performance.md.

    python benchmark/dynamics.py
    python benchmark/dynamics.py --robots UR5 Panda --rounds 200 --write
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

for variable in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(variable, '1')

import numba  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio  # noqa: E402
from dynamics_document import DOCUMENT, write  # noqa: E402
from dynamics_robots import URDFS, Subject, load, worst_disagreement  # noqa: E402

#: Seconds that one measurement of one call lasts.
SLICE = 4e-4


@dataclass(frozen=True)
class Comparison:
    """Calls that do the same, and how much faster ours is wanted to be, by robot."""

    title: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    wanted: dict[str, float]


@dataclass(frozen=True)
class Result:
    """Medians in microseconds."""

    robot: str
    joints: int
    comparison: Comparison
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.theirs / self.ours

    @property
    def wanted(self) -> float | None:
        """How many times faster it is wanted to be."""
        return self.comparison.wanted.get(self.robot)


def comparisons(subject: Subject) -> list[Comparison]:
    """All pairs of calls for one robot."""
    dynamics, model, data = subject.dynamics, subject.model, subject.data
    n = dynamics.n
    q, v, v_r, a_r, s = np.random.default_rng(1).uniform(-1.0, 1.0, (5, n))
    Q, V, A = (x[subject.order] for x in (q, v, a_r))
    pi = np.array(dynamics.parameters)
    Y = dynamics.regressor_buffer()
    matrices = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)

    def their_regressor():
        return pinocchio.computeJointTorqueRegressor(model, data, Q, V, A)

    def their_matrices():
        return (pinocchio.crba(model, data, Q), pinocchio.computeCoriolisMatrix(model, data, Q, V),
                pinocchio.computeGeneralizedGravity(model, data, Q))

    return [
        Comparison('Slotine-Li regressor, `out` from `regressor_buffer`',
                   lambda: dynamics.slotine_li_regressor(q, v, v_r, a_r, out=Y),
                   their_regressor, {'UR5': 3.4, 'Panda': 4.8, 'Talos reduced': 6.8}),
        Comparison('Slotine-Li regressor, a new array',
                   lambda: dynamics.slotine_li_regressor(q, v, v_r, a_r), their_regressor, {}),
        Comparison('M, C and g, into `out`', lambda: dynamics.matrices(q, v, matrices),
                   their_matrices, {'UR5': 3.5, 'Panda': 4.0, 'Talos reduced': 5.0}),
        Comparison('M, C and g, new arrays', lambda: dynamics.matrices(q, v), their_matrices, {}),
        Comparison('Yr pi and Yr^T s (beside the regressor)',
                   lambda: dynamics.adaptive_terms(q, v, v_r, a_r, s, pi), their_regressor, {}),
        Comparison('inverse dynamics', lambda: dynamics.inverse_dynamics(q, v, a_r),
                   lambda: pinocchio.rnea(model, data, Q, V, A), {}),
    ]


def measure(subject: Subject, rounds: int,
            choose: Callable[[Subject], list[Comparison]] = comparisons) -> list[Result]:
    """Time all calls in turn, round after round."""
    pairs = choose(subject)
    calls = [call for pair in pairs for call in (pair.ours, pair.theirs)]
    counts = []
    for call in calls:
        call()
        counts.append(max(5, int(SLICE / (timeit.timeit(call, number=20) / 20))))
    times = np.empty((rounds, len(calls)))
    for times_of_round in times:
        for k, (call, count) in enumerate(zip(calls, counts, strict=True)):
            times_of_round[k] = timeit.timeit(call, number=count) / count * 1e6
    medians = np.median(times, axis=0).reshape(-1, 2)
    return [Result(subject.name, subject.dynamics.n, pair, *median)
            for pair, median in zip(pairs, medians, strict=True)]


def batch_rate(subject: Subject) -> float:
    """Nanoseconds a sample for the regressors of a batch, without the first writing."""
    n = subject.dynamics.n
    count = 4096 // n
    state = np.random.default_rng(2).uniform(-1.0, 1.0, (4, count, n))
    out = np.zeros((count, n, 10 * n))
    runs = timeit.repeat(lambda: subject.dynamics.slotine_li_regressor(*state, out=out),
                         number=5, repeat=15)
    return float(np.median(runs)) / (5 * count) * 1e9


def table(results: list[Result]) -> list[str]:
    """Results as lines of Markdown."""
    lines = ['| robot (joints) | call | ours, us | Pinocchio, us | times faster | wanted |',
             '|---|---|---:|---:|---:|---:|']
    for result in results:
        wanted = '' if result.wanted is None else f'{result.wanted:.1f}'
        lines.append(f'| {result.robot} ({result.joints}) | {result.comparison.title} '
                     f'| {result.ours:.2f} | {result.theirs:.2f} | {result.ratio:.2f} '
                     f'| {wanted} |')
    return lines


def host() -> str:
    """Machine and programs of a measurement."""
    return (f'{processor()}, Python {platform.python_version()}, numpy {np.__version__}, '
            f'numba {numba.__version__}, Pinocchio {pinocchio.__version__}')


def missed(results: list[Result]) -> int:
    """Say which results are not what was wanted; return the status of the program."""
    slower = [result for result in results
              if result.wanted is not None and result.ratio < result.wanted]
    for result in slower:
        print(f'missed: {result.robot}, {result.comparison.title}: {result.ratio:.2f} '
              f'instead of {result.wanted:.1f} times faster', file=sys.stderr)
    return 1 if slower else 0


def processor() -> str:
    """Name of this machine's processor."""
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.machine()


def main() -> int:
    """Measure, print, and fail when something wanted is not reached."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--robots', nargs='+', choices=URDFS, default=list(URDFS),
                        metavar='NAME', help='some of: ' + ', '.join(URDFS))
    parser.add_argument('--rounds', type=int, default=101, help='measurements of each call')
    parser.add_argument('--write', action='store_true', help=f'write into {DOCUMENT.name}')
    options = parser.parse_args()

    results, rates, errors = [], {}, {}
    for name in options.robots:
        subject = load(name)
        errors[name] = worst_disagreement(subject)
        results += measure(subject, options.rounds)
        rates[name] = batch_rate(subject)
    text = '\n'.join([
        f'{host()}; one thread, medians of {options.rounds} interleaved rounds.', '',
        *table(results), '',
        *(f'- {robot}: a batch takes {rate:.0f} ns a regressor; both programs agree to '
          f'{errors[robot]:.0e}.' for robot, rate in rates.items())])
    print(text)
    if options.write:
        write('dynamics', text)
    return missed(results)


if __name__ == '__main__':
    raise SystemExit(main())
