# SPDX-License-Identifier: Apache-2.0
"""A wait set that is built once and used every cycle.

rclpy's executors build a new wait set from every entity of a node before each
wait, which at 500 Hz costs half of a process's time. ``rclpy.wait_for_message``
shows the way around that which is used here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.subscription import Subscription
from rclpy.timer import Timer

_NANOSECONDS = 1_000_000_000


class WaitSet:
    """Waits for some subscriptions and timers and runs their callbacks.

    Parameters
    ----------
    context : Context
        The context they live in.
    subscriptions : sequence of (Subscription, callable)
        Each with what takes its message.
    timers : sequence of (Timer, callable)
        Each with what to call when it is due.
    """

    def __init__(self, context: Context,
                 subscriptions: Sequence[tuple[Subscription, Callable[[Any], None]]],
                 timers: Sequence[tuple[Timer, Callable[[], None]]] = ()):
        self._subscriptions = tuple(subscriptions)
        self._timers = tuple(timers)
        # Counts of: subscriptions, guard conditions, timers, clients, services, events.
        self._set = _rclpy.WaitSet(len(self._subscriptions), 0, len(self._timers), 0, 0, 0,
                                   context.handle)

    def spin_once(self, timeout: float) -> bool:
        """Wait until something is ready or the time is over, in seconds; run what is ready.

        Returns
        -------
        bool
            Whether a callback was run.
        """
        wait_set = self._set
        # rcl empties the places of what is not ready, so they are filled every time.
        wait_set.clear_entities()
        for subscription, _ in self._subscriptions:
            wait_set.add_subscription(subscription.handle)
        for timer, _ in self._timers:
            wait_set.add_timer(timer.handle)
        wait_set.wait(int(timeout * _NANOSECONDS))
        ran = False
        for index, (timer, callback) in enumerate(self._timers):
            # rcl marks a timer that was cancelled meanwhile as ready, too.
            if wait_set.is_ready('timer', index) and timer.handle.is_timer_ready():
                timer.handle.call_timer()
                callback()
                ran = True
        for index, (subscription, callback) in enumerate(self._subscriptions):
            if wait_set.is_ready('subscription', index):
                taken = subscription.handle.take_message(subscription.msg_type,
                                                         subscription.raw)
                if taken is not None:
                    callback(taken[0])
                    ran = True
        return ran


def wait_for_message(context: Context, subscription: Subscription, *, timeout: float,
                     stopped: Callable[[], bool] = lambda: False) -> Any | None:
    """Return the next message of a subscription that no executor serves yet.

    Parameters
    ----------
    context : Context
        Its context.
    subscription : Subscription
        Where the message is expected.
    timeout : float
        How long to wait. s.
    stopped : callable
        Asked ten times a second; waiting ends when it says so.

    Returns
    -------
    message or None
        None when nothing came in time.
    """
    messages: list[Any] = []
    wait_set = WaitSet(context, [(subscription, messages.append)])
    end = time.monotonic() + timeout
    while not messages and not stopped():
        left = end - time.monotonic()
        if left <= 0.0:
            return None
        wait_set.spin_once(min(left, 0.1))
    return messages[0] if messages else None
