# SPDX-License-Identifier: Apache-2.0
"""The nodes under measurement: those of the product, with a clock at both ends.

``python loop_nodes.py arm|controller|echo FILE --ros-args ...`` runs one and leaves
its times in a file, all on CLOCK_MONOTONIC, which processes share.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.nodes.adaptive_controller import AdaptiveControllerNode
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import PolledSubscription, to_nanoseconds
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.runtime import freeze_garbage, run
from robot_dynamics.nodes.simulated_arm import SimulatedArmNode

OUTPUT = Path()


class Log:
    """Rows of integers in memory that was there before: nothing grows while measuring."""

    def __init__(self, columns: int, rows: int = 400_000):
        self._rows = np.zeros((rows, columns), dtype=np.int64)
        self._count = 0

    def add(self, *values: int) -> None:
        """Append a row, unless it is full."""
        if self._count < len(self._rows):
            self._rows[self._count] = values
            self._count += 1

    @property
    def rows(self) -> np.ndarray:
        """The rows up to now."""
        return self._rows[:self._count]


def key_of(values) -> int:
    """Return the bits of the first effort: what a command is recognised by."""
    return int(np.float64(values[0]).view(np.int64))


class MeasuredArm(SimulatedArmNode):
    """Notes when a state is published and when a command arrives."""

    def start(self) -> None:
        """Start with clocks around what matters."""
        self.states_log, self.commands_log = Log(3), Log(2)
        super().start()
        states = self._states.publishers[0]
        publish = states.publish

        def timed(message: JointState) -> None:
            before = time.monotonic_ns()
            publish(message)
            self.states_log.add(to_nanoseconds(message.header.stamp), before,
                                time.monotonic_ns())

        states.publish = timed
        # A subscriber for the echo node, so that it has somebody to send to.
        self._echoes = PolledSubscription(self, Float64MultiArray, 'echo/commands',
                                           qos.command_input())

    def _on_command(self, message: Float64MultiArray) -> None:
        self.commands_log.add(time.monotonic_ns(), key_of(message.data))
        super()._on_command(message)

    def stop(self) -> None:
        """Leave the times behind."""
        np.savez(OUTPUT, states=self.states_log.rows, commands=self.commands_log.rows)


class MeasuredController(AdaptiveControllerNode):
    """Notes when its callback begins, has published and ends, and what it answers."""

    def __init__(self, stopped):
        super().__init__(stopped)
        self.log = Log(5)
        self._published, self._key = 0, 0

    def _on_joint_state(self, message: JointState) -> None:
        entered = time.monotonic_ns()
        self._published = 0
        super()._on_joint_state(message)
        if self._published:
            self.log.add(to_nanoseconds(message.header.stamp), entered, self._published,
                         time.monotonic_ns(), self._key)

    def _send(self, command) -> None:
        super()._send(command)
        self._published = time.monotonic_ns()
        self._key = key_of(command.effort)

    def stop(self) -> None:
        """Leave the times behind."""
        super().stop()
        np.savez(OUTPUT, cycles=self.log.rows)


class Echo(PlainNode):
    """The least a controller can do: it answers each state with a constant."""

    def __init__(self, stopped):
        super().__init__('echo', (), stopped)
        self.log = Log(4)

    def start(self) -> None:
        """Start with clocks around what matters."""
        self._message = Float64MultiArray(data=[0.0] * 7)
        self._publisher = self.create_publisher(Float64MultiArray, '~/commands', qos.command())
        freeze_garbage()
        self.fast.subscribe(JointState, 'joint_states', self._on_joint_state, qos.state())

    def _on_joint_state(self, message: JointState) -> None:
        entered = time.monotonic_ns()
        self._publisher.publish(self._message)
        published = time.monotonic_ns()
        self.log.add(to_nanoseconds(message.header.stamp), entered, published, published)

    def stop(self) -> None:
        """Leave the times behind."""
        np.savez(OUTPUT, cycles=self.log.rows)


NODES = {'arm': MeasuredArm, 'controller': MeasuredController, 'echo': Echo}

if __name__ == '__main__':
    OUTPUT = Path(sys.argv[2])
    sys.exit(run(NODES[sys.argv[1]], sys.argv[2:], is_real_time=True))
