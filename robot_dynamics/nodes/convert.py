# SPDX-License-Identifier: Apache-2.0
"""Messages and arrays: built once, filled in place every cycle.

Fields of numbers are ``array.array`` behind the scenes, so a numpy view on a field
writes straight into the message.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import ArrayLike, NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

_NANOSECONDS = 1_000_000_000


def to_nanoseconds(stamp: Time) -> int:
    """Return a stamp in nanoseconds."""
    return stamp.sec * _NANOSECONDS + stamp.nanosec


def to_seconds(stamp: Time) -> float:
    """Return a stamp in seconds; a stamp of today keeps 0.2 us that way."""
    return stamp.sec + 1e-9 * stamp.nanosec


def write_stamp(stamp: Time, nanoseconds: int) -> None:
    """Write a time in nanoseconds into a stamp."""
    stamp.sec, stamp.nanosec = divmod(nanoseconds, _NANOSECONDS)


class JointStateMessage:
    """A JointState of fixed joints whose numbers are numpy views into the message.

    Parameters
    ----------
    names : sequence of str
        Joint names.
    position, velocity, effort : bool
        Which fields it carries; the others stay empty, "not provided".

    Attributes
    ----------
    message : JointState
        The message, to be published as it is.
    position, velocity, effort : ndarray, shape (n,) or (0,)
        Views into its fields.
    """

    def __init__(self, names: Sequence[str], *, position: bool = False, velocity: bool = False,
                 effort: bool = False):
        zeros = [0.0] * len(names)
        self.message = JointState(name=list(names), position=zeros if position else [],
                                  velocity=zeros if velocity else [],
                                  effort=zeros if effort else [])
        self.position = _view(self.message.position)
        self.velocity = _view(self.message.velocity)
        self.effort = _view(self.message.effort)

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
        self.values = _view(self.message.data).reshape(tuple(shape))

    def fill(self, values: ArrayLike) -> Float64MultiArray:
        """Write the values and return the message."""
        self.values[...] = values
        return self.message


def array_of(field: ArrayLike) -> NDArray[np.float64]:
    """Return a field of doubles as an array, shape (k,), without a copy where possible."""
    return np.frombuffer(field, dtype=np.float64) if len(field) else np.empty(0)


def _view(field: object) -> NDArray[np.float64]:
    return np.frombuffer(field, dtype=np.float64) if len(field) else np.empty(0)
