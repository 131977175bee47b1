# SPDX-License-Identifier: Apache-2.0
import json
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.control.motion.references import FourierSeries, PointToPoint
from robot_dynamics.control.motion.trajectory import Progress, TrajectoryBuffer
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint, sample_points
from robot_dynamics.errors import (
    JointNamesError,
    ParameterError,
    StateError,
    TrajectoryError,
)
from robot_dynamics.model.robot_data import JointLimits

JOINTS = ('shoulder', 'elbow', 'wrist')
LIMITS = JointLimits(np.full(3, -3.0), np.full(3, 3.0), np.full(3, 2.0), np.full(3, 10.0))
NOW = 1000.0
ZERO = np.zeros(3)


def buffer_at(q=ZERO, **options):
    buffer = TrajectoryBuffer(JOINTS, LIMITS, **options)
    buffer.anchor(np.array(q))
    return buffer


def point(t, q, v=(), a=()):
    return TrajectoryPoint(t, q, v, a)


def accept(buffer, *points, stamp=None, now=NOW, names=JOINTS):
    return buffer.accept(names, points, stamp=stamp, now=now)


def assert_smooth(buffer, start, end, acceleration=50.0, accelerations_too=True):
    """Sample densely: v and a are the derivatives of q and v, so neither can have jumped."""
    h = 1e-4
    samples = [buffer.sample(t) for t in np.arange(start, end, h)]
    q, v, a = (np.array(column) for column in zip(*samples, strict=True))
    np.testing.assert_allclose(np.diff(q, axis=0), 0.5 * h * (v[1:] + v[:-1]),
                               atol=h * h * acceleration)
    assert np.abs(np.diff(v, axis=0)).max() <= h * acceleration
    if accelerations_too:
        np.testing.assert_allclose(np.diff(v, axis=0), 0.5 * h * (a[1:] + a[:-1]), atol=2e-6)
    return q, v, a


def read_message(message):
    """Return names and points of a message of the case, a single point one second ahead."""
    def numbers(values):
        return [math.nan if value is None else float(value) for value in values]

    points = message.get('points') or [{'t': 1.0, **message}]
    return message['joint_names'], [
        point(p['t'], numbers(p['positions']), numbers(p.get('velocities', []))) for p in points]


@pytest.fixture(scope='module')
def bad_references(cases):
    folder = cases / 'loop_bad_reference'
    return (json.loads((folder / 'references.json').read_text()),
            json.loads((folder / 'expected.json').read_text())['numbers'])


@pytest.mark.slow
def test_names_by_the_ten_thousand_do_not_hold_a_controller_up(within):
    def refused(names):
        with pytest.raises(TrajectoryError, match=r'is (unknown|named twice)') as caught:
            accept(buffer_at(), point(1.0, [0.0] * len(JOINTS)), names=names)
        return caught

    names = [f'j{k}' for k in range(100_000)]
    for wrong in (names, [*JOINTS, *names], names * 2, list(JOINTS) * 20_000, ['', ' ']):
        caught = within(0.5, partial(refused, wrong))
        assert caught.value.subject
        assert len(str(caught.value)) < 1000


def test_reported_faults_are_refused_as_a_whole(bad_references):
    references, expected = bad_references
    reasons = {'nan': 'elbow .*nan',
               'inf velocity': 'shoulder must have finite .*velocities, got inf',
               'wrong length': 'positions has 2 values for 3 joints',
               'unknown joint': 'wrist_x is unknown',
               'duplicate joint': 'shoulder is named twice',
               'beyond limit': 'shoulder .*3.5 outside',
               'times not increasing': r'points\[1\].time_from_start must be later than the point '
                                       'before, got 0.5 after 0.5'}
    buffer = buffer_at()
    accept(buffer, point(2.0, [0.3, 0.3, 0.3]))
    before = [buffer.sample(NOW + t) for t in np.linspace(0.0, 3.0, 50)]
    accepted = []
    for reference in references:
        names, points = read_message(reference['msg'])
        if reference['name'] in reasons:
            with pytest.raises(TrajectoryError, match=reasons[reference['name']]):
                buffer.accept(names, points, stamp=None, now=NOW + 0.5)
            after = [buffer.sample(NOW + t) for t in np.linspace(0.0, 3.0, 50)]
            np.testing.assert_array_equal(before, after)
            continue
        buffer.accept(names, points, stamp=None, now=NOW + 0.5)
        accepted.append(reference['name'])
    assert accepted == expected['accept']
    np.testing.assert_allclose(buffer.sample(NOW + 2.0)[0], expected['reordered'], atol=1e-12)


