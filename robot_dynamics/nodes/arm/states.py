# SPDX-License-Identifier: Apache-2.0
"""``ArmStates``: what a simulated arm says of itself, and of its motors behind springs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.elastic_parameters import motor_names
from robot_dynamics.nodes.ros.messages import JointStateMessage, joint_order
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.simulation.elastic_plant import ElasticPlant
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

STATES = 'joint_states'

STATE_PARAMETERS = (
    Parameter('joint_order', (), 'Order of the joints in joint_states; empty means that of the '
              'robot.', element=str, read_only=True),
    Parameter('position_resolution', 0.0, 'Step of the encoders.', 'rad or m', 0.0, 1.0,
              read_only=True),
    Parameter('motor_resolution', 0.0, 'Step of the encoders of the motors of elastic joints, '
              'seen from the joints.', 'rad or m', 0.0, 1.0, read_only=True),
    Parameter('position_noise', 0.0, 'Standard deviation.', 'rad or m', 0.0, 1.0,
              read_only=True),
    Parameter('velocity_noise', 0.0, 'Standard deviation.', 'rad/s or m/s', 0.0, 10.0,
              read_only=True),
    Parameter('effort_noise', 0.0, 'Standard deviation.', 'N m or N', 0.0, 1e3, read_only=True),
    Parameter('signal_to_noise', 0.0, 'Standard deviation of each position and velocity since '
              'the start over that of noise on top; 0 for none of it.', '', 0.0, 1e9,
              read_only=True),
    Parameter('delay', 0.0, 'Age of what joint_states say, which their stamp shows.', 's', 0.0,
              1.0, read_only=True),
    Parameter('seed', 0, 'Seed of the noise.', low=0, high=2**31 - 1, read_only=True),
    Parameter('link_effort', 'none', 'What joint_states say of efforts where joints are elastic: '
              'none, or spring, as torque sensors behind the gears have it.',
              choices=('none', 'spring'), read_only=True),
)

#: Returns positions, velocities and efforts as they are, each of shape (n,).
Truth = Callable[[], tuple[FloatArray, FloatArray, FloatArray]]


class ArmStates:
    """Measures an arm and publishes what comes of it.

    Parameters
    ----------
    node : Node
        The node of the simulated arm.
    plant : Plant or ElasticPlant
        The arm.
    values : mapping
        Values of `STATE_PARAMETERS`, and of `MOTOR_PARAMETERS`.
    frame : str
        ``frame_id`` of the messages.

    Raises
    ------
    ParameterError
        Where they do not fit the arm.
    """

    def __init__(self, node: Node, plant: Plant | ElasticPlant, values: Values, frame: str):
        self._node, self._frame = node, frame
        self._messages: list[tuple[JointStateMessage, Publisher]] = []
        self._parts: list[_Part] = []
        names = plant.robot.joint_names
        order = joint_order('joint_order', values['joint_order'], names)
        ordered = tuple(values['joint_order'] or names)
        links = JointSensors(_quality(values, 'position_resolution'), seed=values['seed'])
        if not isinstance(plant, ElasticPlant):
            message = self._message(STATES, ordered, effort=True)
            self._parts.append(_Part(message, 0, order, links,
                                     lambda: (plant.q, plant.v, plant.effort)))
            return
        tells_springs = values['link_effort'] == 'spring'
        motors = JointSensors(_quality(values, 'motor_resolution'), seed=values['seed'] + 1)
        of_motors = motor_names(values, ordered)
        if node.resolve_topic_name(values['motor_states']) == node.resolve_topic_name(STATES):
            if not values['motor_prefix']:
                raise ParameterError('is empty, and links and motors are in one topic',
                                     subject='parameter motor_prefix',
                                     remedy='give one, such as motor_, or motor_states another '
                                            'name')
            together = self._message(STATES, ordered + of_motors, effort=True)
            messages, first = (together, together), len(names)
        else:
            messages = (self._message(STATES, ordered, effort=tells_springs),
                        self._message(values['motor_states'], of_motors, effort=True))
            first = 0
        untold = np.full(len(names), np.nan)
        self._parts += [
            _Part(messages[0], 0, order, links, lambda: (
                plant.q, plant.v, plant.spring_effort if tells_springs else untold)),
            _Part(messages[1], first, order, motors, lambda: (
                plant.motor_q, plant.motor_v, plant.effort))]

    def publish(self, time: float, origin: int) -> None:
        """Measure at a time in s since an origin in ns, and publish."""
        for part in self._parts:
            stamp = part.measure(time)
        for message, publisher in self._messages:
            publisher.publish(message.stamp(origin + round(1e9 * stamp)))

    @property
    def publishers(self) -> tuple[Publisher, ...]:
        """Of joint states first."""
        return tuple(publisher for _, publisher in self._messages)

    def _message(self, topic: str, names: Sequence[str], *, effort: bool) -> JointStateMessage:
        message = JointStateMessage(names, position=True, velocity=True, effort=effort,
                                    frame=self._frame)
        self._messages.append((message, self._node.create_publisher(
            JointState, topic, qos.state(), qos_overriding_options=qos.overridable())))
        return message


class _Part:
    """The sensors of links, or of motors, and where in a message their readings stand."""

    def __init__(self, message: JointStateMessage, first: int, order: IntArray,
                 sensors: JointSensors, truth: Truth):
        places = slice(first, first + len(order))
        self._fields = [field[places] for field in (message.position, message.velocity,
                                                    message.effort)]
        self._order, self._sensors, self._truth = order, sensors, truth

    def measure(self, time: float) -> float:
        """Write what the sensors read into the message; return how old it is. s."""
        reading = self._sensors.read(time, *self._truth())
        for field, values in zip(self._fields, (reading.q, reading.v, reading.effort),
                                 strict=True):
            if len(field):  # efforts may be untold
                field[:] = values[self._order]
        return reading.stamp


def _quality(values: Values, resolution: str) -> SensorQuality:
    return SensorQuality(values[resolution], values['position_noise'], values['velocity_noise'],
                         values['effort_noise'], values['delay'], values['signal_to_noise'])
