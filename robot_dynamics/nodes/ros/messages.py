# SPDX-License-Identifier: Apache-2.0
"""Messages that are built once and filled in place every cycle, and readers of messages.

Fields of numbers are ``array.array`` behind the scenes, so a numpy view on a field
writes straight into the message.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from numpy.typing import ArrayLike
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.nodes.ros.spinning import SlowGroup

_NANOSECONDS = 1_000_000_000

#: Largest joint state that is read: a thousand joints with long names, which takes a tenth of a
#: millisecond. bytes.
LARGEST_STATE = 65_536
#: Warnings of one kind are this far apart. s.
_WARNING_PERIOD = 2.0


def to_nanoseconds(stamp: Time) -> int:
    """Convert a stamp to ns."""
    return stamp.sec * _NANOSECONDS + stamp.nanosec


def write_stamp(stamp: Time, nanoseconds: int) -> None:
    """Write a time in ns into a stamp."""
    stamp.sec, stamp.nanosec = divmod(nanoseconds, _NANOSECONDS)


def trajectory_message(names: Sequence[str], points: Iterable[TrajectoryPoint]
                       ) -> JointTrajectory:
    """Make a message without a stamp from joint names and points of a motion."""
    message = JointTrajectory(joint_names=list(names))
    for point in points:
        seconds, rest = divmod(round(_NANOSECONDS * point.time_from_start), _NANOSECONDS)
        message.points.append(JointTrajectoryPoint(
            positions=point.positions, velocities=point.velocities,
            accelerations=point.accelerations,
            time_from_start=Duration(sec=seconds, nanosec=rest)))
    return message


class StampClock:
    """Stamps and clock of a node in s since it was made, which floats resolve well."""

    def __init__(self, node: Node):
        self._simulated = node.get_parameter('use_sim_time').value
        clock = node.get_clock()
        # Equal to the clock of rclpy where time is not simulated, and much faster.
        self._now = (lambda: clock.now().nanoseconds) if self._simulated else time.time_ns
        #: Time of the origin. ns.
        self.origin = self._now()

    def seconds(self, stamp: int) -> float | None:
        """Convert a stamp in ns to s since the origin; None where it is not set."""
        return 1e-9 * (stamp - self.origin) if stamp else None

    def nanoseconds(self, seconds: float) -> int:
        """Convert s since the origin to a stamp in ns."""
        return self.origin + round(1e9 * seconds)

    def received(self, stamp: int) -> float:
        """Receive time of a message just received, s.

        With simulated time that is its stamp at least, because ``/clock`` may arrive later.
        """
        now = self.now()
        return max(now, 1e-9 * (stamp - self.origin)) if self._simulated and stamp else now

    def now(self) -> float:
        """Time since the origin, s."""
        return 1e-9 * (self._now() - self.origin)


class JointStateMessage:
    """A JointState of fixed joints whose numbers are numpy views into the message.

    Fields that were not asked for stay empty, "not provided". RViz needs `frame`, a link of the
    arm, to draw efforts.
    """

    def __init__(self, names: Sequence[str], *, position: bool = False, velocity: bool = False,
                 effort: bool = False, frame: str = ''):
        zeros = [0.0] * len(names)
        self.message = JointState(name=list(names), position=zeros if position else [],
                                  velocity=zeros if velocity else [],
                                  effort=zeros if effort else [])
        self.message.header.frame_id = frame
        self.position = array_of(self.message.position)
        self.velocity = array_of(self.message.velocity)
        self.effort = array_of(self.message.effort)

    def stamp(self, nanoseconds: int) -> JointState:
        """Write the stamp and return the message."""
        write_stamp(self.message.header.stamp, nanoseconds)
        return self.message


class ArrayMessage:
    """A Float64MultiArray of fixed shape, one label a dimension, with a numpy view on its data."""

    def __init__(self, labels: Sequence[str], shape: Sequence[int]):
        self.message = Float64MultiArray(data=[0.0] * int(np.prod(shape)))
        for index, (label, size) in enumerate(zip(labels, shape, strict=True)):
            stride = int(np.prod(shape[index:]))
            self.message.layout.dim.append(
                MultiArrayDimension(label=label, size=int(size), stride=stride))
        self.values = array_of(self.message.data).reshape(tuple(shape))

    def fill(self, values: ArrayLike) -> Float64MultiArray:
        """Write the values and return the message."""
        self.values[...] = values
        return self.message


def joint_order(parameter: str, wanted: Sequence[str],
                names: Sequence[str]) -> IntArray:
    """Indices of joints in the order of a parameter: ``vector[order]`` is in it.

    An empty parameter stands for the order of the robot. Raises a ParameterError where the joints
    are not the same.
    """
    names = list(names)
    wanted = list(wanted) or names
    if sorted(wanted) != sorted(names):
        raise ParameterError('must name every joint once', subject=f'parameter {parameter}',
                             remedy='give, in any order: ' + ', '.join(names))
    return np.array([names.index(name) for name in wanted], dtype=np.int64)


def array_of(field: Any) -> FloatArray:
    """View of a field of doubles, shape (k,)."""
    return np.frombuffer(field, dtype=np.float64) if len(field) else np.empty(0)


class PolledSubscription:
    """A subscription whose messages, as many as its depth, wait until they are fetched."""

    def __init__(self, node: Node, message_type: type, topic: str, profile: QoSProfile, *,
                 raw: bool = False, **options: Any):
        self._node = node
        self._raw = raw
        self._served: deque[Any] = deque()
        group = SlowGroup()
        group.is_open = False
        # An executor that does not know callback groups may serve it nevertheless.
        self._subscription = node.create_subscription(
            message_type, topic, self._serve, profile, raw=raw, callback_group=group, **options)

    @property
    def topic_name(self) -> str:
        """Full name of the topic."""
        return self._subscription.topic_name

    def fetch(self) -> Any | None:
        """Take the oldest message that waits, None where none does."""
        if self._served:
            return self._served.popleft()
        taken = self._subscription.handle.take_message(self._subscription.msg_type, self._raw)
        return None if taken is None else taken[0]

    def _serve(self, message: Any) -> None:
        """Keep a message; a method, because rclpy inspects the signature of callbacks."""
        self._served.append(message)

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


class SizeLimitedReader:
    """Deserialises messages up to a size in bytes; the callback of a raw subscription.

    A message may name ten thousand joints, and rclpy makes a Python object of each name. A raw
    subscription delivers bytes instead, so that too large a message costs a controller nothing.
    `rejected` counts messages that were too large or not of the type. Further arguments of `read`
    are passed on to the callback.
    """

    def __init__(self, node: Node, message_type: type, topic: str,
                 callback: Callable[..., None], *, largest: int = LARGEST_STATE):
        self._node, self._type, self._topic = node, message_type, topic
        self._callback, self._largest = callback, largest
        self.rejected = 0

    def read(self, data: bytes, *further: Any) -> None:
        """Deserialise a message for the callback, or log why that is not possible."""
        if len(data) > self._largest:
            self._reject(f'it has {len(data)} bytes, more than {self._largest}')
            return
        try:
            message = deserialize_message(data, self._type)
        except RuntimeError:  # of the middleware, without a useful text
            self._reject(f'it is not a {self._type.__name__}')
            return
        self._callback(message, *further)

    def _reject(self, reason: str) -> None:
        self.rejected += 1
        self._node.get_logger().warning(
            f'message on {self._topic} rejected: {reason}; check its publisher '
            f'({self.rejected} so far)', throttle_duration_sec=_WARNING_PERIOD)
