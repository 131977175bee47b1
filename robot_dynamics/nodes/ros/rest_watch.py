# SPDX-License-Identifier: Apache-2.0
"""Whether anything is ready that a node's cycle does not hang on, at the cost of a glance.

An executor that is asked builds a wait set from all entities of the node, of which the events of
publishers and subscriptions are most: a third of a millisecond, also where nothing is ready. At
1 kHz twenty such looks a second in each of two processes fall on up to one state in twenty-five.
"""

from __future__ import annotations

from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node

from robot_dynamics.nodes.ros.fast_entities import FastEntities

_KINDS = 'subscription', 'timer', 'client', 'service'


class RestWatch:
    """Glances at the services, clients, timers and subscriptions of a node that are not fast.

    Parameters
    ----------
    node : Node
        The node.
    fast : FastEntities
        What is left out.
    """

    def __init__(self, node: Node, fast: FastEntities):
        self._node = node
        self._fast = fast
        self._entities: list[list[Any]] = []
        self._set: Any = None

    def is_anything_ready(self) -> bool:
        """Whether an executor would find something to do; events are not looked at."""
        entities = self._rest()
        if entities != self._entities:
            self._entities = entities
            subscriptions, timers, clients, services = map(len, entities)
            self._set = _rclpy.WaitSet(subscriptions, 0, timers, clients, services, 0,
                                       self._node.context.handle) if any(entities) else None
        if self._set is None:
            return False
        wait_set = self._set
        # rcl empties the places of what is not ready, so they are filled every time.
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
        """Return what is watched, by kind."""
        node, fast = self._node, self._fast
        fast_subscriptions = {id(subscription) for subscription, _ in fast.subscriptions}
        fast_timers = {id(timer) for timer, _ in fast.timers}
        return [[entity for entity in node.subscriptions if id(entity) not in fast_subscriptions],
                [entity for entity in node.timers if id(entity) not in fast_timers],
                list(node.clients), list(node.services)]
