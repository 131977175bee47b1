# SPDX-License-Identifier: Apache-2.0
"""An examination as text for people, as lines for pipes and as JSON for machines."""

from __future__ import annotations

import json
import textwrap

from robot_dynamics.bringup.doctor.findings import Examination, Level, Remark

_WORDS = {Level.OK: 'ok', Level.NOTE: 'note', Level.WARNING: 'warning', Level.ERROR: 'ERROR'}
_COLOURS = {Level.OK: '32', Level.NOTE: '36', Level.WARNING: '33', Level.ERROR: '1;31'}
_INDENT = 11
#: Lines longer than this are hard to read, however wide the terminal.
_WIDEST = 110


def as_text(examination: Examination, width: int, *, colours: bool = False) -> str:
    """Return an examination laid out for a terminal.

    Parameters
    ----------
    examination : Examination
        What to show.
    width : int
        Columns of the terminal.
    colours : bool
        Whether to colour the levels.
    """
    width = max(40, min(width, _WIDEST))
    lines = [_wrapped(examination.subject, width), *examination.table]
    for section in examination.sections:
        if section.remarks:
            lines += ['', _painted(section.title, '1', colours)]
        subject = None
        for remark in section.remarks:
            lines += _laid_out(remark, subject, width, colours)
            subject = remark.subject
    return '\n'.join([*lines, '', summary(examination)])


def as_lines(examination: Examination) -> str:
    """Return an examination with one line for each remark."""
    return '\n'.join([examination.subject, *examination.table, *(
        f'{_WORDS[remark.level].lower()}: {remark}' for remark in examination.remarks),
        summary(examination)])


def as_json(examination: Examination) -> str:
    """Return an examination as JSON."""
    return json.dumps({
        'subject': examination.subject,
        'errors': examination.count(Level.ERROR), 'warnings': examination.count(Level.WARNING),
        'sections': [{'title': section.title, 'remarks': [
            {'level': _WORDS[remark.level].lower(), 'subject': remark.subject,
             'message': remark.message, 'remedy': remark.remedy}
            for remark in section.remarks]} for section in examination.sections]}, indent=2)


def summary(examination: Examination) -> str:
    """Return the last line: how many of what."""
    errors, warnings = examination.count(Level.ERROR), examination.count(Level.WARNING)
    if not errors and not warnings:
        return 'nothing wrong'
    counts = [f'{count} {word}{"s" if count > 1 else ""}'
              for count, word in ((errors, 'error'), (warnings, 'warning')) if count]
    return ', '.join(counts)


def _laid_out(remark: Remark, before: str | None, width: int, colours: bool) -> list[str]:
    """Return the lines of a remark: level, message, the remedy below; a subject is told once."""
    word = _WORDS[remark.level]
    margin = ' ' * _INDENT
    text = remark.message if remark.subject == before else f'{remark.subject}: {remark.message}'
    first, *rest = textwrap.wrap(text, width - _INDENT, break_long_words=False,
                                 break_on_hyphens=False) or ['']
    painted = _painted(word, _COLOURS[remark.level], colours)
    lines = [f'  {painted}{" " * (_INDENT - 2 - len(word))}{first}',
             *(margin + line for line in rest)]
    if remark.remedy:
        lines.append(textwrap.fill(remark.remedy, width, initial_indent=f'{margin}-> ',
                                   subsequent_indent=f'{margin}   ', break_long_words=False,
                                   break_on_hyphens=False))
    return lines


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _painted(text: str, colour: str, colours: bool) -> str:
    return f'\033[{colour}m{text}\033[0m' if colours else text
