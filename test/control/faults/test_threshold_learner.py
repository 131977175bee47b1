# SPDX-License-Identifier: Apache-2.0
"""What a run without faults tells: friction, and tolerances with it."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.faults import fault_detector
from robot_dynamics.control.faults.fault_detector import Event, FaultDetector
from robot_dynamics.control.faults.motion_predictor import MotionFilter, MotionPredictor
from robot_dynamics.control.faults.residuals import MomentumObserver
from robot_dynamics.control.faults.threshold_learner import (
    LENGTH,
    STRETCHES,
    LargestShares,
    ThresholdLearner,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError

PERIOD = 0.002

#: Viscous and Coulomb friction, and armature beyond the description.
MORE = np.array([[0.1, 0.2, 0.3], [0.5, 0.2, -0.1], [0.2, 0.1, 0.05]])


@pytest.fixture
def robot(arm3):
    return replace(arm3, damping=np.full(3, 0.2), friction=np.full(3, 0.3))


def motion(robot, seconds, seed, more=MORE, still=()):
    """Yield states with noise and the efforts between, of an arm with more friction."""
    true = replace(robot, damping=robot.damping + more[0], friction=robot.friction + more[1],
                   armature=robot.armature + more[2])
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
    efforts = dynamics.inverse_dynamics(*middle) \
        + true.damping * middle[1] + true.friction * np.tanh(middle[1] / 0.001)
    noisy = v + random.normal(scale=0.002, size=v.shape)
    yield from zip(q, noisy, efforts, range(count), strict=True)


def watch(robot, states, fault=0.0, joints=None):
    """Yield what is seen of each state: observer, predictor, whether it counts, velocity."""
    dynamics = Dynamics(robot)
    observer, predictor = MomentumObserver(robot, dynamics), MotionPredictor(
        robot, MotionFilter(PERIOD))
    if joints is not None:
        predictor.correct_joints(joints)
    for q, v, effort, k in states:
        effort = effort + fault * np.eye(3)[1] * (k > 400)
        dt = PERIOD if k else 0.0
        observer.update(q, v, effort, dt)
        yield observer, predictor, predictor.update(observer.matrices, q, v, effort, dt), v


def learn(robot, seconds, **options):
    learner = None
    for observer, predictor, counts, v in watch(robot, motion(robot, seconds, 1, **options)):
        learner = learner or ThresholdLearner(robot, predictor)
        learner.update(observer, v, counts=counts)
    return learner


@pytest.mark.slow
def test_friction_and_armature_beyond_the_description_are_found(robot):
    learner = learn(robot, 10.0)
    np.testing.assert_allclose(learner.joints, MORE, atol=0.02)
    assert learner.samples == 5_000
    tolerances = learner.tolerances
    # In longer windows noise is averaged away.
    assert tolerances.noise.shape == (5, 3) and np.all(tolerances.flat > 0.0)
    assert np.all(np.diff(tolerances.noise, axis=0) < 0.0)


@pytest.mark.slow
def test_no_false_alarm_after_it_and_small_faults_are_seen(robot):
    learner = learn(robot, 16.0)
    for fault, wanted in ((0.0, Event.NOTHING), (0.5, Event.FAULT)):
        detector, events = None, set()
        for k, (_, predictor, counts, _) in enumerate(
                watch(robot, motion(robot, 4.0, 2), fault, learner.joints)):
            detector = detector or FaultDetector(predictor, learner.tolerances)
            events.add(detector.update(k * PERIOD, counts=counts))
            if fault and detector.event is Event.FAULT:
                assert detector.joint == 1
        assert wanted in events
        assert fault or events == {Event.NOTHING}


@pytest.mark.slow
def test_a_joint_that_rests_keeps_friction_and_armature_of_the_description(robot):
    learner = learn(robot, 10.0, still=(2,))
    assert not np.any(learner.joints[:, 2])
    np.testing.assert_allclose(learner.joints[:, :2], MORE[:, :2], atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(('still', 'named'), [((2,), 'wrist'),
                                             ((0, 1, 2), 'shoulder, elbow, wrist')])
def test_limits_of_rest_are_refused_for_joints_that_will_move(robot, still, named):
    """They were alarms for good as soon as the arm moved."""
    with pytest.raises(ParameterError, match=f'^{named} must move while thresholds') as caught:
        learn(robot, 6.0, still=still).tolerances  # noqa: B018
    assert 'move all joints' in caught.value.remedy


def test_a_joint_that_is_always_slow_is_learnt_so(robot):
    velocity = np.array([3.0, 3.0, 0.03])
    slow = replace(robot, limits=replace(robot.limits, velocity=velocity))
    effort = learn(slow, 6.0, more=MORE * [[1.0], [1.0], [0.0]], still=(2,)).tolerances.effort
    # It was never seen to move: what it shows at rest counts for both.
    np.testing.assert_array_equal(effort[0, :, 2], effort[1, :, 2])


@pytest.mark.slow
def test_limits_are_for_an_hour_however_short_the_run(robot):
    short, long = learn(robot, 5.0).tolerances, learn(robot, 14.0).tolerances
    # Spreads of a short run hold what friction showed until it was known: limits are fewer of
    # them. What is allowed is the product.
    allowed = [tolerances.limit * tolerances.noise for tolerances in (short, long)]
    assert 0.6 < np.median(allowed[0] / allowed[1]) < 1.6


@pytest.mark.slow
def test_friction_never_falls_below_none(robot):
    learner = learn(robot, 10.0, more=np.array([[-0.15], [-0.15], [0.0]]) * np.ones(3))
    assert np.all(learner.joints >= -np.stack([robot.damping, robot.friction, robot.armature]))


def test_it_says_what_is_wrong(robot):
    predictor = MotionPredictor(robot, MotionFilter(PERIOD))
    with pytest.raises(ParameterError, match='margin'):
        ThresholdLearner(robot, predictor, margin=0.5)
    with pytest.raises(ParameterError, match='without'):
        ThresholdLearner(robot, predictor).tolerances  # noqa: B018
    learner = ThresholdLearner(robot, predictor)
    learner.begin_anew()
    with pytest.raises(ParameterError, match='too little motion'):
        learner.tolerances  # noqa: B018

N, WINDOWS = 3, 2

INERTIA = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])

NOISE = np.array([[1.0, 0.7, 0.5], [0.2, 0.1, 0.3]])

EFFORT = np.array([[[0.1, 0.2, 0.1], [0.05, 0.1, 0.02]], [[0.3, 0.2, 0.4], [0.1, 0.3, 0.2]]])


def weigh(acceleration, slow, noise, effort):
    shares, whole = np.zeros((WINDOWS, N)), np.zeros(WINDOWS)
    fault_detector.weigh.load()(acceleration, INERTIA, noise, effort, slow,
                                np.zeros((3, N, N)), shares, whole)
    return shares, whole


@pytest.mark.slow
@pytest.mark.parametrize('count', [LENGTH // 2, 3 * LENGTH, 3 * STRETCHES * LENGTH // 2])
def test_the_largest_by_the_spreads_of_the_end_are_found(count):
    random, extremes = np.random.default_rng(3), LargestShares(WINDOWS, N)
    # Of all states, and of those after the first stretch, which bad estimates have chosen from.
    most, settled = np.zeros((WINDOWS, N + 1)), np.zeros((WINDOWS, N + 1))
    believed = np.zeros((WINDOWS, N + 1))
    for k in range(count):
        # First estimates are a fourth of what they become: all looks large by them.
        early = 0.25 if k < LENGTH // 10 else 1.0
        noise, effort = early * NOISE, early * EFFORT
        acceleration, slow = NOISE * random.normal(size=(WINDOWS, N)), random.integers(0, 2, N)
        seen = weigh(acceleration, slow, noise, effort)
        extremes.take(*seen, acceleration, INERTIA, slow, noise, effort)
        believed = np.fmax(believed, np.abs(np.column_stack(seen)))
        truth = np.abs(np.column_stack(weigh(acceleration, slow, NOISE, EFFORT)))
        most = np.fmax(most, truth)
        settled = np.fmax(settled, truth) if k >= LENGTH else settled
    found = np.column_stack(extremes.largest(NOISE, EFFORT))
    assert np.all(found >= settled) and np.all(found <= most) and np.all(found > 0.0)
    # What was believed at first is far above.
    assert np.all(believed > 1.5 * found)


def test_a_state_kept_for_one_joint_counts_for_all_together():
    """Its share of all together is the largest only by the spreads of the end."""
    extremes, slow = LargestShares(WINDOWS, N), np.zeros(N, dtype=np.int64)
    early = np.array([1.0, 1.0, 20.0])
    for acceleration in (np.array([4.0, 0.0, 0.0]), np.array([0.0, 0.0, 8.0])):
        both = np.tile(acceleration, (WINDOWS, 1))
        extremes.take(*weigh(both, slow, early * NOISE, early * EFFORT), both, INERTIA, slow,
                      early * NOISE, early * EFFORT)
    limit, whole = extremes.largest(NOISE, EFFORT)
    assert np.all(whole >= limit.max(axis=1))


def test_nothing_seen_has_no_extremes():
    limit, whole = LargestShares(WINDOWS, N).largest(NOISE, EFFORT)
    assert limit.shape == (WINDOWS, N) and whole.shape == (WINDOWS,)
    assert not limit.any() and not whole.any()


def test_what_is_kept_is_a_copy():
    extremes, acceleration = LargestShares(WINDOWS, N), np.ones((WINDOWS, N))
    slow = np.zeros(N, dtype=np.int64)
    shares, whole = weigh(acceleration, slow, NOISE, EFFORT)
    extremes.take(shares, whole, acceleration, INERTIA, slow, NOISE, EFFORT)
    acceleration[:], slow[:] = 100.0, 1
    limit, of_all = extremes.largest(NOISE, EFFORT)
    np.testing.assert_allclose(limit, np.abs(shares), rtol=1e-12)
    np.testing.assert_allclose(of_all, whole, rtol=1e-12)
