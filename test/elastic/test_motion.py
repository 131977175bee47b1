# SPDX-License-Identifier: Apache-2.0
"""The simulated arm with elastic joints: what it conserves, and who agrees."""

import json
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.errors import DimensionError, ParameterError, SimulationError
from robot_dynamics.simulation.elastic_plant import ElasticPlant


@pytest.fixture
def loose(robot):
    """The robot without anything that takes energy."""
    return replace(robot, joints=replace(robot.joints, coulomb=0.0, viscous=0.0,
                                         spring_damping=0.0))


@pytest.fixture
def planar(shared, with_gravity):
    return with_gravity(json.loads((shared / 'reference' / 'ref_elastic_planar.json')
                                   .read_text()))


@pytest.mark.parametrize('is_coupled', [True, False])
def test_accelerations_are_those_of_the_equations(robot, state, is_coupled):
    robot = replace(robot, is_coupled=is_coupled)
    q, v, _ = state()
    n = robot.n
    tau = np.linspace(-0.5, 0.5, n)
    plant = ElasticPlant(robot, timestep=1e-7, smooth=1e-9)
    plant.reset(q[:n], v[:n], motor_q=q[n:], motor_v=v[n:])
    plant.set_effort(tau)
    before = plant.acceleration
    np.testing.assert_allclose(
        before, ElasticDynamics(robot).forward_dynamics(q, v, np.r_[np.zeros(n), tau]),
        rtol=1e-9, atol=1e-9)
    plant.advance(steps=1)
    change = np.r_[plant.v, plant.motor_v] - v
    np.testing.assert_allclose(change / plant.timestep, before, rtol=1e-4,
                               atol=1e-5 * np.abs(before).max())


def test_energy_is_kept_for_ten_seconds(planar):
    robot = replace(planar, joints=replace(planar.joints, coulomb=0.0, viscous=0.0))
    plant = ElasticPlant(robot, timestep=1e-4)
    plant.reset([0.3, -0.5], [0.2, 0.1])
    kinetic_scale = abs(plant.energy)
    before = plant.energy
    for _ in range(10):
        plant.advance(1.0)
        assert abs(plant.energy - before) <= 1e-6 * kinetic_scale


def test_energy_is_kept_in_trees(loose, state):
    q, v, _ = state()
    n = loose.n
    plant = ElasticPlant(loose, timestep=1e-5)
    plant.reset(q[:n], 0.3 * v[:n])
    before = plant.energy
    plant.advance(0.3)
    assert plant.energy == pytest.approx(before, rel=1e-8, abs=1e-7)


def test_efforts_and_friction_do_the_work(planar):
    plant = ElasticPlant(planar, timestep=1e-4, smooth=0.05)
    plant.reset([0.2, 0.4])
    plant.set_effort([30.0, -5.0])
    before, work, lost = plant.energy, 0.0, 0.0
    for _ in range(2000):
        first = plant.motor_v
        plant.advance(steps=1)
        v = 0.5 * (first + plant.motor_v)
        work += plant.timestep * v @ plant.effort
        lost += plant.timestep * v @ (planar.joints.viscous * v
                                      + planar.joints.coulomb * np.tanh(v / 0.05))
    assert work > 1.0 and lost > 0.01
    assert plant.energy - before == pytest.approx(work - lost, rel=1e-4)


def test_gravity_is_carried_by_springs_from_the_first_instant(planar):
    plant = ElasticPlant(planar)
    plant.reset([0.3, 0.2])
    gravity = ElasticDynamics(planar).gravity_torque(np.r_[plant.q, plant.motor_q])[:2]
    plant.set_effort(gravity)
    plant.advance(0.5)
    np.testing.assert_allclose(plant.q, [0.3, 0.2], atol=1e-9)
    np.testing.assert_allclose(planar.joints.stiffness * (plant.motor_q - plant.q), gravity,
                               rtol=1e-9)


def test_friction_of_the_planar_robot(shared):
    given = json.loads((shared / 'reference' / 'ref_elastic_planar.json').read_text())['friction']
    friction = StribeckFriction(*np.array(given['f']).T)
    for sample in given['samples']:
        np.testing.assert_allclose(friction.torque(np.full(2, sample['v'])), sample['F'],
                                   rtol=1e-12)
    assert not friction.torque(np.zeros(2)).any()
    # At standstill it opposes the motion: the other reading of the print gives less than none.
    np.testing.assert_allclose(friction.torque(np.full(2, 1e-9)), [0.0803, 0.1125], atol=1e-4)


def test_the_friction_that_is_simulated_is_that_of_the_formula(planar, shared):
    given = json.loads((shared / 'reference' / 'ref_elastic_planar.json').read_text())['friction']
    friction = StribeckFriction(*np.array(given['f']).T)
    plant = ElasticPlant(planar, friction=friction, timestep=1e-7, smooth=1e-9)
    plain = ElasticPlant(replace(planar, joints=replace(planar.joints, coulomb=0.0,
                                                        viscous=0.0)), timestep=1e-7)
    motor_v = np.array([0.4, -0.7])
    changes = []
    for each in (plant, plain):
        each.reset([0.1, 0.2], motor_v=motor_v)
        wanted = each.acceleration
        each.advance(steps=1)
        changes.append((each.motor_v - motor_v) / each.timestep)
        np.testing.assert_allclose(changes[-1], wanted[2:], rtol=1e-4)
    B = ElasticDynamics(planar).inertia_matrix(np.r_[0.1, 0.2, plant.motor_q])
    by_friction = np.linalg.inv(B)[2:, 2:] @ friction.torque(motor_v)
    np.testing.assert_allclose(changes[1] - changes[0], by_friction, rtol=1e-4)


def test_what_cannot_be_simulated_is_refused(planar):
    plant = ElasticPlant(planar, timestep=0.5)
    plant.set_effort([100.0, 100.0])
    with pytest.raises(SimulationError, match='diverged'):
        plant.advance(500.0)
    for effort in ([np.nan, 0.0], [np.inf, 0.0]):
        with pytest.raises(SimulationError, match='joint1'):
            plant.set_effort(effort)
    with pytest.raises(DimensionError, match='joint2'):
        plant.reset([0.0])
    with pytest.raises(SimulationError, match='timestep'):
        ElasticPlant(planar, timestep=0.0)
    with pytest.raises(SimulationError, match='one of seconds and steps'):
        plant.advance()
    with pytest.raises(DimensionError, match='friction'):
        ElasticPlant(planar, friction=StribeckFriction([0.1] * 3, [0.1] * 3))
    with pytest.raises(ParameterError, match='rise_speed'):
        StribeckFriction(0.1, 0.1, 0.1, 0.0)
    with pytest.raises(DimensionError, match=r'viscous must have shape \(3,\), got \(2,\)'):
        StribeckFriction([0.1, 0.2], [0.1, 0.2, 0.3])
    heavy = replace(planar, joints=replace(planar.joints, rotor_inertia=500.0))
    with pytest.raises(SimulationError, match='joint1'):
        ElasticPlant(heavy).advance(0.01)