@pytest.mark.parametrize(('points', 'reason'), [
    ([], 'has no point'),
    ([point(1.0, [])], 'has no positions'),
    ([point(-0.1, ZERO)], r'points\[0\]'),
    ([point(math.nan, ZERO)], r'points\[0\]'),
    ([point(1.0, ZERO), point(math.nan, ZERO)], r'points\[1\]'),
    ([point(1.0, ZERO), point(math.inf, ZERO)], r'points\[1\]'),
    ([point(1.0, ZERO, ZERO), point(2.0, ZERO)], r'points\[1\].velocities'),
    ([point(1.0, ZERO, (), ZERO)], 'accelerations without velocities'),
    ([point(1.0, ZERO, ZERO, [0.0, 0.0, math.nan])], 'wrist'),
    ([point(1.5, [2.9, 0.0, 0.0])], 'shoulder has speed'),
    ([point(0.1, [0.1, 0.0, 0.0])], 'shoulder has acceleration'),
    ([point(1.0, ZERO, [3.0, 0.0, 0.0])], r'shoulder has points\[0\].velocities 3'),
    ([point(1.0, ZERO, ZERO, [0.0, -60.0, 0.0])], r'elbow has points\[0\].accelerations -60'),
    ([point(1.0, [0.0, 0.0, 1e308])], 'wrist has '),
    ([point(1e6, ZERO)], 'parts'),
    ([point(0.0, [0.5, 0.0, 0.0]), point(1.0, ZERO)], 'shoulder .*away from'),
    ([point(2.5, [0.0, 2.9, 0.0], [0.0, 1.9, 0.0])], 'elbow has position'),
    # Fast for less than an eighth of its time.
    ([point(1.186, [0.4, 0.0, 0.0], [-1.981, 0.0, 0.0], [6.8, 0.0, 0.0])],
     r'shoulder has speed -2\.19. beyond 2, 1\.1'),
])
def test_what_else_is_refused(points, reason):
    buffer = buffer_at()
    with pytest.raises(TrajectoryError, match=reason):
        accept(buffer, *points)
    np.testing.assert_array_equal(buffer.sample(NOW + 1.0), np.zeros((3, 3)))
    assert buffer.progress is Progress.RESTING


def test_a_limit_may_be_used_wholly():
    for move in (PointToPoint(ZERO, [1.0, 0.2, -1.5], velocity_limit=2.0),
                 PointToPoint(ZERO, [0.02, -0.01, 0.0], acceleration_limit=50.0, duration=1e-3)):
        buffer = buffer_at()
        accept(buffer, point(move.duration, move.sample(np.inf)[0]))
        np.testing.assert_array_equal(buffer.sample(NOW + 5.0)[0], move.sample(np.inf)[0])


def test_missing_joints_are_named():
    with pytest.raises(TrajectoryError, match='wrist is missing'):
        accept(buffer_at(), point(1.0, [0.0, 0.0]), names=('shoulder', 'elbow'))


def test_too_many_points():
    with pytest.raises(TrajectoryError, match='at most 3'):
        accept(buffer_at(max_points=3), *(point(1.0 + k, ZERO) for k in range(4)))


def test_without_a_pose_there_is_nothing_to_start_from():
    buffer = TrajectoryBuffer(JOINTS, LIMITS)
    with pytest.raises(StateError, match='no start pose'):
        accept(buffer, point(1.0, ZERO))
    with pytest.raises(StateError, match='no start pose'):
        buffer.sample(NOW)


