# SPDX-License-Identifier: Apache-2.0
"""Messages of a rosbag2 recording (MCAP or SQLite) that may be damaged or malicious.

Only the requested topics are read, with the message definitions of rosbags; definitions in a
recording are ignored, because they would have to be parsed. The readers of rosbags are not used:
they evaluate ``metadata.yaml`` and the profiles of topics, nested YAML that can expand without
bound. Of the metadata only the entry for compression of single messages is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from robot_dynamics.errors import RecordingError, RobotDynamicsError, install_line
from robot_dynamics.model.yaml_text import read_yaml
from robot_dynamics.recordings.mcap_file import Budget, McapFile, decompressed
from robot_dynamics.recordings.sqlite_file import SqliteFile

#: Largest size of all messages of a recording together, and of one of them, in bytes.
MAX_TOTAL, MAX_MESSAGE = 2 * 2**30, 64 * 2**20
#: All messages together may also have no more than a part for any recording, and a part for each
#: byte of its files, which may be compressed.
MAX_UNPACKED, MOST_FROM_A_BYTE = 64 * 2**20, 30
#: Messages are yielded together up to this size, in bytes, plus one message: efficient for NumPy,
#: with little memory.
BATCH = 4 * 2**20

_METADATA = 'metadata.yaml'
_MCAP, _SQLITE, _ROS1 = '.mcap', '.db3', '.bag'
_REMEDY = 'give the folder of a rosbag2 recording, or record it again'

#: Function from the topics of a recording with their types to the wanted topics with their
#: required types, None if only times are needed.
Choice = Callable[[Mapping[str, str]], Mapping[str, 'str | None']]

#: Called with each damaged or missing part of a recording.
Report = Callable[[RecordingError], None]


@dataclass(eq=False)
class Topic:
    """Messages of a topic and the time each was received, in nanoseconds."""

    messages: list[Any] = field(default_factory=list)
    times: list[int] = field(default_factory=list)


def read_topics(path: str | Path, choose: Choice) -> dict[str, Topic]:
    """Read some topics of a recording.

    Parameters
    ----------
    path : str or Path
        Folder of a rosbag2 recording, or an MCAP or SQLite file.
    choose : callable
        Function from the types of the recorded topics, by name, to the required types of the
        wanted ones; None if only the times are needed.

    Returns
    -------
    dict of str to Topic
        The wanted topics, in the order of the choice; messages in the order of time.

    Raises
    ------
    RecordingError
        If the recording is missing or damaged, or a topic has another type.

    Examples
    --------
    >>> from robot_dynamics.recordings import read_topics
    >>> wanted = {'/joint_states': 'sensor_msgs/msg/JointState'}
    >>> topics = read_topics('my_recording', lambda types: wanted)  # doctest: +SKIP
    >>> topics['/joint_states'].messages[0].position  # doctest: +SKIP
    array([0.1, 0.2])
    """
    path = Path(path)
    wanted, files, compressed = _opened(path, choose)
    with _readable(path):
        messages = sorted(_bounded(files, wanted, compressed, path), key=itemgetter(1))
    return _deserialised(messages, wanted)


def stream_topics(path: Path, choose: Choice, report: Report | None = None
                  ) -> Iterator[tuple[str, int, bytes]]:
    """Yield topic, time of reception (ns) and bytes (CDR) of messages, in the order of the files.

    For recordings larger than the memory; at most `MAX_MESSAGE` bytes of each message.
    ``report`` is called with each damaged or missing part, which is then left out. Without
    ``report``, the first damaged part raises an error, and a truncated file is read up to its end.
    Topics are chosen as in `read_topics`, with the same errors.
    """
    wanted, files, compressed = _opened(path, choose, report)
    with _readable(path):
        yield from _bounded(files, wanted, compressed, path)


def stream_batches(path: Path, choose: Choice, report: Report | None = None
                   ) -> Iterator[tuple[str, list[bytes]]]:
    """Yield topics, each with some of its messages as bytes, in the order of the files.

    As `stream_topics`, but many messages at once and without times; every chosen topic must have a
    type.
    """
    wanted, files, compressed = _opened(path, choose, report)
    total, size, most = 0, 0, _most(path)
    waiting: dict[str, list[bytes]] = {name: [] for name in wanted}

    def batches() -> Iterator[tuple[str, list[bytes]]]:
        for name, messages in waiting.items():
            if messages:
                yield name, messages
                waiting[name] = []

    with _readable(path):
        for file in files:
            # This loop runs a million times.
            for name, _, written in file.messages(wanted):
                data = _decompressed(name, written) if compressed else written
                waiting[name].append(data)
                size += len(data)
                if size > BATCH:
                    total += size
                    _check_total(total, most, path)
                    size = 0
                    yield from batches()
        yield from batches()


def _opened(path: Path, choose: Choice, report: Report | None = None
            ) -> tuple[Mapping[str, str | None], list[McapFile | SqliteFile], bool]:
    """The chosen topics, the files, and whether each message is compressed by itself."""
    with _readable(path):
        files, compressed = _files(path, report)
        types = {name: kind for file in files for name, kind in file.topics().items()}
        wanted = choose(types)
        for name, kind in wanted.items():
            if kind is not None and types[name] != kind:
                raise RecordingError(f'must have the type {kind}, got {types[name]}',
                                     subject=f'topic {name}', remedy='record the topics of a '
                                     'controller of this package')
    return wanted, files, compressed


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into one of this package."""
    try:
        yield
    except RobotDynamicsError:
        raise
    # ValueError: a path with a null character.
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise RecordingError(f'cannot be read: {reason}', subject=str(path),
                             remedy=_REMEDY) from error


