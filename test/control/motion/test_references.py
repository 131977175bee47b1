# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from robot_dynamics.control.motion.references import (
    FourierSeries,
    Hold,
    PointToPoint,
    Repeat,
    Sequence,
    exciting_fourier,
    through_poses,
)
from robot_dynamics.errors import ControlError, DimensionError, ParameterError, TrajectoryError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots

START, GOAL = np.array([0.0, 1.0, -1.0]), np.array([1.0, 1.0, -3.0])


@pytest.fixture(scope='module')
def arm7():
    return Robot.from_urdf(shipped_robots()['arm7'])


def series(ramp=2.0):
    generator = np.random.default_rng(5)
    return FourierSeries([0.1, -0.2, 0.3], 0.3 * generator.standard_normal((3, 5)),
                         0.3 * generator.standard_normal((3, 5)), base_frequency=0.2, ramp=ramp)


def assert_derivatives_fit(reference, times, h=1e-4):
    """Compare v and a with central differences of q and v: O(h^2), with its constant known."""
    q_after, v_after, _ = reference.sample_many(times + h)
    q_before, v_before, _ = reference.sample_many(times - h)
    _, v, a = reference.sample_many(times)
    np.testing.assert_allclose((q_after - q_before) / (2.0 * h), v, atol=1e-6)
    np.testing.assert_allclose((v_after - v_before) / (2.0 * h), a, atol=1e-6)


def test_a_move_goes_from_rest_to_rest():
    move = PointToPoint(START, GOAL, duration=2.0)
    for t, pose in ((-1.0, START), (0.0, START), (2.0, GOAL), (9.0, GOAL)):
        q, v, a = move.sample(t)
        np.testing.assert_allclose(q, pose, atol=1e-12)
        np.testing.assert_allclose(v, 0.0, atol=1e-12)
        np.testing.assert_allclose(a, 0.0, atol=1e-12)
    np.testing.assert_allclose(move.sample(1.0)[0], 0.5 * (START + GOAL))


def test_a_move_has_exact_derivatives():
    assert_derivatives_fit(PointToPoint(START, GOAL, duration=2.0), np.linspace(0.1, 1.9, 50))


@pytest.mark.parametrize('limits', [
    {'velocity_limit': 0.5}, {'acceleration_limit': 0.3},
    {'velocity_limit': [1.0, np.nan, 0.4], 'acceleration_limit': 2.0}])
def test_a_move_takes_as_long_as_its_limits_want(limits):
    move = PointToPoint(START, GOAL, **limits)
    _, v, a = move.sample_many(np.linspace(0.0, move.duration, 20001))
    worst = max(np.nanmax(np.abs(v) / limits.get('velocity_limit', np.inf)),
                np.nanmax(np.abs(a) / limits.get('acceleration_limit', np.inf)))
    assert worst == pytest.approx(1.0, rel=1e-6)


def test_no_way_takes_the_shortest_time():
    assert PointToPoint(START, START, velocity_limit=1.0).duration == 0.1


def test_bad_moves():
    with pytest.raises(DimensionError, match='start and goal'):
        PointToPoint(START, GOAL[:2])
    with pytest.raises(TrajectoryError, match='velocity_limit'):
        PointToPoint(START, GOAL, velocity_limit=0.0)
    with pytest.raises(ParameterError, match='duration'):
        PointToPoint(START, GOAL, duration=math.nan)


@pytest.mark.parametrize('wrong', [[0.0, math.nan, 0.0], [0.0, math.inf, 0.0], ['a', 0.0, 0.0],
                                   [0.0, [1.0], 0.0], [], [[0.0] * 3], None, [10**400, 0.0, 0.0]])
def test_nothing_moves_to_where_nobody_can_be(wrong):
    for make in (Hold, lambda pose: PointToPoint(pose, GOAL),
                 lambda pose: PointToPoint(START, pose),
                 lambda pose: FourierSeries(pose, np.ones((3, 2)), np.ones((3, 2)))):
        with pytest.raises((ControlError, DimensionError)):
            make(wrong)


