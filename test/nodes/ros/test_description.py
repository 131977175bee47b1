# SPDX-License-Identifier: Apache-2.0
"""Which robot a node gets from its parameters; topics are tested in `test_qos`."""

from __future__ import annotations

import re

import numpy as np
import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS, load_robot
from robot_dynamics.nodes.ros.node import NodeParameters
from robot_dynamics.nodes.ros.stopping import StopRequest


@pytest.fixture
def load(make_node):
    def load(*arguments: str) -> Robot:
        node = make_node('loader', *arguments)
        return load_robot(node, NodeParameters(node, ROBOT_PARAMETERS).values, StopRequest())
    return load


def test_by_name_or_path(load):
    by_name = load('-p', 'robot:=arm7')
    by_path = load('-p', f'robot:={resolve_robot("arm7")}')
    assert by_name.joint_names == by_path.joint_names
    np.testing.assert_array_equal(by_name.gravity, [0.0, 0.0, -9.81])


def test_by_text(load):
    text = ('<robot name="rod"><link name="base"/><link name="rod"><inertial>'
            '<origin xyz="0 0 -0.5"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
            'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge" type="revolute">'
            '<parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>'
            '<limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>')
    assert load('-p', f"robot_description:='{text}'").joint_names == ('hinge',)


def test_a_text_names_no_file(load):
    with pytest.raises(ModelError):
        load('-p', f'robot_description:={resolve_robot("arm7")}')


def test_a_robot_that_floats_is_refused_in_a_line_and_can_be_held(load, tmp_path):
    path = tmp_path / 'floating.urdf'
    path.write_text(Robot.from_urdf(resolve_robot('arm7'), floating_base=True).to_urdf())
    with pytest.raises(ModelError) as caught:
        load('-p', f'robot:={path}')
    assert caught.value.subject == 'floating_base'
    assert "base_link='link0'" in caught.value.remedy
    assert '\n' not in str(caught.value)
    assert load('-p', f'robot:={path}', '-p', 'base_link:=link0').n == 7
    assert load('-p', f'robot:={path}', '-p', 'joints:=[joint3]').joint_names == ('joint3',)


def test_gravity_is_the_one_given(load):
    robot = load('-p', 'robot:=arm7', '-p', 'gravity:=[0.0, 9.81, 0.0]')
    np.testing.assert_array_equal(robot.gravity, [0.0, 9.81, 0.0])
    with pytest.raises(ModelError, match='parameter gravity'):
        load('-p', 'robot:=arm7', '-p', 'gravity:=[9.81]')


def test_joints_are_chosen(load):
    robot = load('-p', 'robot:=arm7', '-p', 'joints:=[joint3, joint2]')
    assert robot.joint_names == ('joint3', 'joint2')


def test_dh_tables_keep_their_gravity(load, tmp_path):
    text = resolve_robot('puma560.yaml').read_text()
    path = tmp_path / 'puma.yaml'
    path.write_text(re.sub(r'^gravity:.*$', 'gravity: [0.0, -9.81, 0.0]', text, flags=re.M))
    robot = load('-p', f'robot:={path}')
    np.testing.assert_array_equal(robot.gravity, [0.0, -9.81, 0.0])
    chosen = load('-p', f'robot:={path}', '-p', f'joints:=[{robot.joint_names[1]}]')
    assert chosen.joint_names == robot.joint_names[1:2]
    np.testing.assert_array_equal(chosen.gravity, robot.gravity)
