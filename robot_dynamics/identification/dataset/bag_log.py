# SPDX-License-Identifier: Apache-2.0
"""A log out of a rosbag2 recording: the joint states of an arm, by their header stamps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.collecting import JointStateCollector
from robot_dynamics.identification.dataset.log import Log
from robot_dynamics.recordings.bag import stream_batches

_JOINT_STATE = 'sensor_msgs/msg/JointState'
#: What is counted where a file is damaged, or ends before its end.
PARTS_MISSING = 'damaged or missing parts of the recording'


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

    collector = JointStateCollector(joints, rename)
    broken: list[RecordingError] = []
    for name, messages in stream_batches(path, choose, broken.append):
        collector.take(name, messages)
    if broken and not collector.count:
        raise broken[0]
    return collector.log(str(path), {PARTS_MISSING: len(broken)})
