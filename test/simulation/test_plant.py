# SPDX-License-Identifier: Apache-2.0
import sys
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, SimulationError
from robot_dynamics.model.modify import with_payload
from robot_dynamics.simulation.plant import Plant

# Accelerations of MuJoCo against our equations, relative to the largest of the robot.
RELATIVE = 1e-9


def worst_difference(robot, samples=40):
    """Largest relative difference of forward dynamics at random states."""
    random = np.random.default_rng(0)
    plant, worst = Plant(robot), 0.0
    dynamics = Dynamics(robot)
    for _ in range(samples):
        q, v, tau = random.uniform(-2, 2, (3, robot.n)) * np.array([[1.0], [1.0], [10.0]])
        plant.reset(q, v)
        plant.set_effort(tau)
        M = dynamics.mass_matrix(q)
        bias = dynamics.inverse_dynamics(q, v, np.zeros(robot.n)) + robot.damping * v
        expected = np.linalg.solve(M, tau - bias)
        worst = max(worst, np.max(np.abs(plant.acceleration - expected))
                    / np.max(np.abs(expected)))
    return worst


def test_accelerates_as_the_equations_say(shipped):
    assert worst_difference(shipped) < RELATIVE


def test_accelerates_with_a_payload_as_the_equations_say(unlimited, pendulum):
    loaded = with_payload(unlimited(pendulum), 2.0, (0.1, -0.05, 0.2))
    assert worst_difference(loaded) < RELATIVE


def test_accelerates_a_tree_with_offsets_sliders_and_rotors_as_the_equations_say(branching):
    assert worst_difference(branching) < RELATIVE


def test_a_point_mass_is_simulated_exactly(unlimited, pendulum):
    point = np.array([[2.0, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.18, 0.0, 0.18]])
    assert worst_difference(unlimited(pendulum).with_parameters(point)) < RELATIVE


def test_joints_in_another_order_keep_their_meaning(branching):
    order = np.random.default_rng(1).permutation(branching.n)
    shuffled = replace(branching, joint_names=tuple(branching.joint_names[i] for i in order),
                       coupling=np.eye(branching.n)[:, order], armature=branching.armature[order])
    plant, other = Plant(branching), Plant(shuffled)
    q, v, tau = np.random.default_rng(2).normal(size=(3, branching.n))
    plant.reset(q, v)
    plant.set_effort(tau)
    other.reset(q[order], v[order])
    other.set_effort(tau[order])
    np.testing.assert_array_equal(other.q, q[order])
    np.testing.assert_allclose(other.acceleration, plant.acceleration[order], rtol=1e-12)


def test_energy_is_conserved_without_friction(unlimited, pendulum):
    plant = Plant(unlimited(pendulum), timestep=1e-4)
    plant.reset([1.0], [0.5])
    before = plant.energy
    plant.advance(1.0)
    assert abs(plant.q[0] - 1.0) > 0.1
    # First-order integration: of the 2 J that swing, no more than a ten-thousandth.
    assert plant.energy == pytest.approx(before, abs=2e-4)


def test_energy_is_that_of_the_equations(branching):
    dynamics = Dynamics(branching)
    plant = Plant(branching)
    q, v = np.random.default_rng(4).normal(size=(2, branching.n))
    step = np.random.default_rng(5).normal(size=branching.n) * 1e-6

    def potential(q):
        plant.reset(q)
        return plant.energy

    M = dynamics.mass_matrix(q)
    plant.reset(q, v)
    assert plant.energy - potential(q) == pytest.approx(0.5 * v @ M @ v, rel=1e-10)
    assert potential(q + step) - potential(q - step) == pytest.approx(
        2.0 * step @ dynamics.gravity_torque(q), rel=1e-5)


@pytest.mark.parametrize('changes', [{'damping': [0.2]}, {'friction': [0.3]}])
def test_friction_takes_energy(unlimited, pendulum, changes):
    plant = Plant(replace(unlimited(pendulum), **changes))
    plant.reset([1.0])
    before = plant.energy
    plant.advance(1.0)
    assert plant.energy < before - 0.05


def test_dry_friction_holds_what_it_can(pendulum):
    level = replace(pendulum, gravity=np.zeros(3), friction=[0.5])
    plant = Plant(level)
    plant.set_effort([0.4])
    plant.advance(0.5)
    assert abs(plant.q[0]) < 1e-4
    plant.set_effort([1.0])
    plant.advance(0.5)
    assert plant.q[0] > 0.1


def test_the_last_effort_acts_until_another_one(pendulum):
    plant = Plant(replace(pendulum, gravity=np.zeros(3)))
    plant.set_effort([0.01])
    inertia = Dynamics(pendulum).mass_matrix(np.zeros(1))[0, 0]
    plant.advance(0.5)
    plant.advance(0.5)
    assert plant.v[0] == pytest.approx(0.01 / inertia, rel=1e-6)
    assert plant.time == pytest.approx(1.0)


def test_drives_give_no_more_than_they_can(pendulum):
    plant = Plant(pendulum)
    plant.set_effort([50.0])
    np.testing.assert_array_equal(plant.effort, [5.0])
    plant.set_effort([-50.0])
    np.testing.assert_array_equal(plant.effort, [-5.0])


