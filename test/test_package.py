# SPDX-License-Identifier: Apache-2.0
"""package.xml, setup.py and the scripts say the same."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: What each requirement of setup.py is called in package.xml; None is not there, with
#: the reason in docs/dependencies.md.
ROSDEP_KEYS = {
    'numpy': 'python3-numpy', 'scipy': 'python3-scipy', 'numba': 'python3-numba',
    'PyYAML': 'python3-yaml', 'urdf-parser-py': 'urdfdom_py', 'xacro': 'xacro',
    'matplotlib': 'python3-matplotlib', 'sympy': 'python3-sympy',
    'hypothesis': 'python3-hypothesis', 'pytest': 'python3-pytest', 'setuptools': None,
    'mujoco': 'python3-mujoco-pip', 'rosbags': 'python3-rosbags-pip',
    'pytest-timeout': None, 'pytest-xdist': None, 'pytest-rerunfailures': None,
    'pin': None,
    'example-robot-data': None, 'ruff': None, 'colcon-common-extensions': None,
    'mypy': None, 'types-PyYAML': None, 'sphinx': None, 'numpydoc': None,
    'myst-parser': None, 'distributed': None,
}
#: In package.xml only: tools of ROS 2 that wheels do not exist for.
ROS_TOOLS = {'launch', 'launch_ros', 'ros2launch', 'ament_flake8', 'ament_pep257',
             'launch_pytest'}


@pytest.fixture(scope='module')
def setup_arguments(tmp_path_factory):
    """Return what setup.py tells setuptools."""
    path = tmp_path_factory.mktemp('setup') / 'out'
    script = ('import setuptools, sys, runpy\n'
              f'setuptools.setup = lambda **kw: open({str(path)!r}, "w").write(repr(kw))\n'
              'runpy.run_path("setup.py")\n')
    subprocess.run([sys.executable, '-c', script], check=True, cwd=ROOT)
    return ast.literal_eval(path.read_text())


@pytest.fixture(scope='module')
def manifest():
    return ET.parse(ROOT / 'package.xml').getroot()


def dependencies(manifest):
    return {element.text for element in manifest if element.tag.endswith('depend')}


def requirements(setup_arguments):
    texts = [*setup_arguments['install_requires'],
             *(text for extra in setup_arguments['extras_require'].values() for text in extra)]
    return [re.match(r'[A-Za-z0-9_.-]+', text)[0] for text in texts]


def test_name_version_and_licence_agree(manifest, setup_arguments):
    for field in ('name', 'version', 'license'):
        assert manifest.findtext(field) == setup_arguments[field]


def test_an_editable_install_is_a_plain_path(setup_arguments):
    """With it, a folder of the package's name in the working directory cannot hide it."""
    assert setup_arguments['package_dir'] == {'': '.'}


def test_maintainers_agree(manifest, setup_arguments):
    maintainer = manifest.find('maintainer')
    assert maintainer.text == setup_arguments['maintainer']
    assert maintainer.get('email') == setup_arguments['maintainer_email']


def test_every_requirement_has_its_rosdep_key(manifest, setup_arguments):
    keys = {name.removeprefix('ros-').replace('-', '_') if name.startswith('ros-')
            else ROSDEP_KEYS[name] for name in requirements(setup_arguments)}
    assert dependencies(manifest) == (keys - {None}) | ROS_TOOLS


def test_every_dependency_has_its_reason(setup_arguments):
    text = (ROOT / 'docs' / 'dependencies.md').read_text()
    for name in requirements(setup_arguments):
        assert f'`{name}`' in text, name
    for name in ROS_TOOLS:
        assert f'`{name}`' in text, name


def test_every_requirement_is_pinned_exactly(setup_arguments):
    pinned = [line.split('==')[0].lower().replace('_', '-') for line in
              (ROOT / 'constraints.txt').read_text().splitlines() if '==' in line]
    for name in requirements(setup_arguments):
        assert name.lower() in pinned, name


def test_entry_points_can_be_called(setup_arguments):
    scripts = setup_arguments['entry_points']['console_scripts']
    for script in scripts:
        module, _, function = script.partition('=')[2].strip().partition(':')
        assert callable(getattr(importlib.import_module(module), function)), script


def test_a_wheel_puts_only_the_command_on_the_path(tmp_path):
    path = tmp_path / 'out'
    script = ('import setuptools.build_meta, sys, runpy\n'
              f'setuptools.setup = lambda **kw: open({str(path)!r}, "w").write(repr(kw))\n'
              'runpy.run_path("setup.py")\n')
    subprocess.run([sys.executable, '-c', script], check=True, cwd=ROOT)
    arguments = ast.literal_eval(path.read_text())
    assert arguments['entry_points']['console_scripts'] == [
        'robot-dynamics = robot_dynamics.bringup.cli:main']
    assert 'bin' not in dict(arguments['data_files'])


