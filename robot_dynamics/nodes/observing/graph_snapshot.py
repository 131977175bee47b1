# SPDX-License-Identifier: Apache-2.0
"""What was seen of a running system: plain data, without ROS, for whoever judges it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'
STATES, DESCRIPTION = 'joint_states', 'robot_description'
CLOCK = '/clock'

#: Types of topics by their names.
Topics = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Endpoint:
    """A publisher or a subscription.

    Parameters
    ----------
    node : str
        Full name of its node.
    type : str
        Type of its messages, e.g. ``'sensor_msgs/msg/JointState'``.
    reliable, latched : bool
        Its quality of service: reliable or best effort, transient local or volatile.
    """

    node: str
    type: str
    reliable: bool = True
    latched: bool = False


@dataclass(frozen=True)
class Topic:
    """A topic and who uses it."""

    name: str
    publishers: tuple[Endpoint, ...] = ()
    subscriptions: tuple[Endpoint, ...] = ()


@dataclass(frozen=True)
class StateSample:
    """One message of joint states.

    Parameters
    ----------
    received, sent : int
        When the middleware received it, on the clock of this machine, and when that of the
        sender sent it; 0 where it does not say. ns.
    stamp : int
        Stamp of its header. ns.
    names : tuple of str
        Joints.
    position, velocity, effort : tuple of float
        One value a joint, or none.
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
    """Simulated time, and when it was received on the clock of this machine. ns."""

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
    """A node.

    Parameters
    ----------
    name : str
        Full name.
    parameters : mapping or None
        Values by name; None where it did not answer.
    lifecycle : str or None
        State of a managed node; None where it is none or did not answer.
    publishes, subscribes : mapping of str to tuple of str
        Types by the full names of its topics.
    copies : int
        How many nodes have this name.
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
        """Whether it is a node of this package: all of them have this parameter."""
        return self.parameters is not None and 'stop_with_parent' in self.parameters

    @property
    def is_controller(self) -> bool:
        """Whether it is an effort controller of this package."""
        return {f'{self.name}/mode', f'{self.name}/tracking_error'} <= set(self.publishes)

    @property
    def commanded_topics(self) -> Topics:
        """What a controller publishes that efforts can be sent by: it does so while active."""
        return {topic: types for topic, types in self.publishes.items()
                if not topic.startswith(f'{self.name}/')
                and not {'std_msgs/msg/Float64MultiArray',
                         'trajectory_msgs/msg/JointTrajectory'}.isdisjoint(types)}

    @property
    def command_topics(self) -> Topics:
        """The same, and where it does not: what it says that it will publish."""
        told = self.parameters or {}
        if self.commanded_topics or self.lifecycle != 'inactive' or 'command_topic' not in told:
            return self.commanded_topics
        name = told['command_topic']
        if not name.startswith('/'):
            name = f'{self.name.rpartition("/")[0]}/{name}'
        kind = 'trajectory_msgs/msg/JointTrajectory' \
            if told.get('command_type') == 'joint_trajectory' else 'std_msgs/msg/Float64MultiArray'
        return {name: (kind,)}

    @property
    def states_topics(self) -> tuple[str, ...]:
        """Where it takes joint states from."""
        return tuple(topic for topic, types in self.subscribes.items()
                     if JOINT_STATE_TYPE in types)


@dataclass(frozen=True)
class GraphSnapshot:
    """A running system as a participant of its domain sees it.

    Parameters
    ----------
    domain : int
        ROS domain.
    namespace : str
        Namespace looked into, ``''`` for the root.
    seconds : float
        How long it was listened to.
    middleware : str
        Name of the RMW implementation.
    nodes : tuple of NodeInfo
        Every node but the one that looks.
    topics : mapping of str to Topic
        Those that matter for an arm, by full name, with those that controllers take states from.
    services : mapping of str to tuple of str
        Types by full name.
    states_topic, description_topic : str
        Full names of the topics of joint states and of the description.
    other_states : tuple of str
        Further topics of joint states in the domain.
    states : tuple of StateSample
        What came on the first of them.
    descriptions : tuple of str
        What came on the second.
    clock : tuple of ClockSample
        What came on ``/clock``.
    statuses : tuple of StatusSeen
        What came on ``/diagnostics``, the last of each name.
    """

    domain: int = 0
    namespace: str = ''
    seconds: float = 0.0
    middleware: str = ''
    nodes: tuple[NodeInfo, ...] = ()
    topics: Mapping[str, Topic] = field(default_factory=dict)
    services: Topics = field(default_factory=dict)
    states_topic: str = f'/{STATES}'
    description_topic: str = f'/{DESCRIPTION}'
    other_states: tuple[str, ...] = ()
    states: tuple[StateSample, ...] = ()
    descriptions: tuple[str, ...] = ()
    clock: tuple[ClockSample, ...] = ()
    statuses: tuple[StatusSeen, ...] = ()

    def topic(self, name: str) -> Topic:
        """Return a topic; one that nobody uses where it was not seen."""
        return self.topics.get(name, Topic(name))

    @property
    def visible(self) -> tuple[NodeInfo, ...]:
        """Nodes without those that hide, as the daemon of ros2 does."""
        return tuple(node for node in self.nodes if not node.base_name.startswith('_'))

    @property
    def is_empty(self) -> bool:
        """Whether nobody is there."""
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
    """Return the topic of joint states to look at.

    Parameters
    ----------
    topics : mapping
        All topics.
    controllers : tuple of NodeInfo
        Controllers, which know where their arm is heard.
    namespace : str, optional
        Where the user wants to look; None where it does not matter.
    """
    found = sorted(name for name, types in topics.items() if JOINT_STATE_TYPE in types
                   and name.rpartition('/')[2] == STATES)
    wanted = f'/{STATES}'
    if namespace is not None:
        wanted = '/'.join(['', *filter(None, namespace.split('/')), STATES])
        controllers = tuple(node for node in controllers if is_inside(node.name, namespace))
    # Those that command come first: others stand by, for other states perhaps.
    taken = [topic for node in sorted(controllers, key=lambda node: not node.commanded_topics)
             for topic in node.states_topics]
    if taken:
        wanted = taken[0]
    elif namespace is None and found and wanted not in found:
        wanted = found[0]
    return wanted
