# SPDX-License-Identifier: Apache-2.0
"""What the equations of robots with joints of several coordinates must satisfy."""

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels.layout import IS_SCATTERED
from robot_dynamics.dynamics.packing import body_table
from robot_dynamics.model.robot import JointType, Robot
from robot_dynamics.model.shipped import shipped_robots

TERMS = ('viscous', 'armature')


@pytest.fixture(params=range(10))
def case(request, free_tree):
    """Equations of a random tree and a state."""
    rng = np.random.default_rng(300 + request.param)
    robot = free_tree(request.param, bodies=int(rng.integers(1, 8)), roots=1)
    q = robot.integrate(robot.neutral(), rng.uniform(-2.0, 2.0, robot.n))
    return Dynamics(robot), q, *rng.uniform(-2.0, 2.0, (4, robot.n))


def directional(function, robot, q, v):
    """Derivative of a function of positions along a velocity, by extrapolation."""
    def central(h):
        ahead, behind = robot.integrate(q, v, h), robot.integrate(q, v, -h)
        return (np.asarray(function(ahead)) - np.asarray(function(behind))) / (2.0 * h)
    first = [central(2e-3 / 2 ** k) for k in range(3)]
    second = [(4.0 * first[k + 1] - first[k]) / 3.0 for k in range(2)]
    return (16.0 * second[1] - second[0]) / 15.0


def potential_energy(dynamics, q):
    poses = dynamics.forward_kinematics(q)
    moments = dynamics.robot.inertial_parameters
    centres = np.einsum('krc,kc->kr', poses[:, :3, :3], moments[:, 1:4])
    return -np.sum((centres + moments[:, :1] * poses[:, :3, 3]) @ dynamics.robot.gravity)


def test_the_trees_have_every_joint_and_are_out_of_order_at_times(free_tree):
    robots = [free_tree(seed, 7) for seed in range(10)]
    kinds = np.concatenate([robot.joint_types for robot in robots])
    assert set(kinds) == {*JointType}
    scattered = [body_table(robot)[:-1, IS_SCATTERED].any() for robot in robots]
    assert any(scattered) and not all(scattered)


def test_slotine_li_regressor_gives_the_passive_torque(case):
    dynamics, q, v, v_r, a_r, _ = case
    M, C, g = dynamics.matrices(q, v)
    Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r)
    np.testing.assert_allclose(Yr @ dynamics.parameters, M @ a_r + C @ v_r + g,
                               rtol=1e-11, atol=1e-11)


