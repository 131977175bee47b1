# SPDX-License-Identifier: Apache-2.0
"""Robots whose joints drive several bodies, or stand in the caller's order."""

import numpy as np
import pytest

from robot_dynamics.dynamics import JOINT_TERMS, Dynamics


@pytest.fixture(params=range(4))
def pair(request, tree, make):
    """Equations of a coupled robot and of the same bodies driven one by one."""
    rng = np.random.default_rng(request.param)
    bodies = 6
    free = tree(20 + request.param, bodies)
    if request.param == 0:
        S, s0 = np.eye(bodies)[:, rng.permutation(bodies)], np.zeros(bodies)
    else:
        S = np.eye(bodies)[:, rng.permutation(bodies)[:4]]
        idle = ~S.any(axis=1)
        S[idle, rng.integers(0, 4, idle.sum())] = rng.uniform(-2.0, 2.0, idle.sum())
        s0 = rng.uniform(-0.5, 0.5, bodies)
    coupled = make(free.parents, free.joint_types, free.placements, free.axes,
                   free.link_offsets, free.inertial_parameters, gravity=free.gravity,
                   coupling=S, coupling_offset=s0)
    assert not coupled.is_directly_driven
    q, v, v_r, a_r, s = rng.uniform(-1.5, 1.5, (5, S.shape[1]))
    return Dynamics(coupled), Dynamics(free), S, s0, (q, v, v_r, a_r, s)


def test_matrices(pair):
    ours, free, S, s0, (q, v, *_) = pair
    M, C, g = ours.matrices(q, v)
    M_b, C_b, g_b = free.matrices(S @ q + s0, S @ v)
    np.testing.assert_allclose(M, S.T @ M_b @ S, atol=1e-12)
    np.testing.assert_allclose(C, S.T @ C_b @ S, atol=1e-12)
    np.testing.assert_allclose(g, S.T @ g_b, atol=1e-12)
    buffers = np.ones_like(M), np.ones_like(C), np.ones_like(g)
    result = ours.matrices(q, v, out=buffers)
    assert all(x is y for x, y in zip(result, buffers, strict=True))
    for buffer, expected in zip(buffers, (M, C, g), strict=True):
        assert np.array_equal(buffer, expected)


def test_torques_and_regressors(pair):
    ours, _, _, _, (q, v, v_r, a_r, s) = pair
    M, C, g = ours.matrices(q, v)
    expected = M @ a_r + C @ v_r + g
    Yr = ours.slotine_li_regressor(q, v, v_r, a_r)
    assert Yr.shape == (ours.n, len(ours.parameters))
    np.testing.assert_allclose(Yr @ ours.parameters, expected, atol=1e-11)
    np.testing.assert_allclose(ours.inverse_dynamics(q, v, a_r), M @ a_r + C @ v + g, atol=1e-11)
    tau, gradient = ours.adaptive_terms(q, v, v_r, a_r, s, ours.parameters)
    np.testing.assert_allclose(tau, expected, atol=1e-11)
    np.testing.assert_allclose(gradient, Yr.T @ s, atol=1e-11)
    np.testing.assert_allclose(ours.forward_dynamics(q, v, M @ a_r + C @ v + g), a_r, atol=1e-8)


def test_joint_terms_belong_to_the_independent_joints(pair):
    ours, _, _, _, (q, v, v_r, a_r, s) = pair
    terms = JOINT_TERMS
    Yr = ours.slotine_li_regressor(q, v, v_r, a_r, terms,
                                   out=np.ones((ours.n, len(ours.column_names(terms)))))
    inertial = 10 * ours.robot.n_bodies
    assert Yr.shape == (ours.n, inertial + 4 * ours.n)
    np.testing.assert_array_equal(Yr[:, inertial:inertial + ours.n], np.diag(v_r))
    pi = np.linspace(-1.0, 1.0, Yr.shape[1])
    tau, gradient = ours.adaptive_terms(q, v, v_r, a_r, s, pi, terms)
    np.testing.assert_allclose(tau, Yr @ pi, atol=1e-11)
    np.testing.assert_allclose(gradient, Yr.T @ s, atol=1e-11)


def test_christoffel_matrix_stays_one(pair):
    ours, _, _, _, (q, v, *_) = pair
    h = 1e-5
    M_dot = (ours.mass_matrix(q + h * v) - ours.mass_matrix(q - h * v)) / (2.0 * h)
    N = M_dot - 2.0 * ours.coriolis_matrix(q, v)
    np.testing.assert_allclose(N + N.T, 0.0, atol=1e-7)


def test_kinematics(pair):
    ours, free, S, s0, (q, *_) = pair
    np.testing.assert_array_equal(ours.forward_kinematics(q), free.forward_kinematics(S @ q + s0))
    np.testing.assert_allclose(ours.jacobian(q, 'b5'), free.jacobian(S @ q + s0, 'b5') @ S,
                               atol=1e-13)
