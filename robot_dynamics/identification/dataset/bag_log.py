# SPDX-License-Identifier: Apache-2.0
"""A log out of a rosbag2 recording: the joint states of an arm, by their header stamps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.joint_state_bytes import Rows, read_joint_states
from robot_dynamics.identification.dataset.log import Log, in_order
from robot_dynamics.recordings.bag import Choice, Tell, stream_topics

_JOINT_STATE = 'sensor_msgs/msg/JointState'
#: What is counted where a file is damaged, or ends before its end.
PARTS_MISSING = 'damaged or missing parts of the recording'
# Messages taken apart at a time: enough for numpy, little for the memory.
_BATCH = 8192


@dataclass(eq=False)
class _Found:
    """Rows of one topic so far."""

    pieces: list[tuple[NDArray[np.int64], ...]] = field(default_factory=list)
    rows: int = 0
    damaged: int = 0
    without: int = 0
    names: set[str] = field(default_factory=set)


def read_bag(path: Path, joints: Sequence[str], rename: Mapping[str, str],
             topic: str | None = None) -> Log:
    """Read the joint states of an arm.

    Parameters
    ----------
    path : Path
        Folder of a recording, with or without ``metadata.yaml``, or an MCAP or SQLite file.
    joints : sequence of str
        The joints wanted, in this order.
    rename : mapping of str to str
        What the robot calls a joint of the log.
    topic : str, optional
        Which topic; by default the one that has these joints in most messages.

    Returns
    -------
    Log
        Rows that name all joints; others are counted.

    Raises
    ------
    RecordingError
        When there is no such topic, or none with all joints.
    """
    def choose(types: Mapping[str, str]) -> dict[str, str | None]:
        known = [name for name, kind in types.items() if kind == _JOINT_STATE]
        if topic is not None and topic not in types:
            raise RecordingError('is not recorded', subject=f'topic {topic}',
                                 remedy='choose among: ' + (', '.join(known) or 'none'))
        return {name: _JOINT_STATE for name in (known if topic is None else [topic])}

    found: dict[str, _Found] = {}
    broken: list[RecordingError] = []
    for name, messages in _batches(path, choose, broken.append):
        _take(found.setdefault(name, _Found()), messages, joints, rename)
    best = max(found, key=lambda name: found[name].rows, default=None)
    if best is None or found[best].rows == 0:
        seen = sorted({name for one in found.values() for name in one.names})
        if broken:
            raise broken[0]
        raise RecordingError('has no message with all of ' + ', '.join(joints),
                             subject=str(path), remedy='give names, a map from the names of the '
                             'log to those of the robot, or joints; the log has: '
                             + (', '.join(seen) or 'no joint states'))
    chosen = found[best]
    columns = [np.concatenate(column) for column in zip(*chosen.pieces, strict=True)]
    return Log(tuple(joints), *columns, dropped={
        PARTS_MISSING: len(broken), 'damaged messages': chosen.damaged,
        'messages without all joints': chosen.without},
        source=f'{path}:{best}')


def _batches(path: Path, choose: Choice, tell: Tell) -> Iterator[tuple[str, list[bytes]]]:
    """Yield messages of one topic, some thousand at a time."""
    waiting: dict[str, list[bytes]] = {}
    for name, _, data in stream_topics(path, choose, tell):
        messages = waiting.setdefault(name, [])
        messages.append(data)
        if len(messages) == _BATCH:
            yield name, waiting.pop(name)
    yield from waiting.items()


def _take(found: _Found, messages: Sequence[bytes], joints: Sequence[str],
          rename: Mapping[str, str]) -> None:
    """Add messages to what was found in their topic."""
    groups, damaged = read_joint_states(messages)
    found.damaged += damaged
    kept: list[tuple[NDArray[np.int64], Rows, tuple[int, ...]]] = []
    for indices, rows in groups:
        found.names.update(rows.names)
        places = in_order([rename.get(name, name) for name in rows.names], joints)
        if places is None:
            found.without += len(indices)
        else:
            kept.append((indices, rows, places))
    if not kept:
        return
    order = np.argsort(np.concatenate([indices for indices, _, _ in kept]), kind='stable')
    columns = [np.concatenate([rows.stamps for _, rows, _ in kept])[order]]
    for name in ('position', 'velocity', 'effort'):
        columns.append(np.concatenate([getattr(rows, name)[:, places]
                                       for _, rows, places in kept])[order])
    found.pieces.append(tuple(columns))
    found.rows += len(order)
