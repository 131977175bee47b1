# SPDX-License-Identifier: Apache-2.0
"""Motors and springs from YAML beside the robot, and from the tags of its URDF."""

import numpy as np
import pytest

from robot_dynamics.elastic.configuration import (
    resolve_elastic_joints,
    shipped_elastic_joints,
)
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot, shipped_robots

EVERY = {'gear_ratio': 100, 'rotor_inertia': '2e-5', 'stiffness': 8000}
TAGS = """
  <ros2_control name="arm" type="system">
    <hardware><plugin>maker/Driver</plugin><param name="stiffness">1</param></hardware>
    <joint name="joint1">
      <command_interface name="effort"><param name="stiffness">2</param></command_interface>
      <param name="stiffness"> 2000 </param><param name="rotor_inertia">4e-4</param>
      <param name="can_id">7</param><param name="viscous">0.5</param>
      <param name="rotor_axis">0 0 2</param>
    </joint>
    <joint name="joint2">
      <param name="stiffness">900</param><param name="rotor_inertia">1e-4</param>
      <param name="mechanical_reduction">80</param>
    </joint>
    <transmission name="drive1">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="motor1" role="actuator1"/>
      <joint name="joint1" role="joint1"><mechanical_reduction>-50</mechanical_reduction></joint>
    </transmission>
  </ros2_control>"""


@pytest.fixture
def links():
    return Robot.from_urdf(resolve_robot('planar_2r'))


def tagged(tags=TAGS):
    return resolve_robot('planar_2r').read_text().replace('</robot>', tags + '</robot>')


def test_one_value_for_every_joint_and_others_for_some(links):
    robot = ElasticRobot.from_yaml({
        'coupled': False, 'every_joint': EVERY,
        'joints': {'joint2': {'stiffness': 500, 'coulomb': 0.3, 'viscous': 0.2,
                              'spring_damping': 0.1, 'rotor_axis': [0, 3, 0]}}}, links)
    joints = robot.joints
    assert not robot.is_coupled and joints.names == links.joint_names
    np.testing.assert_array_equal(joints.gear_ratio, [100.0, 100.0])
    np.testing.assert_array_equal(joints.rotor_inertia, [2e-5, 2e-5])
    np.testing.assert_array_equal(joints.stiffness, [8000.0, 500.0])
    for field, value in (('coulomb', 0.3), ('viscous', 0.2), ('spring_damping', 0.1)):
        np.testing.assert_array_equal(getattr(joints, field), [0.0, value])
    # Of a joint without one it is the axis of the joint, which stands across here.
    np.testing.assert_allclose(robot.rotor_axes, [[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]], atol=1e-15)


@pytest.mark.parametrize('name', ['arm7', 'planar_2r'])
def test_the_files_of_this_package_are_of_its_robots(name):
    assert set(shipped_elastic_joints()) <= set(shipped_robots())
    links = Robot.from_urdf(resolve_robot(name))
    by_name = ElasticRobot.from_yaml(name, links)
    by_path = ElasticRobot.from_yaml(resolve_elastic_joints(name), links)
    assert by_name.is_coupled and by_name.n == links.n
    np.testing.assert_array_equal(by_name.parameters(), by_path.parameters())


def test_tags_of_ros2_control_are_enough():
    robot = ElasticRobot.from_urdf(tagged(), gravity=(0.0, 0.0, -1.6))
    joints = robot.joints
    np.testing.assert_array_equal(joints.gear_ratio, [50.0, 80.0])
    np.testing.assert_array_equal(joints.stiffness, [2000.0, 900.0])
    np.testing.assert_array_equal(joints.rotor_inertia, [4e-4, 1e-4])
    np.testing.assert_array_equal(joints.viscous, [0.5, 0.0])
    # A motor that turns the other way turns about the opposite axis.
    np.testing.assert_allclose(robot.rotor_axes, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]], atol=1e-15)
    assert robot.links.gravity[2] == -1.6


def test_tags_fill_in_what_the_file_leaves_out(links):
    robot = ElasticRobot.from_yaml({'joints': {'joint1': {'stiffness': 7.0},
                                               'joint2': {'gear_ratio': 9}}},
                                   links, description=tagged())
    np.testing.assert_array_equal(robot.joints.stiffness, [7.0, 900.0])
    np.testing.assert_array_equal(robot.joints.gear_ratio, [50.0, 9.0])


