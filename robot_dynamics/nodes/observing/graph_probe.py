# SPDX-License-Identifier: Apache-2.0
"""Probe of a running system that does not influence it.

It never subscribes to commands: a controller that waits for a subscriber before it moves an arm
would mistake the probe for the arm. It publishes nothing, and polls joint states with best-effort
QoS, so that no publisher waits for it.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.utilities import get_rmw_implementation_identifier
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.nodes.observing.graph_snapshot import (
    CLOCK,
    DESCRIPTION,
    JOINT_STATE_TYPE,
    STATES,
    ClockSample,
    Endpoint,
    GraphSnapshot,
    NodeInfo,
    StateSample,
    StatusSeen,
    Topic,
    choose_states_topic,
)
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.driver import CAN_SWITCH, LIST, LIST_TYPE, ListControllers
from robot_dynamics.nodes.ros.driver_controller import DriverController
from robot_dynamics.nodes.ros.messages import to_nanoseconds
from robot_dynamics.nodes.ros.runtime import started_context

#: Time without new entities after which discovery is complete, and the longest time, in which DDS
#: announces each participant at least once more. s.
_SETTLED, _LONGEST_DISCOVERY = 0.7, 3.5
#: Time between two checks for messages. s.
_PACE = 0.05
#: Figures of diagnostics of which the largest is kept.
WORST_FIGURES = ('worst period [ms]', 'late cycles')
#: Queue length between two checks: 2 kHz on a busy machine.
_DEPTH = 2000


def look(seconds: float = 4.0, *, namespace: str | None = None,
         domain: int | None = None) -> GraphSnapshot:
    """Snapshot of a running system, with messages of some seconds after discovery.

    `namespace` is that of the arm, any by default; `domain` that of the environment by default.
    Raises a BringupError if ROS 2 cannot be started.
    """
    context = started_context(domain)
    try:
        return _Probe(context).look(seconds, namespace)
    finally:
        context.try_shutdown()


class _Probe:
    """One snapshot of a system."""

    def __init__(self, context: Context):
        # Hidden from `ros2 node list`. One node subscribes without executor, one calls services.
        self._listener, self._client = (
            Node(f'_doctor_{part}_{os.getpid()}', context=context, use_global_arguments=False,
                 enable_rosout=False, start_parameter_services=False)
            for part in ('listener', 'client'))
        self._own = {self._listener.get_name(), self._client.get_name()}
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._client)
        self._queries = NodeQueries(self._client)
        self._subscriptions: list[tuple[Subscription, Callable[[Any, int, int], None]]] = []
        self._states: list[StateSample] = []
        self._descriptions: list[str] = []
        self._clock: list[ClockSample] = []
        self._statuses: dict[str, StatusSeen] = {}

    def look(self, seconds: float, namespace: str | None) -> GraphSnapshot:
        """Wait for discovery, receive messages, and return the snapshot."""
        try:
            self._discover()
            topic = choose_states_topic(
                self._topics(), tuple(node for node in self._nodes() if node.is_controller),
                namespace)
            where = topic.rpartition('/')[0].strip('/') if namespace is None else namespace
            description = '/'.join(['', *filter(None, where.split('/')), DESCRIPTION])
            started = time.monotonic()
            if self._names():
                self._listen(topic, description)
                self._wait(seconds)
            return self._snapshot(topic, description, where, time.monotonic() - started)
        finally:
            self._executor.shutdown()
            self._client.destroy_node()
            self._listener.destroy_node()

    def _discover(self) -> None:
        """Wait until there are joint states and no new entities, or for the longest time.

        Lost announcements are repeated some seconds later.
        """
        started = changed = time.monotonic()
        before: dict[str, tuple[int, int]] = {}
        while (now := time.monotonic()) - started < _LONGEST_DISCOVERY:
            topics = self._topics()
            graph = {name: (self._listener.count_publishers(name),
                            self._listener.count_subscribers(name)) for name in topics}
            if graph != before:
                before, changed = graph, now
            elif now - changed > _SETTLED and any(
                    JOINT_STATE_TYPE in types for types in topics.values()):
                return
            self._executor.spin_once(timeout_sec=_PACE)

    def _listen(self, states: str, description: str) -> None:
        """Subscribe to the topics of an arm."""
        best_effort = QoSProfile(depth=_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
        for message_type, topic, profile, on_message in (
                (JointState, states, best_effort, self._on_state),
                (Clock, CLOCK, best_effort, self._on_clock),
                (DiagnosticArray, '/diagnostics', best_effort, self._on_diagnostics),
                (String, description, qos.latched(), self._on_description)):
            self._subscriptions.append((self._listener.create_subscription(
                message_type, topic, _ignore, profile), on_message))

    def _wait(self, seconds: float) -> None:
        """Receive messages and call services for some time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._queries.add(self._names(), dict(self._listener.get_service_names_and_types()))
            self._queries.send()
            pause = time.monotonic() + min(_PACE, left)
            while (rest := pause - time.monotonic()) > 0.0:
                self._executor.spin_once(timeout_sec=rest)
            self._fetch()

    def _fetch(self) -> None:
        """Pass on every queued message, with its receive and send times, ns."""
        for subscription, on_message in self._subscriptions:
            while True:
                try:
                    taken = subscription.handle.take_message(subscription.msg_type, False)
                except UnicodeDecodeError:
                    continue  # The message has text that is not UTF-8; it has been taken.
                if taken is None:
                    break
                message, info = taken
                on_message(message, info['received_timestamp'] or time.time_ns(),
                           info['source_timestamp'])

    def _names(self) -> list[str]:
        """Full names of all other nodes, one for each node."""
        return [f'{namespace.rstrip("/")}/{name}'
                for name, namespace in self._listener.get_node_names_and_namespaces()
                if name not in self._own]

    def _topics(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(types)
                for name, types in self._listener.get_topic_names_and_types()}

    def _nodes(self) -> tuple[NodeInfo, ...]:
        """All nodes with their topics and service responses."""
        return tuple(
            NodeInfo(name, self._queries.parameters.get(name),
                     self._queries.lifecycle.get(name),
                     self._of_node(self._listener.get_publisher_names_and_types_by_node, name),
                     self._of_node(self._listener.get_subscriber_names_and_types_by_node, name),
                     copies)
            for name, copies in sorted(Counter(self._names()).items()))

    @staticmethod
    def _of_node(ask: Callable[[str, str], list[tuple[str, list[str]]]],
                 name: str) -> dict[str, tuple[str, ...]]:
        """Types of the topics of a node, by name; empty if it has ended in the meantime."""
        namespace, _, base = name.rpartition('/')
        try:
            return {topic: tuple(types) for topic, types in ask(base, namespace or '/')}
        except RuntimeError:
            return {}

    def _snapshot(self, states: str, description: str, namespace: str, seconds: float
              ) -> GraphSnapshot:
        """All messages, and the present graph."""
        nodes, topics = self._nodes(), self._topics()
        of_controllers = [topic for node in nodes if node.is_controller
                          for topic in (*node.command_topics, *node.states_topics)]
        others = tuple(name for name, types in sorted(topics.items())
                       if name != states and name.rpartition('/')[2] == STATES
                       and JOINT_STATE_TYPE in types)
        interesting = {states, description, CLOCK, *of_controllers, *others}
        return GraphSnapshot(
            domain=self._listener.context.get_domain_id(), namespace=namespace, seconds=seconds,
            middleware=get_rmw_implementation_identifier(), nodes=nodes,
            topics={name: self._topic(name) for name in sorted(interesting)},
            driver_controllers=self._queries.driver_controllers(),
            services={name: tuple(types)
                      for name, types in self._listener.get_service_names_and_types()},
            states_topic=states, description_topic=description, other_states=others,
            states=tuple(self._states), descriptions=tuple(self._descriptions),
            clock=tuple(self._clock), statuses=tuple(self._statuses.values()))

    def _topic(self, name: str) -> Topic:
        return Topic(name, self._endpoints(self._listener.get_publishers_info_by_topic(name)),
                     self._endpoints(self._listener.get_subscriptions_info_by_topic(name)))

    def _endpoints(self, infos: Iterable[Any]) -> tuple[Endpoint, ...]:
        return tuple(
            Endpoint(f'{info.node_namespace.rstrip("/")}/{info.node_name}', info.topic_type,
                     info.qos_profile.reliability == ReliabilityPolicy.RELIABLE,
                     info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL)
            for info in infos if info.node_name not in self._own)

    def _on_state(self, message: JointState, received: int, sent: int) -> None:
        self._states.append(StateSample(
            received, sent, to_nanoseconds(message.header.stamp), tuple(message.name),
            tuple(message.position), tuple(message.velocity), tuple(message.effort)))

    def _on_clock(self, message: Clock, received: int, sent: int) -> None:
        self._clock.append(ClockSample(received, to_nanoseconds(message.clock)))

    def _on_description(self, message: String, received: int, sent: int) -> None:
        self._descriptions.append(message.data)

    def _on_diagnostics(self, message: DiagnosticArray, received: int, sent: int) -> None:
        for status in message.status:
            level, before = status.level, self._statuses.get(status.name)
            values = {item.key: item.value for item in status.values}
            self._statuses[status.name] = StatusSeen(
                status.name, level[0] if isinstance(level, bytes) else int(level), status.message,
                with_worst(values, before.values if before else {}))


