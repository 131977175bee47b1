# SPDX-License-Identifier: Apache-2.0
"""Write CHANGELOG.rst for bloom from CHANGELOG.md: `python .ci/changelog_rst.py` before a release.

Versions are headings such as `## 0.1.0 (2026-12-01)`; one without a date becomes Forthcoming.
Tables stay in CHANGELOG.md.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def items(text: str) -> list[str]:
    """Entries of a version, a line each, with their section in front."""
    found, section = [], ''
    for block in re.split(r'\n(?=- |### |\n)', text):
        if block.startswith('### '):
            section = block[4:].strip()
        elif block.startswith('- '):
            entry = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', ' '.join(block[2:].split()))
            entry = entry.replace('\\', '\\\\').replace('*', r'\*').replace('`', '``')
            found.append(f'* {section}: {entry}')
    return found


def changelog(markdown: str) -> str:
    """The changelog as reStructuredText, in the form that bloom reads."""
    title = 'Changelog for package robot_dynamics'
    lines = ['^' * len(title), title, '^' * len(title), '']
    for heading, text in re.findall(r'^## (.+)\n((?:(?!^## ).*\n)*)', markdown, re.M):
        version = heading if re.fullmatch(r'[\d.]+ \(\d{4}-\d\d-\d\d\)', heading) \
            else 'Forthcoming'
        lines += [version, '-' * len(version), *items(text), '']
    return '\n'.join(lines)


if __name__ == '__main__':
    (ROOT / 'CHANGELOG.rst').write_text(changelog((ROOT / 'CHANGELOG.md').read_text()))
