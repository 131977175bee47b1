# SPDX-License-Identifier: Apache-2.0
"""``elastic_page``: one HTML file about identified springs that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from robot_dynamics.dynamics.base_parameters import COMBINED, INDEPENDENT, UNIDENTIFIABLE
from robot_dynamics.identification.elastic.dataset import ElasticDataset
from robot_dynamics.identification.elastic.outputs import ElasticOutputs
from robot_dynamics.identification.elastic.result import ElasticIdentification
from robot_dynamics.identification.outputs import finite
from robot_dynamics.report.elastic.text import (
    elastic_sentence,
    encoders_sentence,
    groups,
    joint_parameters,
    remaining_sentence,
    units_of,
)
from robot_dynamics.report.frame import (
    Heading,
    filled,
    framed,
    notice,
    page_part,
    result_style,
)
from robot_dynamics.report.identification.markup import finding_items, items, table
from robot_dynamics.report.identification.text import VERDICT_COLOURS, percent, short
from robot_dynamics.report.page import facts_table, tiles
from robot_dynamics.report.series import rounded, with_gaps

#: Samples of a curve, at most.
SAMPLES = 1500


def elastic_page(found: ElasticIdentification, data: ElasticDataset, outputs: ElasticOutputs
                 ) -> str:
    """Return the page.

    Parameters
    ----------
    found, data : ElasticIdentification, ElasticDataset
        The result, and what it was made of.
    outputs : ElasticOutputs
        The other files, whose findings are told too.
    """
    robot = found.robot.links
    heading = Heading(robot.name, elastic_sentence(found), _story(found, data),
                      kind='joints with springs', colour=VERDICT_COLOURS[found.verdict],
                      notice=_notice(outputs))
    content = filled(page_part('elastic.html'), {
        'tiles': _tiles(found), 'spring_table': _springs(found), 'losses': _losses(found),
        'classes': _classes(found), 'base_table': _base(found),
        'coordinate_table': _coordinates(found), 'friction': _friction(found),
        'findings': finding_items((*found.findings, *outputs.findings)),
        'facts': facts_table(_facts(found, data))})
    return framed(heading, content, style=result_style(), scripts=('pair.js', 'elastic.js'),
                  data=finite(_curves(found)))


def _curves(found: ElasticIdentification) -> list[dict[str, Any]]:
    """Return efforts of every coordinate that is measured, in plain types."""
    curves, units = found.curves, units_of(found)
    time, values = with_gaps(curves.time, np.hstack((curves.measured, curves.fitted, curves.held)),
                             SAMPLES)
    sides = np.hsplit(values, 3)
    out = []
    for k, name in enumerate(found.encoders.names(found.robot)):
        measured, fitted, held = (side[:, k] for side in sides)
        out.append({'name': name, 'unit': units[found.encoders.measured[k]],
                    'time': np.round(time, 4).tolist(),
                    'measured': rounded(measured), 'fitted': rounded(fitted),
                    'held': rounded(held),
                    'error': rounded(measured - fitted),
                    'held_error': rounded(measured - held)})
    # Motors first: they have efforts, links mostly none.
    return sorted(out, key=lambda one: not one['name'].startswith('motor_'))


def _story(found: ElasticIdentification, data: ElasticDataset) -> str:
    dataset = data.dataset
    return (f'{dataset.count:,} rows, {dataset.duration:.0f} s, of {found.robot.n} joints with '
            f'springs, from {dataset.source}. {encoders_sentence(found.encoders)} What was not '
            'seen is each half of the recording, predicted by a fit to the other half.')


def _notice(outputs: ElasticOutputs) -> str:
    if outputs.refused is None:
        return ''
    return notice('<b>No URDF and no parameter file were written.</b> '
                  f'{escape(str(outputs.refused))}')


def _tiles(found: ElasticIdentification) -> str:
    kinds = list(found.classes.values())
    figures = [
        (percent(found.validation.total), 'error on what was not seen'),
        (percent(found.in_sample.total), 'error on what was fitted'),
        (f'{found.base.rank} <small>of {found.structural.rank}</small>',
         'base parameters told'),
        (f'{kinds.count(INDEPENDENT)} <small>of {len(kinds)}</small>',
         'parameters told by themselves'),
        (f'{found.condition:.3g}', 'condition number'),
    ]
    return tiles(figures)


def _springs(found: ElasticIdentification) -> str:
    rows = []
    for one in joint_parameters(found):
        value, deviation = ('-', '-') if one.value is None else \
            (f'{one.value:.5g}', f'{one.deviation:.2g}')
        rows.append(f'<tr><td>{escape(one.name)}</td><td>{one.described:.5g}</td><td>{value}</td>'
                    f'<td>{deviation}</td><td>{one.unit}</td>'
                    f'<td class="wide">{escape(short(one.how))}</td></tr>')
    return table(('parameter', 'described', 'identified', '± one sd', 'unit', 'told'), rows)


def _losses(found: ElasticIdentification) -> str:
    if not found.losses:
        return '<p class="note">Nothing: every joint counts with both of its encoders.</p>'
    rows = [f'<tr><td>{escape(loss.name)}</td><td>{_WORDS[loss.before]}</td>'
            f'<td>{_WORDS[loss.after]}</td><td class="wide">'
            f'{escape(short(", ".join(loss.partners))) or "-"}</td></tr>' for loss in found.losses]
    return (f'<p class="note">{escape(remaining_sentence(found))}</p>'
            + table(('parameter', 'with both encoders', 'with these', 'together with'), rows,
                    'facts'))


_WORDS = {INDEPENDENT: 'told by itself', COMBINED: 'told in combination',
          UNIDENTIFIABLE: 'not told'}


def _classes(found: ElasticIdentification) -> str:
    by_class = {kind: [name for name, one in found.classes.items() if one == kind]
                for kind in _WORDS}
    texts = [f'<b>Told by itself:</b> {escape(", ".join(by_class[INDEPENDENT])) or "none"}']
    texts += [f'<b>Only together:</b> {escape(", ".join(group))}' for group in groups(found)]
    texts.append('<b>Unidentifiable</b>, without any effect on this motion: '
                 f'{escape(", ".join(by_class[UNIDENTIFIABLE])) or "none"}')
    return items(texts)


def _base(found: ElasticIdentification) -> str:
    rows = []
    for name, value, sd, described in zip(
            found.base.base_names, found.values, found.deviations,
            found.base.values(found.robot.parameters(found.order)), strict=True):
        relative = sd / abs(value) if value else np.inf
        rows.append(f'<tr><td class="wide">{escape(short(name))}</td><td>{described:.5g}</td>'
                    f'<td>{value:.5g}</td><td>{sd:.2g}</td>'
                    f'<td>{percent(relative) if np.isfinite(relative) else "-"}</td></tr>')
    return table(('base parameter', 'described', 'identified', '± one sd', 'relative'), rows)


def _coordinates(found: ElasticIdentification) -> str:
    units = units_of(found)
    rows = []
    for k, name in enumerate(found.encoders.names(found.robot)):
        unit = units[found.encoders.measured[k]]
        own, other = (float(one.relative[k]) for one in (found.in_sample, found.validation))
        rows.append(f'<tr><td>{escape(name)}</td><td>{found.validation.rmse[k]:.3g} {unit}</td>'
                    f'<td>{found.in_sample.rmse[k]:.3g} {unit}</td><td>{percent(other)}</td>'
                    f'<td>{percent(own)}</td></tr>')
    rows.append(f'<tr class="total"><td>all</td><td></td><td></td>'
                f'<td>{percent(found.validation.total)}</td>'
                f'<td>{percent(found.in_sample.total)}</td></tr>')
    return table(('equation of', 'RMS, not seen', 'RMS, fitted', 'relative, not seen',
                  'relative, fitted'), rows)


def _friction(found: ElasticIdentification) -> str:
    """Return f1 to f6 of every motor, where they were found."""
    if found.friction is None:
        return ''
    rows = []
    for joint, values, sds in zip(found.robot.links.joint_names, found.friction.coefficients,
                                  found.friction_deviations, strict=True):
        cells = ''.join(f'<td>{value:.4g} ± {sd:.1g}</td>'
                        for value, sd in zip(values, sds, strict=True))
        rows.append(f'<tr><td>{escape(joint)}</td>{cells}</tr>')
    return ('<p class="note">Friction falls from standstill: F = f1 v + sign v (f2 - f3 '
            'exp(-|v|/f4) - f5 exp(-1/(f6 |v|))).</p><div class="scroll">'
            + table(('motor of', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6'), rows) + '</div>')


def _facts(found: ElasticIdentification, data: ElasticDataset) -> list[tuple[str, str]]:
    signals, dataset = found.signals, data.dataset
    return [
        ('recording', dataset.source),
        ('rows', f'{dataset.count:,}, one every {1e3 * dataset.period:.4g} ms'),
        ('left out or mended', '; '.join(f'{count} {reason}' for reason, count
                                         in dataset.counts.items()) or 'nothing'),
        ('signals', f'cut-off {signals.cutoff:.3g} Hz, order {signals.order}, '
                    f'{signals.derivative} differences, velocity from {signals.velocity}, '
                    f'efforts {1e3 * signals.lag:+.2f} ms late'),
        ('estimator', found.estimator),
        ('friction', 'f_s and f_v' if found.friction is None else 'falls from standstill'),
        ('rotors turn with the links', 'yes' if found.robot.is_coupled else 'no'),
    ]
