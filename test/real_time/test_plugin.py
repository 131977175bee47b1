# SPDX-License-Identifier: Apache-2.0
"""The plugin of ros2_control, compiled against the headers in ``stubs``."""

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from robot_dynamics import Robot
from robot_dynamics.control import ControlSession, PDGravityController, SessionSettings
from robot_dynamics.real_time.generate import write_package
from test.real_time.compiling import STRICT, compile_c

STUBS = Path(__file__).parent / 'stubs'
NAME = 'my_arm_controller'


def compile_plugin(folder, target, *more):
    compiler = shutil.which('c++') or pytest.skip('no C++ compiler')
    done = subprocess.run([
        compiler, '-std=c++17', '-Wall', '-Wextra', '-Werror', f'-DRD_PACKAGE={NAME}',
        f'-I{STUBS}', f'-I{folder / "include" / NAME}', f'-I{folder / "src"}', *more,
        '-o', str(target)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope='module')
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp('package')
    robot = Robot.from_urdf('arm7')
    write_package(folder, NAME, ControlSession(
        robot, PDGravityController(robot, period=0.002), SessionSettings(period=0.002)))
    return folder


@pytest.mark.parametrize('release', ['HUMBLE', 'KILTED'])
def test_the_plugin_compiles_without_a_warning(package, tmp_path, release):
    compile_plugin(package, tmp_path / 'plugin.o', '-c', f'-DSTUB_{release}',
                   str(package / 'src' / 'plugin.cpp'))


def test_the_files_of_the_package_agree(package):
    assert 'project(my_arm_controller C CXX)' in (package / 'CMakeLists.txt').read_text()
    assert ET.parse(package / 'package.xml').findtext('name') == NAME
    plugin = ET.parse(package / 'plugin.xml').getroot()
    assert plugin.get('path') == NAME
    assert plugin[0].get('type') == f'{NAME}::ControllerPlugin'
    parameters = yaml.safe_load((package / 'controllers.yaml').read_text())
    manager = parameters['controller_manager']['ros__parameters']
    assert manager['update_rate'] == 500
    assert manager[NAME]['type'] == plugin[0].get('name') == f'{NAME}/MyArmController'
    assert parameters[NAME]['ros__parameters']['joints'] == [f'joint{k}' for k in range(1, 8)]
    assert not [path for path in package.rglob('*') if path.is_file() and '@' in path.read_text(
        ).replace('maintainers@example.com', '')]


@pytest.fixture(scope='module', params=['HUMBLE', 'KILTED'])
def cycle(request, package, tmp_path_factory):
    """What the plugin did with a simulated arm, see ``stubs/cycle.cpp``, by name."""
    folder = tmp_path_factory.mktemp('cycle')
    core = [compile_c(folder / f'{source.stem}.o', source, options=(*STRICT, '-O1', '-c', '-I',
                                                                    package / 'include' / NAME))
            for source in sorted((package / 'src').glob('*.c'))]
    program = compile_plugin(package, folder / 'cycle', '-O1', '-pthread',
                             '-fsanitize=address,undefined', f'-DSTUB_{request.param}',
                             str(STUBS / 'cycle.cpp'), *map(str, core))
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return dict(line.split(' ', 1) for line in done.stdout.splitlines())


def test_it_is_configured_for_its_rate_only(cycle):
    assert cycle['wrong_rate'] == cycle['configured'] == '1'
    assert cycle['first_state'] == 'joint1/velocity'


def test_it_is_activated_with_a_state_and_follows_when_the_arm_obeys(cycle):
    assert cycle['refused'] == cycle['activated'] == '1'
    assert cycle['mode_after_activation'] == 'tracking'


def test_a_reference_is_followed_in_the_order_of_its_joints(cycle):
    assert float(cycle['moved']) == pytest.approx(0.2, abs=0.01)
    assert json.loads(cycle['followed'])['accepted']
    assert json.loads(cycle['rejected']) == {
        'accepted': False, 'stamp': 0,
        'text': 'joint_names must name every joint of the controller once'}


def test_telemetry_has_its_rate(cycle):
    # 3 s at 25 Hz, the errors only while it follows.
    assert int(cycle['commands']) == 75
    assert 0 < int(cycle['errors']) <= 75


def test_stop_leads_to_rest_and_resume_follows_again(cycle):
    assert cycle['~/stop'] == cycle['~/resume'] == '1'
    assert cycle['mode_after_stop'] == 'halted'
    assert float(cycle['speed_after_stop']) < 0.01
    assert cycle['mode_after_resume'] == 'tracking'


def test_the_last_command_holds_against_gravity(cycle):
    assert float(cycle['beside_gravity']) < 1e-3


def test_a_manager_that_ends_gives_time_to_come_to_rest(cycle):
    assert float(cycle['speed_before_end']) > 0.2
    assert float(cycle['speed_after_end']) < 0.02
    assert cycle['last_mode'] == 'stopped'
