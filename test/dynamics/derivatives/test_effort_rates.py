# SPDX-License-Identifier: Apache-2.0
"""Time derivatives of efforts along a motion."""

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, ModelError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

ROBOTS = ('planar_2r', 'rpr', 'arm7', 'puma560.yaml')


def read(name):
    path = resolve_robot(name.partition('.')[0])
    return Robot.from_dh(path) if str(path).endswith('.yaml') else Robot.from_urdf(path)


class Motion:
    """Sines, whose derivatives are known."""

    def __init__(self, n):
        rng = np.random.default_rng(3)
        self.amplitude, self.rate, self.phase = (rng.uniform(0.3, 1.5, n) for _ in range(3))

    def at(self, t, order=4):
        angle = self.rate * t + self.phase
        waves = (np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin)
        return [self.amplitude * self.rate**k * waves[k](angle) for k in range(order + 1)]


@pytest.mark.parametrize('name', ROBOTS)
def test_they_are_those_of_differences(name):
    dynamics = Dynamics(read(name))
    motion = Motion(dynamics.n)

    def tau(t):
        return dynamics.inverse_dynamics(*motion.at(t, 2))

    def tau_dot(t):
        return dynamics.inverse_dynamics_rates(*motion.at(t))[1]

    h = 1e-5
    computed = dynamics.inverse_dynamics_rates(*motion.at(0.4))
    scale = max(np.abs(each).max() for each in computed)
    np.testing.assert_allclose(computed[0], tau(0.4), atol=1e-12 * scale)
    for value, function in zip(computed[1:], (tau, tau_dot), strict=True):
        differences = (function(0.4 + h) - function(0.4 - h)) / (2.0 * h)
        np.testing.assert_allclose(value, differences, atol=1e-8 * scale)


@pytest.mark.parametrize('name', ROBOTS)
def test_the_first_is_made_of_the_derivatives_of_the_matrices(name):
    dynamics = Dynamics(read(name))
    q, v, a, jerk, snap = Motion(dynamics.n).at(1.3)
    M, C, _ = dynamics.matrices(q, v)
    M_dot, C_dot, g_dot = dynamics.time_derivatives(q, v, a)
    wanted = M @ jerk + M_dot @ a + C @ a + C_dot @ v + g_dot
    np.testing.assert_allclose(dynamics.inverse_dynamics_rates(q, v, a, jerk, snap)[1], wanted,
                               atol=1e-11 * np.abs(wanted).max())


def test_trees_mimic_joints_and_batches(cases):
    robot = Robot.from_urdf(cases / 'urdf_mimic' / 'mimic.urdf')
    dynamics = Dynamics(robot)
    motions = [Motion(robot.n).at(t) for t in (0.1, 0.5, 0.9)]
    batch = dynamics.inverse_dynamics_rates(*np.moveaxis(motions, 1, 0))
    for k, motion in enumerate(motions):
        for whole, one in zip(batch, dynamics.inverse_dynamics_rates(*motion), strict=True):
            np.testing.assert_array_equal(whole[k], one)
    h = 1e-5
    before, after = (dynamics.inverse_dynamics(*Motion(robot.n).at(0.5 + t, 2)) for t in (-h, h))
    np.testing.assert_allclose(batch[1][1], (after - before) / (2 * h), rtol=1e-6, atol=1e-8)


def test_what_has_no_such_derivatives_is_refused():
    floating = Robot.from_urdf(resolve_robot('planar_2r'), floating_base=True)
    zeros = np.zeros(floating.n)
    with pytest.raises(ModelError, match='derivative of efforts'):
        Dynamics(floating).inverse_dynamics_rates(floating.neutral(), *[zeros] * 4)
    arm = Dynamics(Robot.from_urdf(resolve_robot('planar_2r')))
    with pytest.raises(DimensionError, match='snap'):
        arm.inverse_dynamics_rates(*[np.zeros(2)] * 4, np.zeros(3))
