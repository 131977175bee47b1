# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.urdf_text import judge_described, read_described
from robot_dynamics.model.robot import Robot

INERTIAL = ('<inertial><mass value="1"/><origin xyz="0 0 0.1"/>'
            '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>')
SHAPE = '<visual><geometry><mesh filename="{mesh}"/></geometry></visual>'


def urdf(*, mesh='package://x/a.stl', hand=INERTIAL, control=''):
    return f"""<robot name="arm"><link name="base">{SHAPE.format(mesh=mesh)}</link>
        <link name="a">{SHAPE.format(mesh=mesh)}{INERTIAL}</link>
        <link name="hand">{SHAPE.format(mesh=mesh)}{hand}</link><link name="tip"/>
        <joint name="j1" type="continuous"><parent link="base"/><child link="a"/></joint>
        <joint name="j2" type="continuous"><parent link="a"/><child link="hand"/></joint>
        <joint name="f" type="fixed"><parent link="hand"/><child link="tip"/></joint>
        {control}</robot>"""


def remarks(text):
    return judge_described(read_described(text), Robot.from_urdf(text.encode()))


def control(*joints):
    return '<ros2_control name="x" type="system">' + ''.join(
        f'<joint name="{name}">' + ''.join(f'<command_interface name="{interface}"/>'
                                           for interface in interfaces)
        + '<state_interface name="effort"/></joint>' for name, *interfaces in joints) \
        + '</ros2_control>'


def test_nothing_to_say():
    assert remarks(urdf()) == []
    assert remarks(urdf(control=control(('j1', 'effort'), ('j2', 'position', 'effort')))) == []


def test_a_mesh_weighs_nothing():
    (remark,) = remarks(urdf(hand=''))
    # The base has a shape only, too, and is carried by nobody; the tip is a frame.
    assert remark.subject == 'hand'
    assert remark.level is Level.NOTE and '<inertial>' in remark.message


def test_what_xacro_left_is_named_with_its_line():
    (remark,) = remarks(urdf(mesh='$(find x)/a.stl'))
    assert remark.level is Level.WARNING
    assert 'filename="$(find x)/a.stl"> in line 1' in remark.message


@pytest.mark.parametrize(('joints', 'subject', 'offered'), [
    ([('j1', 'effort'), ('j2', 'position', 'velocity')], 'j2', 'position, velocity only'),
    ([('j1', 'position')], 'j1, j2', 'position only'), ([], 'j1, j2', 'no command interface')])
def test_joints_that_cannot_be_commanded_an_effort(joints, subject, offered):
    (remark,) = remarks(urdf(control=control(*joints)))
    assert (remark.level, remark.subject) == (Level.WARNING, subject)
    assert offered in remark.message


def test_prefixes_need_no_declaration_and_declared_encodings_do_not_matter():
    text = "<?xml version='1.0' encoding='UTF-16'?>" + urdf().replace(
        '<link name="tip"/>', '<link name="tip"><drake:thing x="1"/></link>')
    assert remarks(text) == []
