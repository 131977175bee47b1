# SPDX-License-Identifier: Apache-2.0
"""Record topics into a rosbag2 folder, and print progress."""
from __future__ import annotations

import json
import sys
import time
from collections import deque
from functools import partial
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.errors import RecordingError
from robot_dynamics.nodes.controllers import CONTROLLER_NODES
from robot_dynamics.nodes.recording import TopicRecording, recording_parameters
from robot_dynamics.nodes.ros.diagnostics import Diagnostics
from robot_dynamics.nodes.ros.messages import to_nanoseconds
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import run
from robot_dynamics.nodes.ros.stopping import StopRequest

#: Topics of a running system; missing ones are ignored.
DEFAULT_TOPICS = (
    'joint_states', 'motor_states', 'robot_description', 'effort_controller/commands',
    *(topic for row in CONTROLLER_NODES.values() for topic in row.all_topics),
    'inverse_dynamics/torque', 'inverse_dynamics/terms/gravity',
    'inverse_dynamics/terms/coriolis', 'inverse_dynamics/terms/inertial',
    'inverse_dynamics/terms/friction', 'inverse_dynamics/residual', '/diagnostics',
)

TABLE = (
    Parameter('output', '', 'Folder of the recording; an earlier recording of this node is '
              'replaced, anything else is an error.', read_only=True),
    *recording_parameters(DEFAULT_TOPICS),
    Parameter('progress_period', 0.0, 'Time between two lines of progress in JSON on stdout; 0 '
              'for none.', 's', 0.0, 3600.0, read_only=True),
)


#: Time over which the tracking error is averaged, s, and the most errors, also without stamps.
ERROR_WINDOW, MOST_ERRORS = 1.0, 2000

_TEXT, _JOINT_STATE = 'std_msgs/msg/String', 'sensor_msgs/msg/JointState'


class Progress:
    """Summary of recorded messages: mode, tracking error, and whether estimates change.

    ``tracked`` is the time of the arm between the first and the last tracking error, from their
    stamps, s. Messages are unchecked bytes; unreadable ones are ignored.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._mode: str | None = None
        self._first_estimate: bytes | None = None
        self._learns = False
        # Stamps and mean squares of the last tracking errors, and the first stamp.
        self._errors: deque[tuple[float, float]] = deque(maxlen=MOST_ERRORS)
        self._begin: float | None = None

    def note(self, topic: str, kind: str, data: bytes) -> None:
        """Evaluate one serialised message of a topic and of a type (`kind`)."""
        now = time.monotonic()
        if self._first is None:
            self._first = now
        if topic.endswith('/mode') and kind == _TEXT:
            self._mode = getattr(_read(data, String), 'data', self._mode)
        elif topic.endswith('/tracking_error') and kind == _JOINT_STATE:
            message = _read(data, JointState)
            if message is not None:
                self._note_error(1e-9 * to_nanoseconds(message.header.stamp),
                                 message.position)
        elif topic.endswith('/parameter_estimate'):
            # It contains only numbers, so that frozen estimates have equal bytes.
            if self._first_estimate is None:
                self._first_estimate = data
            self._learns = self._learns or data != self._first_estimate

    def line(self, messages: int) -> str:
        """The line of JSON."""
        time_passed = 0.0 if self._first is None else time.monotonic() - self._first
        error = float(np.sqrt(np.mean([square for _, square in self._errors]))) \
            if self._errors else None
        tracked = self._errors[-1][0] - self._begin if self._begin is not None else 0.0
        return json.dumps({'time': round(time_passed, 3), 'tracked': round(tracked, 3),
                           'messages': messages, 'mode': self._mode, 'error': error,
                           'learns': self._learns})

    def _note_error(self, stamp: float, error: Any) -> None:
        if len(error) == 0:
            return
        with np.errstate(over='ignore', invalid='ignore'):
            square = float(np.mean(np.square(error)))
        if not np.isfinite(square):
            return
        if self._begin is None:
            self._begin = stamp
        self._errors.append((stamp, square))
        while self._errors[0][0] < stamp - ERROR_WINDOW:
            self._errors.popleft()


def _read(data: bytes, message_type: type) -> Any:
    """Deserialised message, or None."""
    try:
        return deserialize_message(data, message_type)
    # The middleware raises various exceptions for invalid bytes.
    except Exception:
        return None


class RecorderNode(PlainNode):
    """Node that records topics and prints progress."""

    def __init__(self, stopped: StopRequest):
        super().__init__('recorder', TABLE, stopped)
        self._recording: TopicRecording | None = None

    def start(self) -> None:
        """Open the recording and begin to look for topics."""
        values = self.parameters.values
        if not values['output']:
            raise RecordingError('is not set', subject='parameter output',
                                 remedy='set it to the folder to record into')
        progress = Progress()
        recording = self._recording = TopicRecording(self, values, progress.note)
        if values['progress_period'] > 0.0:
            self.fast.tick(values['progress_period'], lambda: print(
                progress.line(recording.writer.messages), flush=True))
        Diagnostics(self, 'recorder', {'recording': recording.status})

    def stop(self) -> None:
        """Fetch the remaining messages and close the recording."""
        if self._recording is not None:
            self._recording.close()


main = partial(run, RecorderNode, table=TABLE)

if __name__ == '__main__':
    sys.exit(main())
