# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.robot import examine_robot
from robot_dynamics.model.shipped import shipped_robots

ROOT = Path(__file__).resolve().parents[3]


def levels(examination):
    return {(remark.level, remark.subject) for remark in examination.remarks
            if remark.level >= Level.WARNING}


@pytest.mark.parametrize('name', sorted(set(shipped_robots()) - {'puma560.yaml'}))
def test_the_robots_here_are_well(name):
    examination = examine_robot(name)
    assert levels(examination) == set()
    assert examination.exit_status == 0
    assert [section.title for section in examination.sections] == [
        'description', 'masses', 'limits', 'control']


def test_a_description_that_no_body_can_have_is_an_error():
    # PUMA 560 as published: link 1 has inertia and no mass, of link 3 the triangle breaks.
    examination = examine_robot('puma560.yaml')
    assert levels(examination) == {(Level.WARNING, 'link1'), (Level.WARNING, 'link3'),
                                   (Level.ERROR, 'link1')}
    assert examination.exit_status == 1


def test_what_cannot_be_read_is_the_one_remark():
    examination = examine_robot('nothing.urdf')
    (remark,) = examination.remarks
    assert (remark.level, remark.subject) == (Level.ERROR, 'nothing.urdf')
    assert remark.remedy
    assert examination.exit_status == 1


@pytest.mark.parametrize(('name', 'level', 'words'), [
    ('urdf_unphysical_inertia/triangle.urdf', Level.WARNING, 'no rigid body has this inertia'),
    ('urdf_unphysical_inertia/triangle.urdf', Level.ERROR, 'cannot be a rigid body'),
    ('urdf_zero_or_no_limits/zero_limits.urdf', Level.ERROR, 'has no finite limit above zero'),
    ('urdf_missing_inertial/massless_tip.urdf', Level.WARNING, 'moves no inertia'),
    ('urdf_xacro_leftover/unresolved.urdf', Level.ERROR, 'xacro'),
])
def test_what_is_wrong_with_descriptions_found_in_the_wild(cases, name, level, words):
    remarks = examine_robot(str(cases / name)).remarks
    assert any(remark.level is level and words in remark.message for remark in remarks), remarks


def test_the_table_says_units_and_what_is_missing(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text("""<robot name="arm"><link name="base"/><link name="a"/><link name="b"/>
        <joint name="turn" type="continuous"><parent link="base"/><child link="a"/></joint>
        <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
          <limit lower="0" upper="0.4" velocity="1" effort="50"/></joint></robot>""")
    examination = examine_robot(str(path))
    assert examination.subject == 'arm: 2 joints, 1 of them prismatic, 0 kg moving'
    assert examination.table == ('  turn  without limits            no effort limit',
                                 '  slide    0.000 to   0.400 m     effort to 50 N')
    assert (Level.ERROR, 'turn') in levels(examination)


CART = """<robot name="cart"><link name="world"/>
    <link name="cart"><inertial><mass value="5"/><origin xyz="0 0 .1"/>
      <inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial></link>
    <link name="arm"><inertial><mass value="1"/><origin xyz="0 0 .2"/>
      <inertia ixx=".01" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/></inertial></link>
    <joint name="drive" type="planar"><parent link="world"/><child link="cart"/></joint>
    <joint name="lift" type="prismatic"><parent link="cart"/><child link="arm"/>
      <limit lower="0" upper="0.5" effort="90" velocity="2"/></joint></robot>"""


def test_a_robot_that_is_no_arm(tmp_path):
    path = tmp_path / 'cart.urdf'
    path.write_text(CART)
    examination = examine_robot(str(path))
    assert examination.table == ('  drive planar',
                                 '  lift     0.000 to   0.500 m     effort to 90 N')
    assert examination.subject == 'cart: 2 joints, 1 of them prismatic, 6 kg moving'
    (remark,) = [remark for remark in examination.remarks if remark.level is Level.ERROR]
    assert remark.subject == 'drive' and 'base_link' in remark.remedy
