# SPDX-License-Identifier: Apache-2.0
"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from robot_dynamics.model.robot import Robot
from robot_dynamics.report.frame import Heading, filled, framed, notice, page_part
from robot_dynamics.report.payload import payload
from robot_dynamics.report.recording import Recording
from robot_dynamics.report.summary import Summary
from robot_dynamics.report.text import figures, interrupted, latency, ratio, verdict


@dataclass(frozen=True)
class Story:
    """What only the one who started the run knows.

    Parameters
    ----------
    text : str
        What was tried, in a sentence or two.
    facts : sequence of (str, str)
        What ran, row by row.
    truth : mapping of str to float
        True values of estimated parameters, as far as they are known.
    """

    text: str = ''
    facts: Sequence[tuple[str, str]] = ()
    truth: Mapping[str, float] = field(default_factory=dict)


def render_page(recording: Recording, summary: Summary, robot: Robot | None,
                story: Story | None = None) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    recording, summary : Recording, Summary
        The run.
    robot : Robot, optional
        The arm; without it none is drawn.
    story : Story, optional
        What only the one who started the run knows.
    """
    story = story or Story()
    name = robot.name if robot is not None else recording.controller
    heading = Heading(name, verdict(summary), story.text,
                      notice=notice(escape(interrupted(summary.interruptions)))
                      if summary.interruptions else '')
    content = filled(page_part('report.html'), {
        'unit': summary.unit, 'tiles': _tiles(summary), 'windows': _windows(summary),
        'joint_table': _joint_table(summary), 'compared': ' and '.join(summary.compared),
        'facts': facts_table(story.facts or [('controller', recording.controller)]),
        'estimate_note': _ESTIMATE_NOTE, 'loop_note': _loop_note(summary)})
    return framed(heading, content, style=page_part('report.css'),
                  scripts=('arm.js', 'report.js'),
                  data=payload(recording, summary, robot, story.truth),
                  without_scripts='The charts and the moving arm need JavaScript; the tables do '
                                  'not.')


_ESTIMATE_NOTE = (
    'Ten parameters a link are estimated. Only some of their combinations act on the joints, so '
    'single masses need not become the true ones for the torque to be right: what counts is the '
    'error above. Dotted lines are the true masses, where the plant told them.')


def tiles(figures_and_words: Iterable[tuple[str, str]]) -> str:
    """Return key figures, each with what it is."""
    return '\n'.join(f'<div class="tile"><strong>{value}</strong><span>{text}</span></div>'
                     for value, text in figures_and_words)


def _tiles(summary: Summary) -> str:
    loop, (first, last) = summary.loop, summary.compared
    tiles = [
        ('before', figures(1e3 * summary.before.total), summary.unit, f'RMS error {first}'),
        ('after', figures(1e3 * summary.after.total), summary.unit, f'RMS error {last}'),
        *([('', figures(summary.improvement, 2), 'times', 'smaller')]
          if summary.adaptation_start is not None else []),
        ('', f'{loop.state_rate:.1f}', 'Hz', 'loop rate'),
        *([('', f'{1e3 * loop.latency_median:.2f}', 'ms', 'median latency'),
           ('', f'{1e3 * loop.latency_worst:.1f}', 'ms', 'worst latency')]
          if not math.isnan(loop.latency_median) else []),
    ]
    return '\n'.join(f'<div class="tile {kind}"><strong>{value} <small>{unit}</small></strong>'
                     f'<span>{text}</span></div>' for kind, value, unit, text in tiles)


def _windows(summary: Summary) -> str:
    before, after = summary.before.window, summary.after.window
    return (f'Root mean square of the tracking error over {before.start:.1f} to '
            f'{before.end:.1f} s and over {after.start:.1f} to {after.end:.1f} s.')


def _joint_table(summary: Summary) -> str:
    largest = max(summary.before.rms.max(), summary.after.rms.max()) or 1.0
    rows = []
    for name, before, after, worst_before, worst_after in zip(
            summary.joint_names, summary.before.rms, summary.after.rms,
            summary.before.worst, summary.after.worst, strict=True):
        bars = ''.join(f'<span class="bar {kind}" style="width:{100 * value / largest:.1f}%">'
                       '</span>' for kind, value in (('before', before), ('after', after)))
        rows.append(f'<tr><td>{escape(name)}</td><td class="bars" aria-hidden="true">{bars}</td>'
                    + ''.join(f'<td>{figures(1e3 * float(value))}</td>' for value in
                              (before, after, worst_before, worst_after))
                    + f'<td>{ratio(before, after)}</td></tr>')
    before, after = summary.before, summary.after
    rows.append('<tr class="total"><td>all joints</td><td></td>'
                + ''.join(f'<td>{figures(1e3 * float(value))}</td>' for value in
                          (before.total, after.total, before.worst.max(), after.worst.max()))
                + f'<td>{ratio(before.total, after.total)}</td></tr>')
    first, last = summary.compared
    return (f'<table><thead><tr><th>joint</th><th></th><th>RMS {first}, {summary.unit}</th>'
            f'<th>RMS {last}, {summary.unit}</th><th>worst {first}</th><th>worst {last}</th>'
            f'<th>RMS ratio</th></tr></thead><tbody>{"".join(rows)}</tbody></table>')


def _loop_note(summary: Summary) -> str:
    loop = summary.loop
    times = latency(loop, '{} ms in the middle, {} ms at 99 %, {} ms at worst')
    return (f'{loop.state_rate:.1f} joint states and {loop.command_rate:.1f} commands a second, '
            'between processes of their own, over DDS. From the stamp of a joint state to its '
            f'command published: {times}. Heights of the histograms are square roots, so that '
            'single late cycles show.')


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """Return a table of names and values."""
    rows = ''.join(f'<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>'
                   for name, value in facts)
    return f'<table class="facts"><tbody>{rows}</tbody></table>'
