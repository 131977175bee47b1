# SPDX-License-Identifier: Apache-2.0
"""Recordings that were cut off or damaged: what is left is read, and what is not is told."""

import shutil
import sqlite3
import struct
import sys
from contextlib import closing

import lz4.frame
import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.bags import PARTS_MISSING, read_bag
from robot_dynamics.identification.dataset.dataset import load_dataset

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS = 3000


@pytest.fixture(scope='module')
def bags(three, tmp_path_factory):
    """Return the files of the same recording of both kinds."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    JointState = store.types['sensor_msgs/msg/JointState']
    Header, Time = (store.types[name] for name in ('std_msgs/msg/Header',
                                                   'builtin_interfaces/msg/Time'))
    folder = tmp_path_factory.mktemp('bags')
    t, q, v, a = three.motion(seconds=ROWS / 200.0)
    tau = three.efforts(q, v, a)
    files = {}
    for kind, plugin in (('mcap', StoragePlugin.MCAP), ('db3', StoragePlugin.SQLITE3)):
        with Writer(folder / kind, version=9, storage_plugin=plugin) as writer:
            topic = writer.add_connection('/joint_states', 'sensor_msgs/msg/JointState',
                                          typestore=store)
            for k in range(ROWS):
                stamp = int(t[k] * 1e9)
                message = JointState(Header(Time(stamp // 10**9, stamp % 10**9), ''),
                                     list(three.robot.joint_names), q[k], v[k], tau[k])
                writer.write(topic, stamp, store.serialize_cdr(
                    message, 'sensor_msgs/msg/JointState'))
        files[kind] = next((folder / kind).glob(f'*.{kind}'))
    return files


@pytest.mark.parametrize('kind', ['mcap', 'db3'])
def test_a_whole_recording_has_nothing_to_tell(three, bags, kind):
    dataset = load_dataset(bags[kind], three.robot)
    assert dataset.count == ROWS
    assert dataset.counts == {}


@pytest.mark.parametrize('share', [0.5, 0.8, 0.99])
@pytest.mark.parametrize('kind', ['mcap', 'db3'])
def test_a_recording_that_ends_in_the_middle(three, bags, tmp_path, kind, share):
    content = bags[kind].read_bytes()
    path = tmp_path / f'cut.{kind}'
    path.write_bytes(content[:int(share * len(content))])
    whole = read_bag(bags[kind], three.robot.joint_names, {})
    try:
        dataset = load_dataset(path, three.robot)
    except RecordingError as error:
        # A single chunk that is not complete holds no message that could be read.
        assert 'is truncated' in str(error) or 'cannot be read' in str(error)
        return
    assert 100 < dataset.count <= ROWS
    assert dataset.counts[PARTS_MISSING] >= 1
    warning, = (finding for finding in dataset.findings if PARTS_MISSING in finding.message)
    assert warning.severity.value == 'warning'
    kept = np.concatenate([segment.position for segment in dataset.segments])
    np.testing.assert_array_equal(kept[:100], whole.position[:100])


def test_most_of_a_table_that_was_cut_is_read(three, bags, tmp_path):
    path = tmp_path / 'cut.db3'
    content = bags['db3'].read_bytes()
    path.write_bytes(content[:int(0.8 * len(content))])
    dataset = load_dataset(path, three.robot)
    assert dataset.count > 0.5 * ROWS


def test_a_damaged_piece_in_the_middle(three, bags, tmp_path):
    """Zeros over a part of the file: what is before and behind is read."""
    content = bytearray(bags['db3'].read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle:middle + 3 * 4096] = bytes(3 * 4096)
    path = tmp_path / 'hole.db3'
    path.write_bytes(content)
    dataset = load_dataset(path, three.robot)
    assert dataset.counts[PARTS_MISSING] == 1
    assert dataset.count > 0.2 * ROWS


def test_a_hole_in_a_piece_of_an_mcap_file_is_told(three, bags, tmp_path):
    """Noise that no checksum guards: what is before it is read, and that more is missing told."""
    content = bytearray(bags['mcap'].read_bytes())
    content[20_000:24_096] = np.random.default_rng(0).bytes(4096)
    path = tmp_path / 'hole.mcap'
    path.write_bytes(content)
    dataset = load_dataset(path, three.robot)
    assert 50 < dataset.count < ROWS
    assert dataset.counts[PARTS_MISSING] >= 1


def test_the_tenth_part_of_a_recording_comes_after_the_ninth(three, bags, tmp_path):
    for number in range(11):
        path = tmp_path / f'run_{number}.db3'
        shutil.copy(bags['db3'], path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute('DELETE FROM messages WHERE (id - 1) / 273 <> ?',
                               (number,))
    dataset = load_dataset(tmp_path, three.robot)
    assert dataset.count == ROWS
    assert dataset.counts == {}


def test_messages_that_are_none_are_counted(three, bags, tmp_path):
    path = tmp_path / 'bad.db3'
    shutil.copy(bags['db3'], path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute('UPDATE messages SET data = ? WHERE id IN (5, 6, 7)', (b'\x00\x01ab',))
        connection.execute('UPDATE messages SET data = substr(data, 1, 60) WHERE id = 100')
        connection.execute('INSERT INTO messages (topic_id, timestamp, data) SELECT topic_id, '
                           'timestamp, data FROM messages WHERE id = 50')
    dataset = load_dataset(path, three.robot)
    assert dataset.counts['damaged messages'] == 4
    assert dataset.counts['rows out of order'] == 1
    assert dataset.count == ROWS - 4


@pytest.mark.parametrize('compression', ['', 'lz4', 'zstd'])
def test_an_only_chunk_that_was_cut(three, bags, tmp_path, compression):
    """The rows before the cut are read, also of a compressed chunk."""
    content = bags['mcap'].read_bytes()
    place = 8
    while content[place] != 6:
        place += 9 + struct.unpack_from('<Q', content, place + 1)[0]
    length, = struct.unpack_from('<Q', content, place + 1)
    body = content[place + 9:place + 9 + length]
    name, = struct.unpack_from('<I', body, 28)
    data = body[32 + name + 8:]
    if compression == 'lz4':
        data = lz4.frame.compress(data)
    elif compression == 'zstd':
        data = zstd.compress(data)
    chunk = body[:28] + struct.pack('<I', len(compression)) + compression.encode() \
        + struct.pack('<Q', len(data)) + data
    path = tmp_path / 'cut.mcap'
    path.write_bytes((content[:place] + b'\x06' + struct.pack('<Q', len(chunk)) + chunk)[
        :place + len(chunk) // 2])
    log = read_bag(path, three.robot.joint_names, {})
    whole = read_bag(bags['mcap'], three.robot.joint_names, {})
    assert 0.2 * ROWS < log.count < 0.7 * ROWS and log.dropped[PARTS_MISSING] == 1
    np.testing.assert_array_equal(log.position, whole.position[:log.count])


def test_a_recording_of_ros_1_is_named(three, tmp_path):
    path = tmp_path / 'run.bag'
    path.write_bytes(b'#ROSBAG V2.0\n')
    for source in (path, tmp_path):
        with pytest.raises(RecordingError, match=r'is a recording of ROS 1; convert it; run: .*'
                                                 r'rosbags-convert --src .*\.bag --dst .*run$'):
            read_bag(source, three.robot.joint_names, {})
