# SPDX-License-Identifier: Apache-2.0
"""Messages out of a rosbag2 recording (MCAP or SQLite) that may be damaged, or made to harm.

Only the topics asked for are read, with the definitions of their types that come with
rosbags: those within a recording are code for a parser, and are not looked at. Nor are
the readers of rosbags used, which follow what ``metadata.yaml`` and the profiles of
topics say: YAML within YAML, that a few lines let grow without bound. Of the metadata
nothing is needed but whether messages are compressed one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.yaml_text import read_yaml
from robot_dynamics.recordings.mcap_file import McapFile, decompressed
from robot_dynamics.recordings.sqlite_file import SqliteFile

#: What the messages of a recording may be together, and each of them, in bytes.
MAX_TOTAL, MAX_MESSAGE = 2 * 2**30, 64 * 2**20
#: Messages that are handed out together are as many bytes, or one message more: enough for
#: numpy, little for the memory.
BATCH = 4 * 2**20

_METADATA = 'metadata.yaml'
_KINDS: Mapping[str, type[McapFile | SqliteFile]] = {'.mcap': McapFile, '.db3': SqliteFile}
_REMEDY = 'give the folder of a rosbag2 recording, or record it again'

#: The topics there are, with their types, and those wanted, with the type each has to
#: have, None where nothing but the times is wanted.
Choice = Callable[[Mapping[str, str]], Mapping[str, 'str | None']]

#: Is told of each part of a recording that is damaged or missing.
Tell = Callable[[RecordingError], None]


@dataclass(eq=False)
class Topic:
    """Messages of a topic and when each was received, in nanoseconds."""

    messages: list[Any] = field(default_factory=list)
    times: list[int] = field(default_factory=list)


def read_topics(path: str | Path, choose: Choice) -> dict[str, Topic]:
    """Read some topics of a recording.

    Parameters
    ----------
    path : str or Path
        Folder of a rosbag2 recording, or an MCAP or SQLite file.
    choose : callable
        Returns which topics to read.

    Returns
    -------
    dict of str to Topic
        The topics chosen, in the order in which they were; messages in the order of time.

    Raises
    ------
    RecordingError
        When there is no recording or it is damaged, or a topic has another type.
    """
    path = Path(path)
    wanted, files, compressed = _opened(path, choose)
    with _readable(path):
        messages = sorted(_bounded(files, wanted, path), key=itemgetter(1))
    return _deserialised(messages, wanted, compressed)


def stream_topics(path: Path, choose: Choice, tell: Tell | None = None
                  ) -> Iterator[tuple[str, int, bytes]]:
    """Yield the messages of some topics as bytes, one after the other.

    For recordings of which nobody wants all messages in memory at once.

    Parameters
    ----------
    path, choose
        As in `read_topics`.
    tell : callable, optional
        Is told of parts that are damaged or missing, which are then left out; without it the
        first damaged one is an error, and a file that ends in the middle ends there.

    Yields
    ------
    topic : str
        Its name.
    time : int
        When the message was received, ns; messages come as they stand in the files.
    data : bytes
        The message, serialized (CDR); at most `MAX_MESSAGE` of it.

    Raises
    ------
    RecordingError
        As `read_topics`.
    """
    wanted, files, compressed = _opened(path, choose, tell)
    with _readable(path):
        for name, time, data in _bounded(files, wanted, path):
            yield name, time, decompressed(data, 'zstd', MAX_MESSAGE) if compressed else data


def stream_batches(path: Path, choose: Choice, tell: Tell | None = None
                   ) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the messages of some topics as bytes, many at a time and without their times.

    For whoever reads a million of them.

    Parameters
    ----------
    path, choose, tell
        As in `stream_topics`; every topic chosen has a type.

    Yields
    ------
    topic : str
        Its name.
    messages : list of bytes
        Some messages of it, serialized, as they stand in the files.

    Raises
    ------
    RecordingError
        As `read_topics`.
    """
    wanted, files, compressed = _opened(path, choose, tell)
    total, size = 0, 0
    waiting: dict[str, list[bytes]] = {name: [] for name in wanted}

    def handed_out() -> Iterator[tuple[str, list[bytes]]]:
        for name, messages in waiting.items():
            if messages:
                yield name, messages
                waiting[name] = []

    with _readable(path):
        for file in files:
            # A million times: nothing but what has to be done for each.
            for name, _, written in file.messages(wanted):
                data = decompressed(written, 'zstd', MAX_MESSAGE) if compressed else written
                waiting[name].append(data)
                size += len(data)
                if size > BATCH:
                    total += size
                    _refuse_beyond(total, path)
                    size = 0
                    yield from handed_out()
        yield from handed_out()


