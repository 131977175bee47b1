# SPDX-License-Identifier: Apache-2.0
"""The stiffness of joints as a page and as a picture: deflection over torque, and resonances."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.identification.stiffness.modes import ModesReport
from robot_dynamics.identification.stiffness.report import JointReport
from robot_dynamics.identification.stiffness.spring import SpringReport
from robot_dynamics.report.figure import GRID, INK, new_figure, png, style
from robot_dynamics.report.page import Html, Page, html, items, section

_FORTH, _BACK = '#0b62a8', '#b8480b'
# Points of a picture at most.
_POINTS = 4000


def stiffness_page(source: str, reports: Sequence[JointReport], picture: bytes) -> str:
    """HTML page about the stiffness of joints.

    Parameters
    ----------
    source : str
        Name of the log.
    reports : sequence of JointReport
        The joints.
    picture : bytes
        PNG of `draw_stiffness`.

    Examples
    --------
    ``robot-dynamics stiffness`` writes this page; without joints it holds the picture alone:

    >>> from robot_dynamics.report import stiffness_page
    >>> 'data:image/png;base64' in stiffness_page('log.csv', [], b'')
    True
    """
    image = base64.b64encode(picture).decode()
    # Lines about what cannot be determined are in a softer colour.
    sections = [section(report.lines[0], items(
        Html(f'<span class="missing">{html(line.strip())}</span>')
        if line.startswith('  not determined') else line.strip() for line in report.lines[1:]))
        for report in reports]
    sections.append(Html('<section><img alt="deflections and resonances, described above" '
                         f'src="data:image/png;base64,{image}"></section>'))
    return Page(source, 'Stiffness, lost motion and resonances of joints', '', sections,
                kind='stiffness', without_scripts='Only the choice of light or dark colours needs '
                                                  'JavaScript.').render(None, 'stiffness.js')


def draw_stiffness(reports: Sequence[JointReport]) -> bytes:
    """PNG of springs and resonances, one row for each of them."""
    rows = [(report, part) for report in reports for part in (report.spring, report.modes)
            if part is not None]
    figure = new_figure(12.0, 4.2 * max(len(rows), 1), layout='constrained')
    axes = figure.subplots(max(len(rows), 1), 2, squeeze=False)
    for pair, (report, part) in zip(axes, rows, strict=False):
        if isinstance(part, SpringReport):
            _draw_spring(pair, report.name, part)
        else:
            _draw_modes(pair, report, part)
    return png(figure)


def _draw_spring(axes: Sequence[Any], name: str, spring: SpringReport) -> None:
    some = slice(None, None, max(1, len(spring.time) // _POINTS))
    deflection, explained = 1e3 * spring.deflection[some], 1e3 * spring.explained[some]
    way = spring.way[some]
    has_torque = bool(np.all(np.isfinite(spring.load)))
    x = spring.load[some] if has_torque else spring.time[some]
    style(axes[0], f'{name}: motor / ratio - joint, mrad (mm)',
          'torque, N m (N)' if has_torque else 's')
    style(axes[1], f'{name}: the same over time, mrad (mm)', 's')
    if has_torque:
        axes[0].plot(x, explained, '.', color=GRID, markersize=9.0, label='explained')
    for going, color, text in ((1.0, _FORTH, 'motor goes forth'), (-1.0, _BACK, 'and back')):
        mine = np.sign(np.round(way)) == going
        axes[0].plot(x[mine], deflection[mine], '.', color=color, markersize=2.5, label=text)
    axes[0].legend(frameon=False, fontsize=9, markerscale=2, labelcolor=INK)
    time = spring.time[some]
    axes[1].plot(time, explained, color=GRID, linewidth=4.0, label='explained')
    axes[1].plot(time, deflection, color=_FORTH, linewidth=1.0, label='measured')
    axes[1].plot(time, deflection - explained, color=_BACK, linewidth=0.8, label='residual')
    axes[1].legend(frameon=False, fontsize=9, ncols=3, labelcolor=INK)


def _draw_modes(axes: Sequence[Any], report: JointReport, modes: ModesReport) -> None:
    style(axes[0], f'{report.name}: motion per torque',
          f'frequency, {"Hz" if modes.has_rate else "of the rate"}')
    axes[0].semilogy(modes.frequency, modes.measured, '.', color=_FORTH, markersize=3.0,
                     label='spectra')
    axes[0].semilogy(modes.frequency, modes.gain, color=INK, linewidth=1.0,
                     label=f'difference equation of order {modes.order}')
    for mode in modes.modes:
        axes[0].axvline(mode.frequency, color=_BACK, linewidth=0.8, linestyle=(0, (3, 3)))
        axes[0].annotate(f'{mode.frequency:.4g}', (mode.frequency, 0.95), color=_BACK, fontsize=9,
                         xycoords=('data', 'axes fraction'), xytext=(3, 0),
                         textcoords='offset points')
    axes[0].legend(frameon=False, fontsize=9, labelcolor=INK, loc='lower right')
    axes[1].set_axis_off()
    wrapped = [textwrap.fill(line.strip(), 78, subsequent_indent='    ') for line in report.lines]
    axes[1].text(0.0, 0.95, '\n'.join(wrapped), va='top', fontsize=10, color=INK,
                 linespacing=1.6, parse_math=False)
