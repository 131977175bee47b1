# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inverse and forward dynamics against complex steps and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, ModelError, StateError
from robot_dynamics.model.joints import JointType

#: What random trees are made of: joints of any type, also of several coordinates.
TREES = {'seed': st.integers(0, 10**6), 'branch': st.floats(0.0, 1.0),
         'kinds': st.lists(st.sampled_from(tuple(JointType)), min_size=1, max_size=7)}


def test_inverse_dynamics_derivatives(case, differences, near):
    robot, q, v, a = case
    exact = differences(robot, q, v)
    dtau_dq, dtau_dv, M = Dynamics(robot).inverse_dynamics_derivatives(q, v, a)
    near(dtau_dq, exact.by_q(lambda r: r.tau(a)).T)
    near(dtau_dv, exact.by_v(lambda r: r.tau(a)).T)
    near(M, np.real(exact.here.M))


@pytest.mark.slow
@settings(max_examples=60)
@given(**TREES)
def test_random_trees(random_case, differences, near, seed, kinds, branch):
    robot, q, v, a = random_case(seed, kinds, branch)
    exact = differences(robot, q, v)
    dtau_dq, dtau_dv, M = Dynamics(robot).inverse_dynamics_derivatives(q, v, a)
    near(dtau_dq, exact.by_q(lambda r: r.tau(a)).T)
    near(dtau_dv, exact.by_v(lambda r: r.tau(a)).T)
    near(M, np.real(exact.here.M))


@pytest.mark.slow
def test_tensors_give_the_same(case, near):
    robot, q, v, a = case
    dynamics = Dynamics(robot)
    dtau_dq, dtau_dv, M = dynamics.inverse_dynamics_derivatives(q, v, a)
    near(M, dynamics.mass_matrix(q))
    for factorisation in ('christoffel', 'garofalo'):
        tensors = dynamics.state_derivatives(q, v, factorisation)
        C = dynamics.coriolis_matrix(q, v, factorisation)
        near(dtau_dq, (tensors.dM_dq @ a + tensors.dC_dq @ v + tensors.dg_dq).T)
        near(dtau_dv, (tensors.dC_dv @ v).T + C)


def test_forward_dynamics_derivatives(case, near):
    robot, q, v, a = case
    dynamics = Dynamics(robot)
    tau = dynamics.inverse_dynamics(q, v, a)
    dtau_dq, dtau_dv, M = dynamics.inverse_dynamics_derivatives(q, v, a)
    da_dq, da_dv, da_dtau = dynamics.forward_dynamics_derivatives(q, v, tau)
    near(M @ da_dtau, np.eye(robot.n), 1e-8)
    near(da_dq, np.linalg.solve(M, -dtau_dq), 1e-8)
    near(da_dv, np.linalg.solve(M, -dtau_dv), 1e-8)


def test_coupled_joints(tree, make, near):
    free = tree(4, 6)
    rng = np.random.default_rng(0)
    S = np.eye(6)[:, [2, 0, 5, 3]]
    S[1], S[4] = [0.5, 0.0, -1.0, 0.0], [0.0, 2.0, 0.0, 0.0]
    s0 = rng.uniform(-0.5, 0.5, 6)
    coupled = make(free.parents, free.joint_types, free.placements, free.axes,
                   free.link_offsets, free.inertial_parameters, gravity=free.gravity,
                   coupling=S, coupling_offset=s0)
    ours, bodies = Dynamics(coupled), Dynamics(free)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 4))
    arguments = S @ q + s0, S @ v, S @ a
    for value, expected in zip(ours.inverse_dynamics_derivatives(q, v, a),
                               bodies.inverse_dynamics_derivatives(*arguments), strict=True):
        near(value, S.T @ expected @ S)
    for factorisation in ('christoffel', 'garofalo'):
        of_bodies = bodies.state_derivatives(*arguments[:2], factorisation)
        by_state = ours.state_derivatives(q, v, factorisation)
        for value, expected in zip(by_state[:3], of_bodies[:3], strict=True):
            near(value, np.einsum('bh,bij,ik,jl->hkl', S, expected, S, S))
        near(by_state.dg_dq, S.T @ of_bodies.dg_dq @ S)
        in_time = ours.time_derivatives(q, v, a, factorisation)
        near(in_time.C_dot, np.tensordot(v, by_state.dC_dq, 1)
             + np.tensordot(a, by_state.dC_dv, 1))
        near(in_time.g_dot, v @ by_state.dg_dq)
        by_parameters = ours.parameter_derivatives(q, v, factorisation)
        near(np.tensordot(ours.parameters, by_parameters.dC_dpi, 1),
             ours.coriolis_matrix(q, v, factorisation))
    near(ours.jacobian_dot(q, v, 'b5'), bodies.jacobian_dot(*arguments[:2], 'b5') @ S)
    near(ours.jacobian_ddot(q, v, a, 'b5'), bodies.jacobian_ddot(*arguments, 'b5') @ S)
    for value, expected in zip(ours.jacobian_derivatives(q, v, 'b5'),
                               bodies.jacobian_derivatives(*arguments[:2], 'b5'), strict=True):
        near(value, np.einsum('bh,brj,jk->hrk', S, expected, S))
    near(ours.com_jacobian(q), bodies.com_jacobian(arguments[0]) @ S)


