# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.adaptation import regressor_memory as memory
from robot_dynamics.control.adaptation.regressor_memory import RegressorMemory

COUNT, JOINTS, PERIOD = 12, 2, 0.002


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def precision(random):
    root = random.normal(size=(COUNT, COUNT))
    return 0.01 * (root @ root.T + 0.1 * np.eye(COUNT))


@pytest.fixture
def remember(precision):
    return RegressorMemory(precision, np.array([0.5, 2.0]))


class Stream:
    """Samples of regressors that change slowly, and the efforts of some parameters."""

    def __init__(self, random, true, columns=COUNT):
        self.true = np.asarray(true)
        self._phase = random.uniform(0.0, 2.0 * np.pi, (JOINTS, COUNT))
        self._speed = random.uniform(1.0, 8.0, (JOINTS, COUNT))
        self._mask = np.arange(COUNT) < columns
        self.time = 0.0

    def sample(self):
        regressor = np.sin(self._speed * self.time + self._phase) * self._mask
        self.time += PERIOD
        return np.column_stack([regressor, regressor @ self.true])


def run(remember, stream, seconds, estimate):
    """Feed samples and take every step; return the estimate."""
    for _ in range(round(seconds / PERIOD)):
        if remember.observe(stream.sample(), PERIOD):
            target = remember.target(estimate)
            if target is not None:
                estimate = target.copy()
    return estimate


def length(precision, difference):
    return np.sqrt(difference @ precision @ difference)


