# SPDX-License-Identifier: Apache-2.0
"""Lines and circles of the end effector for the reference node, and their parameters."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.motion.joint_bounds import JointBounds
from robot_dynamics.control.motion.references import Hold, Reference, Repeat, Sequence
from robot_dynamics.control.motion.tip_motion import Reversed, TipMotion, TipTask
from robot_dynamics.control.motion.tip_path import Circle, Line, TipPath
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros.parameters import Parameter, Values

#: Values of the parameter ``trajectory`` that are paths of the end effector.
TIP_TRAJECTORIES = ('line', 'circle')

TIP_PARAMETERS = (
    Parameter('link', '', 'line, circle: link or frame that goes along them; empty means the '
              'last frame of the robot.', read_only=True),
    Parameter('keep_orientation', True, 'line, circle: whether the link must not turn.',
              read_only=True),
    Parameter('displacement', (0.1, 0.0, 0.0), 'line: from its start to its end, in base axes.',
              'm', -100.0, 100.0, read_only=True),
    Parameter('centre', (0.0, 0.1, 0.0), 'circle: from its start to its centre, in base axes.',
              'm', -100.0, 100.0, read_only=True),
    Parameter('normal', (0.0, 0.0, 1.0), 'circle: axis round which it goes, in base axes, '
              'perpendicular to the way to the centre.', '', -1e3, 1e3, read_only=True),
    Parameter('turns', 1.0, 'circle: how often round.', '', 0.01, 100.0, read_only=True),
    Parameter('tip_speed', 0.1, 'line, circle: largest speed of the link.', 'm/s', 1e-4, 100.0,
              read_only=True),
    Parameter('tip_acceleration', 0.5, 'line, circle: largest acceleration of the link along its '
              'path, and across.', 'm/s^2', 1e-4, 1000.0, read_only=True),
)


def make_tip_motion(robot: Robot, values: Values, begin: FloatArray, *,
                    velocity_limit: FloatArray, acceleration_limit: float) -> Reference:
    """Return the motion along the line or circle, and back again where it repeats.

    Parameters
    ----------
    robot : Robot
        The arm.
    values : mapping
        `TIP_PARAMETERS`, ``trajectory``, ``dwell`` and ``repeat``.
    begin : ndarray, shape (n,)
        Pose at which it begins. rad or m.
    velocity_limit, acceleration_limit
        What the joints may do.

    Raises
    ------
    RobotDynamicsError
        Where a parameter is wrong, or the joints cannot do it.
    """
    dynamics = Dynamics(robot)
    link = values['link'] or list(robot.frames)[-1]
    start = dynamics.forward_kinematics(begin, link)[:3, 3]
    task = TipTask(link, tip_path(values, start), values['tip_speed'],
                   values['tip_acceleration'], values['keep_orientation'])
    there = TipMotion(dynamics, begin, task, JointBounds.for_robot(
        robot, velocity=velocity_limit, acceleration=acceleration_limit))
    if not values['repeat']:
        return there
    rest = [Hold(pose, values['dwell']) for pose in (there.sample(there.duration)[0], begin)]
    return Repeat(Sequence(there, rest[0], Reversed(there), rest[1]))


def tip_path(values: Values, start: FloatArray) -> TipPath:
    """Return the path that the parameters ask for, from a point in base axes.

    Raises
    ------
    RobotDynamicsError
        Where they make none.
    """
    if values['trajectory'] == 'line':
        return Line(start, _three(values, 'displacement'))
    return Circle(start, _three(values, 'centre'), _three(values, 'normal'), values['turns'])


def _three(values: Values, name: str) -> FloatArray:
    """Return a parameter of three numbers."""
    if len(values[name]) != 3:
        raise ParameterError(f'has {len(values[name])} values, not 3',
                             subject=f'parameter {name}', remedy='give x, y and z in base axes')
    return np.array(values[name])
