# SPDX-License-Identifier: Apache-2.0
"""Recording of topics into a rosbag2 folder, in a separate thread."""

from __future__ import annotations

import importlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from robot_dynamics.errors import FileError, RecordingError, install_line
from robot_dynamics.files import mark_open, mark_written, remove_own_folder
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.messages import PolledSubscription
from robot_dynamics.nodes.ros.node import NodeParts
from robot_dynamics.nodes.ros.parameters import Parameter, Values

#: Time between two fetches of many messages, because waking up for each would occupy a core. s.
_FETCH_PERIOD = 0.02
#: Time between two checks for new topics. s.
_DISCOVERY_PERIOD = 0.25
#: Queue length of a topic between two fetches: two seconds at 1 kHz.
_DEPTH = 2000


def recording_parameters(topics: Sequence[str]) -> tuple[Parameter, ...]:
    """Parameters of a recording node in addition to ``output``."""
    return (
        Parameter('topics', tuple(topics), 'Topics to record, as soon as they have a publisher.',
                  element=str, read_only=True, topic=True),
        Parameter('buffer_size', 64, 'Largest amount of data that waits to be written; beyond '
                  'that messages are dropped and counted.', 'MiB', 1, 4096, read_only=True))


class TopicRecording:
    """Subscriber that passes serialised messages of topics to a `BagWriter`.

    A node that has been started closes it at the end. A recording of this package in the folder
    is replaced; topics are recorded as soon as they have a publisher; `note` is called with topic,
    type and data of each message.
    """

    def __init__(self, node: NodeParts, values: Values,
                 note: Callable[[str, str, bytes], None] | None = None):
        self._node, self._note = node, note
        self._recorded: dict[str, PolledSubscription] = {}
        self._types: dict[str, str] = {}
        self._unknown: set[str] = set()
        self._wanted = [node.resolve_topic_name(topic) for topic in values['topics']]
        self.writer = BagWriter(Path(values['output']).expanduser(),
                                capacity=values['buffer_size'] * 1024 * 1024)
        self._discover()
        node.fast.tick(_FETCH_PERIOD, self._fetch)
        node.fast.tick(_DISCOVERY_PERIOD, self._discover)

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that are being recorded."""
        return tuple(self._recorded)

    def _discover(self) -> None:
        """Subscribe to wanted topics that have a publisher."""
        for name in self._wanted:
            if name in self._recorded or name in self._unknown:
                continue
            publishers = self._node.get_publishers_info_by_topic(name)
            if not publishers:
                continue
            topic = Topic(name, publishers[0].topic_type,
                          tuple(endpoint.qos_profile for endpoint in publishers))
            try:
                message_type = _message_type(topic)
                self.writer.add_topic(topic)
            except RecordingError as error:
                self._unknown.add(name)
                self._node.get_logger().error(str(error))
                continue
            self._types[name] = topic.type
            self._recorded[name] = PolledSubscription(
                self._node, message_type, name, _matching_qos(topic.offered), raw=True)

    def _fetch(self) -> None:
        """Fetch every queued message; raises a RecordingError if writing has failed."""
        for name, subscription in self._recorded.items():
            while (data := subscription.fetch()) is not None:
                self.writer.write(name, time.time_ns(), data)
                if self._note is not None:
                    self._note(name, self._types[name], data)
        if self.writer.failure is not None:
            raise self.writer.failed()

    def close(self) -> None:
        """Fetch the last messages and close the recording."""
        self._fetch()
        self.writer.close()
        if self.writer.dropped:
            self._node.get_logger().warning(f'{self.writer.dropped} messages were not recorded: '
                                            'the disk is too slow')

    def status(self) -> Status:
        """Diagnostics item."""
        writer = self.writer
        values = {'messages': writer.messages, 'dropped': writer.dropped,
                  'topics': len(self._recorded), 'folder': writer.folder}
        if writer.dropped:
            return Status(Level.WARN, f'{writer.dropped} messages dropped', values)
        return Status(Level.OK, 'recording', values)


def _matching_qos(offered: Sequence[QoSProfile]) -> QoSProfile:
    """Strictest QoS profile compatible with all publishers."""
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
    latched = all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=_DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)


def _message_type(topic: Topic) -> type:
    """Import a message type."""
    package, _, name = topic.type.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise RecordingError(f'has the type {topic.type}, which is not installed',
                             subject=f'topic {topic.name}',
                             remedy=f'install {package} or leave the topic out') from error


_METADATA = 'metadata.yaml'

#: Version of the metadata file: the newest that ``ros2 bag`` of Humble can read.
_METADATA_VERSION = 8


@dataclass(frozen=True)
class Topic:
    """A topic to be recorded, with the profiles of its publishers, for ``ros2 bag play``."""

    name: str
    type: str
    offered: tuple[QoSProfile, ...] = ()


class BagWriter:
    """Writer of an MCAP file for ``ros2 bag``.

    `write` passes a message to a thread, so that a slow disk does not stop the node. When more
    than the capacity waits, messages are dropped and counted. Raises a RecordingError where
    rosbags is missing, and a FileError where the folder cannot be written or has files of the
    user.
    """

    def __init__(self, folder: Path, *, capacity: int = 64 * 1024 * 1024):
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
            from rosbags.typesys import Stores, get_typestore
        except ImportError as error:
            raise RecordingError('is not installed, but recording needs it', subject='rosbags',
                                 remedy=install_line('rosbags')) from error
        self.folder = folder
        self._capacity = capacity
        self._typestore = get_typestore(Stores.LATEST)
        try:
            remove_own_folder(folder)
            self._writer = Writer(folder, version=_METADATA_VERSION,
                                  storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
            mark_open(folder, (_METADATA, *(path.name for path in folder.iterdir())))
        # ValueError: not a path. WriterError: another process has made the folder meanwhile.
        except (OSError, ValueError, WriterError) as error:
            reason = getattr(error, 'strerror', None) or str(error)
            raise FileError(f'cannot be written ({reason})', subject=str(folder),
                              remedy='give a folder that can be written') from error
        self._connections: dict[str, Any] = {}
        # Each counter is written by one thread, so neither needs a lock.
        self._bytes_handed_over = 0
        self._bytes_written = 0
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        #: Error that stopped the writing, if there is one.
        self.failure: Exception | None = None
        #: Messages passed to the thread, and messages dropped because the queue was full.
        self.messages = 0
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name='bag writer', daemon=True)
        self._thread.start()

    def add_topic(self, topic: Topic) -> None:
        """Register a topic; raises a RecordingError if rosbags does not support its type."""
        try:
            definition, _ = self._typestore.generate_msgdef(topic.type, ros_version=2)
            digest = self._typestore.hash_rihs01(topic.type)
        except Exception as error:  # rosbags raises errors of many types
            raise RecordingError(f'has the type {topic.type}, which rosbags does not support',
                                 subject=f'topic {topic.name}',
                                 remedy='leave it out of the parameter topics') from error
        offered = [_rosbags_qos(profile) for profile in topic.offered]

        def add() -> None:
            self._connections[topic.name] = self._writer.add_connection(
                topic.name, topic.type, msgdef=definition, rihs01=digest,
                offered_qos_profiles=offered)

        self._queue.put(add)

    def write(self, topic: str, nanoseconds: int, data: bytes) -> None:
        """Pass one serialised message of a registered topic to the thread."""
        waiting = self._bytes_handed_over - self._bytes_written
        if waiting + len(data) > self._capacity or self.failure is not None:
            self.dropped += 1
            return
        self._bytes_handed_over += len(data)
        self.messages += 1

        def write() -> None:
            self._writer.write(self._connections[topic], nanoseconds, data)
            self._bytes_written += len(data)

        self._queue.put(write)

    def close(self) -> None:
        """Write the queued messages, then index and metadata.

        Raises a RecordingError if not everything could be written.
        """
        def close() -> None:
            self._writer.close()
            mark_written(self.folder)

        self._queue.put(close)
        self._queue.put(None)
        self._thread.join()
        if self.failure is not None:
            raise self.failed() from self.failure

    def failed(self) -> RecordingError:
        """Error for a recording that could not be written to its end."""
        reason = getattr(self.failure, 'strerror', None) or self.failure
        return RecordingError(f'cannot be written any more ({reason})', subject=str(self.folder),
                              remedy='check the space left on the disk; what was recorded before '
                                     'can be read')

    def _run(self) -> None:
        """Run the queued actions in order, until the end is queued."""
        while (action := self._queue.get()) is not None:
            try:
                action()
            except Exception as error:  # a full disk, above all
                self.failure = error
                # Ends without index and metadata, which need space. Half a record at the end is no
                # obstacle for `robot_dynamics.recordings`.
                self._writer.__exit__(type(error), error, error.__traceback__)
                return


def _rosbags_qos(profile: QoSProfile) -> Any:
    """Convert a profile to the type of rosbags."""
    from rosbags import interfaces

    def duration(value: Any) -> Any:
        return interfaces.QosTime(*divmod(value.nanoseconds, 1_000_000_000))

    return interfaces.Qos(
        interfaces.QosHistory(int(profile.history)), profile.depth,
        interfaces.QosReliability(int(profile.reliability)),
        interfaces.QosDurability(int(profile.durability)),
        duration(profile.deadline), duration(profile.lifespan),
        interfaces.QosLiveliness(int(profile.liveliness)),
        duration(profile.liveliness_lease_duration), profile.avoid_ros_namespace_conventions)
