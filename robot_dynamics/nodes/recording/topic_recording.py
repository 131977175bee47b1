# SPDX-License-Identifier: Apache-2.0
"""``TopicRecording``: the topics of a system into a rosbag2 folder, as they come up."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from robot_dynamics.errors import RecordingError
from robot_dynamics.nodes.recording.bag_writer import BagWriter, Topic
from robot_dynamics.nodes.ros.diagnostics import Level, Status
from robot_dynamics.nodes.ros.subscriptions import FetchedSubscription

#: Messages are fetched this often, many at once: a wake-up for each would cost a core. s.
FETCH_PERIOD = 0.02
#: Time between two looks for new topics. s.
DISCOVERY_PERIOD = 0.25
#: Messages of a topic that may wait for being fetched: two seconds at 1 kHz.
_DEPTH = 2000


class TopicRecording:
    """Subscribes to serialised messages and hands them to a `BagWriter`.

    Whoever has it calls `discover` and `fetch` now and then, and `close` at the end.

    Parameters
    ----------
    node : Node
        Whose subscriptions they are.
    folder : Path
        Folder of the recording; one that is there is replaced.
    topics : sequence of str
        What to record, as soon as somebody publishes it.
    capacity : int
        Bytes that may wait to be written.
    note : callable, optional
        Gets topic, type and data of each message.
    """

    def __init__(self, node: Node, folder: Path, topics: Sequence[str], capacity: int,
                 note: Callable[[str, str, bytes], None] | None = None):
        self._node, self._note = node, note
        self._recorded: dict[str, FetchedSubscription] = {}
        self._types: dict[str, str] = {}
        self._unknown: set[str] = set()
        self._wanted = [node.resolve_topic_name(topic) for topic in topics]
        self.writer = BagWriter(folder, capacity=capacity)
        self.discover()

    @property
    def topics(self) -> tuple[str, ...]:
        """What is recorded by now."""
        return tuple(self._recorded)

    def discover(self) -> None:
        """Subscribe to wanted topics that have come up."""
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
            self._recorded[name] = FetchedSubscription(
                self._node, message_type, name, _matching_qos(topic.offered), raw=True)

    def fetch(self) -> None:
        """Take every message that waits.

        Raises
        ------
        RecordingError
            When nothing can be written any more.
        """
        for name, subscription in self._recorded.items():
            while (data := subscription.fetch()) is not None:
                self.writer.write(name, time.time_ns(), data)
                if self._note is not None:
                    self._note(name, self._types[name], data)
        if self.writer.failure is not None:
            raise RecordingError(f'cannot be written any more ({self.writer.failure})',
                                 subject=str(self.writer.folder),
                                 remedy='check the space left on the disk')

    def close(self) -> None:
        """Fetch what has come meanwhile and close the recording."""
        self.fetch()
        self.writer.close()
        if self.writer.dropped:
            self._node.get_logger().warning(f'{self.writer.dropped} messages were not recorded: '
                                            'the disk is too slow')

    def status(self) -> Status:
        """Return how it goes."""
        writer = self.writer
        values = {'messages': writer.messages, 'dropped': writer.dropped,
                  'topics': len(self._recorded), 'folder': writer.folder}
        if writer.dropped:
            return Status(Level.WARN, f'{writer.dropped} messages dropped', values)
        return Status(Level.OK, 'recording', values)


def _matching_qos(offered: Sequence[QoSProfile]) -> QoSProfile:
    """Return the strictest profile that every publisher's offer satisfies."""
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
    latched = all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=_DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)


def _message_type(topic: Topic) -> type:
    """Import a message type by its name."""
    package, _, name = topic.type.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise RecordingError(f'has the type {topic.type}, which is not installed',
                             subject=f'topic {topic.name}',
                             remedy=f'install {package} or leave the topic out') from error
