# SPDX-License-Identifier: Apache-2.0
"""DH tables: real arms against their samples, both conventions, every form of a field."""

import copy
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model import JointType, Robot, Severity, dh
from robot_dynamics.model.dh import MAX_ROWS, ROW_FIELDS, TABLE_FIELDS
from robot_dynamics.model.dh_fields import MAX_BYTES
from robot_dynamics.model.inertia import parameters_from_com

REPOSITORY = Path(__file__).resolve().parents[2]
ARMS = ('AL5D', 'Cobra600', 'LWR4', 'Panda', 'Puma560', 'TwoLink', 'UR10')


def row(**fields):
    return {'a': 0.0, 'alpha': 0.0, 'd': 0.0} | fields


def table(*rows, **fields):
    return {'convention': 'standard', 'links': list(rows) or [row()]} | fields


@pytest.fixture(params=ARMS)
def arm(request, shared):
    """Return a real arm as read, and its table with samples."""
    path = shared / 'data' / 'dh' / f'{request.param}.json'
    return Robot.from_dh(path), json.loads(path.read_text(encoding='utf-8'))


# Real arms -------------------------------------------------------------------


def test_pose_of_the_tool(arm):
    robot, written = arm
    dynamics = Dynamics(robot)
    for sample in written['samples']:
        np.testing.assert_allclose(dynamics.forward_kinematics(sample['q'], 'tool'), sample['T'],
                                   rtol=0, atol=1e-14)


def test_dynamics(arm):
    robot, written = arm
    if not written['has_dynamics']:
        assert not np.any(robot.parameters)
        assert any('has no moving link with inertia' in str(finding) for finding in robot.findings)
        return
    dynamics = Dynamics(robot)
    for sample in written['samples']:
        q, v, a = (np.array(sample[key]) for key in ('q', 'qd', 'qdd'))
        size = np.max(np.abs(sample['inertia']))
        np.testing.assert_allclose(dynamics.mass_matrix(q), sample['inertia'],
                                   rtol=0, atol=1e-14 * size)
        np.testing.assert_allclose(dynamics.gravity_torque(q), sample['gravload'],
                                   rtol=0, atol=1e-12)
        np.testing.assert_allclose(dynamics.inverse_dynamics(q, v, a),
                                   sample['rne_nofriction'], rtol=0, atol=1e-12)
        np.testing.assert_allclose(dynamics.coriolis_matrix(q, v) @ v,
                                   np.array(sample['coriolis']) @ v, rtol=0, atol=1e-13)


def test_motor_friction_of_the_puma(shared):
    path = shared / 'data' / 'dh' / 'Puma560.json'
    robot, written = Robot.from_dh(path), json.loads(path.read_text(encoding='utf-8'))
    for sample in written['samples']:
        v = np.array(sample['qd'])
        # What the mean of the two directions leaves over.
        uneven = np.array([abs(link['G']) * (link['Tc'][0] + link['Tc'][1]) / 2
                           for link in written['links']])
        friction = np.array(sample['rne']) - np.array(sample['rne_nofriction'])
        np.testing.assert_allclose(robot.damping * v + robot.friction * np.sign(v) + uneven,
                                   friction, rtol=1e-9)
    assert sum('the mean is taken' in str(finding) for finding in robot.findings) == 6


@pytest.mark.parametrize(('fields', 'told'), [
    ({'alpha': 90}, 'alpha 90'), ({'alpha': -90, 'theta': 180}, 'alpha -90, theta 180'),
    ({'offset': 45.0}, 'offset 45'), ({'alpha': 6.283185307179586}, None),
    ({'type': 'prismatic', 'offset': 45.0}, None), ({'theta': -6.28}, None)])
def test_angles_that_look_like_degrees_are_told(fields, told):
    findings = [finding for finding in Robot.from_dh(table(row(**fields))).findings
                if 'looks like degrees' in finding.message]
    assert len(findings) == (told is not None)
    if told:
        assert findings[0].severity is Severity.WARNING
        assert f'has {told}, more than a turn' in findings[0].message


def test_findings_name_links_without_a_real_inertia(shared):
    findings = Robot.from_dh(shared / 'data' / 'dh' / 'TwoLink.json').findings
    flagged = {finding.subject for finding in findings if 'has zero inertia' in finding.message}
    assert flagged == {'link1', 'link2'}
    findings = Robot.from_dh(shared / 'data' / 'dh' / 'Puma560.json').findings
    flagged = {finding.subject for finding in findings if 'no rigid body' in finding.message}
    assert flagged == {'link1', 'link3'}


