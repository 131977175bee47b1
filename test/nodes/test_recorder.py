# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import resource
import signal
import threading
import time
from pathlib import Path

import pytest
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter as RosParameter
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.bringup.runner import ProcessRunner
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import FileError, RecordingError
from robot_dynamics.files import MARKS
from robot_dynamics.nodes.recording import BagWriter, Topic
from robot_dynamics.nodes.ros import qos
from robot_dynamics.recordings.bag import read_topics


def read(folder: Path) -> dict[str, list]:
    """Return every message by topic."""
    messages: dict[str, list] = {}
    with AnyReader([folder]) as reader:
        for connection, _, data in reader.messages():
            messages.setdefault(connection.topic, []).append(
                reader.deserialize(data, connection.msgtype))
    return messages


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_records_every_topic_and_closes_on_a_signal(start, observer, tmp_path, number):
    node = observer.node
    states = node.create_publisher(JointState, 'joint_states', qos.state())
    errors = node.create_publisher(JointState, 'adaptive_controller/tracking_error',
                                   qos.telemetry())
    mode = node.create_publisher(String, 'adaptive_controller/mode', qos.latched())
    estimate = node.create_publisher(Float64MultiArray, 'adaptive_controller/parameter_estimate',
                                     qos.telemetry())
    mode.publish(String(data='hold'))
    folder = tmp_path / 'bag'
    recorder = start('recorder', output=folder, progress_period=0.2)
    assert observer.spin(10.0, lambda: all(publisher.get_subscription_count() for publisher in (
        states, errors, mode, estimate)))
    for value in (1.0, 1.0, 2.0):
        estimate.publish(Float64MultiArray(data=[value]))
        observer.spin(0.3)
    for k in range(500):
        message = JointState(name=['a', 'b'], position=[float(k), 0.0])
        states.publish(message)
        errors.publish(JointState(name=['a', 'b'], position=[0.3, 0.4]))
        time.sleep(0.002)
    mode.publish(String(data='track'))
    observer.spin(0.3)
    status, output, stderr = recorder.stop(number)
    assert status == 0, stderr
    assert 'Traceback' not in stderr
    messages = read(folder)
    assert [m.position[0] for m in messages['/joint_states']] == [float(k) for k in range(500)]
    assert len(messages['/adaptive_controller/tracking_error']) == 500
    # Latched, so also what was said before the recorder came.
    assert [m.data for m in messages['/adaptive_controller/mode']] == ['hold', 'track']
    assert (folder / 'metadata.yaml').is_file()
    lines = [json.loads(line) for line in output.splitlines()]
    # The recorder says itself how it is, once a second, and records that as well.
    counts = {topic: len(those) for topic, those in messages.items()}
    assert 1005 <= lines[-1]['messages'] <= sum(counts.values())
    assert counts.pop('/diagnostics') >= 1
    assert sum(counts.values()) == 1005, counts
    learns = [line['learns'] for line in lines]
    assert learns == sorted(learns) and not learns[0] and learns[-1]
    assert lines[-1]['mode'] == 'track'
    # The mean square of 0.3 and 0.4 is 0.125.
    assert lines[-1]['error'] == pytest.approx(0.125 ** 0.5)
    assert lines[-1]['time'] > 1.0
    assert sum(line['messages'] >= 3 and not line['learns'] for line in lines) >= 1


def test_an_old_recording_is_replaced_and_nothing_else(tmp_path):
    folder = tmp_path / 'bag'
    for count in (1, 2):
        writer = BagWriter(folder)
        writer.add_topic(Topic('/a', 'std_msgs/msg/Float64MultiArray', (qos.telemetry(),)))
        for k in range(count):
            writer.write('/a', k, _SERIALISED)
        writer.close()
        assert len(read(folder)['/a']) == count
    (folder / 'thesis.tex').write_text('ten years of work')
    with pytest.raises(FileError, match=r'thesis\.tex was not written by robot_dynamics'):
        BagWriter(folder)
    assert (folder / 'thesis.tex').exists() and (folder / 'metadata.yaml').exists()
    with pytest.raises(FileError, match='must be a folder, got a file'):
        BagWriter(folder / 'thesis.tex')


