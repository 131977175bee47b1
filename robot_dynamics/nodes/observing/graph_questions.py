# SPDX-License-Identifier: Apache-2.0
"""Asks every node of a system for its parameters and its lifecycle state, all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import Parameter

#: Nodes asked at most, so that a crowded domain is not flooded.
MOST_NODES = 100


class _Question:
    """A service that is called as soon as it is there."""

    def __init__(self, node: Node, service_type: type, name: str, request: Any,
                 on_answer: Callable[[Any], None]):
        self._client = node.create_client(service_type, name)
        self._request = request
        self._on_answer = on_answer
        self._is_asked = False

    def ask(self) -> None:
        """Call the service if it is there and was not called."""
        if not self._is_asked and self._client.service_is_ready():
            self._is_asked = True
            self._client.call_async(self._request).add_done_callback(self._answered)

    def _answered(self, future: Any) -> None:
        if future.exception() is None and future.result() is not None:
            self._on_answer(future.result())


class Interview:
    """Answers of nodes as they come in.

    Parameters
    ----------
    node : Node
        Who asks; an executor has to serve it.

    Attributes
    ----------
    parameters : dict of str to dict
        Parameter values by node; a node that did not answer is missing.
    lifecycle : dict of str to str
        Label of the lifecycle state by node.
    """

    def __init__(self, node: Node):
        self._node = node
        self._questions: list[_Question] = []
        self._met: set[str] = set()
        self.parameters: dict[str, dict[str, Any]] = {}
        self.lifecycle: dict[str, str] = {}

    def meet(self, names: list[str], services: dict[str, list[str]]) -> None:
        """Begin with nodes that were not met yet.

        Parameters
        ----------
        names : list of str
            Full names of nodes.
        services : dict of str to list of str
            Types of all services by name.
        """
        for name in names:
            if name in self._met or len(self._met) >= MOST_NODES:
                continue
            listing, state = f'{name}/list_parameters', f'{name}/get_state'
            if listing not in services:
                continue
            self._met.add(name)
            self._ask(ListParameters, listing, ListParameters.Request(),
                      lambda answer, name=name: self._on_names(name, answer))
            if 'lifecycle_msgs/srv/GetState' in services.get(state, ()):
                self._ask(GetState, state, GetState.Request(),
                          lambda answer, name=name: self.lifecycle.update(
                              {name: answer.current_state.label}))

    def ask(self) -> None:
        """Ask what could not be asked yet."""
        for question in tuple(self._questions):
            question.ask()

    def _ask(self, service_type: type, name: str, request: Any,
             on_answer: Callable[[Any], None]) -> None:
        self._questions.append(_Question(self._node, service_type, name, request, on_answer))

    def _on_names(self, name: str, answer: ListParameters.Response) -> None:
        """Ask for the values; a node answers with none where it does not know one of them."""
        request = GetParameters.Request(names=list(answer.result.names))
        self._ask(GetParameters, f'{name}/get_parameters', request,
                  lambda values: self._on_values(name, request.names, values))

    def _on_values(self, name: str, names: list[str], answer: GetParameters.Response) -> None:
        if len(answer.values) == len(names):
            self.parameters[name] = {
                key: Parameter.from_parameter_msg(ParameterMessage(name=key, value=value)).value
                for key, value in zip(names, answer.values, strict=True)}
