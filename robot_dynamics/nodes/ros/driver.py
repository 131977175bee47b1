# SPDX-License-Identifier: Apache-2.0
"""What a node may ask of the arm's driver: which controller takes its efforts, and to stop.

Where ros2_control runs and its package controller_manager_msgs is installed, the controller that
takes the commands is known with its state, and can be deactivated. Without either, everything here
does nothing. A driver may also have a service of type Trigger that stops the arm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from builtin_interfaces.msg import Duration
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.nodes.controllers import NODES
from robot_dynamics.nodes.ros.driver_controller import DriverController
from robot_dynamics.nodes.ros.parameters import Parameter
from robot_dynamics.nodes.ros.runtime import RCLError

try:
    from controller_manager_msgs.srv import ListControllers, SwitchController
except ImportError:  # a package of ros2_control
    ListControllers = SwitchController = None

#: Whether controllers can be listed and deactivated.
CAN_SWITCH = ListControllers is not None
#: Type of the service that lists controllers, and the end of its name.
LIST_TYPE, LIST = 'controller_manager_msgs/srv/ListControllers', '/list_controllers'
#: Time between two looks at the driver. s.
LOOK_PERIOD = 0.25
#: Time after which an answer that has not come is asked for again, and for which the parameters of
#: a node that no controller manager knows are waited for: it may not serve them. s.
_AGAIN, _PATIENCE = 1.0, 1.0
#: Time that a controller manager has for a switch. s.
_SWITCH_TIME = 1.0
_PACE = 0.002

DRIVER_STOP_PARAMETERS = (
    Parameter('stop_service', '', 'Service of type std_srvs/Trigger by which the driver stops the '
              'arm, called when the safe command fails; empty for none.', read_only=True,
              topic=True),
)


class WaitingClient:
    """A client whose answer can be waited for inside a callback."""

    def __init__(self, node: Node, srv_type: type, name: str):
        self._node = node
        self._client = node.create_client(srv_type, name)
        #: `Future` of the last request.
        self._future: Any = None
        self._asked_at = -_AGAIN

    @property
    def is_ready(self) -> bool:
        """Whether the service has been discovered."""
        return bool(self._client.service_is_ready())

    def ask(self, request: Any, on_answer: Callable[[Any], None]) -> bool:
        """Send a request unless an answer is waited for; return whether it was sent."""
        now = time.monotonic()
        is_open = self._future is not None and not self._future.done()
        if not self.is_ready or (is_open and now - self._asked_at < _AGAIN):
            return False
        if is_open:
            self._future.cancel()
        self._asked_at = now
        self._future = self._client.call_async(request)
        self._future.add_done_callback(partial(_pass_on, on_answer))
        return True

    def call(self, request: Any, timeout: float, meanwhile: Callable[[float], None]) -> Any:
        """Answer to a request, None without one within some seconds.

        `meanwhile` is called again and again with the seconds that it may take.
        """
        future = self._client.call_async(request)
        deadline = time.monotonic() + timeout
        while not future.done() and time.monotonic() < deadline:
            meanwhile(_PACE)
            self.take()
        return future.result() if future.done() else None

    def destroy(self) -> None:
        """Destroy the client."""
        self._node.destroy_client(self._client)

    def take(self) -> None:
        """Take an answer that waits; an executor may take it as well."""
        client = self._client
        header, response = client.handle.take_response(client.srv_type.Response)
        if header is None:
            return
        try:
            client.get_pending_request(header.request_id.sequence_number).set_result(response)
        except KeyError:
            pass  # it was cancelled


class Driver:
    """The driver of the arm, as far as a node that sends it commands can see and stop it.

    Parameters
    ----------
    node : Node
        The node that asks.
    topic : str
        Full name of the topic of the commands.
    stop_service : str
        Name of a service of type Trigger that stops the arm, empty for none.
    """

    def __init__(self, node: Node, topic: str, stop_service: str = ''):
        self._node = node
        self._topic = topic
        #: The controller that takes the commands, None where none is known.
        self.controller: DriverController | None = None
        self._stop = WaitingClient(node, Trigger, stop_service) if stop_service else None
        self._lists: dict[str, WaitingClient] = {}
        self._switches: dict[str, WaitingClient] = {}
        self._parameters: dict[str, WaitingClient] = {}
        # Answers: joints by node, and controllers by controller manager.
        self._joints: dict[str, tuple[str, ...]] = {}
        self._listed: dict[str, list[Any]] = {}
        # Manager of each controller that was listed; it stays known while the state is not.
        self._manager_of: dict[str, str] = {}
        self._first_seen: dict[str, float] = {}
        self._forbidden: set[str] = set()
        #: Controller managers of the last look.
        self._managers: list[str] = []

    @property
    def can_stop(self) -> bool:
        """Whether `request_stop` has something to ask."""
        switch = self._switches.get(self.controller.manager) if self.controller else None
        return any(client is not None and client.is_ready for client in (switch, self._stop))

    def look(self) -> None:
        """Ask for the present state; answers arrive later."""
        names = self._subscribers()
        self._managers = self._find_managers(names) if names and CAN_SWITCH else []
        # What has ended may come back as another.
        self._joints = {name: self._joints[name] for name in names if name in self._joints}
        self._listed = {name: self._listed[name] for name in self._managers
                        if name in self._listed}
        for name in names:
            self._first_seen.setdefault(name, time.monotonic())
            self._ask_node(name)
        for manager in self._managers:
            client = self._client(self._lists, manager, ListControllers, manager + LIST)
            self._client(self._switches, manager, SwitchController,
                         f'{manager}/switch_controller')
            if client is not None:
                client.ask(ListControllers.Request(), partial(self._on_list, manager))
        self._combine(names)

    def forget(self) -> None:
        """Forget what controller managers have answered, because it may have changed."""
        self._listed.clear()
        self._joints.clear()
        if self.controller is not None:
            self._combine([self.controller.name])

    def why_not_ready(self, joints: Sequence[str], *, ordered: bool) -> str | None:
        """Reason that commands would reach other joints, or may, None without one.

        Arguments as for `DriverController.why_other_joints`.
        """
        if self.controller is None:
            self.look()
        if self.controller is None:
            return None
        return self._missing_answer() or self.controller.why_other_joints(joints, ordered=ordered)

    def why_closed(self, joints: Sequence[str], *, ordered: bool) -> str:
        """Reason that commands do not act on the arm as they should, empty without one."""
        if self.controller is None:
            return ''
        return self.why_not_ready(joints, ordered=ordered) or self.controller.why_inactive() or ''

    def deactivate(self, timeout: float, meanwhile: Callable[[float], None]) -> str | None:
        """Deactivate the controller that takes the commands and wait for the answer.

        Returns
        -------
        str or None
            Reason that it may still be active, None where it was deactivated. Empty where there is
            nothing to deactivate.
        """
        controller = self.controller
        switch = self._switches.get(controller.manager) if controller else None
        if controller is None or switch is None:
            return ''
        if not switch.is_ready:
            return f'{controller.manager} has gone'
        answer = switch.call(_deactivation(controller), timeout, meanwhile)
        if answer is None:
            return f'{controller.manager} has not answered in {timeout:g} s'
        return None if answer.ok else _refusal(controller, answer)

    def request_stop(self, report: Callable[[str | None], None]) -> bool:
        """Request that the driver stops the arm, without waiting; return whether it was requested.

        Deactivates the controller that takes the commands, and calls the service that stops the
        arm. `report` gets a reason for each that failed, None for each that succeeded.
        """
        asked = False
        controller = self.controller
        switch = self._switches.get(controller.manager) if controller else None
        if controller is not None and switch is not None:
            asked |= switch.ask(_deactivation(controller), lambda answer: report(
                None if answer.ok else _refusal(controller, answer)))
        if self._stop is not None:
            asked |= self._stop.ask(Trigger.Request(), lambda answer: report(
                None if answer.success else answer.message or 'the driver did not stop the arm'))
        return asked

    def serve(self) -> None:
        """Take answers where no executor does."""
        for client in self._clients:
            client.take()

    def destroy(self) -> None:
        """Destroy every client."""
        for client in self._clients:
            client.destroy()
        self._lists.clear()
        self._switches.clear()
        self._parameters.clear()

    @property
    def _clients(self) -> list[WaitingClient]:
        return [*self._lists.values(), *self._switches.values(), *self._parameters.values(),
                *([self._stop] if self._stop else [])]

    def _subscribers(self) -> list[str]:
        """Full names of the nodes that take the commands; ours are not controllers of a driver."""
        infos = self._node.get_subscriptions_info_by_topic(self._topic)
        return sorted({f'{info.node_namespace.rstrip("/")}/{info.node_name}' for info in infos
                       if info.node_name not in NODES and not info.node_name.startswith('_')})

    def _find_managers(self, names: Sequence[str]) -> list[str]:
        """Full names of the controller managers in the namespaces of nodes, or of all."""
        found = [name.removesuffix(LIST)
                 for name, types in self._node.get_service_names_and_types()
                 if LIST_TYPE in types and name.endswith(LIST)]
        return [manager for manager in found
                if _namespace(manager) in map(_namespace, names)] or found

    def _client(self, clients: dict[str, WaitingClient], key: str, srv_type: type, name: str
                ) -> WaitingClient | None:
        """Client of a service, kept; None where security forbids it."""
        if key not in clients and name not in self._forbidden:
            try:
                clients[key] = WaitingClient(self._node, srv_type, name)
            except RCLError as error:
                self._forbidden.add(name)
                self._node.get_logger().warning(f'{name} cannot be called: {error}')
        return clients.get(key)

    def _ask_node(self, name: str) -> None:
        """Ask a node for its joints until it has answered."""
        client = None if name in self._joints else self._client(
            self._parameters, name, GetParameters, f'{name}/get_parameters')
        if client is not None:
            client.ask(GetParameters.Request(names=['joints']), partial(self._on_joints, name))

    def _on_joints(self, name: str, answer: GetParameters.Response) -> None:
        # A node without such a parameter answers with no values.
        self._joints[name] = tuple(answer.values[0].string_array_value) if answer.values else ()
        self._combine(self._subscribers())

    def _on_list(self, manager: str, answer: Any) -> None:
        self._listed[manager] = list(answer.controller)
        self._combine(self._subscribers())

    def _combine(self, names: Sequence[str]) -> None:
        """Set the controller from all answers."""
        found = []
        for name in names:
            joints = self._joints.get(name, ())
            listed = [DriverController(name, manager, entry.state, joints,
                                       tuple(entry.claimed_interfaces))
                      for manager, entries in self._listed.items() for entry in entries
                      if entry.name == name.rpartition('/')[2]]
            if listed:
                self._manager_of[name] = listed[0].manager
            found += listed[:1] or [
                DriverController(name, self._manager_of.get(name, ''), joints=joints)]
        # A controller that a manager knows comes before any other node.
        self.controller = min(found, key=lambda each: not each.manager, default=None)

    def _missing_answer(self) -> str | None:
        """Which service has to answer before more is known, None where none has to."""
        for manager in self._managers:
            if manager in self._lists and manager not in self._listed:
                return f'{manager}{LIST} has not answered'
        assert self.controller is not None
        name = self.controller.name
        client = self._parameters.get(name)
        is_waited_for = self.controller.manager or (
            client is not None and client.is_ready
            and time.monotonic() - self._first_seen.get(name, 0.0) < _PATIENCE)
        if is_waited_for and name not in self._joints:
            return f'{name}/get_parameters has not answered'
        return None


def _deactivation(controller: DriverController) -> Any:
    """Request that deactivates a controller; it succeeds where it is not active."""
    return SwitchController.Request(
        deactivate_controllers=[controller.base_name],
        strictness=SwitchController.Request.BEST_EFFORT,
        timeout=Duration(sec=int(_SWITCH_TIME), nanosec=round(_SWITCH_TIME % 1.0 * 1e9)))


def _refusal(controller: DriverController, answer: Any) -> str:
    """Reason of a controller manager that did not deactivate."""
    # Humble's has no message.
    text = getattr(answer, 'message', '') or 'read its log'
    return f'{controller.manager} has not deactivated {controller.base_name}: {text}'


def _namespace(name: str) -> str:
    return name.rpartition('/')[0]


def _pass_on(on_answer: Callable[[Any], None], future: Any) -> None:
    """Pass an answer on, if there is one."""
    if not future.cancelled() and future.exception() is None and future.result() is not None:
        on_answer(future.result())