def test_settings_are_checked():
    with pytest.raises(ParameterError, match='start_tolerance'):
        buffer_at(start_tolerance=math.nan)


def test_full_points_are_joined_by_quintics():
    coefficients = np.array([[0.0] * 3, [0.0] * 3, [0.0] * 3, [0.5, -0.3, 0.2],
                             [-0.1, 0.2, 0.1], [0.02, -0.05, -0.03]])
    powers = np.arange(6)

    def motion(t):
        return (t**powers @ coefficients,
                (powers * t**np.maximum(powers - 1, 0)) @ coefficients,
                (powers * (powers - 1) * t**np.maximum(powers - 2, 0)) @ coefficients)

    buffer = buffer_at()
    accept(buffer, *(point(t, *motion(t)) for t in (0.0, 0.4, 1.0)))
    for t in np.linspace(0.0, 1.0, 23):
        for x, y in zip(buffer.sample(NOW + t), motion(t), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-9)


def test_points_without_accelerations_are_joined_by_cubics():
    def motion(t):
        return np.array([0.3 * t**2 - 0.1 * t**3] * 3), np.array([0.6 * t - 0.3 * t**2] * 3)

    buffer = buffer_at()
    accept(buffer, *(point(t, *motion(t)) for t in (0.0, 0.7, 1.0)))
    # The first acceleration jumps from rest, so the trajectory is blended in.
    for t in np.linspace(0.3, 1.0, 15):
        np.testing.assert_allclose(buffer.sample(NOW + t)[0], motion(t)[0], atol=1e-9)
        np.testing.assert_allclose(buffer.sample(NOW + t)[1], motion(t)[1], atol=1e-9)


def test_positions_alone_make_a_smooth_motion_that_ends_at_rest():
    buffer = buffer_at()
    poses = ([0.2, -0.1, 0.3], [0.5, 0.2, 0.1], [0.4, 0.4, -0.2])
    accept(buffer, *(point(0.5 + 0.5 * k, pose) for k, pose in enumerate(poses)))
    for k, pose in enumerate(poses):
        np.testing.assert_allclose(buffer.sample(NOW + 0.5 + 0.5 * k)[0], pose, atol=1e-9)
    _, v, a = assert_smooth(buffer, NOW - 0.1, NOW + 2.0)
    np.testing.assert_array_equal(v[-1], ZERO)
    np.testing.assert_array_equal(a[-1], ZERO)
    # The spline does not stop at the points between.
    assert np.abs(buffer.sample(NOW + 1.0)[1]).max() > 0.1
    assert buffer.progress is Progress.MOVING
    buffer.sample(NOW + 1.6)
    assert buffer.progress is Progress.RESTING


def test_a_single_pose_is_reached_from_where_the_motion_is():
    buffer = buffer_at()
    accept(buffer, point(1.0, [0.5, 0.5, 0.5]))
    accept(buffer, point(1.0, [0.2, 0.2, 0.2]), now=NOW + 0.5)
    assert_smooth(buffer, NOW, NOW + 2.0)
    np.testing.assert_allclose(buffer.sample(NOW + 1.5), [[0.2] * 3, ZERO, ZERO], atol=1e-12)


def test_a_stamp_in_the_future_lets_the_motion_go_on_until_then():
    buffer = buffer_at()
    accept(buffer, point(1.0, [0.4, 0.0, 0.0]), point(2.0, [0.8, 0.0, 0.0]))
    undisturbed = [buffer.sample(NOW + t)[0] for t in (0.3, 0.9, 1.2)]
    assert accept(buffer, point(1.0, [0.2, 0.0, 0.0]), stamp=NOW + 1.2, now=NOW + 0.1) \
        == NOW + 1.2
    np.testing.assert_allclose([buffer.sample(NOW + t)[0] for t in (0.3, 0.9, 1.2)], undisturbed,
                               atol=1e-12)
    assert_smooth(buffer, NOW, NOW + 3.0)
    np.testing.assert_allclose(buffer.sample(NOW + 2.2)[0], [0.2, 0.0, 0.0], atol=1e-12)


