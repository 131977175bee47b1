# SPDX-License-Identifier: Apache-2.0
"""Trajectories on ~/reference and what became of them: real processes in lock step."""

from __future__ import annotations

import json

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import trajectory_message

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

CONTROLLER = 'pd_gravity_controller'
NAMES = ('joint1', 'joint2')
DEEP = QoSProfile(depth=5000, reliability=ReliabilityPolicy.BEST_EFFORT)


def test_a_publisher_learns_what_becomes_of_its_trajectories(start_in_lock_step, observer):
    states = observer.collect(JointState, 'joint_states', DEEP)
    modes = observer.collect(String, f'{CONTROLLER}/mode', qos.latched())
    results = observer.collect(String, f'{CONTROLLER}/reference_status', qos.latched())
    status = observer.collect(DiagnosticArray, '/diagnostics', QoSProfile(depth=100))
    start_in_lock_step('simulated_arm', robot='planar_2r', rate=100.0)
    start_in_lock_step(CONTROLLER, robot='planar_2r', rate=100.0)
    publisher = observer.node.create_publisher(JointTrajectory, f'{CONTROLLER}/reference',
                                               qos.command())

    def send(*points, names=NAMES):
        """Send a trajectory and return what became of it."""
        results.clear()
        publisher.publish(trajectory_message(names, points))
        assert observer.spin(60.0, lambda: bool(results))
        return json.loads(results[-1].data)

    def q():
        return np.array([states[-1].position[list(states[-1].name).index(name)]
                         for name in NAMES])

    def speed():
        return float(np.abs(states[-1].velocity).max())

    def item(text):
        """Whether the diagnostics of references have a text."""
        return any(text in each.message for array in status for each in array.status
                   if each.name == f'{CONTROLLER}: reference')

    def moves_away():
        """Begin a move and wait until the arm is in it."""
        answer = send(TrajectoryPoint(3.0, goal))
        assert answer['accepted'] and 'of 1 points is followed' in answer['text'], answer
        assert observer.spin(60.0, lambda: speed() > 0.1)

    assert observer.spin(90.0, lambda: bool(modes) and modes[-1].data == 'tracking'
                         and publisher.get_subscription_count() == 1)
    begin = q()
    goal = begin + 0.5
    moves_away()
    # A rejected trajectory leaves the motion as it is, by default.
    answer = send(TrajectoryPoint(1.0, [0.0]), names=('elbow',))
    assert not answer['accepted'] and answer['stamp'] == 0
    assert 'elbow is unknown' in answer['text'] and 'motion before is finished' in answer['text']
    assert observer.spin(30.0, lambda: item('trajectory rejected: elbow is unknown'))
    assert observer.spin(60.0, lambda: np.abs(q() - goal).max() < 0.05 and speed() < 0.02)

    # An empty one ends it.
    goal = begin
    moves_away()
    answer = send()
    assert answer['accepted'] and 'ended the motion' in answer['text']
    assert observer.spin(60.0, lambda: speed() < 0.02)
    observer.spin(0.5)
    assert speed() < 0.05 and np.abs(q() - goal).min() > 0.05

    # With rejected_trajectory:=stop a rejected one does, too.
    moves_away()
    request = SetParameters.Request(parameters=[
        Parameter('rejected_trajectory', value='stop').to_parameter_msg()])
    assert observer.call(SetParameters, f'{CONTROLLER}/set_parameters',
                         request).results[0].successful
    answer = send(TrajectoryPoint(1.0, [50.0, 0.0]))
    assert not answer['accepted'] and 'comes to rest on its path' in answer['text']
    assert observer.spin(60.0, lambda: speed() < 0.02)
    observer.spin(0.5)
    assert speed() < 0.05 and np.abs(q() - goal).max() > 0.05

    # A second publisher is reported with its name.
    other = observer.node.create_publisher(JointTrajectory, f'{CONTROLLER}/reference',
                                           qos.command())
    assert observer.spin(30.0, lambda: item('several publishers: /observer, /observer'))
    observer.node.destroy_publisher(other)
    status.clear()
    assert observer.spin(30.0, lambda: item('trajectory rejected'))
