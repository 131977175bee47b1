# SPDX-License-Identifier: Apache-2.0
"""Messages from outside whose size is looked at before anything is made of them.

A message may name ten thousand joints, and rclpy makes a Python object of each name before
anybody is asked. A subscription that is raw hands over bytes instead, and what is too large
for any arm costs a controller nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message

#: Largest joint state that is read: a thousand joints with long names, which takes a tenth of a
#: millisecond. bytes.
LARGEST_STATE = 65_536
#: Warnings of one kind are this far apart. s.
_WARNING_PERIOD = 2.0


class BoundedReader:
    """Reads serialised messages up to a size; to be the callback of a raw subscription.

    Parameters
    ----------
    node : Node
        The node that says what was refused.
    message_type : type
        What the messages are.
    topic : str
        Where they come from, for its words.
    callback : callable
        Takes each message.
    largest : int
        Largest size. bytes.

    Attributes
    ----------
    refused : int
        How many were too large, or no message of that type at all.
    """

    def __init__(self, node: Node, message_type: type, topic: str,
                 callback: Callable[[Any], None], *, largest: int = LARGEST_STATE):
        self._node, self._type, self._topic = node, message_type, topic
        self._callback, self._largest = callback, largest
        self.refused = 0

    def read(self, data: bytes) -> None:
        """Hand a message on, or say why not."""
        if len(data) > self._largest:
            self._refuse(f'has {len(data)} bytes, more than {self._largest}')
            return
        try:
            message = deserialize_message(data, self._type)
        except RuntimeError:  # of the middleware, in words that say nothing
            self._refuse(f'is no {self._type.__name__}')
            return
        self._callback(message)

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        self._node.get_logger().warning(
            f'message on {self._topic} refused: {reason}; look at who sends it '
            f'({self.refused} so far)', throttle_duration_sec=_WARNING_PERIOD)
