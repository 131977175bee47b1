# SPDX-License-Identifier: Apache-2.0
"""Records topics into a rosbag2 folder, and says now and then how things go."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from robot_dynamics.errors import RecordingError
from robot_dynamics.nodes.bag_writer import BagWriter, Topic
from robot_dynamics.nodes.base import PlainNode
from robot_dynamics.nodes.controller_names import CONTROLLERS, topics_of
from robot_dynamics.nodes.diagnostics import Diagnostics, Level, Status
from robot_dynamics.nodes.fetched import FetchedSubscription
from robot_dynamics.nodes.parameters import Parameter
from robot_dynamics.nodes.recorder_progress import Progress
from robot_dynamics.nodes.runtime import run
from robot_dynamics.nodes.stopping import StopRequest

#: What a running system says, as far as it is there.
DEFAULT_TOPICS = (
    'joint_states', 'robot_description', 'effort_controller/commands',
    *(topic for controller in CONTROLLERS for topic in topics_of(controller)),
    'inverse_dynamics/torque', 'inverse_dynamics/terms/gravity',
    'inverse_dynamics/terms/coriolis', 'inverse_dynamics/terms/inertial',
    'inverse_dynamics/terms/friction', 'inverse_dynamics/residual', '/diagnostics',
)

TABLE = (
    Parameter('output', '', 'Folder of the recording; a recording that is there is replaced.',
              read_only=True),
    Parameter('topics', DEFAULT_TOPICS, 'Topics to record, as soon as somebody publishes them.',
              element=str, read_only=True, topic=True),
    Parameter('progress_period', 0.0, 'Time between two lines of progress in JSON on stdout; 0 '
              'for none.', 's', 0.0, 3600.0, read_only=True),
    Parameter('buffer_size', 64, 'What may wait to be written; beyond that messages are dropped '
              'and counted.', 'MiB', 1, 4096, read_only=True),
)

#: Messages are fetched this often, many at once: a wake-up for each would cost a core. s.
_FETCH_PERIOD = 0.02
#: Time between two looks for new topics. s.
_DISCOVERY_PERIOD = 0.25
#: Messages of a topic that may wait for being fetched: two seconds at 1 kHz.
_DEPTH = 2000


class RecorderNode(PlainNode):
    """Subscribes to serialised messages and hands them to a BagWriter."""

    def __init__(self, stopped: StopRequest):
        super().__init__('recorder', TABLE, stopped)
        self._recorded: dict[str, FetchedSubscription] = {}
        self._types: dict[str, str] = {}
        self._unknown: set[str] = set()
        self._writer: BagWriter | None = None
        self._progress = Progress()

    def start(self) -> None:
        """Open the recording and begin to look for topics."""
        values = self.parameters.values
        if not values['output']:
            raise RecordingError('is not set', subject='parameter output',
                                 remedy='set it to the folder to record into')
        self._wanted = [self.resolve_topic_name(topic) for topic in values['topics']]
        self._writer = BagWriter(Path(values['output']).expanduser(),
                                 capacity=values['buffer_size'] * 1024 * 1024)
        self._discover()
        self.fast.tick(_FETCH_PERIOD, self._fetch)
        self.fast.tick(_DISCOVERY_PERIOD, self._discover)
        if values['progress_period'] > 0.0:
            self.fast.tick(values['progress_period'], self._report)
        Diagnostics(self, 'recorder', {'recording': self._status})

    def stop(self) -> None:
        """Fetch what has come meanwhile and close the recording."""
        if self._writer is None:
            return
        self._fetch()
        writer, self._writer = self._writer, None
        writer.close()
        if writer.dropped:
            self.get_logger().warning(f'{writer.dropped} messages were not recorded: the disk '
                                      'is too slow')

    def _discover(self) -> None:
        """Subscribe to wanted topics that have come up."""
        for name in self._wanted:
            if name in self._recorded or name in self._unknown:
                continue
            publishers = self.get_publishers_info_by_topic(name)
            if not publishers:
                continue
            topic = Topic(name, publishers[0].topic_type,
                          tuple(endpoint.qos_profile for endpoint in publishers))
            try:
                message_type = _message_type(topic)
                self._writer.add_topic(topic)
            except RecordingError as error:
                self._unknown.add(name)
                self.get_logger().error(str(error))
                continue
            self._types[name] = topic.type
            self._recorded[name] = FetchedSubscription(
                self, message_type, name, _matching_qos(topic.offered), raw=True)

    def _fetch(self) -> None:
        """Take every message that waits."""
        writer = self._writer
        for name, subscription in self._recorded.items():
            while (data := subscription.fetch()) is not None:
                writer.write(name, time.time_ns(), data)
                self._progress.note(name, self._types[name], data)
        if writer.failure is not None:
            raise RecordingError(f'cannot be written any more ({writer.failure})',
                                 subject=str(writer.folder),
                                 remedy='check the space left on the disk')

    def _report(self) -> None:
        line = self._progress.line(self._writer.messages)
        print(line, file=sys.stdout, flush=True)

    def _status(self) -> Status:
        writer = self._writer
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


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(RecorderNode, args, TABLE)


if __name__ == '__main__':
    sys.exit(main())
