# SPDX-License-Identifier: Apache-2.0
"""``identification_page``: one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape

from robot_dynamics.identification.dataset import Dataset
from robot_dynamics.identification.outputs import Outputs, finite
from robot_dynamics.identification.result import Identification
from robot_dynamics.report.frame import (
    Heading,
    filled,
    framed,
    notice,
    page_part,
    result_style,
)
from robot_dynamics.report.identification import tables
from robot_dynamics.report.identification.curves import charts
from robot_dynamics.report.identification.text import (
    VERDICT_COLOURS,
    percent,
    verdict_sentence,
)
from robot_dynamics.report.page import facts_table, tiles


def identification_page(found: Identification, dataset: Dataset, outputs: Outputs) -> str:
    """Return the page.

    Parameters
    ----------
    found, dataset : Identification, Dataset
        The result, and what it was made of.
    outputs : Outputs
        The other files, whose findings are told too.
    """
    robot = found.model.robot
    heading = Heading(robot.name, verdict_sentence(found), _story(found, dataset),
                      kind='identification', colour=VERDICT_COLOURS[found.verdict],
                      notice=_notice(outputs))
    content = filled(page_part('identification.html'), {
        'tiles': _tiles(found), 'reasons': tables.reasons(found),
        'missing': tables.missing(found), 'joint_table': tables.joints(found),
        'choices': tables.choices(found), 'findings': tables.findings(found, outputs),
        'links': tables.links(found, outputs), 'base_table': tables.base(found),
        'parameter_table': tables.parameters(found), 'friction_table': tables.friction(found),
        'facts': facts_table(_facts(found, dataset))})
    return framed(heading, content, style=result_style(), scripts=('identification.js',),
                  data=finite(charts(found, dataset, outputs.friction)))


def _story(found: Identification, dataset: Dataset) -> str:
    """Return of what the result was made."""
    pieces = f' in {len(dataset.segments)} pieces' if len(dataset.segments) > 1 else ''
    return (f'{dataset.count:,} rows, {dataset.duration:.0f} s{pieces}, of '
            f'{len(dataset.joint_names)} joints, from {dataset.source}. What was not seen is each '
            'half of the recording, predicted by a fit to the other half with every choice made '
            'there.')


def _notice(outputs: Outputs) -> str:
    if outputs.refused is None:
        return ''
    return notice(f'<b>No URDF was written.</b> {escape(str(outputs.refused))}')


def _tiles(found: Identification) -> str:
    untold = sum(len(one.parameters) for one in found.missing)
    figures = [
        (percent(found.validation.total), 'error on what was not seen'),
        (percent(found.in_sample.total), 'error on what was fitted'),
        (f'{found.base.condition:.3g}', 'condition number of the base'),
        (f'all but {untold}' if untold else 'all', 'combinations of masses told'),
        ('yes' if found.is_consistent else 'no', 'every body can exist'),
    ]
    return tiles(figures)


def _facts(found: Identification, dataset: Dataset) -> list[tuple[str, str]]:
    signals = found.signals
    facts = [
        ('recording', dataset.source),
        ('rows', f'{dataset.count:,}, one every {1e3 * dataset.period:.4g} ms'),
        ('left out or mended', '; '.join(f'{count} {reason}' for reason, count
                                         in dataset.counts.items()) or 'nothing'),
        ('signals', f'cut-off {signals.cutoff:.3g} Hz, order {signals.order}, '
                    f'{signals.derivative} differences, velocity from {signals.velocity}, '
                    f'efforts {1e3 * signals.lag:+.2f} ms late'),
        ('estimator', found.estimator),
        ('gravity', ', '.join(f'{x:.4f}' for x in found.model.gravity) + ' m/s² in the base'),
        ('worst three seconds', '; '.join(f'{start:.1f} to {end:.1f} s: {percent(error)}'
                                          for start, end, error in found.worst)),
        ('computed in', ', '.join(f'{stage} {seconds:.2f} s'
                                  for stage, seconds in found.seconds.items())),
    ]
    return facts
