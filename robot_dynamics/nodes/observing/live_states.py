# SPDX-License-Identifier: Apache-2.0
"""Joint states of a running arm, serialised, for some time.

The node publishes nothing and subscribes to joint states only, with best-effort QoS and by
polling. No publisher waits for it, and no controller mistakes it for the arm.
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
from robot_dynamics.nodes.ros.messages import PolledSubscription
from robot_dynamics.nodes.ros.runtime import started_context

#: Time between two checks for messages, and between two checks for topics. s.
_PACE, _DISCOVERY = 0.02, 0.25
#: Queue length between two checks: 2 kHz on a busy machine.
_DEPTH = 4000

#: Function of the name of a topic and serialised messages.
Take = Callable[[str, Sequence[bytes]], None]


def listen(seconds: float, take: Take, *, topic: str | None = None, namespace: str = '',
           domain: int | None = None, patience: float = 15.0,
           is_over: Callable[[], bool] = lambda: False,
           progress: Callable[[float], None] = lambda share: None) -> None:
    """Pass on joint states for `seconds`, s, counted from the first one, to `take`.

    All topics of joint states by default, in the namespace of the arm; the ROS domain is that of
    the environment by default. `patience` is the longest wait for the first one, s. `is_over` is
    called periodically and ends the recording by True; `progress` is called with the elapsed share
    of the time, 0 before the first state. Raises a BringupError if ROS 2 cannot be started or a
    name is not valid, and a RecordingError if no joint state arrives.
    """
    context = started_context(domain)
    try:
        try:
            node = Node(f'_identify_{os.getpid()}', context=context, namespace=namespace,
                        use_global_arguments=False, enable_rosout=False,
                        start_parameter_services=False)
            wanted = None if topic is None else node.resolve_topic_name(topic)
        # rclpy checks namespaces, and its C extension checks topics.
        except (NameValidationException, RuntimeError) as error:
            raise BringupError(f'must be a name in ROS 2: {" ".join(str(error).split())}',
                               subject=topic or namespace,
                               remedy='give namespace and topic as ros2 topic list prints them'
                               ) from error
        _listen(node, wanted, seconds, take, patience, is_over, progress)
    finally:
        context.try_shutdown()


def _listen(node: Node, wanted: str | None, seconds: float, take: Take, patience: float,
            is_over: Callable[[], bool], progress: Callable[[float], None]) -> None:
    """See `listen`; `wanted` is the full name of the topic, None for all of the arm."""
    subscriptions: dict[str, PolledSubscription] = {}
    next_look, has_begun = 0.0, False
    end = time.monotonic() + patience
    while (now := time.monotonic()) < end and not is_over():
        if now >= next_look:
            next_look = now + _DISCOVERY
            for name in [wanted] if wanted is not None else _topics_of_the_arm(node):
                if name not in subscriptions:
                    subscriptions[name] = PolledSubscription(
                        node, JointState, name, QoSProfile(
                            depth=_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT), raw=True)
        for name, subscription in subscriptions.items():
            messages = []
            while (message := subscription.fetch()) is not None:
                messages.append(message)
            if messages:
                take(name, messages)
                if not has_begun:
                    end, has_begun = time.monotonic() + seconds, True
        progress(1.0 - max(0.0, end - time.monotonic()) / seconds if has_begun else 0.0)
        time.sleep(_PACE)
    if is_over():
        return
    if not has_begun:
        raise RecordingError(f'has no message within {patience:.0f} s',
                             subject=wanted or 'joint_states',
                             remedy='start the arm, and see robot-dynamics doctor')
    progress(1.0)


def _topics_of_the_arm(node: Node) -> list[str]:
    """Topics of joint states in the namespace of the arm."""
    space = node.get_namespace().rstrip('/') + '/'
    return [name for name, types in node.get_topic_names_and_types()
            if JOINT_STATE_TYPE in types and name.startswith(space)]
