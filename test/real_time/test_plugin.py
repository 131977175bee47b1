# SPDX-License-Identifier: Apache-2.0
"""The plugin of ros2_control, compiled against the headers in ``stubs``."""

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml

from robot_dynamics import Robot
from robot_dynamics.control import AdaptiveController, ControlSession, SessionSettings
from robot_dynamics.control.session.hand_guiding import ImpedanceSession
from robot_dynamics.real_time.generate import write_package
from robot_dynamics.real_time.laws import LAWS
from test.real_time.compiling import STRICT, compile_c

#: Compilers take minutes on a busy machine.
pytestmark = pytest.mark.timeout(1500)

STUBS = Path(__file__).parent / 'stubs'
NAME = 'my_arm_controller'


ROBOT = Robot.from_urdf('arm7')
#: Estimates with a last link that is a tenth heavier.
HEAVIER = AdaptiveController(ROBOT).adaptation.prior.copy()
HEAVIER[60:70] *= 1.1


def make_law(name):
    return LAWS[name].kind(ROBOT, period=0.002)


#: One law that learns nothing and one that learns, each with the functions of one release.
@pytest.fixture(scope='module', params=[('pd_gravity', 'HUMBLE'), ('adaptive', 'KILTED')],
                ids=lambda each: each[0])
def package(request, tmp_path_factory):
    """Folder of a package, its law, and the release to compile it for."""
    law, release = request.param
    folder = tmp_path_factory.mktemp('package')
    write_package(folder, NAME, ControlSession(ROBOT, make_law(law),
                                               SessionSettings(period=0.002)))
    return folder, law, release


def test_the_files_of_the_package_agree(package):
    package, law, _ = package
    assert 'project(my_arm_controller C CXX)' in (package / 'CMakeLists.txt').read_text()
    assert ET.parse(package / 'package.xml').findtext('name') == NAME
    plugin = ET.parse(package / 'plugin.xml').getroot()
    assert plugin.get('path') == NAME
    assert law in plugin.findtext('class/description')
    assert plugin[0].get('type') == f'{NAME}::ControllerPlugin'
    parameters = yaml.safe_load((package / 'controllers.yaml').read_text())
    manager = parameters['controller_manager']['ros__parameters']
    assert manager['update_rate'] == 500
    assert manager[NAME]['type'] == plugin[0].get('name') == f'{NAME}/MyArmController'
    assert parameters[NAME]['ros__parameters']['joints'] == [f'joint{k}' for k in range(1, 8)]
    assert not [path for path in package.rglob('*') if path.is_file() and '@' in path.read_text(
        ).replace('maintainers@example.com', '')]


