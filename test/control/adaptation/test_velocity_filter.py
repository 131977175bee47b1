# SPDX-License-Identifier: Apache-2.0
"""How much of a velocity error is motion, and how much noise."""

import numpy as np
import pytest

from robot_dynamics.control.adaptation.learning import FADING, MARGIN, VelocityFilter

PERIOD = 0.002
SIGMA = 0.005


class Run:
    """Two joints that move at known velocities, measured with noise."""

    def __init__(self, error, sigma=SIGMA, seconds=4.0, jitter=0.0):
        random = np.random.default_rng(0)
        steps = PERIOD * (1.0 + jitter * random.uniform(-1.0, 1.0, round(seconds / PERIOD)))
        self.velocity = VelocityFilter(2)
        self.likely, self.measured, self.true, self.desired = [], [], [], []
        t = 0.0
        for dt in steps:
            t += dt
            desired = np.array([0.5 * np.sin(3.0 * t), 0.0])
            true = desired + error * np.array([np.sin(5.0 * t), np.cos(4.0 * t)])
            measured = true + sigma * random.standard_normal(2)
            self.likely.append(self.velocity.observe(measured, desired, dt).copy())
            for kept, value in ((self.measured, measured), (self.true, true),
                                (self.desired, desired)):
                kept.append(value)

    def wrong(self, values):
        """RMS error of the second half of velocities, of each joint."""
        half = len(self.true) // 2
        return np.sqrt(np.mean((np.array(values) - self.true)[half:]**2, axis=0))


def test_where_nothing_is_noisy_it_is_the_velocity_measured():
    run = Run(error=0.1, sigma=0.0)
    np.testing.assert_allclose(run.likely, run.measured, atol=1e-6)


def test_an_error_far_above_the_noise_is_motion():
    run = Run(error=0.5)
    np.testing.assert_allclose(run.likely[100:], run.measured[100:], atol=2e-3 * 0.5)


@pytest.mark.parametrize('jitter', [0.0, 0.5])
def test_an_error_that_noise_explains_is_none(jitter):
    run = Run(error=0.0, jitter=jitter)
    np.testing.assert_allclose(run.likely[1000:], run.desired[1000:], atol=1e-12)


@pytest.mark.parametrize('error', [0.0, 0.5])
def test_the_noise_is_that_of_all_velocities_whatever_the_motion(error):
    run = Run(error=error)
    assert run.velocity.noise == pytest.approx(np.sqrt(2.0 * MARGIN) * SIGMA, rel=0.1)


def test_between_the_two_it_is_nearer_to_the_truth_than_both():
    run = Run(error=1.4 * SIGMA)
    assert np.all(run.wrong(run.likely) < 0.9 * run.wrong(run.measured))
    assert np.all(run.wrong(run.likely) < 0.9 * run.wrong(run.desired))


def test_a_steady_acceleration_is_no_noise_however_samples_come():
    velocity, t = VelocityFilter(1), 0.0
    for dt in np.random.default_rng(0).uniform(0.0005, 0.004, 1000):
        t += dt
        likely = velocity.observe(np.array([5.0 * t]), np.array([5.0 * t - 1e-3]), dt)
    np.testing.assert_allclose(likely, [5.0 * t], atol=1e-9)


def test_a_load_picked_up_is_seen_within_the_time_of_the_means():
    run = Run(error=0.0)
    random, seen = np.random.default_rng(1), []
    for _ in range(round(FADING / PERIOD)):
        v = np.full(2, 0.05) + SIGMA * random.standard_normal(2)
        seen.append(np.mean(run.velocity.observe(v, np.zeros(2), PERIOD)))
    assert np.mean(seen[-25:]) > 0.04


def test_a_gap_keeps_the_means_and_no_bend_is_seen_across_it():
    run = Run(error=0.0)
    run.velocity.skip()
    for _ in range(10):
        likely = run.velocity.observe(np.array([10.0, 0.003]), np.array([10.003, 0.0]), PERIOD)
    np.testing.assert_allclose(likely, [10.003, 0.0], atol=1e-12)


def test_after_a_reset_a_velocity_is_taken_as_measured():
    run = Run(error=0.0)
    run.velocity.reset()
    np.testing.assert_array_equal(
        run.velocity.observe(np.array([0.1, -0.1]), np.zeros(2), PERIOD), [0.1, -0.1])


def test_arrays_of_any_kind_are_taken():
    plain, other = VelocityFilter(2), VelocityFilter(2)
    for k in range(50):
        v, v_d = np.array([0.1, 0.2]) * np.sin(k), np.array([0.1, 0.19])
        locked = v_d.copy()
        locked.flags.writeable = False
        np.testing.assert_array_equal(other.observe(np.repeat(v, 2)[::2], locked, PERIOD),
                                      plain.observe(v, v_d, PERIOD))
