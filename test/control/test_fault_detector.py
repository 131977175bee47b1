# SPDX-License-Identifier: Apache-2.0
"""Alarms, decisions and thresholds on residuals made by hand."""

import numpy as np
import pytest

from robot_dynamics.control.fault_detector import Event, FaultDetector
from robot_dynamics.control.residual_scales import (
    ResidualScales,
    ScaleSettings,
    default_thresholds,
    shaped_thresholds,
)
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

PERIOD = 0.002
STILL = np.zeros(3)
#: Samples after which it is known whether joints move: nothing is judged before.
UNJUDGED = 61


class Bench:
    """A detector of three joints with thresholds of 1, and time."""

    def __init__(self, thresholds=1.0, **options):
        self.scales = ResidualScales(3, PERIOD)
        self.detector = FaultDetector(self.scales, thresholds, **options)
        self.now = 0.0
        # Nothing is judged before it is known whether a joint moves.
        assert self.feed(np.full(3, 9.0), UNJUDGED - 1) == [Event.NOTHING] * (UNJUDGED - 1)
        self.detector.reset()
        self.feed(STILL, UNJUDGED)

    def feed(self, residual, count=1, v=STILL, inertia=STILL):
        events = []
        for _ in range(count):
            self.now += PERIOD
            events.append(self.detector.update(np.array(residual, dtype=float), inertia, v,
                                               self.now))
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
    thresholds = np.ones((2, 2, windows, 3))
    thresholds[:, :, -1] = 0.2
    bench = Bench(thresholds)
    events = bench.feed([0.3, 0.0, 0.0], 30)
    # The mean of 24 has 0.2 of 0.3 with the 17th.
    assert events.index(Event.UNDECIDED) == 16
    noise = np.random.default_rng(0).normal(scale=0.2, size=(2000, 3))
    noise = noise.clip(-0.9, 0.9)
    bench = Bench(thresholds)
    assert all(bench.feed(row) == [Event.NOTHING] for row in noise)


def test_a_joint_that_should_move_has_its_own_thresholds():
    windows = len(ScaleSettings().windows)
    thresholds = np.ones((2, 2, windows, 3))
    thresholds[:, 1] = 0.1
    slow, fast = np.full(3, 0.04), np.full(3, -0.5)
    bench = Bench(thresholds)
    assert bench.feed([0.5, 0.0, 0.0], 2 * UNJUDGED, v=slow)[-1] is Event.NOTHING
    bench = Bench(thresholds)
    bench.feed(STILL, 2 * UNJUDGED, v=fast)
    # Blocked, it stands still at once, and still should move.
    assert bench.feed([0.5, 0.0, 0.0], 2)[-1] is Event.UNDECIDED


def test_a_joint_that_is_about_to_turn_round_need_not_move():
    windows = len(ScaleSettings().windows)
    thresholds = np.ones((2, 2, windows, 3))
    thresholds[:, 1] = 0.1
    bench = Bench(thresholds)
    # By the line through them, velocities change sign at the last of these samples.
    for k in range(2 * UNJUDGED):
        bench.feed(STILL, v=np.full(3, 2.0 * PERIOD * (2 * UNJUDGED - k)))
    assert bench.feed([0.5, 0.0, 0.0], 20)[-1] is Event.NOTHING


def test_thresholds_per_inertia_are_lower_where_the_arm_is_folded():
    windows = len(ScaleSettings().windows)
    thresholds = np.ones((2, 2, windows, 3))
    folded, stretched = np.full(3, 0.2), np.full(3, 5.0)
    bench = Bench(thresholds)
    assert bench.feed([0.5, 0.0, 0.0], 10, inertia=stretched)[-1] is Event.NOTHING
    assert bench.feed([0.5, 0.0, 0.0], inertia=folded)[-1] is Event.UNDECIDED


def test_the_joint_is_told_by_what_it_may_show_at_rest_too():
    """A fault throws others off, which are low in threshold while they should move."""
    windows = len(ScaleSettings().windows)
    thresholds = np.ones((2, 2, windows, 3))
    thresholds[:, 1] = np.array([0.5, 0.01, 0.5])[None, None]
    bench, fast = Bench(thresholds), np.full(3, 0.5)
    bench.feed(STILL, 2 * UNJUDGED, v=fast)
    # The second joint is twice its threshold, the first nearly at it, by far more.
    assert bench.feed([0.49, 0.02, 0.0], 4, v=fast)[-1] is Event.UNDECIDED
    assert bench.detector.joint == 0
    assert bench.feed([0.9, 0.02, 0.0], 10, v=fast)[-1] is Event.FAULT
    assert bench.detector.joint == 0


def test_default_thresholds_are_shares_of_the_strength():
    robot = Robot.from_urdf(resolve_robot('arm7'))
    thresholds = default_thresholds(robot, 5)
    np.testing.assert_allclose(thresholds[0, 1, 3], 0.1 * robot.limits.effort)
    # Where strength is not known, nothing is an alarm.
    scales = ResidualScales(3, PERIOD)
    detector = FaultDetector(scales, np.inf)
    for k in range(2 * UNJUDGED):
        assert detector.update(np.full(3, 1e9), np.ones(3), STILL, k * PERIOD) is Event.NOTHING


def test_values_that_are_none_are_no_alarm_and_are_forgotten():
    bench = Bench()
    bench.feed([np.nan, np.nan, np.nan], 5)
    assert bench.detector.event is Event.NOTHING
    bench.feed(STILL, UNJUDGED)
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
    (lambda: FaultDetector(ResidualScales(3, 0.1), 1.0, window=0.0), ParameterError, 'window'),
])
def test_wrong_inputs_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()
