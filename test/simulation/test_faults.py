# SPDX-License-Identifier: Apache-2.0
"""Faults of actuators and pushes, against the equations that describe them."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, DimensionError, SimulationError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.faults import Fault, FaultKind, FaultyPlant
from robot_dynamics.simulation.plant import Plant

STEP = 1e-4
Q = np.array([0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2])
V = np.array([0.6, -0.5, 0.4, 0.8, -0.7, 0.5, 0.9])


@pytest.fixture(scope='module')
def robot():
    arm = Robot.from_urdf(resolve_robot('arm7'))
    return replace(arm, friction=np.zeros(7), damping=np.zeros(7), armature=np.zeros(7))


@pytest.fixture
def plant(robot):
    made = FaultyPlant(robot, timestep=STEP)
    made.reset(Q, V)
    made.set_effort(Dynamics(robot).inverse_dynamics(Q, V, np.linspace(-1.0, 1.0, 7)))
    return made


def acceleration(plant):
    """Mean acceleration of one step."""
    before = plant.v
    plant.advance(steps=1)
    return (plant.v - before) / STEP


def test_without_a_fault_it_is_a_plant(robot, plant):
    other = Plant(robot, timestep=STEP)
    other.reset(Q, V)
    other.set_effort(plant.effort)
    plant.add_fault(Fault('joint2', FaultKind.FREE_SWINGING, begin=5.0))
    plant.add_fault(Fault('joint2', FaultKind.FREE_SWINGING, begin=-1.0, end=0.0))
    for made in (plant, other):
        made.advance(0.05)
    np.testing.assert_array_equal(plant.q, other.q)
    assert not np.any(plant.fault_effort)


@pytest.mark.parametrize('rate', [20.0, 200.0])
def test_an_incipient_block_is_that_of_the_paper(robot, plant, rate):
    """De Luca 2021, eq. 7, and what follows for the other joints."""
    dynamics, joint = Dynamics(robot), 3
    H = np.linalg.inv(dynamics.mass_matrix(Q))
    free = H @ (plant.effort - dynamics.inverse_dynamics(Q, V, np.zeros(7)))
    tau_f = (free[joint] + rate * V[joint]) / H[joint, joint]
    plant.add_fault(Fault('joint4', FaultKind.BLOCK, rate))
    found = acceleration(plant)
    expected = free - H[:, joint] * tau_f
    assert expected[joint] == pytest.approx(-rate * V[joint])
    # A step of finite length differs by a share of the order of rate times step.
    np.testing.assert_allclose(found, expected, atol=2.0 * rate * STEP * np.abs(expected).max())
    assert plant.fault_effort[joint] == pytest.approx(tau_f, rel=2.0 * rate * STEP, abs=0.2)
    assert np.count_nonzero(plant.fault_effort) == 1
    # The drive reports the commanded effort.
    assert plant.effort[joint] != 0.0
    for _ in range(20):
        plant.advance(0.005)
    assert plant.v[joint] == pytest.approx(V[joint] * np.exp(-rate * plant.time), abs=1e-6)


def test_a_hard_block_stands_at_once_and_lets_go_in_time(robot, plant):
    robot = replace(robot, friction=np.full(7, 0.3))
    plant = FaultyPlant(robot, timestep=5e-4)
    plant.reset(Q, V)
    plant.set_effort(np.zeros(7))
    plant.add_fault(Fault('joint2', FaultKind.BLOCK, 1e6, 0.01, 0.05))
    plant.advance(0.0105)
    stands = plant.q[1]
    plant.advance(0.039)
    assert plant.q[1] == pytest.approx(stands, abs=1e-6)
    assert abs(plant.v[1]) < 1e-6
    # Gravity has it again.
    plant.advance(0.05)
    assert abs(plant.q[1] - stands) > 1e-3


def test_several_blocked_joints_stand_though_they_throw_each_other_off(robot, plant):
    blocked = ['joint2', 'joint4', 'joint6']
    for joint in blocked:
        plant.add_fault(Fault(joint, FaultKind.BLOCK, 1e6, end=0.01))
        # Of two at one joint the strongest holds it.
        plant.add_fault(Fault(joint, FaultKind.BLOCK, 0.0, end=0.01))
    plant.add_push('link7', [30.0, 20.0, -40.0])
    plant.advance(steps=20)
    dofs = [robot.joint_names.index(joint) for joint in blocked]
    np.testing.assert_allclose(plant.v[dofs], 0.0, atol=1e-6)
    assert np.abs(np.delete(plant.v, dofs)).min() > 1e-3
    plant.advance(0.02)
    assert np.abs(plant.v[dofs]).min() > 1e-3


@pytest.mark.parametrize(('kind', 'size', 'delivered'), [
    (FaultKind.FREE_SWINGING, 0.0, lambda tau, limit: 0.0),
    (FaultKind.SATURATED, -0.5, lambda tau, limit: -0.5 * limit),
    (FaultKind.LOSS, 0.3, lambda tau, limit: 0.7 * tau),
    (FaultKind.BIAS, 4.0, lambda tau, limit: tau + 4.0),
])
def test_other_faults_deliver_something_else(robot, plant, kind, size, delivered):
    tau = plant.effort
    plant.add_fault(Fault('joint4', kind, size))
    got = tau.copy()
    got[3] = delivered(tau[3], robot.limits.effort[3])
    expected = Dynamics(robot).forward_dynamics(Q, V, got)
    np.testing.assert_allclose(acceleration(plant), expected,
                               atol=1e-2 * np.abs(expected).max())
    np.testing.assert_allclose(plant.fault_effort, tau - got, atol=1e-9)
    np.testing.assert_array_equal(plant.effort, tau)
    # Two faults of two joints at once.
    plant.reset(Q, V)
    plant.set_effort(tau)
    plant.add_fault(Fault('joint1', FaultKind.FREE_SWINGING))
    got[0] = 0.0
    expected = Dynamics(robot).forward_dynamics(Q, V, got)
    np.testing.assert_allclose(acceleration(plant), expected,
                               atol=1e-2 * np.abs(expected).max())


def test_cleared_faults_are_gone(robot, plant):
    plant.add_fault(Fault('joint4', FaultKind.BIAS, 20.0))
    plant.add_push('flange', [0.0, 0.0, 50.0])
    plant.advance(steps=1)
    plant.reset(Q, V)
    plant.clear_faults()
    assert plant.faults == ()
    tau = Dynamics(robot).inverse_dynamics(Q, V, np.zeros(7))
    plant.set_effort(tau)
    np.testing.assert_allclose(acceleration(plant), 0.0, atol=2e-2)


def test_a_push_is_a_force_on_the_joints(robot, plant):
    force = np.array([3.0, -7.0, 10.0])
    plant.add_push('flange', force, 0.0, 0.5 * STEP)
    dynamics = Dynamics(robot)
    tau = plant.effort + dynamics.jacobian(Q, 'flange')[:3].T @ force
    expected = dynamics.forward_dynamics(Q, V, tau)
    np.testing.assert_allclose(acceleration(plant), expected, atol=1e-2 * np.abs(expected).max())
    # Over.
    expected = dynamics.forward_dynamics(plant.q, plant.v, plant.effort)
    np.testing.assert_allclose(acceleration(plant), expected, atol=1e-2 * np.abs(expected).max())


@pytest.mark.parametrize(('call', 'error', 'says'), [
    (lambda p: p.add_fault(Fault('elbow', FaultKind.BLOCK, 1.0)), SimulationError, 'elbow'),
    (lambda p: Fault('joint1', FaultKind.BLOCK, -1.0), SimulationError, 'block'),
    (lambda p: Fault('joint1', FaultKind.LOSS, 1.5), SimulationError, 'loss'),
    (lambda p: Fault('joint1', FaultKind.BIAS, np.nan), SimulationError, 'bias'),
    (lambda p: Fault('joint1', FaultKind.BIAS, 1.0, 2.0, 1.0), SimulationError,
     'must end after it begins'),
    (lambda p: p.add_push('base', [0, 0, 1]), SimulationError, 'base'),
    (lambda p: p.add_push('link0', [0, 0, 1]), SimulationError, 'link0'),
    (lambda p: p.add_push('flange', [0, 1]), DimensionError, 'force'),
    (lambda p: p.add_push('flange', [0, 1, np.inf]), ControlError, 'force'),
])
def test_wrong_inputs_are_named(plant, call, error, says):
    with pytest.raises(error, match=says):
        call(plant)


def test_saturated_needs_a_largest_effort(pendulum, unlimited):
    with pytest.raises(SimulationError, match='hinge'):
        FaultyPlant(unlimited(pendulum)).add_fault(Fault('hinge', FaultKind.SATURATED, 1.0))


def test_a_joint_that_another_mimics_blocks_with_it(gripper):
    plant = FaultyPlant(gripper)
    plant.reset(np.zeros(2), [0.0, 0.5])
    plant.set_effort(np.zeros(2))
    plant.add_fault(Fault('left_finger', FaultKind.BLOCK, 1e6))
    plant.advance(0.1)
    assert abs(plant.v[1]) < 1e-3