def test_transmissions_as_ros_1_wrote_them(links):
    old = """
      <transmission name="t"><type>transmission_interface/SimpleTransmission</type>
        <joint name="joint1"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
        <actuator name="m"><mechanicalReduction>30</mechanicalReduction></actuator>
      </transmission>
      <transmission name="wrist"><type>transmission_interface/DifferentialTransmission</type>
        <joint name="joint2"><mechanicalReduction>5</mechanicalReduction></joint>
        <joint name="joint1"><mechanicalReduction>6</mechanicalReduction></joint>
      </transmission>"""
    rest = {'every_joint': {'rotor_inertia': 1e-4, 'stiffness': 1e3}}
    one = {'joints': {'joint2': {'gear_ratio': 8}}}
    robot = ElasticRobot.from_yaml({**rest, **one}, links, description=tagged(old))
    np.testing.assert_array_equal(robot.joints.gear_ratio, [30.0, 8.0])
    with pytest.raises(ModelError, match='joint2/gear_ratio is missing'):
        ElasticRobot.from_yaml(rest, links, description=tagged(old))


@pytest.mark.parametrize(('content', 'words'), [
    ({}, 'joint1/gear_ratio is missing'),
    ({'every_joint': {**EVERY, 'stifness': 1}}, 'did you mean stiffness'),
    ({'every_joint': EVERY, 'joints': {'joint3': {}}}, 'did you mean joint'),
    ({'every_joint': EVERY, 'joints': {'joint2': 5}}, 'joint2 must be a set .*got 5'),
    ({'every_joint': EVERY, 'joints': [1]}, r'joints must be a set .*got \[1\]'),
    ({'every_joint': {**EVERY, 'stiffness': 'nan'}}, 'joint1/stiffness|every_joint/stiffness'),
    ({'every_joint': {**EVERY, 'stiffness': 'soft'}}, "must be a number, got 'soft'"),
    ({'every_joint': EVERY, 'joints': {'joint2': {'stiffness': -1}}},
     'joint2 must have a positive stiff'),
    ({'every_joint': {**EVERY, 'rotor_axis': [0, 0]}}, 'rotor_axis must have 3 values, got 2'),
    ({'every_joint': {**EVERY, 'rotor_axis': [0, 0, 0]}}, 'rotor axis of joint1'),
    ({'every_joint': EVERY, 'coupled': 'perhaps'}, 'coupled'),
    ({'springs': {}}, 'springs'), (7, None), ('joints: [', None)])
def test_what_is_wrong_is_refused_by_name(links, tmp_path, content, words):
    if not isinstance(content, dict):
        path = tmp_path / 'springs.yaml'
        path.write_text(str(content))
        content, words = path, 'springs.yaml'
    with pytest.raises(RobotDynamicsError, match=words) as caught:
        ElasticRobot.from_yaml(content, links)
    assert caught.value.remedy


def test_files_that_cannot_be_are_refused(links, tmp_path):
    with pytest.raises(ModelError, match=r'arm8 .*did you mean arm7\?'):
        ElasticRobot.from_yaml('arm8', links)
    path = tmp_path / 'twice.yaml'
    path.write_text('every_joint: {stiffness: 1, stiffness: 2}\n')
    with pytest.raises(ModelError, match='is given twice'):
        ElasticRobot.from_yaml(path, links)
    path.write_text('')
    with pytest.raises(ModelError, match='is empty'):
        ElasticRobot.from_yaml(path, links)
    with pytest.raises(ModelError, match='joint3/rotor_inertia'):
        ElasticRobot.from_yaml('planar_2r', Robot.from_urdf(resolve_robot('planar_3r')))


@pytest.mark.parametrize(('tags', 'words'), [
    (TAGS.replace('2000', 'stiff'), 'joint1 in its tags/stiffness'),
    (TAGS.replace('<param name="stiffness"> 2000 </param>', ''), 'joint1/stiffness is missing'),
    (TAGS.replace('<param name="can_id">7', '<param name="stiffness">7'),
     'joint1 has two values of stiff'),
    (TAGS.replace('0 0 2', '0 0'), 'rotor_axis must have 3 values, got 2'),
    (TAGS.replace('role="actuator1"/>', 'role="actuator1"><mechanical_reduction>2'
                  '</mechanical_reduction></actuator>'), 'joint1 has several reductions'),
    ('', 'joint1/gear_ratio is missing')])
def test_tags_that_cannot_be_are_refused(tags, words):
    with pytest.raises(ModelError, match=words) as caught:
        ElasticRobot.from_urdf(tagged(tags))
    assert caught.value.remedy
