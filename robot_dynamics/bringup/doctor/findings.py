# SPDX-License-Identifier: Apache-2.0
"""The report of the doctor: results of checks, and their text for terminals, pipes and JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial, wraps
from typing import ParamSpec

from robot_dynamics.errors import Finding, RobotDynamicsError, Severity, printable

#: Longest subject, message or remedy, in characters.
LONGEST_TEXT = 500

_INDENT = 11
#: Longest line, even on a wider terminal.
_WIDEST = 110

_P = ParamSpec('_P')


class Level(IntEnum):
    """Severity: with a warning the system works under some conditions, with an error not."""

    OK = 0
    NOTE = 1
    WARNING = 2
    ERROR = 3


_WORDS = {Level.OK: 'ok', Level.NOTE: 'note', Level.WARNING: 'warning', Level.ERROR: 'ERROR'}
_COLOURS = {Level.OK: '32', Level.NOTE: '36', Level.WARNING: '33', Level.ERROR: '1;31'}


@dataclass(frozen=True)
class CheckResult:
    """One result of a check.

    Parameters
    ----------
    level : Level
        Severity.
    subject : str
        The link, joint, topic, node or variable.
    message : str
        The finding, without a trailing full stop.
    remedy : str
        Recommended action; empty if none is needed.

    Examples
    --------
    >>> from robot_dynamics.bringup import check_robot
    >>> print(check_robot('planar_2r').results[1])
    masses: 6.5 kg move within a reach of 0.8 m
    """

    level: Level
    subject: str
    message: str
    remedy: str = ''

    def __post_init__(self) -> None:
        # Texts come from files and the network, so control characters are removed.
        for name in ('subject', 'message', 'remedy'):
            object.__setattr__(self, name, printable(getattr(self, name), LONGEST_TEXT))

    def __str__(self) -> str:
        text = f'{self.subject}: {self.message}'
        return f'{text}; {self.remedy}' if self.remedy else text


@dataclass(frozen=True)
class Section:
    """Results that belong together."""

    title: str
    results: tuple[CheckResult, ...]


@dataclass(frozen=True)
class HealthReport:
    """All results about a subject, in printing order.

    Parameters
    ----------
    subject : str
        The robot or system, in one line.
    sections : tuple of Section
        Results that belong together.
    table : tuple of str
        Lines that describe the robot, printed before the results.

    Examples
    --------
    >>> from robot_dynamics.bringup import check_robot
    >>> report = check_robot('planar_2r')
    >>> len(report.results), report.exit_status
    (6, 0)
    """

    subject: str
    sections: tuple[Section, ...]
    table: tuple[str, ...] = ()

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """Every result."""
        return tuple(result for section in self.sections for result in section.results)

    def count(self, level: Level) -> int:
        """Count the results of a level."""
        return sum(result.level is level for result in self.results)

    @property
    def exit_status(self) -> int:
        """1 if there is an error, else 0."""
        return int(self.count(Level.ERROR) > 0)


#: Format of results by level: subject and message, and the remedy if there is one.
ok = partial(CheckResult, Level.OK)
note = partial(CheckResult, Level.NOTE)
warning = partial(CheckResult, Level.WARNING)
error = partial(CheckResult, Level.ERROR)


def collected(check: Callable[_P, Iterator[CheckResult]]) -> Callable[_P, list[CheckResult]]:
    """List of the results that a check yields, as a decorator."""
    @wraps(check)
    def results(*args: _P.args, **kwargs: _P.kwargs) -> list[CheckResult]:
        return list(check(*args, **kwargs))

    return results


def from_error(failure: RobotDynamicsError, subject: str) -> CheckResult:
    """Result for an exception of this package."""
    return error(failure.subject or subject, failure.message, failure.remedy or '')


def from_model_finding(finding: Finding) -> CheckResult:
    """Result for a finding of the reader of robot descriptions."""
    level = Level.WARNING if finding.severity is Severity.WARNING else Level.NOTE
    return CheckResult(level, finding.subject, finding.message, finding.remedy)


def merged(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Results in which equal messages about several subjects are merged into the first."""
    subjects: dict[tuple[Level, str, str], list[str]] = {}
    for result in results:
        subjects.setdefault((result.level, result.message, result.remedy), []).append(
            result.subject)
    return [CheckResult(level, listed(names), message, remedy)
            for (level, message, remedy), names in subjects.items()]


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names in a line; if there are many, the first ones and the number of the others."""
    names = list(dict.fromkeys(names))
    if len(names) <= most:
        return ', '.join(names)
    return f'{", ".join(names[:most - 1])} and {len(names) - most + 1} more'


def as_text(report: HealthReport, width: int, *, colours: bool = False) -> str:
    """Text of a report for a terminal of some columns."""
    width = max(40, min(width, _WIDEST))
    lines = [_wrapped(report.subject, width), *report.table]
    for section in report.sections:
        if section.results:
            lines += ['', _coloured(section.title, '1', colours)]
        subject = None
        for result in section.results:
            lines += _result_lines(result, subject, width, colours)
            subject = result.subject
    return '\n'.join([*lines, '', summary(report)])


def as_lines(report: HealthReport) -> str:
    """Text of a report for a pipe: a line for each section, and one for each of its results."""
    lines = [report.subject, *report.table]
    for section in report.sections:
        if section.results:
            lines += [f'[{section.title}]', *(
                f'{_WORDS[result.level].lower()}: {result}' for result in section.results)]
    return '\n'.join([*lines, summary(report)])


def as_json(report: HealthReport) -> str:
    """JSON of a report."""
    return json.dumps({
        'subject': report.subject,
        'errors': report.count(Level.ERROR), 'warnings': report.count(Level.WARNING),
        'sections': [{'title': section.title, 'remarks': [
            {'level': _WORDS[result.level].lower(), 'subject': result.subject,
             'message': result.message, 'remedy': result.remedy}
            for result in section.results]} for section in report.sections]}, indent=2)


def summary(report: HealthReport) -> str:
    """Last line of a report: the number of errors and warnings."""
    counts = [f'{count} {word}{"s" if count > 1 else ""}'
              for level, word in ((Level.ERROR, 'error'), (Level.WARNING, 'warning'))
              if (count := report.count(level))]
    return ', '.join(counts) or 'nothing wrong'


def _result_lines(result: CheckResult, before: str | None, width: int, colours: bool) -> list[str]:
    """Lines of a result: level and message, then the remedy; repeated subjects are omitted."""
    word = _WORDS[result.level]
    margin = ' ' * _INDENT
    text = result.message if result.subject == before else f'{result.subject}: {result.message}'
    first, *rest = textwrap.wrap(text, width - _INDENT, break_long_words=False,
                                 break_on_hyphens=False) or ['']
    lines = [f'  {_coloured(word, _COLOURS[result.level], colours)}'
             f'{" " * (_INDENT - 2 - len(word))}{first}', *(margin + line for line in rest)]
    if result.remedy:
        lines.append(_wrapped(result.remedy, width, f'{margin}-> ', f'{margin}   '))
    return lines


def _wrapped(text: str, width: int, first: str = '', rest: str = '') -> str:
    return textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest,
                         break_long_words=False, break_on_hyphens=False)


def _coloured(text: str, colour: str, colours: bool) -> str:
    return f'\033[{colour}m{text}\033[0m' if colours else text