def _opened(path: Path, choose: Choice, tell: Tell | None = None
            ) -> tuple[Mapping[str, str | None], list[McapFile | SqliteFile], bool]:
    """Return the topics chosen, the files, and whether each message is compressed by itself."""
    with _readable(path):
        files, compressed = _files(path, tell)
        types = {name: kind for file in files for name, kind in file.topics().items()}
        wanted = choose(types)
        for name, kind in wanted.items():
            if kind is not None and types[name] != kind:
                raise RecordingError(f'is of type {types[name]}, not {kind}',
                                     subject=f'topic {name}', remedy='record the topics of a '
                                     'controller of this package')
    return wanted, files, compressed


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the system says of a file into an error of this package."""
    try:
        yield
    # ValueError: a path with a zero in it.
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise RecordingError(f'cannot be read: {reason}', subject=str(path),
                             remedy=_REMEDY) from error


def _files(path: Path, tell: Tell | None = None
           ) -> tuple[list[McapFile | SqliteFile], bool]:
    """Return the files of a recording, and whether its messages are compressed one by one."""
    if not path.exists():
        raise RecordingError('does not exist', subject=str(path), remedy=_REMEDY)
    inside = sorted(path.iterdir(), key=_by_numbers) if path.is_dir() else [path]
    for file in inside:
        # A pipe would be waited for without end.
        if not (file.is_file() or file.is_dir()):
            raise RecordingError(f'holds {file.name}, which is no regular file',
                                 subject=str(path), remedy=_REMEDY)
    found = [file for file in inside if file.suffix in _KINDS and file.is_file()]
    if not found:
        raise RecordingError('holds no MCAP or SQLite file', subject=str(path),
                             remedy='decompress it: zstd -d FILE' if any(
                                 file.suffix == '.zstd' for file in inside) else _REMEDY)
    metadata = path / _METADATA
    compressed = path.is_dir() and metadata.is_file() and _compresses_messages(metadata)
    return [_KINDS[file.suffix](file, tell) for file in found], compressed


def _by_numbers(path: Path) -> tuple[tuple[int, int, str], ...]:
    """Return what files are sorted by: rosbag2 writes the tenth part of a bag into x_10.mcap."""
    return tuple((0, int(part), '') if part.isdecimal() else (1, 0, part)
                 for part in re.split(r'(\d+)', path.name))


def _compresses_messages(metadata: Path) -> bool:
    """Return whether every message of a recording is compressed by itself.

    Metadata that nobody can read are no obstacle: a recorder that was killed leaves none.
    """
    try:
        content = read_yaml(metadata, RecordingError, _REMEDY)
    except RecordingError:
        return False
    information = content.get('rosbag2_bagfile_information') if isinstance(content, dict) else None
    return isinstance(information, dict) \
        and str(information.get('compression_mode', '')).lower() == 'message'


def _bounded(files: list[McapFile | SqliteFile], wanted: Mapping[str, str | None], path: Path
             ) -> Iterator[tuple[str, int, bytes]]:
    """Yield the messages wanted, with nothing for those whose times are enough."""
    total = 0
    for file in files:
        for name, time, data in file.messages(wanted):
            kept = b'' if wanted[name] is None else data
            total += len(kept)
            _refuse_beyond(total, path)
            yield name, time, kept


def _refuse_beyond(total: int, path: Path) -> None:
    """Refuse a recording of which too many bytes are wanted."""
    if total > MAX_TOTAL:
        raise RecordingError(f'holds more than {MAX_TOTAL // 2**20} MiB of the arm',
                             subject=str(path), remedy='record less at a time')


def _deserialised(messages: list[tuple[str, int, bytes]], wanted: Mapping[str, str | None],
                  compressed: bool) -> dict[str, Topic]:
    """Return messages by topic."""
    store = _type_store()
    topics = {name: Topic() for name in wanted}
    for name, time, data in messages:
        topic, kind = topics[name], wanted[name]
        if kind is not None:
            try:
                plain = decompressed(data, 'zstd', MAX_MESSAGE) if compressed else data
                topic.messages.append(store.deserialize_cdr(plain, kind))
            except RecordingError:
                raise
            # rosbags raises whatever Python does with bytes that are no message.
            except Exception as error:
                raise RecordingError(f'message {len(topic.messages)} is damaged',
                                     subject=f'topic {name}', remedy=_REMEDY) from error
        topic.times.append(time)
    return topics


def _type_store() -> Any:
    try:
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise RecordingError('reading recordings needs the Python package rosbags',
                             subject='rosbags', remedy='pip install rosbags') from error
    return get_typestore(Stores.ROS2_HUMBLE)
