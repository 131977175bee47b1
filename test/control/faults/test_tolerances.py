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


def test_further_unmodelled_efforts_widen_the_spread_of_efforts_alone():
    few = given_tolerances([6.0, 12.0], FILTER, 2)
    wide = few.widened(np.outer(np.arange(1.0, 6.0), [0.0, 1.5]))
    np.testing.assert_allclose(wide.effort[1, 2], [1.0, np.hypot(2.0, 4.5)])
    np.testing.assert_array_equal(wide.noise, few.noise)
    np.testing.assert_array_equal(wide.limit, few.limit)


def test_the_visible_effort_of_each_joint():
    tolerances = given_tolerances(np.arange(1.0, 4 * 5 * 2 + 5 + 1), FILTER, 2)
    inertia = np.diag([2.0, 0.5])
    # Joints do not move each other: noise of the own velocity, and the larger of both spreads.
    spread = np.hypot([2.0 * 1.0, 0.5 * 2.0], [21.0, 22.0])
    np.testing.assert_allclose(tolerances.visible(inertia, 1), spread * np.array([31.0, 32.0]))
    assert np.all(tolerances.visible(inertia, 5) <= tolerances.visible(inertia, 1))
    # An effort also moves the other joint, which shows it: less is visible.
    coupled = np.array([[2.0, 0.9], [0.9, 0.5]])
    few = given_tolerances(1.0, FILTER, 2)
    M, noise = coupled, FILTER.noise[0]
    R = M @ M * noise**2 + np.eye(2) * few.effort[0, 0] ** 2
    np.testing.assert_allclose(few.visible(coupled, 1),
                               few.limit[0, 0] / np.sqrt(np.diag(np.linalg.inv(R))))


@pytest.mark.parametrize(('values', 'error'), [
    ([1.0, 2.0], DimensionError), ([], DimensionError), ([1.0, 0.0, 1.0], ParameterError),
    ([np.nan] * 3, ParameterError), ([-1.0], ParameterError), ([1.0] * 64, DimensionError)])
def test_wrong_ones_are_named(values, error):
    with pytest.raises(error, match='thresholds'):
        given_tolerances(values, FILTER, 3)