def test_regressor_gives_the_inverse_dynamics(case):
    dynamics, q, v, _, a, _ = case
    M, C, g = dynamics.matrices(q, v)
    tau = dynamics.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, M @ a + C @ v + g, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(dynamics.regressor(q, v, a) @ dynamics.parameters, tau,
                               rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(dynamics.gravity_torque(q), g, rtol=1e-11, atol=1e-11)


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
    pi = np.random.default_rng(8).normal(size=len(dynamics.column_names(TERMS)))
    Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r, TERMS)
    tau, gradient = dynamics.adaptive_terms(q, v, v_r, a_r, s, pi, TERMS)
    np.testing.assert_allclose(tau, Yr @ pi, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(gradient, Yr.T @ s, rtol=1e-11, atol=1e-11)


def test_mass_matrix_rate_minus_twice_coriolis_is_skew(case):
    dynamics, q, v, *_ = case
    M_dot = directional(dynamics.mass_matrix, dynamics.robot, q, v)
    N = M_dot - 2.0 * dynamics.coriolis_matrix(q, v)
    np.testing.assert_allclose(N + N.T, 0.0, atol=1e-9 * max(1.0, np.abs(M_dot).max()))


def test_coriolis_forces_follow_from_the_kinetic_energy(case):
    """C v by Hamel's equations, from mass matrices and brackets of velocities alone.

    With the brackets [w_h, w_k] = sum_l gamma_hkl w_l of the directions of velocities,
    (C v)_h = (dM/dt v)_h - 1/2 w_h(v^T M v) - sum_kl v_k gamma_khl (M v)_l: G. Hamel, "Die
    Lagrange-Eulerschen Gleichungen der Mechanik", Z. f. Mathematik und Physik 50, 1904.
    """
    dynamics, q, v, *_ = case
    robot = dynamics.robot
    unit = np.eye(robot.n)
    M = dynamics.mass_matrix(q)
    energy_rates = [0.5 * v @ directional(dynamics.mass_matrix, robot, q, e) @ v for e in unit]
    turned = np.array([bracket(robot, v, e) for e in unit])
    expected = (directional(dynamics.mass_matrix, robot, q, v) @ v - energy_rates
                - turned @ (M @ v))
    np.testing.assert_allclose(dynamics.coriolis_matrix(q, v) @ v, expected,
                               atol=1e-8 * max(1.0, np.abs(expected).max()))


def bracket(robot, x, y):
    """Bracket of two velocities, joint by joint: that of twists in the axes of the body."""
    result = np.zeros(robot.n)
    for k, kind in enumerate(robot.coordinates.types):
        at = robot.coordinates.velocities(k)
        twists = [twist(kind, z[at]) for z in (x, y)]
        (u, w), (p, r) = twists
        both = np.cross(w, p) - np.cross(r, u), np.cross(w, r)
        if kind is JointType.FLOATING:
            result[at] = np.concatenate(both)
        elif kind is JointType.PLANAR:
            result[at] = [both[0][0], both[0][1], both[1][2]]
        elif kind is JointType.SPHERICAL:
            result[at] = both[1]
    return result


def twist(kind, v):
    """Linear and angular velocity in the axes of the body; of the plane, where there is one."""
    if kind is JointType.FLOATING:
        return v[:3], v[3:]
    if kind is JointType.PLANAR:
        return np.array([v[0], v[1], 0.0]), np.array([0.0, 0.0, v[2]])
    if kind is JointType.SPHERICAL:
        return np.zeros(3), v
    return np.zeros(3), np.zeros(3)


def test_gravity_is_the_gradient_of_the_potential_energy(case):
    dynamics, q, *_ = case
    expected = [directional(lambda x: potential_energy(dynamics, x), dynamics.robot, q, e)
                for e in np.eye(dynamics.n)]
    np.testing.assert_allclose(dynamics.gravity_torque(q), expected, atol=1e-7)


def test_jacobian_is_the_derivative_of_the_pose(case):
    dynamics, q, v, *_ = case
    link = dynamics.robot.body_names[-1]
    pose = dynamics.forward_kinematics(q, link)
    rate = directional(lambda x: dynamics.forward_kinematics(x, link), dynamics.robot, q, v)
    J = dynamics.jacobian(q, link)
    np.testing.assert_allclose(rate[:3, 3], J[:3] @ v, atol=1e-9)
    w = J[3:] @ v
    np.testing.assert_allclose(rate[:3, :3], np.cross(w, pose[:3, :3].T).T, atol=1e-9)


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


def energies(dynamics, q, v):
    """Kinetic energy, and the sum of both."""
    kinetic = 0.5 * v @ dynamics.mass_matrix(q) @ v
    return kinetic, kinetic + potential_energy(dynamics, q)


def fall(dynamics, seconds, steps):
    """Positions and velocities in free motion, by the midpoint rule on the configurations."""
    robot = dynamics.robot
    rng = np.random.default_rng(3)
    q, v = robot.integrate(robot.neutral(), rng.uniform(-1, 1, robot.n)), rng.uniform(
        -1.0, 1.0, robot.n)
    h, free = seconds / steps, np.zeros(robot.n)
    yield q, v
    for _ in range(steps):
        half = v + 0.5 * h * dynamics.forward_dynamics(q, v, free)
        a = dynamics.forward_dynamics(robot.integrate(q, v, 0.5 * h), half, free)
        q, v = robot.integrate(q, half, h), v + h * a
        yield q, v


@pytest.mark.parametrize('seed', [0, 1, 2])
def test_energy_is_kept_in_free_motion(free_tree, seed):
    """What the midpoint rule loses falls with the square of the step."""
    dynamics = Dynamics(free_tree(seed, 4))
    lost = []
    for steps in (200, 400):
        kinetic, total = np.array([energies(dynamics, q, v)
                                   for q, v in fall(dynamics, 0.2, steps)]).T
        lost.append(np.abs(total - total[0]).max() / np.abs(kinetic).max())
    assert lost[1] < 1e-4
    assert lost[0] / lost[1] > 3.5


def test_momentum_of_an_arm_that_floats_in_space_is_kept():
    robot = Robot.from_urdf(shipped_robots()['arm7'], floating_base=True, gravity=np.zeros(3))
    dynamics = Dynamics(robot)
    lost = []
    for steps in (200, 400):
        momenta = np.array([momentum(dynamics, q, v) for q, v in fall(dynamics, 0.2, steps)])
        lost.append(np.abs(momenta - momenta[0]).max(axis=0) / np.abs(momenta[0]).max())
    assert np.max(lost[1]) < 1e-4
    assert np.max(lost[0]) / np.max(lost[1]) > 3.5


def momentum(dynamics, q, v):
    """Linear and angular momentum of all bodies in the axes and about the origin of the world."""
    linear, angular = np.split((dynamics.mass_matrix(q) @ v)[:6], 2)
    pose = dynamics.forward_kinematics(q)[0]
    linear, angular = pose[:3, :3] @ linear, pose[:3, :3] @ angular
    return np.concatenate([linear, angular + np.cross(pose[:3, 3], linear)])
