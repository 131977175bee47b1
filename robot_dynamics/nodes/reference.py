# SPDX-License-Identifier: Apache-2.0
"""Publish a reference motion for a controller, from the present pose of the arm.

The motion is sent in overlapping chunks, so that a lost chunk has no effect. It starts when a
controller publishes the mode tracking, with a move from the measured pose. It ends when that
controller stops tracking, and starts again when this or another controller tracks, or where chunks
come too late to be followed.
"""
from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.references import (
    Hold,
    PointToPoint,
    Reference,
    Repeat,
    exciting_fourier,
    through_poses,
)
from robot_dynamics.control.motion.references import Sequence as MotionSequence
from robot_dynamics.control.motion.tip_motion import (
    Circle,
    JointBounds,
    Line,
    Reversed,
    TipMotion,
    TipPath,
    TipTask,
)
from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint, sample_points
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.states.joint_state import JointStateMonitor
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RobotDynamicsError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.yaml_text import read_yaml
from robot_dynamics.nodes.controllers import TRACKING_NODES
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS, load_robot
from robot_dynamics.nodes.ros.diagnostics import Diagnostics, Level, Status
from robot_dynamics.nodes.ros.messages import (
    PolledSubscription,
    StampClock,
    to_nanoseconds,
    trajectory_message,
    write_stamp,
)
from robot_dynamics.nodes.ros.node import PlainNode
from robot_dynamics.nodes.ros.parameters import Parameter, Values
from robot_dynamics.nodes.ros.runtime import freeze_garbage, run
from robot_dynamics.nodes.ros.stopping import StopRequest

#: Values of the parameter ``trajectory`` that are paths of the end effector.
TIP_TRAJECTORIES = ('line', 'circle')

MOTION_PARAMETERS = (
    Parameter('trajectory', 'fourier', 'Motion: fourier is periodic and excites all joints, '
              'quintic moves from pose to pose, file is a JointTrajectory in YAML, line and '
              'circle are paths of the end effector.',
              choices=('fourier', 'quintic', 'file', *TIP_TRAJECTORIES), read_only=True),
    Parameter('seed', 0, 'Seed of random amplitudes and poses.', low=0, high=2**31 - 1,
              read_only=True),
    Parameter('speed', 0.9, 'Largest speed of a joint, where its limit is not lower.',
              'rad/s or m/s', 0.001, 100.0, read_only=True),
    Parameter('acceleration', 3.0, 'Largest acceleration of a joint.', 'rad/s^2 or m/s^2', 0.001,
              1000.0, read_only=True),
    Parameter('harmonics', 5, 'fourier: harmonics of the base frequency.', low=1, high=50,
              read_only=True),
    Parameter('base_frequency', 0.1, 'fourier: rate at which the motion repeats.', 'Hz', 0.001,
              10.0, read_only=True),
    Parameter('poses', (), 'quintic: the poses, one after the other in one list; empty for four '
              'random ones. line, circle: one pose where they begin; empty for the present pose.',
              'rad or m', -1e3, 1e3, read_only=True),
    Parameter('dwell', 0.5, 'quintic: rest at every pose. line, circle: rest at both ends.', 's',
              0.0, 3600.0, read_only=True),
    Parameter('repeat', True, 'quintic: repeat the poses for ever. line, circle: move back and '
              'forth for ever.', read_only=True),
    Parameter('file', '', 'file: path of the JointTrajectory.', read_only=True),
    Parameter('link', '', 'line, circle: link or frame that moves along the path; empty means the '
              'last one of the description that moves.', read_only=True),
    Parameter('keep_orientation', True, 'line, circle: whether the orientation of the link stays.',
              read_only=True),
    Parameter('displacement', (0.1, 0.0, 0.0), 'line: from its start to its end, in base axes.',
              'm', -100.0, 100.0, read_only=True),
    Parameter('centre', (0.0, 0.1, 0.0), 'circle: from its start to its centre, in base axes.',
              'm', -100.0, 100.0, read_only=True),
    Parameter('normal', (0.0, 0.0, 1.0), 'circle: its axis, in base axes, perpendicular to the '
              'direction of the centre.', '', -1e3, 1e3, read_only=True),
    Parameter('turns', 1.0, 'circle: number of turns.', '', 0.01, 100.0, read_only=True),
    Parameter('tip_speed', 0.1, 'line, circle: largest speed of the link.', 'm/s', 1e-4, 100.0,
              read_only=True),
    Parameter('tip_acceleration', 0.5, 'line, circle: largest acceleration of the link along its '
              'path, and across it.', 'm/s^2', 1e-4, 1000.0, read_only=True),
)