def run_plugin(package, release, program, folder, *arguments):
    """Compile a plugin with a program in ``stubs`` and run it; what it printed, by name."""
    core = [compile_c(folder / f'{source.stem}.o', source, options=(*STRICT, '-O0', '-c', '-I',
                                                                    package / 'include' / NAME))
            for source in sorted((package / 'src').glob('*.c'))]
    compiler = shutil.which('c++') or pytest.skip('no C++ compiler')
    done = subprocess.run([
        compiler, '-std=c++17', '-O0', '-Wall', '-Wextra', '-Werror', '-pthread',
        '-fsanitize=address', '-lubsan', f'-DRD_PACKAGE={NAME}', f'-DSTUB_{release}', f'-I{STUBS}',
        f'-I{package / "include" / NAME}', f'-I{package / "src"}', STUBS / program, *core,
        '-o', folder / 'program'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([folder / 'program', *arguments], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return dict(line.split(' ', 1) for line in done.stdout.splitlines())


@pytest.fixture(scope='module')
def cycle(package, tmp_path_factory):
    """What the plugin did with a simulated arm, see ``stubs/cycle.cpp``, by name."""
    package, law, release = package
    folder = tmp_path_factory.mktemp('cycle')
    source, sink = folder / 'before.yaml', folder / 'after.yaml'
    if law == 'adaptive':
        heavier = make_law(law)
        heavier.adaptation.move_to(HEAVIER)
        heavier.save(source)
    return run_plugin(package, release, 'cycle.cpp', folder,
                      source if law == 'adaptive' else '', sink) | {'saved': sink}


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


#: How each goal of the action ends: state, code of control_msgs/FollowJointTrajectory, and text.
GOALS = {
    'reached': 'succeeded 0 the goal is reached',
    'other_joints': 'aborted -2 joint_names must name every joint of the controller once',
    'old': 'aborted -3 ended already; compare the clocks, or send it without a stamp',
    'outside': 'aborted -1 has a point outside the limits: joint4',
    'wrong_tolerance': 'aborted -1 path_tolerance of joint4 must be positive',
    'path': 'aborted -4 the position of joint4 is',
    'before_goal_time': 'active 0 ',
    'after_goal_time': 'aborted -5 the position of joint4 is',
    'cancelling': 'active 0 ',
    'cancelled': 'canceled 0 cancelled, at rest',
    'refused_goal': 'aborted -2 ',
    'replaced_by_goal': 'aborted -1 a new goal replaced it',
    'replaced_by_reference': 'aborted -1 another trajectory replaced it',
    'stopped': 'aborted -1 the controller is stopped: ',
}


@pytest.mark.parametrize('goal', GOALS)
def test_goals_of_the_action(goal, cycle):
    assert cycle[goal].startswith(GOALS[goal])


def test_a_goal_has_feedback(cycle):
    speed, moved, error = map(float, cycle['feedback'].split())
    # Half of a quintic of 0.2 rad in 1 s.
    assert speed == pytest.approx(15.0 / 8.0 * 0.2, abs=0.01)
    assert moved == pytest.approx(0.1, abs=0.02)
    assert 0.0 < abs(error) < 0.02


def test_a_violated_path_and_a_cancelled_goal_end_at_rest(cycle):
    assert float(cycle['speed_after_path']) < 0.01
    assert float(cycle['speed_after_cancel']) < 0.01


def test_the_end_effector_follows_poses_and_twists(tmp_path):
    law = make_law('cartesian_impedance')
    write_package(tmp_path, NAME, ImpedanceSession(ROBOT, law, SessionSettings(period=0.002)))
    done = run_plugin(tmp_path, 'KILTED', 'poses.cpp', tmp_path)
    assert done['mode'] == 'guided'
    assert abs(float(done['moved_by_wrong'])) < 1e-3
    assert float(done['moved_by_pose']) == pytest.approx(-0.1, abs=0.01)
    assert float(done['moved_by_twist']) == pytest.approx(0.1, abs=0.02)
    assert float(done['speed_without_twist']) < 0.01
    assert done['mode_in_stop'] == 'halted'
    assert abs(float(done['moved_in_stop'])) < 1e-3


def test_the_last_command_holds_against_gravity(cycle):
    assert float(cycle['beside_gravity']) < 1e-3


def test_a_manager_that_ends_gives_time_to_come_to_rest(cycle):
    assert float(cycle['speed_before_end']) > 0.2
    assert float(cycle['speed_after_end']) < 0.02
    assert cycle['last_mode'] == 'stopped'


def test_estimates_go_from_file_to_file(cycle):
    if 'names' not in cycle:
        assert not cycle['saved'].exists()
        return
    law = make_law('adaptive')
    assert tuple(json.loads(cycle['names'])) == law.estimate_names
    law.restore(cycle['saved'])
    published = np.array([float(each) for each in cycle['estimates'].split()])
    # It started from the heavier link, and learnt of the lighter one of the arm, also for some ms
    # after it was published last.
    assert law.adaptation.prior[60] + 0.01 < law.estimate[60] < HEAVIER[60] - 0.01
    assert np.abs(law.estimate - published).max() < 1e-3
