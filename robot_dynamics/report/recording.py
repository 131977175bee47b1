# SPDX-License-Identifier: Apache-2.0
"""Reader of recordings of a controlled arm: arrays over time from rosbag2 (MCAP or SQLite)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot_data import is_name
from robot_dynamics.recordings.bag import Topic, read_topics

#: Topic of the effort controller of an arm.
COMMAND_TOPIC = 'effort_controller/commands'

#: The parts of the model torque, in drawing order.
TORQUE_PARTS = ('gravity', 'inertial', 'coriolis', 'friction')

_JOINT_STATE = 'sensor_msgs/msg/JointState'
_ARRAY = 'std_msgs/msg/Float64MultiArray'
_TEXT = 'std_msgs/msg/String'

# Numbers of a timing message.
_TIMINGS = 4

#: Largest plausible number of joints.
_MAX_JOINTS = 500

# Largest plausible measured number, in any unit.
_LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class JointSeries:
    """Joint vectors over time, shape (k, n), or (k, 0) if the messages had none.

    Times, (k,), are stamps in s since tracking began; rad or m, rad/s or m/s, N m or N.
    """

    names: tuple[str, ...]
    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray

    def __len__(self) -> int:
        return len(self.time)

    def ordered(self, names: Sequence[str]) -> JointSeries:
        """The columns of the given joints, in that order."""
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
    """Unstamped vectors, (k, m), and the times of the arm at their reception, (k,).

    Times are s since tracking began.
    """

    time: FloatArray
    values: FloatArray

    def __len__(self) -> int:
        return len(self.time)


#: Vectors that were not recorded.
NO_VECTORS = VectorSeries(np.empty(0), np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Recording:
    """Messages of an arm and its controller as arrays, in the order of the arm's joints.

    Parameters
    ----------
    states : JointSeries
        Measured states.
    errors : JointSeries
        Tracking error q_d - q and its derivative, at the stamps of the states answered.
    commands : JointSeries
        Effort commands at the stamps of the corresponding states, as published for recording.
    command_times : ndarray, shape (k,)
        Time of the arm at the reception of each command, s; empty if not recorded.
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
        worst of each since the last sample, s; empty in simulated time.
    modes : tuple of (float, str)
        The modes of the controller, and the times at which they began.
    controller : str
        Name of the controller.
    description : str or None
        The URDF, if recorded.
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

    Of several controllers, the one that was active longest is read.

    Parameters
    ----------
    path : str or Path
        Folder of a rosbag2 recording, or an MCAP file.

    Raises
    ------
    RecordingError
        If it cannot be read or lacks the topics of a controlled arm.

    See Also
    --------
    robot_dynamics.report.build_report : a page and a picture of a recording.

    Examples
    --------
    ``read_recording('demo-output/recording').errors`` are the tracking errors of the demo.

    >>> from robot_dynamics.report import read_recording
    >>> read_recording('no/recording')
    Traceback (most recent call last):
    ...
    robot_dynamics.errors.RecordingError: no/recording does not exist; ...
    """
    recorded = read_topics(Path(path), _wanted)
    # They are in the order of preference: joint_states is first.
    namespace = next(iter(recorded)).removesuffix('joint_states')
    topics = defaultdict(lambda: Topic([], []), {
        name.removeprefix(namespace): topic for name, topic in recorded.items()})
    # Standby controllers are also recorded, and controllers may have been switched.
    controllers = [name.removesuffix('/tracking_error') for name in topics
                   if name.endswith('/tracking_error')]
    controller = max(controllers, key=lambda name: len(topics[f'{name}/tracking_error'].messages))
    tracked = topics[f'{controller}/tracking_error']
    if not topics['joint_states'].messages or not tracked.messages:
        raise RecordingError(f'has no tracking error of {controller}', subject=str(path),
                             remedy='record until the arm moves')
    origin = _Origin(tracked.messages[0].header.stamp, topics['joint_states'])
    measured = _joint_series(topics['joint_states'], origin)

    def joints(name: str) -> JointSeries | None:
        topic = topics[name]
        return _joint_series(topic, origin).ordered(measured.names) if topic.messages else None

    errors, commands = joints(f'{controller}/tracking_error'), joints(f'{controller}/command')
    if errors is None or commands is None:
        raise RecordingError(f'has no {controller}/command', subject=str(path),
                             remedy='record all topics of the controller')
    for states, name in ((measured, 'joint_states'), (errors, f'{controller}/tracking_error')):
        if states.position.shape[1] == 0:
            raise RecordingError('has no positions', subject=f'topic {name}',
                                 remedy='record an arm whose joint states have positions')
    parts = {part: series for part in TORQUE_PARTS
             if (series := joints(f'inverse_dynamics/terms/{part}')) is not None}
    estimates, timing = (_vector_series(topics[f'{controller}/{name}'], origin)
                         for name in ('parameter_estimate', 'timing'))
    modes = topics[f'{controller}/mode']
    return Recording(
        states=measured, errors=errors, commands=commands,
        command_times=origin.received(topics[COMMAND_TOPIC].times), parts=parts,
        torque=joints('inverse_dynamics/torque'), estimates=estimates,
        estimate_names=_estimate_names(topics[f'{controller}/parameter_names'], estimates),
        timing=timing if _is_wall_time(timing) else NO_VECTORS,
        modes=tuple(zip(origin.received(modes.times).tolist(),
                        (str(message.data) for message in modes.messages), strict=True)),
        controller=controller, description=_last_text(topics['robot_description']))


def _wanted(types: Mapping[str, str]) -> dict[str, str | None]:
    """Topics of the arm and its controllers, each with its required type."""
    namespace = _before(types, '/joint_states', 'record joint_states and the topics of a '
                                                'controller')[0] + '/'
    below = {name.removeprefix(namespace): name for name in types if name.startswith(namespace)}
    controllers = _before(below, '/tracking_error', 'record the topics of a controller')
    wanted = {
        'joint_states': _JOINT_STATE, COMMAND_TOPIC: None, 'robot_description': _TEXT,
        'inverse_dynamics/torque': _JOINT_STATE,
        **{f'inverse_dynamics/terms/{part}': _JOINT_STATE for part in TORQUE_PARTS},
        **{f'{controller}/{name}': kind for controller in controllers for name, kind in (
            ('tracking_error', _JOINT_STATE), ('command', _JOINT_STATE), ('mode', _TEXT),
            ('parameter_estimate', _ARRAY), ('parameter_names', _TEXT), ('timing', _ARRAY))}}
    return {below[name]: kind for name, kind in wanted.items() if name in below}


def _before(topics: Mapping[str, str], suffix: str, remedy: str) -> tuple[str, ...]:
    """Names of the topics that have a suffix, without it, sorted."""
    found = sorted(topic.removesuffix(suffix) for topic in topics if topic.endswith(suffix))
    if not found:
        raise RecordingError('is not recorded', subject=suffix.strip('/'), remedy=remedy)
    return tuple(found)


def _is_wall_time(timing: VectorSeries) -> bool:
    """Whether timing messages are of wall time.

    In simulated time the clock is published after the states, so that latencies are negative.
    """
    return timing.values.shape[1] >= _TIMINGS and float(np.median(timing.values[:, 0])) > 0.0


def _estimate_names(topic: Topic, estimates: VectorSeries) -> tuple[str, ...]:
    """Names of the estimates, none unless all were recorded."""
    try:
        names = json.loads(_last_text(topic) or '[]')
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RecordingError('must be a list of names', subject='topic parameter_names',
                             remedy='record the topics of a controller of this package')
    return tuple(names) if len(names) == estimates.values.shape[1] else ()


def _last_text(topic: Topic) -> str | None:
    return str(topic.messages[-1].data) if topic.messages else None


class _Origin:
    """Time of the arm in s since a stamp, for stamps and for times of reception.

    Unstamped messages get the stamp of the joint state received with them, because simulated time
    may be slower than the clock of the recorder.
    """

    def __init__(self, stamp: Any, states: Topic):
        self.stamp = stamp
        self._received = np.array(states.times, dtype=np.int64)
        # States may arrive in the wrong order.
        self._stamps = np.maximum.accumulate(
            [self.seconds(message.header.stamp) for message in states.messages])

    def seconds(self, stamp: Any) -> float:
        """Time of a stamp, without losing nanoseconds to rounding, s."""
        return (stamp.sec - self.stamp.sec) + 1e-9 * (int(stamp.nanosec) - int(self.stamp.nanosec))

    def received(self, times: Sequence[int]) -> FloatArray:
        """Time of the arm at times of reception, s, shape (k,)."""
        now = np.array(times, dtype=np.int64)
        first = self._received[0]
        known = 1e-9 * (self._received - first)
        wanted = 1e-9 * (now - first)
        # Before the first state and after the last one, both clocks have the same speed.
        beyond = wanted - np.clip(wanted, known[0], known[-1])
        return np.interp(wanted, known, self._stamps) + beyond


def _joint_series(topic: Topic, origin: _Origin) -> JointSeries:
    """Joint states in the order of their stamps; the first one determines the joints."""
    names = tuple(topic.messages[0].name)
    if len(names) > _MAX_JOINTS or len(set(names)) < len(names) or not all(map(is_name, names)):
        raise RecordingError('must have distinct names of joints',
                             subject='joint_states', remedy='record one robot at a time')
    position, velocity, effort = (_columns(topic.messages, field, names)
                                  for field in ('position', 'velocity', 'effort'))
    time = np.array([origin.seconds(message.header.stamp) for message in topic.messages])
    # A driver may send two states in the wrong order.
    order = np.argsort(time, kind='stable')
    return JointSeries(names, time[order], position[order], velocity[order], effort[order])


def _columns(messages: Sequence[Any], field: str, names: tuple[str, ...]) -> FloatArray:
    """One field of all messages; nan where a message has other joints or implausible numbers."""
    if len(getattr(messages[0], field)) == 0:
        return np.empty((len(messages), 0))
    array = np.full((len(messages), len(names)), np.nan)
    for row, message in zip(array, messages, strict=True):
        values = getattr(message, field)
        if len(values) == len(names) and tuple(message.name) == names:
            row[:] = values
    return _sane(array)


def _vector_series(topic: Topic, origin: _Origin) -> VectorSeries:
    """Vectors that have the length of the first."""
    if not topic.messages:
        return NO_VECTORS
    kept = [len(message.data) == len(topic.messages[0].data) for message in topic.messages]
    values = np.array([message.data for message in compress(topic.messages, kept)], np.float64)
    return VectorSeries(origin.received(list(compress(topic.times, kept))), _sane(values))


def _sane(array: FloatArray) -> FloatArray:
    """The numbers, with nan for implausibly large ones."""
    return np.where(np.abs(array) <= _LARGEST, array, np.nan)
