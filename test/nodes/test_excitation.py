# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import numpy as np
import pytest
from rclpy.qos import QoSProfile
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.identification.dataset.dataset import load_dataset
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos

CONTROLLER = 'adaptive_controller'
TOPIC = 'joint_trajectory_controller/joint_trajectory'


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(resolve_robot('rpr'))


class Follower:
    """An arm that is exactly where it is told to be, as long as it hears so."""

    def __init__(self, observer, robot, pose, topic):
        self._observer, node = observer, observer.node
        self._states = node.create_publisher(JointState, 'joint_states', qos.state())
        self._mode = node.create_publisher(String, f'{CONTROLLER}/mode', qos.latched())
        self.stages = observer.collect(String, 'excitation/state', qos.latched())
        self._names, self._pose = list(robot.joint_names), np.array(pose)
        self.offset = np.zeros(robot.n)
        self._buffer = TrajectoryBuffer.for_robot(robot)
        self._anchored = False
        self.heard: list[JointTrajectory] = []
        self.poses: list[np.ndarray] = []
        node.create_subscription(JointTrajectory, topic, self._hear, QoSProfile(depth=100))

    def _now(self) -> float:
        return 1e-9 * self._observer.node.get_clock().now().nanoseconds

    def _hear(self, message: JointTrajectory) -> None:
        self.heard.append(message)
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        points = [TrajectoryPoint(p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec,
                                  p.positions, p.velocities, p.accelerations)
                  for p in message.points]
        if not self._anchored:
            self._buffer.anchor(self._pose)
            self._anchored = True
        if stamp + points[-1].time_from_start > self._now():
            self._buffer.accept(self._names, points, stamp=stamp, now=self._now())

    def say(self, mode: str) -> None:
        self._mode.publish(String(data=mode))

    def stage(self) -> dict:
        return json.loads(self.stages[-1].data) if self.stages else {'stage': '', 'reason': ''}

    def follow(self, seconds: float, until=lambda: False) -> bool:
        """Publish where the arm is for some time, or until something is so."""
        message = JointState(name=self._names)
        end = self._now() + seconds
        while self._now() < end and not until():
            stamp = self._observer.node.get_clock().now()
            q, v = self._pose, np.zeros_like(self._pose)
            if self._anchored:
                q, v, _ = self._buffer.sample(self._now())
            message.header.stamp = stamp.to_msg()
            message.position, message.velocity = (q + self.offset).tolist(), v.tolist()
            message.effort = [0.0] * len(self._names)
            self._states.publish(message)
            self.poses.append(q)
            self._observer.spin(0.01)
        return until()


def at_rest(message: JointTrajectory) -> bool:
    return np.abs(message.points[-1].velocities).max() < 1e-9


def test_plays_all_periods_for_an_arm_controlled_by_position(start, observer, robot, make_plan,
                                                             tmp_path):
    path = make_plan('rpr')
    plan = ExcitationPlan.read(path).motion
    arm = Follower(observer, robot, plan.start + 0.02, TOPIC)
    recording = tmp_path / 'recording'
    node = start('excitation', robot='rpr', plan=path, play_as='trajectory', periods=2,
                 output=recording, state_timeout=3.0, max_deviation=0.5)
    assert arm.follow(90.0, lambda: node.process.poll() is not None), arm.stage()
    status, _, stderr = node.wait()
    assert status == 0, stderr
    assert arm.stage()['stage'] == 'done' and arm.stage()['period'] == 2
    assert list(arm.heard[0].joint_names) == list(robot.joint_names)
    np.testing.assert_allclose(arm.heard[0].points[0].positions, plan.start + 0.02, atol=1e-6)
    # An arm that heard no more after any of them would come to rest.
    assert all(at_rest(message) for message in arm.heard)
    poses = np.array(arm.poses)
    low, high = plan.extremes()
    assert np.all(poses >= np.minimum(low, plan.start) - 1e-3)
    assert np.all(np.ptp(poses, axis=0) >= 0.9 * (high - low))
    np.testing.assert_allclose(poses[-1], plan.start, atol=1e-3)
    with AnyReader([recording]) as reader:
        assert {'/joint_states', '/excitation/state'} <= {c.topic for c in reader.connections}
    assert load_dataset(recording, robot).duration > 6.0


