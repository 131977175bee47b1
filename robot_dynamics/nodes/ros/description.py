# SPDX-License-Identifier: Apache-2.0
"""Where a node gets its robot from: a file, a parameter or the latched topic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.stopping import StopRequest
from robot_dynamics.nodes.ros.waitset import wait_for_message

TOPIC = 'robot_description'

#: Rows of the table of every node that needs a robot.
ROBOT_PARAMETERS = (
    Parameter('robot', '', 'Path of a URDF or DH table, or the name of a robot of this package; '
              'empty means: parameter or topic robot_description.', read_only=True),
    Parameter('robot_description', '', 'The URDF itself, where it comes neither from a file nor '
              'from the topic of that name.', read_only=True),
    Parameter('description_timeout', 10.0, 'How long to wait for the topic robot_description.',
              's', 0.1, 600.0, read_only=True),
    Parameter('joints', (), 'Joints to use, in this order, the others being locked at zero; '
              'empty means all.', element=str, read_only=True),
    Parameter('base_link', '', 'Link that stands still; empty means the root.', read_only=True),
    Parameter('gravity', (), 'Acceleration of free fall in the base frame; empty means that of '
              'the DH table, or 9.81 downwards.', 'm/s^2', -20.0, 20.0, read_only=True),
)

_DH_SUFFIXES = ('.yaml', '.yml', '.json')


@dataclass(frozen=True, eq=False)
class Described:
    """A robot, and what it was read from: a path or the text of a URDF, None for a DH table."""

    robot: Robot
    source: Path | bytes | None


def load_robot(node: Node, values: Values, stopped: StopRequest) -> Robot:
    """Return the robot that the parameters of a node ask for; see `load_described`."""
    return load_described(node, values, stopped).robot


def load_described(node: Node, values: Values, stopped: StopRequest) -> Described:
    """Return the robot that the parameters of a node ask for, and where it comes from.

    Parameters
    ----------
    node : Node
        The node, not served by an executor in this moment.
    values : mapping
        Its parameters, `ROBOT_PARAMETERS` among them.
    stopped : StopRequest
        Whether to give up.

    Raises
    ------
    ModelError
        When there is none or it cannot be used, as where a joint has several coordinates.
    StoppedEarlyError
        When asked to stop meanwhile.
    """
    gravity = values['gravity']
    if len(gravity) not in (0, 3):
        raise ModelError(f'has {len(gravity)} values, not 3',
                         subject='parameter gravity', remedy='give x, y and z, e.g. '
                                                             '[0.0, 0.0, -9.81]')
    selection = {'joints': values['joints'] or None, 'base_link': values['base_link'] or None}
    path = resolve_robot(values['robot']) if values['robot'] else None
    source: Path | bytes | None = None
    if path is not None and path.suffix in _DH_SUFFIXES:
        robot = Robot.from_dh(path)
        if any(selection.values()):
            robot = Robot.from_urdf(robot.to_urdf().encode(), gravity=robot.gravity, **selection)
    else:
        source = path or _text(node, values, stopped)
        with stopped.interrupting():  # a xacro file is a program, and may take its time
            robot = Robot.from_urdf(source, **selection)
    robot.require_single_coordinates('this node')
    return Described(robot.with_gravity(gravity) if gravity else robot, source)


def _text(node: Node, values: Values, stopped: StopRequest) -> bytes:
    """Return the description from the parameter or the topic.

    As bytes it is always content: what comes from outside names no file to be read.
    """
    text = values['robot_description'] or _from_topic(node, values['description_timeout'],
                                                      stopped)
    return text.encode()


def _from_topic(node: Node, timeout: float, stopped: StopRequest) -> str:
    """Wait for the latched description."""
    subscription = node.create_subscription(String, TOPIC, lambda message: None, qos.latched(),
                                            qos_overriding_options=qos.overridable())
    topic = subscription.topic_name
    try:
        message = wait_for_message(node.context, subscription, timeout=timeout, stopped=stopped)
        publishers = node.count_publishers(topic)
    finally:
        node.destroy_subscription(subscription)
    if message is not None:
        return message.data
    stopped.check()
    # A volatile publisher is matched by nobody who asks for a latched message.
    reason = (f'has {publishers} publisher(s) but sent nothing that a latched (transient local) '
              'subscription gets' if publishers else 'has no publisher')
    raise ModelError(f'{reason} within {timeout:g} s', subject=f'topic {topic}',
                     remedy='start robot_state_publisher, publish it latched, or set the '
                            'parameter robot to a URDF file')
