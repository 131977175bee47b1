# SPDX-License-Identifier: Apache-2.0
"""Identification from a rosbag2 recording, without a ROS 2 installation.

    python examples/identify_from_bag.py [recording arm.urdf]

Shows how topics of a recording are read, MCAP or SQLite, and how an arm is identified from its
joint states. Any recording works, for example of `ros2 bag record` or `robot-dynamics up
--record`. Without arguments, the script writes a simulated one of `planar_2r`. Needs rosbags (pip
install rosbags). It prints topics, verdict, and base parameters in SI units with standard
deviations:

    /joint_states: 4000 messages, joints joint1, joint2, period 5.0 ms
    verdict: good
    ...
       0.50000 +- 0.00000  link2/mx
      -0.07500 +- 0.00000  link2/my
       0.14525 +- 0.00000  link2/Jzz
    ...
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from robot_dynamics import Dynamics, Robot, identify, load_dataset
from robot_dynamics.control import exciting_fourier
from robot_dynamics.recordings import read_topics

RATE = 200          # Hz
JOINT_STATE = 'sensor_msgs/msg/JointState'


def write_recording(path: Path, arm: Robot, seconds: int = 20) -> None:
    """Joint states of an exciting motion as a rosbag2 recording (MCAP)."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    kinds = {name: store.types[name] for name in (
        JOINT_STATE, 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time')}
    state, header, stamp = kinds.values()
    stamps = np.arange(seconds * RATE) * (1_000_000_000 // RATE)
    q, v, a = exciting_fourier(arm, seed=1).sample_many(stamps * 1e-9)
    tau = Dynamics(arm).inverse_dynamics(q, v, a)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        topic = writer.add_connection('/joint_states', state.__msgtype__, typestore=store)
        for k, time in enumerate(stamps.tolist()):
            at = stamp(sec=time // 1_000_000_000, nanosec=time % 1_000_000_000)
            message = state(header=header(stamp=at, frame_id=''), name=list(arm.joint_names),
                            position=q[k], velocity=v[k], effort=tau[k])
            writer.write(topic, time, store.serialize_cdr(message, state.__msgtype__))


def joint_states(topics: dict[str, str]) -> dict[str, str]:
    """Topics to read, of all topics and their types."""
    return {name: kind for name, kind in topics.items() if kind == JOINT_STATE}


def main() -> tuple:
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 2:
            recording, described = Path(sys.argv[1]), Robot.from_urdf(sys.argv[2])
        else:
            arm, recording = Robot.from_urdf('planar_2r'), Path(folder) / 'recording'
            write_recording(recording, arm)
            described = arm.with_parameters(0.7 * arm.parameters)
        for name, topic in read_topics(recording, joint_states).items():
            stamps = np.array([message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
                               for message in topic.messages])
            joints = ', '.join(topic.messages[0].name)
            print(f'{name}: {len(stamps)} messages, joints {joints}, '
                  f'period {1e3 * np.median(np.diff(stamps)):.1f} ms')
        found = identify(load_dataset(recording, described), described)
    print('verdict:', found.verdict)
    for name, value, deviation in zip(found.base.base_names, found.base_values,
                                      found.base_deviations, strict=True):
        print(f'{value:10.5f} +- {deviation:.5f}  {name}')
    messages = topic.messages
    return stamps, *(np.array([getattr(message, field) for message in messages])
                     for field in ('position', 'effort'))


def draw(figure, stamps, position, effort) -> None:
    panels = figure.subplots(2, 1, sharex=True)
    for axes, values, label in zip(panels, (position, effort), ('position, rad', 'effort, N m'),
                                   strict=True):
        axes.plot(stamps, values)
        axes.set_ylabel(label)
    panels[1].set_xlabel('stamp, s')


if __name__ == '__main__':
    main()
