# SPDX-License-Identifier: Apache-2.0
"""Subscriptions and timers of a cycle, polled subscriptions, and a limit of message size."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from robot_dynamics.nodes.ros import qos

_NANOSECONDS = 1_000_000_000

#: Largest joint state that is read: a thousand joints with long names, which takes a tenth of a
#: millisecond. bytes.
LARGEST_STATE = 65_536
#: Warnings of one kind are this far apart. s.
_WARNING_PERIOD = 2.0


class Alarm:
    """A timer for a deadline that moves on all the time, at no cost per cycle.

    When the timer fires, `ring` computes how long it is until the present deadline, and the
    timer waits for that. So it is never late.

    Parameters
    ----------
    ring : callable
        Acts if the deadline has passed; returns in how many seconds to call it again.
    """

    #: Share of the waiting time before a deadline in which no slow work begins, and its most. s.
    _SHARE, _LONGEST = 0.25, 0.02

    def __init__(self, ring: Callable[[], float]):
        self._ring = ring
        self._timer: Any = None
        self._quiet_from = math.inf

    def start(self, timer: Timer) -> None:
        """Take the timer whose callback is `serve`."""
        self._timer = timer
        self._expect(timer.timer_period_ns / _NANOSECONDS)

    def serve(self) -> None:
        """Call `ring`, and wait for the next time."""
        seconds = self._ring()
        self._timer.timer_period_ns = max(1, round(seconds * _NANOSECONDS))
        self._timer.reset()
        self._expect(seconds)

    def is_near(self, now: float) -> bool:
        """Whether the deadline is near, by `time.monotonic`."""
        return now >= self._quiet_from

    def _expect(self, seconds: float) -> None:
        self._quiet_from = time.monotonic() + seconds - min(self._SHARE * seconds, self._LONGEST)


class _Lifetime:
    """Lifetime of the entities between two calls of `FastEntities.destroy`."""

    is_over = False


class FastEntities:
    """The subscriptions and timers of a node's cycle, which are served before anything else.

    They are ordinary entities of the node, served by any executor. A callback that an executor
    has taken does not run any more once its entity is destroyed.
    """

    def __init__(self, node: Node):
        self._node = node
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._group = MutuallyExclusiveCallbackGroup()
        self._lifetime = _Lifetime()
        self.subscriptions: list[tuple[Subscription, Callable[[Any], None]]] = []
        self.timers: list[tuple[Timer, Callable[[], None]]] = []
        self._alarms: list[Alarm] = []
        #: Counts changes, so that a spinner knows when to build its wait set again.
        self.generation = 0

    def subscribe(self, message_type: type, topic: str, callback: Callable[[Any], None],
                  profile: QoSProfile, *, raw: bool = False) -> Subscription:
        """Create a subscription of the cycle; raw messages stay serialised."""
        lifetime = self._lifetime

        def serve(message: Any) -> None:
            if not lifetime.is_over:
                callback(message)

        subscription = self._node.create_subscription(
            message_type, topic, serve, profile, callback_group=self._group, raw=raw,
            qos_overriding_options=qos.overridable())
        self.subscriptions.append((subscription, serve))
        self.generation += 1
        return subscription

    def tick(self, period: float, callback: Callable[[], None]) -> Timer:
        """Create a timer, in s, on the steady clock, which runs while simulated time stops."""
        lifetime = self._lifetime

        # Without any parameter, or the EventsExecutor would pass it information on the timer.
        def serve() -> None:
            if not lifetime.is_over:
                callback()

        timer = self._node.create_timer(period, serve, callback_group=self._group,
                                        clock=self._clock)
        self.timers.append((timer, serve))
        self.generation += 1
        return timer

    def alarm(self, seconds: float, ring: Callable[[], float]) -> None:
        """Call `ring` after some seconds on the steady clock, then as it returns; see `Alarm`."""
        alarm = Alarm(ring)
        alarm.start(self.tick(seconds, alarm.serve))
        self._alarms.append(alarm)

    def is_pressed(self, now: float) -> bool:
        """Whether the deadline of an alarm is near, by `time.monotonic`."""
        return any(alarm.is_near(now) for alarm in self._alarms)

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self.subscriptions or self.timers)

    def destroy(self) -> None:
        """Destroy all of them."""
        self._lifetime.is_over = True
        self._lifetime = _Lifetime()
        for subscription, _ in self.subscriptions:
            self._node.destroy_subscription(subscription)
        for timer, _ in self.timers:
            self._node.destroy_timer(timer)
        self.subscriptions.clear()
        self.timers.clear()
        self._alarms.clear()
        self.generation += 1


class PolledSubscription:
    """A subscription whose messages, as many as its depth, wait until they are fetched."""

    def __init__(self, node: Node, message_type: type, topic: str, profile: QoSProfile, *,
                 raw: bool = False, **options: Any):
        self._node = node
        self._raw = raw
        self._served: deque[Any] = deque()
        # An executor that does not know callback groups may serve it nevertheless.
        self._subscription = node.create_subscription(
            message_type, topic, self._serve, profile, raw=raw,
            callback_group=_UnservedGroup(), **options)

    @property
    def topic_name(self) -> str:
        """Full name of the topic."""
        return self._subscription.topic_name

    def fetch(self) -> Any | None:
        """Take the oldest message that waits, None where none does."""
        if self._served:
            return self._served.popleft()
        taken = self._subscription.handle.take_message(self._subscription.msg_type, self._raw)
        return None if taken is None else taken[0]

    def _serve(self, message: Any) -> None:
        """Keep a message; a method, because rclpy inspects the signature of callbacks."""
        self._served.append(message)

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


class _UnservedGroup(CallbackGroup):
    """Callbacks that no executor may run."""

    def can_execute(self, entity: object) -> bool:
        return False

    def beginning_execution(self, entity: object) -> bool:
        return False

    def ending_execution(self, entity: object) -> None:
        pass


class SizeLimitedReader:
    """Deserialises messages up to a size; the callback of a raw subscription.

    A message may name ten thousand joints, and rclpy makes a Python object of each name. A raw
    subscription delivers bytes instead, so that too large a message costs a controller nothing.

    Parameters
    ----------
    node : Node
        The node, which logs rejected messages.
    message_type : type
        Type of the messages.
    topic : str
        Their topic, for the log.
    callback : callable
        Takes each message.
    largest : int
        Largest size. bytes.

    Attributes
    ----------
    rejected : int
        Messages that were too large or not of that type.
    """

    def __init__(self, node: Node, message_type: type, topic: str,
                 callback: Callable[[Any], None], *, largest: int = LARGEST_STATE):
        self._node, self._type, self._topic = node, message_type, topic
        self._callback, self._largest = callback, largest
        self.rejected = 0

    def read(self, data: bytes) -> None:
        """Deserialise a message for the callback, or log why that is not possible."""
        if len(data) > self._largest:
            self._reject(f'it has {len(data)} bytes, more than {self._largest}')
            return
        try:
            message = deserialize_message(data, self._type)
        except RuntimeError:  # of the middleware, without a useful text
            self._reject(f'it is not a {self._type.__name__}')
            return
        self._callback(message)

    def _reject(self, reason: str) -> None:
        self.rejected += 1
        self._node.get_logger().warning(
            f'message on {self._topic} rejected: {reason}; check its publisher '
            f'({self.rejected} so far)', throttle_duration_sec=_WARNING_PERIOD)
