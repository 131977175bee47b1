# SPDX-License-Identifier: Apache-2.0
"""Tolerances from parameters, and without any."""

import numpy as np
import pytest

from robot_dynamics.control.faults.motion_predictor import MotionFilter
from robot_dynamics.control.faults.tolerances import default_tolerances, given_tolerances
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

FILTER = MotionFilter(0.002)


def test_flat_and_back():
    values = np.arange(1.0, 4 * 5 * 3 + 5 + 1)
    tolerances = given_tolerances(values, FILTER, 3)
    np.testing.assert_array_equal(tolerances.flat, values)
    assert tolerances.noise.shape == tolerances.limit.shape == (5, 3)
    assert tolerances.effort.shape == (2, 5, 3) and tolerances.whole.shape == (5,)


def test_one_a_joint_is_the_effort_that_is_too_much():
    robot = Robot.from_urdf(resolve_robot('arm7'))
    tolerances = default_tolerances(robot, FILTER)
    np.testing.assert_allclose((tolerances.effort * tolerances.limit)[1, 3],
                               0.75 * robot.limits.effort)
    np.testing.assert_allclose(tolerances.noise[:, 2], FILTER.noise)
    one = given_tolerances([2.0], FILTER, 7)
    np.testing.assert_array_equal(one.flat, given_tolerances([2.0] * 7, FILTER, 7).flat)
    assert np.all(np.isfinite(given_tolerances(np.inf, FILTER, 7).flat))


@pytest.mark.parametrize(('values', 'error'), [
    ([1.0, 2.0], DimensionError), ([], DimensionError), ([1.0, 0.0, 1.0], ParameterError),
    ([np.nan] * 3, ParameterError), ([-1.0], ParameterError), ([1.0] * 64, DimensionError)])
def test_wrong_ones_are_named(values, error):
    with pytest.raises(error, match='thresholds'):
        given_tolerances(values, FILTER, 3)
