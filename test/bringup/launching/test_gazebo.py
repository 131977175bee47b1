# SPDX-License-Identifier: Apache-2.0
"""Descriptions for Gazebo and parameters of ros2_control, against what those document."""

import re
import sysconfig
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.hardware import load_hardware
from robot_dynamics.bringup.launching.gazebo import FORTRESS, GAZEBO, controllers_yaml, gazebo_urdf
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import BringupError
from robot_dynamics.model.robot import Robot

ROOT = Path(__file__).resolve().parents[3]

ROBOTS = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')

#: Some of what users may set, as the parameter files of every distribution since Jazzy declare:
#: the controller manager (Humble has no such file of it), and controllers by type.
MANAGER = {'update_rate': int, 'use_sim_time': bool, 'enforce_command_limits': bool,
           'handle_exceptions': bool}
CONTROLLERS = {
    'forward_command_controller/ForwardCommandController':
        {'joints': list, 'interface_name': str, 'use_sim_time': bool},
    'joint_state_broadcaster/JointStateBroadcaster':
        {'use_local_topics': bool, 'joints': list, 'extra_joints': list, 'interfaces': list,
         'frame_id': str, 'use_sim_time': bool},
    'joint_trajectory_controller/JointTrajectoryController':
        {'joints': list, 'command_joints': list, 'command_interfaces': list,
         'state_interfaces': list, 'allow_partial_joints_goal': bool, 'gains': dict,
         'constraints': dict, 'interpolation_method': str, 'cmd_timeout': float,
         'use_sim_time': bool},
}


def check_documented(text, namespace=''):
    """Check a parameter file of ros2_control; return its controllers' parameters by name."""
    content = yaml.safe_load(text)
    manager = content.pop(f'{namespace}controller_manager')['ros__parameters']
    types = {}
    for name, value in manager.items():
        if isinstance(value, dict):
            assert set(value) == {'type'}, name
            types[name] = value['type']
        else:
            assert isinstance(value, MANAGER[name]), name
    parameters = {name: {} for name in types}
    for key, below in content.items():
        assert key.startswith(namespace)
        assert set(below) == {'ros__parameters'}
        parameters[key.removeprefix(namespace)] = below['ros__parameters']
    assert parameters.keys() == types.keys()
    for name, values in parameters.items():
        known = CONTROLLERS[types[name]]
        for key, value in values.items():
            assert isinstance(value, known[key]), f'{name}: {key}'
    return parameters


def test_the_shipped_file_is_documented_and_is_what_is_made_for_arm7():
    text = (ROOT / 'config' / 'controllers_effort.yaml').read_text()
    parameters = check_documented(text)
    # What has no default.
    assert parameters['effort_controller']['interface_name'] == 'effort'
    assert len(set(parameters['effort_controller']['joints'])) == 7
    arm7 = load_description('arm7').robot
    assert yaml.safe_load(text) == yaml.safe_load(controllers_yaml(arm7.joint_names, 500.0))


def snippets():
    text = (ROOT / 'docs' / 'hardware.md').read_text()
    return re.findall(r'^```yaml\n(.*?)^```', text, re.M | re.S)


@pytest.mark.parametrize('text', snippets())
def test_snippets_of_the_document_are_right(text, tmp_path):
    if 'controller_manager' in text:
        parameters = check_documented(text)
        for name, values in parameters.items():
            if name != 'joint_state_broadcaster':
                assert values['joints'], name
        return
    path = tmp_path / 'snippet.yaml'
    path.write_text(text)
    assert load_hardware(str(path))


def test_gains_of_a_joint_trajectory_controller_are_off():
    (gains,) = [values['gains'] for text in snippets() if 'JointTrajectory' in text
                for values in check_documented(text).values() if 'gains' in values]
    assert {value for gain in gains.values() for value in gain.values()} == {0.0}


def test_parameters_in_a_namespace_and_simulated_time():
    text = controllers_yaml(['b', 'a'], 250.4, namespace='/left/', use_sim_time=True)
    parameters = check_documented(text, '/left/')
    assert parameters['effort_controller'] == {
        'use_sim_time': True, 'joints': ['b', 'a'], 'interface_name': 'effort'}
    assert yaml.safe_load(text)['/left/controller_manager']['ros__parameters'][
        'update_rate'] == 250


@pytest.fixture(scope='module', params=['arm7', 'planar_2r', 'rpr', 'two_link_payload',
                                        'puma560.yaml'])
def description(request):
    return load_description(request.param)


def joints_of(urdf):
    (system,) = ET.fromstring(urdf).findall('ros2_control')
    return {joint.get('name'): joint for joint in system.findall('joint')}


def test_every_joint_has_an_effort_command_and_all_three_states(description):
    urdf = gazebo_urdf(description, Path('/tmp/c.yaml'))
    joints, robot = joints_of(urdf), description.robot
    assert set(joints) == set(robot.joint_names)
    for name, limit, lower, upper in zip(robot.joint_names, robot.limits.effort,
                                         robot.limits.lower, robot.limits.upper, strict=True):
        (command,) = joints[name].findall('command_interface')
        assert command.get('name') == 'effort'
        given = {p.get('name'): float(p.text) for p in command.findall('param')}
        assert given == ({'min': -limit, 'max': limit} if np.isfinite(limit) else {})
        states = joints[name].findall('state_interface')
        assert [state.get('name') for state in states] == ['position', 'velocity', 'effort']
        start = float(states[0].find('param').text)
        assert lower <= start <= upper and (start == 0.0 or not lower <= 0.0 <= upper)


