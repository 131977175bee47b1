# SPDX-License-Identifier: Apache-2.0
"""Three ways to turn a node's crank, chosen by its parameter ``spin``.

``single``   rclpy's SingleThreadedExecutor: plain, good to 500 Hz.
``events``   rclpy's experimental EventsExecutor: half the processor time.
``waitset``  a wait set built once: the lowest latency.

What a node's cycle hangs on are its fast entities; the rest, a dozen services for
parameters and lifecycle above all, is served between two of their callbacks, now and
then: an executor that had to look at all of them each time would need a third of a
millisecond for that alone.

There is no multi-threaded way: Python threads taking turns lose most of 500 cycles
a second.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import Executor, SingleThreadedExecutor, TimeoutException
from rclpy.node import Node

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.ros.fast_entities import FastEntities
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.rest_watch import RestWatch
from robot_dynamics.nodes.ros.waitset import WaitSet

SPIN = Parameter('spin', 'single', 'How the node waits: single is plain, events and waitset take '
                 'half the processor time and hold 1 kHz.',
                 choices=('single', 'events', 'waitset'), read_only=True)


class SlowGroup(MutuallyExclusiveCallbackGroup):
    """Callbacks that executors overlook while it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = True

    def can_execute(self, entity: Any) -> bool:
        """Whether an executor may wait for it."""
        return self.is_open and super().can_execute(entity)


class Spinner(Protocol):
    """Serves a node."""

    def spin_once(self, timeout: float) -> None:
        """Serve what is ready, after waiting for at most some seconds."""

    def close(self) -> None:
        """Let go of the node."""


class EventsSpinner:
    """Serves everything by an EventsExecutor, to which many entities are no burden.

    Parameters
    ----------
    node : Node
        The node.
    executor : Executor
        The executor.
    """

    def __init__(self, node: Node, executor: Executor):
        self._node = node
        self._executor = executor
        executor.add_node(node)

    def spin_once(self, timeout: float) -> None:
        """Serve what is ready, after waiting for at most some seconds."""
        self._executor.spin_once(timeout)

    def close(self) -> None:
        """Let go of the node."""
        self._executor.remove_node(self._node)
        self._executor.shutdown()


class SingleSpinner:
    """Serves the fast entities by a SingleThreadedExecutor, and now and then the rest.

    Parameters
    ----------
    node : Node
        The node; the rest is what is in its default callback group, a `SlowGroup`.
    fast : FastEntities
        Its fast entities.
    """

    #: Time between two looks at the rest. s.
    PERIOD = 0.05
    #: Callbacks served in one look, so that a flood of requests cannot stop the cycle.
    BUDGET = 8
    #: Time between two looks at what `RestWatch` does not see: events of publishers. s.
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
        """Serve a fast entity, and the rest when it is its turn."""
        self._wait(min(timeout, self.PERIOD))
        # Right after a cycle the time to the next is longest.
        now = time.monotonic()
        if now >= self._next_look and not self._fast.is_pressed(now):
            self._next_look = now + self.PERIOD
            if now >= self._next_thorough or self._rest.is_anything_ready():
                # What is left when the budget is spent waits for the next look.
                is_done = self._serve_rest()
                self._next_thorough = now + (self.THOROUGH_PERIOD if is_done else 0.0)

    def close(self) -> None:
        """Let go of the node."""
        self._executor.remove_node(self._node)
        self._executor.shutdown()
        self._slow.is_open = True

    def _wait(self, timeout: float) -> None:
        self._executor.spin_once(timeout)

    def _serve_rest(self) -> bool:
        """Run the callbacks that are ready now, up to the budget; return whether that was all."""
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
    """Serves the fast entities by a wait set built once, and now and then the rest.

    Parameters
    ----------
    node : Node
        The node.
    fast : FastEntities
        Its fast entities.
    """

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
            # A node that is not configured has nothing to wait for, and rcl no empty wait set.
            super()._wait(timeout)
        else:
            self._wait_set.spin_once(timeout)


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
            raise ParameterError("is 'events', which this rclpy does not have (Kilted and a "
                                 'new Jazzy do)', subject='parameter spin',
                                 remedy="set it to 'waitset' or 'single'") from None
        return EventsSpinner(node, EventsExecutor(context=node.context))
    return SingleSpinner(node, fast)
