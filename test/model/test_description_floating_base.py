# SPDX-License-Identifier: Apache-2.0
"""Robots that stand on nothing."""

import numpy as np
import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

LIMIT = '<limit lower="-2" upper="2" effort="5" velocity="3"/><axis xyz="0 1 0"/>'


@pytest.fixture
def arm(make_urdf):
    """A base with a mount, an arm of two joints and another."""
    return make_urdf('mount fixed root base|<origin xyz="0 0 1"/>',
                     f'a revolute base upper|{LIMIT}', f'b prismatic upper lower|{LIMIT}',
                     f'c revolute base other|{LIMIT}')


def test_the_root_floats(arm):
    robot = Robot.from_urdf(arm, floating_base=True)
    assert robot.base_name == 'world'
    assert robot.joint_names == ('floating_base', 'a', 'b', 'c')
    assert robot.body_names == ('root', 'upper', 'lower', 'other')
    assert robot.parents.tolist() == [-1, 0, 1, 0]
    assert robot.joint_types[0] == JointType.FLOATING
    np.testing.assert_array_equal(robot.placements[0], np.eye(4))
    assert (robot.n, robot.nq) == (9, 10)
    assert robot.findings == ()
    assert repr(robot) == '<Robot made: 4 joints with 9 velocities, 4 moving bodies, 5 kg>'


def test_what_stood_still_counts(arm):
    """Root and base, a metre above, are one body."""
    robot, fixed = (Robot.from_urdf(arm, floating_base=floats) for floats in (True, False))
    np.testing.assert_array_equal(robot.inertial_parameters[1:], fixed.inertial_parameters)
    np.testing.assert_allclose(robot.inertial_parameters[0, :4], [2, 0.2, 0.4, 1.6])
    np.testing.assert_array_equal(robot.frames['base'].pose[:3, 3], [0, 0, 1])


def test_another_link_floats(arm):
    robot = Robot.from_urdf(arm, floating_base=True, base_link='upper')
    assert robot.joint_names == ('floating_base', 'b')
    assert robot.body_names == ('upper', 'lower')


def test_the_joint_is_one_like_the_others(arm):
    held = Robot.from_urdf(arm, floating_base=True, locked={'floating_base': 0})
    assert held.joint_names == ('a', 'b', 'c')
    assert held.base_name == 'world'
    turned = Robot.from_urdf(arm, floating_base=True, joints=['c', 'floating_base'])
    assert turned.joint_names == ('c', 'floating_base')
    assert turned.coordinates.velocities('floating_base') == slice(1, 7)


def test_names_that_are_taken(make_urdf):
    text = make_urdf(f'floating_base revolute world x|{LIMIT}')
    robot = Robot.from_urdf(text, floating_base=True)
    assert robot.base_name == 'world_2'
    assert robot.body_names == ('world', 'x')
    assert robot.joint_names == ('floating_base_2', 'floating_base')


def test_a_robot_that_floats_already(make_urdf):
    text = make_urdf('free floating world base|', f'a revolute base x|{LIMIT}',
                     links='<link name="world"/>')
    assert Robot.from_urdf(text).joint_names == ('free', 'a')
    with pytest.raises(ModelError, match='free is a floating base already; omit'):
        Robot.from_urdf(text, floating_base=True)
    assert Robot.from_urdf(text, floating_base=True, base_link='base').n == 7


def test_a_massless_base_is_found(make_urdf):
    """A mass matrix that is singular in every pose is told of, once for the joint."""
    text = make_urdf(f'a revolute base x|{LIMIT}', links='<link name="base"/>')
    assert Robot.from_urdf(text).findings == ()
    warned = {finding.subject for finding in Robot.from_urdf(text, floating_base=True).findings
              if 'singular' in finding.message}
    assert warned == {'floating_base', 'a'}


def test_the_limits_of_what_floats_are_none(arm):
    robot = Robot.from_urdf(arm, floating_base=True)
    assert np.all(np.isinf(robot.limits.lower[:6]))
    assert np.all(np.isnan(robot.limits.effort[:6]))
    np.testing.assert_array_equal(robot.limits.upper[6:], [2, 2, 2])


def test_coefficients_of_a_planar_joint_do_not_count(make_urdf):
    text = make_urdf('cart planar world base|<dynamics damping="3" friction="2"/>'
                     '<limit lower="-1" upper="1" effort="1" velocity="1"/>',
                     f'a revolute base x|{LIMIT}<dynamics damping="0.5" friction="0.1"/>')
    robot = Robot.from_urdf(text)
    np.testing.assert_array_equal(robot.damping, [0, 0, 0, 0.5])
    np.testing.assert_array_equal(robot.friction, [0, 0, 0, 0.1])
    assert np.all(np.isinf(robot.limits.lower[:3]))
    (finding,) = robot.findings
    assert finding.subject == 'cart'
    assert 'are ignored' in finding.message


def test_a_planar_joint_turns_without_end(make_urdf):
    robot = Robot.from_urdf(make_urdf('cart planar world base|', f'a revolute base x|{LIMIT}'))
    assert robot.is_continuous.tolist() == [False, False, True, False]


def test_nothing_can_follow_a_floating_joint(make_urdf):
    text = make_urdf('free floating world base|',
                     f'a revolute base x|{LIMIT}<mimic joint="free"/>')
    with pytest.raises(ModelError, match="a mimics 'free', which is floating"):
        Robot.from_urdf(text)
