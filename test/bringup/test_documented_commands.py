# SPDX-License-Identifier: Apache-2.0
"""Every command of README, getting started and tutorial runs, in their order.

Commands are the lines of indented blocks. They run as they stand in a folder with the files that
their readers have. Commands of other programs need a ROS 2 machine: of these, the launch files and
their arguments are checked.
"""

import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import types
from importlib.util import find_spec
from pathlib import Path

import pytest

from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.bringup.ros_environment import private_domain

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ('README.md', 'docs/getting_started.md', 'docs/tutorial.md')
ROBOTS = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data')

#: First words of commands that run here.
OURS = ('robot-dynamics', '.venv/bin/robot-dynamics', './demo', 'cp')
#: First words of commands that do not run here, and the reason.
ELSEWHERE = {
    'ros2': 'needs a ROS 2 machine', 'rosdep': 'needs a ROS 2 machine',
    'colcon': 'test/test_colcon.py', 'pip': 'changes the environment of the tests',
    'python': 'changes the environment of the tests', 'sudo': 'changes the machine',
    'PIP_BREAK_SYSTEM_PACKAGES=1': 'needs a ROS 2 machine', 'export': 'needs a ROS 2 machine',
    'source': 'needs a ROS 2 machine', './test.sh': 'would run the tests once more'}
#: Lines of blocks that show output.
OUTPUT = ('joint states', 'ok ', 'ERROR ', '-> ')
#: Seconds within which a command that begins is ready, and within which others end.
READY, END = 200.0, 900.0


def commands(document):
    """Yield the commands of a document, without comments, with continued lines joined."""
    text = re.sub(r'```.*?```', '', (ROOT / document).read_text(), flags=re.DOTALL)
    for line in re.sub(r'\\\n\s+', '', text).splitlines():
        if line.startswith('    ') and not line.strip().startswith(OUTPUT):
            for command in re.sub(r'\s+#.*', '', line).split(' && '):
                yield command.strip()


def files(document):
    """Return the files that a document asks its readers to save, by name."""
    return dict(re.findall(r'[Ss]ave as `([\w.]+)`:\n\n```yaml\n(.*?)```',
                           (ROOT / document).read_text(), re.DOTALL))


class Reader:
    """A folder, and the processes that were started there."""

    def __init__(self, folder):
        self.folder, self.running = folder, None
        self.environment = child_environment(
            {**os.environ, 'ROS_DOMAIN_ID': str(private_domain()),
             'PATH': os.pathsep.join([str(folder / 'bin'), os.environ['PATH']])})

    def run(self, command):
        """Run a command to its end; one that runs until Ctrl-C goes on until the next of these."""
        words = shlex.split(command)
        if words[1:2] == ['up'] or words[0] == './demo':
            self.stop()  # a second system would disturb the first
        if words[1:2] == ['up'] and not {'--seconds', '--excitation'} & set(words):
            with (self.folder / 'up.log').open('w') as log:
                self.running = subprocess.Popen(words, cwd=self.folder, env=self.environment,
                                                stdout=log, stderr=subprocess.STDOUT)
            self.wait_until_tracking()
            return
        done = subprocess.run(['bash', '-c', command], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=END, check=False)
        # The doctor of a busy machine reports that machine.
        permitted = (0, 1) if words[1:] == ['doctor'] else (0,)
        assert done.returncode in permitted, f'{command}\n{done.stdout}\n{done.stderr}'

    def wait_until_tracking(self):
        log, end = self.folder / 'up.log', time.monotonic() + READY
        while 'tracking' not in log.read_text():
            assert self.running.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.2)

    def stop(self):
        """End what runs, as Ctrl-C does."""
        if self.running is not None:
            self.running.send_signal(signal.SIGINT)
            assert self.running.wait(60.0) == 0, (self.folder / 'up.log').read_text()
            self.running = None


@pytest.fixture
def reader(tmp_path):
    """A reader with the commands of this package, and an arm as their own."""
    (tmp_path / 'bin').mkdir()
    for name, arguments in (('bin/python', ''), ('demo', '-m robot_dynamics.bringup.cli demo'),
                            ('bin/robot-dynamics', '-m robot_dynamics.bringup.cli')):
        script = tmp_path / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        script.chmod(0o755)
    (tmp_path / '.venv').mkdir()
    (tmp_path / '.venv' / 'bin').symlink_to(tmp_path / 'bin')
    for name in ('arm.urdf', 'your_arm.urdf'):
        (tmp_path / 'path' / 'to').mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / 'urdf' / 'arm7.urdf', tmp_path / 'path' / 'to' / name)
    found = Reader(tmp_path)
    yield found
    if found.running is not None:
        found.running.send_signal(signal.SIGINT)
        found.running.wait(60.0)


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize('document', DOCUMENTS)
def test_commands_run(document, reader):
    for package in ('rclpy', 'mujoco', 'rosbags', 'matplotlib'):
        if find_spec(package) is None:
            pytest.skip(f'{package} is not installed')
    if document.endswith('tutorial.md') and not ROBOTS.exists():
        pytest.skip('example-robot-data is not installed')
    for name, content in files(document).items():
        (reader.folder / name).write_text(content)
    for command in commands(document):
        if command.split()[0] in OURS:
            reader.run(command)
    reader.stop()


@pytest.mark.parametrize('document', DOCUMENTS)
def test_every_command_is_known(document):
    found = [command.split()[0] for command in commands(document)]
    assert set(found) <= {*OURS, *ELSEWHERE}
    assert len(set(found) & set(OURS)) >= 2


def declared_arguments(launch_file, monkeypatch):
    """Return the names of the arguments of a launch file, without the package launch."""
    names = []

    class Argument:
        def __init__(self, name, **_):
            names.append(name)

    parts = {'launch': {'LaunchDescription': list},
             'launch.actions': {'DeclareLaunchArgument': Argument,
                                'OpaqueFunction': lambda function: function},
             'launch.substitutions': {'LaunchConfiguration': str}}
    for name, content in parts.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    runpy.run_path(str(launch_file))['generate_launch_description']()
    return names


@pytest.mark.parametrize('document', DOCUMENTS)
def test_launch_files_have_the_arguments_of_the_documents(document, monkeypatch):
    lines = [shlex.split(command) for command in commands(document)
             if command.startswith('ros2 launch robot_dynamics ')]
    assert lines
    for _, _, _, name, *arguments in lines:
        declared = declared_arguments(ROOT / 'launch' / name, monkeypatch)
        assert {argument.split(':=')[0] for argument in arguments} <= set(declared), name
