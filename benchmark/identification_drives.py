# SPDX-License-Identifier: Apache-2.0
"""Logs of servos without efforts: drives by closed-loop output error, beside published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from robot_dynamics.identification.servo.log import read_servo_logs
from robot_dynamics.identification.servo.output_error import (
    OutputError,
    identify_drives,
    mean_error,
    output_error_settings,
    verdict_of_drives,
)
from robot_dynamics.model.robot import Robot
from robot_dynamics.report.words import VERDICT_WORDS

#: What is compared with publications, of the first joint.
COMPARED = ('gain', 'back_emf', 'viscous', 'armature', 'coulomb', 'load', 'offset')


def run_drives(robot: Robot, data: Path, content: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Identify the drives of a log: its row of the table, and a table below it.

    Parameters
    ----------
    robot : Robot
        With its bodies as they are.
    data : Path
        What sources of logs are relative to.
    content : mapping
        Content of the YAML; ``published`` has parameters by friction class.
    """
    section = content['output_error']
    logs = read_servo_logs(section, data, robot.joint_names)
    settings = output_error_settings(section)
    classes = dict.fromkeys((settings.friction, *content['published']))
    table = ['| friction | ' + ' | '.join(COMPARED) + ' | position MAE, rad |',
             '|---' * (len(COMPARED) + 2) + '|']
    row = ''
    for friction in classes:
        found = identify_drives(robot, logs, replace(settings, friction=friction))
        for finding in found.findings:
            print(f'  {finding}')
        inside, twofold = float(found.mean_error[0]), float(found.validation[0])
        published = content['published'].get(friction, {})
        theirs = float(mean_error(robot, logs, published, settings.step)[0])
        cells = [_compared(found, robot.joint_names[0], name, published) for name in COMPARED]
        table.append(f'| {friction} | ' + ' | '.join(cells)
                     + f' | published {theirs:.4f}, ours {inside:.4f} / {twofold:.4f} |')
        print(table[-1], flush=True)
        if friction == settings.friction:
            row = (f'| {content["name"]} | MAE {content["baseline"]:g} rad, published values | '
                   f'{content["goal"]:g} rad | **{inside:.4f} / {twofold:.4f}** rad | {friction} '
                   '| as described | 0 | closed loop simulated | '
                   f'{VERDICT_WORDS[verdict_of_drives(found, logs).verdict]} |')
    print(row, flush=True)
    return row, table


def _compared(found: OutputError, joint: str, name: str, published: Mapping[str, float]) -> str:
    """Published and identified value with its standard deviation, and their difference."""
    label = f'{joint}/{name}'
    if label not in found.parameters:
        return ''
    value, sd = found.parameters[label], found.standard_deviations[label]
    own = f'{value:.4g} ± {sd:.2g}'
    theirs = published.get(name)
    if not theirs:
        return own
    if name == 'offset':
        return f'{theirs:.4g}: {own}'
    return f'{theirs:.4g}: {own} ({100 * (value / theirs - 1):+.1f} %)'
