# SPDX-License-Identifier: Apache-2.0
"""The simulated arm behind a bad connection: messages of either direction are lost."""

from __future__ import annotations

import random
import sys

from std_msgs.msg import Float64MultiArray

from robot_dynamics.nodes.ros.runtime import run
from robot_dynamics.nodes.simulated_arm import SimulatedArmNode

#: Share of the messages that is lost.
LOSS = 0.05


class LossyArm(SimulatedArmNode):
    """Loses joint states it would publish and commands it receives, at random."""

    def start(self) -> None:
        """Start with a hole in the publisher."""
        self._chance = random.Random(0)
        super().start()
        states = self._states.publishers[0]
        publish = states.publish

        def lossy(message) -> None:
            if self._chance.random() >= LOSS:
                publish(message)

        states.publish = lossy

    def _on_command(self, message: Float64MultiArray) -> None:
        if self._chance.random() >= LOSS:
            super()._on_command(message)


if __name__ == '__main__':
    sys.exit(run(LossyArm))
