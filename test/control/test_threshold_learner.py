# SPDX-License-Identifier: Apache-2.0
"""What a run without faults tells: friction, and thresholds with it."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.fault_detector import Event, FaultDetector
from robot_dynamics.control.momentum_observer import MomentumObserver
from robot_dynamics.control.residual_scales import ResidualScales
from robot_dynamics.control.threshold_learner import ThresholdLearner
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError

PERIOD = 0.002
MORE = np.array([[0.1, 0.2, 0.3], [0.5, 0.2, -0.1]])


@pytest.fixture
def robot(arm3):
    return replace(arm3, damping=np.full(3, 0.2), friction=np.full(3, 0.3))


def motion(robot, seconds, seed, more=MORE, still=()):
    """Yield states with noise and the efforts between, of an arm with more friction."""
    true = replace(robot, damping=robot.damping + more[0], friction=robot.friction + more[1])
    dynamics, random = Dynamics(true, coulomb_velocity=0.01), np.random.default_rng(seed)
    rates = np.array([3.0, 4.1, 5.3])
    rates[list(still)] = 0.0
    count = round(seconds / PERIOD)

    def states(t):
        phase = rates * t[:, None]
        return 0.3 * np.sin(phase), 0.3 * rates * np.cos(phase), -0.3 * rates**2 * np.sin(phase)

    times = PERIOD * np.arange(count)
    q, v, _ = states(times)
    middle = states(times - 0.5 * PERIOD)
    efforts = dynamics.inverse_dynamics(*middle) + true.armature * middle[2] \
        + true.damping * middle[1] + true.friction * np.tanh(middle[1] / 0.01)
    noisy = v + random.normal(scale=0.002, size=v.shape)
    yield from zip(q, noisy, efforts, range(count), strict=True)


def learn(robot, seconds, **options):
    observer = MomentumObserver(robot, Dynamics(robot))
    learner = ThresholdLearner(robot, PERIOD)
    for q, v, effort, k in motion(robot, seconds, 1, **options):
        observer.update(q, v, effort, PERIOD if k else 0.0)
        learner.update(observer, v)
    return observer, learner


def test_friction_beyond_the_description_is_found(robot):
    _, learner = learn(robot, 10.0)
    np.testing.assert_allclose(learner.friction, MORE, atol=0.02)
    assert learner.samples == 5_000
    # Longer windows have lower thresholds.
    assert learner.thresholds.shape == (2, 2, 8, 3) and np.all(learner.thresholds > 0.0)
    assert np.all(learner.thresholds[0, 1, -1] < 0.5 * learner.thresholds[0, 1, 0])


def test_no_false_alarm_after_it_and_small_faults_are_seen(robot):
    observer, learner = learn(robot, 16.0)
    observer.correct_friction(learner.friction)
    for fault, wanted in ((0.0, Event.NOTHING), (0.5, Event.FAULT)):
        observer.reset()
        detector = FaultDetector(ResidualScales(3, PERIOD), learner.thresholds)
        events = set()
        for q, v, effort, k in motion(robot, 4.0, 2):
            effort = effort + fault * np.eye(3)[1]
            observer.update(q, v, effort, PERIOD if k else 0.0)
            if k > 200:
                events.add(detector.update(observer.residual, observer.inertia, v, k * PERIOD))
        assert wanted in events
        assert fault or events == {Event.NOTHING}


def test_a_joint_that_rests_keeps_the_friction_of_the_description(robot):
    _, learner = learn(robot, 10.0, still=(2,))
    assert not np.any(learner.friction[:, 2])
    np.testing.assert_allclose(learner.friction[:, :2], MORE[:, :2], atol=0.03)
    # It was never seen to move: what it shows at rest counts for both.
    np.testing.assert_array_equal(learner.thresholds[:, 0, :, 2], learner.thresholds[:, 1, :, 2])


def test_friction_never_falls_below_none(robot):
    observer, learner = learn(robot, 10.0, more=np.full((2, 3), -0.15))
    assert np.all(learner.friction >= -np.stack([robot.damping, robot.friction]))
    observer.correct_friction(np.full((2, 3), -9.0))
    none = replace(robot, damping=np.zeros(3), friction=np.zeros(3))
    without = MomentumObserver(none, Dynamics(none))
    for q, v, effort, k in motion(robot, 0.1, 3):
        np.testing.assert_array_equal(observer.update(q, v, effort, PERIOD if k else 0.0),
                                      without.update(q, v, effort, PERIOD if k else 0.0))


def test_it_says_what_is_wrong(robot):
    with pytest.raises(ParameterError, match='margin'):
        ThresholdLearner(robot, PERIOD, margin=0.5)
    with pytest.raises(ParameterError, match='without'):
        ThresholdLearner(robot, PERIOD).thresholds  # noqa: B018
