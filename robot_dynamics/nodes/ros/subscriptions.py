# SPDX-License-Identifier: Apache-2.0
"""What a node's cycle hangs on: subscriptions and timers that are served before anything else."""

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


class _Life:
    """That of the entities between two calls of `FastEntities.destroy`."""

    is_over = False


class Alarm:
    """Rings at a moment that moves on all the time, without being told so each time.

    It rings when the moment it knew of has come, learns how long it is until then by now, and
    waits for that: so it is never late, and costs a cycle nothing.

    Parameters
    ----------
    ring : callable
        Does what is to be done if the moment has come; returns in how many seconds to ring
        again.
    """

    #: Within this share of its time before it rings, and this time, nothing slow is begun. s.
    _SHARE, _LONGEST = 0.25, 0.02

    def __init__(self, ring: Callable[[], float]):
        self._ring = ring
        self._timer: Timer | None = None
        self._quiet_from = math.inf

    def start(self, timer: Timer) -> None:
        """Take the timer whose callback is `serve`."""
        self._timer = timer
        self._expect(timer.timer_period_ns / _NANOSECONDS)

    def serve(self) -> None:
        """Ring, and wait for the next time."""
        seconds = self._ring()
        self._timer.timer_period_ns = max(1, round(seconds * _NANOSECONDS))
        self._timer.reset()
        self._expect(seconds)

    def is_near(self, now: float) -> bool:
        """Whether it is about to ring, by `time.monotonic`."""
        return now >= self._quiet_from

    def _expect(self, seconds: float) -> None:
        self._quiet_from = time.monotonic() + seconds - min(self._SHARE * seconds, self._LONGEST)


class FastEntities:
    """The subscriptions and timers of a node that its cycle hangs on.

    They are ordinary entities of the node, served by any executor. What an executor has
    taken for one of them that is destroyed before it is its turn, is not served any more.

    Parameters
    ----------
    node : Node
        Their node.
    """

    def __init__(self, node: Node):
        self._node = node
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._group = MutuallyExclusiveCallbackGroup()
        self._life = _Life()
        self.subscriptions: list[tuple[Subscription, Callable[[Any], None]]] = []
        self.timers: list[tuple[Timer, Callable[[], None]]] = []
        self._alarms: list[Alarm] = []
        #: Counts every change, so that a loop knows when to build anew.
        self.generation = 0

    def subscribe(self, message_type: type, topic: str, callback: Callable[[Any], None],
                  profile: QoSProfile, *, raw: bool = False) -> Subscription:
        """Create a subscription the cycle hangs on; raw messages stay serialised."""
        life = self._life

        def serve(message: Any) -> None:
            if not life.is_over:
                callback(message)

        subscription = self._node.create_subscription(
            message_type, topic, serve, profile, callback_group=self._group, raw=raw,
            qos_overriding_options=qos.overridable())
        self.subscriptions.append((subscription, serve))
        self.generation += 1
        return subscription

    def tick(self, period: float, callback: Callable[[], None]) -> Timer:
        """Create a timer, in seconds, on the steady clock: it runs though simulated time stops."""
        life = self._life

        # Without any parameter, or the EventsExecutor would hand it what it knows of the timer.
        def serve() -> None:
            if not life.is_over:
                callback()

        timer = self._node.create_timer(period, serve, callback_group=self._group,
                                        clock=self._clock)
        self.timers.append((timer, serve))
        self.generation += 1
        return timer

    def alarm(self, seconds: float, ring: Callable[[], float]) -> None:
        """Ring after some seconds, on the steady clock, and then when it is said; see `Alarm`."""
        alarm = Alarm(ring)
        alarm.start(self.tick(seconds, alarm.serve))
        self._alarms.append(alarm)

    def is_pressed(self, now: float) -> bool:
        """Whether an alarm is about to ring, by `time.monotonic`."""
        return any(alarm.is_near(now) for alarm in self._alarms)

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return bool(self.subscriptions or self.timers)

    def destroy(self) -> None:
        """Destroy all of them."""
        self._life.is_over = True
        self._life = _Life()
        for subscription, _ in self.subscriptions:
            self._node.destroy_subscription(subscription)
        for timer, _ in self.timers:
            self._node.destroy_timer(timer)
        self.subscriptions.clear()
        self.timers.clear()
        self._alarms.clear()
        self.generation += 1


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
