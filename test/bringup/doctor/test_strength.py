# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.strength import check_strength, effort_needs
from robot_dynamics.dynamics import Dynamics


def with_effort(robot, effort):
    return replace(robot, limits=replace(robot.limits, effort=np.array(effort, dtype=float)))


@pytest.fixture(scope='module')
def strength(robot):
    return effort_needs(robot)


def test_what_a_pendulum_needs():
    robot = load_description('planar_2r').robot
    strength = effort_needs(robot, postures=4000)
    # Every posture of a fine grid, instead of some drawn at random.
    angles = np.linspace(-np.pi, np.pi, 73)
    grid = np.stack(np.meshgrid(angles, angles), axis=-1).reshape(-1, 2)
    most = np.abs(Dynamics(robot).gravity_torque(grid)).max(axis=0)
    np.testing.assert_allclose(strength.holding, most, rtol=0.01)
    np.testing.assert_allclose(strength.inertia, np.diag(Dynamics(robot).mass_matrix(np.zeros(2))),
                               rtol=0.01)


def test_an_arm_that_is_strong_enough(robot, strength):
    (result,) = check_strength(robot, strength)
    assert result.level is Level.OK
    assert 'joint2 needs most, 28 % of its effort limit' in result.message


@pytest.mark.parametrize(('share', 'level'), [(0.7, Level.WARNING), (0.05, Level.ERROR)])
def test_an_arm_that_falls(robot, strength, share, level):
    effort = robot.limits.effort.copy()
    effort[1] = share * strength.holding[1]
    (result,) = check_strength(with_effort(robot, effort), strength)
    assert (result.subject, result.level) == ('joint2', level)
    falling = float((np.abs(strength.gravity[:, 1]) > effort[1]).mean())
    assert f'in {100 * falling:.0f} % of postures it falls' in result.message


def test_an_arm_that_holds_itself_and_no_more(robot, strength):
    effort = robot.limits.effort.copy()
    effort[1] = 1.1 * strength.holding[1]
    (result,) = check_strength(with_effort(robot, effort), strength)
    assert result.level is Level.WARNING
    assert 'little is left for motion' in result.remedy


def test_a_joint_that_hardly_accelerates():
    robot = load_description('planar_2r').robot.with_gravity((0.0, -9.81, 0.0))
    strength = effort_needs(robot)
    found = check_strength(with_effort(robot, 0.5 * strength.inertia), strength)
    assert found[0].level is Level.OK  # gravity moves no joint
    assert {result.subject for result in found[1:]} == {'joint1, joint2'}
    assert 'accelerates at 0.5 rad/s^2 at most' in found[1].message


def test_friction_that_eats_the_effort(robot, strength):
    lossy = replace(robot, damping=np.full(robot.n, 1e3))
    found = [result for result in check_strength(lossy, strength)
             if result.level is Level.WARNING]
    assert [result.subject for result in found] == [', '.join(robot.joint_names)]
    assert 'friction at full speed' in found[0].message


def test_limits_that_protect_nothing(robot, strength):
    *_, result = check_strength(with_effort(robot, np.full(robot.n, 1e4)), strength)
    assert result.level is Level.NOTE
    assert 'protect nothing' in result.remedy


def test_joints_without_a_limit_are_left_out(robot, strength):
    effort = robot.limits.effort.copy()
    effort[1] = np.nan
    (result,) = check_strength(with_effort(robot, effort), strength)
    assert result.level is Level.OK and 'joint2' not in result.message
    assert check_strength(with_effort(robot, np.full(robot.n, np.nan)), strength) == []


def test_a_crowd_of_joints_is_tried_in_fewer_postures(monkeypatch, robot):
    monkeypatch.setattr('robot_dynamics.bringup.doctor.strength._MOST_NUMBERS', 100 * robot.n**2)
    assert effort_needs(robot).gravity.shape == (100, robot.n)
