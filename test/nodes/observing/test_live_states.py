# SPDX-License-Identifier: Apache-2.0
"""``robot-dynamics identify --live``: from a running arm to a model, in a process of its own."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from robot_dynamics.bringup.cli import main
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import BringupError, RecordingError
from robot_dynamics.identification.dataset.dataset import load_dataset
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.observing.live_states import listen
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import JointStateMessage

RATE = 200.0
CONFIG = ('estimate: {friction: coulomb, armature: false, gravity: known, cutoff: 5.0, lag: 0.0,'
          ' coulomb_width: 0.05, strength: 10.0}\n')


@pytest.fixture(scope='module')
def motion():
    """A minute of an arm that moves; long before that it has been heard."""
    robot = Robot.from_urdf(resolve_robot('rpr'))
    t = np.arange(round(60.0 * RATE)) / RATE
    w = 2 * np.pi * np.array([0.5, 0.7, 0.9])
    size = np.array([0.5, 0.1, 0.4])
    q, v, a = (size * np.sin(w * t[:, None]), size * w * np.cos(w * t[:, None]),
               -size * w ** 2 * np.sin(w * t[:, None]))
    return robot, t, q, v, Dynamics(robot).inverse_dynamics(q, v, a) + np.tanh(v / 0.05) + v


def publish(node, motion, until):
    """Publish the motion, and what a controller says beside it, until something is so."""
    robot, t, q, v, tau = motion
    states = node.create_publisher(JointState, 'arm/joint_states', qos.state())
    errors = node.create_publisher(JointState, 'arm/tracking_error', qos.telemetry())
    state = JointStateMessage(robot.joint_names, position=True, velocity=True, effort=True)
    error = JointStateMessage(robot.joint_names, position=True, velocity=True)
    begin = time.monotonic()
    for k in range(len(t)):
        state.position[:], state.velocity[:], state.effort[:] = q[k], v[k], tau[k]
        stamp = round(1e9 * (1000.0 + t[k]))
        states.publish(state.stamp(stamp))
        errors.publish(error.stamp(stamp))
        time.sleep(max(0.0, begin + t[k] - time.monotonic()))
        if k % 20 == 0 and until():
            return
    raise AssertionError('nobody has heard enough')


def test_an_arm_that_runs_is_identified(make_node, motion, tmp_path):
    robot = motion[0]
    (tmp_path / 'arm.urdf').write_text(with_scaled_masses(robot, 1.4).to_urdf())
    (tmp_path / 'arm.yaml').write_text(CONFIG)
    output = tmp_path / 'out'
    process = subprocess.Popen(
        [sys.executable, '-m', 'robot_dynamics.bringup.cli', 'identify', '--live', '4',
         '--namespace', 'arm', '--robot', str(tmp_path / 'arm.urdf'), '--config',
         str(tmp_path / 'arm.yaml'), '--output', str(output)],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)
    try:
        publish(make_node('arm'), motion, lambda: process.poll() is not None)
    finally:
        if process.poll() is None:
            process.kill()
        said, errors = process.communicate()
    assert process.returncode == 0, (said, errors)
    first, *_, last = errors.splitlines()
    assert first.startswith('listening to joint states') and 'for 4 s' in first
    content = json.loads((output / 'result.json').read_text())
    assert content['source'] == 'live:/arm/joint_states'
    q, v, a = np.random.default_rng(1).normal(size=(3, 50, 3)) * 0.5
    ours, true, wrong = (Dynamics(one).inverse_dynamics(q, v, a) for one in
                         (Robot.from_urdf(output / 'identified.urdf'), robot,
                          with_scaled_masses(robot, 1.4)))
    assert np.linalg.norm(ours - true) < 0.05 * np.linalg.norm(wrong - true)
    # What was heard can be identified again.
    rows = len(np.load(output / 'recording.npz')['time'])
    assert last == f'received {rows:,} messages of /arm/joint_states'
    kept = load_dataset(output / 'recording.npz', robot)
    assert kept.count == content['rows']
    assert np.ptp(kept.segments[0].position[:, 0]) == pytest.approx(1.0, rel=0.05)


def test_silence_ends_with_a_word(domain, tmp_path):
    with pytest.raises(RecordingError, match='has no message within 1 s'):
        listen(5.0, lambda topic, messages: None, domain=domain, patience=1.0)
    listen(5.0, lambda topic, messages: None, domain=domain, is_over=lambda: True)
    shares = []
    with pytest.raises(RecordingError):
        listen(5.0, lambda topic, messages: None, domain=domain, patience=0.5,
               progress=shares.append)
    assert shares and set(shares) == {0.0}
    for names in ({'namespace': 'a b'}, {'topic': '1 2'}):
        with pytest.raises(BringupError, match='must be a name'):
            listen(1.0, lambda topic, messages: None, domain=domain, **names)


@pytest.mark.parametrize('arguments', [['x.npz', '--live', '1'],
                                       ['--live', '1', '--config', 'servo.yaml']])
def test_live_and_recorded_do_not_mix(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'servo.yaml').write_text('output_error: {}\n')
    assert main(['identify', '--robot', 'rpr', *arguments]) == 1
    assert 'identify: ' in capsys.readouterr().err
    for text in ('0', 'nan', '1e9'):
        with pytest.raises(SystemExit):
            main(['identify', '--robot', 'rpr', '--live', text])
