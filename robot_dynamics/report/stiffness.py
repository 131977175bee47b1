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
from robot_dynamics.report.figure import GRID, INK, SOFT, new_figure, png, style
from robot_dynamics.report.page import Html, Page, html, section

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
    sections = [section(report.lines[0], _items(report.lines[1:])) for report in reports]
    sections.append(Html('<section><img alt="deflections and resonances, described above" '
                         f'src="data:image/png;base64,{image}"></section>'))
    page = Page(source, 'Stiffness, lost motion and resonances of joints', '', sections,
                kind='stiffness', without_scripts='Only the choice of light or dark colours needs '
                                                  'JavaScript.')
    return page.render(None, 'stiffness.js')


def _items(lines: Sequence[str]) -> Html:
    """Lines of a report, those about what cannot be determined in a softer colour."""
    kinds = (' class="missing"' if line.startswith('  not determined') else '' for line in lines)
    return Html('<ul>' + ''.join(f'<li{kind}>{html(line.strip())}</li>'
                                 for kind, line in zip(kinds, lines, strict=True)) + '</ul>')


def draw_stiffness(reports: Sequence[JointReport]) -> bytes:
    """PNG of springs and resonances, one row for each of them."""
    rows = [(report, part) for report in reports for part in (report.spring, report.modes)
            if part is not None]
    figure = new_figure(12.0, 4.2 * max(len(rows), 1), layout='constrained')
    axes = figure.subplots(max(len(rows), 1), 2, squeeze=False)
    for pair, (report, part) in zip(axes, rows, strict=False):
        for one in pair:
            style(one)
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
    if has_torque:
        axes[0].plot(x, explained, '.', color=GRID, markersize=9.0, label='explained')
    for going, color, text in ((1.0, _FORTH, 'motor goes forth'), (-1.0, _BACK, 'and back')):
        mine = np.sign(np.round(way)) == going
        axes[0].plot(x[mine], deflection[mine], '.', color=color, markersize=2.5, label=text)
    axes[0].set_xlabel('torque, N m (N)' if has_torque else 's', color=SOFT, fontsize=9)
    axes[0].legend(frameon=False, fontsize=9, markerscale=2, labelcolor=INK)
    _title(axes[0], f'{name}: motor / ratio - joint, mrad (mm)')
    time = spring.time[some]
    axes[1].plot(time, explained, color=GRID, linewidth=4.0, label='explained')
    axes[1].plot(time, deflection, color=_FORTH, linewidth=1.0, label='measured')
    axes[1].plot(time, deflection - explained, color=_BACK, linewidth=0.8, label='residual')
    axes[1].set_xlabel('s', color=SOFT, fontsize=9)
    axes[1].legend(frameon=False, fontsize=9, ncols=3, labelcolor=INK)
    _title(axes[1], f'{name}: the same over time, mrad (mm)')


def _draw_modes(axes: Sequence[Any], report: JointReport, modes: ModesReport) -> None:
    unit = 'Hz' if modes.has_rate else 'of the rate'
    axes[0].semilogy(modes.frequency, modes.measured, '.', color=_FORTH, markersize=3.0,
                     label='spectra')
    axes[0].semilogy(modes.frequency, modes.gain, color=INK, linewidth=1.0,
                     label=f'difference equation of order {modes.order}')
    for mode in modes.modes:
        axes[0].axvline(mode.frequency, color=_BACK, linewidth=0.8, linestyle=(0, (3, 3)))
        axes[0].annotate(f'{mode.frequency:.4g}', (mode.frequency, 0.95), color=_BACK, fontsize=9,
                         xycoords=('data', 'axes fraction'), xytext=(3, 0),
                         textcoords='offset points')
    axes[0].set_xlabel(f'frequency, {unit}', color=SOFT, fontsize=9)
    axes[0].legend(frameon=False, fontsize=9, labelcolor=INK, loc='lower right')
    _title(axes[0], f'{report.name}: motion per torque')
    for axis in ('top', 'right', 'left', 'bottom'):
        axes[1].spines[axis].set_visible(False)
    axes[1].set_xticks([])
    axes[1].set_yticks([])
    axes[1].grid(False)
    axes[1].text(0.0, 0.95, '\n'.join(_wrapped(line) for line in report.lines), va='top',
                 fontsize=10, color=INK, linespacing=1.6, parse_math=False)


def _wrapped(line: str, width: int = 78) -> str:
    return '\n'.join(textwrap.wrap(line.strip(), width, subsequent_indent='    '))


def _title(axes: Any, text: str) -> None:
    # A name with two dollars is not a formula.
    axes.set_title(text, loc='left', fontsize=10, color=SOFT, parse_math=False)
