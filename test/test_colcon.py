# SPDX-License-Identifier: Apache-2.0
"""``colcon build`` makes an installation that runs, far from the checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics.nodes.controllers import CONTROLLER_NODES

pytest.importorskip('colcon_core', reason='colcon comes with ./test.sh and with ROS 2')

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope='module')
def workspace(tmp_path_factory):
    """Build a copy of the package as a ROS 2 workspace does; return the workspace."""
    workspace = tmp_path_factory.mktemp('workspace')
    source = workspace / 'src' / 'robot_dynamics'
    source.mkdir(parents=True)
    for name in ('package.xml', 'setup.py', 'setup.cfg', 'pyproject.toml'):
        shutil.copy(ROOT / name, source)
    for name in ('robot_dynamics', 'resource', 'launch', 'config', 'urdf'):
        shutil.copytree(ROOT / name, source / name,
                        ignore=shutil.ignore_patterns('__pycache__', '*.egg-info'))
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    environment['PATH'] = f'{Path(sys.executable).parent}{os.pathsep}{environment["PATH"]}'
    done = subprocess.run([sys.executable, '-m', 'colcon', 'build'], cwd=workspace,
                          env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return workspace


def run_sourced(workspace, command):
    """Run a command in a shell that has sourced the workspace, outside of the checkout."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('PYTHONPATH', 'AMENT_PREFIX_PATH')}
    line = f'source {workspace}/install/setup.bash && {command}'
    return subprocess.run(['bash', '-c', line], cwd=workspace, env=environment,
                          capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_everything_is_installed(workspace):
    share = workspace / 'install' / 'robot_dynamics' / 'share'
    assert (share / 'ament_index/resource_index/packages/robot_dynamics').exists()
    for folder, pattern in (('launch', '*.launch.py'), ('config', '*'), ('urdf', '*')):
        installed = share / 'robot_dynamics' / folder
        assert {path.relative_to(installed) for path in installed.rglob('*')} == {
            path.relative_to(ROOT / folder) for path in (ROOT / folder).rglob(pattern)}


def test_executables_are_where_ros2_run_looks(workspace):
    library = workspace / 'install' / 'robot_dynamics' / 'lib' / 'robot_dynamics'
    assert {path.name for path in library.iterdir()} >= {
        *CONTROLLER_NODES, 'inverse_dynamics', 'reference', 'simulated_arm', 'recorder'}


@pytest.mark.slow
def test_the_command_is_on_the_path_and_nodes_are_not(workspace):
    done = run_sourced(workspace, 'command -v robot-dynamics && robot-dynamics robots')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(workspace / 'install' / 'robot_dynamics' / 'bin'))
    assert 'arm7                     7 joints' in done.stdout
    assert [path.name for path in (workspace / 'install/robot_dynamics/bin').iterdir()] == [
        'robot-dynamics']


@pytest.mark.slow
def test_the_installation_finds_its_own_robots(workspace):
    done = run_sourced(workspace, '$COLCON_PREFIX_PATH/robot_dynamics/lib/robot_dynamics/'
                                  'robot-dynamics robots')
    assert done.returncode == 0, done.stderr
    assert 'arm7                     7 joints' in done.stdout


def test_the_installation_is_the_one_that_runs(workspace):
    show = ('from robot_dynamics.model.shipped import resolve_robot; import robot_dynamics; '
            'print(robot_dynamics.__file__); print(resolve_robot("arm7"))')
    done = run_sourced(workspace, f"{sys.executable} -c '{show}'")
    assert done.returncode == 0, done.stderr
    assert all(line.startswith(f'{workspace}/install/') for line in done.stdout.splitlines())


@pytest.mark.slow
def test_a_node_of_the_installation_refuses_with_one_line(workspace):
    done = run_sourced(workspace, '$COLCON_PREFIX_PATH/robot_dynamics/lib/robot_dynamics/'
                                  'simulated_arm --ros-args -p robot:=no_such_robot')
    assert done.returncode == 1
    assert 'no_such_robot is neither a file nor a robot of this package' in done.stderr