# The published case about conventions ----------------------------------------


@pytest.fixture
def case(cases):
    folder = cases / 'dh_convention'
    expected = json.loads((folder / 'expected.json').read_text(encoding='utf-8'))
    return (folder / 'dh.yaml').read_text(encoding='utf-8'), expected['numbers']


def test_convention_is_mandatory(case):
    with pytest.raises(ModelError, match=r'convention is missing; .*standard.*far end.*'
                                         r'modified.*near end'):
        Robot.from_dh(case[0])


@pytest.mark.parametrize('convention', ['standard', 'modified', 'Modified'])
def test_both_conventions(case, convention):
    text, numbers = case
    robot = Robot.from_dh(f'{text}\nconvention: {convention}\n')
    pose = Dynamics(robot).forward_kinematics(numbers['q'], 'link3')
    np.testing.assert_allclose(pose, numbers[f'T_{convention.lower()}'], rtol=0, atol=1e-9)


@pytest.mark.parametrize(('convention', 'a', 'com'), [
    ('standard', 0.5, 'com_standard'), ('modified', 0.0, 'com_modified')])
def test_same_rod_in_both_conventions(case, convention, a, com):
    rod = case[1]['rod']
    robot = Robot.from_dh(table(row(a=a, mass=rod['mass'], com=rod[com]),
                                convention=convention, gravity=rod['gravity']))
    assert Dynamics(robot).gravity_torque([rod['q']]) == pytest.approx(rod['tau_gravity'])


def test_zero_inertia_of_the_last_link_is_kept_and_flagged():
    rod = {'mass': 1.0, 'com': [0.1, 0, 0], 'inertia_com': {'xx': 0.1, 'yy': 0.1, 'zz': 0.1}}
    for last in ({'mass': 0.0, 'com': [0, 0, 0], 'inertia_com': np.zeros((3, 3))},
                 {'mass': 0.3, 'com': [0, 0, 0.01], 'inertia_com': np.zeros((3, 3))},
                 {'mass': 0.3, 'com': [0, 0, 0.01]}, {}):
        robot = Robot.from_dh(table(row(**rod), row(**last)))
        flagged = [finding.subject for finding in robot.findings
                   if 'has zero inertia' in finding.message]
        assert flagged == ['link2']
        assert robot.inertial_parameters[1, 0] == last.get('mass', 0.0)


# Geometry --------------------------------------------------------------------