def test_what_is_over_or_far_ahead_is_refused():
    buffer = buffer_at()
    with pytest.raises(TrajectoryError, match=r'ended 0\.500 s ago'):
        accept(buffer, point(0.5, [0.1, 0.0, 0.0]), stamp=NOW - 1.0)
    for stamp in (math.inf, -math.inf, math.nan, NOW + 601.0):
        with pytest.raises(TrajectoryError):
            accept(buffer, point(0.5, ZERO), stamp=stamp)


def test_a_stream_of_overlapping_chunks_is_one_motion():
    generator = np.random.default_rng(3)
    reference = FourierSeries(ZERO, 0.2 * generator.standard_normal((3, 5)),
                              0.2 * generator.standard_normal((3, 5)))
    buffer = buffer_at()
    worst = np.zeros(3)
    for cycle in range(2000):
        now = NOW + 0.004 * cycle
        # Chunks of half a second, ten a second, each fifth one lost, none of them on time.
        if cycle % 25 == 0 and cycle % 125 != 50:
            begin = max(now - NOW - 0.01, 0.0)
            buffer.accept(JOINTS, sample_points(reference, begin, 0.5, 0.02),
                          stamp=NOW + begin, now=now)
        sampled = buffer.sample(now)
        assert buffer.progress is Progress.MOVING
        worst = np.maximum(worst, [np.abs(x - y).max() for x, y in
                                   zip(sampled, reference.sample(now - NOW), strict=True)])
    assert (worst < [1e-8, 1e-7, 1e-4]).all()
    assert buffer._pieces.begins.size < 100


def test_a_stream_that_dries_up_ends_in_a_smooth_stop():
    buffer = buffer_at(stop_acceleration=4.0)
    move = PointToPoint(ZERO, [1.0, 0.5, -1.0], duration=2.0)
    buffer.accept(JOINTS, sample_points(move, 0.0, 1.0, 0.05), stamp=None, now=NOW)
    q, v, a = assert_smooth(buffer, NOW + 0.9, NOW + 1.8)
    buffer.sample(NOW + 0.99)
    assert buffer.progress is Progress.MOVING
    buffer.sample(NOW + 1.1)
    assert buffer.progress is Progress.STARVED
    np.testing.assert_array_equal(v[-1], ZERO)
    assert np.abs(a).max() <= 4.0
    buffer.sample(NOW + 60.0)
    assert buffer.progress is Progress.STARVED
    # The stream may come back where it stopped.
    accept(buffer, point(1.0, q[-1] + 0.1), now=NOW + 60.0)
    buffer.sample(NOW + 60.5)
    assert buffer.progress is Progress.MOVING


def test_a_trajectory_that_differs_a_little_is_blended_in():
    buffer = buffer_at()
    move = PointToPoint([0.05, -0.03, 0.0], [0.8, 0.3, 0.1], duration=2.0)
    buffer.accept(JOINTS, sample_points(move, 0.0, 2.0, 0.02), stamp=None, now=NOW)
    _, _, a = assert_smooth(buffer, NOW - 0.1, NOW + 2.1)
    # Acceleration of the move and of the blend, which is bounded by 5 rad/s^2.
    assert np.abs(a).max() < 10.0 / math.sqrt(3.0) * 0.75 / 4.0 + 5.0
    for t in (0.5, 1.0, 2.0):
        np.testing.assert_allclose(buffer.sample(NOW + t)[0], move.sample(t)[0], atol=1e-6)


