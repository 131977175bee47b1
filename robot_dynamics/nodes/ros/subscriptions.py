# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that are emptied at a pace of our own, instead of waking us each time."""

from __future__ import annotations

from collections import deque
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile


class FetchedSubscription:
    """A topic whose messages wait in the middleware until they are fetched.

    Parameters
    ----------
    node : Node
        The node.
    message_type : type
        Type of the messages.
    topic : str
        Name of the topic.
    profile : QoSProfile
        Its depth is how many messages may wait.
    raw : bool
        Whether messages are to stay serialised.
    """

    def __init__(self, node: Node, message_type: type, topic: str, profile: QoSProfile, *,
                 raw: bool = False, **options: Any):
        self._node = node
        self._raw = raw
        self._served: deque[Any] = deque()
        # An executor that knows no callback groups may serve it nevertheless.
        self._subscription = node.create_subscription(
            message_type, topic, self._serve, profile, raw=raw,
            callback_group=_NobodysGroup(), **options)

    @property
    def topic_name(self) -> str:
        """Full name of the topic."""
        return self._subscription.topic_name

    def fetch(self) -> Any | None:
        """Return the oldest message that waits, None where none does."""
        if self._served:
            return self._served.popleft()
        taken = self._subscription.handle.take_message(self._subscription.msg_type, self._raw)
        return None if taken is None else taken[0]

    def _serve(self, message: Any) -> None:
        """Keep a message; a method, because rclpy asks callbacks for their signature."""
        self._served.append(message)

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


class _NobodysGroup(CallbackGroup):
    """Callbacks that no executor may run."""

    def can_execute(self, entity: object) -> bool:
        return False

    def beginning_execution(self, entity: object) -> bool:
        return False

    def ending_execution(self, entity: object) -> None:
        pass
