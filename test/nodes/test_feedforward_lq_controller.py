# SPDX-License-Identifier: Apache-2.0
"""The feedforward + LQ controller before a simulated arm, led by the test."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control.motion.references import PointToPoint
from robot_dynamics.nodes.feedforward_lq_controller import FeedforwardLQControllerNode
from robot_dynamics.nodes.ros import qos

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

NODE = 'feedforward_lq_controller'
DEEP = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
RATE = 100.0
#: Into the range of every joint. rad.
WAY = np.array([0.5, 0.5, 0.5, -0.5, 0.5, 0.5, 0.5])


class System:
    """An arm, the controller, and what they say."""

    def __init__(self, start, observer):
        self._start, self.observer = start, observer
        self.modes = observer.collect(String, f'{NODE}/mode', qos.latched())
        self.errors = observer.collect(JointState, f'{NODE}/tracking_error', DEEP)
        self._states = observer.collect(JointState, 'joint_states', qos.state())
        self._references = observer.node.create_publisher(JointTrajectory, f'{NODE}/reference',
                                                          qos.command())
        self._diagnostics = observer.collect(DiagnosticArray, '/diagnostics', DEEP)

    def run(self, *, arm=(), **controller):
        self._start('simulated_arm', robot='arm7', rate=RATE, **dict(arm))
        self.controller = self._start(NODE, robot='arm7', rate=RATE, **controller)

    def move(self, distance, speed):
        """Send a motion of all joints from where they are; return how long it takes. s."""
        state = self._states[-1]
        here = np.array(state.position)
        motion = PointToPoint(here, here + distance, velocity_limit=speed,
                              acceleration_limit=2.0 * speed)
        message = JointTrajectory(joint_names=state.name)
        for t in np.linspace(0.0, motion.duration, 40):
            q, v, a = (x.tolist() for x in motion.sample(t))
            point = JointTrajectoryPoint(positions=q, velocities=v, accelerations=a)
            point.time_from_start.sec = int(t)
            point.time_from_start.nanosec = int(1e9 * (t % 1.0))
            message.points.append(point)
        self._references.publish(message)
        return motion.duration

    def pass_by(self, seconds):
        """Wait for some simulated time."""
        def now():
            stamp = self._states[-1].header.stamp
            return stamp.sec + 1e-9 * stamp.nanosec
        end = now() + seconds
        assert self.observer.spin(120.0, lambda: now() > end)

    def is_in(self, mode):
        return bool(self.modes) and self.modes[-1].data == mode

    def heard(self):
        """What came so far."""
        return [mode.data for mode in self.modes], len(self._states), self.item('state')

    def item(self, name):
        """The last diagnostics item of a name, and its values."""
        items = [status for array in self._diagnostics for status in array.status
                 if status.name == f'{NODE}: {name}']
        return (items[-1], {pair.key: pair.value for pair in items[-1].values}) \
            if items else (None, {})


@pytest.fixture
def system(start_in_lock_step, observer):
    return System(start_in_lock_step, observer)


@pytest.mark.parametrize(('gain', 'rate'), [('riccati', 3.0), ('one_step', 0.0)])
def test_tracks_with_gains_computed_ahead(system, gain, rate):
    system.run(gain=gain, **{'feedback.disturbance_rate': rate})
    spin = system.observer.spin
    assert spin(90.0, lambda: system.is_in('tracking')), system.heard()

    del system.errors[:]
    system.pass_by(system.move(WAY, 0.2) + 0.5)
    status, values = system.item('feedback')
    assert system.is_in('tracking'), system.item('state')
    assert values['gain'] == gain and 'feeds back' in status.message
    # The motion takes some 5 s, with a gain in each state.
    assert int(values['of them computed ahead']) > 100
    assert int(values['gains updated']) > int(values['of them computed ahead'])
    # The model is right: there is next to nothing to make up for.
    made_up = [float(x) for x in values.get('compensated', '').split(', ') if x]
    assert len(made_up) == (7 if rate else 0) and all(abs(x) < 0.5 for x in made_up)
    errors = np.array([message.position for message in system.errors])
    assert len(errors) > 50
    # It moved, and is hardly off.
    assert 1e-9 < np.sqrt(np.mean(errors**2)) < 2e-3
    status, values = system.item('certificate')
    assert 'stable for all assumed model errors' in status.message
    radii = {name: float(value) for name, value in values.items()}
    assert len(radii) == 8 and max(radii.values()) < 1.0
    code, _, stderr = system.controller.stop()
    assert code == 0 and 'Traceback' not in stderr
    assert 'largest spectral radius of 40 points' in stderr


def test_an_excessive_error_makes_it_safe_and_it_says_why(system):
    """The arm carries 2 kg that the model knows nothing of, and hardly anything is tolerated."""
    system.run(arm={'payload_mass': 2.0, 'payload_com': [0.0, 0.0, 0.15]}.items(),
               **{'schedule.eps2': 0.0006, 'feedback.ahead': False})
    assert system.observer.spin(
        90.0, lambda: system.is_in('tracking') or system.is_in('safe')), system.heard()
    # On a slow machine the arm sags that far already while it is taken over.
    if system.is_in('tracking'):
        system.move(WAY, 0.5)
    assert system.observer.spin(30.0, lambda: system.is_in('safe'))
    assert system.observer.spin(30.0, lambda: system.item('state')[0] is not None
                                and 'eps2' in system.item('state')[0].message)
    assert 'requests a stop' in system.item('state')[0].message
    assert system.controller.stop()[0] == 0


@pytest.mark.parametrize(('parameters', 'wanted'), [
    ({'feedback.bandwidth': 900}, 'spectral radius'),
    ({'schedule.eps1': 2.0}, 'eps2'),
    ({'errors.payload': 200, 'rotors': [0.0]}, 'payload +200 %'),
])
def test_refuses_in_one_line(start, parameters, wanted):
    status, _, stderr = start(NODE, robot='arm7', **parameters).wait(60.0)
    assert status == 1
    assert len(stderr.strip().splitlines()) == 1 and wanted in stderr, stderr


def test_gains_of_another_payload_are_not_followed():
    """However soon it was taken up: within one cycle of a slow loop it is."""
    model = SimpleNamespace(load=np.zeros((7, 10)), changes=False, snapshot=lambda: None)
    followed, planner = [], SimpleNamespace(plan=lambda *asked: None, take=lambda: 'table')
    node = SimpleNamespace(
        _planner=planner, law=SimpleNamespace(model=model, follow=followed.append),
        parameters=SimpleNamespace(values={'schedule.update_period': 0.01, 'rate': 20.0}),
        session=SimpleNamespace(monitor=SimpleNamespace(stamp=0.0), trajectory=SimpleNamespace(
            sample_many=lambda times: None)))
    FeedforwardLQControllerNode.on_trajectory(node, 1.0)
    FeedforwardLQControllerNode.before_cycle(node)
    assert followed == ['table']
    model.load = np.ones((7, 10))
    FeedforwardLQControllerNode.before_cycle(node)
    assert followed == ['table']
    FeedforwardLQControllerNode.on_trajectory(node, 1.0)
    FeedforwardLQControllerNode.before_cycle(node)
    assert followed == ['table', 'table']


@pytest.mark.parametrize('name', ['eps0', 'eps1'])
def test_a_threshold_where_the_arm_is_given_up_already_is_refused(start, name):
    status, _, stderr = start(NODE, robot='planar_2r', max_tracking_error=0.3,
                              **{f'schedule.{name}': 0.3}).wait(60.0)
    assert status == 1 and f'{name} must be below max_tracking_error = 0.3' in stderr
    assert 'set it below 0.3' in stderr
