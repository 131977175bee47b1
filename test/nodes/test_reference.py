# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import numpy as np
import pytest
import yaml
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.errors import ParameterError, RobotDynamicsError, TrajectoryError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.reference import (
    MOTION_PARAMETERS,
    FileMotion,
    make_motion,
)
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import to_nanoseconds

POSE = np.array([0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2])
CONTROLLER = 'adaptive_controller'


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('arm7'))


def values(**changes):
    return {**{row.name: row.default for row in MOTION_PARAMETERS}, **changes}


def check_limits(robot, motion, seconds, speed, acceleration):
    times = np.arange(0.0, seconds, 0.01)
    q, v, a = motion.sample_many(times)
    assert np.all(q >= robot.limits.lower - 1e-9) and np.all(q <= robot.limits.upper + 1e-9)
    assert np.abs(v).max() <= speed + 1e-6
    assert np.abs(a).max() <= acceleration + 1e-6
    # The derivatives belong to the positions.
    np.testing.assert_allclose(np.gradient(q, 0.01, axis=0)[1:-1], v[1:-1], atol=5e-3)
    return q


@pytest.mark.parametrize('trajectory', ['fourier', 'quintic'])
@pytest.mark.parametrize('seed', [0, 1])
def test_motions_start_at_the_arm_and_keep_limits(robot, trajectory, seed):
    motion = make_motion(robot, values(trajectory=trajectory, seed=seed), POSE)
    q = check_limits(robot, motion, 30.0, 0.9, 3.0)
    np.testing.assert_allclose(q[0], POSE)
    np.testing.assert_array_equal(motion.sample(0.0)[1], 0.0)
    assert np.ptp(q, axis=0).min() > 0.05
    other = make_motion(robot, values(trajectory=trajectory, seed=seed + 7), POSE)
    assert not np.allclose(other.sample(10.0)[0], motion.sample(10.0)[0])


def test_poses_are_visited_and_repeated_unless_told_not_to(robot):
    poses = [POSE + 0.2, POSE - 0.2]
    flat = tuple(np.concatenate(poses).tolist())
    once = make_motion(robot, values(trajectory='quintic', poses=flat, repeat=False), POSE)
    np.testing.assert_allclose(once.sample(once.duration)[0], poses[-1])
    q = once.sample_many(np.arange(0.0, once.duration, 0.01))[0]
    for pose in poses:
        assert np.abs(q - pose).max(axis=1).min() < 1e-3
    again = make_motion(robot, values(trajectory='quintic', poses=flat), POSE)
    assert again.duration == np.inf
    q = again.sample_many(np.arange(once.duration, 3.0 * once.duration, 0.01))[0]
    for pose in poses:
        assert np.abs(q - pose).max(axis=1).min() < 1e-3


def test_poses_of_the_wrong_length_are_refused(robot):
    with pytest.raises(ParameterError, match='multiple of 7'):
        make_motion(robot, values(trajectory='quintic', poses=(1.0, 2.0)), POSE)


def test_poses_beyond_the_limits_are_refused(robot):
    pose = POSE.copy()
    pose[3] = 1.0
    with pytest.raises(ParameterError,
                       match='within the limits of joint4, got 1 in pose 1') as caught:
        make_motion(robot, values(trajectory='quintic', poses=(*POSE, *pose)), POSE)
    assert '-3.0718 and -0.0698' in caught.value.remedy


def write_trajectory(path, robot, points, names=None):
    path.write_text(yaml.safe_dump({'joint_names': list(names or robot.joint_names),
                                    'points': points}))
    return path


def test_a_file_as_ros2_topic_echo_writes_it(robot, tmp_path):
    names = robot.joint_names[::-1]
    points = [{'positions': (POSE + d)[::-1].tolist(), 'velocities': [0.0] * 7,
               'accelerations': [0.0] * 7, 'time_from_start': {'sec': t, 'nanosec': 500_000_000}}
              for t, d in ((0, 0.0), (2, 0.3))]
    path = write_trajectory(tmp_path / 'motion.yaml', robot, points, names)
    motion = FileMotion(robot, path)
    assert motion.duration == 2.5
    np.testing.assert_allclose(motion.sample(0.0)[0], POSE)
    np.testing.assert_allclose(motion.sample(2.5)[0], POSE + 0.3)
    whole = make_motion(robot, values(trajectory='file', file=str(path)), POSE - 0.2)
    np.testing.assert_allclose(whole.sample(0.0)[0], POSE - 0.2)
    np.testing.assert_allclose(whole.sample(whole.duration)[0], POSE + 0.3, atol=1e-9)