def _rotation(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    R = np.eye(4)
    R[:3, :3] = {'x': [[1, 0, 0], [0, c, -s], [0, s, c]],
                 'z': [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis]
    return R


def _translation(x, z):
    T = np.eye(4)
    T[0, 3], T[2, 3] = x, z
    return T


def _product(rows, convention, q):
    """Multiply the elementary transformations, straight from the definition."""
    T = np.eye(4)
    for fields, position in zip(rows, q, strict=True):
        theta, d = fields['theta'], fields['d']
        if fields['type'] == 'P':
            d += fields['offset'] + position
        else:
            theta += fields['offset'] + position
        z = _rotation('z', theta) @ _translation(0.0, d)
        x = _translation(fields['a'], 0.0) @ _rotation('x', fields['alpha'])
        T = T @ (z @ x if convention == 'standard' else x @ z)
    return T


_length = st.floats(-1.0, 1.0)
_angle = st.floats(-4.0, 4.0)
_rows = st.lists(st.fixed_dictionaries({
    'type': st.sampled_from(['R', 'P']), 'a': _length, 'alpha': _angle, 'd': _length,
    'theta': _angle, 'offset': _length}), min_size=1, max_size=4)


@pytest.mark.slow
@settings(deadline=None)
@given(rows=_rows, convention=st.sampled_from(['standard', 'modified']), data=st.data())
def test_random_tables(rows, convention, data):
    q = data.draw(st.lists(_angle, min_size=len(rows), max_size=len(rows)))
    robot = Robot.from_dh(table(*rows, convention=convention))
    pose = Dynamics(robot).forward_kinematics(q, robot.body_names[-1])
    np.testing.assert_allclose(pose, _product(rows, convention, q), rtol=0, atol=1e-13)
    assert list(robot.joint_types) == [
        JointType.PRISMATIC if fields['type'] == 'P' else JointType.REVOLUTE for fields in rows]


@pytest.mark.slow
@settings(deadline=None)
@given(rows=_rows, convention=st.sampled_from(['standard', 'modified']), data=st.data())
def test_columns_are_rows(rows, convention, data):
    columns = {name: [fields[name] for fields in rows] for name in rows[0]}
    by_rows = Robot.from_dh({'convention': convention, 'links': rows})
    by_columns = Robot.from_dh({'convention': convention, **columns})
    np.testing.assert_array_equal(by_rows.placements, by_columns.placements)
    np.testing.assert_array_equal(by_rows.link_offsets, by_columns.link_offsets)


def test_base_and_tool():
    pose = [[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]]
    same = {'xyz': [0.1, 0.2, 0.3], 'rpy': [0, 0, math.pi / 2]}
    for written in (pose, np.array(pose), same):
        robot = Robot.from_dh(table(row(), base=written, tool=written))
        np.testing.assert_allclose(robot.placements[0], pose, atol=1e-16)
        np.testing.assert_allclose(robot.frames['tool'].pose, pose, atol=1e-16)
    assert set(robot.frames) == {'base', 'link1', 'tool'}
    assert robot.frames['tool'].body == 0
    np.testing.assert_array_equal(robot.gravity, [0, 0, -9.81])


def test_rounded_rotation_is_made_orthonormal():
    written = np.eye(4)
    written[:2, :2] = [[0.7071, -0.7071], [0.7071, 0.7071]]
    R = Robot.from_dh(table(row(), tool=written)).frames['tool'].pose[:3, :3]
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(R, _rotation('z', math.pi / 4)[:3, :3], atol=1e-15)


# Fields ----------------------------------------------------------------------

_TENSOR = np.array([[0.05, 0.002, -0.003], [0.002, 0.08, 0.004], [-0.003, 0.004, 0.09]])
_COM = np.array([0.1, -0.05, 0.2])
_BODY = parameters_from_com(2.0, _COM, _TENSOR)
_ABOUT_ORIGIN = _TENSOR + 2.0 * (_COM @ _COM * np.eye(3) - np.outer(_COM, _COM))


@pytest.mark.parametrize('fields', [
    {'inertia_com': _TENSOR.tolist()},
    {'I_com': _TENSOR},
    {'inertia_com': {'xx': 0.05, 'yy': 0.08, 'zz': 0.09, 'xy': 0.002, 'xz': -0.003, 'yz': 0.004}},
    {'I_com': {'Ixx': 0.05, 'Iyy': 0.08, 'Izz': 0.09, 'Ixy': 0.002, 'Izx': -0.003, 'Iyz': 0.004}},
    {'inertia_origin': _ABOUT_ORIGIN},
    {'I_origin': _ABOUT_ORIGIN.tolist()},
])
def test_forms_of_an_inertia(fields):
    for names in (('mass', 'com'), ('m', 'r')):
        robot = Robot.from_dh(table(row(**dict(zip(names, (2.0, _COM), strict=True)), **fields)))
        np.testing.assert_allclose(robot.parameters, _BODY, rtol=0, atol=1e-16)


@pytest.mark.parametrize(('order', 'six'), [
    ('xx yy zz xy yz xz', [0.05, 0.08, 0.09, 0.002, 0.004, -0.003]),
    ('ixx, ixy, ixz, iyy, iyz, izz', [0.05, 0.002, -0.003, 0.08, 0.004, 0.09]),
    (['Jzz', 'Jyy', 'Jxx', 'Jzy', 'Jzx', 'Jyx'], [0.09, 0.08, 0.05, 0.004, -0.003, 0.002]),
])
def test_six_numbers_need_their_order(order, six):
    body = row(mass=2.0, com=_COM, inertia_com=six)
    robot = Robot.from_dh(table(body, inertia_order=order))
    np.testing.assert_allclose(robot.parameters, _BODY, rtol=0, atol=1e-16)
    with pytest.raises(ModelError, match=r'link1/inertia_com has six numbers of unknown order; '
                                         r'.*inertia_order'):
        Robot.from_dh(table(body))


def test_limits():
    limits = Robot.from_dh(table(
        row(limits={'lower': -1.0, 'upper': 2.0, 'velocity': 3.0, 'effort': 4.0}),
        row(qlim=[-0.5, 0.5]), row(limits={'upper': 1.0}), row(type='continuous'), row())).limits
    np.testing.assert_array_equal(limits.lower, [-1.0, -0.5, -np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(limits.upper, [2.0, 0.5, 1.0, np.inf, np.inf])
    np.testing.assert_array_equal(limits.velocity, [3.0] + [np.nan] * 4)
    np.testing.assert_array_equal(limits.effort, [4.0] + [np.nan] * 4)


def test_motor_values_come_through_the_gear():
    robot = Robot.from_dh(table(row(Jm=2e-4, G=-50.0, B=1e-3, Tc=[0.4, -0.2]),
                                row(Jm=2e-4, G=50.0, B=1e-3, Tc=0.3),
                                row(armature=0.5, damping=2.5, friction=15.0)))
    np.testing.assert_allclose(robot.armature, [0.5] * 3)
    np.testing.assert_allclose(robot.damping, [2.5] * 3)
    np.testing.assert_allclose(robot.friction, [15.0] * 3)


def test_names():
    robot = Robot.from_dh(table(row(name='upper', joint='shoulder'), row(name='lower'), row(),
                                name='thing', base_name='wall'))
    assert (robot.name, robot.base_name) == ('thing', 'wall')
    assert robot.body_names == ('upper', 'lower', 'link3')
    assert robot.joint_names == ('shoulder', 'lower_joint', 'joint3')
    assert set(robot.frames) == {'wall', 'upper', 'lower', 'link3', 'tool'}


# Sources ---------------------------------------------------------------------


@pytest.mark.parametrize('path', ['[' * 5000, 'a' * 5000])
def test_text_taken_for_a_path_does_not_fill_the_message(path):
    with pytest.raises(ModelError, match='cannot be read') as caught:
        Robot.from_dh(path)
    assert len(str(caught.value)) < 300


def test_every_source_is_the_same_robot(tmp_path):
    content = table(row(a=1e-3, d=0.5, offset=0.25), name='r')
    as_yaml, as_json = yaml.safe_dump(content), json.dumps(content)
    path = tmp_path / 'r.yaml'
    path.write_text(as_yaml, encoding='utf-8')
    for source in (content, as_yaml, as_json, as_yaml.encode(), as_json.encode('utf-8-sig'),
                   path, str(path)):
        robot = Robot.from_dh(source)
        assert robot.name == 'r'
        np.testing.assert_array_equal(robot.placements, Robot.from_dh(content).placements)
    assert Robot.from_dh(as_yaml).name == 'r'


@pytest.mark.parametrize(('text', 'value'), [
    ('1e-3', 1e-3), ('1E3', 1e3), ('010', 10.0), ('+.5', 0.5), ('"0.25"', 0.25), ('-2', -2.0)])
def test_numbers_of_yaml_are_plain(text, value):
    robot = Robot.from_dh(f'convention: standard\na: [{text}]\nalpha: [0]\nd: [0]\n')
    assert robot.link_offsets[0, 0] == value


def test_yaml_may_begin_with_a_brace():
    assert Robot.from_dh('{convention: modified, a: [0.5], alpha: [0], d: [0]}').n == 1


def test_stranger_at_the_top_is_ignored_with_a_finding():
    robot = Robot.from_dh(table(row(), maker='Acme'))
    assert [str(finding) for finding in robot.findings if 'Acme' in str(finding)
            or 'maker' in str(finding)] == [
        "DH table/'maker' is not a field of DH tables and is ignored; remove it"]
    assert robot.findings[0].severity is Severity.WARNING


# Bad tables ------------------------------------------------------------------

_BODY_FIELDS = {'mass': 1.0, 'com': [0, 0, 0]}
_BAD = [
    # The table.
    (table(convention=None), 'convention is missing'),
    (table(convention='dh'), "convention must be .* got 'dh'; write convention: standard"),
    (table(links=None), 'links is missing; give links'),
    (table(links=[]), 'links has no rows'),
    (table(links='x'), "links must be a list, got 'x'"),
    (table(links=[3]), 'link1 must be a set of named fields, got 3'),
    (table(links=[row()] * (MAX_ROWS + 1)), 'has 201 rows, more than 200'),
    (table(gravty=[0, 0, 0]), "unknown field 'gravty'; did you mean gravity"),
    (table(a=[0.1]), "unknown field 'a'"),
    (table(gravity=[0, 0]), 'gravity must have 3 values, got 2'),
    (table(gravity=9.81), 'gravity must be a list, got 9.81'),
    (table(gravity=[0, 0, 'down']), r"gravity\[2\] must be a number, got 'down'"),
    (table(name=['r']), r"name must be a name, got \['r'\]"),
    (table(base=np.eye(3)), 'base must have 4 rows, got 3'),
    (table(base=np.diag([1, 1, -1, 1])), 'base is not a pose'),
    (table(tool=np.diag([1, 1, 1, 2])), 'tool is not a pose'),
    (table(tool=np.diag([1.1, 1, 1, 1])), 'tool is not a pose'),
    (table(tool={'xyz': [0, 0, 1], 'rpj': [0, 0, 0]}), 'tool has the unknown field .* mean rpy'),
    (table(inertia_order='xx yy zz'), 'inertia_order must be an order of xx, .*name all six'),
    (table(row(name='x'), row(name='x')), 'x is the name of two links'),
    (table(row(joint='x'), row(joint='x')), 'x is the name of two joints'),
    (table(row(name='tool')), 'tool is the name of two links; .*frame after the last'),
    (table(row(name='base')), 'base is the name of two links'),
    ({'convention': 'standard', 'a': [0.1], 'alpha': [0.0, 0.0], 'd': [0.0]},
     'columns of different lengths: a 1, alpha 2, d 1'),
    ({'convention': 'standard', 'a': [0.1], 'd': [0.0]}, 'link1/alpha is missing'),
    ({'convention': 'standard', 'a': [], 'alpha': [], 'd': []}, 'has no rows'),
    # Geometry.
    (table(row(a=None)), 'link1/a is missing; give a as a number'),
    (table(row(), row(alpha='pi/2')), 'link2/alpha must be a number, got .pi/2.; .*1.5707963'),
    (table(row(d=float('nan'))), 'link1/d must be a finite .*got nan; give a finite number'),
    (table(row(d='.inf')), "link1/d must be a finite .*got '.inf'; give a finite number"),
    (table(row(d=1e300)), 'link1/d must be a finite .*got 1e.300; give a finite'),
    (table(row(d=10 ** 5000)), 'link1/d must be a finite .*got a huge number; give a finite'),
    (table(row(d=True)), 'link1/d must be a number, got True'),
    (table(row(d=[0.1])), r'link1/d must be a number, got \[0.1\]'),
    (table(row(d='1_0')), "link1/d must be a number, got '1_0'"),
    (table(row(d=1j)), 'link1/d must be a number, got 1j'),
    (table(row(type='spherical')), "link1/type must be revolute.*got 'spherical'"),
    (table(row(type=0)), 'link1/type must be a name, got 0'),
    (table(row(name='elbow', alpa=1.0)), "elbow has the unknown field 'alpa'; did you mean alph"),
    # Inertia.
    (table(row(com=[0, 0, 0])), 'link1/mass is missing; give the mass that belongs to com'),
    (table(row(I_com=np.eye(3))), 'link1/mass is missing; give the mass that belongs to I_com'),
    (table(row(mass=1.0)), 'link1/com is missing; give the centre of mass in frame i'),
    (table(row(mass=1.0, m=1.0)), 'link1 has both mass and m'),
    (table(row(**_BODY_FIELDS, inertia_com=np.eye(3), inertia_origin=np.eye(3))),
     'link1 has both inertia_com and inertia_origin'),
    (table(row(mass=1.0, com=[0, 0])), 'link1/com must have 3 values, got 2'),
    (table(row(**_BODY_FIELDS, inertia_com=[1, 2, 3])), r'link1/inertia_com\[0\] must be a list'),
    (table(row(**_BODY_FIELDS, inertia_com=[[1, 2, 0], [0, 1, 0], [0, 0, 1]])),
     'link1/inertia_com is not symmetric'),
    (table(row(**_BODY_FIELDS, inertia_com={'xx': 1, 'yy': 1})), 'inertia_com/zz is missing'),
    (table(row(**_BODY_FIELDS, inertia_com={'xx': 1, 'yy': 1, 'zz': 1, 'xq': 1})),
     "inertia_com has the fields .*'xq'; give each of xx"),
    (table(row(**_BODY_FIELDS, inertia_com={'xx': 1, 'yy': 1, 'zz': 1, 'xy': 1, 'yx': 1})),
     'inertia_com has the fields .*once'),
    # Limits and transmission.
    (table(row(qlim=[1, -1])), 'link1/qlim must have the lower limit first, got 1 to -1'),
    (table(row(qlim=[1, 2, 3])), 'link1/qlim must have 2 values, got 3'),
    (table(row(qlim=[0, 1], limits={'lower': 0})), 'link1 has both limits and qlim'),
    (table(row(limits=[0, 1])), r'link1/limits must be a set of named fields, got \[0, 1\]'),
    (table(row(limits={'min': 0})), "link1/limits has the unknown field 'min'"),
    (table(row(limits={'effort': -1})), 'link1/limits/effort must be positive, got -1'),
    (table(row(G=0)), 'link1/G must not be zero; give the gear ratio'),
    (table(row(Jm=1e-4, armature=0.1)), 'link1 has both armature and Jm'),
    (table(row(B=1e-4, damping=0.1)), 'link1 has both damping and B'),
    (table(row(Tc=[-0.1, 0.1])),
     r'link1/Tc must be .*got \[-0.1, 0.1\]; give \[friction in positive'),
    (table(row(damping=-1.0)), 'link1/damping must be zero or positive, got -1'),
    (table(row(Jm=-1.0)), 'link1/Jm must be zero or positive, got -1'),
]


@pytest.mark.slow
@pytest.mark.parametrize(('bad', 'message'), _BAD, ids=[message[:40] for _, message in _BAD])
def test_bad_table_names_the_field_and_the_remedy(bad, message):
    with pytest.raises(ModelError, match=message) as caught:
        Robot.from_dh({key: value for key, value in bad.items() if value is not None})
    assert caught.value.subject
    assert caught.value.remedy


@pytest.mark.parametrize(('source', 'message'), [
    ('', 'is empty'),
    ('\n# nothing\n', 'is empty'),
    ({}, 'is empty'),
    ('- 1\n- 2\n', 'not a table of named fields'),
    ('a: 1\na: 2\n', "the key 'a' is given twice"),
    ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
    ('a: [1\n', 'is not YAML or JSON: .*line 2'),
    ('a: !!python/object/apply:os.getcwd []\n', 'is not YAML or JSON: .*python/object'),
    ('[' * 5000 + '\n', 'is nested too deeply'),
    ('a: \x00\n', 'is not YAML or JSON'),
    (b'\xff\xfe', 'is not UTF-8 text'),
    (b'#' * (MAX_BYTES + 1), 'is larger than 256 KiB'),
    ('#\n' * MAX_BYTES, 'is larger than 256 KiB'),
    ('~no_such_user/table.yaml', 'cannot be read .*; check the path'),
    ('/no/such/table.yaml', '/no/such/table.yaml does not exist; check the path'),
    (3, 'must be a path.*got a value of type int'),
    ('convention: standard\nlinks: &x [*x]\n', 'nested too deeply: .* recursive'),
    ('convention: standard\nlinks: [{a: 0, alpha: 0, d: 0, <<: {a: 1}}]\n', "unknown field '<<'"),
])
def test_bad_source(source, message):
    with pytest.raises(ModelError, match=message):
        Robot.from_dh(source)


def test_nested_aliases_stay_small():
    lines = ['a0: &a0 [x, x]']
    lines += [f'a{k}: &a{k} [*a{k - 1}, *a{k - 1}, *a{k - 1}]' for k in range(1, 25)]
    text = '\n'.join([*lines, 'convention: standard', 'links: *a24'])
    with pytest.raises(ModelError, match='expands to more than') as caught:
        Robot.from_dh(text)
    assert len(str(caught.value)) < 500


# Mutations of a good table: a robot with finite numbers, or ModelError.
_GOOD = table(
    row(type='R', offset=0.1, mass=1.0, com=[0.1, 0, 0], inertia_com=np.eye(3).tolist(),
        qlim=[-1, 1], Jm=1e-4, G=50, B=1e-4, Tc=[0.1, -0.1]),
    row(type='P', theta=0.3, m=1.0, r=[0, 0, 0.1], inertia_origin={'xx': 1, 'yy': 1, 'zz': 1},
        limits={'lower': 0, 'upper': 1, 'velocity': 1, 'effort': 10}, armature=0.1),
    name='good', gravity=[0, 0, -9.81], base=np.eye(4).tolist(), tool={'xyz': [0, 0, 0.1]},
    inertia_order='xx xy xz yy yz zz')
_JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(['', 'nan', '1e400', 10 ** 400, -1e300, 5e-324, {}, [], [[]], {'xx': {}},
                     [0.0] * 3, [0.0] * 6, [[0.0] * 3] * 3, b'x', {1: 2}, {None: None}]))


def _places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_mutated_tables(data):
    mutant = json.loads(json.dumps(_GOOD))
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from(
            [path for path in _places(mutant) if path]))
        holder = mutant
        for step in parents:
            holder = holder[step]
        action = data.draw(st.sampled_from(['replace', 'delete', 'rename']))
        if action == 'replace':
            holder[last] = copy.deepcopy(data.draw(_JUNK))
        elif action == 'rename' and isinstance(holder, dict):
            holder[f'{last}x'] = holder.pop(last)
        else:
            del holder[last]
    try:
        robot = Robot.from_dh(mutant)
    except ModelError as error:
        assert str(error)
        assert len(str(error)) < 2000
    else:
        assert np.all(np.isfinite(robot.parameters))
        assert robot.n >= 1


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10 ** 6), st.binary(min_size=1, max_size=3))
def test_mutated_text(position, junk):
    content = bytearray(yaml.safe_dump(_GOOD).encode())
    start = position % len(content)
    content[start:start + len(junk)] = junk
    try:
        Robot.from_dh(bytes(content))
    except ModelError as error:
        assert str(error)


