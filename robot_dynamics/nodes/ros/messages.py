# SPDX-License-Identifier: Apache-2.0
"""Messages and arrays that are built once and filled in place every cycle.

Fields of numbers are ``array.array`` behind the scenes, so a numpy view on a field
writes straight into the message.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from numpy.typing import ArrayLike
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray, IntArray

_NANOSECONDS = 1_000_000_000


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

        With simulated time that is its stamp, because ``/clock`` arrives a little later.
        """
        if self._simulated and stamp:
            return 1e-9 * (stamp - self.origin)
        return self.now()

    def now(self) -> float:
        """Time since the origin, s."""
        return 1e-9 * (self._now() - self.origin)


class JointStateMessage:
    """A JointState of fixed joints whose numbers are numpy views into the message.

    Parameters
    ----------
    names : sequence of str
        Joint names.
    position, velocity, effort : bool
        Fields that it has; the others stay empty, "not provided".
    frame : str
        ``frame_id`` of its header, a link of the arm, which RViz needs to draw efforts.

    Attributes
    ----------
    message : JointState
        The message.
    position, velocity, effort : ndarray, shape (n,) or (0,)
        Views into its fields.
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
    """A Float64MultiArray of fixed, labelled shape with a numpy view on its data.

    Parameters
    ----------
    labels : sequence of str
        One label a dimension, e.g. ``('joint', 'parameter')``.
    shape : sequence of int
        Its size; row major.
    """

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
    """Indices of joints in the order that a parameter asks for, shape (n,).

    ``vector[order]`` is in that order.

    Parameters
    ----------
    parameter : str
        Name of the parameter, for the error.
    wanted, names : sequence of str
        Joints in its order, empty for the order of the robot; and the joints of the robot.

    Raises
    ------
    ParameterError
        When they are not the same joints.
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
