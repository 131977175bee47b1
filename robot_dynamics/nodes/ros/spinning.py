# SPDX-License-Identifier: Apache-2.0
"""Three ways to serve a node's callbacks, chosen by its parameter ``spin``.

``single``   rclpy's SingleThreadedExecutor: plain, good to 500 Hz.
``events``   rclpy's experimental EventsExecutor: half the processor time.
``waitset``  a wait set built once: the lowest latency.

The fast entities of a node are its cycle. The rest, above all a dozen services for parameters and
lifecycle, is served now and then between two of their callbacks: to check all of them each time
takes an executor a third of a millisecond.

A multi-threaded style does not exist: Python threads that share the interpreter miss most of 500
cycles a second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_type_hints

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor, TimeoutException
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.parameters import Parameter

try:
    from rclpy.subscription import MessageInfo
    #: Whether rclpy passes on the publisher of a message.
    NAMES_PUBLISHER = 'publisher_gid' in get_type_hints(MessageInfo)
except ImportError:  # Humble
    NAMES_PUBLISHER = False

SPIN = Parameter('spin', 'single', 'How the node waits: single is the default executor of rclpy, '
                 'events and waitset take half the processor time and reach 1 kHz.',
                 choices=('single', 'events', 'waitset'), read_only=True)

_NANOSECONDS = 1_000_000_000
_NO_INFO: Mapping[str, Any] = MappingProxyType({})


class Alarm:
    """A timer for a deadline that moves on all the time, at no cost per cycle.

    When the timer fires, `ring` acts if the deadline has passed, and returns how long it is until
    the present deadline, s; the timer waits for that. So it is never late.
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


class CycleStatistics:
    """Periods and durations of a cycle since the last `take`."""

    def __init__(self, capacity: int = 4096):
        self._periods = np.zeros(capacity)
        self._durations = np.zeros(capacity)
        self._count = 0
        self._started = 0.0
        self._previous: float | None = None

    def start(self) -> None:
        """Record the start of a cycle."""
        self._started = time.perf_counter()

    def finish(self) -> float:
        """Record its end; return its duration, s."""
        started, duration = self._started, time.perf_counter() - self._started
        if self._previous is not None:
            slot = self._count % len(self._periods)
            self._periods[slot] = started - self._previous
            self._durations[slot] = duration
            self._count += 1
        self._previous = started
        return duration

    def take(self) -> tuple[FloatArray, FloatArray]:
        """Last periods and durations, s, each of shape (k,); starts over."""
        count = min(self._count, len(self._periods))
        self._count = 0
        if count == 0:
            self._previous = None
        return self._periods[:count], self._durations[:count]


