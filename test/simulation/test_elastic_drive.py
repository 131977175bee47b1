# SPDX-License-Identifier: Apache-2.0
"""The motors of an arm with elastic joints catch it when commands stop."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.drive import Drive, DriveState, MotorsGravityAndDamping
from robot_dynamics.simulation.elastic_plant import ElasticPlant


@pytest.mark.parametrize('name', ['planar_2r', 'arm7'])
@pytest.mark.parametrize('is_rough', [True, False])
def test_it_comes_to_rest_and_is_carried(name, is_rough):
    links = Robot.from_urdf(resolve_robot(name))
    robot = ElasticRobot.from_yaml(name, links)
    if not is_rough:
        robot = replace(robot, joints=replace(robot.joints, coulomb=0.0, viscous=0.0))
    plant = ElasticPlant(robot)
    drive = Drive(plant, MotorsGravityAndDamping(plant))
    start = np.clip(0.3, links.limits.lower, links.limits.upper)
    plant.reset(start)
    drive.advance(1.0)
    np.testing.assert_array_equal(plant.q, start)  # braked
    push = np.zeros(robot.n)
    push[1] = 10.0
    for k in range(200):
        drive.advance(1.0 + 0.002 * k)
        assert drive.command(plant.elastic.joints.stiffness * (plant.motor_q - plant.q) + push)
    assert drive.state is DriveState.COMMANDED and np.abs(plant.v).max() > 0.1
    assert not drive.command([np.nan] * robot.n)
    for second in range(2, 8):
        drive.advance(float(second))
    assert drive.state is DriveState.CAUGHT
    assert np.abs(plant.v).max() < 2e-3
    gravity = MotorsGravityAndDamping(plant)(plant.q, plant.v)
    np.testing.assert_allclose(plant.spring_effort, gravity, atol=0.2)
