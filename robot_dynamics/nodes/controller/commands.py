# SPDX-License-Identifier: Apache-2.0
"""Messages with efforts for an arm, and the claim of the topic on which they are published.

A controller publishes on its command topic only while no other node does. It claims the topic, by
its publisher, before it is activated, waits until discovery shows all publishers, and releases it
with its last command.

To follow another controller without a pause, it claims the topic while the other is still active,
sends nothing, and subscribes to the commands of the other. So it knows the effort to continue
from.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.nodes.controllers import WATCHERS
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import ArrayMessage, PolledSubscription, array_of

#: Discovery needs this long to show all publishers and subscriptions of a topic. s.
SETTLING_TIME = 0.3
#: How long a publisher that has left may still be counted. s.
_LEAVING_TIME = 0.5
#: Longest time until the name of a discovered node is known, and its name until then
#: (rmw_dds_common). s.
_NAMING_TIME, UNNAMED = 1.0, '_NODE_NAME_UNKNOWN_'
_PACE = 0.002


class CommandMessage(Protocol):
    """Efforts as a message that is built once and filled in place."""

    message_type: type
    #: Joints in the order of the efforts, and whether only the order assigns efforts to joints.
    joints: tuple[str, ...]
    is_ordered: bool

    def fill(self, effort: FloatArray, q: FloatArray) -> Any:
        """Write efforts, N m or N, and measured positions, shape (n,); return the message."""


class EffortArray:
    """Message of forward_command_controller: efforts in the order of its joints."""

    message_type = Float64MultiArray
    is_ordered = True

    def __init__(self, names: Sequence[str], order: IntArray):
        self._order = order
        self.joints = tuple(names[index] for index in order)
        self._message = ArrayMessage(('joint',), (len(names),))

    def fill(self, effort: FloatArray, q: FloatArray) -> Float64MultiArray:
        """Write the efforts and return the message."""
        # mode='clip' avoids a copy that numpy makes to be able to raise; the order is valid.
        np.take(effort, self._order, out=self._message.values, mode='clip')
        return self._message.message


class EffortTrajectory:
    """Message of joint_trajectory_controller: one point, for now, at the measured pose.

    That controller adds the effort of the point to the output of its own PID. The PID compares
    the point with the measured pose, so it adds nothing with zero gains, which it must have, and
    little with others. A trajectory has to end at rest for it.
    """

    message_type = JointTrajectory
    is_ordered = False

    def __init__(self, names: Sequence[str], order: IntArray):
        self._order = order
        self.joints = tuple(names[index] for index in order)
        zeros = [0.0] * len(names)
        point = JointTrajectoryPoint(positions=zeros, velocities=zeros, effort=zeros)
        self._message = JointTrajectory(joint_names=list(self.joints),
                                        points=[point])
        self._position, self._effort = array_of(point.positions), array_of(point.effort)

    def fill(self, effort: FloatArray, q: FloatArray) -> JointTrajectory:
        """Write the efforts and return the message."""
        np.take(q, self._order, out=self._position, mode='clip')
        np.take(effort, self._order, out=self._effort, mode='clip')
        return self._message


#: Messages by the value of the parameter command_type.
COMMAND_TYPES: dict[str, type[EffortArray] | type[EffortTrajectory]] = {
    'effort_array': EffortArray, 'joint_trajectory': EffortTrajectory}


class CommandClaim:
    """The publisher of commands on a topic, which exists while a controller claims the arm.

    Efforts are in the order of `joint_names`.
    """

    def __init__(self, node: Node, topic: str, message: CommandMessage,
                 joint_names: Sequence[str]):
        self._node = node
        self._name = topic
        self._message = message
        self._joint_names = tuple(joint_names)
        self.joints, self.is_ordered = message.joints, message.is_ordered
        #: `Publisher`, None while the topic is not claimed.
        self._publisher: Any = None
        self._made_at = 0.0
        self._predecessors: list[PolledSubscription] = []
        #: Full name of the topic.
        self.topic = node.resolve_topic_name(topic)

    @property
    def subscribers(self) -> int:
        """Number of subscriptions that may be those of an arm."""
        return len(_applying(self._node, self.topic))

    @property
    def is_made(self) -> bool:
        """Whether the topic is claimed."""
        return self._publisher is not None

    def make(self) -> None:
        """Claim the topic."""
        if self._publisher is None:
            self._publisher = self._node.create_publisher(
                self._message.message_type, self._name, qos.command(),
                qos_overriding_options=qos.overridable())
            self._made_at = time.monotonic()

    def release(self) -> None:
        """Withdraw the claim."""
        self.forget_predecessors()
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None

    def send(self, effort: FloatArray, q: FloatArray) -> None:
        """Publish efforts, N m or N, at measured positions q, shape (n,)."""
        self._publisher.publish(self._message.fill(effort, q))

    def wait_for_all_acked(self, timeout: Any) -> None:
        """Wait until every reliable subscriber has the last command, for a Duration at most."""
        self._publisher.wait_for_all_acked(timeout)

    def why_not_ready(self) -> str | None:
        """Reason that commands would not arrive, None without one."""
        return missing_subscriber(self._node, self.topic, self._message.message_type)

    def other_publisher(self) -> str | None:
        """Reason that another node publishes on the topic, None where none does."""
        if self._node.count_publishers(self.topic) > self.is_made:
            return f'another node publishes on {self.topic}'
        return None

    def wait_for_discovery(self) -> str | None:
        """Wait until all nodes see the claim; return `other_publisher`.

        A publisher that has just left may be counted for a while.
        """
        known_at = self._made_at + SETTLING_TIME
        deadline = max(known_at, time.monotonic()) + _LEAVING_TIME
        while True:
            now, reason = time.monotonic(), self.other_publisher()
            if (reason is None and now >= known_at and self._is_matched()) or now > deadline:
                return reason
            time.sleep(_PACE)

    def wait_until_known(self) -> None:
        """Wait until all nodes see the claim and a subscriber has been discovered."""
        known_at = self._made_at + SETTLING_TIME
        deadline = known_at + _LEAVING_TIME
        while (now := time.monotonic()) < known_at or (now < deadline and not self._is_matched()):
            time.sleep(_PACE)

    def listen_to_predecessors(self) -> None:
        """Subscribe to the commands of the controllers that publish on the topic now."""
        self.forget_predecessors()
        own = (self._node.get_namespace(), self._node.get_name())
        for namespace, name in sorted(self._publishing_nodes() - {own}):
            self._predecessors.append(PolledSubscription(
                self._node, JointState, f'{namespace.rstrip("/")}/{name}/command',
                qos.telemetry()))

    def last_effort(self) -> FloatArray | None:
        """Last effort that a predecessor has sent, shape (n,), None without one."""
        last = None
        for subscription in self._predecessors:
            while (message := subscription.fetch()) is not None:
                efforts = dict(zip(message.name, message.effort, strict=False))
                if set(self._joint_names) <= efforts.keys():
                    last = np.array([efforts[name] for name in self._joint_names])
        return last

    def forget_predecessors(self) -> None:
        """End these subscriptions."""
        for subscription in self._predecessors:
            subscription.destroy()
        self._predecessors.clear()

    def _publishing_nodes(self) -> set[tuple[str, str]]:
        """Namespaces and names of the nodes that publish on the topic.

        A publisher may be discovered before the name of its node.
        """
        deadline = time.monotonic() + _NAMING_TIME
        while True:
            found = {(info.node_namespace, info.node_name)
                     for info in self._node.get_publishers_info_by_topic(self.topic)}
            named = {node for node in found if node[1] != UNNAMED}
            if named == found or time.monotonic() > deadline:
                return named
            time.sleep(_PACE)

    def _is_matched(self) -> bool:
        """Whether a subscriber has been discovered, which gets the first command."""
        infos = self._node.get_subscriptions_info_by_topic(self.topic)
        watchers = len(infos) - len(_applying(self._node, self.topic))
        return self._publisher.get_subscription_count() > watchers


def _applying(node: Node, topic: str) -> list[Any]:
    """Subscriptions of a topic of commands without those of nodes that only watch it."""
    return [info for info in node.get_subscriptions_info_by_topic(topic)
            if info.node_name not in WATCHERS]


def missing_subscriber(node: Node, topic: str, message_type: type) -> str | None:
    """Reason that messages of a type on a topic would not arrive, None without one."""
    wanted = f'{message_type.__module__.split(".")[0]}/msg/{message_type.__name__}'
    types = {info.topic_type for info in _applying(node, topic)}
    if not types:
        return f'{topic} has no subscriber'
    if wanted not in types:
        return (f'{topic} takes {", ".join(sorted(types))}, not {wanted}: set command_type '
                'and command_topic to what the controller of the arm takes')
    return None
