# SPDX-License-Identifier: Apache-2.0
"""``drives_page``: one HTML file about servo drives that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.identification.outputs import finite
from robot_dynamics.identification.servo.output_error import DriveVerdict, OutputError, Simulated
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, position_units
from robot_dynamics.report.drives.text import drives_sentence, unit_of
from robot_dynamics.report.frame import Heading, filled, framed, page_part, result_style
from robot_dynamics.report.identification.markup import finding_items, items, table
from robot_dynamics.report.identification.text import VERDICT_COLOURS, percent
from robot_dynamics.report.page import facts_table, tiles

#: Samples of a curve, at most.
SAMPLES = 1500


def drives_page(found: OutputError, judged: DriveVerdict, runs: Sequence[Simulated],
                robot: Robot) -> str:
    """Return the page.

    Parameters
    ----------
    found, judged : OutputError, DriveVerdict
        The drives, and the verdict on them.
    runs : sequence of Simulated
        The logs, and where servos would have gone.
    robot : Robot
        The arm.
    """
    heading = Heading(robot.name, drives_sentence(judged), _story(runs), kind='drives',
                      colour=VERDICT_COLOURS[judged.verdict])
    content = filled(page_part('drives.html'), {
        'tiles': _tiles(found, judged, robot),
        'reasons': items(escape(reason) for reason in judged.reasons),
        'log_table': _logs(runs, robot), 'parameter_table': _parameters(found, robot),
        'findings': finding_items(found.findings), 'facts': facts_table(_facts(found))})
    return framed(heading, content, style=result_style(), scripts=('pair.js', 'drives.js'),
                  data=finite(curves(runs, robot)))


def curves(runs: Sequence[Simulated], robot: Robot) -> list[dict[str, Any]]:
    """Return positions of every joint in every log, in plain types."""
    out, units = [], position_units(robot)
    for title, run in zip(_titles(runs), runs, strict=True):
        log = run.log
        step = max(1, -(-log.count // SAMPLES))
        for j, (name, unit) in enumerate(zip(robot.joint_names, units, strict=True)):
            # A goal far off says no more than one just beyond where the joint went.
            low, high = np.min(log.position[:, j]), np.max(log.position[:, j])
            reach = max(high - low, 1e-9)
            goal = np.clip(log.goal[:, j], low - reach, high + reach)
            out.append({
                'name': title if robot.n == 1 else f'{title} · {name}', 'unit': unit,
                'time': np.round(log.time[::step], 4).tolist(), 'goal': _short(goal[::step]),
                'measured': _short(log.position[::step, j]),
                'simulated': _short(run.fitted[::step, j]), 'held': _short(run.held[::step, j]),
                'error': _short((log.position - run.fitted)[::step, j]),
                'held_error': _short((log.position - run.held)[::step, j])})
    return out


def _titles(runs: Sequence[Simulated]) -> list[str]:
    """Return short names of logs; pieces of one are numbered."""
    names = [Path(run.log.name).stem for run in runs]
    return [name if names.count(name) == 1 else f'{name} {names[:k].count(name) + 1}'
            for k, name in enumerate(names)]


def _short(values: FloatArray) -> list[float]:
    return [float(f'{value:.5g}') for value in values]


def _story(runs: Sequence[Simulated]) -> str:
    seconds = sum(float(run.log.time[-1] - run.log.time[0]) for run in runs)
    rows = sum(run.log.count for run in runs)
    return (f'{len(runs)} logs, {rows:,} rows, {seconds:.0f} s. The whole loop of servo, drive, '
            'gear and arm is simulated from the commands; nothing measured enters but the first '
            'position. What was not seen is each half of every log, simulated with what the '
            'other halves tell.')


def _tiles(found: OutputError, judged: DriveVerdict, robot: Robot) -> str:
    unit = ' and '.join(sorted(set(position_units(robot))))
    figures = [(percent(judged.validation), 'of the motion off where nothing was seen'),
               (percent(judged.in_sample), 'in what was fitted'),
               (f'{np.mean(found.validation):.3g} <small>{unit}</small>',
                'mean error, not seen'),
               (f'{np.mean(found.mean_error):.3g} <small>{unit}</small>', 'mean error, fitted')]
    return tiles(figures)


def _logs(runs: Sequence[Simulated], robot: Robot) -> str:
    rows, units = [], position_units(robot)
    for title, run in zip(_titles(runs), runs, strict=True):
        for j, (name, unit) in enumerate(zip(robot.joint_names, units, strict=True)):
            held, own = (float(np.mean(np.abs(run.log.position[:, j] - one[:, j])))
                         for one in (run.held, run.fitted))
            rows.append(f'<tr><td>{escape(title)}</td><td>{escape(name)}</td>'
                        f'<td>{run.log.count:,}</td><td>{held:.3g} {unit}</td>'
                        f'<td>{own:.3g} {unit}</td></tr>')
    return table(('log', 'joint', 'rows', 'mean error, not seen', 'fitted'), rows)


def _parameters(found: OutputError, robot: Robot) -> str:
    rows = []
    for label, value in found.parameters.items():
        deviation = found.standard_deviations[label]
        told = f'{deviation:.2g}' if np.isfinite(deviation) else 'at its bound'
        rows.append(f'<tr><td>{escape(label)}</td><td>{value:.4g}</td><td>{told}</td>'
                    f'<td>{escape(unit_of(label, robot))}</td></tr>')
    for name, values in found.layout.known.items():
        for joint, value in zip(found.layout.joints, values, strict=True):
            rows.append(f'<tr><td>{escape(f"{joint}/{name}")}</td><td>{value:.4g}</td>'
                        f'<td>given</td><td>{escape(unit_of(f"{joint}/{name}", robot))}</td>'
                        '</tr>')
    return table(('parameter', 'value', '± one sd', 'unit'), rows)


def _facts(found: OutputError) -> list[tuple[str, str]]:
    return [('minima of the searches, best first', ', '.join(f'{cost:.5g}'
                                                             for cost in found.costs)),
            ('parameters of a joint', ', '.join(found.layout.free))]
