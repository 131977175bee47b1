# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for packages of ROS 2 that launch files start and that are not installed here."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

from robot_dynamics.bringup.hardware import load_hardware

REGISTER = Path('share', 'ament_index', 'resource_index', 'packages')

#: Records the started processes, and does what the rest of the script says.
EXECUTABLE = """#!{python}
import json, os, sys, time
with open({journal!r}, 'a') as journal:
    journal.write(json.dumps([{name!r}, *sys.argv[1:]]) + '\\n')
{body}
"""


class Workspace:
    """An ament prefix of executables that only note how they were started."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.journal = folder / 'journal'
        (folder / REGISTER).mkdir(parents=True)
        self.journal.touch()
        (folder / 'bin').mkdir()

    def package(self, name: str, *executables: str, body: str = '') -> Path:
        """Add a package; return its share folder."""
        (self.folder / REGISTER / name).touch()
        share = self.folder / 'share' / name
        share.mkdir()
        for executable in executables:
            self.executable(self.folder / 'lib' / name / executable, executable, body)
        return share

    def executable(self, path: Path, name: str, body: str = '') -> None:
        """Write an executable."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(EXECUTABLE.format(python=sys.executable, journal=str(self.journal),
                                          name=name, body=textwrap.dedent(body)))
        path.chmod(0o755)

    def environment(self) -> dict[str, str]:
        """Return the variables that make it the one in use."""
        def first(path: Path, variable: str) -> str:
            return os.pathsep.join(filter(None, (str(path), os.environ.get(variable))))

        return {'AMENT_PREFIX_PATH': first(self.folder, 'AMENT_PREFIX_PATH'),
                'PATH': first(self.folder / 'bin', 'PATH')}


#: A process that stays until it is stopped.
STAYS = """
import signal
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    time.sleep(0.05)
"""


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    """An empty one."""
    return Workspace(tmp_path / 'workspace')


#: Gazebo's own launch file, with an arm that needs none of the commands of others.
GZ_SIM = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, Shutdown
from launch.substitutions import LaunchConfiguration

def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument('gz_args'), DeclareLaunchArgument('on_exit_shutdown'),
        ExecuteProcess(cmd=[{gz!r}, LaunchConfiguration('gz_args'),
                            LaunchConfiguration('on_exit_shutdown')]),
        ExecuteProcess(cmd=[{python!r}, '-m', 'robot_dynamics.nodes.simulated_arm', '--ros-args',
                            *{arguments!r}], output='screen')])
"""


@pytest.fixture
def gazebo(workspace) -> Workspace:
    """Everything that gazebo.launch.py needs, with the simulated arm as its arm."""
    share = workspace.package('ros_gz_sim', 'create', body='time.sleep(0.2)')
    gz = workspace.folder / 'bin' / 'gz'
    workspace.executable(gz, 'gz', STAYS)
    (share / 'launch').mkdir()
    (share / 'launch' / 'gz_sim.launch.py').write_text(GZ_SIM.format(
        gz=str(gz), python=sys.executable, arguments=[
            '-r', '__ns:=/left', '-p', 'robot:=arm7', '-p', 'use_sim_time:=true', '-p',
            'rate:=200']))
    workspace.package('ros_gz_bridge', 'parameter_bridge', body=STAYS)
    workspace.package('robot_state_publisher', 'robot_state_publisher', body=STAYS)
    workspace.package('controller_manager', 'spawner', body='time.sleep(0.2)')
    workspace.executable(workspace.folder / 'bin' / 'ros2', 'ros2', 'time.sleep(0.2)')
    for name in ('joint_state_broadcaster', 'forward_command_controller', 'ros2controlcli',
                 'gz_ros2_control'):
        workspace.package(name)
    return workspace


@pytest.fixture
def patient(tmp_path):
    """What Gazebo's hardware is like on a machine with more to do than this test."""
    parameters = load_hardware('gazebo')
    parameters['adaptive_controller'].update(state_timeout=1.0, max_age=2.0, resume_after=20)
    path = tmp_path / 'patient.yaml'
    path.write_text(yaml.safe_dump({node: {'ros__parameters': values}
                                    for node, values in parameters.items()}))
    return str(path)
