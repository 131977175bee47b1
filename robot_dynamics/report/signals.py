# SPDX-License-Identifier: Apache-2.0
"""Recorded messages as arrays over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot_data import is_name
from robot_dynamics.recordings.bag import Topic

#: More joints than any arm has.
MAX_JOINTS = 500

# What is larger was not measured, in any unit.
_LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class JointSeries:
    """Joint vectors over time.

    Parameters
    ----------
    names : tuple of str, length n
        Joints.
    time : ndarray, shape (k,)
        Stamps in seconds since tracking began.
    position, velocity, effort : ndarray, shape (k, n) or (k, 0)
        rad or m, rad/s or m/s, N m or N; no columns where the messages had none.
    """

    names: tuple[str, ...]
    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray

    def __len__(self) -> int:
        return len(self.time)

    def ordered(self, names: Sequence[str]) -> JointSeries:
        """Return the same with the columns of the given joints, in that order."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise RecordingError('is not in every topic of the recording', subject=missing[0],
                                 remedy='record one robot at a time')
        index = [self.names.index(name) for name in names]
        position, velocity, effort = (values[:, index] if values.shape[1] else values
                                      for values in (self.position, self.velocity, self.effort))
        return JointSeries(tuple(names), self.time, position, velocity, effort)


@dataclass(frozen=True, eq=False)
class VectorSeries:
    """Unstamped vectors over time.

    Parameters
    ----------
    time : ndarray, shape (k,)
        When they were received, in seconds since the first tracking error was.
    values : ndarray, shape (k, m)
        The vectors.
    """

    time: FloatArray
    values: FloatArray

    def __len__(self) -> int:
        return len(self.time)


#: Vectors that were not recorded.
NO_VECTORS = VectorSeries(np.empty(0), np.empty((0, 0)))


@dataclass(frozen=True)
class Origin:
    """Where time zero is, on the clock of the stamps and on that of the recorder."""

    stamp: Any
    received: int


def _seconds(stamp: Any, origin: Any) -> float:
    """Return a stamp relative to another without losing nanoseconds to rounding."""
    return (stamp.sec - origin.sec) + 1e-9 * (int(stamp.nanosec) - int(origin.nanosec))


def joint_series(topic: Topic, origin: Origin) -> JointSeries:
    """Return joint states in the order of their stamps, their joints being those of the first."""
    names = tuple(topic.messages[0].name)
    if len(names) > MAX_JOINTS or len(set(names)) < len(names) or not all(map(is_name, names)):
        raise RecordingError('holds names that are none of the joints of an arm',
                             subject='recording', remedy='record one robot at a time')
    position, velocity, effort = (_columns(topic.messages, field, names)
                                  for field in ('position', 'velocity', 'effort'))
    time = np.array([_seconds(message.header.stamp, origin.stamp) for message in topic.messages])
    # A driver may send two states in the wrong order.
    order = np.argsort(time, kind='stable')
    return JointSeries(names, time[order], position[order], velocity[order], effort[order])


def _columns(messages: Sequence[Any], field: str, names: tuple[str, ...]) -> FloatArray:
    """Return one field of all messages; nan where one has other joints or no sane number."""
    if len(getattr(messages[0], field)) == 0:
        return np.empty((len(messages), 0))
    array = np.full((len(messages), len(names)), np.nan)
    for row, message in zip(array, messages, strict=True):
        values = getattr(message, field)
        if len(values) == len(names) and tuple(message.name) == names:
            row[:] = values
    return _sane(array)


def vector_series(topic: Topic | None, origin: Origin) -> VectorSeries:
    """Return vectors, as many as are of the length of the first."""
    if topic is None or not topic.messages:
        return NO_VECTORS
    size = len(topic.messages[0].data)
    rows = [(time, message.data) for time, message in zip(topic.times, topic.messages, strict=True)
            if len(message.data) == size]
    time = np.array([1e-9 * (time - origin.received) for time, _ in rows])
    return VectorSeries(time, _sane(np.array([data for _, data in rows], dtype=np.float64)))


def _sane(array: FloatArray) -> FloatArray:
    """Return the numbers with nan for what nobody can have measured."""
    return np.where(np.abs(array) <= _LARGEST, array, np.nan)


def reception_times(topic: Topic | None, origin: Origin) -> FloatArray:
    """Return when the messages of a topic were received, shape (k,). s."""
    received = [] if topic is None else topic.times
    return 1e-9 * np.array([time - origin.received for time in received], dtype=np.float64)
