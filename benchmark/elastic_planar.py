# SPDX-License-Identifier: Apache-2.0
"""The planar robot with elastic joints of Zollo et al.: Tables 1 and 2, beside the printed ones.

    python benchmark/elastic_planar.py [--write]

The robot is simulated with the friction of eq. 43 under PD control with on-line gravity
compensation, along an excitation of fifth-order B-splines, and identified from its encoders
and the efforts of its motors. ``--write`` puts the tables into docs/elastic_identification.md.
"""

from __future__ import annotations

import argparse
import re

import numpy as np
from elastic_parts.experiment import RATE, Run, designed, simulate
from elastic_parts.printed import (
    ERROR_1,
    ERROR_1_WITHOUT,
    TABLE_1,
    TABLE_2,
    as_printed,
    noise_of,
    relative_errors,
)
from elastic_parts.robots import STRIBECK, planar, planar_friction
from sections import DOCS, write_section

from robot_dynamics.elastic.dynamics import ElasticDynamics, elastic_base_parameters
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.identification.elastic.dataset import elastic_dataset_from_arrays
from robot_dynamics.identification.elastic.identify import (
    ElasticEstimateSettings,
    identify_elastic,
)
from robot_dynamics.identification.elastic.result import ElasticIdentification

#: Duration of the experiment, s, of 8900 measurements.
SECONDS = 8.9
#: Noise is drawn so many times; the worst counts.
DRAWS = 5


def measured(robot: ElasticRobot, run: Run, ratio: float | None = None, seed: int = 0,
             friction: str = 'auto') -> ElasticIdentification:
    """Identify from counted positions with noise; all that the table lists."""
    q = run.counted()
    q = q + noise_of(q, ratio, np.random.default_rng(seed))
    n = robot.n
    data = elastic_dataset_from_arrays(robot, run.time, run.effort, q=q[:, :n], theta=q[:, n:])
    return identify_elastic(data, robot, ElasticEstimateSettings(friction=friction,
                                                                 springs='all'))


def table_1(robot: ElasticRobot, run: Run) -> list[str]:
    """Return the lines of Table 1."""
    dynamics = ElasticDynamics(robot)
    base = elastic_base_parameters(dynamics)
    true = base.values(robot.parameters())
    found = measured(robot, run)
    plain = measured(robot, run, friction='coulomb')
    printed = as_printed(dynamics, base, run.counted(), run.effort, RATE)
    names = [re.split(' [+-] ', name)[0] for name in base.base_names]
    lines = ['| parameter | real, printed | real, here | estimate, printed | as printed, here | '
             'f_s and f_v | eq. 43 | standard deviation |', '|---' * 8 + '|']
    for name, (text, real, estimate) in TABLE_1.items():
        k = names.index(name)
        if abs(true[k] - real) > 5.1e-5:
            raise SystemExit(f'{text} is {true[k]}, printed {real}')
        lines.append(f'| {text} | {real:.4f} | {true[k]:.4f} | {estimate:.6g} | '
                     f'{printed[k]:.6g} | {plain.values[k]:.6g} | {found.values[k]:.6g} | '
                     f'{found.deviations[k]:.1g} |')
    dry = np.array([name.endswith('coulomb') for name in names])
    rows = [relative_errors(values, true) for values in (printed, plain.values, found.values)]
    for text, paper, kept in (('normalised mean error', ERROR_1, np.ones(len(dry), bool)),
                              ('without static friction', ERROR_1_WITHOUT, ~dry)):
        lines.append(f'| {text} | | | {paper} | ' + ' | '.join(
            f'{errors[kept].sum() / len(dry):.2g}' for errors in rows) + ' | |')
    lines += ['', f'Friction by eq. 43 (f1 to f6): {_friction(found)}.',
              f'Largest deflection: {_deflection(run)} deg; largest efforts '
              f'{", ".join(f"{x:.0f}" for x in np.abs(run.effort).max(axis=0))} N m.']
    return lines


def table_2(robot: ElasticRobot, run: Run) -> list[str]:
    """Return the lines of Table 2."""
    dynamics = ElasticDynamics(robot)
    base = elastic_base_parameters(dynamics)
    true = base.values(robot.parameters())
    lines = ['| SN, dB | printed | as printed, here | here | printed / here | cut-off, Hz | as '
             'printed, here, if SN were a ratio of amplitudes |', '|---' * 7 + '|']
    for ratio, paper in TABLE_2.items():
        theirs, other = [max(float(np.mean(relative_errors(as_printed(
            dynamics, base, run.counted(), run.effort, RATE, ratio=decibels, seed=seed), true)))
            for seed in range(DRAWS)) for decibels in (ratio, 20.0 * np.log10(ratio))]
        found = [measured(robot, run, ratio, seed) for seed in range(DRAWS)]
        ours = [float(np.mean(relative_errors(one.values, true))) for one in found]
        lines.append(f'| {ratio} | {paper:g} | {theirs:.3g} | **{max(ours):.3g}** | '
                     f'{paper / max(ours):.3g} | {found[0].signals.cutoff:.3g} | {other:.3g} |')
        print(lines[-1], flush=True)
    return lines


def _friction(found: ElasticIdentification) -> str:
    if found.friction is None:
        return 'not told by this recording'
    return '; '.join(
        f'motor {k}: ' + ', '.join(f'{value:.4g} +- {sd:.1g} ({real:g})'
                                   for value, sd, real in zip(*row, strict=True))
        for k, row in enumerate(zip(found.friction.coefficients, found.friction_deviations,
                                    STRIBECK, strict=True), 1))


def _deflection(run: Run) -> str:
    n = run.q.shape[1] // 2
    return ', '.join(f'{x:.2f}' for x in np.degrees(
        np.abs(run.q[:, :n] - run.q[:, n:]).max(axis=0)))


def main() -> None:
    """Run both experiments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true', help='put the tables into the document')
    options = parser.parse_args()
    robot = planar()
    motion = designed(robot, SECONDS, position=2.5, velocity=3.0, acceleration=12.0)
    run = simulate(robot, motion, SECONDS, timestep=2.5e-4, friction=planar_friction())
    first = table_1(robot, run)
    print('\n'.join(first), flush=True)
    second = table_2(robot, run)
    if options.write:
        write_section(DOCS / 'elastic_identification.md', 'table 1', '\n'.join(['', *first, '']))
        write_section(DOCS / 'elastic_identification.md', 'table 2', '\n'.join(['', *second, '']))


if __name__ == '__main__':
    main()
