# SPDX-License-Identifier: Apache-2.0
"""The action follow_joint_trajectory with the moves of MoveIt: real processes in lock step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from fork_server import ForkServer
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import trajectory_message

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

CONTROLLER = 'computed_torque_controller'
POSE = np.array([0.0, -0.3, 0.1, -2.2, 0.0, 2.0, 0.785])
#: From the pose to a goal. rad.
WAY = np.array([0.4, -0.3, 0.2, 0.3, -0.2, 0.3, 0.5])
DEEP = QoSProfile(depth=5000, reliability=ReliabilityPolicy.BEST_EFFORT)
RATE = 100.0


@pytest.fixture(scope='module')
def fork_server(control_msgs):
    """A process to fork nodes from that has control_msgs, unlike that of other tests."""
    server = ForkServer(Path(__file__).resolve().parents[2])
    yield server
    server.close()


def timed(begin, way, count, *, speed=0.5, acceleration=1.0, fields=3):
    """Points of a straight move as time parameterisation makes them, resampled at equal times.

    The velocity of the fastest joint is a trapezoid.
    """
    length = np.abs(way).max()
    rise = min(speed / acceleration, np.sqrt(length / acceleration))
    top = acceleration * rise
    duration = rise + length / top
    points = []
    for t in np.linspace(0.0, duration, count):
        left = duration - t
        if t < rise:
            s, v, a = 0.5 * acceleration * t**2, acceleration * t, acceleration
        elif left < rise:
            s, v, a = length - 0.5 * acceleration * left**2, acceleration * left, -acceleration
        else:
            s, v, a = top * (t - 0.5 * rise), top, 0.0
        points.append(TrajectoryPoint(float(t), begin + s / length * way,
                                      *(v / length * way, a / length * way)[:fields - 1]))
    return points


class System:
    """A simulated arm, a controller, and a client of its action."""

    def __init__(self, start, observer, **parameters):
        from control_msgs.action import FollowJointTrajectory
        from control_msgs.msg import JointTolerance, JointTrajectoryControllerState
        self.type, self.tolerance = FollowJointTrajectory, JointTolerance
        self.codes = FollowJointTrajectory.Result
        self.observer = observer
        self.states = observer.collect(JointState, 'joint_states', DEEP)
        self.modes = observer.collect(String, f'{CONTROLLER}/mode', qos.latched())
        self.controller_states = observer.collect(
            JointTrajectoryControllerState, f'{CONTROLLER}/controller_state', DEEP)
        self.arm = start('simulated_arm', robot='arm7', initial_position=POSE.tolist(), rate=RATE)
        # As bringup does for a simulated arm: it may stand still while others use the machine.
        self.controller = start(CONTROLLER, robot='arm7', rate=RATE, resume_after=20,
                                **parameters)
        self.names = Robot.from_urdf(resolve_robot('arm7')).joint_names
        self.client = ActionClient(observer.node, FollowJointTrajectory,
                                   f'{CONTROLLER}/follow_joint_trajectory')
        self.feedback = []
        self.wait(lambda: self.is_in('tracking') and self.client.server_is_ready())

    def wait(self, until, seconds=90.0):
        assert self.observer.spin(seconds, until), [m.data for m in self.modes]

    def is_in(self, mode):
        return bool(self.modes) and self.modes[-1].data == mode

    def send(self, points, *, names=None, stamp=None, **fields):
        """Send a goal and return its handle."""
        goal = self.type.Goal(
            trajectory=trajectory_message(self.names if names is None else names, points),
            **fields)
        if stamp is not None:
            goal.trajectory.header.stamp = stamp
        future = self.client.send_goal_async(goal, feedback_callback=self.feedback.append)
        self.wait(future.done)
        assert future.result().accepted
        return future.result()

    def result(self, handle):
        """Return status, error code and sentence of a goal that ends."""
        future = handle.get_result_async()
        self.wait(future.done)
        answer = future.result()
        return answer.status, answer.result.error_code, answer.result.error_string

    def end_of(self, points, **fields):
        return self.result(self.send(points, **fields))

    def succeeds(self, points, **fields):
        """Send a goal and see it reached."""
        status, code, text = self.end_of(points, **fields)
        assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, self.codes.SUCCESSFUL), text

    def q(self, state=None):
        state = state or self.states[-1]
        return np.array([state.position[list(state.name).index(name)] for name in self.names])

    def speed(self):
        return float(np.abs(self.states[-1].velocity).max())

    def send_and_wait_for_motion(self, points, **fields):
        handle = self.send(points, **fields)
        self.wait(lambda: self.speed() > 0.2)
        return handle


@pytest.fixture
def system(control_msgs, start_in_lock_step, observer):
    return System(start_in_lock_step, observer)


def test_moves_of_moveit(system):
    at = POSE
    for way, count, fields in ((WAY, 20, 3), (-WAY, 500, 3), (WAY, 100, 1), (-WAY, 20, 2)):
        system.feedback.clear()
        system.succeeds(timed(at, way, count, fields=fields))
        at = at + way
        np.testing.assert_allclose(system.q(), at, atol=0.02)
        parts = [message.feedback for message in system.feedback]
        assert len(parts) > 5 and list(parts[0].joint_names) == list(system.names)
        indices = [part.index for part in parts]
        assert indices == sorted(indices) and indices[-1] == count - 1 and indices[0] < count / 2
        middle = parts[len(parts) // 2]
        np.testing.assert_allclose(np.array(middle.desired.positions) - middle.actual.positions,
                                   middle.error.positions, atol=1e-12)
        assert max(np.abs(part.desired.velocities).max() for part in parts) > 0.2
    state = system.controller_states[-1]
    assert list(state.joint_names) == list(system.names) and state.speed_scaling_factor == 1.0
    np.testing.assert_allclose(state.reference.positions, at, atol=2e-3)
    np.testing.assert_allclose(state.feedback.positions, at, atol=0.02)
    assert len(state.output.effort) == len(system.names) and len(state.error.velocities) == 7


def test_cancel_stops_on_the_path(system):
    handle = system.send_and_wait_for_motion(timed(POSE, WAY, 50))
    system.states.clear()
    answer = handle.cancel_goal_async()
    system.wait(answer.done)
    assert len(answer.result().goals_canceling) == 1
    status, _, text = system.result(handle)
    assert status == GoalStatus.STATUS_CANCELED and 'at rest' in text
    # States may still be on their way to here.
    system.wait(lambda: system.speed() < 0.02)
    q = np.array([system.q(state) for state in system.states])
    along = (q - POSE) @ WAY / (WAY @ WAY)
    assert 0.0 < along[-1] < 0.9
    # The path is a straight line, and every joint stays on it.
    assert np.abs(q - POSE - along[:, None] * WAY).max() < 0.01
    assert system.is_in('tracking')
    # 0.5 rad/s end within 0.1 s at 10 rad/s^2, and the cancellation within 0.05 s and a delay.
    assert np.abs(np.diff(q, 2, axis=0)).max() * RATE**2 < 25.0
    # From where it rests a new goal is followed.
    system.succeeds(timed(system.q(), POSE - system.q(), 20))


def test_goals_that_replace_each_other(system):
    first = system.send_and_wait_for_motion(timed(POSE, WAY, 50))
    wrong = [TrajectoryPoint(0.01, POSE)]
    for fields, code, words in (
            ({'names': [*system.names[:-1], 'unheard_of']}, 'INVALID_JOINTS', 'unheard_of'),
            ({'stamp': Time(nanosec=1)}, 'OLD_HEADER_TIMESTAMP', 'ended'),
            ({'path_tolerance': [system.tolerance(name='nothing')]}, 'INVALID_JOINTS', 'nothing'),
            ({'goal_tolerance': [system.tolerance(name=system.names[0], position=-2.0)]},
             'INVALID_GOAL', 'positive')):
        status, found, text = system.end_of(wrong, **fields)
        assert (status, found) == (GoalStatus.STATUS_ABORTED, getattr(system.codes, code)), text
        assert words in text
    assert system.end_of([])[1] == system.codes.INVALID_GOAL
    status, code, text = system.end_of([TrajectoryPoint(1.0, POSE + 50.0)])
    assert code == system.codes.INVALID_GOAL and 'outside' in text
    # The first goal has gone on. It is replaced from the state now.
    assert system.speed() > 0.1 or np.abs(system.q() - POSE - WAY).max() < 0.02
    system.succeeds([TrajectoryPoint(3.0, POSE)])
    np.testing.assert_allclose(system.q(), POSE, atol=0.02)
    assert system.result(first)[0] in (GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_SUCCEEDED)

    replaced = system.send_and_wait_for_motion(timed(POSE, WAY, 50))
    second = system.send([TrajectoryPoint(3.0, POSE)])
    status, code, text = system.result(replaced)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, system.codes.INVALID_GOAL)
    assert text == 'a new goal replaced it'
    # A trajectory of the topic replaces that one.
    publisher = system.observer.node.create_publisher(
        JointTrajectory, f'{CONTROLLER}/reference', qos.command())
    system.wait(lambda: publisher.get_subscription_count() == 1)
    publisher.publish(trajectory_message(system.names, [TrajectoryPoint(2.0, POSE)]))
    status, code, text = system.result(second)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, system.codes.INVALID_GOAL)
    assert f'/{CONTROLLER}/reference of 1 points is followed' in text

    # Some of the joints: the others rest.
    system.wait(lambda: np.abs(system.q() - POSE).max() < 0.02 and system.speed() < 0.02)
    some = [5, 1]
    held = system.q()
    system.succeeds([TrajectoryPoint(1.0, POSE[some] + 0.2)],
                    names=[system.names[k] for k in some])
    moved = np.where(np.isin(np.arange(7), some), POSE + 0.2, held)
    np.testing.assert_allclose(system.q(), moved, atol=0.02)


def test_tolerances_and_the_end_of_control(system):
    tight = [system.tolerance(name=name, position=1e-6) for name in system.names]
    handle = system.send(timed(POSE, WAY, 50), path_tolerance=tight)
    status, code, text = system.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, system.codes.PATH_TOLERANCE_VIOLATED)
    assert 'position of joint' in text and 'more than 1e-06' in text
    system.wait(lambda: system.speed() < 0.02)
    assert np.abs(system.q() - POSE).max() < 0.2 and system.is_in('tracking')

    status, code, text = system.end_of(
        [TrajectoryPoint(1.0, POSE)], goal_tolerance=[
            system.tolerance(name=name, position=1e-12) for name in system.names],
        goal_time_tolerance=Duration(nanosec=100_000_000))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, system.codes.GOAL_TOLERANCE_VIOLATED)
    assert 's after its end' in text

    handle = system.send_and_wait_for_motion(timed(system.q(), WAY, 50))
    request = ChangeState.Request()
    request.transition.id = Transition.TRANSITION_DEACTIVATE
    assert system.observer.call(ChangeState, f'{CONTROLLER}/change_state', request).success
    status, code, text = system.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, system.codes.INVALID_GOAL)
    assert 'deactivated' in text
    status, code, text = system.end_of([TrajectoryPoint(1.0, POSE)])
    assert (status, code) == (GoalStatus.STATUS_ABORTED, system.codes.INVALID_GOAL)
    assert 'stopped' in text


def test_an_arm_that_is_lost_ends_its_goal(system):
    handle = system.send_and_wait_for_motion(timed(POSE, WAY, 50))
    system.arm.process.kill()
    status, code, text = system.result(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, system.codes.INVALID_GOAL)
    assert 'safe: joint states stopped' in text
