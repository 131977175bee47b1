# SPDX-License-Identifier: Apache-2.0
"""Records topics into a rosbag2 folder, and says now and then how things go."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from robot_dynamics.errors import RecordingError
from robot_dynamics.nodes.controllers import CONTROLLER_NODES
from robot_dynamics.nodes.recording.recorder_progress import Progress
from robot_dynamics.nodes.recording.topic_recording import (
    DISCOVERY_PERIOD,
    FETCH_PERIOD,
    TopicRecording,
)
from robot_dynamics.nodes.ros.diagnostics import Diagnostics
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import run
from robot_dynamics.nodes.ros.stopping import StopRequest

#: What a running system says, as far as it is there.
DEFAULT_TOPICS = (
    'joint_states', 'motor_states', 'robot_description', 'effort_controller/commands',
    *(topic for row in CONTROLLER_NODES.values() for topic in row.all_topics),
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


class RecorderNode(PlainNode):
    """Records, and says how far it is."""

    def __init__(self, stopped: StopRequest):
        super().__init__('recorder', TABLE, stopped)
        self._recording: TopicRecording | None = None
        self._progress = Progress()

    def start(self) -> None:
        """Open the recording and begin to look for topics."""
        values = self.parameters.values
        if not values['output']:
            raise RecordingError('is not set', subject='parameter output',
                                 remedy='set it to the folder to record into')
        recording = self._recording = TopicRecording(
            self, Path(values['output']).expanduser(), values['topics'],
            values['buffer_size'] * 1024 * 1024, self._progress.note)
        self.fast.tick(FETCH_PERIOD, recording.fetch)
        self.fast.tick(DISCOVERY_PERIOD, recording.discover)
        if values['progress_period'] > 0.0:
            self.fast.tick(values['progress_period'], self._report)
        Diagnostics(self, 'recorder', {'recording': recording.status})

    def stop(self) -> None:
        """Fetch what has come meanwhile and close the recording."""
        if self._recording is not None:
            recording, self._recording = self._recording, None
            recording.close()

    def _report(self) -> None:
        line = self._progress.line(self._recording.writer.messages)
        print(line, file=sys.stdout, flush=True)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(RecorderNode, args, TABLE)


if __name__ == '__main__':
    sys.exit(main())