def test_it_is_the_same_robot_fixed_to_the_world(description):
    urdf = gazebo_urdf(description, Path('/tmp/c.yaml'))
    robot = Robot.from_urdf(urdf.encode())
    assert robot.joint_names == description.robot.joint_names
    assert robot.base_name == 'world'
    q, v, a = np.random.default_rng(0).uniform(-0.5, 0.5, (3, robot.n))
    np.testing.assert_allclose(Dynamics(robot).inverse_dynamics(q, v, a),
                               Dynamics(description.robot).inverse_dynamics(q, v, a), atol=1e-10)
    # All of it that others draw is still there.
    def count(text):
        return len(list(ET.fromstring(text.encode()).iter('visual')))
    assert count(urdf) == count(description.urdf)


def test_the_plugin_has_its_documented_parameters(description):
    for simulator, namespace in ((GAZEBO, ''), (FORTRESS, 'left')):
        root = ET.fromstring(gazebo_urdf(description, Path('/tmp/c.yaml'), namespace=namespace,
                                         simulator=simulator))
        (plugin,) = root.findall('gazebo/plugin')
        assert plugin.attrib == {'filename': simulator.library, 'name': simulator.plugin}
        assert plugin.findtext('parameters') == '/tmp/c.yaml'
        assert plugin.findtext('hold_joints') == 'true'
        assert plugin.findtext('ros/namespace') == (f'/{namespace}' if namespace else None)
        assert root.findtext('ros2_control/hardware/plugin') == simulator.hardware


def urdf_with(tmp_path, *elements, name='planar_2r'):
    path = tmp_path / 'arm.urdf'
    text = load_description(name).urdf
    path.write_text(text.replace('</robot>', ''.join(elements) + '</robot>'))
    return load_description(path)


def test_drivers_of_a_real_arm_give_way_and_the_rest_stays(tmp_path):
    described = urdf_with(
        tmp_path,
        '<ros2_control name="real" type="system"><hardware><plugin>ur/Hardware</plugin>'
        '</hardware><joint name="joint1"/></ros2_control>',
        '<gazebo><plugin filename="libgazebo_ros2_control.so" name="old"/></gazebo>',
        '<gazebo><plugin filename="camera" name="camera"/></gazebo>',
        '<gazebo reference="link1"><mu1>0.2</mu1></gazebo>')
    root = ET.fromstring(gazebo_urdf(described, Path('/tmp/c.yaml')))
    assert [plugin.text for plugin in root.findall('ros2_control/hardware/plugin')] == [
        GAZEBO.hardware]
    assert [plugin.get('filename') for plugin in root.findall('gazebo/plugin')] == [
        'camera', GAZEBO.library]
    assert root.findtext('gazebo/mu1') == '0.2'


def test_an_arm_that_is_fixed_to_the_world_already_stays_so(tmp_path):
    urdf = gazebo_urdf(load_description('planar_2r'), Path('/tmp/c.yaml'))
    path = tmp_path / 'again.urdf'
    path.write_text(urdf)
    again = gazebo_urdf(load_description(path), Path('/tmp/c.yaml'))
    assert again.count('<link name="world"') == 1
    assert ET.canonicalize(again, strip_text=True) == ET.canonicalize(urdf, strip_text=True)


def test_a_joint_that_mimics_another_has_no_motor(cases):
    described = load_description(cases / 'urdf_mimic' / 'mimic.urdf')
    joints = joints_of(gazebo_urdf(described, Path('/tmp/c.yaml')))
    commanded = {name for name, joint in joints.items() if joint.find('command_interface')
                 is not None}
    assert commanded == set(described.robot.joint_names)
    (mimic,) = set(joints) - commanded
    assert len(joints[mimic].findall('state_interface')) == 3


def test_meshes_of_installed_packages_are_found(tmp_path, monkeypatch):
    register = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    register.mkdir(parents=True)
    (register / 'here').touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    mesh = '<link name="extra{0}"><visual><geometry><mesh filename="package://{0}/a.dae"/>' \
           '</geometry></visual></link><joint name="j{0}" type="fixed"><parent link="link1"/>' \
           '<child link="extra{0}"/></joint>'
    described = urdf_with(tmp_path, mesh.format('here'), mesh.format('elsewhere'))
    urdf = gazebo_urdf(described, Path('/tmp/c.yaml'))
    assert f'"file://{tmp_path}/share/here/a.dae"' in urdf
    assert '"package://elsewhere/a.dae"' in urdf


def test_what_gazebo_cannot_read_is_refused(tmp_path):
    described = urdf_with(tmp_path, '<drake:joint/>')
    with pytest.raises(BringupError, match='unbound prefix'):
        gazebo_urdf(described, Path('/tmp/c.yaml'))


@pytest.mark.parametrize('path', [
    'ur_description/urdf/ur5_robot.urdf', 'panda_description/urdf/panda.urdf',
    'kinova_description/robots/kinova.urdf', 'z1_description/urdf/z1.urdf'])
def test_robots_of_others(path):
    if not (ROBOTS / path).exists():
        pytest.skip('example-robot-data is not installed')
    described = load_description(ROBOTS / path)
    urdf = gazebo_urdf(described, Path('/tmp/c.yaml'))
    commanded = {name for name, joint in joints_of(urdf).items()
                 if joint.find('command_interface') is not None}
    assert commanded == set(described.robot.joint_names)
    robot = Robot.from_urdf(urdf.encode())
    np.testing.assert_allclose(robot.inertial_parameters, described.robot.inertial_parameters)