def with_worst(values: dict[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Figures of an item with the largest of those that are the worst of their time."""
    worst = {key: max(value, before[key], key=_number) for key, value in values.items()
             if key in before and key in WORST_FIGURES}
    return {**values, **worst}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -math.inf


def _ignore(message: Any) -> None:
    """Callback that rclpy requires and that is never called."""


#: Largest number of nodes that are queried, to limit traffic in large domains.
MOST_NODES = 100


class NodeQueries:
    """Parameters by node and lifecycle states (labels) by node, as responses arrive."""

    def __init__(self, node: Node):
        self._node = node
        # Clients of services that are not ready yet, requests, and receivers of responses.
        self._waiting: list[tuple[Client, Any, Callable[[Any], None]]] = []
        self._added: set[str] = set()
        self.parameters: dict[str, dict[str, Any]] = {}
        self.lifecycle: dict[str, str] = {}
        # Controllers of ros2_control by controller manager.
        self._listed: dict[str, list[Any]] = {}

    def driver_controllers(self) -> tuple[DriverController, ...] | None:
        """Controllers of every controller manager, None where none has listed its own."""
        if not self._listed:
            return None
        found = []
        for manager, entries in self._listed.items():
            for entry in entries:
                name = f'{manager.rpartition("/")[0]}/{entry.name}'
                joints = (self.parameters.get(name) or {}).get('joints') or ()
                found.append(DriverController(name, manager, entry.state, tuple(joints),
                                              tuple(entry.claimed_interfaces)))
        return tuple(found)

    def add(self, names: list[str], services: dict[str, list[str]]) -> None:
        """Add nodes that are new, by their full names; `services` has the types of all."""
        for name in names:
            if name in self._added or len(self._added) >= MOST_NODES:
                continue
            manager = name + LIST
            if CAN_SWITCH and LIST_TYPE in services.get(manager, ()):
                self._ask(ListControllers, manager, ListControllers.Request(),
                          partial(self._on_controllers, name))
            listing, state = f'{name}/list_parameters', f'{name}/get_state'
            if listing not in services:
                continue
            self._added.add(name)
            self._ask(ListParameters, listing, ListParameters.Request(),
                      partial(self._on_names, name))
            if 'lifecycle_msgs/srv/GetState' in services.get(state, ()):
                self._ask(GetState, state, GetState.Request(), partial(self._on_state, name))

    def send(self) -> None:
        """Call services that could not be called yet."""
        waiting, self._waiting = self._waiting, []
        for client, request, on_answer in waiting:
            if client.service_is_ready():
                client.call_async(request).add_done_callback(partial(_pass_on, on_answer))
            else:
                self._waiting.append((client, request, on_answer))

    def _ask(self, service_type: type, name: str, request: Any,
             on_answer: Callable[[Any], None]) -> None:
        self._waiting.append((self._node.create_client(service_type, name), request, on_answer))

    def _on_state(self, name: str, answer: GetState.Response) -> None:
        self.lifecycle[name] = answer.current_state.label

    def _on_controllers(self, manager: str, answer: Any) -> None:
        self._listed[manager] = list(answer.controller)

    def _on_names(self, name: str, answer: ListParameters.Response) -> None:
        """Request the values; if one name is unknown, the response is an empty list."""
        request = GetParameters.Request(names=list(answer.result.names))
        self._ask(GetParameters, f'{name}/get_parameters', request,
                  lambda values: self._on_values(name, request.names, values))

    def _on_values(self, name: str, names: list[str], answer: GetParameters.Response) -> None:
        if len(answer.values) == len(names):
            self.parameters[name] = {
                key: Parameter.from_parameter_msg(ParameterMessage(name=key, value=value)).value
                for key, value in zip(names, answer.values, strict=True)}


def _pass_on(on_answer: Callable[[Any], None], future: Any) -> None:
    """Pass on the response of a service, if there is one."""
    if future.exception() is None and future.result() is not None:
        on_answer(future.result())
