# SPDX-License-Identifier: Apache-2.0
"""Identification from a rosbag2 recording, without a ROS 2 installation.

    python examples/identify_from_bag.py [recording arm.urdf]

Without arguments, the script writes a simulated recording of `planar_2r`. Any recording with joint
states works, for example of `ros2 bag record` or `robot-dynamics up --record`. Needs rosbags
(pip install rosbags).
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from robot_dynamics import Dynamics, Robot, identify, load_dataset
from robot_dynamics.control import exciting_fourier

RATE = 200          # Hz


def write_recording(path: Path, arm: Robot, seconds: int = 20) -> None:
    """Joint states of an exciting motion as a rosbag2 recording (MCAP)."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    kinds = {name: store.types[name] for name in (
        'sensor_msgs/msg/JointState', 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time')}
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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 2:
            recording, described = Path(sys.argv[1]), Robot.from_urdf(sys.argv[2])
        else:
            arm, recording = Robot.from_urdf('planar_2r'), Path(folder) / 'recording'
            write_recording(recording, arm)
            described = arm.with_parameters(0.7 * arm.parameters)
        found = identify(load_dataset(recording, described), described)
    print('verdict:', found.verdict)
    for name, value, deviation in zip(found.base.base_names, found.base_values,
                                      found.base_deviations, strict=True):
        print(f'{value:10.5f} +- {deviation:.5f}  {name}')


if __name__ == '__main__':
    main()