def test_effort_gain_is_real_but_not_seen(pendulum):
    plant, off = Plant(pendulum), Plant(pendulum, effort_gain=1.1)
    plant.set_effort([2.2])
    off.set_effort([2.0])
    np.testing.assert_allclose(off.acceleration, plant.acceleration, rtol=1e-12)
    np.testing.assert_array_equal(off.effort, [2.0])


def test_joints_stop_at_their_limits(pendulum):
    plant = Plant(replace(pendulum, gravity=np.zeros(3)))
    plant.set_effort([5.0])
    plant.advance(3.0)
    assert plant.q[0] == pytest.approx(2.0, abs=0.02)
    free = Plant(replace(pendulum, gravity=np.zeros(3)), joint_limits=False)
    free.set_effort([5.0])
    free.advance(3.0)
    assert free.q[0] > 10.0


def test_a_mimic_joint_follows_its_leader(gripper):
    plant = Plant(gripper)
    plant.reset([0.3, 0.4])
    plant.set_effort([0.0, 0.5])
    plant.advance(0.2)
    follower = plant._data.qpos[plant._body_qpos[gripper.body_joint_names.index('right_finger')]]
    assert abs(plant.q[1] - 0.4) > 0.01
    assert follower == pytest.approx(0.2 - 0.5 * plant.q[1], abs=1e-3)


def test_a_mimic_joint_weighs_on_its_leader(gripper, unlimited):
    robot = replace(unlimited(gripper), gravity=np.zeros(3))
    plant = Plant(robot)
    plant.reset([0.3, 0.4])
    tau = np.array([0.0, 0.5])
    plant.set_effort(tau)
    plant.advance(0.05)
    expected = Dynamics(robot).forward_dynamics(np.array([0.3, 0.4]), np.zeros(2), tau)
    # The constraint is stiff, not rigid; the acceleration changes as the fingers move.
    np.testing.assert_allclose(plant.v / 0.05, expected, rtol=0.05)


def test_reset_starts_again(pendulum):
    plant = Plant(pendulum)
    plant.set_effort([5.0])
    plant.advance(0.5)
    plant.reset([0.25], [0.5])
    assert plant.time == 0.0
    np.testing.assert_array_equal(plant.q, [0.25])
    np.testing.assert_array_equal(plant.v, [0.5])
    np.testing.assert_array_equal(plant.effort, [0.0])


def test_starts_inside_its_limits(pendulum):
    limits = replace(pendulum.limits, lower=np.array([0.5]))
    assert Plant(replace(pendulum, limits=limits)).q[0] == 0.5


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_an_effort_that_is_not_finite_is_refused_and_the_last_one_stays(pendulum, value):
    plant = Plant(pendulum)
    plant.set_effort([1.5])
    with pytest.raises(SimulationError, match='effort command of hinge must be finite'):
        plant.set_effort([value])
    np.testing.assert_array_equal(plant.effort, [1.5])
    plant.advance(0.1)
    assert np.all(np.isfinite(plant.q))


def test_a_vector_of_another_length_is_refused(pendulum):
    plant = Plant(pendulum)
    with pytest.raises(DimensionError, match=r'effort command must have shape \(1,\), got \(2,\)'):
        plant.set_effort([1.0, 2.0])
    with pytest.raises(DimensionError, match='q must have shape'):
        plant.reset([1.0, 2.0])


@pytest.mark.parametrize('arguments', [{}, {'seconds': 0.1, 'steps': 3}])
def test_advance_takes_either_a_duration_or_steps(pendulum, arguments):
    with pytest.raises(SimulationError, match='either a duration or a number of steps'):
        Plant(pendulum).advance(**arguments)


def test_advance_counts_whole_steps(pendulum):
    plant = Plant(pendulum, timestep=0.001)
    assert plant.advance(0.0104) == 10
    assert plant.advance(steps=7) == 7
    assert plant.advance(steps=0) == 0
    assert plant.time == pytest.approx(0.017)


def test_a_motion_that_diverges_is_reported_and_leaves_no_file(pendulum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plant = Plant(replace(pendulum, limits=replace(pendulum.limits, effort=np.array([np.nan]))))
    plant.set_effort([1e30])
    with pytest.raises(SimulationError, match='diverged'):
        plant.advance(1.0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('timestep', [0.0, -0.001, np.nan, np.inf])
def test_a_timestep_that_is_none_is_refused(pendulum, timestep):
    with pytest.raises(SimulationError, match='must be a positive number'):
        Plant(pendulum, timestep=timestep)


def test_a_joint_that_moves_no_mass_is_refused(pendulum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    massless = pendulum.with_parameters(np.zeros(10))
    with pytest.raises(SimulationError, match='hinge moves no mass') as caught:
        Plant(massless)
    assert 'lock the joint' in caught.value.remedy
    assert not list(tmp_path.iterdir()), 'MuJoCo wrote a log'


def test_says_how_to_install_mujoco_where_it_is_missing(pendulum, monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(SimulationError, match='not installed') as caught:
        Plant(pendulum)
    assert 'pip install' in caught.value.remedy
