# SPDX-License-Identifier: Apache-2.0
"""Derivatives of M, C and g against complex steps, and what they must satisfy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.joints import JointType

FACTORISATIONS = ('christoffel', 'garofalo')

#: What random trees are made of: joints of any type, also of several coordinates.
TREES = {'seed': st.integers(0, 10**6), 'branch': st.floats(0.0, 1.0),
         'kinds': st.lists(st.sampled_from(tuple(JointType)), min_size=1, max_size=5)}


@pytest.mark.parametrize('factorisation', FACTORISATIONS)
def test_state_derivatives(case, differences, near, factorisation):
    robot, q, v, _ = case
    exact = differences(robot, q, v)
    result = Dynamics(robot).state_derivatives(q, v, factorisation)
    near(result.dM_dq, exact.by_q(lambda r: r.M))
    near(result.dC_dq, exact.by_q(lambda r: r.C(factorisation)))
    near(result.dC_dv, exact.by_v(lambda r: r.C(factorisation)))
    near(result.dg_dq, exact.by_q(lambda r: r.g))


@pytest.mark.parametrize('factorisation', FACTORISATIONS)
def test_time_derivatives(case, differences, near, factorisation):
    robot, q, v, a = case
    exact = differences(robot, q, v)
    result = Dynamics(robot).time_derivatives(q, v, a, factorisation)
    near(result.M_dot, exact.by_time(lambda r: r.M, a))
    near(result.C_dot, exact.by_time(lambda r: r.C(factorisation), a))
    near(result.g_dot, exact.by_time(lambda r: r.g, a))


@pytest.mark.parametrize('factorisation', FACTORISATIONS)
def test_parameter_derivatives(case, recursion, near, factorisation):
    robot, q, v, _ = case
    result = Dynamics(robot).parameter_derivatives(q, v, factorisation)
    for p in range(0, len(robot.parameters), 3):
        unit = np.zeros(len(robot.parameters))
        unit[p] = 1.0
        of_unit = recursion(robot.with_parameters(unit), q, v)
        near(result.dM_dpi[p], np.real(of_unit.M))
        near(result.dC_dpi[p], np.real(of_unit.C(factorisation)))
        near(result.dg_dpi[p], np.real(of_unit.g))


@pytest.mark.slow
@settings(max_examples=30)
@given(**TREES)
def test_random_trees(random_case, differences, recursion, near, seed, kinds, branch):
    robot, q, v, a = random_case(seed, kinds, branch)
    dynamics, exact = Dynamics(robot), differences(robot, q, v)
    for factorisation in FACTORISATIONS:
        near(dynamics.coriolis_matrix(q, v, factorisation), np.real(exact.here.C(factorisation)))
        result = dynamics.state_derivatives(q, v, factorisation)
        near(result.dM_dq, exact.by_q(lambda r: r.M))
        near(result.dC_dq, exact.by_q(lambda r, f=factorisation: r.C(f)))
        near(result.dC_dv, exact.by_v(lambda r, f=factorisation: r.C(f)))
        near(result.dg_dq, exact.by_q(lambda r: r.g))
        in_time = dynamics.time_derivatives(q, v, a, factorisation)
        near(in_time.M_dot, exact.by_time(lambda r: r.M, a))
        near(in_time.C_dot, exact.by_time(lambda r, f=factorisation: r.C(f), a))
        near(in_time.g_dot, exact.by_time(lambda r: r.g, a))
        along = dynamics.parameter_derivatives(q, v, factorisation)
        unit = np.zeros(len(robot.parameters))
        unit[seed % len(unit)] = 1.0
        of_unit = recursion(robot.with_parameters(unit), q, v)
        near(along.dM_dpi[seed % len(unit)], np.real(of_unit.M))
        near(along.dC_dpi[seed % len(unit)], np.real(of_unit.C(factorisation)))
        near(along.dg_dpi[seed % len(unit)], np.real(of_unit.g))


@pytest.mark.parametrize('factorisation', FACTORISATIONS)
def test_chain_rule_leads_from_state_to_time(case, near, factorisation):
    robot, q, v, a = case
    dynamics = Dynamics(robot)
    in_time = dynamics.time_derivatives(q, v, a, factorisation)
    by_state = dynamics.state_derivatives(q, v, factorisation)
    near(in_time.M_dot, np.tensordot(v, by_state.dM_dq, 1))
    near(in_time.C_dot, np.tensordot(v, by_state.dC_dq, 1) + np.tensordot(a, by_state.dC_dv, 1))
    near(in_time.g_dot, v @ by_state.dg_dq)


def test_factorisations_agree_in_effort_and_rate_of_mass(case, near):
    robot, q, v, a = case
    dynamics = Dynamics(robot)
    M_dot = dynamics.time_derivatives(q, v, a).M_dot
    for factorisation in FACTORISATIONS:
        C = dynamics.coriolis_matrix(q, v, factorisation)
        near(C + C.T, M_dot)
        near(C @ v, dynamics.inverse_dynamics(q, v, 0.0 * v) - dynamics.gravity_torque(q))


@pytest.mark.parametrize(('bodies', 'differ'), [(1, False), (2, False), (3, True), (6, True)])
def test_skewness_makes_c_unique_for_two_joints_only(tree, bodies, differ):
    robot = tree(3, bodies, order='chain', prismatic=0.0)
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, bodies))
    dynamics = Dynamics(robot)
    difference = (dynamics.coriolis_matrix(q, v)
                  - dynamics.coriolis_matrix(q, v, factorisation='garofalo'))
    assert (np.max(np.abs(difference)) > 1e-3) == differ
    assert differ or np.max(np.abs(difference)) < 1e-13


@pytest.mark.parametrize('seed', range(4))
def test_christoffel_symbols_are_symmetric(tree, near, seed):
    """Where velocities are derivatives of coordinates."""
    q, v = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, 6))
    symbols = Dynamics(tree(seed, 6)).state_derivatives(q, v).dC_dv
    near(symbols, np.transpose(symbols, (2, 1, 0)))


def test_parameters_make_the_matrices(case, near):
    robot, q, v, _ = case
    dynamics = Dynamics(robot)
    M, C, g = dynamics.matrices(q, v)
    result = dynamics.parameter_derivatives(q, v)
    near(np.tensordot(dynamics.parameters, result.dM_dpi, 1), M)
    near(np.tensordot(dynamics.parameters, result.dC_dpi, 1), C)
    near(dynamics.parameters @ result.dg_dpi, g)


def test_matrices_in_time_are_the_matrices_and_their_derivatives(case, near):
    robot, q, v, a = case
    dynamics = Dynamics(robot)
    results = dynamics.matrix_time_derivatives(q, v, a)
    for value, expected in zip(results, (*dynamics.matrices(q, v),
                                         *dynamics.time_derivatives(q, v, a)), strict=True):
        near(value, expected)


def test_arrays_of_the_caller(tree):
    dynamics = Dynamics(tree(1, 5))
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 5))
    expected = dynamics.matrix_time_derivatives(q, v, a)
    out = tuple(np.ones_like(x) for x in expected)
    found = dynamics.matrix_time_derivatives(q, v, a, out)
    assert all(one is other for one, other in zip(found, out, strict=True))
    for value, wanted in zip(out, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)
    dynamics.matrix_time_derivatives(list(q), v, a, out)
    for value, wanted in zip(out, expected, strict=True):
        np.testing.assert_allclose(value, wanted, atol=1e-12)
    with pytest.raises(DimensionError, match='six arrays'):
        dynamics.matrix_time_derivatives(q, v, a, out[:3])
    M, C, g, M_dot, _, g_dot = out
    with pytest.raises(DimensionError, match='must not share memory'):
        dynamics.matrix_time_derivatives(q, v, a, (M, C, g, M_dot, M, g_dot))
    with pytest.raises(DimensionError, match='shape'):
        dynamics.matrix_time_derivatives(q, v, a, (M, C, g, M_dot, g, g_dot))


@pytest.mark.parametrize('shape', [(), (3,), (2, 3)])
def test_batches(mixed, state, near, shape):
    robot = mixed(2)
    dynamics = Dynamics(robot)
    states = [state(robot, np.random.default_rng(k)) for k in range(int(np.prod(shape)))]
    q, v, a = (np.reshape(x, (*shape, -1)) for x in zip(*states, strict=True))
    calls = {'state_derivatives': (q, v), 'time_derivatives': (q, v, a),
             'parameter_derivatives': (q, v), 'matrix_time_derivatives': (q, v, a)}
    for name, arguments in calls.items():
        together = getattr(dynamics, name)(*arguments)
        for k, one in enumerate(states):
            alone = getattr(dynamics, name)(*one[:len(arguments)])
            for value, expected in zip(together, alone, strict=True):
                near(value.reshape(-1, *expected.shape)[k], expected)


def test_unknown_factorisation_is_refused(tree):
    dynamics, zero = Dynamics(tree(0, 2)), np.zeros(2)
    for call in (lambda f: dynamics.coriolis_matrix(zero, zero, f),
                 lambda f: dynamics.state_derivatives(zero, zero, f),
                 lambda f: dynamics.time_derivatives(zero, zero, zero, f),
                 lambda f: dynamics.parameter_derivatives(zero, zero, f)):
        for wrong in ('Christoffel', None, 3, ['garofalo'], np.array(['christoffel', 'garofalo'])):
            with pytest.raises(ParameterError, match='factorisation must be one of'):
                call(wrong)
