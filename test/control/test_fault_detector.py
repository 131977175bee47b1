# SPDX-License-Identifier: Apache-2.0
"""Alarms, decisions and thresholds on residuals made by hand."""

import numpy as np
import pytest

from robot_dynamics.control.fault_detector import Event, FaultDetector
from robot_dynamics.control.residual_scales import (
    ResidualScales,
    ScaleSettings,
    ThresholdLearner,
    default_thresholds,
    shaped_thresholds,
)
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

PERIOD = 0.002
STILL = np.zeros(3)


class Bench:
    """A detector of three joints with thresholds of 1, and time."""

    def __init__(self, thresholds=1.0, **options):
        self.scales = ResidualScales(3, PERIOD)
        self.detector = FaultDetector(self.scales, thresholds, **options)
        self.now = 0.0
        # Nothing is judged before it is known whether a joint moved.
        assert self.feed(np.full(3, 9.0), 30) == [Event.NOTHING] * 30
        self.detector.reset()
        self.feed(STILL, 31)

    def feed(self, residual, count=1, v=STILL):
        events = []
        for _ in range(count):
            self.now += PERIOD
            events.append(self.detector.update(np.array(residual, dtype=float), v, self.now))
        return events


def test_a_single_sample_is_noise_and_two_are_an_alarm():
    bench = Bench()
    assert bench.feed([0.0, 1.5, 0.0]) == [Event.NOTHING]
    assert bench.feed([0.0, -1.5, 0.0]) == [Event.NOTHING]
    assert bench.feed([0.0, 0.0, 0.0], 30) == [Event.NOTHING] * 30
    bench.feed([0.0, 1.5, 0.0])
    assert bench.feed([0.0, 1.5, 0.0]) == [Event.UNDECIDED]
    assert bench.detector.joint == 1


def test_alone_for_long_enough_it_is_a_fault_until_it_is_over():
    bench = Bench()
    events = bench.feed([0.0, 0.2, -3.0], 20)
    assert events[1] is Event.UNDECIDED and events[-1] is Event.FAULT
    assert events.index(Event.FAULT) == 1 + 5
    assert bench.detector.joint == 2
    events = bench.feed(STILL, 60)
    assert events[0] is Event.FAULT and events[-1] is Event.NOTHING
    assert bench.detector.joint == -1


def test_with_others_it_is_a_contact():
    bench = Bench()
    events = bench.feed([1.2, 2.0, 0.0], 3)
    assert events[1] is Event.CONTACT
    # What is small beside the first is what a model error lets through.
    bench = Bench()
    assert bench.feed([1.2, 20.0, 0.0], 10)[-1] is Event.FAULT
    # One that comes a little later still counts.
    bench = Bench()
    bench.feed([0.0, 2.0, 0.0], 3)
    assert bench.feed([1.5, 2.0, 0.0], 3)[-1] is Event.CONTACT
    # One that comes long after the decision does not.
    bench = Bench()
    bench.feed([0.0, 2.0, 0.0], 20)
    assert bench.feed([1.5, 2.0, 0.0], 20)[-1] is Event.FAULT


def test_long_windows_see_what_is_small_and_lasts():
    windows = len(ScaleSettings().windows)
    thresholds = np.ones((2, windows, 3))
    thresholds[:, -1] = 0.2
    bench = Bench(thresholds)
    events = bench.feed([0.3, 0.0, 0.0], 30)
    # The mean of 24 has 0.2 of 0.3 with the 17th.
    assert events.index(Event.UNDECIDED) == 16
    noise = np.random.default_rng(0).normal(scale=0.2, size=(2000, 3))
    noise = noise.clip(-0.9, 0.9)
    bench = Bench(thresholds)
    assert all(bench.feed(row) == [Event.NOTHING] for row in noise)


