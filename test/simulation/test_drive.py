# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import SimulationError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.drive import Drive, DriveState, GravityAndDamping
from robot_dynamics.simulation.plant import Plant

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

POSE = np.array([0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2])


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('arm7'))


@pytest.fixture(scope='module')
def dynamics(robot) -> Dynamics:
    return Dynamics(robot)


@pytest.fixture
def plant(robot) -> Plant:
    plant = Plant(robot)
    plant.reset(POSE)
    return plant


@pytest.fixture
def drive(plant, dynamics) -> Drive:
    return Drive(plant, GravityAndDamping(dynamics), hold_time=0.1, release_time=0.5)


def test_brakes_hold_until_the_first_command(drive, plant):
    for now in np.linspace(0.0, 1.0, 501):
        drive.advance(now)
    assert drive.state is DriveState.BRAKED
    assert drive.time == pytest.approx(1.0, abs=plant.timestep)
    np.testing.assert_array_equal(plant.q, POSE)
    np.testing.assert_array_equal(drive.effort, 0.0)


def test_a_command_acts_from_its_arrival(drive, plant, dynamics):
    drive.advance(0.5)
    assert drive.command(dynamics.gravity_torque(POSE))
    drive.advance(0.503)
    assert drive.state is DriveState.COMMANDED
    np.testing.assert_allclose(plant.q, POSE, atol=1e-9)
    push = dynamics.gravity_torque(POSE) + np.eye(plant.robot.n)[3]
    drive.command(push)
    before = plant.v
    drive.advance(0.504)
    assert plant.v[3] - before[3] > 1e-4
    np.testing.assert_array_equal(drive.effort, push)


def test_the_last_command_is_held_for_a_moment_then_the_arm_is_caught(drive, plant, dynamics):
    drive.command(dynamics.gravity_torque(POSE) + np.eye(plant.robot.n)[0])
    drive.advance(0.099)
    assert drive.state is DriveState.COMMANDED
    speed = abs(plant.v[0])
    assert speed > 0.002
    drive.advance(0.11)
    assert drive.state is DriveState.CAUGHT and drive.catches == 1
    drive.advance(1.5)
    assert np.abs(plant.v).max() < 1e-3 * speed
    assert np.abs(plant.q - POSE).max() < 0.2
    # Zero torque would have let it fall.
    np.testing.assert_allclose(drive.effort, dynamics.gravity_torque(plant.q), atol=0.05)


def test_a_caught_arm_follows_only_commands_that_come_steadily(drive, plant, dynamics):
    drive.command(dynamics.gravity_torque(POSE))
    drive.advance(0.3)
    assert drive.state is DriveState.CAUGHT
    times = 0.3 + 0.002 * np.arange(1000)
    for now in times:
        drive.advance(now)
        drive.command(dynamics.gravity_torque(plant.q))
        assert drive.state is (DriveState.CAUGHT if now - 0.3 < 0.5 - 1e-9
                               else DriveState.COMMANDED)
        if drive.state is DriveState.COMMANDED:
            break
    else:
        pytest.fail('never released')
    # A gap starts the count anew.
    now += 0.2
    drive.advance(now)
    drive.command(dynamics.gravity_torque(plant.q))
    drive.advance(now + 0.45)
    drive.command(dynamics.gravity_torque(plant.q))
    assert drive.state is DriveState.CAUGHT


@pytest.mark.parametrize(('wrong', 'reason'), [
    ([np.nan, 0, 0, 0, 0, 0, 0], 'not finite'), ([0, 0, 0, np.inf, 0, 0, 0], 'not finite'),
    ([0.0, 0.0], 'wrong length'), ([], 'wrong length')])
def test_wrong_commands_are_refused_and_count_as_none(drive, plant, dynamics, wrong, reason):
    assert not drive.command(wrong)
    assert drive.state is DriveState.BRAKED
    good = dynamics.gravity_torque(POSE)
    drive.command(good)
    for now in np.arange(0.002, 0.2, 0.002):
        drive.advance(now)
        assert not drive.command(wrong)
        if drive.state is DriveState.COMMANDED:
            np.testing.assert_array_equal(drive.effort, good)
    assert drive.state is DriveState.CAUGHT
    assert drive.refused == {reason: 100}
    assert drive.accepted == 1


def test_a_stall_is_caught_up_and_a_long_one_skipped(drive, plant, dynamics):
    drive.command(dynamics.gravity_torque(POSE))
    drive.advance(0.05)
    assert drive.time == pytest.approx(0.05, abs=1e-9)
    drive.advance(10.0)
    assert drive.time == pytest.approx(10.0, abs=plant.timestep)
    assert drive.skipped == pytest.approx(8.95)
    # What was skipped, the arm has spent at rest.
    assert np.abs(plant.v).max() < 1e-3


def test_time_never_goes_back(drive):
    drive.advance(0.5)
    drive.advance(0.4)
    assert drive.time == pytest.approx(0.5)


def test_a_coarse_time_step_comes_to_an_end(robot, dynamics):
    drive = Drive(Plant(robot, timestep=0.005), GravityAndDamping(dynamics))
    drive.command(np.zeros(robot.n))
    drive.advance(0.5)
    assert drive.state is DriveState.CAUGHT
    assert drive.time == pytest.approx(0.5, abs=0.005)


def test_times_that_cannot_be_are_refused(plant, dynamics):
    with pytest.raises(SimulationError, match='hold_time'):
        Drive(plant, GravityAndDamping(dynamics), hold_time=0.0)
    with pytest.raises(SimulationError, match='catch_up'):
        Drive(plant, GravityAndDamping(dynamics), hold_time=2.0)
