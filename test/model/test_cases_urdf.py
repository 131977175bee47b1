# SPDX-License-Identifier: Apache-2.0
"""Small descriptions with the faults that were reported for real ones, and right answers."""

import json
import sys

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError, Severity
from robot_dynamics.model.robot import Robot


def expected(folder):
    return json.loads((folder / 'expected.json').read_text(encoding='utf-8'))


def gravity_at(robot, q):
    return Dynamics(robot).gravity_torque(np.array(q))


def warnings_by_subject(robot):
    return {finding.subject: finding for finding in robot.findings
            if finding.severity is Severity.WARNING}


def test_xml_declaration_mark_and_encoding(cases):
    folder = cases / 'urdf_xml_declaration'
    case = expected(folder)
    content = {name: (folder / name).read_bytes() for name in case['inputs']}
    sources = [*content.values(), *(folder / name for name in content),
               content['utf8_decl.urdf'].decode('utf-8'), content['utf8_bom.urdf'].decode('utf-8')]
    for source in sources:
        robot = Robot.from_urdf(source)
        assert list(robot.joint_names) == case['numbers']['joint_names']
        assert robot.name == 'bras_été'
        np.testing.assert_allclose(gravity_at(robot, case['numbers']['q']),
                                   case['numbers']['tau_gravity_at_q'], rtol=0, atol=1e-9)


def test_comments_with_colons(cases):
    folder = cases / 'urdf_comment_colon'
    numbers = expected(folder)['numbers']
    robot = Robot.from_urdf((folder / 'commented.urdf').read_text(encoding='utf-8'))
    assert robot.n == numbers['n_joints']
    np.testing.assert_allclose(gravity_at(robot, numbers['q']), numbers['tau_gravity_at_q'],
                               rtol=0, atol=1e-9)


@pytest.mark.parametrize('name, leftover', [
    ('raw.xacro', '<xacro:seg>'),
    ('unresolved.urdf', '<mass value="${m1}"> of link \'l1\''),
])
def test_unexpanded_xacro_names_the_first_leftover(cases, monkeypatch, name, leftover):
    path = cases / 'urdf_xacro_leftover' / name
    monkeypatch.setitem(sys.modules, 'xacro', None)
    for source in (path, path.read_text(encoding='utf-8'), path.read_bytes()):
        with pytest.raises(ModelError) as caught:
            Robot.from_urdf(source)
        assert 'xacro' in caught.value.message
        assert leftover in caught.value.message
        assert 'xacro FILE' in caught.value.remedy


def test_xacro_that_cannot_be_expanded(cases):
    pytest.importorskip('xacro')
    with pytest.raises(ModelError, match='xacro') as caught:
        Robot.from_urdf(cases / 'urdf_xacro_leftover' / 'unresolved.urdf')
    assert 'm1' in str(caught.value)
    with pytest.raises(ModelError, match='no moving joint'):
        Robot.from_urdf(cases / 'urdf_xacro_leftover' / 'raw.xacro')


def test_xacro_that_came_out_empty(cases):
    with pytest.raises(ModelError, match=r'no links: did the xacro instantiate its macro\?'):
        Robot.from_urdf(cases / 'urdf_xacro_leftover' / 'macro_only.urdf')


def test_xacro_namespace_alone_is_no_leftover(cases):
    path = cases / 'urdf_xacro_leftover' / 'namespace_only.urdf'
    assert Robot.from_urdf(path.read_text(encoding='utf-8')).n == 3


def test_massless_middle(cases):
    folder = cases / 'urdf_missing_inertial'
    numbers = expected(folder)['numbers']['massless_middle']
    robot = Robot.from_urdf(folder / 'massless_middle.urdf')
    np.testing.assert_allclose(gravity_at(robot, numbers['q']), numbers['tau_gravity'],
                               rtol=0, atol=1e-9)
    massless = np.flatnonzero(robot.inertial_parameters[:, 0] == 0.0)
    assert len(massless) == 1
    assert not robot.inertial_parameters[massless].any()
    # Its neighbours move inertia: nothing is singular, and nothing is warned of.
    assert not warnings_by_subject(robot)
    assert [finding.subject for finding in robot.findings] == [robot.body_names[massless[0]]]


def test_massless_tip_is_warned_of_and_still_computes(cases):
    folder = cases / 'urdf_missing_inertial'
    numbers = expected(folder)['numbers']['massless_tip']
    robot = Robot.from_urdf(folder / 'massless_tip.urdf')
    np.testing.assert_allclose(gravity_at(robot, numbers['q']), numbers['tau_gravity'],
                               rtol=0, atol=1e-9)
    assert np.linalg.eigvalsh(Dynamics(robot).mass_matrix(np.array(numbers['q'])))[0] \
        == pytest.approx(numbers['min_eig_M'], abs=1e-15)
    (finding,) = robot.findings
    assert finding.severity is Severity.WARNING
    assert finding.subject == 'j2'
    assert "'b'" in finding.message
    assert 'singular' in finding.message


def test_inertial_without_origin(cases):
    folder = cases / 'urdf_inertial_no_origin'
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = expected(folder)['numbers']['phi']
    robot = Robot.from_urdf(folder / 'no_origin.urdf')
    np.testing.assert_allclose(robot.parameters, [m, mx, my, mz, xx, xy, xz, yy, yz, zz],
                               rtol=0, atol=1e-12)