@pytest.mark.parametrize('make', [
    lambda: Hold(START, -1.0), lambda: Hold(START, math.nan), lambda: Hold(START, 'long'),
    lambda: PointToPoint(START, GOAL, velocity_limit=[1.0, 2.0]),
    lambda: PointToPoint(START, GOAL, velocity_limit='fast'),
    lambda: PointToPoint(START, GOAL, velocity_limit=1e-300),
    lambda: PointToPoint(START, np.full(3, 1e308)),
    lambda: Repeat(Hold(START, 0.0)), lambda: Repeat(Hold(START, 1.0), 0),
    lambda: Repeat(Hold(START, 1.0), 1.5), lambda: Repeat(Hold(START, 1.0), -1),
    lambda: FourierSeries(START, np.full((3, 2), np.nan), np.ones((3, 2))),
    lambda: FourierSeries(START, np.full((3, 2), 1e308), np.ones((3, 2)))])
def test_motions_that_cannot_be_are_refused(make):
    with pytest.raises((ControlError, ParameterError, DimensionError, TrajectoryError)):
        make()


def test_a_series_starts_at_rest_where_asked():
    q, v, a = series().sample(0.0)
    np.testing.assert_allclose(q, [0.1, -0.2, 0.3], atol=1e-15)
    np.testing.assert_array_equal(v, np.zeros(3))
    np.testing.assert_array_equal(a, np.zeros(3))


def test_a_series_has_exact_derivatives_in_and_after_its_ramp():
    assert_derivatives_fit(series(), np.linspace(0.01, 8.0, 400))


def test_the_ramp_joins_the_series_smoothly():
    reference = series(ramp=2.0)
    before, after = reference.sample(2.0 - 1e-9), reference.sample(2.0 + 1e-9)
    for x, y in zip(before, after, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-7)


def test_a_series_is_periodic_and_lags_by_half_its_ramp():
    reference, at_once = series(ramp=2.0), series(ramp=0.0)
    for t in np.linspace(2.0, 6.0, 17):
        np.testing.assert_allclose(reference.sample(t), reference.sample(t + 5.0), atol=1e-12)
        np.testing.assert_allclose(reference.sample(t), at_once.sample(t - 1.0), atol=1e-12)


def test_a_series_is_the_sum_it_says():
    w = 2.0 * np.pi * 0.5
    reference = FourierSeries([1.0], [[0.0, 3.0]], [[2.0, 0.0]], base_frequency=0.5, ramp=0.0)
    t = 0.37
    q, v, a = reference.sample(t)
    assert q[0] == pytest.approx(1.0 + 3.0 / (2 * w) * np.sin(2 * w * t)
                                 + 2.0 / w * (1.0 - np.cos(w * t)))
    assert v[0] == pytest.approx(3.0 * np.cos(2 * w * t) + 2.0 * np.sin(w * t))
    assert a[0] == pytest.approx(-6.0 * w * np.sin(2 * w * t) + 2.0 * w * np.cos(w * t))


