# SPDX-License-Identifier: Apache-2.0
"""Parameter files for drivers, and what runs beside them."""

from pathlib import Path

import pytest
import yaml

from robot_dynamics.bringup.hardware import (
    DRIVER_PARAMETERS,
    NODES,
    hardware_processes,
    load_hardware,
    shipped_hardware,
)
from robot_dynamics.bringup.launching.actions import find_package, require_packages
from robot_dynamics.bringup.system import System
from robot_dynamics.control import (
    AdaptationGains,
    ComputedTorqueController,
    FeedbackGains,
    FeedforwardLQController,
    GuidingController,
    PDGravityController,
)
from robot_dynamics.control.feedback.gains import check_gains
from robot_dynamics.errors import BringupError, UnknownNameError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controllers import CONTROLLER_NODES

ROOT = Path(__file__).resolve().parents[2]
NAMES = ('franka', 'gazebo', 'kinova_gen3', 'ros2_control', 'ur')


def test_the_files_of_this_package():
    assert tuple(shipped_hardware()) == NAMES


@pytest.mark.parametrize('name', NAMES)
def test_every_parameter_exists_and_its_value_is_allowed(name):
    pytest.importorskip('rclpy', reason='the tables of parameters need rclpy')
    from robot_dynamics.nodes.adaptive_controller import TABLE as LAW
    from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
    from robot_dynamics.nodes.inverse_dynamics import TABLE as INVERSE_DYNAMICS
    from robot_dynamics.nodes.ros.node import RUNTIME_PARAMETERS
    tables = {'adaptive_controller': (*RUNTIME_PARAMETERS, *CONTROLLER_PARAMETERS, *LAW),
              'inverse_dynamics': (*RUNTIME_PARAMETERS, *INVERSE_DYNAMICS)}
    for node, parameters in load_hardware(name).items():
        rows = {row.name: row for row in tables[node]}
        for parameter, value in parameters.items():
            rows[parameter].convert(value)


def test_what_each_hardware_does_with_gravity():
    """The one mistake that lets an arm fall, or jump."""
    carries = {name: load_hardware(name)['adaptive_controller']['hardware_gravity_compensation']
               for name in NAMES}
    assert carries == {'franka': True, 'gazebo': False, 'kinova_gen3': False,
                       'ros2_control': False, 'ur': True}


def test_the_defaults_written_out_are_the_defaults():
    pytest.importorskip('rclpy', reason='the tables of parameters need rclpy')
    from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
    defaults = {row.name: row.default for row in CONTROLLER_PARAMETERS}
    written = load_hardware('ros2_control')['adaptive_controller']
    differs = {'delay': 0.005, 'effort_limit_share': 0.7}
    assert {name: written.pop(name) for name in differs} == differs
    for name, value in written.items():
        assert defaults[name] == value, name


@pytest.mark.parametrize('name', sorted({*NAMES} - {'gazebo'}))
def test_a_real_arm_answers_late_and_is_not_as_strong_as_it_could_be(name):
    """A command acts a period later at the earliest; every law accepts its default gains then."""
    parameters = load_hardware(name)['adaptive_controller']
    period, delay = 1.0 / parameters['rate'], parameters['delay']
    assert delay >= period
    assert 0.0 < parameters['effort_limit_share'] < 1.0
    check_gains(FeedbackGains(), AdaptationGains(), period=period, delay=delay)
    robot = Robot.from_urdf('arm7')
    for law in (ComputedTorqueController, PDGravityController, FeedforwardLQController,
                GuidingController):
        law(robot, period=period, delay=delay)


