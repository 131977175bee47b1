# SPDX-License-Identifier: Apache-2.0
import json
from dataclasses import replace

import numpy as np
import pytest
import yaml

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import InertiaError, ModelError, RecordingError
from robot_dynamics.identification.dataset.table_files import load_archive
from robot_dynamics.identification.friction import PlainFriction
from robot_dynamics.identification.identified_urdf import identified_urdf, require_bodies
from robot_dynamics.identification.observation_matrix import Feature
from robot_dynamics.identification.outputs import (
    make_outputs,
    parameter_file,
)
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.identification.signals import SignalSettings, motions_of
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot

PLAIN = EstimateSettings(friction='coulomb', armature=False, gravity='known', cutoff=8.0,
                         lag=0.0, coulomb_width=0.05, strength=10.0)
FILES = {'identified.urdf', 'parameters.yaml', 'covariance.npz', 'result.json'}

RICH = """<?xml version="1.0" encoding="latin-1"?>
<!-- before the robot -->
<robot name="rich" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="base"><visual><geometry><mesh filename="package://x/base.stl"/></geometry></visual>
  </link>
  <!-- a comment that stays -->
  <link name="upper">
    <inertial><origin xyz="0.1 0 0"/><mass value="2"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <link name="tool"><inertial><origin xyz="0 0 0.05"/><mass value="0.5"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" velocity="2" effort="80"/>
    <dynamics damping="9" friction="9" drake:spring="3"/></joint>
  <joint name="flange" type="fixed"><parent link="upper"/><child link="tool"/>
    <origin xyz="0.4 0 0" rpy="0.3 0 0"/></joint>
  <drake:declares_nothing value="1"/>
</robot>
<!-- after it -->
"""
SOME = PlainFriction(np.array([1.25]), np.array([0.5]), np.array([0.02]), np.zeros(1))


@pytest.fixture(scope='module')
def log(three):
    return three.log(seconds=20, noise=(2e-6, 0.02))


@pytest.fixture(scope='module')
def found(three, log):
    return identify(log, with_scaled_masses(three.robot, 1.4), PLAIN)


@pytest.fixture(scope='module')
def outputs(found, log):
    return make_outputs(found, log, found.model.robot.to_urdf())


def test_the_urdf_is_the_identified_arm(found, outputs, three):
    assert set(outputs.files) == FILES
    read = Robot.from_urdf(outputs.files['identified.urdf'])
    np.testing.assert_allclose(read.parameters, found.model.inertial, atol=1e-8)
    np.testing.assert_allclose(read.damping, 2.0, rtol=0.02)
    np.testing.assert_allclose(read.friction, 1.0, rtol=0.05)
    np.testing.assert_array_equal(read.limits.effort, three.robot.limits.effort)
    _t, q, v, a = three.motion(seed=5)
    right, ours = (Dynamics(robot).inverse_dynamics(q, v, a) for robot in (three.robot, read))
    assert np.linalg.norm(ours - right) < 0.02 * np.linalg.norm(right)
    require_bodies(read)


def test_what_is_not_mass_stays_as_it_is():
    robot = with_scaled_masses(Robot.from_urdf(RICH.encode()), 1.3)
    text, findings = identified_urdf(RICH, robot, SOME)
    assert findings == ()
    for kept in ('a comment that stays', 'package://x/base.stl', '<sphere radius="0.1"',
                 'drake:declares_nothing', 'drake:spring="3"', 'effort="80"'):
        assert kept in text, kept
    read = Robot.from_urdf(text.encode())
    np.testing.assert_allclose(read.parameters, robot.parameters, atol=1e-12)
    assert (read.damping, read.friction, read.armature) == (1.25, 0.5, 0.02)
    # The tool keeps what it is described with; the moving link has the rest.
    assert '<mass value="0.5"' in text
    assert float(text.split('<mass value="')[1].split('"')[0]) == pytest.approx(1.3 * 2.5 - 0.5)


def test_a_tool_heavier_than_the_whole_gives_its_mass_away():
    robot = with_scaled_masses(Robot.from_urdf(RICH.encode()), 0.1)
    text, findings = identified_urdf(RICH, robot, SOME)
    assert text.count('<mass') == 1
    assert findings[0].subject == 'tool'
    np.testing.assert_allclose(Robot.from_urdf(text.encode()).parameters, robot.parameters,
                               atol=1e-12)


def test_a_joint_that_another_follows_has_all_the_friction():
    joint = """<link name="{child}"><inertial><mass value="1"/><inertia ixx="0.01" ixy="0"
        ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link><joint name="{name}"
        type="revolute"><parent link="base"/><child link="{child}"/><axis xyz="0 0 1"/>
        <dynamics damping="3"/><limit lower="-1" upper="1" velocity="1" effort="5"/>{mimic}
        </joint>"""
    text = ('<robot name="gripper"><link name="base"/>'
            + joint.format(name='left', child='a', mimic='')
            + joint.format(name='right', child='b', mimic='<mimic joint="left" multiplier="-2"/>')
            + '</robot>')
    robot = Robot.from_urdf(text.encode())
    written, _ = identified_urdf(text, robot, SOME)
    read = Robot.from_urdf(written.encode())
    np.testing.assert_allclose(read.damping, [1.25])
    np.testing.assert_allclose(read.friction, [0.5])


