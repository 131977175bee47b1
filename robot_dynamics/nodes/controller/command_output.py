# SPDX-License-Identifier: Apache-2.0
"""The messages that carry efforts to an arm, one kind for each kind of controller there.

Each is built once and filled in place (``mode='clip'`` spares the copy that numpy makes to be
able to raise, and no index is out of range here); an effort controller of ros2_control takes an
array, a joint trajectory controller with an effort interface takes a trajectory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.nodes.ros.messages import ArrayMessage, array_of


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