@pytest.mark.parametrize('bodies', [63, 64, 65, 80])
def test_robots_too_large_for_the_stack(tree, near, bodies):
    robot = tree(5, bodies, branch=0.3)
    dynamics = Dynamics(robot)
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, bodies))
    dtau_dq, dtau_dv, M = dynamics.inverse_dynamics_derivatives(q, v, a)
    near(M, dynamics.mass_matrix(q))
    at_once = dynamics.inverse_dynamics_derivatives(*np.array([[q], [v], [a]]))
    for value, expected in zip(at_once, (dtau_dq, dtau_dv, M), strict=True):
        near(value[0], expected)
    h = 1e-5
    direction = np.random.default_rng(1).normal(size=bodies)
    for derivative, ahead, behind in (
            (dtau_dq, dynamics.inverse_dynamics(q + h * direction, v, a),
             dynamics.inverse_dynamics(q - h * direction, v, a)),
            (dtau_dv, dynamics.inverse_dynamics(q, v + h * direction, a),
             dynamics.inverse_dynamics(q, v - h * direction, a))):
        near(derivative @ direction, (ahead - behind) / (2.0 * h), 1e-6)
    near(dynamics.matrix_time_derivatives(q, v, a)[1], dynamics.coriolis_matrix(q, v))


def test_arrays_of_the_caller(tree):
    dynamics = Dynamics(tree(1, 5))
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 5))
    expected = dynamics.inverse_dynamics_derivatives(q, v, a)
    out = tuple(np.ones((5, 5)) for _ in range(3))
    found = dynamics.inverse_dynamics_derivatives(q, v, a, out)
    assert all(one is other for one, other in zip(found, out, strict=True))
    for value, wanted in zip(out, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)
    with pytest.raises(DimensionError, match='three arrays'):
        dynamics.inverse_dynamics_derivatives(q, v, a, out[0])
    with pytest.raises(DimensionError, match='must not share memory'):
        dynamics.inverse_dynamics_derivatives(q, v, a, (out[0], out[1], out[0]))
    square = np.zeros((5, 5))
    dynamics.inverse_dynamics_derivatives(square[0], square[1], square[2],
                                          (square, out[1], out[2]))
    np.testing.assert_allclose(
        square, dynamics.inverse_dynamics_derivatives(*np.zeros((3, 5)))[0], atol=1e-13)


def test_what_is_no_state_is_refused(tree, mixed):
    dynamics = Dynamics(tree(0, 3))
    with pytest.raises(DimensionError, match='q'):
        dynamics.inverse_dynamics_derivatives(np.zeros(2), np.zeros(3), np.zeros(3))
    assert np.isnan(dynamics.inverse_dynamics_derivatives(
        np.full(3, np.nan), np.zeros(3), np.zeros(3))[0]).any()
    floating = Dynamics(mixed(4))
    q = np.zeros(floating.robot.nq)
    with pytest.raises(StateError, match='quaternion'):
        floating.inverse_dynamics_derivatives(q, np.zeros(floating.n), np.zeros(floating.n))


def test_a_joint_without_inertia_is_named(tree):
    robot = tree(0, 3)
    weightless = Dynamics(robot.with_parameters(np.zeros(30)))
    zero = np.zeros(3)
    for call in (weightless.forward_dynamics_derivatives,
                 lambda *state: weightless.linearise(*state[:2], a=state[2])):
        with pytest.raises(ModelError, match='moves no inertia'):
            call(zero, zero, zero)
