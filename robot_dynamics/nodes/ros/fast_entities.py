# SPDX-License-Identifier: Apache-2.0
"""What a node's cycle hangs on: subscriptions and timers that are served before anything else."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
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
