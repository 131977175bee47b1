# SPDX-License-Identifier: Apache-2.0
"""A robot description: text, masses, gravity and limits."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.robot import (
    check_gravity,
    check_limits,
    check_masses,
    check_robot,
    check_strength,
    check_text,
    effort_needs,
    reach,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots

ROOT = Path(__file__).resolve().parents[3]


def levels(report):
    return {(result.level, result.subject) for result in report.results
            if result.level >= Level.WARNING}


@pytest.mark.parametrize('name', sorted(set(shipped_robots()) - {'puma560.yaml'}))
def test_the_robots_here_are_well(name):
    report = check_robot(name)
    assert levels(report) == set()
    assert report.exit_status == 0
    assert [section.title for section in report.sections] == [
        'description', 'masses', 'limits', 'control']


def test_a_description_that_no_body_can_have_is_an_error():
    # PUMA 560 as published: link 1 has inertia and no mass, of link 3 the triangle breaks.
    report = check_robot('puma560.yaml')
    assert levels(report) == {(Level.WARNING, 'link1'), (Level.WARNING, 'link3'),
                                   (Level.ERROR, 'link1')}
    assert report.exit_status == 1


def test_an_unreadable_robot_gives_one_result():
    report = check_robot('nothing.urdf')
    (result,) = report.results
    assert (result.level, result.subject) == (Level.ERROR, 'nothing.urdf')
    assert result.remedy
    assert report.exit_status == 1


@pytest.mark.parametrize(('name', 'level', 'words'), [
    ('urdf_unphysical_inertia/triangle.urdf', Level.WARNING, 'no rigid body can have'),
    ('urdf_unphysical_inertia/triangle.urdf', Level.ERROR, 'cannot be a rigid body'),
    ('urdf_zero_or_no_limits/zero_limits.urdf', Level.ERROR, 'must have a finite effort limit'),
    ('urdf_missing_inertial/massless_tip.urdf', Level.WARNING, 'moves no inertia'),
    ('urdf_xacro_leftover/unresolved.urdf', Level.ERROR, 'xacro'),
])
def test_what_is_wrong_with_descriptions_found_in_the_wild(cases, name, level, words):
    results = check_robot(str(cases / name)).results
    assert any(result.level is level and words in result.message for result in results), results


def test_the_table_has_units_and_missing_limits(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text("""<robot name="arm"><link name="base"/><link name="a"/><link name="b"/>
        <joint name="turn" type="continuous"><parent link="base"/><child link="a"/></joint>
        <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
          <limit lower="0" upper="0.4" velocity="1" effort="50"/></joint></robot>""")
    report = check_robot(str(path))
    assert report.subject == 'arm: 2 joints, 1 of them prismatic, 0 kg moving'
    assert report.table == ('  turn  without limits            no effort limit',
                                 '  slide    0.000 to   0.400 m     effort to 50 N')
    assert (Level.ERROR, 'turn') in levels(report)


CART = """<robot name="cart"><link name="world"/>
    <link name="cart"><inertial><mass value="5"/><origin xyz="0 0 .1"/>
      <inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial></link>
    <link name="arm"><inertial><mass value="1"/><origin xyz="0 0 .2"/>
      <inertia ixx=".01" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/></inertial></link>
    <joint name="drive" type="planar"><parent link="world"/><child link="cart"/></joint>
    <joint name="lift" type="prismatic"><parent link="cart"/><child link="arm"/>
      <limit lower="0" upper="0.5" effort="90" velocity="2"/></joint></robot>"""


def test_joints_of_several_coordinates(tmp_path):
    path = tmp_path / 'cart.urdf'
    path.write_text(CART)
    report = check_robot(str(path))
    assert report.table == ('  drive planar',
                                 '  lift     0.000 to   0.500 m     effort to 90 N')
    assert report.subject == 'cart: 2 joints, 1 of them prismatic, 6 kg moving'
    (result,) = [result for result in report.results if result.level is Level.ERROR]
    assert result.subject == 'drive' and 'base_link' in result.remedy


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


def results(text):
    return check_text(text, Robot.from_urdf(text.encode()))


def control(*joints):
    return '<ros2_control name="x" type="system">' + ''.join(
        f'<joint name="{name}">' + ''.join(f'<command_interface name="{interface}"/>'
                                           for interface in interfaces)
        + '<state_interface name="effort"/></joint>' for name, *interfaces in joints) \
        + '</ros2_control>'


def test_nothing_to_say():
    assert results(urdf()) == []
    assert results(urdf(control=control(('j1', 'effort'), ('j2', 'position', 'effort')))) == []


def test_a_mesh_weighs_nothing():
    (result,) = results(urdf(hand=''))
    # The base has a shape only, too, and moves no mass; the tip is a frame.
    assert result.subject == 'hand'
    assert result.level is Level.NOTE and '<inertial>' in result.message


def test_what_xacro_left_is_named_with_its_line():
    (result,) = results(urdf(mesh='$(find x)/a.stl'))
    assert result.level is Level.WARNING
    assert 'filename="$(find x)/a.stl"> in line 1' in result.message


@pytest.mark.parametrize(('joints', 'subject', 'offered'), [
    ([('j1', 'effort'), ('j2', 'position', 'velocity')], 'j2', 'position, velocity only'),
    ([('j1', 'position')], 'j1, j2', 'position only'), ([], 'j1, j2', 'no command interface')])
def test_joints_that_cannot_be_commanded_an_effort(joints, subject, offered):
    (result,) = results(urdf(control=control(*joints)))
    assert (result.level, result.subject) == (Level.WARNING, subject)
    assert offered in result.message


def test_prefixes_need_no_declaration_and_declared_encodings_do_not_matter():
    text = "<?xml version='1.0' encoding='UTF-16'?>" + urdf().replace(
        '<link name="tip"/>', '<link name="tip"><drake:thing x="1"/></link>')
    assert results(text) == []


def scaled(robot, *, mass=1.0, first=1.0, inertia=1.0):
    """Robot with mistaken units: inertia is that about the centre of mass."""
    from robot_dynamics.model.inertia import com_from_parameters, parameters_from_com
    m, com, tensor = com_from_parameters(robot.inertial_parameters)
    return robot.with_parameters(parameters_from_com(mass * m, first * com, inertia * tensor))


def in_millimetres(robot):
    placements = robot.placements.copy()
    placements[:, :3, 3] *= 1000.0
    frames = {}
    for name, frame in robot.frames.items():
        pose = frame.pose.copy()
        pose[:3, 3] *= 1000.0
        frames[name] = replace(frame, pose=pose)
    return replace(robot, placements=placements, frames=frames)


def messages(results, level=Level.WARNING):
    return [f'{result.message}; {result.remedy}' for result in results if result.level is level]


@pytest.mark.parametrize('name', shipped_robots())
def test_the_robots_here_look_right(name, is_well):
    assert is_well(check_masses(load_description(name).robot))


@pytest.mark.parametrize(('mistake', 'words'), [
    ({'mass': 1e3}, 'were they written in grams?'),
    ({'mass': 1e-3}, 'in tonnes'),
    ({'inertia': 1e6}, 'was it written in kg mm^2?'),
    ({'inertia': 1e9}, 'was it written in g mm^2?'),
    ({'inertia': 1e-8}, 'a radius of gyration below a millimetre'),
    ({'first': 1e3}, 'the origin of <inertial> is in metres'),
    ({'first': 0.0}, 'every centre of mass in the origin of its link')])
def test_units_that_were_mistaken(robot, mistake, words):
    found = messages(check_masses(scaled(robot, **mistake)))
    assert len([text for text in found if words in text]) >= 1, found


def test_equal_results_of_several_links_are_merged(robot):
    found = check_masses(scaled(robot, mass=1e3))
    assert len(found) == 1 and found[0].subject == 'arm7'


def test_masses_are_not_guessed_without_a_reach():
    text = load_description('planar_2r').urdf
    robot = Robot.from_urdf(re.sub(r'xyz="[^"]*"', 'xyz="0 0 1e-9"', text.replace(
        '<axis xyz="0 0 1"/>', '<axis  XYZ/>')).replace('<axis  XYZ/>', '<axis xyz="0 0 1"/>'))
    assert reach(robot) < 1e-6
    assert not any('grams' in text for text in messages(check_masses(robot)))


def test_lengths_in_millimetres(robot):
    (found,) = messages(check_masses(in_millimetres(robot)))
    assert 'were they written in millimetres?' in found


def test_placeholders(robot):
    same = np.tile(robot.inertial_parameters[2], (robot.n, 1))
    (found,) = messages(check_masses(robot.with_parameters(same)))
    assert 'look like placeholders' in found


def test_a_robot_without_mass_is_left_to_the_reader(robot):
    assert check_masses(robot.with_parameters(np.zeros((robot.n, 10)))) == []


def test_reach_adds_lengths_and_strokes(robot):
    assert 0.9 < reach(robot) < 1.1
    # 2.1 m: 0.5 m, a stroke of 1.5 m and a hand of 0.1 m.
    rpr = load_description('rpr').robot
    assert reach(rpr) > rpr.limits.upper[1]


@pytest.mark.parametrize(('gravity', 'level', 'words'), [
    ((0.0, 0.0, -9.81), Level.OK, '9.81 m/s^2 along -z of'),
    ((0.0, 9.81, 0.0), Level.NOTE, 'along +y'),
    ((0.0, -6.9367, -6.9367), Level.NOTE, 'along (0.00, -0.71, -0.71)'),
    ((0.0, 0.0, -9810.0), Level.WARNING, '9810 m/s^2'),
    ((0.0, 0.0, -1.62), Level.WARNING, '1.62 m/s^2'),
    ((0.0, 0.0, 0.0), Level.NOTE, 'is zero')])
def test_gravity(robot, gravity, level, words):
    (result,) = check_gravity(robot.with_gravity(gravity))
    assert result.level is level
    assert words in result.message


def with_limits(robot, **limits):
    return replace(robot, limits=replace(robot.limits, **{
        name: np.full(robot.n, value) if np.isscalar(value) else value
        for name, value in limits.items()}))


def test_limits_as_they_should_be(robot):
    (result,) = check_limits(robot)
    assert result.level is Level.OK
    assert result.message == 'positions of 7, speeds of 7 and efforts of 7 of 7 joints'
    (result,) = check_limits(with_limits(robot, velocity=np.nan, lower=-np.inf, upper=np.inf))
    assert result.message == 'positions of 0, speeds of 0 and efforts of 7 of 7 joints'


@pytest.mark.parametrize(('limits', 'words'), [
    ({'lower': -170.0, 'upper': 170.0}, 'were they written in degrees?'),
    ({'velocity': 180.0}, 'was it written in degrees per second?')])
def test_degrees(robot, limits, words):
    (result,) = check_limits(with_limits(robot, **limits))
    assert result.level is Level.WARNING
    assert words in result.remedy
    assert result.subject == ', '.join(robot.joint_names)


def test_millimetres():
    robot = load_description('rpr').robot
    upper = robot.limits.upper.copy()
    upper[1] = 1500.0
    (result,) = check_limits(with_limits(robot, upper=upper))
    assert result.subject == 'joint2'
    assert 'were they written in millimetres?' in result.remedy


@pytest.mark.parametrize('name', ['arm7', 'rpr'])
def test_positions_that_stand_for_no_limit(name):
    robot = load_description(name).robot
    result, *_ = check_limits(with_limits(robot, lower=-1e4, upper=1e4))
    assert result.level is Level.NOTE
    assert 'moves from -10000 to 10000' in result.message
    assert 'which limits nothing' in result.message


def test_a_slide_without_a_limit_makes_no_arm_of_kilometres():
    robot = with_limits(load_description('rpr').robot, lower=-1e4, upper=1e4)
    assert reach(robot) < 2.0
    assert not any('millimetres' in result.remedy for result in check_masses(robot))
    assert effort_needs(robot).inertia.max() < 100.0


def test_a_dh_table_is_not_asked_for_elements_of_a_urdf(tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text('convention: standard\nlinks:\n'
                    '- {a: 0.3, alpha: 0, d: 0, mass: 2.0, com: [-0.1, 0, 0]}\n'
                    '- {a: 0.2, alpha: 0, d: 0}\n')
    remedies = ' '.join(result.remedy for result in check_robot(str(path)).results)
    assert 'limits' in remedies and 'mass, com and inertia' in remedies
    assert '<' not in remedies and 'URDF' not in remedies


@pytest.mark.parametrize('speed', [100.0, 1000.0, 1e4, 5e5])
def test_speeds_that_stand_for_none(robot, speed):
    first, second = check_limits(with_limits(robot, velocity=speed))
    assert first.level is Level.NOTE and 'limits nothing' in first.message
    assert second.level is Level.OK


def with_effort(robot, effort):
    return replace(robot, limits=replace(robot.limits, effort=np.array(effort, dtype=float)))


@pytest.fixture(scope='module')
def strength(robot):
    return effort_needs(robot)


def test_what_a_pendulum_needs():
    robot = load_description('planar_2r').robot
    strength = effort_needs(robot, postures=4000)
    # Every posture of a fine grid, instead of some drawn at random.
    angles = np.linspace(-np.pi, np.pi, 73)
    grid = np.stack(np.meshgrid(angles, angles), axis=-1).reshape(-1, 2)
    most = np.abs(Dynamics(robot).gravity_torque(grid)).max(axis=0)
    np.testing.assert_allclose(strength.holding, most, rtol=0.01)
    np.testing.assert_allclose(strength.inertia, np.diag(Dynamics(robot).mass_matrix(np.zeros(2))),
                               rtol=0.01)


def test_an_arm_that_is_strong_enough(robot, strength):
    (result,) = check_strength(robot, strength)
    assert result.level is Level.OK
    assert 'joint2 needs most, 28 % of its effort limit' in result.message


@pytest.mark.parametrize(('share', 'level'), [(0.7, Level.WARNING), (0.05, Level.ERROR)])
def test_an_arm_that_falls(robot, strength, share, level):
    effort = robot.limits.effort.copy()
    effort[1] = share * strength.holding[1]
    (result,) = check_strength(with_effort(robot, effort), strength)
    assert (result.subject, result.level) == ('joint2', level)
    falling = float((np.abs(strength.gravity[:, 1]) > effort[1]).mean())
    assert f'in {100 * falling:.0f} % of postures it falls' in result.message


def test_an_arm_that_holds_itself_and_no_more(robot, strength):
    effort = robot.limits.effort.copy()
    effort[1] = 1.1 * strength.holding[1]
    (result,) = check_strength(with_effort(robot, effort), strength)
    assert result.level is Level.WARNING
    assert 'little is left for motion' in result.remedy


def test_a_joint_that_hardly_accelerates():
    robot = load_description('planar_2r').robot.with_gravity((0.0, -9.81, 0.0))
    strength = effort_needs(robot)
    found = check_strength(with_effort(robot, 0.5 * strength.inertia), strength)
    assert found[0].level is Level.OK  # gravity moves no joint
    assert {result.subject for result in found[1:]} == {'joint1, joint2'}
    assert 'accelerates at 0.5 rad/s^2 at most' in found[1].message


def test_friction_that_eats_the_effort(robot, strength):
    lossy = replace(robot, damping=np.full(robot.n, 1e3))
    found = [result for result in check_strength(lossy, strength)
             if result.level is Level.WARNING]
    assert [result.subject for result in found] == [', '.join(robot.joint_names)]
    assert 'friction at full speed' in found[0].message


@pytest.mark.parametrize(('share', 'level', 'words'), [
    (1.0, Level.ERROR, 'it cannot move'), (0.97, Level.WARNING, 'little is left for motion')])
def test_dry_friction_that_takes_the_effort_limit(robot, strength, share, level, words):
    stiff = replace(robot, friction=share * robot.limits.effort)
    found = [result for result in check_strength(stiff, strength)
             if result.level >= Level.WARNING]
    assert {result.level for result in found} == {level}
    assert all('has a dry friction of' in result.message and words in result.message
               for result in found)


def test_the_case_of_friction_that_equals_the_effort_limit(cases):
    report = check_robot(str(cases / 'doctor_friction_equals_effort' / 'arm.urdf'))
    assert levels(report) == {(Level.ERROR, 'shoulder'), (Level.ERROR, 'elbow')}


def test_limits_that_protect_nothing(robot, strength):
    *_, result = check_strength(with_effort(robot, np.full(robot.n, 1e4)), strength)
    assert result.level is Level.NOTE
    assert 'protect nothing' in result.remedy


def test_joints_without_a_limit_are_left_out(robot, strength):
    effort = robot.limits.effort.copy()
    effort[1] = np.nan
    (result,) = check_strength(with_effort(robot, effort), strength)
    assert result.level is Level.OK and 'joint2' not in result.message
    assert check_strength(with_effort(robot, np.full(robot.n, np.nan)), strength) == []


def test_a_crowd_of_joints_is_tried_in_fewer_postures(monkeypatch, robot):
    monkeypatch.setattr('robot_dynamics.bringup.doctor.robot._MOST_NUMBERS', 100 * robot.n**2)
    assert effort_needs(robot).gravity.shape == (100, robot.n)