@pytest.mark.slow
def test_a_trajectory_may_start_where_a_sagging_arm_really_is():
    sagged = np.array([-0.2, 0.0, 0.0])
    move = sample_points(PointToPoint(sagged, [0.4, 0.0, 0.0], duration=2.0), 0.0, 2.0, 0.02)
    buffer = buffer_at()
    with pytest.raises(TrajectoryError, match=r'0\.200 rad away'):
        buffer.accept(JOINTS, move, stamp=None, now=NOW)
    buffer.accept(JOINTS, move, stamp=None, now=NOW, measured=sagged)
    assert_smooth(buffer, NOW - 0.1, NOW + 2.1)
    # On neither side beyond.
    with pytest.raises(TrajectoryError, match=r'0\.150 rad away'):
        buffer_at().accept(JOINTS, [point(0.0, [0.15, 0.0, 0.0]), point(1.0, ZERO)], stamp=None,
                           now=NOW, measured=sagged)


@pytest.mark.parametrize('period', [0.002, 0.01, 0.05])
@pytest.mark.parametrize(('with_acceleration', 'tolerance'), [(True, 1e-4), (False, 3e-3)])
def test_one_streamed_set_point_after_the_other(period, with_acceleration, tolerance):
    def motion(t):
        return 0.3 * (1.0 - math.cos(2.0 * t)), 0.6 * math.sin(2.0 * t), 1.2 * math.cos(2.0 * t)

    buffer = buffer_at()
    for k in range(int(3.0 / period)):
        t = k * period
        q, v, a = ([x, 0.0, 0.0] for x in motion(t))
        accept(buffer, point(0.0, q, v, a if with_acceleration else ()), now=NOW + t)
        if t < 0.5:
            continue  # The first set-point comes by innovation.
        between = t + 0.7 * period
        assert buffer.sample(NOW + between)[0][0] == pytest.approx(motion(between)[0],
                                                                   abs=tolerance)
        assert buffer.progress is not Progress.STARVED


def test_a_stream_may_end_at_full_speed_while_it_still_accelerates():
    buffer = buffer_at()
    accept(buffer, point(1.9, [1.7, 0.0, 0.0], [1.99, 0.0, 0.0], [1.0, 0.0, 0.0]))
    _, v, _ = assert_smooth(buffer, NOW + 1.5, NOW + 2.8, accelerations_too=False)
    assert v[:, 0].max() <= 2.0 + 1e-5
    np.testing.assert_array_equal(v[-1], ZERO)


def test_an_arm_beyond_its_limit_may_come_back_but_not_go_on():
    buffer = buffer_at([3.02, 0.0, 0.0])
    with pytest.raises(TrajectoryError, match='shoulder'):
        accept(buffer, point(1.0, [3.1, 0.0, 0.0]))
    accept(buffer, point(0.0, [3.02, 0.0, 0.0]), point(1.0, [2.9, 0.0, 0.0]))
    assert_smooth(buffer, NOW, NOW + 1.0)


def test_a_joint_that_turns_without_end_is_taken_at_its_turn():
    limits = JointLimits(np.array([-3.0, -3.0, -np.inf]), np.array([3.0, 3.0, np.inf]),
                         LIMITS.velocity, LIMITS.effort)
    turns = 6.0 * math.pi
    for points in ([point(1.0, [0.0, 0.0, 0.3])],
                   [point(0.0, [0.0, 0.0, 0.0]), point(1.0, [0.0, 0.0, 0.3])]):
        buffer = TrajectoryBuffer(JOINTS, limits, continuous=[False, False, True])
        buffer.anchor(np.array([0.0, 0.0, turns + 0.02]))
        accept(buffer, *points)
        np.testing.assert_allclose(buffer.sample(NOW + 1.0)[0], [0.0, 0.0, turns + 0.3],
                                   atol=1e-9)
        q, _, _ = assert_smooth(buffer, NOW, NOW + 1.1)
        assert q[:, 2].min() > turns


def test_anchor_drops_everything():
    buffer = buffer_at()
    accept(buffer, point(1.0, [0.4, 0.0, 0.0]))
    buffer.anchor(np.array([0.1, 0.2, 0.3]))
    np.testing.assert_array_equal(buffer.sample(NOW + 0.5), [[0.1, 0.2, 0.3], ZERO, ZERO])


angles = st.floats(-3.2, 3.2)
rates = st.floats(-2.5, 2.5)


