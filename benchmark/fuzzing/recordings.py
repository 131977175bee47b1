# SPDX-License-Identifier: Apache-2.0
"""Recordings with damaged files, damaged messages, and messages that say odd things."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin

from fuzzing import bags, mcap, mutate_bytes, mutate_data, mutate_xml, odd, seeds
from fuzzing.bags import Message
from fuzzing.judge import ACCEPTED, promise
from fuzzing.kind import Mutated
from robot_dynamics.files import MARKS
from robot_dynamics.nodes.recorder import Progress
from robot_dynamics.report.run_page import build_report

#: One in so many that are accepted is drawn, too: matplotlib takes its time.
_DRAWN = 60
#: What the chunk of a bomb holds, in bytes.
_BOMB = 2**29
#: Files of a recording by name.
Files = dict[str, bytes]

_COMPRESSIONS = (None, None, None, *(
    (mode, CompressionFormat.ZSTD) for mode in (CompressionMode.FILE, CompressionMode.MESSAGE)))


class Recordings(Mutated):
    """Files of rosbag2 recordings."""

    name = 'recordings'
    text = 'recordings'
    share = 700

    def mutant(self, random: Random) -> tuple[Files, bool]:
        """Return the files of a recording, and whether to draw it."""
        mutator = _bomb if random.randrange(50) == 0 else random.choice((
            _damaged_files, _damaged_files, _damaged_messages, _odd_messages, _odd_messages))
        return mutator(random), random.randrange(_DRAWN) == 0

    def run(self, item: tuple[Files, bool]) -> str:
        """Make a report of it; nothing may be written but that."""
        files, drawn = item
        folder, output = self.scratch / 'recording', self.scratch / 'report'
        for path in (folder, output):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        listening = Progress()
        for topic, kind, _, data in _packets(files):
            listening.note(topic, kind, data)
        json.loads(listening.line(1))
        single = folder / next(iter(files), '') if len(files) == 1 else folder
        build_report(single, output, draw=drawn)
        promise({path.name for path in output.iterdir()} <= {'report.html', 'report.png', MARKS},
                'other files than the report')
        promise({path.name for path in folder.iterdir()} == set(files), 'the recording changed')
        return ACCEPTED

    def shown(self, item: tuple[Files, bool]) -> bytes:
        """Return all files one after the other."""
        return b''.join(b'== %b ==\n%b\n' % (name.encode(), content)
                        for name, content in item[0].items())


def _packets(files: Files) -> list[tuple[str, str, int, bytes]]:
    """Messages with damaged bytes, for live subscribers."""
    random = Random(b''.join(files.values()))
    message = random.choice([m for m in bags.good_run() if not m.topic.endswith('description')])
    topic, kind, time, data = bags.raw(message)
    return [(topic, kind, time, data), (topic, kind, time, mutate_bytes.mutate(data, random)),
            (topic, 'std_msgs/msg/Int32', time, data), (f'{topic}/mode', kind, time, data)]


@cache
def _written(storage: str, compression: int) -> Files:
    """Return the files of a run in which nothing is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'run'
        bags.write(path, [bags.raw(message) for message in bags.good_run()],
                   storage=_STORAGES[storage],
                   compression=_COMPRESSIONS[compression])
        return {path.name: path.read_bytes() for path in path.iterdir()}


_STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}


def _bomb(random: Random) -> Files:
    """Return a small file that stands for more than may be had."""
    return {'run.mcap': _bombs(random.choice(('zstd', 'lz4')), random.choice((_BOMB, 2**20)))}


@cache
def _bombs(compression: str, claimed: int) -> bytes:
    return mcap.bomb(compression, _BOMB, claimed)


def _damaged_files(random: Random) -> Files:
    """Damage the bytes of files, or the files of a folder."""
    storage = random.choice(('mcap', 'mcap', 'sqlite3'))
    compression = random.randrange(len(_COMPRESSIONS)) if storage == 'sqlite3' else 0
    files = dict(_written(storage, compression))
    metadata = 'metadata.yaml'
    data = next(name for name in files if name != metadata)
    kind = random.random()
    if kind < 0.5:
        files[data] = mutate_bytes.mutate(files[data], random)
    elif kind < 0.6:
        files[metadata] = mutate_bytes.mutate(files[metadata], random)
    elif kind < 0.85:
        files[metadata] = mutate_data.text(
            mutate_data.mutate(seeds.parsed(files[metadata]), random), random)
    elif kind < 0.9:
        del files[random.choice((metadata, data))]
    elif kind < 0.95:
        files = {random.choice((data, 'x.db3', 'x.mcap', 'x.bag', 'x')): files[data]}
    else:
        files[odd.name(random).replace('/', '_').replace('\0', '')[:50] or 'x'] = b'x'
        files.pop('.', None)
        files.pop('..', None)
    return files


