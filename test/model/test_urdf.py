# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.description import JointKind
from robot_dynamics.model.inertia import com_from_parameters
from robot_dynamics.model.urdf import read_tree
from robot_dynamics.model.urdf_document import parse_document

JOINT = 'j revolute base tip|'


def read(text):
    return read_tree(parse_document(text, 'arm.urdf').root)


def joint_of(make_urdf, children, kind='revolute'):
    return read(make_urdf(f'j {kind} base tip|{children}')).joints['j']


def link_of(make_urdf, inertial):
    return read(make_urdf(JOINT, inertial=inertial)).links['tip']


def refusal(text):
    with pytest.raises(ModelError) as caught:
        read(text)
    assert caught.value.subject
    assert caught.value.remedy
    return caught.value


def test_defaults_of_the_specification(make_urdf):
    joint = joint_of(make_urdf, '')
    np.testing.assert_array_equal(joint.placement, np.eye(4))
    np.testing.assert_array_equal(joint.axis, [1.0, 0.0, 0.0])
    assert joint.limit is None
    assert joint.mimic is None
    assert (joint.damping, joint.friction, joint.armature) == (0.0, 0.0, 0.0)


def test_missing_numbers_of_elements(make_urdf):
    joint = joint_of(make_urdf, '<limit upper="2"/><dynamics damping="0.5"/><origin/><axis/>'
                                '<mimic joint="k"/><safety_controller k_velocity="9"/>')
    assert (joint.limit.lower, joint.limit.upper) == (0.0, 2.0)
    assert np.isnan(joint.limit.velocity)
    assert np.isnan(joint.limit.effort)
    assert (joint.damping, joint.friction, joint.armature) == (0.5, 0.0, 0.0)
    assert joint.soft_range == (0.0, 0.0)
    assert (joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset) == ('k', 1.0, 0.0)


def test_rotor_inertia_and_soft_limits(make_urdf):
    joint = joint_of(make_urdf, '<dynamics armature="0.25"/><safety_controller k_velocity="9" '
                                'soft_lower_limit="-1" soft_upper_limit="2"/>')
    assert joint.armature == 0.25
    assert joint.soft_range == (-1.0, 2.0)


def test_soft_limits_that_are_no_numbers_do_not_refuse_the_joint(make_urdf):
    joint = joint_of(make_urdf, '<safety_controller soft_lower_limit="${x}"/>')
    np.testing.assert_array_equal(joint.soft_range, [np.nan, np.nan])


def test_origin_is_turned_about_fixed_axes(make_urdf):
    joint = joint_of(make_urdf, '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>')
    cx, cy, cz = np.cos([0.1, 0.2, 0.3])
    sx, sy, sz = np.sin([0.1, 0.2, 0.3])
    x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    np.testing.assert_allclose(joint.placement[:3, :3], z @ y @ x, atol=1e-15)
    np.testing.assert_array_equal(joint.placement[:3, 3], [1.0, 2.0, 3.0])


def test_quaternion_origin(make_urdf):
    half = 0.35
    joint = joint_of(make_urdf, f'<origin quat_xyzw="0 0 {2 * np.sin(half)} {2 * np.cos(half)}"/>')
    turned = joint_of(make_urdf, '<origin rpy="0 0 0.7"/>')
    np.testing.assert_allclose(joint.placement, turned.placement, atol=1e-15)
    # About an axis that is none of x, y, z: rotation by a third of a turn permutes the axes.
    joint = joint_of(make_urdf, '<origin quat_xyzw="1 1 1 1"/>')
    np.testing.assert_allclose(joint.placement[:3, :3], [[0, 0, 1], [1, 0, 0], [0, 1, 0]],
                               atol=1e-15)


def test_axis_gets_unit_length(make_urdf):
    np.testing.assert_allclose(joint_of(make_urdf, '<axis xyz="0 3 -4"/>').axis, [0, 0.6, -0.8])


def test_fixed_joint_needs_no_axis_and_has_no_limit_nor_mimic(make_urdf):
    joint = joint_of(make_urdf, '<axis xyz="0 0 0"/><limit lower="2" upper="1"/>'
                                '<mimic joint="x"/>', kind='fixed')
    assert joint.kind is JointKind.FIXED
    assert joint.limit is None
    assert joint.mimic is None


def test_inertial_origin_turns_the_tensor(make_urdf):
    link = link_of(make_urdf, '<origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/>'
                              '<mass value="2"/><inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" '
                              'iyz="0" izz="0.25"/>')
    mass, com, tensor = com_from_parameters(link.parameters)
    assert mass == 2.0
    np.testing.assert_allclose(com, [0.1, 0, 0])
    np.testing.assert_allclose(tensor, [[0.2, -0.01, 0], [-0.01, 0.1, 0], [0, 0, 0.25]],
                               atol=1e-16)


