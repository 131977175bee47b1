# SPDX-License-Identifier: Apache-2.0
"""Identified drives in words: one sentence, and some lines for a terminal."""

from __future__ import annotations

from robot_dynamics.errors import Severity
from robot_dynamics.identification.servo.model import PARAMETERS
from robot_dynamics.identification.servo.output_error import DriveVerdict, OutputError
from robot_dynamics.model.robot import Robot, position_units
from robot_dynamics.report.identification.text import VERDICT_WORDS, percent, worst_joint


def drives_sentence(judged: DriveVerdict) -> str:
    """Return in one sentence whether to use drives."""
    return (f'{VERDICT_WORDS[judged.verdict]}: simulated from commands alone, servos are '
            f'{percent(judged.validation)} of their motion off where nothing was seen, '
            f'{percent(judged.in_sample)} in what was fitted'
            f'{worst_joint(len(judged.motion), *judged.worst)}.')


def unit_of(label: str, robot: Robot) -> str:
    """Return the unit of ``joint/parameter``, of a supply in volts."""
    joint, _, name = label.rpartition('/')
    unit = PARAMETERS[name].unit
    if position_units(robot)[robot.joint_names.index(joint)] == 'rad':
        return unit
    return {'N m/V': 'N/V', 'N m s/rad': 'N s/m', 'kg m^2': 'kg', 'N m': 'N',
            'rad': 'm'}.get(unit, unit)


def drives_text(found: OutputError, judged: DriveVerdict, robot: Robot) -> str:
    """Return the verdict, joint by joint, every parameter and what to know, for a terminal."""
    names, kinds = robot.joint_names, position_units(robot)
    width = max(len('joint'), *map(len, names))
    lines = [drives_sentence(judged), '',
             f'  {"joint":<{width}}   {"mean error, not seen":>20}   {"fitted":>12}']
    for name, kind, held, own in zip(names, kinds, found.validation, found.mean_error,
                                     strict=True):
        lines.append(f'  {name:<{width}}   {f"{held:.3g} {kind}":>20}   '
                     f'{f"{own:.3g} {kind}":>12}')
    width = max(map(len, found.layout.labels))
    lines.append('')
    for label, value in found.parameters.items():
        deviation = found.standard_deviations[label]
        told = 'at its bound' if deviation != deviation else f'+- {deviation:.2g}'
        lines.append(f'  {label:<{width}}   {value:>10.4g}  {told}  {unit_of(label, robot)}'
                     .rstrip())
    lines += [*judged.reasons[1:], *(f'warning: {finding}' for finding in found.findings
                                     if finding.severity is Severity.WARNING)]
    return '\n'.join(lines)
