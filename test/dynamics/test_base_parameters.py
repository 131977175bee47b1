# SPDX-License-Identifier: Apache-2.0
import csv
import json

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import (
    COMBINED,
    INDEPENDENT,
    UNIDENTIFIABLE,
    base_parameters,
    structural_base,
)
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot


def columns(path):
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


@pytest.fixture
def planar(cases):
    robot = Robot.from_urdf(cases / 'ident_rank' / 'planar2.urdf')
    return Dynamics(robot)


def stacked(cases, dynamics, name):
    data = columns(cases / 'ident_rank' / f'{name}.csv')
    q, v, a = (np.stack([data[f'{kind}{k}'] for k in (1, 2)], axis=1)
               for kind in ('q', 'dq', 'ddq'))
    tau = np.stack([data['tau1'], data['tau2']], axis=1)
    W = dynamics.regressor(q, v, a)
    return W.reshape(-1, W.shape[-1]), tau.ravel()


@pytest.mark.parametrize('method', ['qr', 'gauss_jordan'])
@pytest.mark.parametrize('name', ['full', 'joint1_locked', 'static_poses'])
def test_rank_of_recorded_motions(cases, planar, name, method):
    expected = json.loads((cases / 'ident_rank' / 'expected.json').read_text())['numbers']
    W, tau = stacked(cases, planar, name)
    base = base_parameters(W, planar.column_names(), method=method)
    assert len(base.names) == expected['n_standard']
    assert base.rank == expected['ranks'][name]['rank']
    # Whatever the base, the prediction is the same.
    L = W[:, base.independent]
    values = np.linalg.lstsq(L, tau, rcond=None)[0]
    np.testing.assert_allclose(L @ values, tau, atol=1e-6)
    np.testing.assert_allclose(W, L @ base.matrix, atol=1e-7)
    assert base.gap > 1e3


def test_condition_of_the_scaled_base(cases, planar):
    expected = json.loads((cases / 'ident_rank' / 'expected.json').read_text())['numbers']
    for name, numbers in expected['ranks'].items():
        W, _ = stacked(cases, planar, name)
        conditions = [base_parameters(W, planar.column_names(), method=method).condition
                      for method in ('qr', 'gauss_jordan')]
        assert min(conditions) <= 1.01 * numbers['condition_of_scaled_base'], name


def test_three_classes_of_the_planar_arm(planar):
    base = structural_base(planar)
    classes = dict(zip(base.names, base.classes, strict=True))
    first, second = planar.robot.body_names
    assert classes[f'{first}/Jxx'] == UNIDENTIFIABLE
    assert classes[f'{second}/my'] == INDEPENDENT
    assert classes[f'{first}/Jzz'] == COMBINED
    assert f'{second}/m' in base.partners(f'{first}/Jzz')
    assert base.partners(f'{second}/my') == ()
    assert base.partners(f'{first}/Jxx') == ()


def test_the_base_of_the_elbow_in_the_order_of_elimination(shared):
    """Errata of paper 000, section V: the identifiable combinations of the planar elbow."""
    robot = Robot.from_urdf(shared / 'cases' / 'ident_rank' / 'planar2.urdf')
    for gravity, rank in ((robot.gravity, 6), ((0.0, 0.0, 0.0), 4)):
        base = structural_base(Dynamics(robot.with_gravity(gravity)), method='gauss_jordan')
        assert base.rank == rank


@pytest.mark.parametrize(('gravity', 'rank'), [
    ((0.0, 0.0, -9.81), 36), ((0.0, -9.81, 0.0), 38), ((0.0, 0.0, 0.0), 34)])
def test_rank_of_the_puma(shared, gravity, rank):
    robot = Robot.from_dh(shared / 'data' / 'dh' / 'Puma560.json')
    assert structural_base(Dynamics(robot.with_gravity(gravity))).rank == rank


def test_rank_of_seven_joints(shared):
    robot = Robot.from_urdf(shared / 'data' / 'urdf' / 'panda_hand.urdf',
                            joints=[f'panda_joint{k}' for k in range(1, 8)])
    assert structural_base(Dynamics(robot)).rank == 43


