# SPDX-License-Identifier: Apache-2.0
"""How the time of every method grows with the number of joints: ``--help``.

Chains and binary trees of 2 to 64 joints, medians of interleaved rounds in one process and
one thread. With ``--write`` the tables go into docs/performance.md and the plot beside it.

    python benchmark/scaling.py
    python benchmark/scaling.py --rounds 31 --write
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from dynamics import processor
from dynamics_document import DOCUMENT, write
from numpy.typing import NDArray
from scaling_robots import SHAPES, pairs

from robot_dynamics.dynamics import Dynamics

FloatArray = NDArray[np.float64]

SIZES = (2, 4, 8, 16, 32, 64)
#: Sizes whose times show how cost grows; below them a call costs much the same whatever it does.
LARGE = slice(2, None)
#: Seconds that one measurement of one call lasts.
SLICE = 4e-4
#: Samples of a batch.
BATCH = 512
IMAGE = DOCUMENT.parent / 'images' / 'scaling.png'


def methods(dynamics: Dynamics) -> dict[str, tuple[Callable[[], object], int]]:
    """Return calls by name, and the number of samples in each."""
    n, parameters = dynamics.n, dynamics.parameters
    rng = np.random.default_rng(0)
    q, v, a, s = rng.uniform(-1.0, 1.0, (4, n))
    tau = dynamics.inverse_dynamics(q, v, a)
    many = rng.uniform(-1.0, 1.0, (4, BATCH, n))
    buffer, matrices = dynamics.regressor_buffer(), (np.zeros((n, n)), np.zeros((n, n)),
                                                     np.zeros(n))
    stack, last = np.zeros((BATCH, n, 10 * n)), dynamics.robot.body_names[-1]
    return {
        'inverse_dynamics': (lambda: dynamics.inverse_dynamics(q, v, a), 1),
        'matrices': (lambda: dynamics.matrices(q, v, out=matrices), 1),
        'forward_dynamics': (lambda: dynamics.forward_dynamics(q, v, tau), 1),
        'regressor': (lambda: dynamics.regressor(q, v, a, out=buffer), 1),
        'slotine_li_regressor': (
            lambda: dynamics.slotine_li_regressor(q, v, v, a, out=buffer), 1),
        'adaptive_terms': (
            lambda: dynamics.adaptive_terms(q, v, v, a, s, parameters), 1),
        'forward_kinematics': (lambda: dynamics.forward_kinematics(q), 1),
        'jacobian': (lambda: dynamics.jacobian(q, last), 1),
        'inverse_dynamics, a batch': (lambda: dynamics.inverse_dynamics(*many[:3]), BATCH),
        'matrices, a batch': (lambda: dynamics.matrices(*many[:2]), BATCH),
        'regressor, a batch': (lambda: dynamics.regressor(*many[:3], out=stack), BATCH),
        'regressor_gram': (lambda: dynamics.regressor_gram(*many), BATCH),
    }


def measure(shape: str, rounds: int) -> dict[str, FloatArray]:
    """Median microseconds a sample of each method, one for each size."""
    times: dict[str, list[float]] = {}
    for size in SIZES:
        calls = methods(Dynamics(SHAPES[shape](size), threads=1))
        counts = {}
        for name, (call, _) in calls.items():
            call()
            counts[name] = max(1, int(SLICE / (timeit.timeit(call, number=2) / 2)))
        runs = [{name: timeit.timeit(call, number=counts[name]) / counts[name] / samples
                 for name, (call, samples) in calls.items()} for _ in range(rounds)]
        for name in calls:
            times.setdefault(name, []).append(1e6 * float(np.median([run[name] for run in runs])))
    return {name: np.array(values) for name, values in times.items()}


def exponent(values: FloatArray) -> float:
    """Slope of a line through the logarithms of size and value, at the large sizes."""
    return float(np.polyfit(np.log(SIZES)[LARGE], np.log(values)[LARGE], 1)[0])


def table(shape: str, times: dict[str, FloatArray]) -> str:
    """Return the times of one shape as Markdown."""
    counted = {'joints': np.array(SIZES, float),
               'pairs of a body and one that carries it': np.array(
                   [pairs(SHAPES[shape](size)) for size in SIZES], float)}
    lines = [f'| {shape} of | ' + ' | '.join(f'{size}' for size in SIZES) + ' | exponent |',
             '|---|' + '---:|' * (len(SIZES) + 1)]
    for name, values in counted.items():
        lines.append(f'| *{name}* | ' + ' | '.join(f'*{value:.0f}*' for value in values)
                     + f' | *{exponent(values):.2f}* |')
    for name, values in times.items():
        lines.append(f'| {name} | ' + ' | '.join(f'{value:.2f}' for value in values)
                     + f' | {exponent(values):.2f} |')
    return '\n'.join(lines)


def formulas() -> str:
    """Numbers of operations as formulas in joints n and pairs, exact for every tree."""
    command = [sys.executable, str(Path(__file__).with_name('operations.py')),
               *(str(size) for size in SIZES[:4])]
    counts: list[dict[str, Any]] = json.loads(
        subprocess.run(command, check=True, capture_output=True).stdout)
    features = np.array([[1, entry['joints'], entry['pairs']] for entry in counts], float)
    lines = []
    for name in counts[0]['operations']:
        values = np.array([entry['operations'][name] for entry in counts], float)
        fit = np.linalg.lstsq(features, values, rcond=None)[0]
        if np.max(np.abs(features @ fit - values)) > 1e-6:
            raise SystemExit(f'{name}: operations are no function of joints and pairs')
        constant, of_joints, of_pairs = np.rint(fit).astype(int)
        line = f'{of_joints} n' + (f' + {of_pairs} pairs' if of_pairs else '')
        lines.append(f'{name}: {line} {constant:+d}')
    return '; '.join(lines)


def draw(results: dict[str, dict[str, FloatArray]]) -> None:
    """Draw the times of each shape over the number of joints."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot
    figure, panels = pyplot.subplots(1, len(results), figsize=(11.0, 5.2), sharey=True,
                                     layout='constrained')
    for panel, (shape, times) in zip(panels, results.items(), strict=True):
        for k, (name, values) in enumerate(times.items()):
            panel.loglog(SIZES, values, marker='o', markersize=3.5, color=f'C{k % 10}',
                         linestyle='--' if 'batch' in name or 'gram' in name else '-',
                         label=name)
        for power in (1, 2):
            ends = np.array([8.0, 64.0])
            panel.loglog(ends, 40.0 * (ends / 64.0)**power, color='0.6', linewidth=1.0)
            panel.annotate(f'n$^{power}$' if power > 1 else 'n', (8.0, 40.0 / 8.0**power),
                           color='0.4', ha='right', va='center')
        panel.set(title=shape, xlabel='joints n', xticks=SIZES,
                  xticklabels=[str(size) for size in SIZES])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel('microseconds a sample')
    panels[-1].legend(fontsize=7.5, loc='upper left')
    figure.savefig(IMAGE, dpi=130)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=21, help='measurements of each call')
    parser.add_argument('--write', action='store_true',
                        help=f'write into {DOCUMENT.name} and {IMAGE.name}')
    options = parser.parse_args()
    results = {shape: measure(shape, options.rounds) for shape in SHAPES}
    tables = '\n\n'.join(table(shape, times) for shape, times in results.items())
    text = (f'{processor()}, Python {platform.python_version()}; one thread, medians of '
            f'{options.rounds} interleaved rounds, microseconds a sample, exponent fitted from '
            f'{SIZES[LARGE][0]} joints on. Batches are of {BATCH} samples.\n\n{tables}\n\n'
            f'Additions, multiplications and divisions of n turning joints, counted, not timed: '
            f'{formulas()}.')
    print(text)
    if options.write:
        write('scaling', text)
        draw(results)


if __name__ == '__main__':
    main()