#: Share of a joint's speed limit that is used.
_SPEED_MARGIN = 0.9
#: Largest distance of random poses from the middle of a joint's range, as a share of it.
_POSE_SPREAD = 0.2
#: Range of a joint without limits, to either side of its position. rad or m.
_FREE_RANGE = 1.0
_RANDOM_POSES = 4
_SHAPE = ('give joint_names, and points with positions, velocities, accelerations and '
          'time_from_start')


def make_motion(robot: Robot, values: Values, start: FloatArray) -> Reference:
    """Make the motion that `MOTION_PARAMETERS` describe, with the move from a pose to its start.

    Raises a RobotDynamicsError if parameters or the file are invalid.
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
    return MotionSequence(PointToPoint(start, motion.sample(0.0)[0], **limits), motion)


def check_motion(robot: Robot, values: Values) -> None:
    """Reject parameters that do not describe a motion from any pose of the arm.

    A path of the end effector from the present pose depends on that pose, so that only its own
    parameters are checked.
    """
    if values['trajectory'] in TIP_TRAJECTORIES and not values['poses']:
        tip_path(values, np.zeros(3))
        if values['link'] and values['link'] not in robot.frames:
            raise ParameterError(f'must be a link or frame of the robot, got {values["link"]!r}',
                                 subject='parameter link', remedy='name one of: '
                                 + ', '.join(robot.frames))
    else:
        make_motion(robot, values, middle(robot))


def middle(robot: Robot) -> FloatArray:
    """Middle of the position ranges, shape (n,); zero for joints without limits."""
    with np.errstate(invalid='ignore'):
        centre = 0.5 * (robot.limits.lower + robot.limits.upper)
    return np.where(np.isfinite(centre), centre, 0.0)


class FileMotion(Reference):
    """A JointTrajectory in YAML, as printed by ``ros2 topic echo``.

    Raises a TrajectoryError if it cannot be read or violates limits of the robot.
    """

    def __init__(self, robot: Robot, path: Path):
        names, points = _read_trajectory(path)
        self._buffer = TrajectoryBuffer.for_robot(robot)
        self.n = robot.n
        order = [list(names).index(name) for name in robot.joint_names if name in names]
        # A pose within limits, because from others the buffer would accept a motion back into
        # limits.
        start = np.array(points[0].positions)[order] if len(order) == robot.n \
            else np.zeros(robot.n)
        self._buffer.anchor(np.clip(start, robot.limits.lower, robot.limits.upper))
        self._buffer.accept(names, points, stamp=None, now=0.0)
        # Includes a stop if the trajectory ends in motion.
        self.duration = self._buffer.end

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time, s."""
        self._buffer.sample_into(min(max(t, 0.0), self.duration), q, v, a)


def _poses(robot: Robot, values: Values) -> list[FloatArray]:
    """Poses of the parameters, or random ones."""
    given = np.array(values['poses'])
    if given.size == 0:
        lower, upper = robot.limits.lower, robot.limits.upper
        with np.errstate(invalid='ignore'):
            reach = np.where(np.isfinite(upper - lower), upper - lower, 2.0 * _FREE_RANGE)
        spread = np.random.default_rng(values['seed']).uniform(
            -_POSE_SPREAD, _POSE_SPREAD, (_RANDOM_POSES, robot.n))
        return list(middle(robot) + spread * reach)
    if given.size % robot.n:
        raise ParameterError(f'must have a multiple of {robot.n} values, got {given.size}',
                             subject='parameter poses', remedy='give for every pose one value '
                             'for each of: ' + ', '.join(robot.joint_names))
    poses = list(given.reshape(-1, robot.n))
    for number, pose in enumerate(poses):
        outside = (pose < robot.limits.lower) | (pose > robot.limits.upper)
        if np.any(outside):
            joint = int(np.argmax(outside))
            raise ParameterError(
                f'must be within the limits of {robot.joint_names[joint]}, got {pose[joint]:g} '
                f'in pose {number}', subject='parameter poses', remedy='keep it between '
                f'{robot.limits.lower[joint]:g} and {robot.limits.upper[joint]:g}')
    return poses


def _first_pose(robot: Robot, values: Values, start: FloatArray) -> FloatArray:
    """Pose at which a path of the end effector begins."""
    if not values['poses']:
        return start
    poses = _poses(robot, values)
    if len(poses) > 1:
        raise ParameterError(f'must have one pose for this motion, got {len(poses)}',
                             subject='parameter poses',
                             remedy='give the pose where the path begins')
    return poses[0]


def _around_poses(poses: Sequence[FloatArray], start: FloatArray, values: Values,
                  limits: dict[str, Any]) -> Reference:
    """Motion from the start through all poses, optionally repeated."""
    first = through_poses([start, *poses], dwell=values['dwell'], **limits)
    if not values['repeat'] or len(poses) < 2:
        return first
    return MotionSequence(first, Repeat(through_poses([poses[-1], *poses], dwell=values['dwell'],
                                                **limits)))


