# SPDX-License-Identifier: Apache-2.0
"""``BagWriter``: serialised messages into a rosbag2 recording, off the caller's thread."""

from __future__ import annotations

import queue
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy.qos import QoSProfile

from robot_dynamics.errors import RecordingError

#: What a rosbag2 folder holds; nothing else is ever removed.
_BAG_SUFFIXES = ('.mcap', '.db3')
_METADATA = 'metadata.yaml'

#: Version of the metadata file: the newest that Humble's ``ros2 bag`` reads, too.
_METADATA_VERSION = 8


@dataclass(frozen=True)
class Topic:
    """A topic to be recorded.

    Parameters
    ----------
    name : str
        Its full name.
    type : str
        Its type, ``package/msg/Name``.
    offered : tuple of QoSProfile
        What its publishers offer, for whoever plays the recording.
    """

    name: str
    type: str
    offered: tuple[QoSProfile, ...] = ()


class BagWriter:
    """Writes messages to an MCAP file that ``ros2 bag`` reads.

    `write` only hands over; a thread writes, so that a slow disk stops nobody. What
    waits is bounded: beyond that, messages are dropped and counted.

    Parameters
    ----------
    folder : Path
        Folder of the recording. A recording that is there already is replaced.
    capacity : int
        Bytes that may wait to be written.

    Raises
    ------
    RecordingError
        When rosbags is missing or the folder is something else than a recording.
    """

    def __init__(self, folder: Path, *, capacity: int = 64 * 1024 * 1024):
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
            from rosbags.typesys import Stores, get_typestore
        except ImportError as error:
            raise RecordingError('recording needs the rosbags library, which is not installed',
                                 remedy="install it: pip install 'rosbags>=0.10'") from error
        self.folder = folder
        self._capacity = capacity
        self._typestore = get_typestore(Stores.LATEST)
        self._writer = Writer(_emptied(folder), version=_METADATA_VERSION,
                              storage_plugin=StoragePlugin.MCAP)
        try:
            self._writer.open()
        except OSError as error:
            raise RecordingError(f'cannot be written ({error.strerror})', subject=str(folder),
                                 remedy='give a folder that can be written') from error
        self._connections: dict[str, Any] = {}
        self._waiting = 0
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[str, int, bytes] | None] = queue.SimpleQueue()
        self._failure: Exception | None = None
        #: Messages handed over, and dropped because too many waited.
        self.messages = 0
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name='bag writer', daemon=True)
        self._thread.start()

    @property
    def failure(self) -> Exception | None:
        """What stopped the writing, if anything did."""
        return self._failure

    def add_topic(self, topic: Topic) -> None:
        """Register a topic.

        Raises
        ------
        RecordingError
            When its type is none that rosbags knows.
        """
        try:
            definition, _ = self._typestore.generate_msgdef(topic.type, ros_version=2)
        except Exception as error:  # rosbags raises whatever its parser meets
            raise RecordingError(f'has the type {topic.type}, which rosbags does not know',
                                 subject=f'topic {topic.name}',
                                 remedy='leave it out of the parameter topics') from error
        with self._lock:
            self._connections[topic.name] = self._writer.add_connection(
                topic.name, topic.type, msgdef=definition,
                rihs01=self._typestore.hash_rihs01(topic.type),
                offered_qos_profiles=[_rosbags_qos(profile) for profile in topic.offered])

    def write(self, topic: str, nanoseconds: int, data: bytes) -> None:
        """Hand over one serialised message of a registered topic."""
        if self._waiting + len(data) > self._capacity or self._failure is not None:
            self.dropped += 1
            return
        with self._lock:
            self._waiting += len(data)
        self.messages += 1
        self._queue.put((topic, nanoseconds, data))

    def close(self) -> None:
        """Write what waits, then index and metadata."""
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None:
            raise RecordingError(f'could not be written to the end ({self._failure})',
                                 subject=str(self.folder),
                                 remedy='check the space left on the disk') from self._failure
        if not any(self._writer.counts.values()):
            # The times of an empty recording mean nothing; these are at least valid.
            self._writer.min_timestamp = self._writer.max_timestamp
        self._writer.close()

    def _run(self) -> None:
        """Write until told to end."""
        while (item := self._queue.get()) is not None:
            topic, nanoseconds, data = item
            try:
                with self._lock:
                    self._waiting -= len(data)
                    self._writer.write(self._connections[topic], nanoseconds, data)
            except Exception as error:  # a full disk, above all
                self._failure = error
                return


def _emptied(folder: Path) -> Path:
    """Remove an old recording, and refuse to remove anything else."""
    if not folder.exists():
        return folder
    entries = list(folder.iterdir()) if folder.is_dir() else [folder]
    foreign = [entry.name for entry in entries
               if not entry.is_file() or folder == entry
               or (entry.name != _METADATA and entry.suffix not in _BAG_SUFFIXES)]
    if foreign:
        raise RecordingError(f'exists and holds {foreign[0]}, which is no recording',
                             subject=str(folder), remedy='give another folder as output')
    shutil.rmtree(folder)
    return folder


def _rosbags_qos(profile: QoSProfile) -> Any:
    """Return a profile as rosbags writes it."""
    from rosbags.interfaces import (
        Qos,
        QosDurability,
        QosHistory,
        QosLiveliness,
        QosReliability,
        QosTime,
    )

    def duration(value: Any) -> Any:
        seconds, nanoseconds = divmod(value.nanoseconds, 1_000_000_000)
        return QosTime(seconds, nanoseconds)

    return Qos(QosHistory(int(profile.history)), profile.depth,
               QosReliability(int(profile.reliability)), QosDurability(int(profile.durability)),
               duration(profile.deadline), duration(profile.lifespan),
               QosLiveliness(int(profile.liveliness)),
               duration(profile.liveliness_lease_duration),
               profile.avoid_ros_namespace_conventions)