def test_link_without_inertial_has_none(make_urdf):
    assert read(make_urdf(JOINT, inertial='')).links['tip'].parameters is None


def test_name_of_a_nameless_robot():
    assert read('<robot><link name="a"/></robot>').name == 'robot'


@pytest.mark.parametrize('children, words', [
    ('<axis xyz="0 0 0"/>', 'axis of length zero'),
    ('<axis xyz="0 1"/>', '<axis xyz="0 1"> in line'),
    ('<axis xyz="0 1 0 0"/>', 'must have 3 numbers'),
    ('<axis xyz="0,1,0"/>', 'must have 3 numbers'),
    ('<origin xyz="0 0 1,5"/>', 'must have numbers in'),
    ('<origin xyz="0 0 nan"/>', 'must have finite numbers'),
    ('<origin xyz="0 inf 0"/>', 'must have finite numbers'),
    ('<origin xyz="0 1e300 0"/>', 'must have finite numbers'),
    ('<origin xyz="0 1_0 0"/>', 'must have numbers in'),
    ('<origin xyz="0 ١ 0"/>', 'must have numbers in'),
    ('<origin rpy="0 0 90deg"/>', 'must have numbers in'),
    ('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', 'both rpy and quat_xyzw'),
    ('<origin quat_xyzw="0 0 0 0"/>', 'quaternion of length zero'),
    ('<origin/><origin/>', '2 <origin> elements'),
    ('<limit lower="1" upper="-1"/>', 'lower=1, upper=-1'),
    ('<limit lower="nan" upper="1"/>', 'lower=nan'),
    ('<limit lower="inf" upper="inf"/>', 'lower=inf'),
    ('<limit lower="-inf" upper="-inf"/>', 'upper=-inf'),
    ('<limit effort="strong"/>', 'effort="strong"'),
    ('<dynamics damping="-inf"/>', 'damping="-inf"'),
    ('<dynamics friction="-0.1"/>', 'negative friction -0.1'),
    ('<dynamics armature="-0.1"/>', 'negative armature -0.1'),
    ('<mimic/>', 'no joint in <mimic>'),
    ('<mimic joint="k" multiplier="x"/>', 'multiplier="x"'),
])
def test_joint_refusals_name_the_joint(make_urdf, children, words):
    error = refusal(make_urdf(JOINT + children))
    assert error.subject == 'j'
    assert words in error.message


@pytest.mark.parametrize('inertial, words', [
    ('<mass value="1"/>', 'has no <inertia>'),
    ('<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>', 'has no <mass>'),
    ('<mass/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>', 'no value in <mass>'),
    ('<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" izz="1"/>', 'no iyz'),
    ('<mass value="1 kg"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>',
     'value="1 kg"'),
])
def test_link_refusals_name_the_link(make_urdf, inertial, words):
    error = refusal(make_urdf(JOINT, inertial=inertial))
    assert error.subject == 'base'
    assert words in error.message


@pytest.mark.parametrize('text, subject, words', [
    ('<robot name="r"/>', 'r', 'no links'),
    ('<robot><link/></robot>', 'a <link>', 'no name (line 1)'),
    ('<robot>\n<link name="a"/>\n<link name="a"/></robot>', 'a', 'lines 2 and 3'),
    (f'<robot><link name="{"a" * 201}"/></robot>', 'a <link>', 'name of 201 characters'),
    ('<robot><link name="a&#10;b"/></robot>', 'a <link>', 'cannot be printed'),
    ('<robot name="a&#27;[31m"><link name="a"/></robot>', 'arm.urdf', 'reference to invalid'),
    ('<robot><link name="a"/><joint name="j" type="fixed"/></robot>', 'j', 'no <parent>'),
    ('<robot><link name="a"/><joint name="j"/></robot>', 'j', 'no type'),
    ('<robot><link name="a"/><joint name="j" type="hinge"/></robot>', 'j', "type 'hinge'"),
    ('<robot><link name="a"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/>'
     '</joint></robot>', 'j', "the link 'b', which is not described"),
])
def test_document_refusals(text, subject, words):
    error = refusal(text)
    assert error.subject == subject
    assert words in error.message


def test_two_parents(make_urdf):
    error = refusal(make_urdf('a fixed r x', 'b fixed r y', 'c fixed x z', 'd fixed y z'))
    assert error.subject == 'z'
    assert "'c' and 'd'" in error.message


@pytest.mark.parametrize('joints', [
    ('a fixed x x',),
    ('a fixed x y', 'b fixed y x'),
    ('r fixed base tip', 'a fixed x y', 'b fixed y z', 'c fixed z x'),
])
def test_loops(make_urdf, joints):
    error = refusal(make_urdf(*joints))
    assert error.subject == 'x'
    assert 'closed loop' in error.message


def test_two_joints_of_one_name(make_urdf):
    assert 'two joints' in refusal(make_urdf('a fixed x y', 'a fixed y z')).message
