# SPDX-License-Identifier: Apache-2.0
"""What nodes have in common beside their topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.node import Node

from robot_dynamics.nodes.parameters import NodeParameters, Parameter, Values
from robot_dynamics.nodes.runtime import RUNTIME_PARAMETERS
from robot_dynamics.nodes.spinning import FastEntities, SlowGroup


class NodeParts:
    """Parameters, fast and slow entities of a node; mix it in before a class of rclpy."""

    _slow_group: SlowGroup | None = None

    @property
    def default_callback_group(self) -> SlowGroup:
        """Where everything goes that is not fast: rclpy's own services, too."""
        # rclpy asks for it while it is still making the node.
        if self._slow_group is None:
            self._slow_group = SlowGroup()
        return self._slow_group

    def equip(self, table: Sequence[Parameter], stopped: Callable[[], bool]) -> None:
        """Declare the parameters; to be called once the node exists.

        Parameters
        ----------
        table : sequence of Parameter
            Its own parameters, beside those of every node.
        stopped : callable
            Whether the process is asked to stop.
        """
        self.stopped = stopped
        self.parameters = NodeParameters(self, (*RUNTIME_PARAMETERS, *table), self.check)
        self.fast = FastEntities(self)

    def check(self, values: Values) -> None:
        """Raise a ParameterError where values do not fit each other."""

    def on_parameters(self, values: Values) -> None:
        """Take over changed parameters."""

    def start(self) -> None:
        """Build everything."""

    def stop(self) -> None:
        """Say the last words."""


class PlainNode(NodeParts, Node):
    """A node without a lifecycle.

    Parameters
    ----------
    name : str
        Its name.
    table : sequence of Parameter
        Its parameters.
    stopped : callable
        Whether the process is asked to stop.
    """

    def __init__(self, name: str, table: Sequence[Parameter], stopped: Callable[[], bool]):
        super().__init__(name)
        self.equip(table, stopped)