def test_a_text_of_another_robot_is_refused(found):
    with pytest.raises(ModelError):
        identified_urdf(RICH, found.identified_robot(), SOME)


@pytest.mark.parametrize('name', ['negative_mass', 'com_outside', 'triangle', 'ls_typical'])
def test_a_body_that_cannot_exist_is_not_written(found, log, cases, name):
    """The case ident_unphysical: reported, and never written into a URDF by itself."""
    content = json.loads((cases / 'ident_unphysical' / 'parameters.json').read_text())
    ten = np.array(content[name])[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]
    inertial = found.model.inertial.copy()
    inertial[10:20] = ten
    broken = replace(found, model=replace(found.model, inertial=inertial))
    made = make_outputs(broken, log, found.model.robot.to_urdf())
    assert set(made.files) == {'covariance.npz', 'result.json'}
    assert made.refused.subject == 'l2'
    assert 'l2' in json.loads(made.files['result.json'])['refused']
    with pytest.raises(InertiaError, match='l2'):
        require_bodies(made.robot)
    forced = make_outputs(broken, log, found.model.robot.to_urdf(), allow_inconsistent=True)
    np.testing.assert_allclose(Robot.from_urdf(forced.files['identified.urdf']).parameters,
                               inertial, atol=1e-8)


def test_the_parameter_file_holds_all_a_node_asks_for(found, outputs):
    content = yaml.safe_load(outputs.files['parameters.yaml'])
    values = content['/**']['ros__parameters']
    read = Robot.from_urdf(values['robot_description'].encode(), joints=values['joints'],
                           base_link=values['base_link'], gravity=values['gravity'])
    np.testing.assert_allclose(read.parameters, found.model.inertial, atol=1e-8)
    assert read.joint_names == found.model.robot.joint_names
    np.testing.assert_array_equal(read.gravity, found.model.gravity)
    # Where gravity was not seen, nobody is told that there is none.
    weightless = found.identified_robot().with_gravity((0.0, 0.0, 0.0))
    assert 'gravity' not in yaml.safe_load(parameter_file('<robot/>', weightless))['/**'][
        'ros__parameters']


def test_the_covariance_file_reads_back(found, outputs, tmp_path):
    path = tmp_path / 'covariance.npz'
    path.write_bytes(outputs.files['covariance.npz'])
    read = load_archive(path)
    assert set(read) == {'names', 'values', 'covariance', 'base_names', 'base_values',
                         'base_covariance', 'base_matrix'}
    np.testing.assert_array_equal(read['covariance'], found.covariance)
    np.testing.assert_array_equal(read['base_covariance'], found.base_covariance)
    assert tuple(read['names']) == found.names
    np.testing.assert_allclose(read['base_matrix'] @ read['values'],
                               found.base.values(found.model.parameters), atol=1e-12)
    path.write_bytes(b'no archive')
    with pytest.raises(RecordingError, match='covariance'):
        load_archive(path)
    np.savez(path, names=np.array([{}], dtype=object))
    with pytest.raises(RecordingError):
        load_archive(path)


def test_the_result_is_plain_json(found, outputs, log):
    def refuse(text):
        raise AssertionError(f'{text} is no JSON')
    content = json.loads(outputs.files['result.json'], parse_constant=refuse)
    assert content['verdict'] == found.verdict
    assert content['rows'] == log.count
    assert content['joint_terms']['j1']['damping'] == pytest.approx(2.0, rel=0.02)
    assert set(content) >= {'in_sample', 'validation', 'condition', 'missing', 'findings', 'base',
                            'standard_deviations', 'choices', 'left_out', 'seconds'}


def test_rich_friction_is_written_as_near_as_a_urdf_can(found, log):
    n = log.n
    features = tuple(Feature(j, term, option) for j in range(n) for term, option in (
        ('dahl', 0.001), ('offset', 0.0), ('armature', 0.0)))
    model = replace(found.model, features=features, friction=np.array([3.0, -0.4, 0.1] * n))
    plain = model.plain_friction(motions_of(log, SignalSettings(8.0)))
    np.testing.assert_allclose(plain.friction, 3.0, rtol=0.1)
    np.testing.assert_allclose(plain.armature, 0.1)
    # The constant is not written, and told.
    assert np.all(plain.lost >= 0.4)
    negative = replace(model, friction=np.array([-1.0, 0.0, -0.1] * n))
    plain = negative.plain_friction(motions_of(log, SignalSettings(8.0)))
    assert np.all(plain.friction == 0.0)
    assert np.all(plain.damping == 0.0)
    assert np.all(plain.armature == 0.0)


def test_gravity_that_a_urdf_cannot_say_is_told(found, log, outputs):
    assert outputs.findings == ()
    tilted = replace(found, tilt=np.radians([1.0, 0.0]),
                     model=replace(found.model, gravity=np.array([0.17, 0.0, -9.81])))
    made = make_outputs(tilted, log, found.model.robot.to_urdf())
    finding, = made.findings
    assert '1.00 degrees' in finding.message
    assert 'parameters.yaml' in finding.remedy
    values = yaml.safe_load(made.files['parameters.yaml'])['/**']['ros__parameters']
    assert values['gravity'] == [0.17, 0.0, -9.81]
