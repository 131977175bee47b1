# SPDX-License-Identifier: Apache-2.0
"""Reads a recording of a controlled arm: rosbag2 (MCAP or SQLite) to plain arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.recordings.bag import Topic, read_topics
from robot_dynamics.report.signals import (
    NO_VECTORS,
    JointSeries,
    Origin,
    VectorSeries,
    joint_series,
    reception_times,
    vector_series,
)

#: What the effort controller of an arm listens to.
COMMAND_TOPIC = 'effort_controller/commands'

#: The parts of the model torque, in the order in which they are drawn.
TORQUE_PARTS = ('gravity', 'inertial', 'coriolis', 'friction')

_JOINT_STATE = 'sensor_msgs/msg/JointState'
_ARRAY = 'std_msgs/msg/Float64MultiArray'
_TEXT = 'std_msgs/msg/String'

# Numbers of a timing message.
_TIMINGS = 4


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
        worst of each since the last sample, s; empty in simulated time, which tells of neither.
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
    """Read the recording of one arm and its controller: of several, who had it longest.

    Parameters
    ----------
    path : str or Path
        Folder of a rosbag2 recording, or an MCAP file.

    Raises
    ------
    RecordingError
        When it cannot be read or lacks what a controlled arm says.
    """
    layout = _Layout()
    recorded = read_topics(Path(path), layout.choose)
    topics = {name.removeprefix(layout.namespace): topic for name, topic in recorded.items()}
    # Those that stand by are recorded, too, and somebody may have switched.
    controller = max(layout.controllers,
                     key=lambda name: len(topics[f'{name}/tracking_error'].messages))
    tracked = topics[f'{controller}/tracking_error']
    if not topics['joint_states'].messages or not tracked.messages:
        raise RecordingError(f'{controller} never tracked a reference', subject=str(path),
                             remedy='record until the arm moves')
    origin = Origin(tracked.messages[0].header.stamp, tracked.times[0])
    measured = joint_series(topics['joint_states'], origin)

    def joints(name: str) -> JointSeries | None:
        topic = topics.get(name)
        if topic is None or not topic.messages:
            return None
        return joint_series(topic, origin).ordered(measured.names)

    def vectors(name: str) -> VectorSeries:
        return vector_series(topics.get(name), origin)

    errors, commands = joints(f'{controller}/tracking_error'), joints(f'{controller}/command')
    if errors is None or commands is None:
        raise RecordingError(f'lacks {controller}/command', subject=str(path),
                             remedy='record all topics of the controller')
    for series, name in ((measured, 'joint_states'), (errors, f'{controller}/tracking_error')):
        if series.position.shape[1] == 0:
            raise RecordingError('has no positions', subject=f'topic {name}',
                                 remedy='record an arm whose joint states have positions')
    parts = {part: series for part in TORQUE_PARTS
             if (series := joints(f'inverse_dynamics/terms/{part}')) is not None}
    estimates, timing = (vectors(f'{controller}/{name}')
                         for name in ('parameter_estimate', 'timing'))
    return Recording(
        states=measured, errors=errors, commands=commands,
        command_times=reception_times(topics.get(COMMAND_TOPIC), origin), parts=parts,
        torque=joints('inverse_dynamics/torque'), estimates=estimates,
        estimate_names=_estimate_names(topics.get(f'{controller}/parameter_names'), estimates),
        timing=timing if _is_wall_time(timing) else NO_VECTORS,
        modes=_modes(topics.get(f'{controller}/mode'), origin),
        controller=controller, description=_last_text(topics.get('robot_description')))


class _Layout:
    """Finds the arm and its controllers among the topics of a recording."""

    def __init__(self) -> None:
        #: Namespace of the arm with its trailing slash.
        self.namespace = ''
        #: Names of its controllers below that, in alphabetical order.
        self.controllers: tuple[str, ...] = ()

    def choose(self, types: Mapping[str, str]) -> dict[str, str | None]:
        """Return the topics that tell of the arm, with the type that each has to have."""
        self.namespace = _before(types, '/joint_states', 'record joint_states and the topics '
                                 'of a controller')[0] + '/'
        below = {name.removeprefix(self.namespace): name for name in types
                 if name.startswith(self.namespace)}
        self.controllers = _before(below, '/tracking_error', 'record the topics of a controller')
        wanted = {
            'joint_states': _JOINT_STATE, COMMAND_TOPIC: None, 'robot_description': _TEXT,
            'inverse_dynamics/torque': _JOINT_STATE,
            **{f'inverse_dynamics/terms/{part}': _JOINT_STATE for part in TORQUE_PARTS},
            **{f'{controller}/{name}': kind for controller in self.controllers for name, kind in (
                ('tracking_error', _JOINT_STATE), ('command', _JOINT_STATE), ('mode', _TEXT),
                ('parameter_estimate', _ARRAY), ('parameter_names', _TEXT), ('timing', _ARRAY))}}
        return {below[name]: kind for name, kind in wanted.items() if name in below}


def _before(topics: Mapping[str, str], suffix: str, remedy: str) -> tuple[str, ...]:
    """Return what stands before a suffix in the names of the topics that have it, sorted."""
    found = sorted(topic.removesuffix(suffix) for topic in topics if topic.endswith(suffix))
    if not found:
        raise RecordingError('is not recorded', subject=suffix.strip('/'), remedy=remedy)
    return tuple(found)


def _is_wall_time(timing: VectorSeries) -> bool:
    """Whether what a controller says of its times means anything.

    Simulated time is told after the states of that time, which are then answered before it.
    """
    return timing.values.shape[1] >= _TIMINGS and not float(np.median(timing.values[:, 0])) < 0.0


def _estimate_names(topic: Topic | None, estimates: VectorSeries) -> tuple[str, ...]:
    """Return the names of the estimates, none where nobody told those of all of them."""
    try:
        names = json.loads(_last_text(topic) or '[]')
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RecordingError('is no list of names', subject='topic parameter_names',
                             remedy='record the topics of a controller of this package')
    return tuple(names) if len(names) == estimates.values.shape[1] else ()


def _modes(topic: Topic | None, origin: Origin) -> tuple[tuple[float, str], ...]:
    if topic is None:
        return ()
    return tuple((1e-9 * (time - origin.received), str(message.data))
                 for time, message in zip(topic.times, topic.messages, strict=True))


def _last_text(topic: Topic | None) -> str | None:
    return str(topic.messages[-1].data) if topic is not None and topic.messages else None
