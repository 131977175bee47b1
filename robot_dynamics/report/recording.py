# SPDX-License-Identifier: Apache-2.0
"""Reads a recording of a controlled arm: rosbag2 (MCAP or SQLite) to plain arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError

FloatArray = NDArray[np.float64]

#: What the effort controller of an arm listens to.
COMMAND_TOPIC = 'effort_controller/commands'

#: The parts of the model torque, in the order in which they are drawn.
TORQUE_PARTS = ('gravity', 'inertial', 'coriolis', 'friction')


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


@dataclass(frozen=True, eq=False)
class Recording:
    """What a controlled arm and its controller said, in the order of the arm's joints.

    Parameters
    ----------
    states : JointSeries
        Measured states.
    errors : JointSeries
        Tracking error q_d - q and its derivative, at the stamps of the states answered.
    commands : JointSeries
        Effort commands at the stamps of the states they answer, as far as they were
        published for people.
    command_times : ndarray, shape (k,)
        When each command to the arm was received, s; empty when they were not recorded.
    parts : dict of str to JointSeries
        Parts of the model torque (`TORQUE_PARTS`); empty without inverse dynamics.
    torque : JointSeries or None
        Their sum.
    estimates : VectorSeries
        Parameter estimates.
    estimate_names : tuple of str
        Their names, e.g. ``link_7/m``.
    timing : VectorSeries
        Stamp of a state to its command published, duration of the callback, and the
        worst of each since the last sample, s.
    modes : tuple of (float, str)
        When the controller entered which mode.
    controller : str
        Name of the controller.
    description : str or None
        The URDF, when it was recorded.
    """

    states: JointSeries
    errors: JointSeries
    commands: JointSeries
    command_times: FloatArray
    parts: dict[str, JointSeries]
    torque: JointSeries | None
    estimates: VectorSeries
    estimate_names: tuple[str, ...]
    timing: VectorSeries
    modes: tuple[tuple[float, str], ...]
    controller: str
    description: str | None


def read_recording(path: str | Path) -> Recording:
    """Read the recording of one arm and its controller.

    Parameters
    ----------
    path : str or Path
        Folder of a rosbag2 recording, or an MCAP file.

    Raises
    ------
    RecordingError
        When it cannot be read or lacks what a controlled arm says.
    """
    topics = _read_topics(Path(path))
    controller = _controller(topics)
    states, tracked = topics['joint_states'], topics[f'{controller}/tracking_error']
    if not states.messages or not tracked.messages:
        raise RecordingError(f'{controller} never tracked a reference', subject=str(path),
                             remedy='record until the arm moves')
    origin = _Origin(tracked.messages[0].header.stamp, tracked.times[0])
    measured = _joint_series(states, origin)

    def joints(name: str) -> JointSeries | None:
        topic = topics.get(name)
        if topic is None or not topic.messages:
            return None
        return _joint_series(topic, origin).ordered(measured.names)

    def vectors(name: str) -> VectorSeries:
        return _vector_series(topics.get(name), origin)

    errors, commands = joints(f'{controller}/tracking_error'), joints(f'{controller}/command')
    if errors is None or commands is None:
        raise RecordingError(f'lacks {controller}/command', subject=str(path),
                             remedy='record all topics of the controller')
    parts = {part: series for part in TORQUE_PARTS
             if (series := joints(f'inverse_dynamics/terms/{part}')) is not None}
    return Recording(
        states=measured, errors=errors, commands=commands,
        command_times=_times(topics.get(COMMAND_TOPIC), origin), parts=parts,
        torque=joints('inverse_dynamics/torque'),
        estimates=vectors(f'{controller}/parameter_estimate'),
        estimate_names=tuple(json.loads(
            _last_text(topics.get(f'{controller}/parameter_names')) or '[]')),
        timing=vectors(f'{controller}/timing'),
        modes=_modes(topics.get(f'{controller}/mode'), origin),
        controller=controller, description=_last_text(topics.get('robot_description')))


@dataclass(eq=False)
class _Topic:
    """Messages of a topic and when each was received, in nanoseconds."""

    messages: list[Any]
    times: list[int]


@dataclass(frozen=True)
class _Origin:
    """Where time zero is, on the clock of the stamps and on that of the recorder."""

    stamp: Any
    received: int


def _import_rosbags() -> tuple[ModuleType, ModuleType]:
    try:
        from rosbags import highlevel, typesys
    except ImportError as error:
        raise RecordingError('reading recordings needs the Python package rosbags',
                             subject='rosbags', remedy='pip install rosbags') from error
    return highlevel, typesys


def _read_topics(path: Path) -> dict[str, _Topic]:
    """Return every topic below the namespace that holds ``joint_states``."""
    highlevel, typesys = _import_rosbags()
    if not path.exists():
        raise RecordingError('does not exist', subject=str(path),
                             remedy='give the folder of a rosbag2 recording')
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    try:
        with highlevel.AnyReader([path], default_typestore=store) as reader:
            namespace = _namespace([connection.topic for connection in reader.connections])
            topics = {connection.topic.removeprefix(namespace): _Topic([], [])
                      for connection in reader.connections
                      if connection.topic.startswith(namespace)}
            wanted = [connection for connection in reader.connections
                      if connection.topic.startswith(namespace)
                      and not connection.topic.endswith('/reference')]
            for connection, time, data in reader.messages(wanted):
                topic = topics[connection.topic.removeprefix(namespace)]
                topic.messages.append(reader.deserialize(data, connection.msgtype))
                topic.times.append(time)
    except (highlevel.AnyReaderError, OSError) as error:
        raise RecordingError(f'cannot be read: {error}', subject=str(path),
                             remedy='give the folder of a rosbag2 recording') from error
    return topics


def _namespace(topics: Sequence[str]) -> str:
    """Return the namespace of the arm with its trailing slash, from its joint_states."""
    found = sorted(topic.removesuffix('joint_states') for topic in topics
                   if topic.endswith('/joint_states'))
    if not found:
        raise RecordingError('is not recorded', subject='joint_states',
                             remedy='record joint_states and the topics of a controller')
    return found[0]


def _controller(topics: dict[str, _Topic]) -> str:
    suffix = '/tracking_error'
    found = sorted(name.removesuffix(suffix) for name in topics if name.endswith(suffix))
    if not found:
        raise RecordingError('is not recorded', subject='tracking_error',
                             remedy='record the topics of a controller')
    return found[0]


def _seconds(stamp: Any, origin: Any) -> float:
    """Return a stamp relative to another without losing nanoseconds to rounding."""
    return (stamp.sec - origin.sec) + 1e-9 * (int(stamp.nanosec) - int(origin.nanosec))


def _joint_series(topic: _Topic, origin: _Origin) -> JointSeries:
    names = tuple(topic.messages[0].name)
    position, velocity, effort = (_columns(topic.messages, field, names)
                                  for field in ('position', 'velocity', 'effort'))
    time = np.array([_seconds(message.header.stamp, origin.stamp) for message in topic.messages])
    return JointSeries(names, time, position, velocity, effort)


def _columns(messages: Sequence[Any], field: str, names: tuple[str, ...]) -> FloatArray:
    if len(getattr(messages[0], field)) == 0:
        return np.empty((len(messages), 0))
    array = np.full((len(messages), len(names)), np.nan)
    for row, message in zip(array, messages, strict=True):
        values = getattr(message, field)
        if tuple(message.name) == names and len(values) == len(names):
            row[:] = values
    return array


def _vector_series(topic: _Topic | None, origin: _Origin) -> VectorSeries:
    if topic is None or not topic.messages:
        return VectorSeries(np.empty(0), np.empty((0, 0)))
    size = len(topic.messages[0].data)
    rows = [(time, message.data) for time, message in zip(topic.times, topic.messages, strict=True)
            if len(message.data) == size]
    time = np.array([1e-9 * (time - origin.received) for time, _ in rows])
    return VectorSeries(time, np.array([data for _, data in rows], dtype=np.float64))


def _times(topic: _Topic | None, origin: _Origin) -> FloatArray:
    times = [] if topic is None else topic.times
    return 1e-9 * np.array([time - origin.received for time in times], dtype=np.float64)


def _modes(topic: _Topic | None, origin: _Origin) -> tuple[tuple[float, str], ...]:
    if topic is None:
        return ()
    return tuple((1e-9 * (time - origin.received), str(message.data))
                 for time, message in zip(topic.times, topic.messages, strict=True))


def _last_text(topic: _Topic | None) -> str | None:
    return str(topic.messages[-1].data) if topic is not None and topic.messages else None