def _read_trajectory(path: Path) -> tuple[list[str], list[TrajectoryPoint]]:
    """Read names and points; the buffer checks their values."""
    content = read_yaml(path, TrajectoryError,
                        'set the parameter file to an existing JointTrajectory in YAML')
    try:
        names = [str(name) for name in content['joint_names']]
        points = [TrajectoryPoint(
            _seconds(point['time_from_start']),
            *([float(value) for value in point.get(field) or ()]
              for field in ('positions', 'velocities', 'accelerations')))
            for point in content['points']]
    # Missing entries, wrong types, or numbers too large for a float.
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise TrajectoryError(f'is not a JointTrajectory ({type(error).__name__}: {error})',
                              subject=f'file {path}', remedy=_SHAPE) from error
    if not points or len(points[0].positions) != len(names):
        raise TrajectoryError('must have points with one position for each joint name',
                              subject=f'file {path}', remedy=_SHAPE)
    return names, points


def _seconds(duration: Any) -> float:
    """Convert a duration given as ``{sec, nanosec}`` or as a number to s."""
    if isinstance(duration, dict):
        return float(duration.get('sec', 0)) + 1e-9 * float(duration.get('nanosec', 0))
    return float(duration)


def make_tip_motion(robot: Robot, values: Values, begin: FloatArray, *,
                    velocity_limit: FloatArray, acceleration_limit: float) -> Reference:
    """Make the motion along the line or circle from a pose, and back if it is repeated.

    The limits are those of the joints, rad/s or m/s, rad/s^2 or m/s^2. Raises a RobotDynamicsError
    if a parameter is invalid or the motion violates the limits.
    """
    dynamics = Dynamics(robot)
    link = values['link'] or robot.last_frame
    start = dynamics.forward_kinematics(begin, link)[:3, 3]
    task = TipTask(link, tip_path(values, start), values['tip_speed'],
                   values['tip_acceleration'], values['keep_orientation'])
    there = TipMotion(dynamics, begin, task, JointBounds.for_robot(
        robot, velocity=velocity_limit, acceleration=acceleration_limit))
    if not values['repeat']:
        return there
    rest = [Hold(pose, values['dwell']) for pose in (there.sample(there.duration)[0], begin)]
    return Repeat(MotionSequence(there, rest[0], Reversed(there), rest[1]))


def tip_path(values: Values, start: FloatArray) -> TipPath:
    """Path that the parameters describe, from a point in base axes, m, shape (3,)."""
    if values['trajectory'] == 'line':
        return Line(start, _three(values, 'displacement'))
    return Circle(start, _three(values, 'centre'), _three(values, 'normal'), values['turns'])


def _three(values: Values, name: str) -> FloatArray:
    """Value of a parameter of three numbers, shape (3,)."""
    if len(values[name]) != 3:
        raise ParameterError(f'must have 3 values, got {len(values[name])}',
                             subject=f'parameter {name}', remedy='give x, y and z in base axes')
    return np.array(values[name])


TABLE = (
    *ROBOT_PARAMETERS,
    *MOTION_PARAMETERS,
    Parameter('controllers', TRACKING_NODES, 'Names of the controllers; the one that tracks gets '
              'the reference.', element=str, read_only=True, topic=True),
    Parameter('chunk_period', 0.25, 'Time between two chunks.', 's', 0.02, 10.0, read_only=True),
    Parameter('horizon', 1.0, 'Length of a chunk, several of its periods.', 's', 0.05, 30.0,
              read_only=True),
    Parameter('point_period', 0.04, 'Time between two points of a chunk.', 's', 0.001, 1.0,
              read_only=True),
    Parameter('lead', 0.1, 'Time from the measured pose to the start of the motion.', 's', 0.0,
              5.0, read_only=True),
)


