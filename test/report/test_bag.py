# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import shutil
import sqlite3
import struct
import sys
import tracemalloc
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import ModelError, RecordingError
from robot_dynamics.recordings import bag as bags
from robot_dynamics.recordings import mcap_file
from robot_dynamics.recordings.bag import read_topics
from robot_dynamics.recordings.mcap_file import McapFile
from robot_dynamics.report.recording import read_recording
from robot_dynamics.report.run_page import build_report
from robot_dynamics.report.summary import summarize

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STORE = get_typestore(Stores.ROS2_HUMBLE)
TEXT, STATE, ARRAY = ('std_msgs/msg/String', 'sensor_msgs/msg/JointState',
                      'std_msgs/msg/Float64MultiArray')
NAMES = ['a', 'b']
#: A text that merges mappings into mappings without end.
BOMB = ('a: &a {x: 1}\n' + ''.join(
    f'{after}: &{after} {{<<: [{", ".join([f"*{before}"] * 8)}]}}\n'
    for before, after in pairwise('abcdefghijkl'))).encode()


def text(data):
    return TEXT, bytes(STORE.serialize_cdr(STORE.types[TEXT](data), TEXT))


def state(t, names=NAMES, position=(0.1, 0.2), effort=(1.0, 2.0)):
    stamp = STORE.types['builtin_interfaces/msg/Time'](1000 + int(t // 1), round(t % 1 * 1e9))
    header = STORE.types['std_msgs/msg/Header'](stamp, '')
    message = STORE.types[STATE](header, list(names), np.array(position, float), np.empty(0),
                                 np.array(effort, float))
    return STATE, bytes(STORE.serialize_cdr(message, STATE))


def array(*values):
    layout = STORE.types['std_msgs/msg/MultiArrayLayout']([], 0)
    message = STORE.types[ARRAY](layout, np.array(values, float))
    return ARRAY, bytes(STORE.serialize_cdr(message, ARRAY))


def good():
    """Return a run of three seconds by topic: times and messages."""
    times = [0.1 * k for k in range(30)]
    estimates = [array(1.0 + (t > 1.5), 0.0) for t in times]
    return {
        '/joint_states': [(t, state(t)) for t in times],
        '/c/tracking_error': [(t, state(t, position=(0.01, -0.01))) for t in times],
        '/c/command': [(t, state(t)) for t in times],
        '/c/parameter_estimate': list(zip(times, estimates, strict=True)),
        '/c/parameter_names': [(0.0, text('["x/m", "y/m"]'))],
        '/c/timing': [(t, array(1e-3, 1e-3, 2e-3, 2e-3)) for t in times],
        '/c/mode': [(0.0, text('tracking'))],
    }


def write(folder, topics, storage=StoragePlugin.MCAP, compression=None):
    writer = Writer(folder, version=8, storage_plugin=storage)
    if compression is not None:
        writer.set_compression(compression, CompressionFormat.ZSTD)
    with writer:
        for topic, messages in topics.items():
            connections = {}
            for t, (kind, data) in messages:
                if kind not in connections:
                    connections[kind] = writer.add_connection(topic, kind, typestore=STORE)
                writer.write(connections[kind], round(1e9 * (1000 + t)), data)
    return folder


def mcap_chunk(data, compression, size):
    """Return an MCAP file of one chunk, compressed data of which a size is claimed."""
    name = compression.encode()
    chunk = struct.pack('<QQQI', 0, 1, size, 0) + struct.pack('<I', len(name)) + name \
        + struct.pack('<Q', len(data)) + data
    return b'\x89MCAP0\r\n' + struct.pack('<BQ', 6, len(chunk)) + chunk


@pytest.fixture
def make(tmp_path):
    """Write a run with other topics, and return its folder."""
    def make(changes=None, **options):
        return write(tmp_path / 'run', {**good(), **(changes or {})}, **options)
    return make


def refused(path, match, error=RecordingError):
    with pytest.raises(error, match=match) as caught:
        build_report(path, path.parent / 'report', draw=False)
    assert caught.value.subject
    assert caught.value.remedy
    assert not (path.parent / 'report').exists()


def test_the_run_that_is_changed_is_good(make):
    summary = summarize(read_recording(make()))
    assert summary.adaptation_start == pytest.approx(1.6)


def test_of_several_controllers_the_one_that_was_active_longest_is_reported(make):
    errors = [(0.1 * k, state(0.1 * k, position=(0.5, 0.5))) for k in range(29)]
    path = make({'/a/tracking_error': errors, '/a/command': errors,
                 '/a/mode': [(0.0, text('tracking')), (0.1, text('safe'))],
                 '/d/tracking_error': errors[:2]})
    assert read_recording(path).controller == 'c'
    assert summarize(read_recording(path)).interruptions == 0
    page = build_report(path, path.parent / 'report', draw=False).page.read_text()
    assert '<tr><td>controller</td><td>c</td></tr>' in page


@pytest.mark.parametrize('options', [
    {'storage': StoragePlugin.SQLITE3},
    {'storage': StoragePlugin.SQLITE3, 'compression': CompressionMode.MESSAGE},
    {'compression': CompressionMode.STORAGE}])
def test_every_way_to_store_is_read(make, options):
    run = read_recording(make(**options))
    np.testing.assert_allclose(run.states.time, np.arange(30) / 10, atol=1e-9)
    assert run.estimate_names == ('x/m', 'y/m')


@pytest.mark.parametrize('options', [
    {}, {'storage': StoragePlugin.SQLITE3},
    {'storage': StoragePlugin.SQLITE3, 'compression': CompressionMode.MESSAGE}])
def test_batches_hold_what_comes_one_by_one(make, monkeypatch, options):
    def states(types):
        return {name: kind for name, kind in types.items() if kind == STATE}

    path = make(**options)
    single: dict[str, list[bytes]] = {}
    for name, _, data in bags.stream_topics(path, states):
        single.setdefault(name, []).append(data)
    monkeypatch.setattr(bags, 'BATCH', 700)
    batches = list(bags.stream_batches(path, states))
    together: dict[str, list[bytes]] = {}
    for name, messages in batches:
        together.setdefault(name, []).extend(messages)
    assert together == single
    assert len(batches) > 2 * len(single)
    monkeypatch.setattr(bags, 'MAX_TOTAL', 1000)
    with pytest.raises(RecordingError, match='has more than'):
        list(bags.stream_batches(path, states))


def test_what_rosbags_reads_is_read_the_same(bag):
    with Reader(bag) as reader:
        expected = sorted((connection.topic, time, bytes(data))
                          for connection, time, data in reader.messages())
    file = next(bag.glob('*.mcap'))
    topics = McapFile(file).topics()
    assert sorted((name, time, data) for name, time, data in McapFile(file).messages(topics)) \
        == expected


def test_a_compressed_file_says_how_to_read_it(make):
    folder = make(storage=StoragePlugin.SQLITE3, compression=CompressionMode.FILE)
    refused(folder, 'zstd -d')


@pytest.mark.parametrize('damage', [
    lambda raw: b'', lambda raw: raw[:7], lambda raw: raw[9:], lambda raw: bytes(len(raw)),
    lambda raw: raw[:12] + b'\xff' * 16 + raw[28:]])
@pytest.mark.parametrize('storage', [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_a_damaged_file_is_refused(make, damage, storage):
    folder = make(storage=storage)
    file = next(path for path in folder.iterdir() if path.name != 'metadata.yaml')
    file.write_bytes(damage(file.read_bytes()))
    refused(folder, '.')


def test_a_recording_that_was_cut_off_is_read_as_far_as_it_goes(make):
    """As a recorder leaves it that was killed: no end, no index, no metadata."""
    folder = make()
    (folder / 'metadata.yaml').unlink()
    file = next(folder.glob('*.mcap'))
    whole = file.read_bytes()
    counts = []
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        file.write_bytes(whole[:int(share * len(whole))])
        try:
            topics = McapFile(file).topics()
            counts.append(sum(1 for _ in McapFile(file).messages(topics)))
        except RecordingError:
            counts.append(0)
    assert counts == sorted(counts) and counts[-1] > 0


@pytest.mark.parametrize('content', [
    b'', b'\xff\xfe', b'[' * 5000, b'a: &a [*a]', b'rosbag2_bagfile_information: 1',
    b'rosbag2_bagfile_information: {version: x}', b'!!python/object/apply:os.getcwd []',
    b'#' * 10**6, BOMB])
def test_nothing_depends_on_what_the_metadata_say(make, within, content):
    folder = make()
    (folder / 'metadata.yaml').write_bytes(content)
    assert len(within(2.0, lambda: read_recording(folder)).states) == 30


def test_nor_on_the_profiles_of_topics(tmp_path, within):
    """Which are YAML within the file."""
    for storage in (StoragePlugin.MCAP, StoragePlugin.SQLITE3):
        folder = write(tmp_path / storage.name, good(), storage)
        file = next(path for path in folder.iterdir() if path.name != 'metadata.yaml')
        if storage is StoragePlugin.SQLITE3:
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute('UPDATE topics SET offered_qos_profiles = ?', (BOMB.decode(),))
        assert len(within(2.0, partial(read_recording, folder)).states) == 30


def test_metadata_name_no_file_outside_the_folder(make, tmp_path):
    folder = make()
    elsewhere = tmp_path / 'elsewhere.mcap'
    shutil.move(next(folder.glob('*.mcap')), elsewhere)
    metadata = folder / 'metadata.yaml'
    content = metadata.read_text()
    for path in (str(elsewhere), '../elsewhere.mcap'):
        metadata.write_text(re.sub(r'\S+\.mcap', path, content))
        refused(folder, 'contains no MCAP or SQLite file')


@pytest.mark.timeout(20)
@pytest.mark.parametrize('name', ['metadata.yaml', 'x.mcap'])
def test_a_pipe_is_not_waited_for(tmp_path, name):
    (tmp_path / 'run').mkdir()
    os.mkfifo(tmp_path / 'run' / name)
    refused(tmp_path / 'run', f'{name}, which is not a regular file')
    refused(tmp_path / 'run' / name, 'not a regular file')


@pytest.mark.parametrize('path', ['x' * 5000, '\x00', 'no/such/folder'])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(RecordingError, match=r'cannot be read|does not exist'):
        read_recording(path)


@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
def test_little_data_that_stands_for_much_is_refused(tmp_path, compression):
    size = 200 * 2**20
    if compression == 'lz4':
        data = lz4.frame.compress(bytes(size))
    else:
        data = zstd.compress(bytes(size))
    assert len(data) < 2**20
    for claimed in (size, 100):
        file = tmp_path / 'bomb.mcap'
        file.write_bytes(mcap_chunk(data, compression, claimed))
        tracemalloc.start()
        refused(file, f'has {size} bytes' if claimed == size else 'its checksum|no.* recorded')
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50e6


@pytest.mark.parametrize('content', [
    struct.pack('<BQ', 5, 22 + 2**24) + bytes(22 + 2**24), struct.pack('<BQ', 99, 0) * 2**21],
    ids=['large', 'tiny records'])
def test_many_chunks_that_stand_for_much_are_refused_in_time(tmp_path, within, content):
    """Legal ones: 4 MB that would keep a reader busy for minutes."""
    chunk = mcap_chunk(zstd.compress(content), 'zstd', len(content))[8:]
    file = tmp_path / 'bomb.mcap'
    file.write_bytes(b'\x89MCAP0\r\n' + chunk * 2000)
    assert file.stat().st_size < 5e6
    within(6.0, lambda: refused(file, 'is much larger decompressed than .* ros2 bag convert'))
    # Also where damaged parts are left out.
    reported = []
    with pytest.raises(RecordingError, match='much larger'):
        within(6.0, lambda: list(bags.stream_batches(file, lambda types: {}, reported.append)))
    assert not reported


def test_an_arm_at_rest_is_compressed_less_than_is_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(mcap_file, 'MAX_UNPACKED', 0)
    messages = [(0.01 * k, state(0.01 * k)) for k in range(20_000)]
    folder = write(tmp_path / 'run', {'/joint_states': messages},
                   compression=CompressionMode.STORAGE)
    topics = read_topics(folder, lambda types: {'/joint_states': STATE})
    assert len(topics['/joint_states'].messages) == 20_000


def test_messages_that_together_stand_for_much_are_refused(make, monkeypatch):
    monkeypatch.setattr(bags, 'MAX_TOTAL', 2**22)
    many = [(0.01 * k, text('x' * 2**20)) for k in range(8)]
    folder = make({'/c/mode': many}, storage=StoragePlugin.SQLITE3,
                  compression=CompressionMode.MESSAGE)
    refused(folder, 'record less at a time')


def test_wanted_messages_that_stand_for_much_are_refused_in_time(tmp_path, within):
    """Joint states of many joints without a name."""
    large = state(0.0, [''] * 100_000)
    folder = write(tmp_path / 'run', {'/joint_states': [(0.01 * k, large) for k in range(100)]},
                   compression=CompressionMode.STORAGE)
    assert next(folder.glob('*.mcap')).stat().st_size < 2**20
    with pytest.raises(RecordingError, match=r'has more than .. MiB in the topics .* convert'):
        within(2.0, lambda: read_topics(folder, lambda types: types))


@pytest.mark.timeout(20)
def test_zeros_at_the_end_are_not_read_one_by_one(make):
    """A file system that lost power leaves them; as a sparse file they cost nothing."""
    folder = make()
    file = next(folder.glob('*.mcap'))
    whole = file.read_bytes()
    file.write_bytes(whole[:len(whole) // 2])
    os.truncate(file, 2**38)
    reported = []
    list(bags.stream_batches(folder, lambda types: {}, reported.append))
    assert any('truncated' in str(error) for error in reported)


def test_a_recording_on_a_full_disk_is_read_to_its_last_whole_message(tmp_path):
    messages = [(0.01 * k, state(0.01 * k)) for k in range(30_000)]
    folder = write(tmp_path / 'run', {'/joint_states': messages})
    (folder / 'metadata.yaml').unlink()
    file = next(folder.glob('*.mcap'))
    whole = file.read_bytes()
    for share in (0.02, 0.3, 0.6):
        file.write_bytes(whole[:int(share * len(whole))])
        read = read_topics(folder, lambda types: {'/joint_states': STATE})['/joint_states']
        # An index follows each chunk, and a summary all of them.
        assert len(read.messages) == pytest.approx(share * 30_000, rel=0.25)


def test_a_message_that_stands_for_much_is_refused(make, monkeypatch):
    monkeypatch.setattr(bags, 'MAX_MESSAGE', 2**20)
    folder = make({'/robot_description': [(0.0, text('x' * 2**22))]},
                  storage=StoragePlugin.SQLITE3, compression=CompressionMode.MESSAGE)
    refused(folder, 'robot_description has a damaged message, number 0')


def test_more_than_can_be_held_is_refused(make, monkeypatch):
    monkeypatch.setattr(bags, 'MAX_TOTAL', 10_000)
    refused(make(), 'record less at a time')


def test_a_table_that_computes_is_refused(tmp_path):
    file = tmp_path / 'x.db3'
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute('CREATE TABLE topics(id INTEGER, name TEXT, type TEXT)')
        connection.execute('CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL '
                           'SELECT id + 1 FROM n) SELECT id, id AS topic_id, id AS timestamp, '
                           "x'00' AS data FROM n")
        connection.execute("INSERT INTO topics VALUES (1, '/joint_states', ?)", (STATE,))
    refused(file, 'the table messages is missing')


def test_a_column_that_computes_is_refused(tmp_path):
    file = tmp_path / 'x.db3'
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute('CREATE TABLE topics(id INTEGER, name TEXT, type TEXT)')
        connection.execute('CREATE TABLE messages(id INTEGER, topic_id INTEGER, timestamp '
                           'INTEGER, data BLOB AS (zeroblob(60000000)))')
        connection.execute("INSERT INTO topics VALUES (1, '/joint_states', ?)", (STATE,))
    refused(file, 'the table messages computes a column')


@pytest.mark.parametrize(('changes', 'reason'), [
    ({'/joint_states': [(0.0, text('x'))]},
     'must have the type sensor_msgs.*got std_msgs/msg/String'),
    ({'/c/timing': [(0.0, text('x'))]}, 'got std_msgs/msg/String'),
    ({'/c/mode': [(0.0, (TEXT, b'\x00\x01\x00\x00\xff\xff\xff\xff'))]},
     'damaged message, number 0'),
    ({'/c/mode': [(0.0, (TEXT, b''))]}, 'damaged message, number 0'),
    ({'/joint_states': [(0.0, state(0.0)), (0.1, (STATE, state(0.1)[1][:40]))]},
     'damaged message, number 1'),
    ({'/joint_states': [(0.0, state(0.0, ['a', 'a']))]}, 'joint_states must have distinct'),
    ({'/joint_states': [(0.0, state(0.0, ['a', '\x1b[2J']))]}, 'must have distinct names'),
    ({'/joint_states': [(0.0, state(0.0, [f'j{k}' for k in range(501)]))]},
     'must have distinct names'),
    ({'/joint_states': [(0.0, state(0.0, position=()))]}, 'joint_states has no positions'),
    ({'/c/tracking_error': [(0.0, state(0.0, position=()))]}, 'tracking_error has no positions'),
    ({'/c/tracking_error': [(t, state(t, position=(np.nan, 0.0))) for t in np.arange(30) / 10]},
     's has no tracking error'),
    ({'/c/tracking_error': [(t, state(t, position=(1e300, 0.0))) for t in np.arange(30) / 10]},
     's has no tracking error'),
    ({'/c/tracking_error': [(0.0, state(0.0)), (0.1, state(0.0))]}, 'of tracking'),
    ({'/c/command': []}, 'has no c/command'),
    ({'/c/parameter_names': [(0.0, text('[1]'))]}, 'must be a list of names'),
    ({'/c/parameter_names': [(0.0, text('x'))]}, 'must be a list of names'),
    ({'/c/parameter_names': [(0.0, text('[' * 100_000))]}, 'must be a list of names')])
def test_odd_messages_are_refused(make, changes, reason):
    refused(make(changes), reason)


def test_a_recorded_description_is_never_a_path(make, tmp_path):
    (tmp_path / 'secret.urdf').write_text('<robot name="r"/>')
    folder = make({'/robot_description': [(0.0, text(str(tmp_path / 'secret.urdf')))]})
    refused(folder, 'robot description is not well-formed XML', ModelError)


def test_states_in_the_wrong_order_are_sorted(make):
    times = [0.1 * k for k in range(30)]
    swapped = [*times[:10], times[11], times[10], *times[12:]]
    run = read_recording(make({'/joint_states': [(t, state(t, position=(t, 0.0)))
                                                 for t in swapped]}))
    np.testing.assert_allclose(run.states.time, times, atol=1e-9)
    np.testing.assert_allclose(run.states.position[:, 0], times, atol=1e-9)


def test_estimates_without_all_their_names_are_not_drawn(make):
    run = read_recording(make({'/c/parameter_names': [(0.0, text('["x/m"]'))]}))
    assert run.estimate_names == ()
    assert run.estimates.values.shape == (30, 2)


def test_a_timing_of_another_kind_is_none(make):
    assert len(read_recording(make({'/c/timing': [(0.0, array(1.0, 2.0))]})).timing) == 0


def test_years_between_two_stamps_make_no_large_page(make, tmp_path):
    late = [(t, state(t + 6e7 * (t > 2.85), position=(0.01, 0.0))) for t in np.arange(30) / 10]
    result = build_report(make({'/c/tracking_error': late, '/joint_states': late}),
                          tmp_path / 'report', draw=False)
    assert result.page.stat().st_size < 5e6


def test_other_topics_are_not_even_looked_at(make):
    folder = make({'/other': [(0.0, (TEXT, b'damaged'))], '/c/reference': [(0.0, text('x'))]})
    assert len(read_recording(folder).states) == 30
    topics = read_topics(folder, lambda types: {'/c/mode': TEXT, '/joint_states': None})
    assert [message.data for message in topics['/c/mode'].messages] == ['tracking']
    assert topics['/joint_states'].messages == [] and len(topics['/joint_states'].times) == 30


@pytest.mark.filterwarnings('error')
def test_a_perfect_run_can_be_reported(make, tmp_path):
    """Zero errors, states at one time, names that mean something to others."""
    names = ['$a$ $\\frac{$', '<!--<script>']
    zero = [(t, state(t, names, position=(0.0, 0.0))) for t in np.arange(30) / 10]
    result = build_report(make({'/c/tracking_error': zero, '/joint_states': zero,
                                '/c/command': zero}), tmp_path / 'report')
    assert result.picture.read_bytes().startswith(b'\x89PNG')
    page = Path(result.page).read_text(encoding='utf-8')
    assert '<!--<script>' not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    assert json.loads(data)['joints'] == names
