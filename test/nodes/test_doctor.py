# SPDX-License-Identifier: Apache-2.0
"""The doctor beside real processes: a healthy system, and several sick ones."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import write_stamp

COMMANDS = '/effort_controller/commands'
NAMES = [f'joint{k}' for k in range(1, 8)]
POSE = [0.1, 0.2, 0.3, -1.5, 0.0, 1.5, 0.0]


@pytest.fixture
def doctor(domain, capsys):
    """Let the doctor look; return its exit status and every remark by level."""
    def look(seconds=0.6, *options):
        status = main(['doctor', '--json', '--seconds', str(seconds), *options])
        document = json.loads(capsys.readouterr().out)
        found = {level: [] for level in ('ok', 'note', 'warning', 'error')}
        for section in document['sections']:
            for remark in section['remarks']:
                found[remark['level']].append(f"{remark['subject']}: {remark['message']}")
        assert (document['errors'], document['warnings']) == (len(found['error']),
                                                              len(found['warning']))
        return status, found
    return look


class Driver:
    """Publishes joint states from a thread, as a driver in another process would."""

    def __init__(self, node, rate=200.0, change=lambda message, count: None):
        self._node, self._rate, self._change = node, rate, change
        self._states = node.create_publisher(JointState, 'joint_states', qos.state())
        #: Most listeners to commands that there were at any time.
        self.listeners = 0

    def _run(self, stopped):
        begin = time.monotonic()
        for count in range(1_000_000):
            if stopped.wait(max(0.0, begin + count / self._rate - time.monotonic())):
                return
            message = JointState(name=NAMES, position=POSE, velocity=[0.0] * 7, effort=[0.0] * 7)
            write_stamp(message.header.stamp, time.time_ns())
            self._change(message, count)
            self._states.publish(message)
            self.listeners = max(self.listeners, self._node.count_subscribers(COMMANDS))

    @contextmanager
    def running(self):
        stopped = threading.Event()
        thread = threading.Thread(target=self._run, args=(stopped,))
        thread.start()
        try:
            yield self
        finally:
            stopped.set()
            thread.join()


def look_until(doctor, seconds, is_seen):
    """Look again some times: a machine that others use discovers late and makes arms safe."""
    for _ in range(5):
        status, found = doctor(seconds)
        if is_seen(status, found):
            break
    return status, found


def has(remarks, *words):
    return any(all(word in remark for word in words) for remark in remarks)


def test_a_healthy_system_and_what_joins_it(start, observer, doctor):
    pytest.importorskip('mujoco', reason='needs the simulated arm')
    modes = observer.collect(String, 'adaptive_controller/mode', qos.latched())
    patient = {'state_timeout': 0.3, 'max_age': 2.0, 'max_tracking_error': 10.0,
               'resume_after': 20, 'adapt': False}
    start('simulated_arm', robot='arm7', rate=100, hold_time=0.3, publish_description=True)
    start('adaptive_controller', rate=100, **patient)
    start('reference', base_frequency=0.03)
    assert observer.spin(60.0, lambda: modes and modes[-1].data == 'tracking')
    # Diagnostics of the reference, too, that begins now.
    observer.spin(1.2)
    status, found = look_until(doctor, 1.5, lambda status, found: status == 0
                               and has(found['ok'], 'tracking'))
    assert status == 0, found
    for words in (('/robot_description: latched, by /simulated_arm',), ('robot: arm7: 7 joints',),
                  ('/joint_states: published by /simulated_arm',),
                  ('/joint_states: has the 7 joints of the description',),
                  ('/joint_states: efforts are joint torques',),
                  (COMMANDS, 'from /adaptive_controller to /simulated_arm'),
                  ('/adaptive_controller: tracking: the arm follows',),
                  ('this shell: ', 'discovery on this machine only')):
        assert has(found['ok'], *words), (words, found)
    # What remains is of a machine that others use as well.
    assert all(remark.startswith(('/joint_states: ', 'processor: ', 'adaptive_controller: loop: ',
                                  'simulated_arm: loop: '))
               for remark in found['warning']), found['warning']

    observer.node.create_publisher(JointState, 'joint_states', qos.state())
    observer.node.create_publisher(Float64MultiArray, 'effort_controller/commands', qos.command())
    # They may have missed the doctor's first announcement; the next comes after 3 s.
    status, found = look_until(doctor, 3.0, lambda status, found: has(found['error'],
                                                                      '2 publishers'))
    assert status == 1, found
    assert has(found['error'], '/joint_states: has 2 publishers: ', '/observer', '/simulated_arm')
    assert has(found['error'], COMMANDS, 'also gets commands from /observer')


def test_a_controller_that_nobody_listens_to_and_a_driver_that_is_slower_than_told(
        start, make_node, observer, doctor):
    driver = Driver(make_node('driver'), rate=100.0)
    modes = observer.collect(String, 'adaptive_controller/mode', qos.latched())
    start('adaptive_controller', robot='arm7', rate=500.0, max_age=2.0)
    assert observer.spin(60.0, lambda: bool(modes))
    with driver.running():
        status, found = look_until(doctor, 1.5, lambda status, found: has(
            found['error'], 'efforts are zero'))
    assert status == 1, found
    assert has(found['error'], COMMANDS,
               'has no subscriber for the efforts of /adaptive_controller')
    assert has(found['error'], '/joint_states: efforts are zero',
               'cannot detect that the arm obeys')
    assert has(found['warning'], '/joint_states: ', 'the controller expects 500 Hz')
    assert has(found['warning'], '/adaptive_controller: is inactive')
    assert has(found['note'], '/robot_description: has no publisher; nodes have it')
    # One that waits for a listener must not take the doctor for it.
    assert driver.listeners == 0


def stale(message, count):
    write_stamp(message.header.stamp, time.time_ns() - 5_000_000_000)


def frozen(message, count):
    write_stamp(message.header.stamp, 1_790_000_000_000_000_000)


def foreign(message, count):
    message.name = [f'right_{name}' for name in NAMES]


def broken(message, count):
    message.position = [np.nan] * 7


def slow(message, count):
    """Nothing is wrong with it but its pace."""


@pytest.mark.parametrize(('change', 'rate', 'words'), [
    (stale, 200.0, ('s behind the clock of this machine',)),
    (frozen, 200.0, ('has the same stamp',)),
    (foreign, 200.0, ('any joint of the description', 'right_joint1')),
    (broken, 200.0, ('messages rejected: position is not finite',)),
    (slow, 20.0, ('Hz, too slow to control torque',))])
def test_drivers_that_are_sick(make_node, doctor, change, rate, words):
    node = make_node('driver', '-r', '__ns:=/left')
    description = node.create_publisher(String, 'robot_description', qos.latched())
    description.publish(String(data=load_description('arm7').urdf))
    with Driver(node, rate, change).running():
        status, found = look_until(doctor, 0.6, lambda status, found: has(found['error'], *words))
    assert status == 1, found
    assert len(found['error']) == 1, found
    # Nobody told which namespace.
    assert has(found['error'], '/left/joint_states: ', *words), found


def test_an_empty_domain(doctor):
    status, found = doctor()
    assert status == 1, found
    assert has(found['error'], 'has no nodes')


def test_a_middleware_that_is_not_there(domain):
    done = subprocess.run(
        [sys.executable, '-m', 'robot_dynamics.bringup.cli', 'doctor'], capture_output=True,
        text=True, timeout=60, env={**os.environ, 'RMW_IMPLEMENTATION': 'rmw_of_nobody'})
    assert done.returncode == 1, done
    lines = done.stdout.splitlines()
    assert lines[0] == 'no system can be checked'
    assert lines[1] == '[this shell]'
    assert lines[2].startswith("error: RMW_IMPLEMENTATION: selects 'rmw_of_nobody', which cannot")
    assert '[rcl]' not in lines[2]
    assert 'install ros-<distro>-rmw-of-nobody, or unset it' in lines[2]
    assert lines[-1].startswith('1 error')
