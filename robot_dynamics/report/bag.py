# SPDX-License-Identifier: Apache-2.0
"""Messages out of a rosbag2 recording (MCAP or SQLite) that may be damaged.

Only the topics asked for are read, with the definitions of their types that come with
rosbags: those within a recording are code for a parser, and are not looked at. Memory
and temporary files are bounded, because a few bytes of compressed data can stand for
many gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from robot_dynamics.errors import RecordingError

#: What reading a recording may take, in bytes: of memory, and of a temporary file.
MEMORY = 4 * 2**30
#: Largest ``metadata.yaml``, in bytes; that of a hundred topics has some 100 KiB.
MAX_METADATA = 2**19

_METADATA = 'metadata.yaml'
_REMEDY = 'give the folder of a rosbag2 recording, or record it again'

#: The topics there are, with their types, and those wanted, with the type each has to
#: have, None where nothing but the times is wanted.
Choice = Callable[[Mapping[str, str]], Mapping[str, 'str | None']]


@dataclass(eq=False)
class Topic:
    """Messages of a topic and when each was received, in nanoseconds."""

    messages: list[Any] = field(default_factory=list)
    times: list[int] = field(default_factory=list)


def read_topics(path: Path, choose: Choice) -> dict[str, Topic]:
    """Read some topics of a recording.

    Parameters
    ----------
    path : Path
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
    rosbag2, store = _import_rosbags()
    try:
        _check_files(path)
        with _bounded(), rosbag2.Reader(path) as reader:
            return _read(reader, store, choose)
    except RecordingError:
        raise
    except MemoryError as error:
        raise RecordingError(f'needs more than {MEMORY // 2**30} GiB of memory',
                             subject=str(path), remedy='record less at a time') from error
    # rosbags raises whatever a parser meets in bytes that are none of its format.
    except Exception as error:
        reason = getattr(error, 'strerror', None) or str(error) or type(error).__name__
        raise RecordingError(f'cannot be read: {reason}', subject=str(path),
                             remedy=_REMEDY) from error


def _import_rosbags() -> tuple[ModuleType, Any]:
    try:
        from rosbags import rosbag2, typesys
    except ImportError as error:
        raise RecordingError('reading recordings needs the Python package rosbags',
                             subject='rosbags', remedy='pip install rosbags') from error
    return rosbag2, typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


def _check_files(path: Path) -> None:
    """Refuse what is no recording by its files: a pipe would be waited for without end."""
    if not path.exists():
        raise RecordingError('does not exist', subject=str(path), remedy=_REMEDY)
    files = [path] if not path.is_dir() else [
        file for file in path.iterdir() if not file.is_dir()]
    for file in files:
        if not file.is_file():
            raise RecordingError(f'holds {file.name}, which is no regular file',
                                 subject=str(path), remedy=_REMEDY)
    metadata = path / _METADATA
    if path.is_dir() and metadata.is_file() and metadata.stat().st_size > MAX_METADATA:
        raise RecordingError(f'has a {_METADATA} of more than {MAX_METADATA // 2**10} KiB',
                             subject=str(path), remedy=_REMEDY)


def _read(reader: Any, store: Any, choose: Choice) -> dict[str, Topic]:
    """Read the topics chosen from an open recording."""
    types = {connection.topic: connection.msgtype for connection in reader.connections}
    wanted = choose(types)
    for name, kind in wanted.items():
        if kind is not None and types[name] != kind:
            raise RecordingError(f'is of type {types[name]}, not {kind}', subject=f'topic {name}',
                                 remedy='record the topics of a controller of this package')
    topics = {name: Topic() for name in wanted}
    connections = [connection for connection in reader.connections if connection.topic in wanted]
    for connection, time, data in reader.messages(connections):
        topic = topics[connection.topic]
        kind = wanted[connection.topic]
        if kind is not None:
            topic.messages.append(_message(store, data, kind, connection.topic, topic))
        topic.times.append(time)
    return topics


def _message(store: Any, data: bytes, kind: str, name: str, topic: Topic) -> Any:
    """Return one message."""
    try:
        return store.deserialize_cdr(data, kind)
    except MemoryError:
        raise
    except Exception as error:
        raise RecordingError(f'message {len(topic.messages)} is damaged', subject=f'topic {name}',
                             remedy=_REMEDY) from error


@contextmanager
def _bounded() -> Iterator[None]:
    """Bound memory and size of files of this process meanwhile, where the system can do that."""
    try:
        import resource
    except ImportError:
        yield
        return
    bounds = {resource.RLIMIT_AS: _address_space() + MEMORY, resource.RLIMIT_FSIZE: MEMORY}
    before = {kind: resource.getrlimit(kind) for kind in bounds}
    try:
        for kind, bound in bounds.items():
            soft, hard = before[kind]
            smallest = min(limit for limit in (bound, soft, hard)
                           if limit != resource.RLIM_INFINITY)
            resource.setrlimit(kind, (smallest, hard))
        yield
    finally:
        for kind, limits in before.items():
            resource.setrlimit(kind, limits)


def _address_space() -> int:
    """Return the address space that this process has, in bytes; 0 where nobody tells."""
    import resource
    try:
        pages = int(Path('/proc/self/statm').read_text(encoding='ascii').split()[0])
    except (OSError, ValueError):
        return 0
    return pages * resource.getpagesize()