def test_a_file_that_ends_in_motion_comes_to_a_stop(robot, tmp_path):
    points = [{'positions': (POSE + d).tolist(), 'velocities': [v] * 7, 'time_from_start': t}
              for t, d, v in ((0.0, 0.0, 0.0), (2.0, 0.3, 0.5))]
    motion = FileMotion(robot, write_trajectory(tmp_path / 'motion.yaml', robot, points))
    times = np.arange(0.0, 4.0, 0.001)
    q, v, a = motion.sample_many(times)
    # Nowhere is it at a speed and stands still.
    np.testing.assert_allclose(np.gradient(q, times, axis=0)[1:-1], v[1:-1], atol=1e-2)
    np.testing.assert_allclose(motion.sample(2.0)[1], 0.5)
    assert 2.0 < motion.duration < 2.3
    still = times >= motion.duration
    assert not v[still].any() and not a[still].any()


@pytest.mark.parametrize(('content', 'wanted'), [
    (None, 'to an existing'), ('- 1', 'JointTrajectory'), ('{', 'JointTrajectory'),
    ('joint_names: [joint1]', 'points'), ('joint_names: [a]\npoints: []', 'must have points'),
    ('joint_names: [a]\npoints: [{time_from_start: soon}]', 'JointTrajectory'),
    ('joint_names: [a]\npoints: [{positions: [.nan], time_from_start: 1}]', 'a'),
    ('!!python/object/apply:os.system ["true"]', 'JointTrajectory'),
    ('\x00', 'JointTrajectory'),
])
def test_files_that_are_none_are_refused(robot, tmp_path, content, wanted):
    path = tmp_path / 'motion.yaml'
    if content is not None:
        path.write_text(content)
    with pytest.raises(RobotDynamicsError, match=wanted) as caught:
        FileMotion(robot, path)
    assert '\n' not in str(caught.value)


def test_a_file_beyond_the_limits_is_refused(robot, tmp_path):
    points = [{'positions': POSE.tolist(), 'time_from_start': 0.0},
              {'positions': (POSE + 9.0).tolist(), 'time_from_start': 1.0}]
    with pytest.raises(TrajectoryError, match='limits'):
        FileMotion(robot, write_trajectory(tmp_path / 'far.yaml', robot, points))


def test_a_file_that_begins_beyond_the_limits_is_refused(robot, tmp_path):
    """The buffer lets an arm be led back from there; a file is no arm."""
    points = [{'positions': (POSE + start).tolist(), 'time_from_start': time}
              for start, time in ((9.0, 0.5), (0.0, 60.0))]
    with pytest.raises(TrajectoryError, match='limits'):
        FileMotion(robot, write_trajectory(tmp_path / 'far.yaml', robot, points))


class Arm:
    """An arm at rest and a controller that says what mode it is in."""

    def __init__(self, observer, robot):
        self._observer = observer
        self.names = list(robot.joint_names)
        node = observer.node
        self._states = node.create_publisher(JointState, 'joint_states', qos.state())
        self._modes = node.create_publisher(String, f'{CONTROLLER}/mode', qos.latched())
        self.chunks: list[JointTrajectory] = observer.collect(
            JointTrajectory, f'{CONTROLLER}/reference', QoSProfile(depth=100))
        self.pose = POSE

    def say(self, mode: str) -> None:
        self._modes.publish(String(data=mode))

    def rest(self, seconds: float, until=lambda: False) -> bool:
        for _ in range(int(seconds / 0.01)):
            message = JointState(name=self.names, position=self.pose.tolist())
            message.header.stamp = self._observer.node.get_clock().now().to_msg()
            self._states.publish(message)
            if self._observer.spin(0.01, until):
                return True
        return until()


def points_of(chunk: JointTrajectory) -> tuple[float, list[TrajectoryPoint]]:
    stamp = chunk.header.stamp.sec + 1e-9 * chunk.header.stamp.nanosec
    return stamp, [TrajectoryPoint(
        p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec, p.positions, p.velocities,
        p.accelerations) for p in chunk.points]