class FastEntities:
    """The subscriptions and timers of a node's cycle, which are served before anything else.

    They are ordinary entities of the node, served by any executor. A callback that an executor
    has taken does not run any more once its entity is destroyed.
    """

    def __init__(self, node: Node, style: str = 'single'):
        self._node = node
        # The EventsExecutor of rclpy 9 fails for callbacks that take the information.
        self._passes_info = NAMES_PUBLISHER and style != 'events'
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.group = MutuallyExclusiveCallbackGroup()
        #: Another object after each `destroy`.
        self._lifetime = object()
        self.subscriptions: list[tuple[Subscription, Callable[[Any, Any], None]]] = []
        self.timers: list[tuple[Timer, Callable[[], None]]] = []
        self._alarms: list[Alarm] = []
        #: Of the cycle, which its callbacks start and finish.
        self.cycle = CycleStatistics()
        #: Counts changes, so that a spinner knows when to build its wait set again.
        self.generation = 0

    def subscribe(self, message_type: type, topic: str, callback: Callable[..., None],
                  profile: QoSProfile, *, raw: bool = False, with_info: bool = False
                  ) -> Subscription:
        """Create a subscription of the cycle; raw messages stay serialised.

        `with_info` passes the `MessageInfo` of rclpy as a second argument, without entries where
        an executor does not pass it on.
        """
        lifetime = self._lifetime

        def serve(message: Any, info: Any = _NO_INFO) -> None:
            if lifetime is self._lifetime:
                if with_info:
                    callback(message, info)
                else:
                    callback(message)

        # Executors pass it on to callbacks that need two arguments.
        def serve_with_info(message: Any, info: Any) -> None:
            serve(message, info)

        subscription = self._node.create_subscription(
            message_type, topic, serve_with_info if with_info and self._passes_info else serve,
            profile, callback_group=self.group, raw=raw, qos_overriding_options=qos.overridable())
        self.subscriptions.append((subscription, serve))
        self.generation += 1
        return subscription

    def tick(self, period: float, callback: Callable[[], None]) -> Timer:
        """Create a timer, in s, on the steady clock, which runs while simulated time stops."""
        lifetime = self._lifetime

        # Without any parameter, or the EventsExecutor would pass it information on the timer.
        def serve() -> None:
            if lifetime is self._lifetime:
                callback()

        timer = self._node.create_timer(period, serve, callback_group=self.group,
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

    def destroy(self) -> None:
        """Destroy all of them."""
        self._lifetime = object()
        for subscription, _ in self.subscriptions:
            self._node.destroy_subscription(subscription)
        for timer, _ in self.timers:
            self._node.destroy_timer(timer)
        self.subscriptions.clear()
        self.timers.clear()
        self._alarms.clear()
        self.cycle = CycleStatistics()
        self.generation += 1


class SlowGroup(MutuallyExclusiveCallbackGroup):
    """Callbacks that executors skip while the group is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = True

    def can_execute(self, entity: Any) -> bool:
        """Whether an executor may wait for it."""
        return self.is_open and super().can_execute(entity)


class WaitSet:
    """A wait set that is built once, and runs the callbacks of its subscriptions and timers.

    Those of subscriptions take a message and its `MessageInfo`.

    rclpy's executors build a new wait set from every entity of a node before each wait, which at
    500 Hz costs half of a process's time.
    """

    def __init__(self, context: Context,
                 subscriptions: Sequence[tuple[Subscription, Callable[[Any, Any], None]]],
                 timers: Sequence[tuple[Timer, Callable[[], None]]] = ()):
        self._subscriptions = tuple(subscriptions)
        self._timers = tuple(timers)
        self._entities = ([subscription for subscription, _ in subscriptions],
                          [timer for timer, _ in timers])
        self._set = _wait_set(context, *self._entities)

    def spin_once(self, timeout: float) -> bool:
        """Wait for at most some seconds, then run what is ready; return whether anything was."""
        wait_set, ran = self._set, False
        _wait_on(wait_set, timeout, *self._entities)
        for index, (timer, serve) in enumerate(self._timers):
            # rcl marks a timer that was cancelled meanwhile as ready, too.
            if wait_set.is_ready('timer', index) and timer.handle.is_timer_ready():
                timer.handle.call_timer()
                serve()
                ran = True
        for index, (subscription, callback) in enumerate(self._subscriptions):
            if wait_set.is_ready('subscription', index):
                taken = subscription.handle.take_message(subscription.msg_type,
                                                         subscription.raw)
                if taken is not None:
                    callback(*taken)
                    ran = True
        return ran


class Spinner:
    """Serves all entities of a node by an executor, and detaches from the node by `close`."""

    def __init__(self, node: Node, executor: Executor):
        self._node, self._executor = node, executor
        executor.add_node(node)

    def spin_once(self, timeout: float) -> None:
        """Serve what is ready, after waiting for at most some seconds."""
        self._executor.spin_once(timeout)

    def close(self) -> None:
        """Detach from the node."""
        self._executor.remove_node(self._node)
        self._executor.shutdown()


class SingleSpinner(Spinner):
    """Serves the fast entities by a SingleThreadedExecutor, and now and then the rest."""

    #: Time between two checks of the rest. s.
    PERIOD = 0.05
    #: Callbacks served in one check, so that a flood of requests cannot stop the cycle.
    BUDGET = 8
    #: Time between two checks of what `RestWatch` does not cover: events of publishers. s.
    THOROUGH_PERIOD = 1.0

    def __init__(self, node: Node, fast: FastEntities):
        super().__init__(node, SingleThreadedExecutor(context=node.context))
        self._fast = fast
        self._slow = node.default_callback_group
        self._slow.is_open = False
        self._rest = RestWatch(node, fast)
        self._next_look = self._next_thorough = 0.0

    def spin_once(self, timeout: float) -> None:
        """Serve a fast entity, and the rest when it is due."""
        self._wait(min(timeout, self.PERIOD))
        # Right after a cycle the time to the next is longest.
        now = time.monotonic()
        if now >= self._next_look and not self._fast.is_pressed(now):
            self._next_look = now + self.PERIOD
            if now >= self._next_thorough or self._rest.is_anything_ready():
                # What is left when the budget is spent waits for the next check.
                is_done = self._serve_rest()
                self._next_thorough = now + (self.THOROUGH_PERIOD if is_done else 0.0)

    def close(self) -> None:
        """Detach from the node."""
        super().close()
        self._slow.is_open = True

    def _wait(self, timeout: float) -> None:
        self._executor.spin_once(timeout)

    def _serve_rest(self) -> bool:
        """Run the callbacks that are ready, up to the budget; return whether that was all."""
        self._slow.is_open = True
        try:
            for _ in range(self.BUDGET):
                handler, _, _ = self._executor.wait_for_ready_callbacks(timeout_sec=0.0)
                handler()
                exception = handler.exception()
                if exception is not None:
                    raise exception
        except TimeoutException:
            return True
        finally:
            self._slow.is_open = False
        return False


class WaitSetSpinner(SingleSpinner):
    """Serves the fast entities by a wait set built once, and the others at intervals."""

    def __init__(self, node: Node, fast: FastEntities):
        super().__init__(node, fast)
        self._generation = -1
        self._wait_set: WaitSet | None = None

    def _wait(self, timeout: float) -> None:
        if self._generation != self._fast.generation:
            self._generation = self._fast.generation
            subscriptions, timers = self._fast.subscriptions, self._fast.timers
            self._wait_set = WaitSet(self._node.context, subscriptions, timers) \
                if subscriptions or timers else None
        if self._wait_set is None:
            # A node that is not configured has no entities, and rcl has no empty wait sets.
            super()._wait(timeout)
        else:
            self._wait_set.spin_once(timeout)


class RestWatch:
    """Checks quickly whether entities that are not fast are ready, events excepted.

    An executor builds a wait set from all entities of the node for that, of which most are events
    of publishers and subscriptions: a third of a millisecond, also where nothing is ready. At
    1 kHz, twenty such checks a second in each of two processes delay up to 4 % of the states.
    """

    def __init__(self, node: Node, fast: FastEntities):
        self._node = node
        self._fast = fast
        self._entities: list[list[Any]] = []
        self._set: Any = None

    def is_anything_ready(self) -> bool:
        """Whether an executor would find work, events excepted."""
        node, fast = self._node, self._fast.group
        entities = [[entity for entity in node.subscriptions if entity.callback_group is not fast],
                    [entity for entity in node.timers if entity.callback_group is not fast],
                    list(node.clients), list(node.services),
                    [each for each in node.waitables if each.get_num_entities().num_services]]
        if entities != self._entities:
            self._entities = entities
            self._set = _wait_set(node.context, *entities) if any(entities) else None
        if self._set is None:
            return False
        _wait_on(self._set, 0.0, *entities)
        return any(self._set.get_ready_entities(kind)
                   for kind in ('subscription', 'timer', 'client', 'service'))


def _wait_set(context: Context, subscriptions: Sequence[Any], timers: Sequence[Any],
              clients: Sequence[Any] = (), services: Sequence[Any] = (),
              actions: Sequence[Any] = ()) -> Any:
    """Wait set of rcl for the numbers of some entities, without guard conditions and events.

    Action servers are waitables, with a timer and services of their own.
    """
    inside = [action.get_num_entities() for action in actions]
    return _rclpy.WaitSet(
        len(subscriptions), 0, len(timers) + sum(each.num_timers for each in inside), len(clients),
        len(services) + sum(each.num_services for each in inside), 0, context.handle)


def _wait_on(wait_set: Any, timeout: float, subscriptions: Sequence[Any], timers: Sequence[Any],
             clients: Sequence[Any] = (), services: Sequence[Any] = (),
             actions: Sequence[Any] = ()) -> None:
    """Wait until one of the entities is ready, for at most some seconds."""
    # rcl clears the entries that are not ready, so they are filled every time.
    wait_set.clear_entities()
    for subscription in subscriptions:
        wait_set.add_subscription(subscription.handle)
    for timer in timers:
        wait_set.add_timer(timer.handle)
    for client in clients:
        wait_set.add_client(client.handle)
    for service in services:
        wait_set.add_service(service.handle)
    for action in actions:
        action.add_to_wait_set(wait_set)
    wait_set.wait(int(timeout * _NANOSECONDS))


def make_spinner(style: str, node: Node, fast: FastEntities) -> Spinner:
    """Make the spinner of a style; raises a ParameterError where this rclpy does not have it."""
    if style == 'waitset':
        return WaitSetSpinner(node, fast)
    if style == 'events':
        try:
            from rclpy.experimental import EventsExecutor
        except ImportError:
            raise ParameterError("must be 'waitset' or 'single', got 'events'",
                                 subject='parameter spin', remedy='this rclpy has no '
                                 'EventsExecutor; Kilted and a new Jazzy do') from None
        return Spinner(node, EventsExecutor(context=node.context))
    return SingleSpinner(node, fast)
