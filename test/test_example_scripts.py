# SPDX-License-Identifier: Apache-2.0
"""The scripts in examples/ run, print what their docstrings state, and are in the documents."""

import doctest
import os
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
make_examples = runpy.run_path(str(ROOT / 'docs' / 'make_examples.py'))
SCRIPTS = make_examples['SCRIPTS']

#: What a script needs beside the library.
NEEDS = {'adaptive_tracking.py': 'mujoco', 'elastic_joints.py': 'mujoco',
         'feedforward_lq.py': 'mujoco', 'identify_fleet.py': 'distributed',
         'identify_from_bag.py': 'rosbags', 'impedance.py': 'mujoco'}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def stated_output(script):
    """Return the output in the docstring of a script: its last indented block."""
    return make_examples['docstring'](script).split('\n\n    ')[-1] + '\n'


@pytest.mark.slow
@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.name)
def test_script_prints_what_its_docstring_states(script):
    if script.name in NEEDS and find_spec(NEEDS[script.name]) is None:
        pytest.skip(f'{NEEDS[script.name]} is not installed')
    completed = subprocess.run(
        [sys.executable, script], cwd=ROOT, text=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT)}, capture_output=True, check=False)
    assert completed.returncode == 0, completed.stderr
    stated = stated_output(script)
    example = doctest.Example('', stated)
    checker = doctest.OutputChecker()
    assert checker.check_output(stated, completed.stdout, FLAGS), \
        checker.output_difference(example, completed.stdout, FLAGS)
    if script.name == 'adaptive_tracking.py':
        _, fixed, adaptive = map(float, completed.stdout.splitlines()[-1].split())
        assert adaptive < 0.1 * fixed


@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.name)
def test_script_is_short_and_listed(script):
    assert 25 <= len(script.read_text().splitlines()) <= 110
    assert f'(../examples/{script.name})' in make_examples['PAGE'].read_text()


def test_the_page_has_every_docstring_and_picture():
    assert make_examples['PAGE'].read_text() == make_examples['page']()
    pictures = {path.stem for path in make_examples['PICTURES'].iterdir()}
    assert pictures == {script.stem for script in make_examples['DRAWN']}
    assert len(pictures) >= 15
    assert all(path.stat().st_size < 60_000 for path in make_examples['PICTURES'].iterdir())
