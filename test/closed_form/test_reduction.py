# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.closed_form.description import describe
from robot_dynamics.closed_form.quantities import derive, parameter_symbols
from robot_dynamics.closed_form.reduction import combinations, reduced, shifted, structure
from robot_dynamics.errors import ModelError, ParameterError

ELBOW = ['m1', 'mx1', 'my1', 'Jzz1', 'm2', 'mx2', 'my2', 'Jzz2']


def test_the_elbow_has_eight_effective_parameters(elbow):
    recording = derive(elbow)
    found = structure(recording)
    assert [recording.columns[c] for c in found.effective] == ELBOW
    assert len(found.zero) == 12
    assert found.rank == 6


def test_without_gravity_fewer_can_be_told(elbow):
    weightless = describe({'convention': 'standard', 'gravity': [0, 0, 0],
                           'links': [{'a': 'a1', 'alpha': 0, 'd': 0},
                                     {'a': 'a2', 'alpha': 0, 'd': 0}]})
    assert structure(derive(weightless)).rank == 4
    assert len(combinations(weightless)) == 4


def test_the_reduced_regressor_has_no_zero_columns(elbow):
    recording = derive(elbow, 'regressor')
    small = reduced(recording, structure(recording).effective)
    assert small.outputs[0].shape == (2, 8)
    assert small.columns == tuple(ELBOW)
    found = structure(small)
    assert not found.zero and found.rank == 6


def test_combinations_of_the_elbow(elbow):
    sympy = pytest.importorskip('sympy')
    a1, a2, m1, m2, x1, x2, y1, y2, J1, J2 = sympy.symbols(
        'a1 a2 m1 m2 mx1 mx2 my1 my2 Jzz1 Jzz2')
    expected = [J1 + 2 * a1 * x1 + a1**2 * (m1 + m2), x1 + a1 * (m1 + m2), y1,
                J2 + 2 * a2 * x2 + a2**2 * m2, x2 + a2 * m2, y2]
    assert set(combinations(elbow)) == {sympy.expand(x) for x in expected}


@pytest.mark.parametrize('name', ['rpr', 'elbow', 'spatial'])
def test_combinations_decide_every_effort(name, request, evaluated):
    sympy = pytest.importorskip('sympy')
    description = describe({
        'convention': 'standard', 'links': [{'a': 0.2, 'alpha': 1.5707963267948966, 'd': 0.3},
                                            {'a': 'a2', 'alpha': 0, 'd': 'd2'}]}
    ) if name == 'spatial' else request.getfixturevalue(name)
    base = combinations(description)
    recording = derive(description)
    assert len(base) == structure(recording).rank
    rng = np.random.default_rng(3)
    constants = rng.uniform(0.5, 1.5, len(description.units))
    values = dict(zip(description.units, constants.tolist(), strict=True))
    symbols = [sympy.Symbol(x) for x in parameter_symbols(description)]
    B = np.array([[float(row.coeff(symbol).subs(values)) for symbol in symbols] for row in base])
    # What no combination sees, no effort shows.
    unseen = np.linalg.svd(B)[2][len(base):]
    n = len(description.joint_names)
    states = {group: rng.uniform(-1.0, 1.0, n) for group in ('q', 'v', 'v_r', 'a_r')}
    Yr = evaluated(recording, {**states, 'constants': constants})
    assert np.max(np.abs(Yr @ unseen.T)) < 1e-11


def test_parameters_about_another_point():
    rng = np.random.default_rng(0)
    offset, c, mass = rng.normal(size=3), rng.normal(size=(3, 5)), rng.uniform(0.1, 1.0, 5)

    def parameters(points):
        second = (points * mass) @ points.T
        inertia = np.trace(second) * np.eye(3) - second
        return np.concatenate([[mass.sum()], points @ mass, inertia[np.triu_indices(3)]])

    A = np.array(shifted(tuple(offset)), float)
    assert np.allclose(A @ parameters(c), parameters(c + offset[:, None]), atol=1e-12)


@pytest.mark.parametrize('columns', [(0, 20), (-1,), (0.5,), ('m1',), (None,)])
def test_columns_that_a_regressor_has_not(elbow, columns):
    with pytest.raises(ParameterError, match=r'columns must be columns.*20 of them'):
        reduced(derive(elbow), columns)
    with pytest.raises(ParameterError, match=r'has 0 of them'):
        reduced(derive(elbow, 'M'), (0,))


def test_combinations_of_a_table_or_a_robot(elbow):
    pytest.importorskip('sympy')
    table = {'convention': 'standard', 'gravity': [0, '-g', 0],
             'links': [{'a': 'a1', 'alpha': 0, 'd': 0}, {'a': 'a2', 'alpha': 0, 'd': 0}]}
    assert combinations(table) == combinations(elbow)
    with pytest.raises(ModelError, match='DH table'):
        combinations(5)
