# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.excitation.objective import regressor_gradient


@pytest.mark.parametrize('name', ['arm7', 'rpr', 'puma560.yaml', 'tree'])
def test_slopes_of_a_weighted_sum_against_differences(robots, name):
    robot = robots(name)
    dynamics, random = Dynamics(robot), np.random.default_rng(1)
    motion = [random.normal(size=(4, robot.n)) for _ in range(3)]
    Z = random.normal(size=(4, robot.n, 10 * robot.n_bodies))

    def weighted(*motion):
        return np.sum(Z * dynamics.regressor(*motion), axis=(1, 2))

    slopes, h = regressor_gradient(robot, *motion, Z), 1e-6
    for k, slope in enumerate(slopes):
        for joint in range(robot.n):
            step = np.zeros(robot.n)
            step[joint] = h
            up, down = ([x + sign * step if i == k else x for i, x in enumerate(motion)]
                        for sign in (1.0, -1.0))
            wanted = (weighted(*up) - weighted(*down)) / (2 * h)
            np.testing.assert_allclose(slope[:, joint], wanted, atol=1e-7 * np.abs(slope).max())