def lead(start, observer, robot, make_plan, **parameters):
    """Return an arm that is led and the node that leads it, in the middle of a motion."""
    path = make_plan('rpr', seconds=30.0)
    arm = Follower(observer, robot, ExcitationPlan.read(path).motion.start,
                   f'{CONTROLLER}/reference')
    arm.say('tracking')
    node = start('excitation', robot='rpr', plan=path,
                 **{'state_timeout': 3.0, 'max_deviation': 0.3, **parameters})
    assert arm.follow(90.0, lambda: arm.stage()['stage'] == 'playing')
    arm.follow(0.5)
    return arm, node


@pytest.mark.parametrize(('doubt', 'reason'), [
    ('mode', 'adaptive_controller is safe'), ('away', 'away from its reference'),
    ('silence', 'joint states stopped')])
def test_stops_on_any_doubt(start, observer, robot, make_plan, doubt, reason):
    arm, node = lead(start, observer, robot, make_plan)
    if doubt == 'mode':
        arm.say('safe')
    elif doubt == 'away':
        # A position cannot jump: it is led there.
        for arm.offset[0] in np.linspace(0.0, 0.5, 40):
            arm.follow(0.03)
    if doubt == 'silence':
        assert observer.spin(60.0, lambda: node.process.poll() is not None)
    else:
        assert arm.follow(60.0, lambda: node.process.poll() is not None), arm.stage()
    status, _, stderr = node.wait()
    assert status == 1 and reason in stderr and 'Traceback' not in stderr, stderr
    assert arm.stage()['stage'] == 'stopped' and reason in arm.stage()['reason']
    # The last word is a stop, long before the end of the motion.
    last = arm.heard[-1]
    assert at_rest(last) and last.points[-1].time_from_start.sec < 3


def test_is_asked_to_stop_and_leaves_the_arm_at_rest(start, observer, robot, make_plan):
    arm, node = lead(start, observer, robot, make_plan)
    status, _, stderr = node.stop(timeout=60.0)
    assert status == 0, stderr
    observer.spin(0.5)
    assert at_rest(arm.heard[-1])


def test_waits_while_somebody_else_leads(start, observer, robot, make_plan):
    other = observer.node.create_publisher(JointTrajectory, f'{CONTROLLER}/reference',
                                           qos.command())
    path = make_plan('rpr')
    arm = Follower(observer, robot, ExcitationPlan.read(path).motion.start,
                   f'{CONTROLLER}/reference')
    arm.say('tracking')
    node = start('excitation', robot='rpr', plan=path, patience=3.0)
    assert arm.follow(60.0, lambda: node.process.poll() is not None)
    status, _, stderr = node.wait()
    assert status == 1 and 'another node publishes' in stderr, stderr
    assert arm.heard == []
    observer.node.destroy_publisher(other)


def test_refuses_plans_in_one_line(start, make_plan, tmp_path):
    nonsense = tmp_path / 'nonsense.yaml'
    nonsense.write_text('a: 1')
    wild = make_plan('rpr', size=3.0)
    running = [(start('excitation', robot=name, **given), wanted) for name, given, wanted in (
        ('rpr', {}, 'parameter plan'), ('rpr', {'plan': nonsense}, 'is not an excitation plan'),
        ('arm7', {'plan': wild}, 'is for the joints'), ('rpr', {'plan': wild}, 's is beyond'))]
    for node, wanted in running:
        status, _, stderr = node.wait(120.0)
        lines = [line for line in stderr.strip().splitlines() if 'compiling' not in line]
        assert status == 1 and len(lines) == 1 and wanted in lines[0], stderr
