# SPDX-License-Identifier: Apache-2.0
"""The described armature is part of the equations, as in Pinocchio and MuJoCo."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, ModelError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot


@pytest.fixture(scope='module', params=['numba', 'c'])
def backend(request):
    return request.param


@pytest.fixture(scope='module')
def puma():
    """PUMA 560 with the rotors of its DH table."""
    return Robot.from_dh(resolve_robot('puma560').with_suffix('.yaml'))


def test_pinocchio_agrees(puma, backend):
    pinocchio = pytest.importorskip('pinocchio')
    model = pinocchio.buildModelFromXML(puma.to_urdf())
    model.armature = np.array(puma.armature)
    data = model.createData()
    dynamics = Dynamics(puma, backend=backend)
    rng = np.random.default_rng(0)
    for q, v, a in rng.uniform(-1.0, 1.0, (3, 3, puma.n)):
        for _ in range(2):
            tau = dynamics.inverse_dynamics(q, v, a)
            np.testing.assert_allclose(tau, pinocchio.rnea(model, data, q, v, a), atol=1e-11)
            upper = np.triu(pinocchio.crba(model, data, q))
            M = upper + np.triu(upper, 1).T
            np.testing.assert_allclose(dynamics.mass_matrix(q), M, atol=1e-11)
            np.testing.assert_allclose(dynamics.matrices(q, v)[0], M, atol=1e-11)
            np.testing.assert_allclose(dynamics.forward_dynamics(q, v, tau), a, atol=1e-9)
            pinocchio.computeABADerivatives(model, data, q, v, tau)
            found = dynamics.forward_dynamics_derivatives(q, v, tau)
            np.testing.assert_allclose(found.da_dq, data.ddq_dq, rtol=1e-9, atol=1e-7)
            np.testing.assert_allclose(found.da_dv, data.ddq_dv, rtol=1e-9, atol=1e-7)
    assert dynamics.mass_matrix(np.zeros(6))[5, 5] > 0.19


def test_mujoco_agrees(backend):
    arm = Robot.from_urdf(resolve_robot('arm7'))
    arm = replace(arm, armature=np.linspace(0.05, 0.4, arm.n))
    mujoco = pytest.importorskip('mujoco')
    from robot_dynamics.simulation.mjcf import robot_to_mjcf
    model = mujoco.MjModel.from_xml_string(robot_to_mjcf(arm))
    data = mujoco.MjData(model)
    dynamics = Dynamics(arm, backend=backend)
    q = np.random.default_rng(1).uniform(-1.0, 1.0, arm.n)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, M[k], unit)
    np.testing.assert_allclose(dynamics.mass_matrix(q), M, atol=1e-10)


def test_it_can_be_left_out(puma, backend):
    whole, bodies = Dynamics(puma, backend=backend), Dynamics(puma, backend=backend,
                                                              armature=False)
    q, v, a = np.random.default_rng(2).uniform(-1.0, 1.0, (3, puma.n))
    rotors = np.diag(puma.armature)
    np.testing.assert_allclose(whole.mass_matrix(q) - rotors, bodies.mass_matrix(q), atol=1e-12)
    np.testing.assert_allclose(whole.inverse_dynamics(q, v, a) - rotors @ a,
                               bodies.inverse_dynamics(q, v, a), atol=1e-12)
    np.testing.assert_allclose(whole.inverse_dynamics_derivatives(q, v, a).M,
                               whole.mass_matrix(q), atol=1e-12)
    np.testing.assert_allclose(whole.matrix_time_derivatives(q, v, a).M, whole.mass_matrix(q),
                               atol=1e-12)
    np.testing.assert_allclose(whole.regressor(q, v, a) @ puma.parameters,
                               bodies.inverse_dynamics(q, v, a), atol=1e-11)
    np.testing.assert_array_equal(bodies.armature, np.zeros(puma.n))
    np.testing.assert_allclose(whole.linearise(q, v, a=a).B[puma.n:],
                               np.linalg.inv(whole.mass_matrix(q)), rtol=1e-9)


def test_a_rotor_counts_once_where_another_joint_follows(cases):
    robot = Robot.from_urdf(cases / 'urdf_mimic' / 'mimic.urdf')
    robot = replace(robot, armature=np.linspace(0.1, 0.3, robot.n))
    q = np.linspace(0.1, 0.4, robot.n)
    for name in ('numba', 'c'):
        difference = (Dynamics(robot, backend=name).mass_matrix(q)
                      - Dynamics(robot, backend=name, armature=False).mass_matrix(q))
        np.testing.assert_allclose(difference, np.diag(robot.armature), atol=1e-12)


def test_external_forces(puma, backend):
    dynamics = Dynamics(puma, backend=backend)
    rng = np.random.default_rng(3)
    q, v, a = rng.uniform(-1.0, 1.0, (3, puma.n))
    forces = rng.uniform(-5.0, 5.0, (puma.n_bodies, 6))
    lever = sum(dynamics.jacobian(q, name).T @ force
                for name, force in zip(puma.body_names, forces, strict=True))
    tau = dynamics.inverse_dynamics(q, v, a, external=forces)
    np.testing.assert_allclose(tau, dynamics.inverse_dynamics(q, v, a) - lever, atol=1e-11)
    np.testing.assert_allclose(dynamics.forward_dynamics(q, v, tau, external=forces), a,
                               atol=1e-9)
    last = puma.body_names[-1]
    np.testing.assert_allclose(
        dynamics.inverse_dynamics(q, v, a, {last: forces[-1]}),
        dynamics.inverse_dynamics(q, v, a) - dynamics.jacobian(q, last).T @ forces[-1],
        atol=1e-11)
    many = dynamics.inverse_dynamics(np.stack([q, q]), v, a, external=np.stack([forces] * 2))
    np.testing.assert_allclose(many, [tau, tau], atol=1e-12)
    with pytest.raises(ModelError, match='is not a moving link'):
        dynamics.inverse_dynamics(q, v, a, {'nowhere': forces[0]})
    with pytest.raises(DimensionError, match='external must be of shape'):
        dynamics.inverse_dynamics(q, v, a, forces[:2])


def test_energies(puma, backend):
    dynamics = Dynamics(puma, backend=backend)
    q, v = np.random.default_rng(4).uniform(-1.0, 1.0, (2, puma.n))
    assert dynamics.kinetic_energy(q, v) == pytest.approx(
        0.5 * v @ dynamics.mass_matrix(q) @ v, rel=1e-12)
    h = 1e-6
    slopes = [(dynamics.potential_energy(q + h * e) - dynamics.potential_energy(q - h * e))
              / (2.0 * h) for e in np.eye(puma.n)]
    np.testing.assert_allclose(slopes, dynamics.gravity_torque(q), atol=1e-6)
    assert dynamics.kinetic_energy(np.stack([q] * 3), v).shape == (3,)
    assert dynamics.potential_energy(np.stack([q] * 3)).shape == (3,)


def test_parameters_are_not_set_in_silence(puma):
    with pytest.raises(ParameterError, match=r'cannot be set; .*with_parameters'):
        Dynamics(puma).parameters = puma.parameters
