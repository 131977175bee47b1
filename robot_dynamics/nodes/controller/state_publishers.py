# SPDX-License-Identifier: Apache-2.0
"""Publishers of the joint states that a controller answers, distinguished all the time.

Where rclpy passes the publisher of a message on (`NAMES_PUBLISHER`, and not with the spin style
events), no state of another publisher is answered. Elsewhere the publishers of the topic are
counted 20 times a second. That shows that there are too many, but not from which one a state is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.node import Node

from robot_dynamics.nodes.controller.commands import UNNAMED

#: Time between two counts of the publishers. s.
COUNTING_PERIOD = 0.05


def publisher_names(node: Node, topic: str) -> list[str]:
    """Names of the nodes that publish on a topic, one for each publisher."""
    return ['a node not known by name yet' if info.node_name == UNNAMED else
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in node.get_publishers_info_by_topic(topic)]


class StatePublishers:
    """The publishers of a topic of joint states, of which there have to be a certain number.

    Parameters
    ----------
    node : Node
        The node that subscribes to the topic.
    topic : str
        Full name of the topic.
    wanted : int
        Number of publishers; 0 for any.
    forgotten_after : float
        Time after which another publisher may take the place of one that is silent, if it has
        left. s.
    """

    def __init__(self, node: Node, topic: str, wanted: int, forgotten_after: float):
        self._node, self._topic, self._wanted = node, topic, wanted
        self._forgotten_after = forgotten_after
        #: When each publisher last sent a state, by its identity.
        self._last_seen: dict[bytes, float] = {}
        self._counted_at, self._too_many = -COUNTING_PERIOD, False

    def why_not_ready(self) -> str | None:
        """Reason not to begin with these publishers, None without one."""
        count = self._node.count_publishers(self._topic)
        return self.summary if self._wanted and count != self._wanted else None

    def is_trusted(self, info: Mapping[str, Any], now: float) -> bool:
        """Whether a state may be answered, by its `MessageInfo`, received at a steady time, s."""
        if not self._wanted:
            return True
        publisher = info.get('publisher_gid')
        if publisher is None:
            return not self._are_too_many(now)
        identity = bytes(publisher['data'])
        if identity not in self._last_seen:
            # One that was silent may still be there, where this process was delayed.
            if self._node.count_publishers(self._topic) > self._wanted:
                return False
            self._last_seen = {each: seen for each, seen in self._last_seen.items()
                               if now - seen <= self._forgotten_after}
            if len(self._last_seen) >= self._wanted:
                return False
        self._last_seen[identity] = now
        return True

    @property
    def summary(self) -> str:
        """How many publishers there are, with the names of their nodes."""
        names = publisher_names(self._node, self._topic)
        return (f'{self._topic} has {len(names)} publishers, not {self._wanted}'
                + (f': {", ".join(sorted(set(names)))}' if names else ''))

    def _are_too_many(self, now: float) -> bool:
        """Whether more publishers were counted than wanted, at most `COUNTING_PERIOD` ago."""
        if now - self._counted_at >= COUNTING_PERIOD:
            self._counted_at = now
            self._too_many = self._node.count_publishers(self._topic) > self._wanted
        return self._too_many
