# SPDX-License-Identifier: Apache-2.0
"""Listens to the joint states of a running arm for some time, and passes them on as they are.

It publishes nothing and listens to nothing but joint states, by best effort and at a pace of
its own: no publisher waits for it, and no controller takes it for the arm.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from robot_dynamics.errors import BringupError, RecordingError
from robot_dynamics.nodes.observing.graph_snapshot import JOINT_STATE_TYPE
from robot_dynamics.nodes.ros.runtime import started_context
from robot_dynamics.nodes.ros.subscriptions import PolledSubscription

#: Time between two looks at what has come, and between two looks for topics. s.
_PACE, _DISCOVERY = 0.02, 0.25
#: Messages that may wait between two looks: 2 kHz and a machine that stands still for long.
_DEPTH = 4000

#: Gets the name of a topic and messages, serialized.
Take = Callable[[str, Sequence[bytes]], None]


def listen(seconds: float, take: Take, *, topic: str | None = None, namespace: str = '',
           domain: int | None = None, patience: float = 15.0,
           is_over: Callable[[], bool] = lambda: False,
           progress: Callable[[float], None] = lambda share: None) -> None:
    """Pass joint states on for some time, counted from the first one.

    Parameters
    ----------
    seconds : float
        How long.
    take : callable
        Gets the messages.
    topic : str, optional
        Which topic; all that have joint states by default.
    namespace : str
        Where the arm is.
    domain : int, optional
        ROS domain; that of the environment by default.
    patience : float
        How long to wait for the first one. s.
    is_over : callable
        Asked now and then whether to end early.
    progress : callable
        Told now and then which share of the time is over: 0 until the first one has come.

    Raises
    ------
    BringupError
        When ROS 2 itself cannot be started, or a name is none.
    RecordingError
        When nobody says anything.
    """
    context = started_context(domain)
    try:
        try:
            node = Node(f'_identify_{os.getpid()}', context=context, namespace=namespace,
                        use_global_arguments=False, enable_rosout=False,
                        start_parameter_services=False)
            listener = _Listener(node, topic)
        # rclpy looks at namespaces, and what lies below it at topics.
        except (NameValidationException, RuntimeError) as error:
            raise BringupError(f'is no name in ROS 2: {" ".join(str(error).split())}',
                               subject=topic or namespace, remedy='give namespace and topic as '
                                                                  'ros2 topic list has them'
                               ) from error
        listener.listen(seconds, take, patience, is_over, progress)
    finally:
        context.try_shutdown()


class _Listener:
    """A node that nobody spins, and its subscriptions."""

    def __init__(self, node: Node, topic: str | None):
        self._node = node
        self._wanted = None if topic is None else node.resolve_topic_name(topic)
        self._ears: dict[str, PolledSubscription] = {}
        self._next_look = 0.0

    def listen(self, seconds: float, take: Take, patience: float,
               is_over: Callable[[], bool], progress: Callable[[float], None]) -> None:
        end, heard = time.monotonic() + patience, False
        while time.monotonic() < end and not is_over():
            self._discover()
            for name, ear in self._ears.items():
                messages = []
                while (message := ear.fetch()) is not None:
                    messages.append(message)
                if messages:
                    take(name, messages)
                    if not heard:
                        end, heard = time.monotonic() + seconds, True
            progress(1.0 - max(0.0, end - time.monotonic()) / seconds if heard else 0.0)
            time.sleep(_PACE)
        if heard and not is_over():
            progress(1.0)
        if not heard and not is_over():
            raise RecordingError(
                f'says nothing within {patience:.0f} s', subject=self._wanted or 'joint_states',
                remedy='start the arm, and see robot-dynamics doctor')

    def _discover(self) -> None:
        """Subscribe to topics that have come up."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _DISCOVERY
        profile = QoSProfile(depth=_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
        names = [self._wanted] if self._wanted is not None else self._of_the_arm()
        for name in names:
            if name not in self._ears:
                self._ears[name] = PolledSubscription(self._node, JointState, name, profile,
                                                       raw=True)

    def _of_the_arm(self) -> list[str]:
        """Return the topics of joint states in the namespace of the arm."""
        space = self._node.get_namespace().rstrip('/') + '/'
        return [name for name, types in self._node.get_topic_names_and_types()
                if JOINT_STATE_TYPE in types and name.startswith(space)]