def test_leads_a_tracking_controller_from_where_the_arm_is(start, observer, robot):
    arm = Arm(observer, robot)
    arm.say('holding')
    # With points as far apart as by default, accelerations depend on the times of the chunks.
    node = start('reference', robot='arm7', seed=4, point_period=0.02)
    assert arm.rest(60.0, lambda: observer.node.count_subscribers(f'/{CONTROLLER}/mode') > 0)
    arm.rest(0.7)
    assert arm.chunks == []
    arm.say('tracking')
    assert arm.rest(10.0, lambda: len(arm.chunks) >= 8)
    first = arm.chunks[0]
    assert list(first.joint_names) == arm.names
    np.testing.assert_allclose(first.points[0].positions, POSE, atol=1e-9)
    np.testing.assert_array_equal(first.points[0].velocities, 0.0)
    # Chunks follow each other as one motion: a controller takes each over as it comes.
    buffer = TrajectoryBuffer.for_robot(robot)
    buffer.anchor(POSE)
    begin = points_of(first)[0] - 1.0
    previous = None
    for chunk in arm.chunks:
        stamp, points = points_of(chunk)
        if previous is not None:
            before = buffer.sample(stamp - begin + 0.1)
        buffer.accept(arm.names, points, stamp=stamp - begin, now=stamp - begin)
        if previous is not None:
            after = buffer.sample(stamp - begin + 0.1)
            for old, new, tolerance in zip(before, after, (1e-5, 1e-4, 1e-2), strict=True):
                np.testing.assert_allclose(new, old, atol=tolerance)
            # Several chunks may be lost before the motion runs out.
            assert 0.0 <= stamp - previous < 0.5
        previous = stamp
        assert points[-1].time_from_start == pytest.approx(1.0)
    assert node.stop()[0] == 0


def test_starts_over_from_the_new_pose_when_the_controller_fell_out(start, observer, robot):
    arm = Arm(observer, robot)
    arm.say('tracking')
    start('reference', robot='arm7')
    assert arm.rest(60.0, lambda: len(arm.chunks) >= 4)
    arm.say('safe')
    arm.rest(0.5)
    arm.chunks.clear()
    arm.rest(0.7)
    assert arm.chunks == []
    arm.pose = POSE + 0.15
    arm.rest(0.1)
    arm.say('tracking')
    assert arm.rest(5.0, lambda: arm.chunks)
    np.testing.assert_allclose(arm.chunks[0].points[0].positions, POSE + 0.15, atol=1e-9)


def test_starts_over_where_no_chunk_is_followed(start, observer, robot):
    """A chunk that came too late is rejected, and so would be all that continue it."""
    arm = Arm(observer, robot)
    results = observer.node.create_publisher(
        String, f'{CONTROLLER}/reference_status', qos.latched())

    def answer(chunk: JointTrajectory, accepted: bool) -> None:
        stamp = to_nanoseconds(chunk.header.stamp)
        results.publish(String(data=json.dumps(
            {'accepted': accepted, 'stamp': stamp, 'text': 'as scripted'})))

    arm.say('tracking')
    node = start('reference', robot='arm7')
    assert arm.rest(60.0, lambda: arm.chunks)
    arm.pose = POSE + 0.15
    arm.rest(0.1)
    answer(arm.chunks[-1], accepted=False)
    assert arm.rest(5.0, lambda: np.allclose(arm.chunks[-1].points[0].positions, arm.pose,
                                             atol=1e-9))
    # One of a motion that is followed is replaced by the next.
    answer(arm.chunks[-1], accepted=True)
    count = len(arm.chunks)
    assert arm.rest(5.0, lambda: len(arm.chunks) > count)
    answer(arm.chunks[-1], accepted=False)
    arm.pose = POSE
    assert arm.rest(5.0, lambda: len(arm.chunks) > count + 2)
    assert not np.allclose(arm.chunks[-1].points[0].positions, arm.pose, atol=1e-3)
    assert 'the motion starts over: as scripted' in node.stop()[2]


def test_says_nothing_without_a_fresh_state(start, observer, robot):
    arm = Arm(observer, robot)
    arm.say('tracking')
    start('reference', robot='arm7')
    assert arm.rest(60.0, lambda: len(arm.chunks) >= 2)
    observer.spin(0.6)
    arm.chunks.clear()
    observer.spin(1.0)
    assert arm.chunks == []


@pytest.mark.parametrize(('parameters', 'wanted'), [
    ({'trajectory': 'spiral'}, 'fourier, quintic, file, line, circle'),
    ({'trajectory': 'line', 'displacement': [1.0]}, 'parameter displacement'),
    ({'trajectory': 'file'}, 'parameter file'),
    ({'trajectory': 'file', 'file': '/no/such.yaml'}, '/no/such.yaml'),
    ({'trajectory': 'quintic', 'poses': [1.0]}, 'parameter poses'),
])
def test_refuses_in_one_line(start, parameters, wanted):
    status, _, stderr = start('reference', robot='arm7', **parameters).wait(60.0)
    assert status == 1
    assert len(stderr.strip().splitlines()) == 1 and wanted in stderr, stderr