def test_the_citation_has_the_version(setup_arguments):
    text = (ROOT / 'CITATION.cff').read_text()
    assert f'version: {setup_arguments["version"]}\n' in text
    assert f'license: {setup_arguments["license"]}\n' in text


def test_every_node_has_an_entry_point(setup_arguments):
    nodes = {path.stem for path in (ROOT / 'robot_dynamics' / 'nodes').glob('*.py')
             if '\nmain = ' in path.read_text()}
    scripts = {script.partition('=')[0].strip()
               for script in setup_arguments['entry_points']['console_scripts']}
    assert scripts == nodes | {'robot-dynamics'}


def test_shared_files_are_installed(setup_arguments):
    installed = {path for _, paths in setup_arguments['data_files'] for path in paths}
    for folder, pattern in (('launch', '*.launch.py'), ('config', '*'), ('urdf', '*')):
        present = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob(pattern)
                   if path.is_file()}
        assert present
        assert present <= installed


def test_shared_files_keep_their_folders(setup_arguments):
    for target, paths in setup_arguments['data_files']:
        for path in paths:
            if path.startswith(('launch/', 'config/', 'urdf/')):
                assert target == f'share/robot_dynamics/{Path(path).parent}'


def test_the_page_is_part_of_the_package(setup_arguments):
    patterns = setup_arguments['package_data']['robot_dynamics']
    present = list((ROOT / 'robot_dynamics' / 'report' / 'page').iterdir())
    matched = [path for pattern in patterns for path in (ROOT / 'robot_dynamics').glob(pattern)]
    assert present
    assert set(present) <= set(matched)


@pytest.mark.parametrize('script', ['demo', 'test.sh', '.ci/run', '.ci/environment.sh',
                                    '.ci/try_installation.sh'])
def test_scripts_are_bash_without_errors(script):
    path = ROOT / script
    subprocess.run(['bash', '-n', str(path)], check=True)
    if script != '.ci/environment.sh':
        assert os.access(path, os.X_OK)
        assert path.read_text().startswith('#!/usr/bin/env bash\n')


def environment_check(shell, tmp_path, **variables):
    """Run a line of bash after sourcing the shared script; return the finished process."""
    line = f'set -euo pipefail; cd {ROOT}; source .ci/environment.sh; {shell}'
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('ROS_DISTRO', 'PYTHON')}
    return subprocess.run(['bash', '-c', line], capture_output=True, text=True, timeout=60,
                          env={**environment, **variables})


@pytest.mark.parametrize(('version', 'least', 'expected'), [
    ('3.10', '3.10', 'yes'), ('3.9', '3.10', 'no'), ('3.13', '3.10', 'yes'), ('3.8', '3.9', 'no'),
    ('3.10', '3.9', 'yes')])
def test_versions_are_compared_as_numbers(version, least, expected, tmp_path):
    done = environment_check(f'at_least {version} {least} && echo yes || echo no', tmp_path)
    assert done.stdout.strip() == expected


def fake_python(folder, version):
    """Write an interpreter that only tells a version."""
    path = folder / 'python3'
    path.write_text(f'#!/bin/sh\necho {version}\n')
    path.chmod(0o755)
    return path


def test_an_old_python_is_refused_with_what_to_do(tmp_path):
    done = environment_check('prepare_environment sim', tmp_path,
                             PYTHON=str(fake_python(tmp_path, '3.9')))
    assert done.returncode == 1
    assert 'needs Python 3.10 or newer' in done.stderr


def test_a_python_without_wheels_is_refused(tmp_path):
    done = environment_check('prepare_environment sim', tmp_path,
                             PYTHON=str(fake_python(tmp_path, '3.14')))
    assert done.returncode == 1
    assert 'up to 3.13' in done.stderr


def test_a_sourced_ros_that_python_cannot_import_is_refused(tmp_path):
    done = environment_check('prepare_environment sim', tmp_path, ROS_DISTRO='jazzy',
                             PYTHON=shutil.which('false') and str(_python_without_rclpy(tmp_path)))
    assert done.returncode == 1
    assert 'ROS 2 jazzy is sourced' in done.stderr
    assert 'ros-jazzy-rclpy' in done.stderr


def _python_without_rclpy(folder):
    path = folder / 'python3'
    path.write_text('#!/bin/sh\ncase "$2" in *rclpy*) exit 1;; esac\necho 3.12\n')
    path.chmod(0o755)
    return path


def test_wheels_that_are_not_pinned_are_refused(tmp_path):
    done = environment_check('prepare_environment sim foxy', tmp_path)
    assert done.returncode == 1
    assert 'no wheels of ROS 2 foxy' in done.stderr and 'only: jazzy' in done.stderr


def test_wheels_and_a_sourced_ros_are_not_mixed(tmp_path):
    done = environment_check('prepare_environment sim jazzy', tmp_path, ROS_DISTRO='kilted')
    assert done.returncode == 1
    assert 'ROS 2 kilted is sourced' in done.stderr


