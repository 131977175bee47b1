# SPDX-License-Identifier: Apache-2.0
"""Where optional packages are missing, their tests skip and everything else is collected."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

#: Packages that package.xml does not bring, and those that only some features need.
MISSING = ('hypothesis', 'lz4', 'matplotlib', 'mujoco', 'pinocchio', 'rosbags', 'sympy',
           'urdf_parser_py', 'xacro')

COLLECT = """
import importlib.abc, sys

class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition('.')[0] in {missing!r}:
            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)

sys.meta_path.insert(0, Block())
import pytest
sys.exit(pytest.main(['--collect-only', '-q']))
"""


@pytest.mark.slow
def test_tests_of_missing_packages_skip():
    # Without the entry points of pytest's plugins, which load hypothesis.
    environment = {**os.environ, 'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1', 'CI': ''}
    done = subprocess.run([sys.executable, '-c', COLLECT.format(missing=MISSING)],
                          cwd=REPOSITORY, env=environment, capture_output=True, text=True,
                          timeout=280)
    assert done.returncode == 0, done.stdout[-5000:]
    assert ' error' not in done.stdout.splitlines()[-1]
    assert 'needs the package pinocchio' in done.stdout
    assert 'test_rooms.py' in done.stdout and 'test_against_pinocchio.py::' not in done.stdout


def test_a_node_without_ros_says_so_in_one_sentence(tmp_path):
    (tmp_path / 'sitecustomize.py').write_text("import sys\nsys.modules['rclpy'] = None\n")
    path = os.pathsep.join((str(tmp_path), str(REPOSITORY)))
    done = subprocess.run([sys.executable, '-m', 'robot_dynamics.nodes.reference', '--help'],
                          env={**os.environ, 'PYTHONPATH': path}, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith('rclpy is not installed for this Python; source the setup.bash')
    assert done.stderr.count('\n') == 1