@pytest.mark.parametrize('method', ['qr', 'gauss_jordan'])
def test_base_parameters_predict_the_same_efforts(method):
    random = np.random.default_rng(3)
    robot = Robot.from_urdf(TREE)
    dynamics = Dynamics(robot)
    base = structural_base(dynamics, ('armature',), method=method)
    q, v, a = random.normal(size=(3, 20, robot.n))
    W = dynamics.regressor(q, v, a, ('armature',))
    pi = random.normal(size=W.shape[-1])
    np.testing.assert_allclose(W @ pi, W[..., base.independent] @ base.values(pi), atol=1e-10)
    assert base.gap > 1e6


def test_a_triangular_factor_tells_the_same(planar):
    random = np.random.default_rng(1)
    q, v, a = random.normal(size=(3, 50, 2))
    W = planar.regressor(q, v, a).reshape(-1, 20)
    R = planar.normal_equations(q, v, a, np.zeros_like(q), factor='qr').R
    one, other = (base_parameters(x, planar.column_names()) for x in (W, R))
    assert one.rank == other.rank
    np.testing.assert_array_equal(one.independent, other.independent)
    np.testing.assert_allclose(one.regrouping, other.regrouping, atol=1e-8)


@pytest.mark.parametrize('size', [2.0 ** -900, 2.0 ** -600, 2.0 ** 600, 2.0 ** 900])
def test_the_size_of_all_numbers_does_not_matter(planar, size):
    random = np.random.default_rng(1)
    W = planar.regressor(*random.normal(size=(3, 50, 2))).reshape(-1, 20)
    one, other = (base_parameters(x, planar.column_names()) for x in (W, size * W))
    assert one.rank == 6
    np.testing.assert_array_equal(one.independent, other.independent)
    np.testing.assert_array_equal(one.regrouping, other.regrouping)


def test_empty_and_wrong_stacks():
    empty = base_parameters(np.zeros((0, 3)), 'abc')
    assert empty.rank == 0
    assert empty.classes == (UNIDENTIFIABLE,) * 3
    zero = base_parameters(np.zeros((5, 3)), 'abc')
    assert zero.rank == 0
    with pytest.raises(DimensionError, match=r'must have shape \(N, 2\)'):
        base_parameters(np.zeros((5, 3)), 'ab')
    with pytest.raises(ParameterError, match='NaN or inf'):
        base_parameters([[np.nan]], 'a')
    with pytest.raises(ParameterError, match='gauss_jordan'):
        base_parameters([[1.0]], 'a', method='svd')
    for method in (None, ['qr'], np.array(['qr', 'gauss_jordan'])):
        with pytest.raises(ParameterError, match='method'):
            base_parameters([[1.0]], 'a', method=method)
    for tolerance in (0.0, np.nan, None, 'small'):
        with pytest.raises(ParameterError, match='tolerance'):
            base_parameters([[1.0]], 'a', tolerance=tolerance)
    with pytest.raises(ParameterError, match='names must be a list, got None'):
        base_parameters([[1.0]], None)
    with pytest.raises(ParameterError, match='not a parameter'):
        base_parameters([[1.0]], 'a').partners('b')
    with pytest.raises(DimensionError):
        base_parameters([[1.0]], 'a').values([1.0, 2.0])


TREE = """<robot name="tree">
<link name="base"/>
<link name="a"><inertial><mass value="2"/><origin xyz="0.1 0 0.2"/>
<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/><origin xyz="0.1 0.1 0"/>
<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="c"><inertial><mass value="1"/><origin xyz="0 0.1 0"/>
<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="ja" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
<joint name="jb" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.3 0 0"/>
<axis xyz="1 0 0"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
<joint name="jc" type="revolute"><parent link="a"/><child link="c"/><origin xyz="0 0.3 0.1"/>
<axis xyz="1 0 0"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
</robot>"""


def test_base_parameters_are_printed_as_a_table_with_their_kinds():
    base = base_parameters(np.diag([1.0, 1.0, 2.0, 0.0]), ('a/m', 'a/Jzz', 'ja/viscous', 'b/m'))
    assert base.kinds == '2 inertial, 1 of friction and rotors'
    assert str(base).splitlines() == [
        '3 base parameters: 2 inertial, 1 of friction and rotors; condition number 1',
        '1  a/m', '2  a/Jzz', '3  ja/viscous']
