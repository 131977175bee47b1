# SPDX-License-Identifier: Apache-2.0
"""What holds for every robot with elastic joints: trees, prismatic joints, skew rotors."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import DimensionError, ModelError, ParameterError, StateError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot


@pytest.fixture
def dynamics(robot):
    return ElasticDynamics(robot)


def differences(function, x, step=1e-6):
    """Derivative of a function of one sample by each of its coordinates, in columns."""
    return np.stack([(function(x + step * e) - function(x - step * e)) / (2.0 * step)
                     for e in np.eye(len(x))], axis=-1)


def test_regressor_times_parameters_is_the_torque(robot, dynamics, state):
    q, v, a = state(20)
    rigid_springs = ElasticDynamics(replace(
        robot, joints=replace(robot.joints, spring_damping=0.0)))
    for order in ('paper', 'tables', 'bodies'):
        torque = dynamics.regressor(q, v, a, order) @ robot.parameters(order)
        np.testing.assert_allclose(torque, rigid_springs.inverse_dynamics(q, v, a), atol=1e-11)


def test_torque_is_inertia_coriolis_gravity_springs_and_friction(dynamics, state):
    q, v, a = state(20)
    B, C, g = dynamics.matrices(q, v)
    np.testing.assert_allclose(
        dynamics.inverse_dynamics(q, v, a),
        np.einsum('sij,sj->si', B, a) + np.einsum('sij,sj->si', C, v) + g
        + dynamics.spring_torque(q, v) + dynamics.friction_torque(v), atol=1e-11)
    np.testing.assert_allclose(g, dynamics.gravity_torque(q), atol=1e-12)


def test_the_reference_regressor_stands_on_the_christoffel_matrix(robot, dynamics, state):
    q, v, v_r = state(20)
    a_r = state(20)[0]
    B, C, g = dynamics.matrices(q, v)
    n, joints = robot.n, robot.joints
    wanted = np.einsum('sij,sj->si', B, a_r) + np.einsum('sij,sj->si', C, v_r) + g
    wanted += q @ dynamics.stiffness_matrix
    wanted[:, n:] += joints.viscous * v_r[:, n:] + joints.coulomb * np.sign(v_r[:, n:])
    np.testing.assert_allclose(
        dynamics.slotine_li_regressor(q, v, v_r, a_r) @ robot.parameters(), wanted, atol=1e-11)


def test_the_christoffel_matrix_comes_from_the_inertia_matrix(dynamics, state):
    q, v, _ = state()
    H = differences(dynamics.inertia_matrix, q)  # H[i, j, k] = dB_ij / dq_k
    _, C, _ = dynamics.matrices(q, v)
    # C_ij = 1/2 sum_k (dB_ij/dq_k + dB_ik/dq_j - dB_jk/dq_i) v_k
    wanted = 0.5 * (np.einsum('ijk,k->ij', H, v) + np.einsum('ikj,k->ij', H, v)
                    - np.einsum('jki,k->ij', H, v))
    np.testing.assert_allclose(C, wanted, atol=1e-8)
    skew = np.einsum('ijk,k->ij', H, v) - 2.0 * C
    np.testing.assert_allclose(skew, -skew.T, atol=1e-8)


def test_energy_changes_by_the_power_of_efforts_and_losses(dynamics, state):
    q, v, a = state()
    tau = dynamics.inverse_dynamics(q, v, a)
    n = dynamics.n
    joints = dynamics.robot.joints
    lost = (v[n:] @ dynamics.friction_torque(v)[n:]
            + joints.spring_damping @ (v[:n] - v[n:])**2)
    h = 1e-5
    before, after = (dynamics.energy(q + t * v + 0.5 * t * t * a, v + t * a) for t in (-h, h))
    assert (after - before) / (2 * h) == pytest.approx(tau @ v - lost, rel=1e-7, abs=1e-7)


def test_derivatives_are_those_of_differences(robot, state):
    dynamics = ElasticDynamics(robot, coulomb_velocity=0.1)
    q, v, a = state()
    dq, dv, B = dynamics.inverse_dynamics_derivatives(q, v, a)
    np.testing.assert_allclose(
        dq, differences(lambda x: dynamics.inverse_dynamics(x, v, a), q), atol=2e-6)
    np.testing.assert_allclose(
        dv, differences(lambda x: dynamics.inverse_dynamics(q, x, a), v), atol=2e-6)
    np.testing.assert_allclose(B, dynamics.inertia_matrix(q), atol=0.0)


def test_linear_model_is_that_of_differences(robot, state):
    dynamics = ElasticDynamics(robot, coulomb_velocity=0.1)
    q, v, _ = state()
    tau = np.linspace(-1.0, 1.0, 2 * robot.n)
    model = dynamics.linearise(q, v, tau)

    def rate(x):
        return np.concatenate([x[len(q):], dynamics.forward_dynamics(x[:len(q)], x[len(q):],
                                                                     tau)])

    wanted = differences(rate, np.concatenate([q, v]))
    np.testing.assert_allclose(model.A, wanted, atol=1e-5 * np.abs(wanted).max())
    wanted = differences(lambda x: dynamics.forward_dynamics(q, v, x), tau)
    np.testing.assert_allclose(model.B[2 * robot.n:], wanted, atol=1e-6 * np.abs(wanted).max())
    assert not model.B[:2 * robot.n].any()


def test_forward_inverts_inverse_and_batches_are_loops(dynamics, state):
    q, v, a = state(6)
    tau = dynamics.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(dynamics.forward_dynamics(q, v, tau), a, atol=1e-9)
    np.testing.assert_array_equal(tau, [dynamics.inverse_dynamics(*one)
                                        for one in zip(q, v, a, strict=True)])
    np.testing.assert_array_equal(dynamics.regressor(q, v, a)[3],
                                  dynamics.regressor(q[3], v[3], a[3]))


def test_without_coupling_it_is_the_model_of_spong(robot, state):
    q, v, a = state(5)
    simple = ElasticDynamics(replace(robot, is_coupled=False))
    n, joints = robot.n, robot.joints
    across = (joints.stiffness * (q[:, :n] - q[:, n:])
              + joints.spring_damping * (v[:, :n] - v[:, n:]))
    tau = simple.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(
        tau[:, :n], simple.links.inverse_dynamics(q[:, :n], v[:, :n], a[:, :n]) + across,
        atol=1e-11)
    np.testing.assert_allclose(
        tau[:, n:], joints.gear_ratio**2 * joints.rotor_inertia * a[:, n:] - across
        + joints.viscous * v[:, n:] + joints.coulomb * np.sign(v[:, n:]), atol=1e-11)
    B = simple.inertia_matrix(q)
    assert not B[:, :n, n:].any()
    torque = simple.regressor(q, v, a) @ robot.parameters()
    damping = np.concatenate([joints.spring_damping * (v[:, :n] - v[:, n:]),
                              -joints.spring_damping * (v[:, :n] - v[:, n:])], axis=1)
    np.testing.assert_allclose(torque + damping, tau, atol=1e-11)


def test_parameters_go_round(robot):
    rng = np.random.default_rng(0)
    for order in ('paper', 'tables', 'bodies'):
        Pi = rng.uniform(0.5, 1.0, 14 * robot.n)
        again = robot.with_parameters(Pi, order)
        np.testing.assert_array_equal(again.parameters(order), Pi)
        assert len(set(robot.parameter_names(order))) == 14 * robot.n
    assert set(robot.parameter_names('paper')) == set(robot.parameter_names('bodies'))


def test_copies_are_equal(dynamics, state):
    q, v, a = state(2)
    copy = pickle.loads(pickle.dumps(dynamics))
    np.testing.assert_array_equal(copy.inverse_dynamics(q, v, a),
                                  dynamics.inverse_dynamics(q, v, a))


@pytest.mark.parametrize(('field', 'value', 'text'), [
    ('gear_ratio', 0.0, 'joint1'), ('gear_ratio', -1.0, 'joint1'), ('stiffness', np.nan, 'joint1'),
    ('rotor_inertia', np.inf, 'joint1'), ('coulomb', -0.1, 'joint1'),
    ('viscous', [0.0, 0.0, 0.0], 'viscous'), ('spring_damping', 'much', 'spring_damping'),
    ('rotor_axes', np.zeros((2, 3)), 'joint1'), ('rotor_axes', [0.0, 0.0, 1.0], 'rotor_axes')])
def test_joints_that_cannot_be_are_refused_by_name(field, value, text):
    good = {'gear_ratio': 100.0, 'rotor_inertia': 1e-4, 'stiffness': 1e4,
            'names': ('joint1', 'joint2')}
    ElasticJoints(**good)
    with pytest.raises((ParameterError, DimensionError)) as caught:
        ElasticJoints(**{**good, field: value})
    assert text in str(caught.value) and caught.value.remedy


def test_robots_that_cannot_be_are_refused():
    links = Robot.from_urdf(resolve_robot('arm7'))
    joints = ElasticJoints(100.0, 1e-4, 1e4, names=links.joint_names)
    reordered = Robot.from_urdf(resolve_robot('arm7'), joints=links.joint_names[::-1])
    with pytest.raises(ModelError, match='order'):
        ElasticRobot(reordered, joints)
    with pytest.raises(DimensionError, match='joint7'):
        ElasticRobot(links, ElasticJoints([100.0] * 3, 1e-4, 1e4))
    robot = ElasticRobot(links, joints)
    with pytest.raises(ParameterError, match='tables'):
        robot.parameters('alphabetical')
    with pytest.raises(DimensionError, match='parameters'):
        robot.with_parameters(np.ones(3))
    with pytest.raises(ModelError, match='ElasticRobot'):
        ElasticDynamics(links)
    with pytest.raises(ParameterError, match='coulomb_velocity'):
        ElasticDynamics(robot, coulomb_velocity=-1.0)


def test_states_that_cannot_be_are_refused():
    links = Robot.from_urdf(resolve_robot('planar_2r'))
    dynamics = ElasticDynamics(ElasticRobot(links, ElasticJoints(
        [1.0, 1.0], [50.0, 50.0], [1e3, 1e3], names=links.joint_names)))
    still = np.zeros(4)
    with pytest.raises(DimensionError, match='motors'):
        dynamics.inverse_dynamics(still[:2], still, still)
    # Rotors far heavier than the links that are said to carry them.
    with pytest.raises(StateError, match='positive definite'):
        dynamics.forward_dynamics(still, still, still)
