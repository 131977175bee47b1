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

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor, TimeoutException
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.subscriptions import FastEntities

SPIN = Parameter('spin', 'single', 'How the node waits: single is the default executor of rclpy, '
                 'events and waitset take half the processor time and reach 1 kHz.',
                 choices=('single', 'events', 'waitset'), read_only=True)


class SlowGroup(MutuallyExclusiveCallbackGroup):
    """Callbacks that executors skip while the group is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = True

    def can_execute(self, entity: Any) -> bool:
        """Whether an executor may wait for it."""
        return self.is_open and super().can_execute(entity)


_NANOSECONDS = 1_000_000_000


class WaitSet:
    """A wait set that is built once, and runs the callbacks of its subscriptions and timers.

    rclpy's executors build a new wait set from every entity of a node before each wait, which
    at 500 Hz costs half of a process's time.

    Parameters
    ----------
    context : Context
        The context they live in.
    subscriptions : sequence of (Subscription, callable)
        Each with the callback of its messages.
    timers : sequence of (Timer, callable)
        Each with its callback.
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
        """Wait for at most some seconds, then run what is ready; return whether anything was."""
        wait_set = self._set
        # rcl clears the entries that are not ready, so they are filled every time.
        wait_set.clear_entities()
        for subscription, _ in self._subscriptions:
            wait_set.add_subscription(subscription.handle)
        for timer, _ in self._timers:
            wait_set.add_timer(timer.handle)
        wait_set.wait(int(timeout * _NANOSECONDS))
        ran = False
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
                    callback(taken[0])
                    ran = True
        return ran


class Spinner(Protocol):
    """Serves a node."""

    def spin_once(self, timeout: float) -> None:
        """Serve what is ready, after waiting for at most some seconds."""

    def close(self) -> None:
        """Detach from the node."""


class EventsSpinner:
    """Serves everything by an EventsExecutor, whose cost does not grow with the entities."""

    def __init__(self, node: Node, executor: Executor):
        self._node = node
        self._executor = executor
        executor.add_node(node)

    def spin_once(self, timeout: float) -> None:
        """Serve what is ready, after waiting for at most some seconds."""
        self._executor.spin_once(timeout)

    def close(self) -> None:
        """Detach from the node."""
        self._executor.remove_node(self._node)
        self._executor.shutdown()


class SingleSpinner:
    """Serves the fast entities by a SingleThreadedExecutor, and now and then the rest."""

    #: Time between two checks of the rest. s.
    PERIOD = 0.05
    #: Callbacks served in one check, so that a flood of requests cannot stop the cycle.
    BUDGET = 8
    #: Time between two checks of what `RestWatch` does not cover: events of publishers. s.
    THOROUGH_PERIOD = 1.0

    def __init__(self, node: Node, fast: FastEntities):
        self._node = node
        self._fast = fast
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
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
        self._executor.remove_node(self._node)
        self._executor.shutdown()
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
    """Serves the fast entities by a wait set built once, and now and then the rest."""

    def __init__(self, node: Node, fast: FastEntities):
        super().__init__(node, fast)
        self._generation = -1
        self._wait_set: WaitSet | None = None

    def _wait(self, timeout: float) -> None:
        if self._generation != self._fast.generation:
            self._generation = self._fast.generation
            self._wait_set = WaitSet(self._node.context, self._fast.subscriptions,
                                     self._fast.timers) if self._fast.any else None
        if self._wait_set is None:
            # A node that is not configured has no entities, and rcl has no empty wait sets.
            super()._wait(timeout)
        else:
            self._wait_set.spin_once(timeout)


_KINDS = 'subscription', 'timer', 'client', 'service'


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
        entities = self._rest()
        if entities != self._entities:
            self._entities = entities
            of_subscriptions, of_timers, of_clients, of_services = map(len, entities)
            self._set = _rclpy.WaitSet(
                of_subscriptions, 0, of_timers, of_clients, of_services, 0,
                self._node.context.handle) if any(entities) else None
        if self._set is None:
            return False
        wait_set = self._set
        # rcl clears the entries that are not ready, so they are filled every time.
        wait_set.clear_entities()
        subscriptions, timers, clients, services = entities
        for subscription in subscriptions:
            wait_set.add_subscription(subscription.handle)
        for timer in timers:
            wait_set.add_timer(timer.handle)
        for client in clients:
            wait_set.add_client(client.handle)
        for service in services:
            wait_set.add_service(service.handle)
        wait_set.wait(0)
        return any(wait_set.get_ready_entities(kind) for kind in _KINDS)

    def _rest(self) -> list[list[Any]]:
        """Entities that are checked, by kind."""
        node, fast = self._node, self._fast
        fast_subscriptions = {id(subscription) for subscription, _ in fast.subscriptions}
        fast_timers = {id(timer) for timer, _ in fast.timers}
        return [[entity for entity in node.subscriptions if id(entity) not in fast_subscriptions],
                [entity for entity in node.timers if id(entity) not in fast_timers],
                list(node.clients), list(node.services)]


def make_spinner(style: str, node: Node, fast: FastEntities) -> Spinner:
    """Make the spinner of a style.

    Raises
    ------
    ParameterError
        When this rclpy has no EventsExecutor and one is asked for.
    """
    if style == 'waitset':
        return WaitSetSpinner(node, fast)
    if style == 'events':
        try:
            from rclpy.experimental import EventsExecutor
        except ImportError:
            raise ParameterError("must be 'waitset' or 'single', got 'events'",
                                 subject='parameter spin', remedy='this rclpy has no '
                                 'EventsExecutor; Kilted and a new Jazzy do') from None
        return EventsSpinner(node, EventsExecutor(context=node.context))
    return SingleSpinner(node, fast)
