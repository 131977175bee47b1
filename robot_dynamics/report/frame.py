# SPDX-License-Identifier: Apache-2.0
"""``framed``: what every page has around its sections; one HTML file that needs nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

_PARTS = Path(__file__).with_name('page')
_SCRIPTS = ('chart.js', 'tabs.js', 'theme.js')


@dataclass(frozen=True)
class Heading:
    """What stands at the top of a page, as plain text.

    Parameters
    ----------
    subject : str
        What the page is about: an arm, or a log.
    headline : str
        What was found, in one sentence.
    story : str
        Of what it was made, in a sentence or two.
    kind : str
        Which kind of page it is; none for the report of a run.
    colour : str
        Name of the CSS variable with the colour of the verdict, where there is one.
    notice : str
        What the reader has to know first, as HTML.
    """

    subject: str
    headline: str
    story: str
    kind: str = ''
    colour: str = ''
    notice: str = ''


def framed(heading: Heading, content: str, *, style: str, scripts: Sequence[str], data: Any,
           without_scripts: str = 'The charts need JavaScript; the tables do not.') -> str:
    """Return a page.

    Parameters
    ----------
    heading : Heading
        Its top.
    content : str
        Its sections, as HTML.
    style : str
        CSS.
    scripts : sequence of str
        Files of the folder ``page`` beside those that every page has, in this order.
    data : plain data
        What the scripts draw.
    without_scripts : str
        What a reader without JavaScript misses.
    """
    mark = ''
    if heading.colour:
        mark = f'<span class="verdict-mark" style="background:var({heading.colour})"></span>'
    kicker = ' · '.join(filter(None, ('robot_dynamics', heading.kind, heading.subject)))
    return filled(page_part('frame.html'), {
        'title': escape(f'{heading.subject}: {heading.headline}'), 'kicker': escape(kicker),
        'mark': mark, 'headline': escape(heading.headline), 'story': escape(heading.story),
        'notice': heading.notice, 'without_scripts': escape(without_scripts), 'content': content,
        'css': style, 'js': '\n'.join(map(page_part, (*_SCRIPTS, *scripts))),
        'data': embedded(data)})


def notice(html: str) -> str:
    """Return what the reader has to know first, for the top of a page."""
    return f'<p class="notice">{html}</p>'


def page_part(name: str) -> str:
    """Return a file of the page: a template, a style or a script."""
    return (_PARTS / name).read_text(encoding='utf-8').rstrip('\n')


def result_style() -> str:
    """Return the CSS of a page about something that was identified."""
    return page_part('report.css') + '\n' + page_part('identification.css')


def embedded(data: Any) -> str:
    """Return plain data as JSON that may stand in a script element."""
    # It ends, or does not, by what follows a '<', wherever that stands.
    return json.dumps(data, separators=(',', ':'), allow_nan=False).replace('<', '\\u003c')


def filled(template: str, values: Mapping[str, str]) -> str:
    """Replace every ``{{name}}`` once; what is filled in is not looked at again."""
    return re.sub(r'\{\{(\w+)\}\}', lambda match: values[match[1]], template)
