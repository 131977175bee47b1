# SPDX-License-Identifier: Apache-2.0
"""What recorded messages say about how things go, in one line of JSON."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

#: Time over which the tracking error is averaged. s.
ERROR_WINDOW = 1.0

_TEXT, _JOINT_STATE = 'std_msgs/msg/String', 'sensor_msgs/msg/JointState'


class Progress:
    """Sums up the messages for people who wait: mode, tracking error and whether it is learnt.

    Messages come as bytes that nobody has looked at yet; what cannot be read says nothing.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._mode: str | None = None
        self._first_estimate: bytes | None = None
        self._learns = False
        # Times, and mean squares.
        self._errors: deque[tuple[float, float]] = deque()

    def note(self, topic: str, kind: str, data: bytes) -> None:
        """Look at one message.

        Parameters
        ----------
        topic, kind : str
            Its topic and the type of that.
        data : bytes
            The message, serialised.
        """
        now = time.monotonic()
        if self._first is None:
            self._first = now
        if topic.endswith('/mode') and kind == _TEXT:
            self._mode = getattr(_read(data, String), 'data', self._mode)
        elif topic.endswith('/tracking_error') and kind == _JOINT_STATE:
            self._note_error(now, getattr(_read(data, JointState), 'position', ()))
        elif topic.endswith('/parameter_estimate'):
            # Nothing but numbers in it: frozen estimates are the same bytes again.
            if self._first_estimate is None:
                self._first_estimate = data
            self._learns = self._learns or data != self._first_estimate

    def line(self, messages: int) -> str:
        """Return the line of JSON."""
        now = time.monotonic()
        self._forget(now)
        error = float(np.sqrt(np.mean([square for _, square in self._errors]))) \
            if self._errors else None
        return json.dumps({'time': round(now - self._first, 3) if self._first else 0.0,
                           'messages': messages, 'mode': self._mode, 'error': error,
                           'learns': self._learns})

    def _note_error(self, now: float, error: Any) -> None:
        self._forget(now)
        if len(error) == 0:
            return
        with np.errstate(over='ignore', invalid='ignore'):
            square = float(np.mean(np.square(error)))
        if np.isfinite(square):
            self._errors.append((now, square))

    def _forget(self, now: float) -> None:
        """Drop what is older than the window."""
        while self._errors and self._errors[0][0] < now - ERROR_WINDOW:
            self._errors.popleft()


def _read(data: bytes, message_type: type) -> Any:
    """Return the message that some bytes are, None where they are none."""
    try:
        return deserialize_message(data, message_type)
    # Whatever the middleware meets in bytes that are no message.
    except Exception:
        return None
