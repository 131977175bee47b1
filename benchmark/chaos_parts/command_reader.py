# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that hear every message, with what the middleware tells of each."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription

from .cores import Cores
from .records import ReceivedCommand


class CommandReader:
    """Waits for some subscriptions.

    Parameters
    ----------
    node : Node
        Their node, which no executor serves.
    subscriptions : sequence of Subscription
        All of them.
    """

    def __init__(self, node: Node, subscriptions: Sequence[Subscription]):
        self._subscriptions = tuple(subscriptions)
        self._own = Cores(os.getpid())
        # Counts of: subscriptions, guard conditions, timers, clients, services, events.
        self._set = _rclpy.WaitSet(len(subscriptions), 0, 0, 0, 0, 0, node.context.handle)

    def wait(self, nanoseconds: int) -> tuple[int, int]:
        """Wait until something is heard; return by how many ns that was overslept.

        First with, then without what the observer itself waited for a core.
        """
        began, waited = time.monotonic_ns(), self._own.waited()
        self._set.clear_entities()
        for subscription in self._subscriptions:
            self._set.add_subscription(subscription.handle)
        self._set.wait(nanoseconds)
        overslept = time.monotonic_ns() - began - nanoseconds
        return overslept, overslept - (self._own.waited() - waited)


def messages(subscription: Subscription) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield what waits in a subscription, each message with what came along with it."""
    while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
        yield taken


def received_command(message: Any, info: dict[str, Any]) -> ReceivedCommand:
    """Return a command with when it was heard, and how long it was on its way."""
    now, wall = time.monotonic_ns(), time.time_ns()
    number = info.get('publication_sequence_number')
    publisher = (info.get('publisher_gid') or {}).get('data', b'')
    return ReceivedCommand(now, wall - info['source_timestamp'], -1 if number is None else number,
                 bytes(publisher), tuple(message.data))
