# SPDX-License-Identifier: Apache-2.0
"""``CommandClaim``: who commands an arm, and how one controller follows another.

Nobody moves an arm that somebody else moves: a controller publishes on its command topic
only while nobody else does. It claims the topic, by its publisher, when it wants to be
activated, waits until all who publish can be seen, and gives it up with its last command.

To follow another without a pause it claims the topic while the other is still active, sends
nothing, and listens to what the other says that it sends; then it knows the effort to go
on from.
"""
from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import ArrayMessage, array_of
from robot_dynamics.nodes.ros.subscriptions import PolledSubscription

#: A claim has to be known everywhere for this long: discovery takes its time to show all who
#: publish and listen. s.
SETTLING_TIME = 0.3
#: How long one who has given up a topic may still be seen on it. s.
_LEAVING_TIME = 0.5
#: How long the name of a node that is found already may take, and what it is called until then
#: (rmw_dds_common). s.
_NAMING_TIME, _UNNAMED = 1.0, '_NODE_NAME_UNKNOWN_'
_PACE = 0.002


class CommandClaim:
    """The publisher of commands, which is there while the arm is wanted.

    Parameters
    ----------
    node : Node
        The node.
    topic : str
        Where commands go.
    message_type : type
        What they are.
    joint_names : sequence of str
        The joints, in the order of efforts.
    """

    def __init__(self, node: Node, topic: str, message_type: type, joint_names: Sequence[str]):
        self._node = node
        self._name = topic
        self._message_type = message_type
        self._joint_names = tuple(joint_names)
        self._publisher: Publisher | None = None
        self._made_at = 0.0
        self._predecessors: list[PolledSubscription] = []
        #: Full name of the topic.
        self.topic = node.resolve_topic_name(topic)

    @property
    def is_made(self) -> bool:
        """Whether the topic is claimed."""
        return self._publisher is not None

    def make(self) -> None:
        """Claim the topic."""
        if self._publisher is None:
            self._publisher = self._node.create_publisher(
                self._message_type, self._name, qos.command(),
                qos_overriding_options=qos.overridable())
            self._made_at = time.monotonic()

    def release(self) -> None:
        """Give it up."""
        self.forget_predecessors()
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None

    def publish(self, message: Any) -> None:
        """Send a command."""
        self._publisher.publish(message)

    def wait_for_all_acked(self, timeout: Any) -> None:
        """Wait until every reliable listener has the last command, for a Duration at most."""
        self._publisher.wait_for_all_acked(timeout)

    def obstacle(self) -> str | None:
        """Return what stands against sending commands, but for others who do."""
        return listener_obstacle(self._node, self.topic, self._message_type)

    def rival(self) -> str | None:
        """Return that somebody else publishes on the topic, None where nobody does."""
        if self._node.count_publishers(self.topic) > self.is_made:
            return f'somebody else publishes on {self.topic}'
        return None

    def settle(self) -> str | None:
        """Wait until the topic is known to be ours alone; return why it is not.

        A claim that is old enough is known; one who has just left may be seen for a
        while.
        """
        known_at = self._made_at + SETTLING_TIME
        deadline = max(known_at, time.monotonic()) + _LEAVING_TIME
        while True:
            now, reason = time.monotonic(), self.rival()
            if (reason is None and now >= known_at and self._is_matched()) or now > deadline:
                return reason
            time.sleep(_PACE)

    def wait_until_known(self) -> None:
        """Wait until a claim that was made is old enough, and a listener has been found."""
        known_at = self._made_at + SETTLING_TIME
        deadline = known_at + _LEAVING_TIME
        while (now := time.monotonic()) < known_at or (now < deadline and not self._is_matched()):
            time.sleep(_PACE)

    def listen_to_predecessors(self) -> None:
        """Begin to hear what those say who command the arm now."""
        self.forget_predecessors()
        own = (self._node.get_namespace(), self._node.get_name())
        for namespace, name in sorted(self._who_publish() - {own}):
            self._predecessors.append(PolledSubscription(
                self._node, JointState, f'{namespace.rstrip("/")}/{name}/command',
                qos.telemetry()))

    def last_effort(self) -> FloatArray | None:
        """Return the last effort that a predecessor says it sent, shape (n,), None for none."""
        last = None
        for subscription in self._predecessors:
            while (message := subscription.fetch()) is not None:
                efforts = dict(zip(message.name, message.effort, strict=False))
                if set(self._joint_names) <= efforts.keys():
                    last = np.array([efforts[name] for name in self._joint_names])
        return last

    def forget_predecessors(self) -> None:
        """Listen to nobody any more."""
        for subscription in self._predecessors:
            subscription.destroy()
        self._predecessors.clear()

    def _who_publish(self) -> set[tuple[str, str]]:
        """Return namespaces and names of the nodes that publish on the topic.

        A publisher may be found before the name of its node.
        """
        deadline = time.monotonic() + _NAMING_TIME
        while True:
            found = {(info.node_namespace, info.node_name)
                     for info in self._node.get_publishers_info_by_topic(self.topic)}
            named = {node for node in found if node[1] != _UNNAMED}
            if named == found or time.monotonic() > deadline:
                return named
            time.sleep(_PACE)

    def _is_matched(self) -> bool:
        """Whether a listener has been found, to whom the first command gets."""
        return self._publisher.get_subscription_count() > 0