@pytest.mark.parametrize('names', [('run1.mcap', 'run2.mcap', 'thesis.db3'), ('metadata.yaml',)])
def test_recordings_of_the_user_stay(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text('mine')
    with pytest.raises(FileError, match=f'{names[0]} was not written by robot_dynamics'):
        BagWriter(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} \
        == dict.fromkeys(names, 'mine')


def test_a_recording_that_was_killed_is_replaced_and_an_exchanged_one_is_not(tmp_path):
    folder = tmp_path / 'bag'
    BagWriter(folder)._writer.abort()
    BagWriter(folder).close()
    (folder / 'bag.mcap').write_text('mine')
    with pytest.raises(FileError, match=r'bag\.mcap was changed after robot_dynamics wrote it'):
        BagWriter(folder)
    assert (folder / 'bag.mcap').read_text() == 'mine'


def test_a_link_is_not_removed(tmp_path):
    precious = tmp_path / 'precious.mcap'
    precious.write_text('precious')
    folder = tmp_path / 'bag'
    folder.mkdir()
    (folder / 'x.mcap').symlink_to(precious)
    with pytest.raises(FileError, match=r'x\.mcap was not written by robot_dynamics'):
        BagWriter(folder)
    assert precious.read_text() == 'precious' and (folder / 'x.mcap').is_symlink()


@pytest.mark.parametrize('target', ['other', 'nowhere'])
def test_a_folder_that_is_a_link_is_refused(tmp_path, target):
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other' / 'x.mcap').write_text('precious')
    (tmp_path / 'bag').symlink_to(tmp_path / target)
    with pytest.raises(FileError, match='symbolic link'):
        BagWriter(tmp_path / 'bag')
    assert (tmp_path / 'other' / 'x.mcap').read_text() == 'precious'
    assert not (tmp_path / 'nowhere').exists()


@pytest.mark.parametrize('folder', ['x' * 5000, '\x00', '/proc/nothing/bag'])
def test_a_folder_that_is_none_is_refused(tmp_path, folder):
    with pytest.raises(FileError, match='cannot be written'):
        BagWriter(tmp_path / folder)


def test_no_service_makes_it_write_anywhere_else(start, observer, tmp_path):
    states = observer.node.create_publisher(JointState, 'joint_states', qos.state())
    for folder in ('work', 'elsewhere'):
        (tmp_path / folder).mkdir()
    recorder = start('recorder', output=tmp_path / 'work' / 'bag')
    assert observer.spin(10.0, lambda: states.get_subscription_count() > 0)
    wishes = [('output', str(tmp_path / 'elsewhere' / 'bag')), ('output', ''),
              ('topics', ['/../../elsewhere/x'])]
    for service in (SetParameters, SetParametersAtomically):
        for name, value in wishes:
            answer = observer.call(
                service, f'recorder/{_SERVICES[service]}', service.Request(
                    parameters=[RosParameter(name, value=value).to_parameter_msg()]))
            result = answer.results[0] if service is SetParameters else answer.result
            assert not result.successful, name
    states.publish(JointState(name=['a'], position=[1.0]))
    observer.spin(0.3)
    status, _, stderr = recorder.stop()
    assert status == 0, stderr
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob('*')) == [
        'elsewhere', 'work', 'work/bag', f'work/bag/{MARKS}', 'work/bag/bag.mcap',
        'work/bag/metadata.yaml']


_SERVICES = {SetParameters: 'set_parameters',
             SetParametersAtomically: 'set_parameters_atomically'}


#: An empty Float64MultiArray: header, no dimension, offset 0, no data.
_SERIALISED = b'\x00\x01\x00\x00' + bytes(12)


def test_a_slow_disk_stops_nobody_and_what_waits_is_bounded(tmp_path):
    writer = BagWriter(tmp_path / 'bag', capacity=100 * len(_SERIALISED))
    writer.add_topic(Topic('/a', 'std_msgs/msg/Float64MultiArray'))
    disk = threading.Event()
    writer._queue.put(disk.wait)
    for k in range(150):
        writer.write('/a', k, _SERIALISED)
    assert (writer.messages, writer.dropped) == (100, 50)
    disk.set()
    writer.close()
    assert len(read(tmp_path / 'bag')['/a']) == 100