def test_a_joint_that_moved_a_moment_ago_has_its_own_thresholds():
    windows = len(ScaleSettings().windows)
    thresholds = np.ones((2, windows, 3))
    thresholds[1] = 0.1
    slow, fast = np.full(3, 0.1), np.full(3, -0.5)
    bench = Bench(thresholds)
    assert bench.feed([0.5, 0.0, 0.0], 60, v=slow)[-1] is Event.NOTHING
    bench = Bench(thresholds)
    bench.feed(STILL, 60, v=fast)
    # Blocked, it stands still at once, and still counts as moving.
    assert bench.feed([0.5, 0.0, 0.0], 2)[-1] is Event.UNDECIDED


def test_thresholds_are_learnt_and_then_nothing_like_it_is_an_alarm():
    random = np.random.default_rng(1)
    scales = ResidualScales(3, PERIOD)
    learner = ThresholdLearner(scales, margin=1.5)
    with pytest.raises(ParameterError, match='without'):
        learner.thresholds  # noqa: B018

    def run(count):
        walk = np.zeros(3)
        for k in range(count):
            walk = 0.99 * walk + random.normal(scale=[0.005, 0.01, 0.02])
            yield walk + random.normal(scale=[0.1, 0.2, 0.4]), np.full(3, np.sin(0.01 * k))

    for residual, v in run(6_000):
        scales.update(residual, v)
        learner.update()
    thresholds = learner.thresholds
    assert thresholds.shape == (2, 5, 3) and learner.samples == 6_000
    # Longer windows have lower ones.
    assert np.all(thresholds[:, -1] < 0.7 * thresholds[:, 0])
    scales.reset()
    detector = FaultDetector(scales, thresholds)
    for k, (residual, v) in enumerate(run(6_000)):
        assert detector.update(residual, v, k * PERIOD) is Event.NOTHING
    # One that has never moved has those of rest for both.
    scales.reset()
    still = ThresholdLearner(scales)
    for residual, _ in run(200):
        scales.update(residual, STILL)
        still.update()
    np.testing.assert_array_equal(still.thresholds[0], still.thresholds[1])


def test_default_thresholds_are_shares_of_the_strength():
    robot = Robot.from_urdf(resolve_robot('arm7'))
    thresholds = default_thresholds(robot, 5)
    np.testing.assert_allclose(thresholds[1, 3], 0.1 * robot.limits.effort)
    # Where strength is not known, nothing is an alarm.
    scales = ResidualScales(3, PERIOD)
    detector = FaultDetector(scales, np.full((2, 5, 3), np.inf))
    for k in range(50):
        assert detector.update(np.full(3, 1e9), STILL, k * PERIOD) is Event.NOTHING


def test_values_that_are_none_are_no_alarm_and_are_forgotten():
    bench = Bench()
    bench.feed([np.nan, np.nan, np.nan], 5)
    assert bench.detector.event is Event.NOTHING
    bench.feed(STILL, 30)
    assert bench.feed([2.0, 0.0, 0.0], 2)[-1] is Event.UNDECIDED
    bench.detector.reset()
    assert bench.detector.event is Event.NOTHING and bench.detector.joint == -1


@pytest.mark.parametrize(('call', 'error', 'says'), [
    (lambda: shaped_thresholds([1.0, 2.0], 5, 3), DimensionError, 'thresholds'),
    (lambda: shaped_thresholds([1.0, 0.0, 1.0], 5, 3), ParameterError, 'thresholds'),
    (lambda: shaped_thresholds([np.nan] * 3, 5, 3), ParameterError, 'thresholds'),
    (lambda: shaped_thresholds([], 5, 3), DimensionError, 'thresholds'),
    (lambda: ResidualScales(3, 0.0), ParameterError, 'period'),
    (lambda: ScaleSettings(windows=()), ParameterError, 'windows'),
    (lambda: ScaleSettings(windows=(0.2, 0.1)), ParameterError, 'windows'),
    (lambda: ScaleSettings(delay=-1.0), ParameterError, 'delay'),
    (lambda: ThresholdLearner(ResidualScales(3, 0.1), margin=0.5), ParameterError, 'margin'),
    (lambda: FaultDetector(ResidualScales(3, 0.1), 1.0, window=0.0), ParameterError, 'window'),
])
def test_wrong_inputs_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()
