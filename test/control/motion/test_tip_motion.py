# SPDX-License-Identifier: Apache-2.0
"""Joint motions along paths of the tip: on the path, within bounds, or refused."""

import numpy as np
import pytest

from robot_dynamics.control.motion.references import Hold, PointToPoint, Repeat, Sequence
from robot_dynamics.control.motion.tip_motion import (
    Circle,
    JointBounds,
    Line,
    Reversed,
    TipMotion,
    TipTask,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import (
    ControlError,
    DimensionError,
    ModelError,
    ParameterError,
    TrajectoryError,
)
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

BENT = np.array([0.0, -0.3, 0.1, -2.2, 0.0, 2.0, 0.785])


class Arm:
    """A shipped robot, where its tip is, and what it may do."""

    def __init__(self, name, q):
        self.robot = Robot.from_urdf(resolve_robot(name))
        self.dynamics = Dynamics(self.robot)
        self.q = np.array(q)
        self.tip = list(self.robot.frames)[-1]
        self.start = self.dynamics.forward_kinematics(self.q, self.tip)[:3, 3]

    def plan(self, path, *, joint_speed=2.0, joint_acceleration=10.0, q=None, **task):
        return TipMotion(
            self.dynamics, self.q if q is None else q, TipTask(self.tip, path, **task),
            JointBounds.for_robot(self.robot, velocity=joint_speed,
                                  acceleration=joint_acceleration))


@pytest.fixture(scope='module')
def arm7():
    return Arm('arm7', BENT)

PATHS = {
    'line': lambda p: Line(p, [0.1, 0.1, -0.1]),
    'circle': lambda p: Circle(p, [0.0, 0.1, 0.0], [1.0, 0.0, 0.0]),
}


@pytest.mark.parametrize('kind', PATHS)
@pytest.mark.parametrize(('free', 'acceleration', 'velocity'),
                         [(False, 10.0, 2.0), (True, 3.0, 2.0), (True, 10.0, 0.7)])
def test_keeps_to_the_path_within_all_bounds(arm7, kind, free, acceleration, velocity):
    path = PATHS[kind](arm7.start)
    task = {'speed': 0.3, 'acceleration': 1.2, 'keeps_orientation': not free}
    motion = arm7.plan(path, joint_acceleration=acceleration, joint_speed=velocity, **task)
    times = np.linspace(0.0, motion.duration, 1501)
    q, v, a = motion.sample_many(times)
    # From rest to rest.
    np.testing.assert_array_equal(q[0], arm7.q)
    for end in (v[0], v[-1], a[-1]):
        np.testing.assert_allclose(end, 0.0, atol=1e-9)
    # Velocity and acceleration are those of the positions.
    np.testing.assert_allclose(np.gradient(q, times, axis=0)[1:-1], v[1:-1], atol=1e-4)
    # Within bounds, at the ends of steps and between them.
    assert np.abs(v).max() <= velocity * (1.0 + 1e-6)
    assert np.abs(a).max() <= acceleration * (1.0 + 2e-6)
    limits = arm7.robot.limits
    assert np.all((q >= limits.lower) & (q <= limits.upper))
    # On the path, and on time.
    pose = arm7.dynamics.forward_kinematics(q, arm7.tip)
    duration = TipTask(arm7.tip, path, **task).duration
    x = np.minimum(times / duration, 1.0)
    where = np.array([path.at(s)[0] for s in path.length * x**3 * (10 - 15 * x + 6 * x**2)])
    np.testing.assert_allclose(pose[:, :3, 3], where, atol=1e-5)
    if not free:
        np.testing.assert_allclose(pose[:, :3, :3],
                                   np.broadcast_to(pose[0, :3, :3], (1501, 3, 3)), atol=1e-5)
    assert np.linalg.norm(np.diff(pose[:, :3, 3], axis=0), axis=1).max() / times[1] <= 0.3001


def test_without_bounds_in_the_way_velocity_is_the_least(arm7):
    motion = arm7.plan(PATHS['line'](arm7.start), speed=0.2)
    for t in np.linspace(0.1, 0.9, 5) * motion.duration:
        q, v, _ = motion.sample(t)
        J = arm7.dynamics.jacobian(q, arm7.tip)
        np.testing.assert_allclose(v, np.linalg.pinv(J) @ (J @ v), atol=2e-5)


def test_other_arms():
    planar = Arm('planar_3r', [0.3, 0.8, 0.7])
    axes = planar.dynamics.jacobian(planar.q, planar.tip)[:3, 2]
    way = 0.1 * axes / np.linalg.norm(axes)
    for keeps in (True, False):
        motion = planar.plan(Line(planar.start, way), keeps_orientation=keeps)
        end = planar.dynamics.forward_kinematics(motion.sample(np.inf)[0], planar.tip)[:3, 3]
        np.testing.assert_allclose(end, planar.start + way, atol=1e-5)
    # Out of its plane no joint of it leads.
    normal = np.cross(axes, planar.dynamics.jacobian(planar.q, planar.tip)[:3, 0])
    with pytest.raises(TrajectoryError, match='too few joints'):
        planar.plan(Line(planar.start, 0.1 * normal / np.linalg.norm(normal)),
                    keeps_orientation=False)


@pytest.mark.slow
@pytest.mark.parametrize(('path', 'options', 'says'), [
    (lambda p: Line(p, [1.5, 0.0, 0.0]), {}, 'joint'),
    (PATHS['circle'], {'acceleration': 0.5, 'speed': 0.4}, r'\(acceleration\)'),
    (PATHS['circle'], {'velocity': 0.1, 'speed': 0.4}, r'\(speed\)'),
    (lambda p: Line(p, [0.0, 0.0, 0.3]), {'q': None, 'speed': 1e-4}, 'must take less than 600 s'),
    (lambda p: Line(p + 0.01, [0.1, 0.0, 0.0]), {}, 'must begin at the position'),
])
def test_what_cannot_be_done_is_refused_with_the_reason(arm7, path, options, says):
    bound = {name: options[name] for name in ('velocity', 'acceleration') if name in options}
    task = {name: options[name] for name in ('speed',) if name in options}
    with pytest.raises(TrajectoryError, match=says):
        TipMotion(arm7.dynamics, arm7.q, TipTask(arm7.tip, path(arm7.start), **task),
                  JointBounds.for_robot(arm7.robot, **{'velocity': 2.0, 'acceleration': 10.0,
                                                       **bound}))


def test_a_joint_does_not_pass_its_range(arm7):
    # The elbow may not stretch: what would need it to is refused, what does not, is not.
    limits = arm7.robot.limits
    upper = limits.upper.copy()
    upper[3] = BENT[3] + 0.05
    bounds = JointBounds(limits.lower, upper, 2.0, 10.0)
    with pytest.raises(TrajectoryError, match=r'joint4 \((range|acceleration)\)'):
        TipMotion(arm7.dynamics, arm7.q,
                  TipTask(arm7.tip, Line(arm7.start, [0.2, 0.0, 0.0])), bounds)
    TipMotion(arm7.dynamics, arm7.q, TipTask(arm7.tip, Line(arm7.start, [-0.05, 0.0, 0.0])),
              bounds)


@pytest.mark.parametrize('acceleration', [5.0, 500.0])
@pytest.mark.parametrize('joint', [0, 2, 4, 5])
def test_a_redundant_arm_goes_round_the_end_of_a_range(arm7, joint, acceleration):
    line = Line(arm7.start, [0.1, 0.2, -0.1])
    task = TipTask(arm7.tip, line, speed=0.5, acceleration=2.0, keeps_orientation=False)

    def plan(lower, upper):
        motion = TipMotion(arm7.dynamics, arm7.q, task,
                           JointBounds(lower, upper, 10.0, acceleration))
        return motion, motion.sample_many(np.linspace(0.0, motion.duration, 2001))[0]

    lower, upper = arm7.robot.limits.lower.copy(), arm7.robot.limits.upper.copy()
    way = plan(lower, upper)[1][:, joint] - arm7.q[joint]
    farthest = way[np.argmax(np.abs(way))]
    (upper if farthest > 0.0 else lower)[joint] = end = arm7.q[joint] + 0.6 * farthest
    motion, q = plan(lower, upper)
    assert np.all((q >= lower - 1e-12) & (q <= upper + 1e-12))
    # Not for want of going there.
    assert np.abs(q[:, joint] - end).min() < 0.05 * abs(farthest)
    tip = arm7.dynamics.forward_kinematics(motion.sample(np.inf)[0], arm7.tip)[:3, 3]
    np.testing.assert_allclose(tip, line.at(line.length)[0], atol=1e-5)


def test_there_and_back_closes_though_the_arm_is_redundant(arm7):
    there = arm7.plan(PATHS['circle'](arm7.start), speed=0.3, keeps_orientation=False)
    assert np.abs(there.sample(np.inf)[0] - arm7.q).max() > 1e-3
    closed = Repeat(Sequence(PointToPoint(arm7.q, arm7.q), there,
                             Hold(there.sample(np.inf)[0], 0.1), Reversed(there)))
    times = np.linspace(0.0, 2.0 * there.duration + 1.0, 4000)
    q, v, _ = closed.sample_many(times)
    np.testing.assert_allclose(np.gradient(q, times, axis=0)[1:-1], v[1:-1], atol=5e-3)
    with pytest.raises(TrajectoryError, match='is endless'):
        Reversed(closed)


def test_an_axis_may_have_any_length():
    wanted = Circle([0, 0, 0], [1, 0, 0], [0, 0, 1]).at(0.3)
    for size in (1e-300, 1e-3, 1e200):
        np.testing.assert_allclose(Circle([0, 0, 0], [1, 0, 0], [0, 0, size]).at(0.3), wanted)


@pytest.mark.parametrize('path', [Line([1.0, 2.0, 3.0], [0.3, 0.4, 0.0]),
                                  Circle([0.1, 0.2, 0.3], [0.0, 0.3, 0.4], [2.0, 0.0, 0.0], 2.0)])
def test_paths_are_measured_by_their_length(path):
    s = np.linspace(0.0, path.length, 20001)
    points, tangents, curvatures = (np.array(part) for part in
                                    zip(*(path.at(x) for x in s), strict=True))
    np.testing.assert_allclose(np.gradient(points, s, axis=0)[1:-1], tangents[1:-1], atol=1e-7)
    np.testing.assert_allclose(np.gradient(tangents, s, axis=0)[1:-1], curvatures[1:-1],
                               atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(tangents, axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(curvatures, axis=1), path.curvature, atol=1e-12)


@pytest.mark.parametrize(('call', 'error', 'says'), [
    (lambda: Line([0, 0, 0], [0, 0, 0]), TrajectoryError, 'displacement'),
    (lambda: Line([0, 0, np.nan], [1, 0, 0]), ControlError, 'start of the line'),
    (lambda: Line([0, 0, 0], [1, 0]), DimensionError, 'displacement'),
    (lambda: Circle([0, 0, 0], [0, 0, 0], [1, 0, 0]), TrajectoryError, 'centre'),
    (lambda: Circle([0, 0, 0], [1, 0, 0], [0, 0, 0]), TrajectoryError, 'normal'),
    (lambda: Circle([0, 0, 0], [1, 0, 0], [1, 1, 0]), TrajectoryError, 'perpendicular'),
    (lambda: Circle([0, 0, 0], [1, 0, 0], [0, 1, 0], 0), ParameterError, 'turns'),
    (lambda: Circle([0, 0, 0], [1, 0, 0], [0, 1, 0], 1e7), TrajectoryError, 'turns'),
    (lambda: Circle([0, 0, 0], [1e9, 0, 0], [0, 1, 0]), TrajectoryError, 'centre'),
    (lambda: Circle([0, 0, 0], [1, 0, 0], [1e200, 0, 0]), TrajectoryError, 'perpendicular'),
    (lambda: Line([0, 0, 0], [1e200, 1e200, 0]), TrajectoryError, 'displacement'),
    (lambda: JointBounds([0.0], [1.0], [0.0], 1.0), ControlError, 'velocity limits'),
    (lambda: JointBounds([0.0], [-1.0], 1.0, 1.0), ControlError, 'upper limits'),
    (lambda: JointBounds([0.0, 0.0], [1.0], 1.0, 1.0), DimensionError, 'upper limits'),
    (lambda: JointBounds([np.nan], [1.0], 1.0, 1.0), ControlError, 'lower limits'),
])
def test_wrong_inputs_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_wrong_tasks_are_named(arm7):
    line = PATHS['line'](arm7.start)
    with pytest.raises(ParameterError, match='speed'):
        arm7.plan(line, speed=0.0)
    with pytest.raises(ParameterError, match='acceleration'):
        TipTask(arm7.tip, line, acceleration=np.nan).duration  # noqa: B018
    with pytest.raises(DimensionError, match='start'):
        arm7.plan(line, q=BENT[:6])
    with pytest.raises(ControlError, match='start'):
        arm7.plan(line, q=np.full(7, np.inf))
    with pytest.raises(ModelError, match='hnad'):
        TipMotion(arm7.dynamics, BENT, TipTask('hnad', line), JointBounds.for_robot(arm7.robot))
    with pytest.raises(DimensionError, match='bounds'):
        TipMotion(arm7.dynamics, BENT, TipTask(arm7.tip, line),
                  JointBounds([-1.0], [1.0], 1.0, 1.0))


@pytest.mark.parametrize('seed', range(20))
def test_whatever_is_done_within_the_bounds_the_limits_are_kept(seed):
    generator = np.random.default_rng(seed)
    n, step = 100, 10.0 ** generator.uniform(-4.0, -1.5)
    acceleration = 10.0 ** generator.uniform(-1.0, 3.0, n)
    velocity = np.where(generator.random(n) < 0.2, np.inf, 10.0 ** generator.uniform(-1.0, 1.0, n))
    lower = -(10.0 ** generator.uniform(-1.0, 1.0, n))
    upper = np.where(generator.random(n) < 0.2, np.inf, 10.0 ** generator.uniform(-1.0, 1.0, n))
    bounds = JointBounds(lower, upper, velocity, acceleration)
    q, v = np.zeros(n), np.zeros(n)
    kind, sign = generator.integers(0, 3, n), generator.choice([-1.0, 1.0], n)
    for _ in range(2000):
        least, most = bounds.accelerations(q, v, step)
        assert np.all(least <= most)
        sign = np.where(generator.random(n) < 0.01, -sign, sign)
        u = np.select([kind == 0, kind == 1],
                      [np.where(sign > 0.0, most, least), generator.uniform(least, most)],
                      np.clip(0.3 * sign * acceleration, least, most))
        turn = np.clip(np.divide(-v, u, out=np.zeros(n), where=u != 0.0), 0.0, step)
        for t in (turn, step):
            position = q + t * v + 0.5 * t**2 * u
            assert np.all((position >= lower - 1e-9) & (position <= upper + 1e-9))
        q, v = position, v + step * u
        assert np.all(np.abs(v) <= velocity * (1.0 + 1e-9))
        assert np.all(np.abs(u) <= acceleration)


def test_a_joint_is_held_by_what_is_in_its_way():
    bounds = JointBounds([-1.0, -np.inf], [1.0, np.inf], 2.0, 10.0)
    least, most = bounds.accelerations(np.zeros(2), np.zeros(2), 0.001)
    np.testing.assert_array_equal([least, most], [[-10.0] * 2, [10.0] * 2])
    # On the way to its limit from which 8 rad/s^2 just bring it to rest, it has to use them.
    q, v = np.array([0.75, 0.75]), np.array([2.0, 2.0])
    np.testing.assert_allclose(bounds.accelerations(q, v, 0.001)[1], [-8.0, 0.0])
    assert bounds.tightest(0, q, v, 0.001) == 'range'
    assert bounds.tightest(1, q, v, 0.001) == 'speed'
    # At its limit, and beyond: it goes no farther, and may come back.
    for q in (1.0, 1.1):
        least, most = bounds.accelerations(np.array([q, 0.0]), np.zeros(2), 0.001)
        assert (least[0], most[0]) == (-10.0, 0.0)


def test_without_a_limit_of_acceleration_the_range_is_reached_and_not_passed():
    bounds, q, v = JointBounds([0.0], [1.0], np.inf, np.inf), np.zeros(1), np.zeros(1)
    for _ in range(1000):
        u = bounds.accelerations(q, v, 0.01)[1]
        q, v = q + 0.01 * v + 0.5 * 0.01**2 * u, v + 0.01 * u
        assert 0.0 <= q[0] <= 1.0
    assert q[0] == pytest.approx(1.0, abs=1e-6)
