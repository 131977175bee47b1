# SPDX-License-Identifier: Apache-2.0
"""Snapshot of a running system: plain data, without ROS, for ``robot-dynamics doctor``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from robot_dynamics.nodes.ros.driver_controller import DriverController

JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'
STATES, DESCRIPTION = 'joint_states', 'robot_description'
CLOCK = '/clock'

#: Types of topics, by name.
Topics = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Endpoint:
    """A publisher or a subscription: full name of its node, message type, quality of service."""

    node: str
    type: str
    reliable: bool = True
    latched: bool = False


@dataclass(frozen=True)
class Topic:
    """A topic with its publishers and subscriptions."""

    name: str
    publishers: tuple[Endpoint, ...] = ()
    subscriptions: tuple[Endpoint, ...] = ()


@dataclass(frozen=True)
class StateSample:
    """One message of joint states; its stamp and times are in ns.

    ``received`` is on the clock of this machine, ``sent`` on that of the sender, 0 if unknown.
    Velocity and effort may be empty.
    """

    received: int
    sent: int
    stamp: int
    names: tuple[str, ...]
    position: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()


@dataclass(frozen=True)
class ClockSample:
    """Simulated time, and its time of reception on the clock of this machine. ns."""

    received: int
    time: int


@dataclass(frozen=True)
class StatusSeen:
    """The last status of one item on ``/diagnostics``; levels are 0 ok to 3 stale."""

    name: str
    level: int
    message: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeInfo:
    """A node by its full name.

    `parameters` is None if the node did not respond, `lifecycle` also for nodes that are not
    managed. `publishes` and `subscribes` have types by the full names of topics; `copies` is the
    number of nodes with this name.
    """

    name: str
    parameters: Mapping[str, Any] | None = None
    lifecycle: str | None = None
    publishes: Topics = field(default_factory=dict)
    subscribes: Topics = field(default_factory=dict)
    copies: int = 1

    @property
    def base_name(self) -> str:
        """Name without namespace."""
        return self.name.rpartition('/')[2]

    @property
    def is_ours(self) -> bool:
        """Whether it is a node of this package, by a parameter that all of them have."""
        return self.parameters is not None and 'stop_with_parent' in self.parameters

    @property
    def is_controller(self) -> bool:
        """Whether it is an effort controller of this package."""
        return {f'{self.name}/mode', f'{self.name}/tracking_error'} <= set(self.publishes)

    @property
    def commanded_topics(self) -> Topics:
        """Topics of a controller that may be commands, published while it is active."""
        return {topic: types for topic, types in self.publishes.items()
                if not topic.startswith(f'{self.name}/')
                and not {'std_msgs/msg/Float64MultiArray',
                         'trajectory_msgs/msg/JointTrajectory'}.isdisjoint(types)}

    @property
    def command_topics(self) -> Topics:
        """Command topics of a controller; by its parameters if it is not active."""
        values = self.parameters or {}
        if self.commanded_topics or self.lifecycle != 'inactive' or 'command_topic' not in values:
            return self.commanded_topics
        name = values['command_topic']
        if not name.startswith('/'):
            name = f'{self.name.rpartition("/")[0]}/{name}'
        kind = 'trajectory_msgs/msg/JointTrajectory' if values.get('command_type') \
            == 'joint_trajectory' else 'std_msgs/msg/Float64MultiArray'
        return {name: (kind,)}

    @property
    def states_topics(self) -> tuple[str, ...]:
        """Topics of joint states that it subscribes to."""
        return tuple(topic for topic, types in self.subscribes.items()
                     if JOINT_STATE_TYPE in types)


@dataclass(frozen=True)
class GraphSnapshot:
    """A running system as a participant of its domain discovers it.

    Nodes and topics are given by their full names.
    """

    domain: int = 0
    #: Namespace of the snapshot, ``''`` for the root.
    namespace: str = ''
    #: Time for which messages were received. s.
    seconds: float = 0.0
    #: Controllers of ros2_control, None where they could not be listed.
    driver_controllers: tuple[DriverController, ...] | None = None
    #: Name of the RMW implementation.
    middleware: str = ''
    #: All nodes except that of the snapshot.
    nodes: tuple[NodeInfo, ...] = ()
    #: Topics of an arm, and topics from which controllers get states.
    topics: Mapping[str, Topic] = field(default_factory=dict)
    #: Types of services.
    services: Topics = field(default_factory=dict)
    states_topic: str = f'/{STATES}'
    description_topic: str = f'/{DESCRIPTION}'
    #: Further topics of joint states in the domain.
    other_states: tuple[str, ...] = ()
    #: Messages on the topics of states and of the description, and on ``/clock``.
    states: tuple[StateSample, ...] = ()
    descriptions: tuple[str, ...] = ()
    clock: tuple[ClockSample, ...] = ()
    #: Messages on ``/diagnostics``, the last of each name.
    statuses: tuple[StatusSeen, ...] = ()

    def topic(self, name: str) -> Topic:
        """Topic with a name; one without endpoints if it was not discovered."""
        return self.topics.get(name, Topic(name))

    @property
    def visible(self) -> tuple[NodeInfo, ...]:
        """Nodes that are not hidden (as, for example, the ros2 daemon is)."""
        return tuple(node for node in self.nodes if not node.base_name.startswith('_'))

    @property
    def is_empty(self) -> bool:
        """Whether no node is visible."""
        return not self.visible

    @property
    def controllers(self) -> tuple[NodeInfo, ...]:
        """The effort controllers of this package in the namespace."""
        return tuple(node for node in self.nodes if node.is_controller
                     and is_inside(node.name, self.namespace))


def is_inside(name: str, namespace: str) -> bool:
    """Whether a full name lies in a namespace, or below it."""
    return name.startswith(f'/{namespace.strip("/")}/') if namespace.strip('/') else True


def choose_states_topic(topics: Topics, controllers: tuple[NodeInfo, ...],
                        namespace: str | None) -> str:
    """Topic of joint states to check, in a namespace, or None for any.

    `controllers` are those that subscribe to states of their arm.
    """
    found = sorted(name for name, types in topics.items() if JOINT_STATE_TYPE in types
                   and name.rpartition('/')[2] == STATES)
    wanted = f'/{STATES}'
    if namespace is not None:
        wanted = '/'.join(['', *filter(None, namespace.split('/')), STATES])
        controllers = tuple(node for node in controllers if is_inside(node.name, namespace))
    # Controllers that command come first: standby ones may use other states.
    taken = [topic for node in sorted(controllers, key=lambda node: not node.commanded_topics)
             for topic in node.states_topics]
    if taken:
        wanted = taken[0]
    elif namespace is None and found and wanted not in found:
        wanted = found[0]
    return wanted