@pytest.mark.parametrize('seed', range(8))
@pytest.mark.parametrize('start', [None, 'measured'])
def test_exciting_motions_keep_every_limit_and_use_one(arm7, seed, start):
    limits, margin = arm7.limits, 0.1
    measured = None if start is None else 0.6 * limits.lower + 0.4 * limits.upper
    reference = exciting_fourier(arm7, seed, start=measured, margin=margin)
    times = np.linspace(0.0, 2.0 + reference.period, 24001)
    q, v, a = reference.sample_many(times)
    kept = margin * (limits.upper - limits.lower)
    speed = np.minimum(0.9, 0.9 * limits.velocity)
    assert (q >= limits.lower + kept - 1e-9).all()
    assert (q <= limits.upper - kept + 1e-9).all()
    assert (np.abs(v) <= speed).all()
    assert (np.abs(a) <= 3.0).all()
    nearest = np.minimum((q - limits.lower - kept).min(axis=0),
                         (limits.upper - kept - q).min(axis=0))
    used = np.maximum(np.abs(v).max(axis=0) / speed, np.abs(a).max(axis=0) / 3.0)
    # Every joint moves as much as one of its bounds allows (the ramp's bound is an estimate).
    assert ((nearest < 1e-3) | (used > 0.75)).all()
    if measured is not None:
        np.testing.assert_allclose(q[0], measured, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize('harmonics', [1, 50, 200])
def test_peaks_of_many_harmonics_are_not_missed(arm7, harmonics):
    reference = exciting_fourier(arm7, 3, harmonics=harmonics, acceleration=1e3, ramp=0.0)
    q, v, a = reference.sample_many(np.linspace(0.0, reference.period, 60_001))
    limits = arm7.limits
    assert (np.abs(v) <= np.minimum(0.9, 0.9 * limits.velocity)).all()
    assert (np.abs(a) <= 1e3).all()
    assert ((q >= limits.lower) & (q <= limits.upper)).all()


@pytest.mark.parametrize('options', [
    {'harmonics': 0}, {'harmonics': 2.5}, {'harmonics': 'two'}, {'margin': 0.5}, {'margin': 2.0},
    {'ramp': -1.0}, {'ramp': 'slow'}, {'start': ['a'] * 7}, {'speed': -1.0}])
def test_exciting_motions_that_cannot_be_are_refused(arm7, options):
    with pytest.raises((ParameterError, DimensionError)) as caught:
        exciting_fourier(arm7, 1, **options)
    assert next(iter(options)) in str(caught.value)


def test_seeds_give_the_same_motion_again_and_different_ones(arm7):
    first, again, other = (exciting_fourier(arm7, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.sine, again.sine)
    assert np.abs(first.sine - other.sine).max() > 0.1


def test_an_exciting_motion_does_not_start_at_a_limit(arm7):
    start = np.zeros(7)
    start[3] = arm7.limits.lower[3] + 0.01
    with pytest.raises(TrajectoryError, match=arm7.joint_names[3]):
        exciting_fourier(arm7, 1, start=start)


def test_a_joint_without_stops_stays_about_its_start(turning_arm3):
    start = np.array([0.5, 0.5, 20.0])
    reference = exciting_fourier(turning_arm3, 1, start=start, speed=2.0, acceleration=50.0)
    q, _, _ = reference.sample_many(np.linspace(0.0, 12.0, 5000))
    assert np.abs(q[:, 2] - 20.0).max() <= np.pi / 2.0 + 1e-9


def test_one_after_the_other():
    periodic = series()
    whole = Sequence(PointToPoint(np.zeros(3), periodic.start, duration=1.5),
                     Hold(periodic.start, 0.5), periodic)
    assert math.isinf(whole.duration)
    np.testing.assert_allclose(whole.sample(1.7)[0], periodic.start)
    np.testing.assert_allclose(whole.sample(3.3), periodic.sample(1.3), atol=1e-12)
    assert_derivatives_fit(whole, np.linspace(0.1, 5.0, 300))


def test_nothing_jumps_between_members():
    with pytest.raises(TrajectoryError, match=r'jump of position by 0\.1'):
        Sequence(Hold(np.zeros(3), 1.0), Hold(np.full(3, 0.1)))
    with pytest.raises(TrajectoryError, match='jump of velocity'):
        Sequence(Hold([0.1, -0.2, 0.3], 1.0), series(ramp=0.0))
    with pytest.raises(TrajectoryError, match='is endless'):
        Sequence(Hold(np.zeros(3)), Hold(np.zeros(3)))
    with pytest.raises(DimensionError, match='joints'):
        Sequence(Hold(np.zeros(3), 1.0), Hold(np.zeros(2)))
    with pytest.raises(TrajectoryError, match='no member'):
        Sequence()


def test_through_poses_and_again():
    poses = [START, GOAL, START]
    once = through_poses(poses, velocity_limit=1.0, acceleration_limit=2.0, dwell=0.5)
    again = Repeat(once)
    assert math.isinf(again.duration)
    np.testing.assert_allclose(again.sample(0.7), again.sample(0.7 + 2.0 * once.duration),
                               atol=1e-9)
    twice = Repeat(once, 2)
    assert twice.duration == pytest.approx(2.0 * once.duration)
    np.testing.assert_allclose(twice.sample(1e6)[0], START, atol=1e-12)
    with pytest.raises(TrajectoryError, match='jump of position'):
        Repeat(PointToPoint(START, GOAL))
    with pytest.raises(TrajectoryError, match='at least two'):
        through_poses([START], velocity_limit=1.0, acceleration_limit=1.0)
