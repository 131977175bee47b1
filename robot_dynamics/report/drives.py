# SPDX-License-Identifier: Apache-2.0
"""Identified servo drives as text and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.identification.servo.model import PARAMETERS
from robot_dynamics.identification.servo.output_error import DriveVerdict, OutputError, Simulated
from robot_dynamics.model.robot import Robot, position_units
from robot_dynamics.report import page
from robot_dynamics.report.series import rounded
from robot_dynamics.report.words import VERDICT_WORDS, columns, percent, warnings, worst_joint

#: Largest number of samples of a curve.
SAMPLES = 1500

_LINEAR_UNITS = {'N m/V': 'N/V', 'N m s/rad': 'N s/m', 'kg m^2': 'kg', 'N m': 'N', 'rad': 'm'}


def drives_page(found: OutputError, judged: DriveVerdict, runs: Sequence[Simulated],
                robot: Robot) -> str:
    """HTML page about identified servo drives.

    Parameters
    ----------
    found, judged : OutputError, DriveVerdict
        The drives, and the verdict on them.
    runs : sequence of Simulated
        The logs, and the simulated positions.
    robot : Robot
        The arm.

    Examples
    --------
    ``robot-dynamics identify`` with servos in its YAML writes this page.

    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification.servo.model import Layout
    >>> from robot_dynamics.identification.servo.output_error import DriveVerdict, OutputError
    >>> from robot_dynamics.report import drives_page
    >>> robot, error = Robot.from_urdf('urdf/planar_2r.urdf'), np.array([0.01, 0.02])
    >>> layout = Layout(robot.joint_names, ('gain',), {})
    >>> x = np.array([1.0, 2.0])
    >>> found = OutputError(layout, x, 0.1 * x, error, error, (0.1,), (), (x, x))
    >>> verdict = DriveVerdict('good', ('small errors',), 10 * error, 0.1, 0.1, ('joint2', 0.1))
    >>> 'Good: simulated from commands alone' in drives_page(found, verdict, [], robot)
    True
    """
    unit = ' and '.join(sorted(set(position_units(robot))))
    return page.Page(robot.name, drives_sentence(judged), _story(runs), [
        page.tiles([
            page.tile(percent(judged.validation), 'of the motion, error in held-out data'),
            page.tile(percent(judged.in_sample), 'in fitted data'),
            page.tile(f'{np.mean(found.validation):.3g}', 'mean error, held out', unit),
            page.tile(f'{np.mean(found.mean_error):.3g}', 'mean error, fitted', unit)]),
        page.section('Why', page.items(judged.reasons)),
        page.section('Position: measured, simulated, residual',
                     'Simulated from the goals alone. "Held out" starts again in the middle of '
                     'each log, with the drives identified from the other halves of all logs.',
                     page.tabs('Log'),
                     page.chart('position', 'Goal, measured and simulated position over time',
                                page.titled('Position')),
                     page.chart('error', 'Difference of measured and simulated position over time',
                                page.titled('Residual'))),
        page.section('What was identified', page.table(
            ('parameter', 'value', '± one sd', 'unit'), _parameters(found, robot))),
        page.section('Every log', page.table(
            ('log', 'joint', 'rows', 'mean error, held out', 'fitted'), _logs(runs, robot))),
        page.section('Remarks and settings', page.finding_items(found.findings), page.facts([
            ('minima of the searches, best first',
             ', '.join(f'{cost:.5g}' for cost in found.costs)),
            ('parameters of a joint', ', '.join(found.layout.free))])),
    ], kind='drives', verdict=judged.verdict).render(
        curves(runs, robot), 'pair.js', 'drives.js')


def drives_text(found: OutputError, judged: DriveVerdict, robot: Robot) -> str:
    """Verdict, errors of the joints, parameters and warnings, for a terminal."""
    errors = [(name, f'{held:.3g} {unit}', f'{own:.3g} {unit}') for name, unit, held, own in zip(
        robot.joint_names, position_units(robot), found.validation, found.mean_error,
        strict=True)]
    return '\n'.join([
        drives_sentence(judged), '', *columns(('joint', 'mean error, held out', 'fitted'), errors),
        '', *columns(('parameter', 'value', '+- one sd', 'unit'), _parameters(found, robot)),
        *judged.reasons[1:], *warnings(found.findings)])


def drives_sentence(judged: DriveVerdict) -> str:
    """The verdict in one sentence."""
    return (f'{VERDICT_WORDS[judged.verdict]}: simulated from commands alone, servos deviate by '
            f'{percent(judged.validation)} of their motion in held-out data and by '
            f'{percent(judged.in_sample)} in fitted data'
            f'{worst_joint(len(judged.motion), *judged.worst)}.')


def unit_of(label: str, robot: Robot) -> str:
    """Unit of ``joint/parameter``, for a supply in volts."""
    joint, _, name = label.rpartition('/')
    unit = PARAMETERS[name].unit
    if position_units(robot)[robot.joint_names.index(joint)] == 'rad':
        return unit
    return _LINEAR_UNITS.get(unit, unit)


def curves(runs: Sequence[Simulated], robot: Robot) -> list[dict[str, Any]]:
    """Positions of every joint in every log, in plain types."""
    out = []
    for title, run, j, name, unit in _joints_of(runs, robot):
        log = run.log
        thin = slice(None, None, max(1, -(-log.count // SAMPLES)))
        # A distant goal is drawn just beyond the motion of the joint.
        low, high = np.min(log.position[:, j]), np.max(log.position[:, j])
        reach = max(high - low, 1e-9)
        signals = {'goal': np.clip(log.goal[:, j], low - reach, high + reach),
                   'measured': log.position[:, j], 'simulated': run.fitted[:, j],
                   'held': run.held[:, j], 'error': log.position[:, j] - run.fitted[:, j],
                   'held_error': log.position[:, j] - run.held[:, j]}
        out.append({'name': title if robot.n == 1 else f'{title} · {name}', 'unit': unit,
                    'time': rounded(log.time[thin], 7),
                    **{key: rounded(values[thin], 5) for key, values in signals.items()}})
    return out


def _joints_of(runs: Sequence[Simulated], robot: Robot):
    """Every joint of every log: title of the log, log, index, name and unit of the joint."""
    names = [Path(run.log.name).stem for run in runs]
    for k, (name, run) in enumerate(zip(names, runs, strict=True)):
        # Pieces of one log are numbered.
        title = name if names.count(name) == 1 else f'{name} {names[:k].count(name) + 1}'
        for j, (joint, unit) in enumerate(zip(robot.joint_names, position_units(robot),
                                              strict=True)):
            yield title, run, j, joint, unit


def _story(runs: Sequence[Simulated]) -> str:
    seconds = sum(float(run.log.time[-1] - run.log.time[0]) for run in runs)
    rows = sum(run.log.count for run in runs)
    return (f'{len(runs)} logs, {rows:,} rows, {seconds:.0f} s. The whole loop of servo, drive, '
            'gear and arm is simulated from the commands; of the measurements only the first '
            'position enters. "Held out" is each half of every log, simulated with the drives '
            'identified from the other halves.')


def _logs(runs: Sequence[Simulated], robot: Robot) -> Sequence[tuple[str, ...]]:
    """Mean errors of every joint in every log."""
    rows = []
    for title, run, j, name, unit in _joints_of(runs, robot):
        held, own = (float(np.mean(np.abs(run.log.position[:, j] - one[:, j])))
                     for one in (run.held, run.fitted))
        rows.append((title, name, f'{run.log.count:,}', f'{held:.3g} {unit}',
                     f'{own:.3g} {unit}'))
    return rows


def _parameters(found: OutputError, robot: Robot) -> list[tuple[str, ...]]:
    """Values of identified and of given parameters with their standard deviations and units."""
    identified = [
        (label, f'{value:.4g}', f'{sd:.2g}' if np.isfinite(sd) else 'at its bound',
         unit_of(label, robot))
        for (label, value), sd in zip(found.parameters.items(), found.deviations, strict=True)]
    given = [(f'{joint}/{name}', f'{value:.4g}', 'given', unit_of(f'{joint}/{name}', robot))
             for name, values in found.layout.known.items()
             for joint, value in zip(found.layout.joints, values, strict=True)]
    return [*identified, *given]
