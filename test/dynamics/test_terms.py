# SPDX-License-Identifier: Apache-2.0
"""Friction, armature and offset as columns of the regressors."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import JOINT_TERMS, Dynamics
from robot_dynamics.errors import ParameterError


@pytest.fixture
def dynamics(tree):
    """Equations of a random tree."""
    robot = replace(tree(4, 5), armature=np.linspace(0.01, 0.05, 5))
    return Dynamics(robot, coulomb_velocity=0.1)


@pytest.fixture
def state():
    """q, v, v_r, a_r and s."""
    return np.random.default_rng(3).uniform(-1.0, 1.0, (5, 5))


EXPECTED = {
    'viscous': lambda v, a: v,
    'coulomb': lambda v, a: np.tanh(v / 0.1),
    'armature': lambda v, a: a,
    'offset': lambda v, a: np.ones(5),
}


@pytest.mark.parametrize('terms', [
    ('viscous',), ('coulomb',), ('armature',), ('offset',), ('offset', 'viscous'), JOINT_TERMS,
    ['armature', 'coulomb'],
])
def test_columns_of_both_regressors(dynamics, state, terms):
    q, v, v_r, a_r, _ = state
    for Y, Y_rigid, speed in (
            (dynamics.slotine_li_regressor(q, v, v_r, a_r, terms),
             dynamics.slotine_li_regressor(q, v, v_r, a_r), v_r),
            (dynamics.regressor(q, v, a_r, terms), dynamics.regressor(q, v, a_r), v)):
        assert Y.shape == (5, 50 + 5 * len(terms))
        np.testing.assert_array_equal(Y[:, :50], Y_rigid)
        for k, term in enumerate(terms):
            block = Y[:, 50 + 5 * k:55 + 5 * k]
            np.testing.assert_allclose(block, np.diag(EXPECTED[term](speed, a_r)), rtol=1e-15)


def test_batches_and_single_samples_agree(dynamics):
    q, v, v_r, a_r, s = np.random.default_rng(6).uniform(-1.0, 1.0, (5, 4, 5))
    Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r, JOINT_TERMS)
    pi = np.random.default_rng(7).normal(size=Yr.shape[-1])
    tau, gradient = dynamics.adaptive_terms(q, v, v_r, a_r, s, pi, JOINT_TERMS)
    for k in range(4):
        single = dynamics.slotine_li_regressor(q[k], v[k], v_r[k], a_r[k], JOINT_TERMS)
        np.testing.assert_array_equal(Yr[k], single)
        one = dynamics.adaptive_terms(q[k], v[k], v_r[k], a_r[k], s[k], pi, JOINT_TERMS)
        np.testing.assert_allclose(tau[k], one[0], rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(gradient[k], one[1])
        np.testing.assert_allclose(tau[k], single @ pi, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(gradient[k], single.T @ s[k], rtol=1e-11, atol=1e-11)


def test_names_and_described_values_stand_in_column_order(dynamics):
    robot = dynamics.robot
    names = dynamics.column_names(('armature', 'viscous'))
    assert names[:50] == robot.parameter_names
    assert names[50:] == tuple(f'c{i}/armature' for i in range(5)) + tuple(
        f'c{i}/viscous' for i in range(5))
    pi = dynamics.parameter_vector(('viscous', 'coulomb', 'armature', 'offset'))
    np.testing.assert_array_equal(pi, np.concatenate([
        robot.parameters, robot.damping, robot.friction, robot.armature, np.zeros(5)]))
    np.testing.assert_array_equal(dynamics.parameter_vector(), robot.parameters)


def test_armature_is_inertia_on_the_diagonal(dynamics, state):
    q, v, _, a, _ = state
    robot = dynamics.robot
    tau = dynamics.regressor(q, v, a, ['armature']) @ dynamics.parameter_vector(['armature'])
    np.testing.assert_allclose(tau, dynamics.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12)
    bodies = Dynamics(robot, armature=False).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, bodies + robot.armature * a, rtol=1e-12, atol=1e-12)


def test_unknown_terms_are_refused_with_the_choices(dynamics, state):
    q, v, _, a, _ = state
    with pytest.raises(ParameterError, match=r'stribeck.*viscous, coulomb, armature, offset'):
        dynamics.regressor(q, v, a, ('viscous', 'stribeck'))
    with pytest.raises(ParameterError, match='twice'):
        dynamics.regressor(q, v, a, ('viscous', 'viscous'))


def test_coulomb_velocity_must_be_positive(tree):
    for value in (0.0, -1.0, float('nan')):
        with pytest.raises(ParameterError, match='coulomb_velocity'):
            Dynamics(tree(0), coulomb_velocity=value)