def test_groups_are_part_of_names(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text(yaml.safe_dump({'adaptive_controller': {'ros__parameters': {
        'rate': 250.0, 'feedback': {'bandwidth': 20.0}}}}))
    assert load_hardware(str(path)) == {
        'adaptive_controller': {'rate': 250.0, 'feedback.bandwidth': 20.0}}


@pytest.mark.parametrize(('text', 'words'), [
    ('[1, 2', 'cannot be read'), ('', 'has no nodes'), ('- 1', 'has no nodes'),
    ('adaptive: {ros__parameters: {}}', 'has parameters of adaptive'),
    ('reference: {rate: 1.0}', 'has no ros__parameters below reference'),
    ('!!python/object/apply:os.getcwd []', 'cannot be read')])
def test_files_that_are_none_are_refused(tmp_path, text, words):
    path = tmp_path / 'mine.yaml'
    path.write_text(text)
    with pytest.raises(BringupError, match=words) as error:
        load_hardware(str(path))
    assert 'mine.yaml' in str(error.value)


def test_no_hardware_is_refused_with_what_there_is():
    with pytest.raises(BringupError, match='hardware is not given; name one of: franka, gazebo'):
        load_hardware('')


def test_a_franka_with_a_hand_waits_for_its_arm_only():
    """The description has fingers, and the topic of the arm does not."""
    system = System(robot='', plant='none', reference='none', controller='pd_gravity')
    used = {process.node: process.parameters.get('joints')
            for process in hardware_processes(system, 'franka')}
    arm = [f'fr3_joint{k}' for k in range(1, 8)]
    assert used == {'pd_gravity_controller': arm, 'command_guard': None, 'inverse_dynamics': arm}


def test_unknown_hardware_is_refused_with_what_there_is():
    with pytest.raises(UnknownNameError, match='franka, gazebo'):
        load_hardware('kuka')


def test_one_driver_for_every_controller(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text(yaml.safe_dump({
        'adaptive_controller': {'ros__parameters': {
            'rate': 250.0, 'effort_kind': 'none', 'adaptation.frequency': 20.0}},
        'pd_gravity_controller': {'ros__parameters': {'rate': 100.0}}}))
    system = System(robot='arm7', plant='none', reference='none', controller='computed_torque',
                    standby='all', elastic_joints='arm7')
    processes = {process.node: process.parameters
                 for process in hardware_processes(system, str(path), 'torques')}
    for node in CONTROLLER_NODES:
        assert processes[node]['command_topic'] == 'torques'
    assert processes['computed_torque_controller']['effort_kind'] == 'none'
    assert processes['computed_torque_controller']['rate'] == 250.0
    assert 'adaptation.frequency' not in processes['computed_torque_controller']
    assert processes['pd_gravity_controller']['rate'] == 100.0
    assert 'effort_kind' not in processes['pd_gravity_controller']


def test_what_is_of_a_driver_is_a_parameter_of_every_controller():
    pytest.importorskip('rclpy', reason='needs ROS 2')
    from robot_dynamics.nodes.documents.parameters import TABLES
    for node in CONTROLLER_NODES:
        assert {row.name for row in TABLES[node]} >= DRIVER_PARAMETERS


def test_what_runs_beside_a_driver():
    system = System(robot='arm7', plant='none', reference='none', namespace='left')
    processes = hardware_processes(system, 'franka', 'torques', 'franka/joint_states')
    assert [process.node for process in processes] == [
        'adaptive_controller', 'command_guard', 'inverse_dynamics']
    controller, guard, _ = processes
    assert guard.parameters['command_topic'] == 'torques'
    assert guard.parameters['silence'] == 0.03
    assert controller.namespace == 'left'
    # The file is stronger than defaults of a system, an argument stronger than the file.
    assert controller.parameters['rate'] == 1000.0
    assert controller.parameters['spin'] == 'waitset'
    assert controller.parameters['command_topic'] == 'torques'
    for process in processes:
        assert process.remappings == (('joint_states', 'franka/joint_states'),)
        assert process.node in NODES
    plain = hardware_processes(system, 'ur')[0]
    assert plain.remappings == ()
    assert plain.parameters['command_topic'] == 'forward_effort_controller/commands'


def test_the_guard_watches_what_the_controllers_of_a_driver_send(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text(yaml.safe_dump({'adaptive_controller': {'ros__parameters': {
        'rate': 50.0, 'command_topic': 'arm_controller/joint_trajectory',
        'command_type': 'joint_trajectory', 'stop_service': 'driver/stop'}}}))
    for system in (System(robot='arm7', plant='none', reference='none'),
                   System(robot='arm7', plant='none', reference='none', controller='none',
                          standby='pd_gravity')):
        (guard,) = [process for process in hardware_processes(system, str(path))
                    if process.node == 'command_guard']
        assert guard.parameters['command_topic'] == 'arm_controller/joint_trajectory'
        assert guard.parameters['command_type'] == 'joint_trajectory'
        assert guard.parameters['stop_service'] == 'driver/stop'
        # Three periods of its commands.
        assert guard.parameters['silence'] == pytest.approx(0.06)
    alone = System(robot='arm7', plant='none', reference='none', controller='none')
    assert 'command_guard' not in [process.node for process in hardware_processes(
        alone, str(path))]


def test_the_description_comes_from_the_arm_where_no_robot_is_named():
    system = System(robot='', plant='none', reference='none')
    for process in hardware_processes(system, 'ros2_control'):
        assert 'robot_description' not in process.parameters


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    register = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    register.mkdir(parents=True)
    (register / 'here').touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f':/nowhere:{tmp_path}')
    return tmp_path


def test_packages_are_found_where_they_are_registered(prefix):
    assert find_package('here') == prefix / 'share' / 'here'
    assert find_package('elsewhere') is None
    require_packages(['here'], 'test')


@pytest.mark.parametrize(('distro', 'remedy'), [
    ('jazzy', 'sudo apt install ros-jazzy-not-here ros-jazzy-elsewhere'),
    (None, 'source a ROS 2 installation first, e.g. source /opt/ros/jazzy/setup.bash')])
def test_missing_packages_are_named_with_what_to_do(prefix, monkeypatch, distro, remedy):
    if distro is None:
        monkeypatch.delenv('ROS_DISTRO', raising=False)
    else:
        monkeypatch.setenv('ROS_DISTRO', distro)
    with pytest.raises(BringupError, match='not_here, elsewhere') as error:
        require_packages(['here', 'not_here', 'elsewhere'], 'the test')
    assert error.value.subject == 'the test'
    assert error.value.remedy == remedy


def test_no_packages_are_found_without_ros(monkeypatch):
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    assert find_package('rclpy') is None
