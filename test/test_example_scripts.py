# SPDX-License-Identifier: Apache-2.0
"""The scripts in examples/ run, print what they are about, and are listed in the README."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / 'examples').glob('*.py'))

#: What a script needs beside the library.
NEEDS = {'adaptive_tracking.py': 'mujoco', 'feedforward_lq.py': 'mujoco',
         'identify_fleet.py': 'distributed', 'identify_from_bag.py': 'rosbags',
         'read_recording.py': 'rosbags'}
#: Arguments that make a script short enough for a test.
ARGUMENTS = {'adaptive_tracking.py': ['4']}
#: A piece of the output that shows the result.
OUTPUT = {
    'adaptive_tracking.py': 'PD + gravity  adaptive',
    'closed_form.py': 'Christoffel matrix',
    'design_excitation.py': '6 base parameters',
    'dh_table.py': 'the same from the URDF: [24.4905  4.8072] N m',
    'elastic_joints.py': 'largest error of a link',
    'feedforward_lq.py': 'as modelled 0.9',
    'floating_base.py': '13 velocities, 14 positions',
    'identify_fleet.py': 'arm1: 7.0',
    'identify_from_bag.py': 'verdict: good',
    'identify_from_csv.py': 'verdict: good',
    'linearise.py': 'dM/dt = sum dM/dq_h v_h: True',
    'payload.py': 'estimated payload: 1.500 kg',
    'read_recording.py': '20 messages, joints elbow, shoulder, wrist',
    'urdf_regressor.py': '6 base parameters of 20',
    'write_identified_urdf.py': 'identified.urdf: ',
}


@pytest.mark.slow
@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.name)
def test_script_runs(script):
    if script.name in NEEDS and find_spec(NEEDS[script.name]) is None:
        pytest.skip(f'{NEEDS[script.name]} is not installed')
    completed = subprocess.run(
        [sys.executable, script, *ARGUMENTS.get(script.name, [])], cwd=ROOT, text=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT)}, capture_output=True, check=False)
    assert completed.returncode == 0, completed.stderr
    assert OUTPUT[script.name] in completed.stdout
    if script.name == 'adaptive_tracking.py':
        _, fixed, adaptive = map(float, completed.stdout.splitlines()[-1].split())
        assert adaptive < 0.1 * fixed


@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.name)
def test_script_is_short_and_listed(script):
    lines = script.read_text().splitlines()
    assert 25 <= len(lines) <= 130
    assert f'(examples/{script.name})' in (ROOT / 'README.md').read_text()
