# SPDX-License-Identifier: Apache-2.0
"""The residual follows what nobody commanded, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.faults.residuals import MomentumObserver
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, DimensionError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

PERIOD = 0.001
GAIN = 50.0


def moved(robot, external, seconds=0.5, gain=GAIN):
    """Return residuals (k, n) and times of an exact motion with an external effort."""
    dynamics = Dynamics(robot)
    observer = MomentumObserver(robot, dynamics, gain=gain)
    n = robot.n
    phase = np.arange(n)
    times, rows = np.arange(0.0, seconds, PERIOD), []
    for k, t in enumerate(times):
        q, v = 0.4 * np.sin(3.0 * t + phase), 1.2 * np.cos(3.0 * t + phase)
        middle = t - 0.5 * PERIOD
        tau = dynamics.inverse_dynamics(
            0.4 * np.sin(3.0 * middle + phase), 1.2 * np.cos(3.0 * middle + phase),
            -3.6 * np.sin(3.0 * middle + phase))
        tau += robot.damping * 1.2 * np.cos(3.0 * middle + phase)
        rows.append(observer.update(q, v, tau - external(middle), PERIOD if k else 0.0).copy())
    return times, np.array(rows)


@pytest.mark.parametrize('name', ['arm7', 'planar_3r', 'rpr'])
def test_follows_the_external_effort_through_a_low_pass(name):
    robot = Robot.from_urdf(resolve_robot(name))
    robot = replace(robot, damping=np.full(robot.n, 0.3), friction=np.zeros(robot.n),
                    armature=np.full(robot.n, 0.05))
    effort = np.linspace(-2.0, 3.0, robot.n)
    times, r = moved(robot, lambda t: effort * (t > 0.2))
    before = times < 0.2
    # The rule for integrals has an error of T^2.
    assert np.abs(r[before]).max() < 1e-3
    expected = effort * (1.0 - np.exp(-GAIN * (times[~before, None] - 0.2)))
    np.testing.assert_allclose(r[~before], expected, atol=0.03 * 3.0)
    np.testing.assert_allclose(r[-1], effort, atol=2e-3)


def test_a_fault_of_one_joint_shows_there_only():
    robot = replace(Robot.from_urdf(resolve_robot('arm7')), friction=np.zeros(7))
    _, r = moved(robot, lambda t: 5.0 * np.eye(7)[3])
    np.testing.assert_allclose(r[-1], 5.0 * np.eye(7)[3], atol=2e-3)


@pytest.mark.parametrize('gain', [1.0, 1e4])
def test_no_gain_makes_it_unstable(gain):
    robot = replace(Robot.from_urdf(resolve_robot('planar_3r')), friction=np.zeros(3))
    _, r = moved(robot, lambda t: np.ones(3), gain=gain)
    assert np.abs(r).max() < 1.1


def test_starts_over_after_a_gap_and_without_effort():
    robot = Robot.from_urdf(resolve_robot('planar_3r'))
    observer = MomentumObserver(robot, Dynamics(robot))
    q, still = np.full(3, 0.3), np.zeros(3)
    for _ in range(20):
        observer.update(q, still, np.full(3, 9.0), 0.01)
    assert np.abs(observer.residual).max() > 0.1
    assert not np.any(observer.update(q, still, np.full(3, 9.0), 0.0))
    observer.update(q, still, np.full(3, 9.0), 0.01)
    assert not np.any(observer.update(q, still, np.full(3, np.nan), 0.01))
    # Where states were missed it stays as it is, and goes on from there.
    observer.update(q, still, np.full(3, 9.0), 0.01)
    before = observer.update(q, still, np.full(3, 9.0), 0.01).copy()
    np.testing.assert_array_equal(observer.update(q, still, np.full(3, 90.0), -1.0), before)
    assert np.any(observer.update(q, still, np.full(3, 9.0), 0.01) != before)
    observer.update(q, still, np.full(3, np.nan), 0.01)
    # The first with an effort again has no interval behind it.
    assert not np.any(observer.update(q, still, np.full(3, 9.0), 0.01))
    observer.update(q, still, np.full(3, 9.0), 0.01)
    for bad in (np.nan, np.inf):
        assert np.all(np.isfinite(observer.update(q, np.full(3, bad), still, 0.01)))


def test_wrong_inputs_are_named():
    robot = Robot.from_urdf(resolve_robot('planar_3r'))
    dynamics = Dynamics(robot)
    for gain in (0.0, -1.0, np.inf):
        with pytest.raises(ParameterError, match='observer gain'):
            MomentumObserver(robot, dynamics, gain=gain)
    with pytest.raises(ControlError, match='observer gain'):
        MomentumObserver(robot, dynamics, gain=np.nan)
    with pytest.raises(DimensionError, match='observer gain'):
        MomentumObserver(robot, dynamics, gain=[1.0, 2.0])
    with pytest.raises(ParameterError, match='coulomb_velocity'):
        MomentumObserver(robot, dynamics, coulomb_velocity=0.0)