def test_the_wheels_of_jazzy_replace_those_of_the_newest_and_nothing_else(tmp_path):
    def pins(path):
        return dict(line.split('==') for line in path.read_text().splitlines()
                    if not line.startswith('#'))

    for wheels in ('', 'jazzy'):
        done = environment_check(
            f'write_constraints python3 {tmp_path / f"{wheels}.txt"} {wheels}', tmp_path)
        assert done.returncode == 0, done.stderr
    newest, jazzy = pins(tmp_path / '.txt'), pins(tmp_path / 'jazzy.txt')
    assert newest == pins(ROOT / 'constraints.txt')
    assert jazzy['ros-rclpy'] == '7.1.6' and newest['ros-rclpy'].startswith('9.')
    changed = {name for name in {**newest, **jazzy} if newest.get(name) != jazzy.get(name)}
    assert all(name.startswith('ros-') for name in changed)
    # Every package of ROS 2 is another version there, or it would be the newest by mistake.
    assert {'ros-sensor-msgs', 'ros-rcl', 'ros-rmw-fastrtps-cpp'} <= changed


def test_the_key_changes_with_what_it_depends_on(tmp_path):
    def key(extras, **variables):
        done = environment_check(f'environment_key {sys.executable} {extras}', tmp_path,
                                 **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout
    assert key('sim') == key('sim')
    assert len({key('sim'), key('sim,test'), key('sim', ROS_DISTRO='jazzy'),
                key('sim jazzy')}) == 4


def fake_clone(folder):
    """Make a folder with the real demo script and an environment that tells how it is used."""
    clone = folder / 'a clone'
    (clone / '.ci').mkdir(parents=True)
    shutil.copy(ROOT / 'demo', clone / 'demo')
    python = clone / 'python'
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$PWD" "$PYTHONPATH" "$@"\n')
    python.chmod(0o755)
    (clone / '.ci' / 'environment.sh').write_text(
        f"prepare_environment() {{ python='{python}'; }}\n")
    return clone


def test_the_demo_takes_paths_from_where_it_is_called(tmp_path):
    clone, here = fake_clone(tmp_path), tmp_path / 'elsewhere'
    here.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    done = subprocess.run([str(clone / 'demo'), '--robot', 'my arm.urdf'], cwd=here, check=True,
                          capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout.splitlines() == [str(here), str(clone), '-m', 'robot_dynamics.bringup.cli',
                                        'demo', '--robot', 'my arm.urdf']


@pytest.mark.parametrize(('status', 'expected'), [(0, 'yes'), (1, 'no')])
def test_an_environment_without_pip_is_made_again(tmp_path, status, expected):
    python = tmp_path / 'python'
    python.write_text(f'#!/bin/sh\nexit {status}\n')
    python.chmod(0o755)
    # No uv on this PATH, which needs no pip.
    done = environment_check(f'PATH={tmp_path}; is_complete {python} && echo yes || echo no',
                             tmp_path)
    assert done.stdout.strip() == expected


def recorder_of_arguments(path, status=0):
    """Write a program that prints its arguments and ends with a status."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "$@"\nexit {status}\n')
    path.chmod(0o755)


@pytest.mark.parametrize('tool', ['pip', 'uv'])
def test_only_wheels_are_installed(tmp_path, tool):
    folder = tmp_path / 'a venv'
    recorder_of_arguments(folder / 'bin' / 'python')
    if tool == 'uv':
        recorder_of_arguments(tmp_path / 'bin' / 'uv')
    done = environment_check(
        f'PATH={tmp_path}/bin:/usr/bin:/bin; install_packages "{folder}" sim', tmp_path)
    assert done.returncode == 0, done.stderr
    assert ('-m pip install' in done.stdout) is (tool == 'pip')
    assert f'--constraint {folder}/constraints.txt --only-binary :all:' in done.stdout
    assert done.stderr == ''  # no counter where no terminal is


def test_a_failed_installation_ends_the_script(tmp_path):
    recorder_of_arguments(tmp_path / 'bin' / 'python', status=2)
    done = environment_check(f'PATH=/usr/bin:/bin; install_packages {tmp_path} sim', tmp_path)
    assert done.returncode == 1
    assert 'packages could not be installed' in done.stderr


def test_a_terminal_counts_the_seconds(tmp_path):
    recorder_of_arguments(tmp_path / 'bin' / 'python')
    (tmp_path / 'bin' / 'python').write_text('#!/bin/sh\nsleep 1.5\n')
    line = f'cd {ROOT}; source .ci/environment.sh; PATH=/usr/bin:/bin; install_packages ' \
           f'{tmp_path} sim,test'
    done = subprocess.run(['script', '-qec', f'bash -c "{line}"', '/dev/null'], timeout=60,
                          capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert 'installing packages: 1 s of about 60 s' in done.stdout