def test_a_step_is_the_minimum_of_remembered_error_and_distance(remember, precision, random):
    stream, estimate = Stream(random, random.normal(size=COUNT)), random.normal(size=COUNT)
    weights, smoothed, sums = np.diag([0.5, 2.0]), 0.0, np.zeros((COUNT + 1, COUNT + 1))
    share = 1.0 - np.exp(-2.0 * np.pi * memory.CUTOFF * PERIOD)
    snapshot, span = None, 0.0
    passes = -(-(COUNT + 1) // -(-(COUNT + 1) // memory.SAMPLES_TO_TAKE_IN))
    for k in range(2000):
        sample = stream.sample()
        smoothed = smoothed + share * (sample - smoothed)
        span += PERIOD
        if k % passes == 0:
            sums = np.exp(-span / memory.MEMORY) * sums + span * smoothed.T @ weights @ smoothed
            span = 0.0
        ready = remember.observe(sample, PERIOD)
        if ready:
            break
        if snapshot is None and remember._rows_factorised == 0:
            snapshot = sums.copy()
    expected = np.linalg.solve(snapshot[:COUNT, :COUNT] + precision,
                               snapshot[:COUNT, COUNT] + precision @ estimate)
    np.testing.assert_allclose(remember.target(estimate), expected, rtol=1e-9)


def test_a_step_comes_every_interval(remember, random):
    stream = Stream(random, random.normal(size=COUNT))
    times = [stream.time for _ in range(2500) if remember.observe(stream.sample(), PERIOD)]
    assert times[0] == pytest.approx(memory.INTERVAL, abs=0.2 * memory.INTERVAL)
    np.testing.assert_allclose(np.diff(times), memory.INTERVAL, rtol=0.1)


def test_every_step_leads_closer_to_the_truth(remember, precision, random):
    stream, estimate = Stream(random, random.normal(size=COUNT)), np.zeros(COUNT)
    distances = [length(precision, stream.true - estimate)]
    for _ in range(12):
        estimate = run(remember, stream, memory.INTERVAL, estimate)
        distances.append(length(precision, stream.true - estimate))
    # Equal where no step was taken in an interval.
    assert np.all(np.diff(distances) <= 1e-12)
    assert distances[-1] < 0.01 * distances[0]


def test_what_was_not_excited_does_not_drift(remember, random):
    diagonal = RegressorMemory(np.eye(COUNT), np.array([0.5, 2.0]))
    stream = Stream(random, random.normal(size=COUNT), columns=COUNT - 3)
    estimate = run(diagonal, stream, 10.0, np.zeros(COUNT))
    np.testing.assert_allclose(estimate[-3:], 0.0, atol=1e-12)
    np.testing.assert_allclose(estimate[:-3], stream.true[:-3], atol=1e-2)


def test_old_motion_fades(random):
    # One column alone, so that the mean of what is remembered can be told.
    fading = RegressorMemory(1e-6 * np.eye(COUNT), np.ones(JOINTS))
    stream = Stream(random, np.ones(COUNT), columns=1)
    run(fading, stream, 5.0, np.zeros(COUNT))
    before = fading._sums[0, 0]
    silent = np.zeros((JOINTS, COUNT + 1))
    for _ in range(round(memory.MEMORY / PERIOD)):
        fading.observe(silent, PERIOD)
    assert fading._sums[0, 0] == pytest.approx(before / np.e, rel=0.02)


def test_another_arm_is_recognised_at_once_and_the_old_one_forgotten(remember, random):
    stream = Stream(random, random.normal(size=COUNT))
    estimate = run(remember, stream, 10.0, np.zeros(COUNT))
    assert remember.contradictions == 0
    stream.true = stream.true + random.normal(size=COUNT)
    run(remember, stream, 2.0 * memory.INTERVAL, estimate)
    assert remember.contradictions == 1
    estimate = run(remember, stream, 8.0, estimate)
    assert remember.contradictions == 1
    np.testing.assert_allclose(estimate, stream.true, atol=0.05)


def run_with_noise(remember, stream, random, estimate):
    """The estimate after 10 s with noise of the efforts, and the number of steps taken."""
    steps = 0
    for _ in range(5000):
        sample = stream.sample()
        sample[:, -1] += 0.3 * random.normal(size=JOINTS)
        if remember.observe(sample, PERIOD) and (target := remember.target(estimate)) is not None:
            estimate, steps = target.copy(), steps + 1
    return estimate, steps


def test_noise_is_no_contradiction(remember, random):
    stream = Stream(random, random.normal(size=COUNT))
    estimate, _ = run_with_noise(remember, stream, random, np.zeros(COUNT))
    assert remember.contradictions == 0
    np.testing.assert_allclose(estimate, stream.true, atol=0.1)


def test_a_right_estimate_does_not_follow_noise(remember, random):
    stream = Stream(random, random.normal(size=COUNT))
    right = stream.true.copy()
    _, steps = run_with_noise(remember, stream, random, right)
    assert steps < 5  # of 19, all of which were taken otherwise
    wrong, steps = run_with_noise(remember, stream, random, right + 1.0)
    assert steps >= 2
    np.testing.assert_allclose(wrong, right, atol=0.1)


def test_standing_still_is_no_contradiction(remember, random):
    stream = Stream(random, random.normal(size=COUNT))
    estimate = run(remember, stream, 5.0, np.zeros(COUNT))
    still = stream.sample()
    for _ in range(2000):
        if remember.observe(still, PERIOD) and (target := remember.target(estimate)) is not None:
            estimate = target.copy()
    assert remember.contradictions == 0
    np.testing.assert_allclose(estimate, stream.true, atol=0.1)


def test_forget_starts_again(remember, random):
    stream = Stream(random, random.normal(size=COUNT))
    run(remember, stream, 0.7 * memory.INTERVAL, np.zeros(COUNT))
    remember.forget()
    assert not np.any(remember._sums)
    times = [k for k in range(500) if remember.observe(stream.sample(), PERIOD)]
    assert times[0] * PERIOD >= memory.INTERVAL


def test_the_work_of_a_step_is_spread(random):
    count = 60
    remember = RegressorMemory(np.eye(count), np.ones(JOINTS))
    sample = random.normal(size=(JOINTS, count + 1))
    rows, before = [], 0
    while not remember.observe(sample, PERIOD):
        now = remember._rows_factorised
        if now >= 0:
            rows.append(now - before)
            before = now
    # Early rows are short and go together; of the long ones none waits for another.
    assert sum(rows) == count
    assert len(rows) > 20
    work = np.cumsum([row * (count - row) for row in range(count)])
    done = np.diff(np.concatenate([[0], work])[np.cumsum([0, *rows])])
    assert done.max() <= count**2 / 4 + remember._work


def test_many_joints_cost_a_sample_no_more():
    joints, count = 30, 360
    remember = RegressorMemory(np.eye(count), np.ones(joints))
    rows = remember._rows_to_take_in
    assert 1 <= rows
    assert rows * joints * (count + 1) <= memory.LARGEST_WORK
    assert remember._work == memory.LARGEST_WORK
