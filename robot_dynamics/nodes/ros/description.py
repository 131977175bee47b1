# SPDX-License-Identifier: Apache-2.0
"""The robot of a node, from a file, a parameter or the latched topic; and its elastic joints."""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.control.feedback.drives import ROTOR_SHARE, with_rotors
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint
from robot_dynamics.nodes.ros.spinning import WaitSet
from robot_dynamics.nodes.ros.stopping import StopRequest

TOPIC = 'robot_description'

#: Rows of the table of every node that needs a robot.
ROBOT_PARAMETERS = (
    Parameter('robot', '', 'Path of a URDF or DH table, or name of a robot of this package; empty '
              'means: parameter or topic robot_description.', read_only=True),
    Parameter('robot_description', '', 'The URDF itself, where it comes neither from a file nor '
              'from the topic of that name.', read_only=True),
    Parameter('description_timeout', 10.0, 'How long to wait for the topic robot_description.',
              's', 0.1, 600.0, read_only=True),
    Parameter('joints', (), 'Joints to use, in this order; the others are locked at zero. Empty '
              'means all.', element=str, read_only=True),
    Parameter('base_link', '', 'Link that is fixed; empty means the root.', read_only=True),
    Parameter('gravity', (), 'Acceleration of free fall in the base frame; empty means that of '
              'the DH table, or 9.81 downwards.', 'm/s^2', -20.0, 20.0, read_only=True),
    Parameter('rotors', (), 'Rotor inertia of the drives of rigid joints, seen from the joints, '
              'one value or one for each joint. Empty: as described, and '
              f'{ROTOR_SHARE:g} kg m^2 per N m of effort limit where nothing is described; 0 for '
              'another simulator without rotors.', 'kg m^2 or kg', 0.0, 1e6, read_only=True),
)

_DH_SUFFIXES = ('.yaml', '.yml', '.json')


@dataclass(frozen=True, eq=False)
class Described:
    """A robot and its source: path or text of a URDF, None for a DH table."""

    robot: Robot
    source: Path | bytes | None


def load_robot(node: Node, values: Values, stopped: StopRequest) -> Robot:
    """Load the robot that the parameters of a node describe, with the rotors of its drives.

    See `load_described` and `robot_dynamics.control.feedback.drives`.
    """
    return geared(load_described(node, values, stopped).robot, values)


def geared(robot: Robot, values: Values) -> Robot:
    """A robot with rigid joints, with the rotors of its drives."""
    return with_rotors(robot, per_joint(values, 'rotors', robot.joint_names)
                       if values['rotors'] else None)


def load_described(node: Node, values: Values, stopped: StopRequest) -> Described:
    """Load the robot that the parameters of a node describe, with its source.

    The node must not be served by an executor meanwhile. Raises a ModelError without a robot that
    can be used, and a StoppedEarlyError when asked to stop.
    """
    _gravity(values)  # A mistake is refused before the description is waited for.
    path = resolve_robot(values['robot']) if values['robot'] else None
    # Bytes are read as content: text from outside cannot name a file to be read.
    source = path or (values['robot_description'] or _from_topic(
        node, values['description_timeout'], stopped)).encode()
    with stopped.interrupting():  # a xacro file is a program that may take long
        return read_described(source, values)


def read_described(source: Path | bytes, values: Values) -> Described:
    """Robot in a file, or in the text of a URDF, with the selection of `ROBOT_PARAMETERS`.

    Raises a ModelError where it cannot be used.
    """
    gravity = _gravity(values)
    selection: dict[str, Any] = {'joints': values['joints'] or None,
                                 'base_link': values['base_link'] or None}
    is_table = isinstance(source, Path) and source.suffix in _DH_SUFFIXES
    if is_table:
        robot = Robot.from_dh(source)
        if any(selection.values()):
            robot = Robot.from_urdf(robot.to_urdf().encode(), gravity=robot.gravity, **selection)
    else:
        robot = Robot.from_urdf(source, **selection)
    robot.require_single_coordinates('this node')
    return Described(robot.with_gravity(gravity) if gravity else robot,
                     None if is_table else source)


def _gravity(values: Values) -> Sequence[float]:
    """Gravity, m/s^2, empty for that of the description; raises a ModelError."""
    gravity: Sequence[float] = values['gravity']
    if len(gravity) not in (0, 3):
        raise ModelError(f'must have 3 values, got {len(gravity)}', subject='parameter gravity',
                         remedy='give x, y and z, e.g. [0.0, 0.0, -9.81]')
    return gravity


def _from_topic(node: Node, timeout: float, stopped: StopRequest) -> str:
    """Wait for the latched description."""
    messages: list[String] = []
    subscription = node.create_subscription(String, TOPIC, messages.append, qos.latched(),
                                            qos_overriding_options=qos.overridable())
    topic = subscription.topic_name
    # No executor serves the node yet.
    wait_set = WaitSet(node.context, [(subscription, lambda message, info: messages.append(
        message))])
    end = time.monotonic() + timeout
    try:
        while not messages and not stopped() and (left := end - time.monotonic()) > 0.0:
            wait_set.spin_once(min(left, 0.1))
        publishers = node.count_publishers(topic)
    finally:
        node.destroy_subscription(subscription)
    if messages:
        return messages[0].data
    stopped.check()
    # A volatile publisher does not match a latched subscription.
    reason = (f'has {publishers} publisher(s) but delivered nothing to a latched (transient '
              'local) subscription' if publishers else 'has no publisher')
    raise ModelError(f'{reason} within {timeout:g} s', subject=f'topic {topic}',
                     remedy='start robot_state_publisher, publish it latched, or set the '
                            'parameter robot to a URDF file')


#: Value of the parameter elastic_joints that means the ros2_control tags of the description.
DESCRIPTION = 'description'

#: Text of the parameter elastic_joints, which goes on with what an empty value means.
ELASTIC_JOINTS = (
    'File of the motors and springs of elastic joints (docs/elastic.md), or the name of one of '
    'this package; description means the tags ros2_control of the URDF')

#: Topic and names of motor states; the same rows for their publisher and subscribers.
MOTOR_PARAMETERS = (
    Parameter('motor_states', 'motor_states', 'Topic of the states of the motors of elastic '
              'joints, seen from the joints: positions and velocities over gear ratios, efforts '
              'times them. It may be joint_states itself.', read_only=True, topic=True),
    Parameter('motor_prefix', 'motor_', 'Prefix of joint names in the names of motors.',
              read_only=True),
)


def load_elastic_robot(described: Described, values: Values) -> ElasticRobot:
    """Load motors and springs that the parameters of a node describe.

    Raises a RobotDynamicsError that names the file, or joint and field.
    """
    wanted, source = values['elastic_joints'], described.source
    if wanted != DESCRIPTION:
        return ElasticRobot.from_yaml(wanted, described.robot, description=source)
    if source is None:
        raise ModelError('is a DH table and has no ros2_control tags',
                         subject=described.robot.name,
                         remedy='set the parameter elastic_joints to a file')
    try:
        return ElasticRobot.from_yaml({}, described.robot, description=source)
    except RobotDynamicsError as error:
        raise ModelError(error.message, subject=error.subject,
                         remedy=f'{error.remedy}; or set the parameter elastic_joints to a file'
                         ) from error


def motor_names(values: Values, joint_names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the motors of joints in messages."""
    return tuple(values['motor_prefix'] + name for name in joint_names)
