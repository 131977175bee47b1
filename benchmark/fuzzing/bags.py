# SPDX-License-Identifier: Apache-2.0
"""Small recordings of a controlled arm, written with what a mutation wants to be different."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from fuzzing.parameters import robot
from robot_dynamics.model.shipped import resolve_robot

EPOCH = 1_700_000_000
#: Rate, length and start of adaptation of the recorded run. Hz, s, s.
RATE, LENGTH, SWITCH = 15.0, 3.0, 1.5
CONTROLLER = 'adaptive_controller'

STORE = get_typestore(Stores.ROS2_HUMBLE)


@dataclass(frozen=True)
class Message:
    """A message of a recording: its topic, what it says, and when it was received (ns)."""

    topic: str
    content: Any
    received: int

    @property
    def kind(self) -> str:
        """Its type."""
        return self.content.__msgtype__

    @cached_property
    def data(self) -> bytes:
        """What it says, as bytes."""
        return bytes(STORE.serialize_cdr(self.content, self.kind))


@cache
def good_run() -> tuple[Message, ...]:
    """Return the messages of a run in which nothing is wrong."""
    return tuple(_messages())


def raw(message: Message) -> tuple[str, str, int, bytes]:
    """Return topic, type, time and bytes of a message."""
    return message.topic, message.kind, message.received, message.data


def write(folder: Path, messages: Sequence[tuple[str, str, int, bytes]], *,
          storage: StoragePlugin = StoragePlugin.MCAP,
          compression: tuple[CompressionMode, CompressionFormat] | None = None) -> None:
    """Write a recording, given by topics, types, times and bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    writer = Writer(folder, version=8, storage_plugin=storage)
    if compression is not None:
        writer.set_compression(*compression)
    connections: dict[tuple[str, str], Any] = {}
    with writer:
        for topic, kind, received, data in messages:
            if (topic, kind) not in connections:
                connections[topic, kind] = writer.add_connection(topic, kind, typestore=STORE)
            writer.write(connections[topic, kind], received, data)


def joint_state(t: float, names: Sequence[str], **fields: Any) -> Any:
    """Return a JointState."""
    # Stamps are 32 bits of seconds.
    nanoseconds = round(min(max(t, -2.0**31), 2.0**31 - 1.0 - EPOCH) * 1e9)
    kinds = STORE.types
    stamp = kinds['builtin_interfaces/msg/Time'](EPOCH + nanoseconds // 10**9,
                                                 nanoseconds % 10**9)
    arrays = [np.asarray(fields.get(field, ()), dtype=np.float64)
              for field in ('position', 'velocity', 'effort')]
    return kinds['sensor_msgs/msg/JointState'](kinds['std_msgs/msg/Header'](stamp, ''),
                                               list(names), *arrays)


def vector(values: Any) -> Any:
    """Return a Float64MultiArray."""
    layout = STORE.types['std_msgs/msg/MultiArrayLayout']([], 0)
    return STORE.types['std_msgs/msg/Float64MultiArray'](layout, np.asarray(values, np.float64))


def text(data: str) -> Any:
    """Return a String."""
    return STORE.types['std_msgs/msg/String'](data)


def said(message: Message, content: Any) -> Message:
    """Return a message that says something else."""
    return replace(message, content=content)


def _messages() -> Iterator[Message]:
    def at(t: float, topic: str, content: Any) -> Message:
        return Message(topic, content, EPOCH * 10**9 + round(1e9 * (t + 0.0005)))

    arm = robot()
    names, masses = arm.joint_names, arm.parameters
    yield at(0.0, '/robot_description', text(resolve_robot('planar_2r').read_text()))
    yield at(0.0, f'/{CONTROLLER}/parameter_names', text(json.dumps(arm.parameter_names)))
    yield at(0.0, f'/{CONTROLLER}/mode', text('tracking'))
    for k in range(round(RATE * LENGTH)):
        t = k / RATE
        error = np.array([0.02, -0.01]) * np.sin(3.0 * t) * (1.0 if t < SWITCH else 0.1)
        q = np.array([0.3 * np.sin(t), 0.2])
        effort = np.array([1.0, 0.5])
        yield at(t, '/joint_states', joint_state(t, names, position=q, velocity=q, effort=effort))
        yield at(t, '/effort_controller/commands', vector(effort))
        yield at(t, f'/{CONTROLLER}/command', joint_state(t, names, effort=effort))
        yield at(t, f'/{CONTROLLER}/tracking_error',
                 joint_state(t, names, position=error, velocity=error))
        estimate = masses + (0.1 if t >= SWITCH else 0.0)
        yield at(t, f'/{CONTROLLER}/parameter_estimate', vector(estimate))
        yield at(t, f'/{CONTROLLER}/timing', vector([4e-4, 1e-4, 5e-4, 2e-4]))
        for topic in ('terms/gravity', 'terms/inertial', 'torque'):
            yield at(t, f'/inverse_dynamics/{topic}', joint_state(t, names, effort=effort))
