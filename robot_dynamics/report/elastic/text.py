# SPDX-License-Identifier: Apache-2.0
"""Identified joints with springs in words: one sentence, and some lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from robot_dynamics.dynamics.base_parameters import COMBINED, INDEPENDENT, UNIDENTIFIABLE
from robot_dynamics.elastic.robot import JOINT_PARAMETERS
from robot_dynamics.errors import Severity
from robot_dynamics.identification.elastic.encoders import Encoders
from robot_dynamics.identification.elastic.outputs import ElasticOutputs
from robot_dynamics.identification.elastic.result import ElasticIdentification
from robot_dynamics.model.robot import effort_units, prismatic_joints
from robot_dynamics.report.identification.text import VERDICT_WORDS, percent, short, worst_joint

_UNITS = {'rotor_inertia': ('kg m²', 'kg m²'), 'coulomb': ('N m', 'N'),
          'viscous': ('N m s/rad', 'N s/m'), 'stiffness': ('N m/rad', 'N/m')}


@dataclass(frozen=True)
class Told:
    """What is known of a parameter of a joint.

    Parameters
    ----------
    name, unit : str
        Of the parameter.
    described : float
        What the description says.
    value, deviation : float, optional
        What was found, where it is told by itself.
    how : str
        By itself, with which others only, or not at all.
    """

    name: str
    unit: str
    described: float
    value: float | None
    deviation: float | None
    how: str


def elastic_sentence(found: ElasticIdentification) -> str:
    """Return in one sentence whether to use it."""
    names = found.encoders.names(found.robot)
    return (f'{VERDICT_WORDS[found.verdict]}: the model predicts efforts that it has not seen '
            f'with {percent(found.validation.total)} error, its own with '
            f'{percent(found.in_sample.total)}'
            + worst_joint(len(names), names[found.validation.worst],
                          found.validation.relative[found.validation.worst]) + '.')


def encoders_sentence(encoders: Encoders) -> str:
    """Return which encoders there were."""
    if all(encoders.links) and all(encoders.motors):
        return 'Links and motors were measured.'
    if not any(encoders.motors):
        return 'Links alone were measured: springs are taken to be rigid.'
    if not any(encoders.links):
        return 'Motors alone were measured: springs are taken to be rigid.'
    return 'Of some joints one side alone counts: their springs are taken to be rigid.'


def remaining_sentence(found: ElasticIdentification) -> str:
    """Return what can still be done where encoders are missing."""
    left = [one.name for one in joint_parameters(found) if one.how == 'by itself']
    return (f'Masses and friction count as they are told, for any controller of rigid arms'
            f'{"; so do " + ", ".join(left) if left else ""}. A stiffness needs encoders on both '
            'sides of its spring, or a data sheet: until then that of the description stays, and '
            'gains for set points depend on it.')


def units_of(found: ElasticIdentification) -> tuple[str, ...]:
    """Return the unit of the effort of each coordinate that is measured."""
    return effort_units(found.robot.links) * 2


def joint_parameters(found: ElasticIdentification) -> Iterator[Told]:
    """Yield stiffness, rotor inertia and friction of each joint."""
    classes, alone, joints = found.classes, found.independent, found.robot.joints
    slides = prismatic_joints(found.robot.links).tolist()
    for k, joint in enumerate(found.robot.links.joint_names):
        for kind in ('stiffness', *(one for one in JOINT_PARAMETERS if one != 'stiffness')):
            name = f'{joint}/{kind}'
            value, deviation = alone.get(name, (None, None))
            yield Told(name, _UNITS[kind][slides[k]], float(getattr(joints, kind)[k]), value,
                       deviation, how_told(found, name, classes[name]))


def how_told(found: ElasticIdentification, name: str, kind: str) -> str:
    """Return how a parameter is told, in words."""
    if kind == INDEPENDENT:
        return 'by itself'
    return 'not told' if kind == UNIDENTIFIABLE else \
        'only together with ' + ', '.join(found.base.partners(name))


def groups(found: ElasticIdentification) -> tuple[tuple[str, ...], ...]:
    """Return the parameters that are only told together, group by group."""
    out: list[tuple[str, ...]] = []
    for name, kind in found.classes.items():
        if kind == COMBINED and not any(name in group for group in out):
            out.append((name, *found.base.partners(name)))
    return tuple(out)


def elastic_text(found: ElasticIdentification, outputs: ElasticOutputs) -> str:
    """Return the verdict, joints, classes, and what to know, for a terminal."""
    names = found.encoders.names(found.robot)
    kinds = [units_of(found)[k] for k in found.encoders.measured]
    width = max(len('measured'), *map(len, names))
    lines = [elastic_sentence(found), encoders_sentence(found.encoders), '',
             f'  {"measured":<{width}}   {"RMS, not seen":>14}   {"not seen":>9}   {"fitted":>9}']
    for k, name in enumerate(names):
        rmse = f'{found.validation.rmse[k]:.3g} {kinds[k]}'
        lines.append(f'  {name:<{width}}   {rmse:>14}   '
                     f'{percent(float(found.validation.relative[k])):>9}   '
                     f'{percent(float(found.in_sample.relative[k])):>9}')
    told = tuple(joint_parameters(found))
    width = max(len(one.name) for one in told)
    lines.append('')
    for one in told:
        value = one.how if one.value is None else \
            f'{one.value:.6g} +- {one.deviation:.2g} {one.unit}'
        lines.append(f'  {one.name:<{width}}   {short(value)}   (described: {one.described:.4g})')
    alone = [name for name, kind in found.classes.items() if kind == INDEPENDENT]
    nothing = [name for name, kind in found.classes.items() if kind == UNIDENTIFIABLE]
    lines += ['', f'{found.base.rank} of {found.structural.rank} base parameters, '
                  f'condition number {found.condition:.3g}',
              'told by themselves: ' + (', '.join(alone) or 'none')]
    lines += ['only together: ' + ', '.join(group) for group in groups(found)]
    lines.append('unidentifiable: ' + (', '.join(nothing) or 'none'))
    if found.losses:
        lines.append('less than with encoders on both sides:')
        lines += [f'  {short(str(loss))}' for loss in found.losses]
        lines.append(remaining_sentence(found))
    lines += [f'{finding.severity.value}: {finding}'
              for finding in (*found.findings, *outputs.findings)
              if finding.severity is not Severity.INFO]
    return '\n'.join(lines)
