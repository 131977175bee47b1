# SPDX-License-Identifier: Apache-2.0
"""Lists and tables of a page about an identification, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from robot_dynamics.errors import Finding, Severity

_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def items(texts: Iterable[str]) -> str:
    """Return a list of texts that are HTML already."""
    return '<ul>' + ''.join(f'<li>{text}</li>' for text in texts) + '</ul>'


def finding_items(findings: Iterable[Finding]) -> str:
    """Return what a user should know, the worst first."""
    told = sorted(findings, key=lambda one: _RANKS[one.severity])
    if not told:
        return '<p class="note">Nothing unusual.</p>'
    return items(f'<b>{one.severity.value}</b> {escape(str(one))}' for one in told)


def table(heads: Sequence[str], rows: Sequence[str], kind: str = '') -> str:
    """Return a table of rows that are HTML already."""
    head = ''.join(f'<th>{escape(text)}</th>' for text in heads)
    return (f'<table class="{kind}"><thead><tr>{head}</tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table>')
