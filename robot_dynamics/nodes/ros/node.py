# SPDX-License-Identifier: Apache-2.0
"""What nodes have in common beside their topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.service import Service

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.ros.fast_entities import FastEntities
from robot_dynamics.nodes.ros.node_parameters import NodeParameters, refusal
from robot_dynamics.nodes.ros.parameter_requests import bounded
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.runtime import RUNTIME_PARAMETERS
from robot_dynamics.nodes.ros.spinning import SlowGroup
from robot_dynamics.nodes.ros.stopping import StopRequest


class NodeParts:
    """Parameters, fast and slow entities of a node; mix it in before a class of rclpy."""

    _slow_group: SlowGroup | None = None
    #: None until they are declared.
    parameters: NodeParameters | None = None

    @property
    def default_callback_group(self) -> SlowGroup:
        """Where everything goes that is not fast: rclpy's own services, too."""
        # rclpy asks for it while it is still making the node.
        if self._slow_group is None:
            self._slow_group = SlowGroup()
        return self._slow_group

    def equip(self, table: Sequence[Parameter], stopped: StopRequest) -> None:
        """Declare the parameters; to be called once the node exists.

        Parameters
        ----------
        table : sequence of Parameter
            Its own parameters, beside those of every node.
        stopped : StopRequest
            Whether the process is asked to stop.
        """
        self.stopped = stopped
        self.parameters = NodeParameters(self, (*RUNTIME_PARAMETERS, *table), self.check)
        self.fast = FastEntities(self)

    def create_service(self, srv_type: type, srv_name: str, callback: Callable[[Any, Any], Any],
                       **options: Any) -> Service:
        """Create a service; those for parameters take so many of them at once and no more."""
        return super().create_service(srv_type, srv_name, bounded(srv_type, callback), **options)

    def set_parameters(self, parameter_list: Sequence[RosParameter]) -> list[SetParametersResult]:
        """Change parameters one by one; see `set_parameters_atomically`."""
        return [self.set_parameters_atomically([parameter]) for parameter in parameter_list]

    def set_parameters_atomically(self, parameter_list: Sequence[RosParameter]
                                  ) -> SetParametersResult:
        """Change parameters, all of them or none; the services of the node call this.

        An integer is taken where a double is wanted. rclpy would refuse it, or, asked to be
        lenient, make the parameter an integer for everybody who asks for it later.
        """
        if self.parameters is not None:
            try:
                parameter_list = self.parameters.promote(parameter_list)
            except ParameterError as error:
                return refusal(error)
        return super().set_parameters_atomically(parameter_list)

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
    stopped : StopRequest
        Whether the process is asked to stop.
    """

    def __init__(self, name: str, table: Sequence[Parameter], stopped: StopRequest):
        super().__init__(name)
        self.equip(table, stopped)
