# SPDX-License-Identifier: Apache-2.0
"""What the equations of motion of every robot must satisfy, on random trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.layout import IS_SCATTERED
from robot_dynamics.dynamics.packing import body_table

SEEDS = range(12)


@pytest.fixture(params=SEEDS)
def case(request, tree):
    """Equations of a random tree, a random generator and a state."""
    rng = np.random.default_rng(100 + request.param)
    robot = tree(request.param, bodies=int(rng.integers(1, 9)))
    q, v, v_r, a_r, s = rng.uniform(-2.0, 2.0, (5, robot.n))
    return Dynamics(robot), q, v, v_r, a_r, s


def test_some_trees_are_out_of_depth_first_order_and_have_offsets(tree):
    robots = [tree(seed, 8) for seed in SEEDS]
    scattered = [body_table(robot)[:-1, IS_SCATTERED].any() for robot in robots]
    assert any(scattered) and not all(scattered)
    offsets = [np.any(robot.link_offsets) for robot in robots]
    assert any(offsets) and not all(offsets)
    prismatic = np.concatenate([robot.joint_types == 2 for robot in robots])
    assert prismatic.any() and not prismatic.all()


def test_slotine_li_regressor_gives_the_passive_torque(case):
    dynamics, q, v, v_r, a_r, _ = case
    M, C, g = dynamics.matrices(q, v)
    Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r)
    expected = M @ a_r + C @ v_r + g
    np.testing.assert_allclose(Yr @ dynamics.parameters, expected, rtol=1e-11, atol=1e-11)


def test_regressor_gives_the_inverse_dynamics(case):
    dynamics, q, v, _, a, _ = case
    M, C, g = dynamics.matrices(q, v)
    tau = dynamics.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, M @ a + C @ v + g, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(dynamics.regressor(q, v, a) @ dynamics.parameters, tau,
                               rtol=1e-11, atol=1e-11)


def test_inverse_dynamics_is_linear_in_the_parameters(case):
    dynamics, q, v, _, a, _ = case
    Y = dynamics.regressor(q, v, a)
    rng = np.random.default_rng(7)
    for _ in range(3):
        pi = rng.normal(size=len(dynamics.parameters))
        other = Dynamics(dynamics.robot.with_parameters(pi))
        np.testing.assert_allclose(Y @ pi, other.inverse_dynamics(q, v, a),
                                   rtol=1e-11, atol=1e-11)


def test_adaptive_terms_equal_the_regressor_products(case):
    dynamics, q, v, v_r, a_r, s = case
    pi = np.random.default_rng(8).normal(size=len(dynamics.parameters))
    Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r)
    tau, gradient = dynamics.adaptive_terms(q, v, v_r, a_r, s, pi)
    np.testing.assert_allclose(tau, Yr @ pi, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(gradient, Yr.T @ s, rtol=1e-11, atol=1e-11)


def test_mass_matrix_rate_minus_twice_coriolis_is_skew(case):
    dynamics, q, v, *_ = case
    M_dot = derivative(lambda t: dynamics.mass_matrix(q + t * v))
    N = M_dot - 2.0 * dynamics.coriolis_matrix(q, v)
    np.testing.assert_allclose(N + N.T, 0.0, atol=1e-9 * max(1.0, np.abs(M_dot).max()))


def test_coriolis_matrix_is_made_of_christoffel_symbols(case):
    dynamics, q, v, *_ = case
    n = len(q)
    dM = np.array([derivative(lambda t, k=k: dynamics.mass_matrix(q + t * np.eye(n)[k]))
                   for k in range(n)])
    C = 0.5 * (np.einsum('kij,k->ij', dM, v) + np.einsum('jik,k->ij', dM, v)
               - np.einsum('ijk,k->ij', dM, v))
    np.testing.assert_allclose(dynamics.coriolis_matrix(q, v), C,
                               atol=1e-9 * max(1.0, np.abs(dM).max()))


def test_gravity_is_the_gradient_of_the_potential_energy(case):
    dynamics, q, *_ = case
    def energy(q):
        poses = dynamics.forward_kinematics(q)
        moments = dynamics.robot.inertial_parameters
        centres = np.einsum('krc,kc->kr', poses[:, :3, :3], moments[:, 1:4])
        centres += moments[:, :1] * poses[:, :3, 3]
        return -np.sum(centres @ dynamics.robot.gravity)
    expected = [derivative(lambda t, k=k: energy(q + t * np.eye(len(q))[k]))
                for k in range(len(q))]
    np.testing.assert_allclose(dynamics.gravity_torque(q), expected, atol=1e-7)


def test_mass_matrix_is_symmetric_and_positive_definite(case):
    dynamics, q, *_ = case
    M = dynamics.mass_matrix(q)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0


def test_forward_dynamics_inverts_inverse_dynamics(case):
    dynamics, q, v, _, a, _ = case
    tau = dynamics.inverse_dynamics(q, v, a)
    condition = np.linalg.cond(dynamics.mass_matrix(q))
    np.testing.assert_allclose(dynamics.forward_dynamics(q, v, tau), a, rtol=0,
                               atol=1e-14 * condition * np.abs(tau).max() + 1e-12)


@settings(max_examples=30, deadline=None)
@given(angle=st.floats(-1e3, 1e3), turns=st.integers(-150, 150))
def test_large_angles(tree_of_turning_joints, angle, turns):
    """Whole turns change nothing; neither does where the turns are."""
    dynamics = Dynamics(tree_of_turning_joints)
    n = dynamics.n
    q = np.linspace(0.1, 1.0, n) * angle
    v, a = np.linspace(-1.0, 1.0, n), np.linspace(2.0, -1.0, n)
    Y = dynamics.regressor(q, v, a)
    np.testing.assert_allclose(dynamics.regressor(q + 2.0 * np.pi * turns, v, a), Y,
                               atol=1e-10)
    np.testing.assert_allclose(Y @ dynamics.parameters, dynamics.inverse_dynamics(q, v, a),
                               rtol=1e-11, atol=1e-11)


@pytest.fixture(scope='module')
def tree_of_turning_joints(tree):
    """A random tree without prismatic joints."""
    return tree(3, 6, prismatic=0.0)


def test_a_distant_base_changes_nothing(tree):
    robot = tree(5, 7)
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, robot.n))
    near = Dynamics(robot)
    placements = np.array(robot.placements)
    placements[robot.parents < 0, :3, 3] += [1e5, -2e5, 3e4]
    far = Dynamics(type(robot)(**{name: getattr(robot, name)
                                  for name in robot.__dataclass_fields__}
                               | {'placements': placements}))
    np.testing.assert_allclose(far.inverse_dynamics(q, v, a), near.inverse_dynamics(q, v, a),
                               rtol=1e-9)
    for ours, theirs in zip(far.matrices(q, v), near.matrices(q, v), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_energy_is_kept_in_free_motion(tree):
    """Half a second of free fall by a fourth-order Runge-Kutta method."""
    dynamics = Dynamics(tree(2, 5))
    def rate(x):
        q, v = np.split(x, 2)
        return np.concatenate([v, dynamics.forward_dynamics(q, v, np.zeros_like(q))])

    def energy(x):
        q, v = np.split(x, 2)
        poses = dynamics.forward_kinematics(q)
        moments = dynamics.robot.inertial_parameters
        centres = np.einsum('krc,kc->kr', poses[:, :3, :3], moments[:, 1:4])
        centres += moments[:, :1] * poses[:, :3, 3]
        kinetic = 0.5 * v @ dynamics.mass_matrix(q) @ v
        return kinetic - np.sum(centres @ dynamics.robot.gravity), kinetic

    x = np.concatenate([np.linspace(0.2, 0.8, dynamics.n), np.linspace(0.5, -0.5, dynamics.n)])
    start, _ = energy(x)
    h, largest = 1e-3, 0.0
    for _ in range(500):
        k1 = rate(x)
        k2 = rate(x + 0.5 * h * k1)
        k3 = rate(x + 0.5 * h * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        largest = max(largest, energy(x)[1])
    assert largest > 1.0
    assert abs(energy(x)[0] - start) < 1e-6 * largest


def derivative(function):
    """Derivative at 0 by Richardson's extrapolation of central differences."""
    def central(h):
        return (np.asarray(function(h)) - np.asarray(function(-h))) / (2.0 * h)
    h = 2e-3
    first = [central(h), central(h / 2), central(h / 4)]
    second = [(4.0 * first[1] - first[0]) / 3.0, (4.0 * first[2] - first[1]) / 3.0]
    return (16.0 * second[1] - second[0]) / 15.0
