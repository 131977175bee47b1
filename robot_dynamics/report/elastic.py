# SPDX-License-Identifier: Apache-2.0
"""Identified elastic joints as text and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.dynamics.base_parameters import COMBINED, INDEPENDENT, UNIDENTIFIABLE
from robot_dynamics.elastic.robot import JOINT_PARAMETERS
from robot_dynamics.identification.elastic.dataset import ElasticDataset
from robot_dynamics.identification.elastic.encoders import Encoders
from robot_dynamics.identification.elastic.outputs import ElasticOutputs
from robot_dynamics.identification.elastic.result import ElasticIdentification
from robot_dynamics.model.robot import effort_units, prismatic_joints
from robot_dynamics.report import page
from robot_dynamics.report.series import rounded, with_gaps
from robot_dynamics.report.words import (
    percent,
    prediction_lines,
    prediction_sentence,
    short,
    signal_facts,
    warnings,
)

#: Largest number of samples of a curve.
SAMPLES = 1500

_CLASSES = {INDEPENDENT: 'alone', COMBINED: 'in combination', UNIDENTIFIABLE: 'not identifiable'}
_UNITS = {'rotor_inertia': ('kg m²', 'kg m²'), 'coulomb': ('N m', 'N'),
          'viscous': ('N m s/rad', 'N s/m'), 'stiffness': ('N m/rad', 'N/m')}


@dataclass(frozen=True)
class _JointParameter:
    """A parameter of a joint; value and deviation are None unless it is identifiable alone."""

    name: str
    unit: str
    described: float
    value: float | None
    deviation: float | None
    how: str


def elastic_page(found: ElasticIdentification, data: ElasticDataset, outputs: ElasticOutputs
                 ) -> str:
    """HTML page about identified elastic joints.

    Parameters
    ----------
    found, data : ElasticIdentification, ElasticDataset
        The result, and its data.
    outputs : ElasticOutputs
        The other files, whose findings are listed as well.

    Examples
    --------
    ``robot-dynamics identify`` with ``elastic_joints`` in its YAML writes this page::

        found = identify_elastic(data, robot)
        page = elastic_page(found, data, make_elastic_outputs(found, data, urdf, folder))

    >>> from robot_dynamics.report import elastic_page
    >>> elastic_page.__name__
    'elastic_page'
    """
    return page.Page(found.robot.links.name, elastic_sentence(found), _story(found, data), [
        page.tiles([
            *page.prediction_tiles(found.validation, found.in_sample),
            page.tile(f'{found.base.rank}', 'base parameters determined',
                      f'of {found.structural.rank}'),
            page.tile(f'{len(_of_class(found, INDEPENDENT))}', 'parameters identifiable alone',
                      f'of {len(found.classes)}'),
            page.tile(f'{found.condition:.3g}', 'condition number')]),
        page.section('Springs and motors', _springs(found), *_friction(found)),
        page.section('Effect of missing encoders', *_losses(found)),
        page.section('Identifiable alone, in combination, or not at all', _classes(found)),
        page.section(
            'Effort: measured, predicted, residual',
            'Low-passed as the equations were. Efforts on links are external: zero where nothing '
            'touches the arm. "Held out" is predicted by a fit to the half of the recording that '
            'does not contain this stretch.',
            page.tabs('Link or motor'),
            page.chart('effort', 'Measured and predicted effort over time',
                       page.titled('Effort')),
            page.chart('error', 'Difference of measured and predicted effort over time',
                       page.titled('Residual')),
            page.prediction_table('equation of', _measured(found), found.validation,
                                  found.in_sample)),
        page.section('What the recording alone determines',
                     'Base parameters without any description. Standard deviations account for '
                     'correlated errors of neighbouring samples.', _base(found)),
        page.section('Remarks and settings',
                     page.finding_items((*found.findings, *outputs.findings)), page.facts([
            *signal_facts(data.dataset, found.signals, found.estimator),
            ('friction', 'f_s and f_v' if found.friction is None else 'falls from standstill'),
            ('rotors turn with the links', 'yes' if found.robot.is_coupled else 'no')])),
    ], kind='joints with springs', verdict=found.verdict,
        notice=page.refusal('No URDF and no parameter file were written.', outputs.refused),
    ).render(_curves(found), 'pair.js', 'elastic.js')


def elastic_text(found: ElasticIdentification, outputs: ElasticOutputs) -> str:
    """Verdict, parameters of the joints, identifiable parameters and warnings, for a terminal."""
    parameters = tuple(_joint_parameters(found))
    width = max(len(one.name) for one in parameters)
    lines = [elastic_sentence(found), _encoders_sentence(found.encoders), '',
             *prediction_lines('measured', _measured(found), found.validation, found.in_sample),
             '']
    for one in parameters:
        value = one.how if one.value is None else \
            f'{one.value:.6g} +- {one.deviation:.2g} {one.unit}'
        lines.append(f'  {one.name:<{width}}   {short(value)}   (described: {one.described:.4g})')
    lines += ['', f'{found.base.rank} of {found.structural.rank} base parameters, '
                  f'condition number {found.condition:.3g}',
              'identifiable alone: ' + (', '.join(_of_class(found, INDEPENDENT)) or 'none'),
              *('only together: ' + ', '.join(group) for group in _groups(found)),
              'unidentifiable: ' + (', '.join(_of_class(found, UNIDENTIFIABLE)) or 'none')]
    if found.losses:
        lines += ['less than with encoders on both sides:',
                  *(f'  {short(str(loss))}' for loss in found.losses), _remaining(found)]
    return '\n'.join([*lines, *warnings((*found.findings, *outputs.findings))])


def elastic_sentence(found: ElasticIdentification) -> str:
    """The verdict in one sentence."""
    return prediction_sentence(found.verdict, 'efforts', found.encoders.names(found.robot),
                               found.validation, found.in_sample)


def _encoders_sentence(encoders: Encoders) -> str:
    """A sentence on the encoders that were used."""
    if all(encoders.links) and all(encoders.motors):
        return 'Links and motors were measured.'
    if not any(encoders.motors):
        return 'Links alone were measured: springs are taken to be rigid.'
    if not any(encoders.links):
        return 'Motors alone were measured: springs are taken to be rigid.'
    return 'Some joints have one encoder only: their springs are taken to be rigid.'


def _remaining(found: ElasticIdentification) -> str:
    """Uses of the result if encoders are missing."""
    alone = [one.name for one in _joint_parameters(found) if one.how == 'alone']
    return ('Masses and friction can be used by any controller of rigid arms'
            f'{"; so can " + ", ".join(alone) if alone else ""}. A stiffness needs encoders on '
            'both sides of its spring, or a data sheet: until then that of the description stays, '
            'and gains for set points depend on it.')


def _measured(found: ElasticIdentification) -> list[tuple[str, str]]:
    """Name and unit of effort of each coordinate that is measured."""
    units = effort_units(found.robot.links) * 2
    return [(name, units[k]) for name, k in zip(found.encoders.names(found.robot),
                                                found.encoders.measured, strict=True)]


def _joint_parameters(found: ElasticIdentification) -> Iterator[_JointParameter]:
    """Stiffness, rotor inertia and friction of each joint."""
    slides = prismatic_joints(found.robot.links).tolist()
    for k, joint in enumerate(found.robot.links.joint_names):
        for kind in ('stiffness', *(one for one in JOINT_PARAMETERS if one != 'stiffness')):
            name = f'{joint}/{kind}'
            how = _CLASSES[found.classes[name]]
            if found.classes[name] == COMBINED:
                how = 'only together with ' + ', '.join(found.base.partners(name))
            value, deviation = found.independent.get(name, (None, None))
            yield _JointParameter(
                name, _UNITS[kind][slides[k]], float(getattr(found.robot.joints, kind)[k]),
                value, deviation, how)


def _of_class(found: ElasticIdentification, kind: str) -> list[str]:
    """Names of the parameters of a class."""
    return [name for name, one in found.classes.items() if one == kind]


def _groups(found: ElasticIdentification) -> list[tuple[str, ...]]:
    """Groups of parameters that are only identifiable together."""
    out: list[tuple[str, ...]] = []
    for name in _of_class(found, COMBINED):
        if not any(name in group for group in out):
            out.append((name, *found.base.partners(name)))
    return out


def _curves(found: ElasticIdentification) -> list[dict[str, Any]]:
    """Efforts of every coordinate that is measured, in plain types."""
    curves = found.curves
    time, values = with_gaps(curves.time, np.hstack((curves.measured, curves.fitted, curves.held)),
                             SAMPLES)
    measured, fitted, held = np.split(values.T, 3)
    curves_of = {'measured': measured, 'fitted': fitted, 'held': held,
                 'error': measured - fitted, 'held_error': measured - held}
    out = [{'name': name, 'unit': unit, 'time': rounded(time, 7),
            **{key: rounded(rows[k]) for key, rows in curves_of.items()}}
           for k, (name, unit) in enumerate(_measured(found))]
    # Motors first, because links mostly have no efforts.
    return sorted(out, key=lambda one: not one['name'].startswith('motor_'))


def _story(found: ElasticIdentification, data: ElasticDataset) -> str:
    dataset = data.dataset
    return (f'{dataset.count:,} rows, {dataset.duration:.0f} s, of {found.robot.n} joints with '
            f'springs, from {dataset.source}. {_encoders_sentence(found.encoders)} "Held out" is '
            'each half of the recording, predicted by a fit to the other half.')


def _springs(found: ElasticIdentification) -> page.Html:
    return page.table(
        ('parameter', 'described', 'identified', '± one sd', 'unit', 'identifiable'),
        [(one.name, f'{one.described:.5g}', *(('-', '-') if one.value is None else (
            f'{one.value:.5g}', f'{one.deviation:.2g}')), one.unit, page.wide(short(one.how)))
         for one in _joint_parameters(found)])


def _friction(found: ElasticIdentification) -> list[str]:
    """The coefficients f1 to f6 of every motor, if identified."""
    if found.friction is None:
        return []
    rows = [(joint, *(f'{value:.4g} ± {sd:.1g}' for value, sd in zip(values, sds, strict=True)))
            for joint, values, sds in zip(found.robot.links.joint_names,
                                          found.friction.coefficients, found.friction_deviations,
                                          strict=True)]
    return ['Friction falls from standstill: F = f1 v + sign v (f2 - f3 exp(-|v|/f4) - '
            'f5 exp(-1/(f6 |v|))).',
            page.table(('motor of', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6'), rows)]


def _losses(found: ElasticIdentification) -> list[str]:
    """Parameters that are less identifiable than with both encoders of every joint."""
    if not found.losses:
        return ['None: every joint has both of its encoders.']
    return [_remaining(found), page.table(
        ('parameter', 'with both encoders', 'with these', 'together with'),
        [(loss.name, _CLASSES[loss.before], _CLASSES[loss.after],
          page.wide(short(', '.join(loss.partners)) or '-')) for loss in found.losses],
        kind='facts')]


def _classes(found: ElasticIdentification) -> page.Html:
    rows = [('Alone:', _of_class(found, INDEPENDENT)),
            *(('Only together:', group) for group in _groups(found)),
            ('Unidentifiable, without any effect on this motion:',
             _of_class(found, UNIDENTIFIABLE))]
    return page.items(page.Html(f'<b>{head}</b> {page.html(", ".join(names) or "none")}')
                      for head, names in rows)


def _base(found: ElasticIdentification) -> page.Html:
    return page.table(
        ('base parameter', 'described', 'identified', '± one sd', 'relative'),
        [(page.wide(short(name)), f'{described:.5g}', f'{value:.5g}', f'{sd:.2g}',
          percent(sd / abs(value)) if value else '-')
         for name, value, sd, described in zip(
             found.base.base_names, found.values, found.deviations,
             found.base.values(found.robot.parameters(found.order)), strict=True)])
