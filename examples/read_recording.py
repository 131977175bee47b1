# SPDX-License-Identifier: Apache-2.0
"""Topics and joint states of a rosbag2 recording, without a ROS 2 installation.

    python examples/read_recording.py [recording]

Reads MCAP and SQLite recordings. Needs rosbags (pip install rosbags).
"""

import sys
from pathlib import Path

import numpy as np

from robot_dynamics.recordings import read_topics

RECORDING = Path(__file__).parents[1] / 'test' / 'cases' / 'ident_bag' / 'run_mcap'
JOINT_STATE = 'sensor_msgs/msg/JointState'


def main() -> None:
    recording = sys.argv[1] if len(sys.argv) > 1 else RECORDING
    types = {}

    def joint_states(topics):
        """Select the topics to read: the type that each must have."""
        types.update(topics)
        return {name: JOINT_STATE for name, kind in topics.items() if kind == JOINT_STATE}

    topics = read_topics(recording, joint_states)
    for name, kind in types.items():
        print(f'{name}: {kind}')
    for name, topic in topics.items():
        first = topic.messages[0]
        print(f'{name}: {len(topic.messages)} messages, joints {", ".join(first.name)}')
        stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec
                           for m in topic.messages])
        print(f'  median period {1e3 * np.median(np.diff(stamps)):.1f} ms')
        print('  first positions', np.round(first.position, 3))


if __name__ == '__main__':
    main()
