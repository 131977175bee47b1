# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics.closed_form.quantities import derive
from robot_dynamics.closed_form.writers import document

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_of_the_page_runs(tmp_path):
    (example,) = re.findall(r'```python\n(.*?)```', (ROOT / 'docs/closed_form.md').read_text(),
                            re.S)
    done = subprocess.run([sys.executable, '-c', example], cwd=tmp_path, check=True, text=True,
                          capture_output=True, env={'PYTHONPATH': str(ROOT)})
    assert 'M[1, 1] = n1z' in done.stdout.splitlines()


@pytest.mark.parametrize('language', ['text', 'latex'])
@pytest.mark.parametrize('is_explicit', [True, False])
def test_entries_that_are_not_listed_are_told_of(language, is_explicit):
    if is_explicit:
        pytest.importorskip('sympy')
    notes = {}
    for gravity in ([0, -9.81, 0], [0, 0, -9.81]):
        table = {'convention': 'standard', 'gravity': gravity,
                 'links': [{'a': 'a1', 'alpha': 0, 'd': 0}, {'a': 'a2', 'alpha': 0, 'd': 0}]}
        notes[gravity[1]] = [document(derive(table, what), language, is_explicit=is_explicit)
                             for what in ('g', 'regressor')]
    falling, level = notes[-9.81], notes[0]
    assert 'zero' not in falling[0]
    assert 'all entries are zero' in level[0]
    assert all('entries that are not listed are zero' in text for text in (falling[1], level[1]))