class CommandMessage(Protocol):
    """Efforts as a message."""

    message_type: type

    def fill(self, effort: FloatArray, q: FloatArray) -> Any:
        """Return the message for efforts and measured positions, shape (n,), robot's order."""


class EffortArray:
    """What forward_command_controller takes: efforts in the order it was configured with.

    Parameters
    ----------
    names : sequence of str
        Joints in the order of the controller.
    order : ndarray of int, shape (n,)
        So that ``vector[order]`` is in that order.
    """

    message_type = Float64MultiArray

    def __init__(self, names: Sequence[str], order: IntArray):
        self._order = order
        self._message = ArrayMessage(('joint',), (len(names),))

    def fill(self, effort: FloatArray, q: FloatArray) -> Float64MultiArray:
        """Write the efforts and return the message."""
        np.take(effort, self._order, out=self._message.values, mode='clip')
        return self._message.message


class EffortTrajectory:
    """What joint_trajectory_controller takes: one point, for now, at the measured pose.

    It adds the point's effort to the output of its own PID. That compares the point
    with the measured pose, so it adds nothing where its gains are zero, as they have
    to be, and little where somebody forgot; a trajectory has to end at rest for it.

    Parameters
    ----------
    names, order
        As for `EffortArray`.
    """

    message_type = JointTrajectory

    def __init__(self, names: Sequence[str], order: IntArray):
        self._order = order
        zeros = [0.0] * len(names)
        point = JointTrajectoryPoint(positions=zeros, velocities=zeros, effort=zeros)
        self._message = JointTrajectory(joint_names=[names[index] for index in order],
                                        points=[point])
        self._position, self._effort = array_of(point.positions), array_of(point.effort)

    def fill(self, effort: FloatArray, q: FloatArray) -> JointTrajectory:
        """Write the efforts and return the message."""
        np.take(q, self._order, out=self._position, mode='clip')
        np.take(effort, self._order, out=self._effort, mode='clip')
        return self._message


#: By the value of the parameter command_type.
COMMAND_TYPES: dict[str, type[EffortArray] | type[EffortTrajectory]] = {
    'effort_array': EffortArray, 'joint_trajectory': EffortTrajectory}


def listener_obstacle(node: Node, topic: str, message_type: type) -> str | None:
    """Return what stands against being heard on a topic, None where nothing does.

    Parameters
    ----------
    node : Node
        The node that wants to publish there.
    topic : str
        Full name of the topic.
    message_type : type
        What it wants to publish.
    """
    wanted = _type_name(message_type)
    types = {info.topic_type for info in node.get_subscriptions_info_by_topic(topic)}
    if not types:
        return f'nobody listens on {topic}'
    if wanted not in types:
        return (f'{topic} takes {", ".join(sorted(types))}, not {wanted}: set command_type '
                'and command_topic to what the controller of the arm takes')
    return None


def _type_name(message_type: type) -> str:
    return f'{message_type.__module__.split(".")[0]}/msg/{message_type.__name__}'