@st.composite
def trajectories(draw):
    """Trajectories of which many are just inside or outside what is allowed."""
    times = np.cumsum(draw(st.lists(st.floats(0.05, 1.5), min_size=1, max_size=4)))
    kind = draw(st.integers(0, 2))
    points = []
    for t in times - draw(st.sampled_from([0.0, float(times[0])])):
        values = [draw(st.lists(element, min_size=3, max_size=3))
                  for element in (angles, rates, rates)[:kind + 1]]
        points.append(point(float(t), *values))
    return points, draw(st.floats(0.0, 1.0)), draw(st.sampled_from([None, -0.2, 0.3]))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(trajectories(), min_size=1, max_size=6))
def test_whatever_is_accepted_the_motion_is_continuous_and_within_limits(messages):
    buffer = buffer_at()
    now, h = NOW, 0.002
    q = ZERO
    v = ZERO
    for points, wait, delay in messages:
        try:
            accept(buffer, *points, now=now, stamp=None if delay is None else now + delay)
        except TrajectoryError:
            pass
        for _ in range(int(wait / h)):
            now += h
            q_before, v_before = q, v
            q, v, a = buffer.sample(now)
            assert (np.abs(q) <= 3.0 + 2e-6).all()
            assert (np.abs(v) <= 2.0 * (1.0 + 2e-6)).all()
            assert (np.abs(a) <= 50.0 * (1.0 + 2e-6)).all()
            assert (np.abs(q - q_before) <= 2.0 * h + 1e-6).all()
            assert (np.abs(v - v_before) <= 51.0 * h).all()


def test_many_samples_of_what_is_to_come_change_nothing():
    buffer = buffer_at()
    accept(buffer, point(1.0, [0.5, -0.5, 0.2], ZERO, ZERO), point(2.0, ZERO, ZERO, ZERO))
    times = NOW + np.linspace(0.0, 3.0, 50)
    buffer.sample(NOW + 0.5)
    many = buffer.sample_many(times)
    assert buffer.progress is Progress.MOVING
    for k, t in enumerate(times):
        for found, wanted in zip(many, buffer.sample(t), strict=True):
            np.testing.assert_array_equal(found[k], wanted)
    assert all(len(part) == 0 for part in buffer.sample_many([]))
    with pytest.raises(StateError):
        TrajectoryBuffer(JOINTS, LIMITS).sample_many(times)


# Stops on the path, as for a cancelled goal, and trajectories of some joints.

def curved(count=40, duration=2.0):
    """Points of a curved move from zero, at rest at both ends."""
    t = np.linspace(0.0, duration, count)
    x = t / duration
    s = 10 * x**3 - 15 * x**4 + 6 * x**5
    v = (30 * x**2 - 60 * x**3 + 30 * x**4) / duration
    a = (60 * x - 180 * x**2 + 120 * x**3) / duration**2
    return [point(t[k], [s[k], s[k]**2, -0.5 * s[k]], [v[k], 2 * s[k] * v[k], -0.5 * v[k]],
                  [a[k], 2 * (v[k]**2 + s[k] * a[k]), -0.5 * a[k]]) for k in range(count)]


@pytest.mark.parametrize('moment', [0.02, 0.4, 1.0, 1.7])
def test_a_stop_stays_on_the_path(moment):
    buffer = buffer_at()
    accept(buffer, *curved())
    q, v, a = buffer.sample(NOW + moment)
    end = buffer.stop(NOW + moment, 5.0)
    assert buffer.end == pytest.approx(end)
    found = buffer.sample(NOW + moment)
    np.testing.assert_allclose(found[0], q, atol=1e-12)
    np.testing.assert_allclose(found[1], v, atol=1e-12)
    np.testing.assert_allclose(found[2], a, atol=1e-6)
    path, speeds, _ = assert_smooth(buffer, NOW + moment, end + 0.1)
    np.testing.assert_allclose(path[:, 1], path[:, 0]**2, atol=1e-5)
    np.testing.assert_allclose(path[:, 2], -0.5 * path[:, 0], atol=1e-12)
    assert np.all(np.diff(path[:, 0]) >= -1e-12) and not speeds[-1].any()
    # 3/2 of the speed over its deceleration, or the shortest stop.
    assert end - NOW - moment == pytest.approx(max(0.05, 1.5 * np.abs(v).max() / 5.0))
    slowing = buffer.sample_many(np.linspace(NOW + moment, end, 200))[2] - np.abs(a)
    assert -slowing.min() < 5.0 + 0.75 * 7.0


