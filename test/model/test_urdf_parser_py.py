# SPDX-License-Identifier: Apache-2.0
"""urdf_parser_py, the parser that ROS knows as urdfdom_py, judges our reader of URDF.

Whatever it reads, both hold the same robot. What it refuses, and what it loses, is the
reason why it is not the reader itself; `robot_dynamics.model.urdf_document` lists it.
"""

import contextlib
import io
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from urdf_parser_py import urdf as peer
from urdf_parser_py.xml_reflection.core import ParseError

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots
from robot_dynamics.model.urdf import read_tree
from robot_dynamics.model.urdf_document import parse_document

#: Files that urdf_parser_py refuses, and what it says.
REFUSED = {
    'stretch4': (ParseError, r'(?s)material.*color.*Invalid vector length'),
    'ur5e_unbound_prefix': (ElementTree.ParseError, 'unbound prefix'),
}
#: Everything it holds of a description: what is compared below, and what moves nothing.
COMPARED = {
    peer.Robot: ({'name', 'links', 'joints'},
                 {'version', 'gazebos', 'transmissions', 'materials'}),
    # An <origin> of a link itself is in no specification.
    peer.Link: ({'name', 'inertial'}, {'visuals', 'collisions', 'origin'}),
    peer.Inertial: ({'mass', 'origin', 'inertia'}, set()),
    peer.Joint: ({'name', 'type', 'parent', 'child', 'origin', 'axis', 'limit', 'dynamics',
                  'mimic', 'safety_controller'}, {'calibration'}),
    peer.JointLimit: ({'lower', 'upper', 'velocity', 'effort'}, set()),
    peer.SafetyController: ({'soft_lower_limit', 'soft_upper_limit'},
                            {'k_position', 'k_velocity'}),
    peer.JointDynamics: ({'damping', 'friction'}, set()),
    peer.JointMimic: ({'joint', 'multiplier', 'offset'}, set()),
    peer.Pose: ({'xyz', 'rpy'}, set()),
}


def read_by_peer(text):
    """Its robot, and what it wrote to stderr."""
    chatter = io.StringIO()
    with contextlib.redirect_stderr(chatter):
        robot = peer.URDF.from_xml_string(text)
    return robot, chatter.getvalue()


def read_by_us(text):
    return read_tree(parse_document(text, 'text').root)


def file_of(shared, name):
    return (shared / 'data' / 'urdf' / f'{name}.urdf').read_text(encoding='utf-8')


def assert_same_robot(text):
    """Compare everything that both readers hold of a description; return ours."""
    theirs, ours = read_by_peer(text)[0], read_by_us(text)
    assert ours.name == theirs.name
    assert list(ours.links) == [link.name for link in theirs.links]
    assert list(ours.joints) == [joint.name for joint in theirs.joints]
    for link in theirs.links:
        assert_same_inertia(link, ours.links[link.name])
    for joint in theirs.joints:
        assert_same_joint(joint, ours.joints[joint.name])
    return ours


def assert_same_inertia(theirs, ours):
    if theirs.inertial is None:
        assert ours.parameters is None
        return
    rotation, com = pose_of(theirs.inertial.origin)
    mass = theirs.inertial.mass
    tensor = rotation @ np.array(theirs.inertial.inertia.to_matrix()) @ rotation.T
    about_origin = tensor + mass * (com @ com * np.eye(3) - np.outer(com, com))
    expected = [mass, *(mass * com), *about_origin[np.triu_indices(3)]]
    np.testing.assert_allclose(ours.parameters, expected, rtol=1e-12,
                               atol=1e-14 * np.max(np.abs(expected)))


