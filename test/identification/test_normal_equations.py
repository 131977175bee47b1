# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.identification.least_squares import triangles
from robot_dynamics.identification.normal_equations import NormalEquations, selection
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.signals import SignalSettings

TERMS = ('offset', 'viscous', 'coulomb', 'load', 'dahl', 'load_dahl')


@pytest.fixture(scope='module')
def stack(three):
    return Stack(three.robot, three.log(seconds=8.0), SignalSettings(4.0), TERMS)


@pytest.mark.parametrize('gravity', [(0.0, 0.0, -9.81), (0.3, -0.2, -9.7), (0.0, 1.0, 0.0)])
@pytest.mark.parametrize('is_tilted', [False, True])
def test_products_of_a_model_are_those_of_its_columns(three, stack, gravity, is_tilted):
    """Also where a column of a tilt has a part of one, or none at all."""
    gravity = np.array(gravity)
    tilted = np.ones(stack.n_rigid) if is_tilted else None
    features = tuple(range(0, len(stack.features), 2))
    normal = NormalEquations(stack, 4)
    products = normal.of_model(features, gravity, np.arange(4), tilted)
    for j, rows in enumerate(stack.joints):
        T, where = selection(stack, rows.columns, features, gravity, tilted)
        A = np.zeros((len(rows.y), products.shape[-1] - 1))
        A[:, where] = rows.A @ T
        A = np.column_stack([A, rows.y])
        wanted = A.T @ A
        np.testing.assert_allclose(products[j], wanted, atol=1e-11 * np.max(np.abs(wanted)))
    parts = [normal.of_model(features, gravity, run, tilted) for run in ([0], [1, 2], [3])]
    np.testing.assert_allclose(sum(parts), products, atol=1e-11 * np.max(np.abs(products)))


def test_products_follow_other_loads(three, stack):
    gravity, every = three.robot.gravity, np.arange(4)
    normal, features = NormalEquations(stack, 4), tuple(range(len(stack.features)))
    some = features[::3]
    before, fewer = (normal.of_model(one, gravity, every) for one in (features, some))
    changed = stack.with_loads(2.0 * three.robot.parameters, gravity, ('load', 'coulomb'))
    assert changed == ('load',)
    normal.reload(('load',))
    after = normal.of_model(features, gravity, every)
    np.testing.assert_allclose(after, NormalEquations(stack, 4).of_model(features, gravity, every))
    for term, factor in (('load', 4.0), ('load_dahl', 1.0)):
        place = stack.n_rigid + next(k for k, one in enumerate(stack.features)
                                     if one.term == term and one.axis == 1)
        np.testing.assert_allclose(after[1, place, place], factor * before[1, place, place])
    assert not np.array_equal(normal.of_model(some, gravity, every), fewer)
    assert stack.with_loads(2.0 * three.robot.parameters) == ('load_dahl',)
    assert stack.with_loads(2.0 * three.robot.parameters) == ()
    stack.with_loads(three.robot.parameters)


def test_triangles_have_the_products_of_their_joints():
    random = np.random.default_rng(0)
    joint = np.repeat([0, 1, 2], [40, 50, 3])
    W = random.normal(size=(93, 7))
    W[joint == 1, 2:5] = 0.0
    R, owner = triangles(W, joint)
    assert len(R) == 7 + 4 + 3
    for j in range(3):
        np.testing.assert_allclose(R[owner == j].T @ R[owner == j],
                                   W[joint == j].T @ W[joint == j], atol=1e-12)
