# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.quality import (
    FAIR_ERROR,
    GOOD_ERROR,
    JOINT,
    errors_in_use,
    grade,
    reading_noise,
    reference_efforts,
)
from robot_dynamics.identification.result import Residuals
from robot_dynamics.identification.signals import SignalSettings


@pytest.mark.parametrize(('total', 'joints', 'verdict'), [
    (0.03, [0.02, 0.05], 'good'), (0.03, [0.02, 0.21], 'fair'), (0.03, [0.02, 0.9], 'poor'),
    (GOOD_ERROR, [JOINT * GOOD_ERROR], 'good'), (0.11, [0.1, 0.1], 'fair'),
    (FAIR_ERROR, [JOINT * FAIR_ERROR], 'fair'), (0.26, [0.1, 0.1], 'poor'),
    (0.03, [np.nan, 0.1], 'poor'), (np.nan, [0.1], 'poor')])
def test_one_joint_that_is_far_off_is_no_good_model(total, joints, verdict):
    assert grade(total, np.array(joints)) == verdict


def test_the_worst_joint_is_that_of_the_largest_relative_error():
    residuals = Residuals.of(np.array([4.0, 1.0]), np.array([1e4, 20.0]), np.array([10.0, 10.0]))
    assert residuals.worst == 1
    assert residuals.total < 0.03 and residuals.relative[1] > 0.2


@pytest.mark.parametrize(('rmse', 'relative', 'reference', 'noise', 'verdict'), [
    # A wrist that misses 0.25 N m of a limit of 38 N m; its own efforts are as small.
    (0.25, 0.94, 38.0, 0.0, 'good'), (0.7, 0.94, 38.0, 0.0, 'good'),
    (1.0, 0.94, 38.0, 0.0, 'fair'), (4.0, 0.94, 38.0, 0.0, 'poor'),
    (4.0, 0.15, 38.0, 0.0, 'good'), (0.11, 1.4, 1.0, 0.08, 'good'),
    (0.11, 1.4, 1.0, 0.05, 'poor')])
def test_a_light_joint_does_not_condemn_the_model(rmse, relative, reference, noise, verdict):
    residuals = Residuals(np.array([0.1, rmse]), np.array([0.02, relative]), 0.02)
    errors = errors_in_use(residuals, np.array([100.0, reference]), np.array([0.0, noise]))
    assert grade(0.02, errors) == verdict


def test_what_errors_are_compared_with(rpr):
    """A limit of 200, or the largest range of the joints of that unit."""
    t, q, v, a = rpr.motion()
    tau = rpr.efforts(q, v, a)
    ranges = np.ptp(tau, axis=0)
    reference = reference_efforts(rpr.robot, dataset_from_arrays(rpr.robot, t, q, tau))
    turning = min(max(ranges[0], ranges[2]), 200.0)
    np.testing.assert_allclose(reference, [turning, min(ranges[1], 200.0), turning])


def test_noise_of_readings(rpr):
    """White noise of 1 N m below 5 of 100 Hz, and steps of 0.5 N m."""
    t, q, *_ = rpr.motion(rate=200.0)
    tau = np.zeros_like(q)
    tau[:, 0] = np.random.default_rng(0).normal(size=len(t))
    tau[:, 2] = 0.5 * np.round(4.0 * np.sin(0.3 * t))
    tau[:, 1] = np.sin(0.3 * t)
    noise = reading_noise(dataset_from_arrays(rpr.robot, t, q, tau), SignalSettings(5.0))
    assert noise[0] == pytest.approx(np.sqrt(5.0 / 100.0), rel=0.2)
    assert noise[1] < 1e-3
    assert noise[2] == pytest.approx(0.5 / np.sqrt(12.0), rel=0.05)