def assert_same_joint(theirs, ours):
    assert ours.kind.value == theirs.type
    assert (ours.parent, ours.child) == (theirs.parent, theirs.child)
    rotation, position = pose_of(theirs.origin)
    np.testing.assert_allclose(ours.placement[:3, :3], rotation, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(ours.placement[:3, 3], position)
    np.testing.assert_array_equal(ours.link_offset, np.zeros(3))
    dynamics = theirs.dynamics or peer.JointDynamics()
    assert (ours.damping, ours.friction) == (dynamics.damping or 0.0, dynamics.friction or 0.0)
    if not ours.kind.has_coordinate:
        # What stands there means nothing: such a joint is only ever held.
        assert (ours.limit, ours.mimic, ours.soft_range) == (None, None, None)
        return
    axis = np.array([1.0, 0.0, 0.0] if theirs.axis is None else theirs.axis)
    np.testing.assert_allclose(ours.axis, axis / np.linalg.norm(axis), rtol=0, atol=1e-15)
    assert limits_of(ours.limit) == limits_of(theirs.limit)
    soft = theirs.safety_controller
    assert ours.soft_range == (soft and (soft.soft_lower_limit, soft.soft_upper_limit))
    assert (ours.mimic is None) == (theirs.mimic is None)
    if theirs.mimic is not None:
        multiplier = 1.0 if theirs.mimic.multiplier is None else theirs.mimic.multiplier
        assert (ours.mimic.joint, ours.mimic.multiplier, ours.mimic.offset) \
            == (theirs.mimic.joint, multiplier, theirs.mimic.offset or 0.0)


def pose_of(origin):
    """Rotation and position of an origin."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    return Rotation.from_euler('xyz', origin.rpy).as_matrix(), np.array(origin.xyz)


def limits_of(limit):
    return limit and (limit.lower, limit.upper, limit.velocity, limit.effort)


# The same robot ----------------------------------------------------------------


def test_every_field_is_compared_or_moves_nothing():
    for kind, (compared, idle) in COMPARED.items():
        assert set(kind.XML_REFL.vars) == compared | idle, kind


def test_every_file(shared):
    files = sorted((shared / 'data' / 'urdf').glob('*.urdf'))
    read = [path for path in files if path.stem not in REFUSED]
    joints = sum(len(assert_same_robot(path.read_text(encoding='utf-8')).joints)
                 for path in read)
    assert len(files) == len(read) + len(REFUSED)
    assert joints > 200


@pytest.mark.parametrize('name', [name for name, path in shipped_robots().items()
                                  if path.suffix == '.urdf'])
def test_shipped_robot_and_how_it_is_written_back(name):
    path = shipped_robots()[name]
    assert_same_robot(path.read_text(encoding='utf-8'))
    assert_same_robot(Robot.from_urdf(path).to_urdf())


@pytest.mark.parametrize('name', ['Panda', 'Puma560', 'TwoLink', 'UR10'])
def test_dh_table_as_urdf(shared, name):
    robot = Robot.from_dh(shared / 'data' / 'dh' / f'{name}.json')
    tree = assert_same_robot(robot.to_urdf())
    moving = [joint.name for joint in tree.joints.values() if joint.kind.has_coordinate]
    assert tuple(moving) == robot.joint_names


@pytest.mark.parametrize('seed', range(40))
def test_random_tree_and_how_it_is_written_back(random_urdf, seed):
    text, locked = random_urdf(np.random.default_rng(seed))
    tree = assert_same_robot(text)
    robot = Robot.from_urdf(text, locked=locked)
    written = assert_same_robot(robot.to_urdf())
    assert set(written.links) == set(tree.links)
    moving = {joint.name for joint in tree.joints.values()
              if joint.kind.has_coordinate and joint.name not in locked}
    assert {joint.name for joint in written.joints.values() if joint.kind.has_coordinate} == moving


# What it refuses or loses, and we do not -----------------------------------------


@pytest.mark.parametrize('name', REFUSED)
def test_file_that_it_refuses(shared, name):
    error, reason = REFUSED[name]
    with pytest.raises(error, match=reason):
        read_by_peer(file_of(shared, name))
    assert read_by_us(file_of(shared, name)).joints


@pytest.mark.parametrize('limit', ['<limit lower="-1" upper="1" velocity="1"/>',
                                   '<limit lower="-1" upper="1" effort="1"/>'])
def test_it_refuses_a_limit_without_effort_or_velocity(make_urdf, limit):
    text = make_urdf(f'j revolute a b|{limit}')
    with pytest.raises(ParseError, match='Required attribute not set in XML'):
        read_by_peer(text)
    assert [finding.subject for finding in Robot.from_urdf(text).findings] == ['j']


@pytest.mark.parametrize(('element', 'reason'), [
    ('<link name="x"><visual/></link>', 'geometry'),
    ('<link name="x"><collision><geometry><capsule radius="1" length="2"/></geometry></collision>'
     '</link>', 'capsule'),
    ('<link name="x"><visual><geometry><mesh/></geometry></visual></link>', 'filename'),
    ('<transmission name="t"><type>a</type><joint name="j"/></transmission>', 'transmission'),
    ('<material name="grey"><color rgba="1 1 1"/></material>', 'Invalid vector length'),
])
def test_it_refuses_a_robot_for_what_never_moves(element, reason):
    text = f'<robot name="r"><link name="a"/>{element}</robot>'
    with pytest.raises(Exception, match=reason):
        read_by_peer(text)
    assert 'a' in read_by_us(text).links


@pytest.mark.parametrize('version', ['1.1', '2'])
def test_it_refuses_other_versions(version):
    text = f'<robot name="r" version="{version}"><link name="a"/></robot>'
    with pytest.raises((ParseError, ValueError), match='ersion'):
        read_by_peer(text)
    assert list(read_by_us(text).links) == ['a']


def test_it_takes_two_links_of_one_name(make_urdf):
    text = make_urdf('j revolute a b|', links='<link name="a"/><link name="a"/>')
    robot, _ = read_by_peer(text)
    assert len(robot.links) == 3
    with pytest.raises(ModelError, match='is the name of two links'):
        read_by_us(text)


@pytest.mark.parametrize('again', ['<mass value="9"/>', '<origin xyz="9 9 9"/>'])
def test_it_takes_the_first_of_two(make_urdf, again):
    inertial = ('<mass value="1"/><origin xyz="0.1 0.2 0.3"/><inertia ixx="1" ixy="0" ixz="0" '
                'iyy="1" iyz="0" izz="1"/>')
    text = make_urdf('j revolute a b|', inertial=inertial + again)
    robot, chatter = read_by_peer(text)
    assert robot.links[0].inertial.mass == 1.0
    assert 'multiple times' in chatter
    with pytest.raises(ModelError, match='has 2 <'):
        read_by_us(text)


def test_it_loses_a_rotation_given_as_a_quaternion(make_urdf):
    text = make_urdf('j revolute a b|<origin xyz="1 2 3" quat_xyzw="1 0 0 0"/>')
    robot, chatter = read_by_peer(text)
    assert robot.joints[0].origin.rpy == [0, 0, 0]
    assert 'quat_xyzw' in chatter
    np.testing.assert_array_equal(np.diag(read_by_us(text).joints['j'].placement),
                                  [1.0, -1.0, -1.0, 1.0])


@pytest.mark.parametrize('number', ['nan', '1_0', '１'])
def test_it_takes_for_a_number_what_only_python_does(make_urdf, number):
    text = make_urdf(f'j revolute a b|<origin xyz="{number} 0 0"/>')
    assert len(read_by_peer(text)[0].joints[0].origin.xyz) == 3
    with pytest.raises(ModelError, match='origin xyz'):
        read_by_us(text)


def test_it_writes_to_stderr_for_every_vendor_element_and_attribute(make_urdf, capfd):
    text = make_urdf('j revolute a b|<limit lower="-1" upper="1" effort="1" velocity="1" '
                     'acceleration="5"/><jerk/>')
    chatter = read_by_peer(text)[1]
    assert 'Unknown attribute "acceleration"' in chatter
    assert 'Unknown tag "jerk"' in chatter
    read_by_us(text)
    assert capfd.readouterr() == ('', '')


def test_it_expands_entities():
    text = '<!DOCTYPE r [<!ENTITY a "xy">]><robot name="&a;&a;"/>'
    assert read_by_peer(text)[0].name == 'xyxy'
    with pytest.raises(ModelError, match='DOCTYPE'):
        read_by_us(text)


def test_it_names_neither_joint_nor_line(make_urdf):
    text = make_urdf('j revolute a b|<axis xyz="1 2"/>')
    with pytest.raises(AssertionError) as theirs:
        read_by_peer(text)
    assert str(theirs.value) == 'Invalid vector length'
    with pytest.raises(ModelError, match='in line 5') as ours:
        read_by_us(text)
    assert ours.value.subject == 'j'


@pytest.mark.parametrize('name', ['arm7', 'rpr', 'puma560', 'two_link_payload'])
def test_its_robot_is_read_and_written(name):
    robot = Robot.from_urdf(name)
    chatter = io.StringIO()
    with contextlib.redirect_stderr(chatter):
        theirs = robot.to_urdf_parser_py()
        again = Robot.from_urdf(theirs, gravity=robot.gravity)
    assert isinstance(theirs, peer.URDF)
    assert chatter.getvalue() == ''
    assert again.joint_names == robot.joint_names
    for field in ('placements', 'axes', 'inertial_parameters', 'damping', 'friction'):
        np.testing.assert_allclose(getattr(again, field), getattr(robot, field), rtol=0,
                                   atol=1e-12)
    np.testing.assert_array_equal(again.limits.effort, robot.limits.effort)


def test_its_robot_takes_the_options_of_a_file():
    theirs = peer.URDF.from_xml_string(shipped_robots()['arm7'].read_text(encoding='utf-8'))
    assert Robot.from_urdf(theirs, joints=['joint2', 'joint1']).joint_names == ('joint2', 'joint1')


def test_rotor_inertia_is_left_out():
    robot = Robot.from_dh('puma560')
    assert np.any(robot.armature)
    assert not np.any(Robot.from_urdf(robot.to_urdf_parser_py()).armature)


def test_its_incomplete_robot_is_an_error_of_this_package():
    theirs = peer.URDF(name='half')
    theirs.add_joint(peer.Joint(name='j'))
    with pytest.raises(ModelError, match='of urdf_parser_py cannot be written as XML'):
        Robot.from_urdf(theirs)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, 'urdf_parser_py.urdf', None)
    with pytest.raises(ModelError, match=r'not installed; run: .* -m pip install urdf-parser-py,'):
        Robot.from_urdf('arm7').to_urdf_parser_py()
