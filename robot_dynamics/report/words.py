# SPDX-License-Identifier: Apache-2.0
"""Common texts of all reports: numbers, verdicts, and tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from robot_dynamics.errors import Finding, Severity

if TYPE_CHECKING:
    from robot_dynamics.identification.dataset.dataset import Dataset
    from robot_dynamics.identification.result import Residuals
    from robot_dynamics.identification.signals import SignalSettings

#: Texts of the verdicts on an identification.
VERDICT_WORDS = {'good': 'Good', 'fair': 'Usable with care', 'poor': 'Not to be used'}

_LONGEST = 160


def figures(value: float, digits: int = 3) -> str:
    """A positive number with this many significant figures, without exponent."""
    if not 0.0 < value < math.inf:
        return f'{value:.0f}'
    # The exponent is that of the rounded number, because 0.999 with two figures is 1.0.
    decimals = digits - 1 - int(f'{value:.{digits - 1}e}'.partition('e')[2])
    return f'{value:.{min(max(decimals, 0), digits + 1)}f}'


def percent(share: float) -> str:
    """A share in percent with two or three significant figures."""
    value = 100.0 * share
    digits = '.0f' if value >= 100.0 else '.1f' if value >= 1.0 else '.2g'
    return f'{value:{digits}}\N{NO-BREAK SPACE}%'


def short(text: str) -> str:
    """A text, shortened to a line or two."""
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST - 3]}...'


def worst_joint(count: int, name: str, share: float) -> str:
    """The joint with the largest error, and that error; empty for a single joint."""
    if count < 2:
        return ''
    return f'; worst of all {name}' + (f' with {percent(share)}' if math.isfinite(share) else '')


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]], indent: str = '  ') -> list[str]:
    """Lines of a table for a terminal: the first column to the left, all others to the right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return ['   '.join([f'{indent}{row[0]:<{widths[0]}}', *(
        f'{cell:>{width}}' for cell, width in zip(row[1:], widths[1:], strict=True))])
        for row in (heads, *rows)]


def prediction_sentence(verdict: str, what: str, names: Sequence[str], held: Residuals,
                        own: Residuals) -> str:
    """The verdict on an identified model in one sentence."""
    return (f'{VERDICT_WORDS[verdict]}: the model predicts {what} with '
            f'{percent(held.total)} error in held-out and {percent(own.total)} in fitted data'
            + worst_joint(len(names), names[held.worst], held.relative[held.worst]) + '.')


def prediction_lines(head: str, rows: Sequence[tuple[str, str]], held: Residuals, own: Residuals
                     ) -> list[str]:
    """Errors of predictions for rows of name and unit, for a terminal."""
    return columns((head, 'RMS, held out', 'held out', 'fitted'),
                   [(name, f'{held.rmse[k]:.3g} {unit}', percent(held.relative[k]),
                     percent(own.relative[k])) for k, (name, unit) in enumerate(rows)])


def warnings(findings: Iterable[Finding]) -> list[str]:
    """Lines about findings for a terminal, without notes."""
    return [f'{finding.severity.value}: {finding}' for finding in findings
            if finding.severity is not Severity.INFO]


def signal_facts(dataset: Dataset, signals: SignalSettings, estimator: str
                 ) -> list[tuple[str, str]]:
    """Rows on a recording and its filters, for every page about an estimation."""
    return [
        ('recording', dataset.source),
        ('rows', f'{dataset.count:,}, one every {1e3 * dataset.period:.4g} ms'),
        ('left out or repaired', '; '.join(f'{count} {reason}' for reason, count
                                           in dataset.counts.items()) or 'nothing'),
        ('signals', f'cut-off {signals.cutoff:.3g} Hz, order {signals.order}, '
                    f'{signals.derivative} differences, velocity from {signals.velocity}, '
                    f'efforts {1e3 * signals.lag:+.2f} ms late'),
        ('estimator', estimator),
    ]