def _damaged_messages(random: Random) -> Files:
    """Damage the bytes, the types, the topics and the times of messages."""
    messages = [bags.raw(message) for message in bags.good_run()]
    for _ in range(random.choice((1, 2, 10))):
        place = random.randrange(len(messages))
        topic, kind, time, data = messages[place]
        change = random.randrange(5)
        if change < 2:
            messages[place] = (topic, kind, time, mutate_bytes.mutate(data, random, 2))
        elif change == 2:
            other = random.choice(('std_msgs/msg/String', 'sensor_msgs/msg/JointState',
                                   'std_msgs/msg/Float64MultiArray', 'std_msgs/msg/Int32'))
            messages = [(t, other if t == topic else k, r, d) for t, k, r, d in messages]
        elif change == 3:
            renamed = random.choice(('/x', '/left' + topic, topic + topic, '/joint_states',
                                     '/\u202ex/tracking_error', '//joint_states', 'joint_states'))
            messages = [(renamed if t == topic else t, k, r, d) for t, k, r, d in messages]
        else:
            messages[place] = (topic, kind, random.choice((0, 1, 2**62, time)), data)
    return {'run.mcap': mcap.content(messages)}


def _odd_messages(random: Random) -> Files:
    """Let messages say what no arm says."""
    messages = list(bags.good_run())
    for _ in range(random.choice((1, 1, 2, 4))):
        topic = random.choice(sorted({message.topic for message in messages} or {'x'}))
        change = random.choice(_CHANGES)
        share = random.choice((0.02, 0.5, 1.1))
        messages = [change(message, random) if message.topic == topic and random.random() < share
                    else message for message in messages]
        messages = [message for message in messages if message is not None]
    return {'run.mcap': mcap.content([bags.raw(message) for message in messages])}


def _other_numbers(message: Message, random: Random) -> Message:
    content = message.content
    if message.kind.endswith('MultiArray'):
        return bags.said(message, bags.vector(_odd_array(content.data, random)))
    if message.kind.endswith('JointState'):
        fields = {field: _odd_array(getattr(content, field), random)
                  for field in ('position', 'velocity', 'effort')}
        return bags.said(message, bags.joint_state(_time(content), content.name, **fields))
    return bags.said(message, bags.text(_odd_text(content.data, random)))


def _other_names(message: Message, random: Random) -> Message:
    content = message.content
    if not message.kind.endswith('JointState'):
        return _other_numbers(message, random)
    names = random.choice(([], ['joint1', 'joint1'], ['joint2', 'joint1'], ['joint1'],
                           ['joint1', '$a$ $\\frac{$'], ['joint1', 'joint2', 'joint3'],
                           [odd.name(random)[:300].encode('utf-8', 'replace').decode(), 'joint1']))
    fields = {field: np.resize(getattr(content, field), len(names))
              if len(getattr(content, field)) else () for field in
              ('position', 'velocity', 'effort')}
    return bags.said(message, bags.joint_state(_time(content), names, **fields))


def _other_stamp(message: Message, random: Random) -> Message:
    content = message.content
    if not message.kind.endswith('JointState'):
        return _other_numbers(message, random)
    t = _time(content) + random.choice((0.0, -1.0, 1.0, 1e3, -1e6, 3e8, -1.6e9))
    fields = {field: getattr(content, field) for field in ('position', 'velocity', 'effort')}
    return bags.said(message, bags.joint_state(t, content.name, **fields))


def _missing(_message: Message, _random: Random) -> None:
    return None


_CHANGES: tuple[Callable[[Message, Random], Message | None], ...] = (
    _other_numbers, _other_numbers, _other_names, _other_stamp, _missing)


def _odd_array(values: Any, random: Random) -> Any:
    array = np.array(values, dtype=np.float64)
    kind = random.random()
    if kind < 0.2:
        return np.resize(array, random.choice((0, 1, 3, 1000)))
    if kind < 0.4:
        return 0.0 * array
    if array.size:
        array[random.randrange(array.size)] = odd.float64(random)
    return array


def _odd_text(text: str, random: Random) -> str:
    if '<robot' in text and random.random() < 0.7:
        raw = mutate_xml.mutate(random.choice(seeds.descriptions()), random)
        return raw.decode('utf-8', 'replace')
    return random.choice((
        '', '/etc/passwd', 'tracking', '[' * 5000, '[1, 2]', '{}', 'null', '["a"]', '[null]',
        json.dumps([f'link_{k}/m' for k in range(20)]), '"\ud800"'.encode(
            'utf-8', 'replace').decode(), odd.name(random).encode('utf-8', 'replace').decode()))


def _time(content: Any) -> float:
    return float(content.header.stamp.sec - bags.EPOCH) + 1e-9 * content.header.stamp.nanosec