def test_fixed_tail_is_lumped(cases):
    folder = cases / 'urdf_fixed_lumping'
    numbers = expected(folder)['numbers']
    robot = Robot.from_urdf(folder / 'fixed_tail.urdf')
    assert robot.n == numbers['n_dof']
    last = robot.inertial_parameters[-1]
    assert last[0] == pytest.approx(numbers['lumped_mass_last_body'], abs=1e-9)
    np.testing.assert_allclose(last[1:4] / last[0], numbers['lumped_com_last_body'], atol=1e-9)
    # The case lists Jxx Jxy Jyy Jxz Jyz Jzz.
    phi = np.reshape(numbers['phi'], (-1, 10))[:, [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]
    np.testing.assert_allclose(robot.inertial_parameters, phi, rtol=0, atol=1e-9)
    tau = gravity_at(robot, numbers['q'])
    np.testing.assert_allclose(tau, numbers['tau_gravity'], rtol=0, atol=1e-9)
    assert np.max(np.abs(tau - numbers['tau_if_tail_dropped'])) > 1.0


def test_order_is_base_to_tip_or_the_callers(cases):
    folder = cases / 'urdf_joint_order'
    numbers = expected(folder)['numbers']
    robot = Robot.from_urdf(folder / 'shuffled.urdf')
    assert list(robot.joint_names) == numbers['model_order']
    np.testing.assert_allclose(gravity_at(robot, numbers['q']),
                               numbers['tau_gravity_model_order'], rtol=0, atol=1e-9)
    ordered = Robot.from_urdf(folder / 'shuffled.urdf', joints=numbers['controller_joints'])
    assert list(ordered.joint_names) == numbers['controller_joints']
    q = dict(zip(numbers['model_order'], numbers['q'], strict=True))
    np.testing.assert_allclose(gravity_at(ordered, [q[name] for name in ordered.joint_names]),
                               numbers['tau_gravity_controller_order'], rtol=0, atol=1e-9)


def test_mimic_joint_is_reduced(cases):
    folder = cases / 'urdf_mimic'
    numbers = expected(folder)['numbers']
    robot = Robot.from_urdf(folder / 'mimic.urdf')
    assert list(robot.joint_names) == numbers['independent']
    assert robot.body_joint_names == ('j1', 'j2', 'j2_coupled')
    np.testing.assert_array_equal(robot.coupling, numbers['S'])
    np.testing.assert_array_equal(robot.coupling_offset, numbers['offset'])
    q, v, a = (np.array(numbers[key]) for key in 'qva')
    np.testing.assert_allclose(robot.coupling @ q + robot.coupling_offset, numbers['q_full'])
    dynamics = Dynamics(robot)
    np.testing.assert_allclose(dynamics.inverse_dynamics(q, v, a), numbers['tau'], rtol=0,
                               atol=1e-9)
    np.testing.assert_allclose(dynamics.regressor(q, v, a) @ robot.parameters, numbers['tau'],
                               rtol=0, atol=1e-9)


def test_continuous_joint_has_one_coordinate(cases):
    folder = cases / 'urdf_continuous'
    numbers = expected(folder)['numbers']
    robot = Robot.from_urdf(folder / 'continuous.urdf')
    assert robot.n == numbers['n_q'] == numbers['n_v'] == 1
    assert robot.is_continuous.tolist() == [True]
    assert robot.limits.lower.tolist() == [-np.inf]
    assert robot.limits.upper.tolist() == [np.inf]
    for q, key in ((0.7, '0.7'), (0.7 + 2.0 * np.pi, '0.7+2pi')):
        np.testing.assert_allclose(gravity_at(robot, [q]), numbers['tau_gravity'][key], rtol=0,
                                   atol=1e-9)


@pytest.mark.parametrize('name, words', [
    ('triangle', ('I1 + I2 >= I3', '0.01, 0.012, 0.03')),
    ('negative', ('not positive semi-definite', '-0.004, 0.015, 0.02')),
    ('inertia_without_mass', ('without mass',)),
])
def test_inertia_that_no_body_can_have(cases, name, words):
    robot = Robot.from_urdf(cases / 'urdf_unphysical_inertia' / f'{name}.urdf')
    finding = warnings_by_subject(robot)['body']
    assert all(word in finding.message for word in words)
    assert np.all(np.isfinite(Dynamics(robot).inverse_dynamics([0.3], [0.1], [0.2])))


def test_point_mass_is_fine(cases):
    assert Robot.from_urdf(cases / 'urdf_unphysical_inertia' / 'point_mass.urdf').findings == ()


def test_zero_limits_are_neither_kept_nor_unlimited(cases):
    folder = cases / 'urdf_zero_or_no_limits'
    numbers = expected(folder)['numbers']
    robot = Robot.from_urdf(folder / 'zero_limits.urdf')
    assert sorted(warnings_by_subject(robot)) == numbers['zero_limits']['suspicious']
    assert np.isnan(robot.limits.effort[0])
    assert np.isnan(robot.limits.velocity[0])
    usable = numbers['zero_limits']['usable']['j2']
    assert robot.limits.effort[1] == usable['effort']
    assert robot.limits.velocity[1] == usable['velocity']
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-1.5, 1.5)


def test_missing_limit_is_reported(cases):
    folder = cases / 'urdf_zero_or_no_limits'
    robot = Robot.from_urdf(folder / 'no_limit.urdf')
    assert sorted(warnings_by_subject(robot)) == expected(folder)['numbers']['no_limit'][
        'suspicious']
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-np.inf, np.inf)
    assert np.isnan(robot.limits.effort[0])


def test_meshes_and_vendor_elements_do_not_matter(cases, capfd):
    folder = cases / 'urdf_mesh_uri'
    numbers = expected(folder)['numbers']
    robot = Robot.from_urdf(folder / 'meshes.urdf')
    assert robot.n == numbers['n_dof']
    np.testing.assert_allclose(gravity_at(robot, numbers['q']), numbers['tau_gravity'], rtol=0,
                               atol=1e-9)
    assert robot.findings == ()
    assert capfd.readouterr() == ('', '')
