# SPDX-License-Identifier: Apache-2.0
"""Prose of the package and of the documents is plain technical English.

`PHRASES` are the ones that made readers stumble, each with what to write instead. Fixed
output of other programs, quotations and the few right uses stand in `RIGHT`.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

PHRASES = {
    r'\b(nobody|somebody|whoever|whom)\b':
        'name the node, the publisher, the caller or the user',
    r'\bwho(se)?\b': 'a program is not a person: "which", "of which", or its name',
    r'\b(is|are) no (?!longer|more\b)\w+':
        '"must be ..., got ..." in errors; "is not a", "there is not" or "without" elsewhere',
    r'\b(?-i:(is|are) none)\b': 'name what is missing, or what to use instead',
    r'\b(tells?|told|telling)\b':
        '"reports", "logs", "passes", "distinguishes", "configured with"',
    r'\b(says|said|hears?|heard|believes?|believed)\b':
        '"states", "prints", "receives", "discovers", "assumes"',
    r'"""(Return|Do|Say|Tell) (what|whether|who)\b':
        'begin with what is computed, and its unit; "Whether ..." for a bool',
    r'\b(let|lets) go of\b': '"release"',
    r'\b(made up for|makes? up for|making up for)\b': '"compensate"',
    r'\bby (its|their) names?\b': '"naming it", or leave it out',
    r'\b(of its own accord|for good measure|once and for all|has the say)\b': 'leave it out',
}

#: Right uses: the file, and the phrase as it stands there.
RIGHT: dict[str, set[str]] = {
    'robot_dynamics/identification/elastic/problem.py': {'problems whose variables separate'},
}

#: How many phrases are left in each room; only ever made smaller, at the end empty.
LEFT = {'dynamics': 11, 'nodes': 9, 'recordings': 1, 'report': 5, 'simulation': 4,
        'documents': 1}


def texts():
    """Yield a group, a name and the text of every file that is judged."""
    package = ROOT / 'robot_dynamics'
    for path in sorted(package.rglob('*.py')):
        parts = path.relative_to(package).parts
        yield (parts[0] if len(parts) > 1 else 'package'), path
    for path in sorted((ROOT / 'launch').glob('*.py')):
        yield 'launch', path
    pages = sorted((ROOT / 'docs').rglob('*.md'))
    for path in [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *pages]:
        yield 'documents', path


def phrases(path):
    """Yield line, phrase and advice for each phrase of a file that should be written otherwise."""
    name, text = str(path.relative_to(ROOT)), path.read_text(encoding='utf-8')
    for pattern, advice in PHRASES.items():
        for found in re.finditer(pattern, text, re.I):
            line = text.count('\n', 0, found.start()) + 1
            whole = text.splitlines()[line - 1]
            if not any(right in whole for right in RIGHT.get(name, ())):
                yield line, found[0], advice


FOUND = [(group, path, *phrase) for group, path in texts() for phrase in phrases(path)]
GROUPS = sorted({group for group, _ in texts()})


@pytest.mark.parametrize('group', GROUPS)
def test_prose_is_plain(group):
    found = [f'{path.relative_to(ROOT)}:{line}: "{phrase}": {advice}'
             for where, path, line, phrase, advice in FOUND if where == group]
    allowed = LEFT.get(group, 0)
    assert len(found) <= allowed, '\n'.join(
        [f'{len(found)} phrases, {allowed} allowed', *found])


def test_right_uses_still_stand():
    for name, uses in RIGHT.items():
        text = (ROOT / name).read_text()
        for use in uses:
            assert use in text, f'{name}: {use}'


def test_allowance_is_of_rooms_that_exist():
    assert set(LEFT) <= set(GROUPS)


def counts():
    """Return how many phrases each room has, to renew `LEFT`."""
    return Counter(group for group, *_ in FOUND)


if __name__ == '__main__':
    print(dict(counts()))
