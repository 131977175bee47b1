# SPDX-License-Identifier: Apache-2.0
"""The notebooks in examples/ run from top to bottom, and are kept without output."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / 'examples').glob('*.ipynb'))
ROBOTS = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data')


def code(notebook):
    """Return the sources of the code cells."""
    return [''.join(cell['source']) for cell in json.loads(notebook.read_text())['cells']
            if cell['cell_type'] == 'code']


def run(notebook):
    """Run all cells in one process; return what they print."""
    for package in ('matplotlib', 'mujoco'):
        if find_spec(package) is None:
            pytest.skip(f'{package} is not installed')
    completed = subprocess.run(
        [sys.executable, '-c', '\n\n'.join(code(notebook))], cwd=ROOT, text=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'MPLBACKEND': 'Agg'}, capture_output=True,
        check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def numbers(output, name):
    """Return the numbers in brackets behind a name."""
    return [float(word) for word in re.search(rf'{name} *\[([^\]]*)\]', output)[1].split()]


@pytest.mark.parametrize('notebook', NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_have_no_output(notebook):
    for cell in json.loads(notebook.read_text())['cells']:
        assert not cell.get('outputs') and cell.get('execution_count') is None


@pytest.mark.slow
@pytest.mark.skipif(not ROBOTS.exists(), reason='example-robot-data is not installed')
def test_the_ur5_is_identified():
    output = run(ROOT / 'examples' / 'identification_ur5.ipynb')
    assert 'verdict: good' in output
    described, identified = numbers(output, 'described'), numbers(output, 'identified')
    assert max(identified) < 0.2 * max(described)


@pytest.mark.slow
def test_the_adaptive_law_learns_the_payload():
    output = run(ROOT / 'examples' / 'adaptive_control.ipynb')
    assert numbers(output, 'adaptive')[-1] < 0.1 * numbers(output, r'PD \+ gravity')[-1]
    model, learnt, true = (numbers(output, f'gravity torque, {name}')
                           for name in ('model', 'learnt', 'true'))
    assert abs(learnt[1] - true[1]) < 0.1 * abs(model[1] - true[1])
