# SPDX-License-Identifier: Apache-2.0
"""The motions that the reference node knows, and their parameters."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.control.motion.fourier import exciting_fourier
from robot_dynamics.control.motion.references import (
    PointToPoint,
    Reference,
    Repeat,
    Sequence,
    through_poses,
)
from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.yaml_text import read_yaml
from robot_dynamics.nodes.motions.tip_motions import (
    TIP_PARAMETERS,
    TIP_TRAJECTORIES,
    make_tip_motion,
    tip_path,
)
from robot_dynamics.nodes.ros.parameters import Parameter, Values

MOTION_PARAMETERS = (
    Parameter('trajectory', 'fourier', 'Which motion: fourier is periodic and excites all '
              'joints, quintic goes from pose to pose, file is a JointTrajectory in YAML, line '
              'and circle are paths of the end effector.',
              choices=('fourier', 'quintic', 'file', *TIP_TRAJECTORIES), read_only=True),
    Parameter('seed', 0, 'Seed of random amplitudes and poses.', low=0, high=2**31 - 1,
              read_only=True),
    Parameter('speed', 0.9, 'Largest speed of a joint, where its own limit is not lower.',
              'rad/s or m/s', 0.001, 100.0, read_only=True),
    Parameter('acceleration', 3.0, 'Largest acceleration of a joint.', 'rad/s^2 or m/s^2', 0.001,
              1000.0, read_only=True),
    Parameter('harmonics', 5, 'fourier: harmonics of the base frequency.', low=1, high=50,
              read_only=True),
    Parameter('base_frequency', 0.1, 'fourier: the motion repeats at this rate.', 'Hz', 0.001,
              10.0, read_only=True),
    Parameter('poses', (), 'quintic: the poses, one after the other in one list; empty for '
              'four random ones. line, circle: one pose where they begin; empty for where the '
              'arm is.', 'rad or m', -1e3, 1e3, read_only=True),
    Parameter('dwell', 0.5, 'quintic: rest at every pose. line, circle: rest at both '
              'ends.', 's', 0.0, 3600.0, read_only=True),
    Parameter('repeat', True, 'quintic: go round the poses for ever. line, circle: go back '
              'and forth for ever.', read_only=True),
    Parameter('file', '', 'file: path of the JointTrajectory.', read_only=True),
    *TIP_PARAMETERS,
)

#: Speed used of what a joint's limit allows.
_SPEED_MARGIN = 0.9
#: Random poses lie in the middle of a joint's range, this share of it to each side.
_POSE_SPREAD = 0.2
#: Range of a joint without limits, to each side of where it is. rad or m.
_FREE_RANGE = 1.0
_RANDOM_POSES = 4
_SHAPE = ('give joint_names, and points with positions, velocities, accelerations and '
          'time_from_start')


def make_motion(robot: Robot, values: Values, start: FloatArray) -> Reference:
    """Return the motion that the parameters ask for, with the way to it.

    Parameters
    ----------
    robot : Robot
        The arm.
    values : mapping
        `MOTION_PARAMETERS`.
    start : ndarray, shape (n,)
        Where the arm is. rad or m.

    Raises
    ------
    RobotDynamicsError
        When the parameters or the file are wrong.
    """
    limits = {'velocity_limit': np.fmin(values['speed'], _SPEED_MARGIN * robot.limits.velocity),
              'acceleration_limit': values['acceleration']}
    if values['trajectory'] == 'quintic':
        return _around_poses(_poses(robot, values), start, values, limits)
    if values['trajectory'] == 'file':
        motion: Reference = FileMotion(robot, Path(values['file']).expanduser())
    elif values['trajectory'] in TIP_TRAJECTORIES:
        begin = _first_pose(robot, values, start)
        motion = make_tip_motion(robot, values, begin, **limits)
    else:
        motion = exciting_fourier(
            robot, values['seed'], harmonics=values['harmonics'], speed=values['speed'],
            base_frequency=values['base_frequency'], acceleration=values['acceleration'])
    return Sequence(PointToPoint(start, motion.sample(0.0)[0], **limits), motion)


def check_motion(robot: Robot, values: Values) -> None:
    """Refuse parameters that no motion can be made of, wherever the arm is.

    A path of the end effector that begins where the arm is, can be done or not depending on
    where that is: only its own parameters are checked then.

    Raises
    ------
    RobotDynamicsError
        When the parameters or the file are wrong.
    """
    if values['trajectory'] in TIP_TRAJECTORIES and not values['poses']:
        tip_path(values, np.zeros(3))
        if values['link'] and values['link'] not in robot.frames:
            raise ParameterError(f'is {values["link"]!r}, which the robot has not',
                                 subject='parameter link', remedy='name one of: '
                                 + ', '.join(robot.frames))
    else:
        make_motion(robot, values, middle(robot))


def middle(robot: Robot) -> FloatArray:
    """Return the middle of the position ranges, shape (n,); zero for joints without."""
    with np.errstate(invalid='ignore'):
        centre = 0.5 * (robot.limits.lower + robot.limits.upper)
    return np.where(np.isfinite(centre), centre, 0.0)


class FileMotion(Reference):
    """A JointTrajectory written as YAML, as ``ros2 topic echo`` shows it.

    Parameters
    ----------
    robot : Robot
        The arm, whose limits it has to keep.
    path : Path
        The file.

    Raises
    ------
    TrajectoryError
        When it cannot be read or followed.
    """

    def __init__(self, robot: Robot, path: Path):
        names, points = _read_trajectory(path)
        self._buffer = TrajectoryBuffer.for_robot(robot)
        self.n = robot.n
        order = [list(names).index(name) for name in robot.joint_names if name in names]
        # Where the arm could stand: from anywhere else the buffer would let it be led back.
        start = np.array(points[0].positions)[order] if len(order) == robot.n \
            else np.zeros(robot.n)
        self._buffer.anchor(np.clip(start, robot.limits.lower, robot.limits.upper))
        self._buffer.accept(names, points, stamp=None, now=0.0)
        # With the stop of one that ends in motion: nobody can be at its end and at its speed.
        self.duration = self._buffer.end

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        self._buffer.sample_into(min(max(t, 0.0), self.duration), q, v, a)


def _poses(robot: Robot, values: Values) -> list[FloatArray]:
    """Return the poses given, or random ones."""
    given = np.array(values['poses'])
    if given.size == 0:
        lower, upper = robot.limits.lower, robot.limits.upper
        with np.errstate(invalid='ignore'):
            reach = np.where(np.isfinite(upper - lower), upper - lower, 2.0 * _FREE_RANGE)
        spread = np.random.default_rng(values['seed']).uniform(
            -_POSE_SPREAD, _POSE_SPREAD, (_RANDOM_POSES, robot.n))
        return list(middle(robot) + spread * reach)
    if given.size % robot.n:
        raise ParameterError(f'has {given.size} values, no multiple of {robot.n}',
                             subject='parameter poses', remedy='give for every pose one value '
                             'for each of: ' + ', '.join(robot.joint_names))
    poses = list(given.reshape(-1, robot.n))
    for number, pose in enumerate(poses):
        outside = (pose < robot.limits.lower) | (pose > robot.limits.upper)
        if np.any(outside):
            joint = int(np.argmax(outside))
            raise ParameterError(
                f'has {pose[joint]:g} for {robot.joint_names[joint]} in pose {number}',
                subject='parameter poses', remedy='keep it between '
                f'{robot.limits.lower[joint]:g} and {robot.limits.upper[joint]:g}')
    return poses


def _first_pose(robot: Robot, values: Values, start: FloatArray) -> FloatArray:
    """Return where a path of the end effector begins."""
    if not values['poses']:
        return start
    poses = _poses(robot, values)
    if len(poses) > 1:
        raise ParameterError(f'has {len(poses)} poses', subject='parameter poses',
                             remedy='give the one where the path begins')
    return poses[0]


def _around_poses(poses: SequenceOf[FloatArray], start: FloatArray, values: Values,
                  limits: dict[str, Any]) -> Reference:
    """Return the way from the start through all poses, and round again."""
    first = through_poses([start, *poses], dwell=values['dwell'], **limits)
    if not values['repeat'] or len(poses) < 2:
        return first
    return Sequence(first, Repeat(through_poses([poses[-1], *poses], dwell=values['dwell'],
                                                **limits)))


def _read_trajectory(path: Path) -> tuple[list[str], list[TrajectoryPoint]]:
    """Read names and points, whose values the buffer checks."""
    content = read_yaml(path, TrajectoryError,
                        'set the parameter file to an existing JointTrajectory in YAML')
    try:
        names = [str(name) for name in content['joint_names']]
        points = [TrajectoryPoint(
            _seconds(point['time_from_start']),
            *([float(value) for value in point.get(field) or ()]
              for field in ('positions', 'velocities', 'accelerations')))
            for point in content['points']]
    # What is not there, or of another type, or a number too large for a float.
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise TrajectoryError(f'is no JointTrajectory ({type(error).__name__}: {error})',
                              subject=f'file {path}', remedy=_SHAPE) from error
    if not points or len(points[0].positions) != len(names):
        raise TrajectoryError('has no point with one position for each joint name',
                              subject=f'file {path}', remedy=_SHAPE)
    return names, points


def _seconds(duration: Any) -> float:
    """Return a duration given as ``{sec, nanosec}`` or as a number."""
    if isinstance(duration, dict):
        return float(duration.get('sec', 0)) + 1e-9 * float(duration.get('nanosec', 0))
    return float(duration)
