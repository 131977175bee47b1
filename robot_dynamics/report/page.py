# SPDX-License-Identifier: Apache-2.0
"""``Page``: one self-contained HTML file of sections with text, tables and charts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.errors import Finding, Severity
from robot_dynamics.report.words import percent

if TYPE_CHECKING:
    from robot_dynamics.identification.result import Residuals

_PARTS = Path(__file__).with_name('page')
_SCRIPTS = ('chart.js', 'tabs.js', 'theme.js')
_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}

#: Names of the CSS variables with the colours of verdicts.
VERDICT_COLOURS = {'good': '--c2', 'fair': '--c5', 'poor': '--c1'}


class Html(str):
    """Markup. Any other text is escaped before it enters a page."""


def html(text: str) -> Html:
    """Text as markup, escaped unless it is markup already."""
    return text if isinstance(text, Html) else Html(escape(text))


@dataclass(frozen=True)
class Page:
    """The top of a page, and its sections, see `section`.

    ``subject`` is an arm or the name of a log, ``headline`` the result in one sentence, and
    ``story`` describes the data. The kind of page is above the headline, the verdict (``'good'``,
    ``'fair'`` or ``'poor'``) before it as a coloured mark, the notice above all sections.
    ``without_scripts`` describes what is missing without JavaScript.
    """

    subject: str
    headline: str
    story: str
    sections: Sequence[Html]
    kind: str = ''
    verdict: str = ''
    notice: str = ''
    without_scripts: str = 'The charts need JavaScript; the tables do not.'

    def render(self, data: Any, *scripts: str) -> str:
        """HTML text; the scripts, files of the folder ``page``, draw the plain data."""
        mark = ''
        if self.verdict:
            colour = VERDICT_COLOURS[self.verdict]
            mark = f'<span class="verdict-mark" style="background:var({colour})"></span>'
        kicker = ' · '.join(filter(None, ('robot_dynamics', self.kind, self.subject)))
        values = {
            'title': escape(f'{self.subject}: {self.headline}'), 'kicker': escape(kicker),
            'mark': mark, 'headline': escape(self.headline), 'story': escape(self.story),
            'notice': f'<p class="notice">{html(self.notice)}</p>' if self.notice else '',
            'without_scripts': escape(self.without_scripts),
            'content': '\n\n'.join(self.sections), 'css': part('report.css'),
            'js': '\n'.join(map(part, (*_SCRIPTS, *scripts))), 'data': embedded(data)}
        # In one pass, because inserted text is not a template.
        return re.sub(r'\{\{(\w+)\}\}', lambda match: values[match[1]], part('frame.html'))


def part(name: str) -> Html:
    """A template, style or script of the folder ``page``."""
    return Html((_PARTS / name).read_text(encoding='utf-8').rstrip('\n'))


def embedded(data: Any) -> str:
    """Plain data as JSON for a script element."""
    # The text after a '<' could end the element.
    return json.dumps(data, separators=(',', ':'), allow_nan=False).replace('<', '\\u003c')


def section(title: str, *parts: str) -> Html:
    """A section with a title; parts that are not markup become notes."""
    content = '\n  '.join(one if isinstance(one, Html) else note(one) for one in parts if one)
    return Html(f'<section>\n  <h2>{html(title)}</h2>\n  {content}\n</section>')


def note(text: str) -> Html:
    """A paragraph of explanation."""
    return Html(f'<p class="note">{html(text)}</p>')


def key(before: str, after: str) -> Html:
    """Legend of the two colours of bars."""
    return Html(f'<p class="key"><span class="bar before"></span>{html(before)}'
                f'<span class="bar after"></span>{html(after)}</p>')


def items(texts: Iterable[str]) -> Html:
    """A list."""
    return Html('<ul>' + ''.join(f'<li>{html(text)}</li>' for text in texts) + '</ul>')


def refusal(what: str, reason: object) -> str:
    """The notice about a file that was not written, empty without a reason."""
    return '' if reason is None else Html(f'<b>{what}</b> {escape(str(reason))}')


def finding_items(findings: Iterable[Finding]) -> Html:
    """A list of findings, the most severe first."""
    ranked = sorted(findings, key=lambda one: _RANKS[one.severity])
    if not ranked:
        return note('Nothing unusual.')
    return items(Html(f'<b>{one.severity.value}</b> {escape(str(one))}') for one in ranked)


def tile(value: str, words: str, unit: str = '', kind: str = '') -> Html:
    """A key figure and its meaning; the kind is ``'before'``, ``'after'`` or empty."""
    unit = f' <small>{unit}</small>' if unit else ''
    return Html(f'<div class="tile {kind}"><strong>{html(value)}{unit}</strong>'
                f'<span>{html(words)}</span></div>')


def prediction_tiles(held: Residuals, own: Residuals) -> list[Html]:
    """Errors of predictions of held-out and of fitted data."""
    return [tile(percent(held.total), 'error of held-out data'),
            tile(percent(own.total), 'error of fitted data')]


def tiles(figures: Iterable[Html]) -> Html:
    """The section of key figures, see `tile`."""
    return Html('<section class="tiles" aria-label="Key figures">\n' + '\n'.join(figures)
                + '\n</section>')


def wide(text: str) -> Html:
    """A cell of long text, for `table`."""
    return Html(f'<td class="wide">{html(text)}</td>')


def bars(*shares_and_kinds: tuple[float, str]) -> Html:
    """A cell of bars, for `table`: for each its share of the full width, and its kind."""
    spans = ''.join(f'<span class="bar {kind}" style="width:{_width(share):.1f}%"></span>'
                    for share, kind in shares_and_kinds)
    return Html(f'<td class="bars" aria-hidden="true">{spans}</td>')


def _width(share: float) -> float:
    return 100.0 * min(max(share, 0.0), 1.0) if np.isfinite(share) else 100.0


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = '',
          total: Sequence[str] | None = None) -> Html:
    """A table that can be scrolled sideways; cells are texts, or markup of `wide` and `bars`.

    The kind ``'facts'`` aligns texts to the left; ``total`` is a last row for all.
    """
    head = ''.join(f'<th>{html(text)}</th>' for text in heads)
    body = ''.join(f'<tr>{_cells(row)}</tr>' for row in rows)
    if total is not None:
        body += f'<tr class="total">{_cells(total)}</tr>'
    head = f'<thead><tr>{head}</tr></thead>' if head else ''
    return Html(f'<div class="scroll"><table class="{kind}">{head}<tbody>{body}</tbody></table>'
                '</div>')


def _cells(row: Sequence[str]) -> str:
    return ''.join(cell if isinstance(cell, Html) else f'<td>{escape(cell)}</td>' for cell in row)


def prediction_table(head: str, rows: Sequence[tuple[str, str]], held: Residuals, own: Residuals
                     ) -> Html:
    """Errors of predictions of held-out and of fitted data, for rows of name and unit."""
    largest = max(float(np.max(held.relative)), float(np.max(own.relative)), 1e-12)
    return table(
        (head, '', 'RMS, held out', 'RMS, fitted', 'relative, held out', 'relative, fitted'),
        [(name, bars((held.relative[k] / largest, 'before'), (own.relative[k] / largest, 'after')),
          f'{held.rmse[k]:.3g} {unit}', f'{own.rmse[k]:.3g} {unit}',
          percent(held.relative[k]), percent(own.relative[k]))
         for k, (name, unit) in enumerate(rows)],
        total=('all', '', '', '', percent(held.total), percent(own.total)))


def facts(rows: Sequence[tuple[str, str]]) -> Html:
    """A table of names and values."""
    return table((), rows, kind='facts')


def details(title: str, content: Html, *, is_open: bool = False) -> Html:
    """Content that the reader can open and close."""
    return Html(f'<details{" open" if is_open else ""}><summary>{html(title)}</summary>{content}'
                '</details>')


def tabs(label: str, name: str = 'tabs') -> Html:
    """Placeholder of the buttons that select the content of charts."""
    return Html(f'<div class="tabs" id="{name}" role="group" aria-label="{html(label)}"></div>')


def chart(name: str, label: str, caption: str = '', *, is_wide: bool = True,
          has_legend: bool = True) -> Html:
    """Placeholder of a chart that scripts draw: canvas ``<name>``, legend ``<name>-legend``.

    The label describes the chart for screen readers.
    """
    caption = f'<figcaption>{html(caption)}</figcaption>' if caption else ''
    legend = f'<div class="legend" id="{name}-legend"></div>' if has_legend else ''
    return Html(f'<figure class="chart{" wide" if is_wide else ""}">{caption}'
                f'<canvas id="{name}" role="img" aria-label="{html(label)}"></canvas>{legend}'
                '</figure>')


def titled(title: str, rest: str = '') -> Html:
    """Caption of a chart: its title and more markup, by default the unit that scripts choose."""
    return Html(f'<b>{title}</b>, ' + (rest or '<span class="unit"></span>'))


def pair(*charts: Html) -> Html:
    """Charts side by side."""
    return Html('<div class="pair">' + ''.join(charts) + '</div>')