# The documentation -----------------------------------------------------------


def test_documented_examples_are_tables():
    text = (REPOSITORY / 'docs' / 'dh_tables.md').read_text(encoding='utf-8')
    examples = re.findall(r'```yaml\n(.*?)```', text, re.DOTALL)
    assert [Robot.from_dh(example).n for example in examples] == [2, 3]


def test_every_field_is_documented():
    text = (REPOSITORY / 'docs' / 'dh_tables.md').read_text(encoding='utf-8')
    table_fields, row_fields = (re.findall(r'`(\w+)`', ' '.join(re.findall(
        r'^\|([^|]*)\|', section, re.MULTILINE)))
        for section in re.search(r'## The table\n(.*?)## A row\n(.*?)## Columns', text,
                                 re.DOTALL).groups())
    assert set(table_fields) == set(TABLE_FIELDS)
    assert set(row_fields) == set(ROW_FIELDS)


def hayati(a, alpha, d, theta, beta):
    """Poses before and after the joint: docs/add_a_dh_convention.md."""
    before, after = np.eye(4), np.eye(4)
    before[:3, :3], before[2, 3] = Rotation.from_euler('z', theta).as_matrix(), d
    after[:3, :3], after[0, 3] = Rotation.from_euler('XY', [alpha, beta]).as_matrix(), a
    return before, after


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_a_convention_is_a_function_and_a_row(monkeypatch, kind):
    monkeypatch.setitem(dh.CONVENTIONS, 'hayati', dh.Convention(hayati, extra=('beta',)))
    rows = [{'a': 0.4, 'alpha': 0.1, 'd': 0.2, 'beta': 0.05, 'type': kind},
            {'a': 0.3, 'alpha': -0.7, 'd': 0.1, 'theta': 0.2, 'beta': -0.3}]
    robot = Robot.from_dh({'convention': 'hayati', 'links': rows})
    q = np.array([0.3, -1.1])
    expected = np.eye(4)
    for row, position in zip(rows, q, strict=True):
        moved = {'theta': 0.0, **row}
        moved['d' if moved.pop('type', None) == 'prismatic' else 'theta'] += position
        before, after = hayati(**moved)
        expected = expected @ before @ after
    np.testing.assert_allclose(Dynamics(robot).forward_kinematics(q, 'link2'), expected,
                               rtol=0, atol=1e-15)
    with pytest.raises(ModelError, match="unknown field 'beta'"):
        Robot.from_dh({'convention': 'standard', 'links': rows})


def test_a_fixed_row_points_to_base_and_tool():
    with pytest.raises(ModelError, match=r"must have a joint that moves, got 'fixed'") as caught:
        Robot.from_dh({'convention': 'standard', 'links': [{'type': 'fixed', 'd': 0.3}, {'a': 1}]})
    assert 'first row as base of the table' in caught.value.remedy
    assert 'last row as tool' in caught.value.remedy
