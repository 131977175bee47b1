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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from dynamics import processor
from dynamics_document import DOCUMENT, write
from scaling_robots import SHAPES, pairs

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray

SIZES = (2, 4, 8, 16, 32, 64)
#: Sizes whose times show how cost grows; below them a call costs much the same whatever it does.
LARGE = slice(2, None)
#: Seconds that one measurement of one call lasts.
SLICE = 4e-4
#: Samples of a batch.
BATCH = 512
#: Every method, and what it is called with.
GROUPS = {
    'equations': {
        'inverse_dynamics': 'q, v, a', 'gravity_torque': 'q', 'matrices': 'q, v, three',
        'mass_matrix': 'q', 'coriolis_matrix': 'q, v', 'forward_dynamics': 'q, v, tau',
        'regressor': 'q, v, a, no terms, buffer',
        'slotine_li_regressor': 'q, v, v, a, no terms, buffer',
        'adaptive_terms': 'q, v, v, a, s, parameters',
    },
    'derivatives': {
        'inverse_dynamics_derivatives': 'q, v, a',
        'forward_dynamics_derivatives': 'q, v, tau', 'linearise': 'q, v, tau=tau',
        'matrix_time_derivatives': 'q, v, a',
        'time_derivatives': 'q, v, a', 'state_derivatives': 'q, v',
        'parameter_derivatives': 'q, v',
    },
    'kinematics': {
        'forward_kinematics': 'q', 'jacobian': 'q, link', 'jacobian_dot': 'q, v, link',
        'jacobian_ddot': 'q, v, a, link', 'jacobian_derivatives': 'q, v, link',
        'com_position': 'q', 'com_jacobian': 'q',
    },
    'batches': {
        'inverse_dynamics, a batch': 'Q, V, A', 'matrices, a batch': 'Q, V',
        'forward_dynamics, a batch': 'Q, V, Tau',
        'regressor, a batch': 'Q, V, A, no terms, stack', 'normal_equations': 'Q, V, A, Tau',
    },
}
IMAGE = DOCUMENT.parent / 'images' / 'scaling.png'


def methods(dynamics: Dynamics) -> dict[str, tuple[Callable[[], object], int]]:
    """Return calls by name, and the number of samples in each."""
    n = dynamics.n
    rng = np.random.default_rng(0)
    q, v, a, s = rng.uniform(-1.0, 1.0, (4, n))
    many = rng.uniform(-1.0, 1.0, (4, BATCH, n))
    values = {'q': q, 'v': v, 'a': a, 's': s, 'tau': dynamics.inverse_dynamics(q, v, a),
              'parameters': dynamics.parameters, 'link': dynamics.robot.body_names[-1],
              'no terms': (), 'buffer': np.zeros((n, 10 * n)),
              'three': (np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)),
              'stack': np.zeros((BATCH, n, 10 * n)),
              'Q': many[0], 'V': many[1], 'A': many[2], 'Tau': many[3]}
    calls = {}
    for group, names in GROUPS.items():
        for name, arguments in names.items():
            method = name.partition(',')[0]
            given, named = [], {}
            for argument in arguments.split(', '):
                keyword, is_named, key = argument.partition('=')
                if is_named:
                    named[keyword] = values[key]
                else:
                    given.append(values[argument])
            # A method is replaced at its first call: plain arrays then go past it.
            getattr(dynamics, method)(*given, **named)
            calls[name] = (partial(getattr(dynamics, method), *given, **named),
                           BATCH if group == 'batches' else 1)
    return calls


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
    figure, rows = pyplot.subplots(len(GROUPS), len(results), figsize=(12.0, 14.0), sharex=True,
                                   sharey='row', layout='constrained')
    for (group, names), panels in zip(GROUPS.items(), rows, strict=True):
        for panel, (shape, times) in zip(panels, results.items(), strict=True):
            for name in names:
                powers = ', '.join(f'{exponent(of_shape[name]):.1f}'
                                   for of_shape in results.values())
                panel.loglog(SIZES, times[name], marker='o', markersize=3.5,
                             label=f'{name} ({powers})')
            panel.set(title=f'{group}, {shape}', xticks=SIZES,
                      xticklabels=[str(size) for size in SIZES])
            panel.minorticks_off()
            panel.grid(alpha=0.3)
        panels[0].set_ylabel('microseconds a sample')
        # Beside the panels, where it hides no curve; one for all of them.
        panels[-1].legend(fontsize=8.0, loc='upper left', bbox_to_anchor=(1.02, 1.0),
                          borderaxespad=0.0, title='exponents: ' + ', '.join(results),
                          title_fontsize=8.0, alignment='left')
    for panel in rows[-1]:
        panel.set_xlabel('joints n')
    figure.savefig(IMAGE, dpi=100)


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
