# SPDX-License-Identifier: Apache-2.0
"""Three ways to turn a node's crank, chosen by its parameter ``spin``.

``single``   rclpy's SingleThreadedExecutor: plain, good to 500 Hz.
``events``   rclpy's experimental EventsExecutor: half the processor time.
``waitset``  the fast entities on one reused wait set, the rest served between two
             of their callbacks: the lowest latency.

There is no multi-threaded way: Python threads taking turns lose most of 500 cycles
a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor, SingleThreadedExecutor, TimeoutException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes import qos
from robot_dynamics.nodes.parameters import Parameter
from robot_dynamics.nodes.waitset import WaitSet

SPIN = Parameter('spin', 'single', 'How the node waits: single is plain, events and waitset take '
                 'half the processor time and hold 1 kHz.',
                 choices=('single', 'events', 'waitset'), read_only=True)


class FastEntities:
    """The subscriptions and timers of a node that its cycle hangs on.

    They are ordinary entities of the node, served by any executor; the ``waitset``
    style waits for them directly.

    Parameters
    ----------
    node : Node
        Their node.
    """

    def __init__(self, node: Node):
        self._node = node
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.subscriptions: list[tuple[Subscription, Callable[[Any], None]]] = []
        self.timers: list[tuple[Timer, Callable[[], None]]] = []
        #: Counts every change, so that a loop knows when to build anew.
        self.generation = 0

    def subscribe(self, message_type: type, topic: str, callback: Callable[[Any], None],
                  profile: QoSProfile) -> Subscription:
        """Create a subscription the cycle hangs on."""
        subscription = self._node.create_subscription(
            message_type, topic, callback, profile, qos_overriding_options=qos.overridable())
        self.subscriptions.append((subscription, callback))
        self.generation += 1
        return subscription

    def tick(self, period: float, callback: Callable[[], None]) -> Timer:
        """Create a timer, in seconds, on the steady clock: it runs though simulated time stops."""
        timer = self._node.create_timer(period, callback, clock=self._clock)
        self.timers.append((timer, callback))
        self.generation += 1
        return timer

    def destroy(self) -> None:
        """Destroy all of them."""
        for subscription, _ in self.subscriptions:
            self._node.destroy_subscription(subscription)
        for timer, _ in self.timers:
            self._node.destroy_timer(timer)
        self.subscriptions.clear()
        self.timers.clear()
        self.generation += 1


class Spinner(Protocol):
    """Serves a node."""

    def spin_once(self, timeout: float) -> None:
        """Serve what is ready, after waiting for at most some seconds."""

    def close(self) -> None:
        """Let go of the node."""


class ExecutorSpinner:
    """Serves a node by an executor of rclpy."""

    def __init__(self, node: Node, executor: Executor):
        self._executor = executor
        self._node = node
        executor.add_node(node)

    def spin_once(self, timeout: float) -> None:
        """Serve one callback (EventsExecutor: all that are due)."""
        self._executor.spin_once(timeout)

    def close(self) -> None:
        """Let go of the node."""
        self._executor.remove_node(self._node)
        self._executor.shutdown()


class WaitSetSpinner:
    """Serves the fast entities at once and the rest of the node between their callbacks.

    Parameters
    ----------
    node : Node
        The node.
    fast : FastEntities
        Its fast entities.
    """

    #: Time between two looks at services, parameters and slow timers. s.
    PERIOD = 0.05
    #: Callbacks served in one look, so that a flood of requests cannot stop the cycle.
    BUDGET = 8

    def __init__(self, node: Node, fast: FastEntities):
        self._node = node
        self._fast = fast
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._generation = -1
        self._wait_set: WaitSet | None = None
        self._next_look = 0.0

    def spin_once(self, timeout: float) -> None:
        """Serve the fast entities, and now and then the rest."""
        if self._generation != self._fast.generation:
            self._generation = self._fast.generation
            self._wait_set = WaitSet(self._node.context, self._fast.subscriptions,
                                     self._fast.timers)
        self._wait_set.spin_once(min(timeout, self.PERIOD))
        # Right after a cycle the time to the next is longest.
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + self.PERIOD
            self._serve_rest()

    def close(self) -> None:
        """Let go of the node."""
        self._executor.remove_node(self._node)
        self._executor.shutdown()

    def _serve_rest(self) -> None:
        """Run the callbacks that are ready now, up to the budget."""
        for _ in range(self.BUDGET):
            try:
                handler, _, _ = self._executor.wait_for_ready_callbacks(timeout_sec=0.0)
            except TimeoutException:
                return
            handler()
            exception = handler.exception()
            if exception is not None:
                raise exception


def make_spinner(style: str, node: Node, fast: FastEntities) -> Spinner:
    """Return the spinner of that style.

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
            raise ParameterError("is 'events', which this rclpy does not have (Kilted and later "
                                 'do)', subject='parameter spin',
                                 remedy="set it to 'waitset' or 'single'") from None
        return ExecutorSpinner(node, EventsExecutor(context=node.context))
    return ExecutorSpinner(node, SingleThreadedExecutor(context=node.context))
