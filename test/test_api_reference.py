# SPDX-License-Identifier: Apache-2.0
"""The API reference is built from the docstrings without a warning."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('sphinx')
pytest.importorskip('numpydoc')

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_the_reference_builds_without_warnings(tmp_path):
    # Built from a copy: Sphinx writes one page for each name beside its sources.
    shutil.copytree(ROOT / 'docs' / 'api', tmp_path / 'api',
                    ignore=shutil.ignore_patterns('_build', 'generated'))
    completed = subprocess.run(
        [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'html',
         tmp_path / 'api', tmp_path / 'html'],
        cwd=ROOT, env={**os.environ, 'PYTHONPATH': str(ROOT)}, capture_output=True, text=True,
        check=False)
    assert completed.returncode == 0, completed.stderr
    page = tmp_path / 'html' / 'generated' / 'robot_dynamics.dynamics.Dynamics.html'
    assert 'inverse_dynamics' in page.read_text()