def test_a_stop_drops_what_was_to_come():
    buffer = buffer_at()
    accept(buffer, *curved(), stamp=NOW + 1.0)
    buffer.stop(NOW, 10.0)
    assert not buffer.sample(NOW + 3.0)[0].any() and buffer.progress is Progress.RESTING
    # And a slow one has the same path with fewer points a second.
    accept(buffer, *curved())
    end = buffer.stop(NOW + 1.0, [0.2, 0.2, 10.0])
    path = buffer.sample_many(np.linspace(NOW + 1.0, end, 1000))[0]
    np.testing.assert_allclose(path[:, 1], path[:, 0]**2, atol=1e-4)
    assert path[-1, 0] <= 1.0 + 1e-9


def test_joints_that_are_not_named_rest():
    buffer = buffer_at([0.1, 0.2, 0.3])
    with pytest.raises(JointNamesError, match='is missing'):
        accept(buffer, point(1.0, [0.5]), names=('wrist',))
    buffer.accept(('wrist',), [point(1.0, [0.5], [0.0], [0.0])], stamp=None, now=NOW,
                  partial=True)
    np.testing.assert_allclose(buffer.sample(NOW + 2.0)[0], [0.1, 0.2, 0.5], atol=1e-12)
    with pytest.raises(JointNamesError, match='is unknown'):
        buffer.accept(('wrist', 'knee'), [point(1.0, [0.5, 0.0])], stamp=None, now=NOW,
                      partial=True)


def test_joints_that_are_not_named_come_to_rest_ahead():
    buffer = buffer_at()
    accept(buffer, *curved())
    q, v, _ = buffer.sample(NOW + 1.0)
    buffer.accept(('wrist',), [point(1.0, [0.0], [0.0])], stamp=None, now=NOW + 1.0, partial=True)
    path, _, _ = assert_smooth(buffer, NOW + 1.0, NOW + 2.5)
    np.testing.assert_allclose(path[-1, :2], (q + v**2 / 20.0)[:2], atol=1e-9)
    assert np.all(np.abs(path[:, 0] - q[0]) < 0.2)


@pytest.mark.parametrize('fields', [1, 2, 3])
@pytest.mark.parametrize('acceleration', [3.0, 8.0])
def test_a_time_parameterisation_at_full_speed_is_followed(fields, acceleration):
    """Trapezoids of the speed, sampled every 0.1 s as MoveIt does, at the limit of 2 rad/s."""
    for way in np.linspace(1.5, 2.9, 15):
        rise = 2.0 / acceleration
        duration = rise + way / 2.0
        points = []
        for t in (*np.arange(0.0, duration, 0.1), duration):
            s, v, a = ((0.5 * acceleration * t**2, acceleration * t, acceleration) if t < rise else
                       (2.0 * (t - 0.5 * rise), 2.0, 0.0))
            left = duration - t
            if left < rise:
                s, v, a = way - 0.5 * acceleration * left**2, acceleration * left, -acceleration
            points.append(point(t, *([x, 0.0, 0.0] for x in (s, v, a)[:fields])))
        buffer = buffer_at()
        accept(buffer, *points)
        speed = buffer.sample_many(np.linspace(NOW, NOW + duration, 2000))[1].max()
        # Its points keep the limit; between them the polynomials exceed it a little.
        assert 2.0 <= speed < 2.06
    with pytest.raises(TrajectoryError, match=r'velocities 2\.01 outside'):
        accept(buffer_at(), point(1.0, ZERO, [2.01, 0.0, 0.0]))