class ReferenceNode(PlainNode):
    """Node that waits until a controller tracks, then publishes its reference."""

    def __init__(self, stopped: StopRequest):
        super().__init__('reference', TABLE, stopped)
        self._modes: dict[str, str] = {}
        self._controller = ''
        self._failure = ''
        self._motion: Reference | None = None
        self._start = 0.0
        #: Stamp of the end of the last chunk that is followed, or of the start. ns.
        self._followed_until = 0
        self._chunks = 0

    def start(self) -> None:
        """Read the description of the motion and subscribe."""
        values = self.parameters.values
        self._robot = load_robot(self, values, self.stopped)
        self._monitor = JointStateMonitor.for_robot(self._robot)
        # Rejects invalid parameters at the start.
        with self.stopped.interrupting():
            check_motion(self._robot, values)
        self._stamps = StampClock(self)
        self._chunk_publishers = {
            name: self.advertise(JointTrajectory, f'{name}/reference', qos.command())
            for name in values['controllers']}
        Diagnostics(self, self._robot.name, {'reference': self._status})
        freeze_garbage()
        self._states = PolledSubscription(self, JointState, 'joint_states', qos.state(),
                                           qos_overriding_options=qos.overridable())
        for name in values['controllers']:
            self.fast.subscribe(String, f'{name}/mode', partial(self._on_mode, name),
                                qos.latched())
            self.fast.subscribe(String, f'{name}/reference_status', partial(self._on_result, name),
                                qos.latched())
        self.fast.tick(values['chunk_period'], self._stream)

    def _on_mode(self, name: str, message: String) -> None:
        """Store the mode of a controller; start over if the followed one stops tracking."""
        mode = self._modes[name] = message.data
        if mode == Mode.TRACKING.value:
            if name != self._controller:
                self._motion, self._controller, self._failure = None, name, ''
            self._stream()
        elif name == self._controller:
            if self._motion is not None:
                self.get_logger().info(f'{name} is {mode}: the motion ends')
            self._motion, self._controller, self._failure = None, '', ''

    def _on_result(self, name: str, message: String) -> None:
        """Start over from where the arm is if it has nothing to follow and a chunk is rejected."""
        result = json.loads(message.data)
        if name != self._controller or self._motion is None \
                or result['stamp'] < self._followed_until:
            return
        if result['accepted']:
            self._followed_until = result['stamp'] + round(1e9 * self.parameters.values['horizon'])
        else:
            self.get_logger().warning(f'{name} follows nothing, the motion starts over: '
                                      f'{result["text"]}', throttle_duration_sec=5.0)
            self._motion = None

    def _stream(self) -> None:
        """Send the next chunk, or begin."""
        now = self._fetch_state()
        if not self._controller or now is None:
            return
        if self._motion is None:
            if self._chunk_publishers[self._controller].get_subscription_count() == 0:
                return
            limits = self._robot.limits
            # An arm that sags may be slightly outside its limits.
            pose = np.clip(self._monitor.q, limits.lower, limits.upper)
            self._motion = self._make_motion(pose)
            if self._motion is None:
                return
            # A path of the end effector may take a second to plan.
            later = self._fetch_state()
            now = now if later is None else later
            self._start = now + self.parameters.values['lead']
            self._followed_until = self._stamps.nanoseconds(self._start)
            self.get_logger().info(f'the motion starts, {self._controller} follows')
        elapsed = max(0.0, now - self._start)
        values = self.parameters.values
        if elapsed > self._motion.duration + values['horizon']:
            return
        self._send(self._motion, elapsed, values['horizon'], values['point_period'])

    def _make_motion(self, pose: FloatArray) -> Reference | None:
        """Make the motion from a pose of the arm, or log the reason of a failure.

        A path of the end effector may be out of reach. The arm then stays at rest until a
        controller begins to track again.
        """
        if self._failure:
            return None
        try:
            return make_motion(self._robot, self.parameters.values, pose)
        except RobotDynamicsError as error:
            self._failure = str(error)
            self.get_logger().error(f'no motion from this pose: {error}')
            return None

    def _fetch_state(self) -> float | None:
        """Time on the clock of joint states, s; None without a new state."""
        monitor, clock, fresh = self._monitor, self._stamps, False
        # States are read irregularly, so that the change since the last one is not checked.
        monitor.forget()
        while (message := self._states.fetch()) is not None:
            stamp = to_nanoseconds(message.header.stamp)
            fresh |= monitor.update(clock.received(stamp), clock.seconds(stamp), message.name,
                                    message.position).accepted
        return monitor.stamp if fresh else None

    def _send(self, motion: Reference, elapsed: float, horizon: float, step: float) -> None:
        """Send the next chunk of the motion."""
        message = trajectory_message(self._robot.joint_names,
                                     sample_points(motion, elapsed, horizon, step))
        write_stamp(message.header.stamp, self._stamps.nanoseconds(self._start + elapsed))
        self._chunk_publishers[self._controller].publish(message)
        self._chunks += 1

    def _status(self) -> Status:
        modes = ', '.join(f'{name} {mode}' for name, mode in self._modes.items())
        values = {'controllers': modes or 'none found', 'chunks': self._chunks}
        if self._failure:
            return Status(Level.ERROR, f'no motion from this pose: {self._failure}', values)
        if self._motion is None:
            return Status(Level.OK, 'waiting for a controller that tracks', values)
        return Status(Level.OK, f'{self._controller} follows', values)


main = partial(run, ReferenceNode, table=TABLE)

if __name__ == '__main__':
    sys.exit(main())
