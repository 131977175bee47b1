# SPDX-License-Identifier: Apache-2.0
"""What benchmarks have measured, in documents, between markers."""

from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / 'docs'


def write_section(document: Path, section: str, text: str) -> None:
    """Put the text where the document has the markers of the section."""
    begin, end = f'<!-- {section}: begin -->', f'<!-- {section}: end -->'
    head, _, rest = document.read_text(encoding='utf-8').partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f'{document} has no lines {begin} and {end}')
    document.write_text(f'{head}{begin}\n{text}\n{end}{tail}', encoding='utf-8')