def test_a_failing_disk_is_reported(tmp_path):
    writer = BagWriter(tmp_path / 'bag')

    def fail():
        raise OSError(28, 'No space left on device')

    writer._queue.put(fail)
    with pytest.raises(RecordingError, match=r'any more \(No space left on device\).*recorded '
                                             'before can be read'):
        writer.close()


def test_what_was_recorded_before_the_disk_was_full_is_read(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    writer.add_topic(Topic('/a', 'std_msgs/msg/Float64MultiArray'))
    for k in range(10_000):
        writer.write('/a', k, _SERIALISED)
    while writer._bytes_written < 10_000 * len(_SERIALISED):
        time.sleep(0.01)
    file = writer._writer.storage.bio

    class FullDisk:
        """Takes a part of what is written, as a disk does that becomes full."""

        room = 200_000

        def write(self, data):
            data = bytes(data)
            file.write(data[:self.room])
            self.room -= len(data)
            if self.room < 0:
                raise OSError(28, 'No space left on device')

        def __getattr__(self, name):
            return getattr(file, name)

    writer._writer.storage.bio = FullDisk()
    with pytest.raises(RecordingError, match='No space left'):
        writer.close()
    topics = read_topics(tmp_path / 'bag', lambda types: types)
    assert 4000 < len(topics['/a'].messages) < 5000
    BagWriter(tmp_path / 'bag').close()


def test_a_full_disk_ends_the_recorder_only(domain, tmp_path):
    pytest.importorskip('mujoco', reason='needs the simulated arm')
    lines = []
    processes = System(robot='planar_2r', rate=500.0, record=tmp_path / 'bag').processes()
    with ProcessRunner(processes, on_line=lines.append) as runner:

        def run(seconds, until):
            end = time.monotonic() + seconds
            while not until() and time.monotonic() < end:
                runner.poll(0.1)
            return until()

        assert run(90.0, lambda: any('tracking: the arm follows' in line.text for line in lines))
        # The disk of this process alone. The first chunk is written after a megabyte.
        resource.prlimit(runner.pids['/recorder'], resource.RLIMIT_FSIZE, (300_000, 300_000))
        assert run(90.0, lambda: runner.exit_statuses()['/recorder'] is not None)
        run(2.0, lambda: False)
        others = {name: status for name, status in runner.exit_statuses().items()
                  if name != '/recorder'}
        assert len(others) == 4 and set(others.values()) == {None}, lines
        assert runner.exit_statuses()['/recorder'] == 1
    # A busy machine also loses messages, which is reported.
    own, of_runner = [line.text for line in lines if line.process.node == 'recorder'
                      and line.stream == 'stderr' and 'were not recorded' not in line.text]
    assert 'bag cannot be written any more (File too large)' in own
    assert of_runner.startswith('ended with status 1: ') and of_runner.endswith('the others go on')
    recorded = read_topics(tmp_path / 'bag', lambda types: {'/joint_states': types[
        '/joint_states']})['/joint_states']
    assert len(recorded.messages) > 300


def test_an_empty_recording_can_be_read(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    writer.close()
    assert (tmp_path / 'bag' / 'metadata.yaml').is_file()


def test_offered_qos_is_kept(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    writer.add_topic(Topic('/a', 'std_msgs/msg/String', (qos.latched(),)))
    writer.close()
    with AnyReader([tmp_path / 'bag']) as reader:
        offered = reader.connections[0].ext.offered_qos_profiles[0]
    assert offered.durability.name == 'TRANSIENT_LOCAL'
    assert offered.reliability.name == 'RELIABLE'
    assert offered.depth == 1


def test_an_unknown_type_is_refused_by_name(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    with pytest.raises(RecordingError, match='my_msgs/msg/Odd'):
        writer.add_topic(Topic('/odd', 'my_msgs/msg/Odd'))
    writer.close()


@pytest.mark.parametrize(('parameters', 'wanted'), [
    ({}, 'parameter output'), ({'output': '/dev/null/bag'}, '/dev/null/bag'),
    ({'output': '/tmp', 'buffer_size': 0}, 'buffer_size')])
def test_refuses_in_one_line(start, parameters, wanted):
    status, _, stderr = start('recorder', **parameters).wait()
    assert status == 1
    assert len(stderr.splitlines()) == 1 and wanted in stderr
