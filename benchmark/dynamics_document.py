# SPDX-License-Identifier: Apache-2.0
"""Measured figures in docs/performance.md, between markers."""

from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent / 'docs' / 'performance.md'


def write(section: str, text: str) -> None:
    """Put the text where the document has the markers of the section."""
    begin, end = f'<!-- {section}: begin -->', f'<!-- {section}: end -->'
    head, _, rest = DOCUMENT.read_text(encoding='utf-8').partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f'{DOCUMENT} has no lines {begin} and {end}')
    DOCUMENT.write_text(f'{head}{begin}\n{text}\n{end}{tail}', encoding='utf-8')
