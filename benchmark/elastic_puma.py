# SPDX-License-Identifier: Apache-2.0
"""The PUMA 560 with elastic joints of Zollo et al.: Tables 3 to 6, beside the printed ones.

    python benchmark/elastic_puma.py [--write]

The robot is simulated under PD control with on-line gravity compensation along an excitation
of fifth-order B-splines, twice: with gravity along the axis of its first joint, as it is
mounted, and across it, which has the 62 base parameters that are printed. ``--write`` puts
the tables into docs/elastic_identification.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from elastic_parts.experiment import Run, designed, simulate
from elastic_parts.printed import ERROR_PUMA, TABLES_3_TO_6, relative_errors
from elastic_parts.robots import puma
from sections import DOCS, write_section

from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.identification.elastic.dataset import elastic_dataset_from_arrays
from robot_dynamics.identification.elastic.identify import (
    ElasticEstimateSettings,
    identify_elastic,
)
from robot_dynamics.identification.elastic.result import ElasticIdentification

SECONDS = 12.0
GRAVITY = {'along axis 1': (0.0, 0.0, -9.81), 'across axis 1': (0.0, -9.81, 0.0)}


def identified(robot: ElasticRobot, run: Run, is_counted: bool) -> ElasticIdentification:
    """Identify from positions as they were, or as encoders count them."""
    q = run.counted() if is_counted else run.q
    data = elastic_dataset_from_arrays(robot, run.time, run.effort, q=q[:, :robot.n],
                                       theta=q[:, robot.n:])
    return identify_elastic(data, robot, ElasticEstimateSettings(parameters='tables'))


def errors_of(found: ElasticIdentification) -> np.ndarray:
    """Return the relative error of each base parameter."""
    return relative_errors(found.values, found.base.values(found.robot.parameters('tables')))


def summary(gravity: str, encoders: str, found: ElasticIdentification, run: Run) -> str:
    """Return a line of the summary."""
    errors = errors_of(found)
    worst = ', '.join(f'{found.base.base_names[k]} {errors[k]:.2g}'
                      for k in np.argsort(-errors)[:2])
    rigid = [finding.subject for finding in found.findings if 'rigid' in finding.message]
    return (f'| {gravity} | {encoders} | {found.base.rank} | {ERROR_PUMA} | '
            f'**{errors.mean():.2g}** | {np.median(errors):.1g} | {worst} | '
            f'{", ".join(rigid) or "none"} |')


def tables(found: ElasticIdentification) -> list[str]:
    """Return the lines of Tables 3 to 6."""
    base, robot = found.base, found.robot
    real = robot.parameters('tables')
    place = {int(k): row for row, k in enumerate(base.independent)}
    kinds = base.classes
    true = base.values(real)
    lines = ['| | parameter | class | real, printed | real, here | estimate, printed | '
             'base parameter, real | estimate, here | standard deviation |', '|---' * 9 + '|']
    for k, (name, (printed, estimate)) in enumerate(zip(base.names, TABLES_3_TO_6, strict=True)):
        ours = ' | | |'
        if k in place:
            row = place[k]
            ours = (f' {true[row]:.5g} | {found.values[row]:.5g} | {found.deviations[row]:.1g} |')
        lines.append(f'| {k + 1} | {name} | {kinds[k]} | {printed:g} | {real[k]:.5g} | '
                     f'{estimate:g} |{ours}')
    lines += ['', 'Base parameters that are combinations:', '']
    lines += [f'- {name}' for name in base.base_names if ' ' in name]
    return lines


def main() -> None:
    """Run both experiments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true', help='put the tables into the document')
    options = parser.parse_args()
    motion = designed(puma(), SECONDS, position=2.5, velocity=3.0, acceleration=12.0,
                      iterations=20)
    lines = ['| gravity | positions | base parameters | error, printed | error, here | median | '
             'worst | springs not seen |', '|---' * 8 + '|']
    shown = None
    for name, gravity in GRAVITY.items():
        robot = puma(gravity)
        run = simulate(robot, motion, SECONDS, timestep=1.25e-4)
        for encoders, is_counted in (('exact', False), ('counted', True)):
            found = identified(robot, run, is_counted)
            shown = shown or found
            lines.append(summary(name, encoders, found, run))
            print(lines[-1], flush=True)
        n = robot.n
        bent = np.degrees(np.abs(run.q[:, :n] - run.q[:, n:]).max(axis=0))
        print('largest deflections, deg:', ', '.join(f'{x:.2g}' for x in bent), flush=True)
    details = tables(shown)
    if options.write:
        document = DOCS / 'elastic_identification.md'
        write_section(document, 'puma', '\n'.join(['', *lines, '']))
        write_section(document, 'tables 3 to 6', '\n'.join(['', *details, '']))


if __name__ == '__main__':
    main()
