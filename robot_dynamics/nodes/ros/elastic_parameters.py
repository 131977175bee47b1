# SPDX-License-Identifier: Apache-2.0
"""Parameters that say where joints are elastic, and where motors are heard of."""

from __future__ import annotations

from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.nodes.ros.description import Described
from robot_dynamics.nodes.ros.parameters import Parameter, Values

#: Value of the parameter elastic_joints that means the tags of the description.
DESCRIPTION = 'description'

_FILE = ('File of the motors and springs of elastic joints (docs/elastic.md), or the name of one '
         'of this package; description means the tags ros2_control of the URDF')


def elastic_joints_parameter(default: str) -> Parameter:
    """Return the row of a node; an empty file means rigid joints, where there may be such."""
    return Parameter('elastic_joints', default,
                     _FILE + ('.' if default else '; empty means rigid joints.'), read_only=True)


#: Where the states of motors are; the same rows for who tells and who hears them.
MOTOR_PARAMETERS = (
    Parameter('motor_states', 'motor_states', 'Topic of the states of the motors of elastic '
              'joints, seen from the joints: positions and velocities over gear ratios, efforts '
              'times them. It may be joint_states itself.', read_only=True, topic=True),
    Parameter('motor_prefix', 'motor_', 'What stands before the names of joints in those of '
              'motors.', read_only=True),
)


def load_elastic_robot(described: Described, values: Values) -> ElasticRobot:
    """Return the robot with the motors and springs that the parameters of a node ask for.

    Raises
    ------
    RobotDynamicsError
        Naming the file, or joint and field, what is wrong, and what to do.
    """
    wanted, source = values['elastic_joints'], described.source
    if wanted != DESCRIPTION:
        return ElasticRobot.from_yaml(wanted, described.robot, description=source)
    if source is None:
        raise ModelError('is a DH table, which has no tags of ros2_control',
                         subject=described.robot.name,
                         remedy='set the parameter elastic_joints to a file')
    try:
        return ElasticRobot.from_yaml({}, described.robot, description=source)
    except RobotDynamicsError as error:
        raise ModelError(error.message, subject=error.subject,
                         remedy=f'{error.remedy}; or set the parameter elastic_joints to a file'
                         ) from error


def motor_names(values: Values, joint_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the motors of joints are called in messages."""
    return tuple(values['motor_prefix'] + name for name in joint_names)