def _files(path: Path, report: Report | None) -> tuple[list[McapFile | SqliteFile], bool]:
    """The files of a recording, and whether its messages are compressed one by one."""
    if not path.exists():
        raise RecordingError('does not exist', subject=str(path), remedy=_REMEDY)
    inside = sorted(path.iterdir(), key=_by_numbers) if path.is_dir() else [path]
    for file in inside:
        # Reading a pipe would block forever.
        if not (file.is_file() or file.is_dir()):
            raise RecordingError(f'contains {file.name}, which is not a regular file',
                                 subject=str(path), remedy=_REMEDY)
    old = next((file for file in inside if file.suffix == _ROS1), None)
    if old is not None:
        raise RecordingError('is a recording of ROS 1', subject=str(old),
                             remedy=f'convert it; {install_line("rosbags")}, then: '
                                    f'rosbags-convert --src {old} --dst {old.with_suffix("")}')
    found = [file for file in inside if file.suffix in (_MCAP, _SQLITE) and file.is_file()]
    if not found:
        raise RecordingError('contains no MCAP or SQLite file', subject=str(path),
                             remedy='decompress it: zstd -d FILE' if any(
                                 file.suffix == '.zstd' for file in inside) else _REMEDY)
    metadata = path / _METADATA
    compressed = path.is_dir() and metadata.is_file() and _compresses_messages(metadata)
    budget = Budget(path, sum(file.stat().st_size for file in found))
    return [McapFile(file, report, budget) if file.suffix == _MCAP else SqliteFile(file, report)
            for file in found], compressed


def _by_numbers(path: Path) -> tuple[tuple[int, int, str], ...]:
    """Sorting key of files by number, because part 10 of a bag is x_10.mcap."""
    return tuple((0, int(part), '') if part.isdecimal() else (1, 0, part)
                 for part in re.split(r'(\d+)', path.name))


def _compresses_messages(metadata: Path) -> bool:
    """Whether every message is compressed by itself; False without readable metadata."""
    try:
        content = read_yaml(metadata, RecordingError, _REMEDY)
    except RecordingError:  # A recorder that was killed leaves no metadata.
        return False
    information = content.get('rosbag2_bagfile_information') if isinstance(content, dict) else None
    return isinstance(information, dict) \
        and str(information.get('compression_mode', '')).lower() == 'message'


def _bounded(files: list[McapFile | SqliteFile], wanted: Mapping[str, str | None],
             compressed: bool, path: Path) -> Iterator[tuple[str, int, bytes]]:
    """Yield the wanted messages, decompressed, and empty where the times are enough."""
    total, most = 0, _most(path)
    for file in files:
        for name, time, data in file.messages(wanted):
            kept = b'' if wanted[name] is None else \
                _decompressed(name, data) if compressed else data
            total += len(kept)
            _check_total(total, most, path)
            yield name, time, kept


def _decompressed(topic: str, data: bytes) -> bytes:
    """A message that is compressed by itself, at most `MAX_MESSAGE` bytes of it."""
    try:
        return decompressed(data, 'zstd', MAX_MESSAGE)
    except RecordingError:
        raise
    # The library has exceptions of its own.
    except Exception as error:
        raise RecordingError(f'has a damaged message: {error}', subject=f'topic {topic}',
                             remedy=_REMEDY) from error


def _most(path: Path) -> int:
    """Bytes that all wanted messages may have together."""
    files = path.iterdir() if path.is_dir() else [path]
    return min(MAX_TOTAL, MAX_UNPACKED
               + MOST_FROM_A_BYTE * sum(file.stat().st_size for file in files))


def _check_total(total: int, most: int, path: Path) -> None:
    if total > most:
        raise RecordingError(f'has more than {most // 2**20} MiB in the topics that are read',
                             subject=str(path), remedy='record less at a time, or convert it to '
                             'a recording without compression: ros2 bag convert')


def _deserialised(messages: list[tuple[str, int, bytes]], wanted: Mapping[str, str | None]
                  ) -> dict[str, Topic]:
    store = _type_store()
    topics = {name: Topic() for name in wanted}
    for name, time, data in messages:
        topic, kind = topics[name], wanted[name]
        if kind is not None:
            try:
                topic.messages.append(store.deserialize_cdr(data, kind))
            # rosbags raises any exception of Python for damaged bytes.
            except Exception as error:
                raise RecordingError(f'has a damaged message, number {len(topic.messages)}',
                                     subject=f'topic {name}', remedy=_REMEDY) from error
        topic.times.append(time)
    return topics


def _type_store() -> Any:
    try:
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise RecordingError('is needed for recordings, but is not installed',
                             subject='the Python package rosbags',
                             remedy=install_line('rosbags')) from error
    return get_typestore(Stores.ROS2_HUMBLE)
