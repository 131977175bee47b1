# SPDX-License-Identifier: Apache-2.0
"""Trajectory buffer: the reference of an arm, made from trajectory messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import count, each_joint, positive
from robot_dynamics.control.motion.piecewise import (
    COAST,
    QUINTIC_PEAK_ACCELERATION,
    SHORTEST_STOP,
    STOP_PEAK,
    PiecewiseMotion,
    Progress,
    evaluate_pieces,
    pieces_through,
    quintic,
    resting,
    solve_tridiagonal,
)
from robot_dynamics.control.motion.trajectory_limits import OVERSHOOT, TrajectoryLimits
from robot_dynamics.control.motion.trajectory_points import (
    SHORTEST_SEGMENT,
    PointArrays,
    Points,
    TrajectoryPoint,
    read_points,
)
from robot_dynamics.errors import OldTrajectoryError, StateError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, position_units
from robot_dynamics.model.robot_data import JointLimits

Motion = tuple[FloatArray, FloatArray, FloatArray]

#: Tolerances within which a new trajectory replaces the current motion without a blend: position
#: (rad), velocity (rad/s), acceleration (rad/s^2).
AGREEMENT = (1e-5, 1e-3, 0.05)
#: The peak acceleration of a quintic that removes a velocity difference dv in time T is below 4
#: dv/T.
VELOCITY_BLEND_PEAK = 4.0
#: Shortest blend. s.
SHORTEST_BLEND = 0.02
#: Longest time from now to the start of a trajectory; later stamps indicate another clock. s.
LONGEST_WAIT = 600.0
#: Time between two points of a stop on the path, s, and the most of them.
STOP_STEP, STOP_POINTS = 0.01, 50


@dataclass(frozen=True, eq=False)
class Junction:
    """Transition to a new trajectory: time, current motion, and measured pose."""

    t: float
    q: FloatArray
    v: FloatArray
    a: FloatArray
    measured: FloatArray


class TrajectoryBuffer:
    """Buffer that accepts trajectories completely or not at all, and interpolates between points.

    Points with velocities and accelerations are joined by quintics, points with velocities by
    cubics. Points with positions only get the derivatives of the clamped cubic spline that ends at
    rest. Linear interpolation is not used, because its velocity jumps would appear in the torque.

    A new trajectory replaces the current motion from its start on (its stamp, or now). At the
    junction position, velocity and acceleration are continuous. A trajectory that agrees with the
    motion there (an overlapping chunk of a stream) is used unchanged, one with small differences
    is blended in, and one that begins later is reached by a quintic. After the last point the arm
    remains at rest. A trajectory that ends in motion comes to a smooth stop, which `progress`
    reports.

    Parameters
    ----------
    joint_names : sequence of str, length n
        The joints, in the order of every vector.
    limits : JointLimits
        Position and speed limits of all trajectories.
    continuous : array_like of bool, shape (n,), optional
        Whether each joint turns without limits: its trajectories may start at any turn.
    units : sequence of str, length n, optional
        Units of the positions, for messages; rad by default.
    start_tolerance : float
        Largest distance of the start of a trajectory from the current motion. rad or m.
    acceleration_limit : float
        Largest acceleration of any joint. rad/s^2.
    blend_acceleration : float
        Largest additional acceleration of a blend. rad/s^2.
    stop_acceleration : float
        Deceleration when points run out. rad/s^2.
    max_points : int
        Largest number of points in one trajectory.

    See Also
    --------
    robot_dynamics.control.motion.references : Desired motions as functions of time.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> robot = Robot.from_urdf('planar_2r')
    >>> buffer = TrajectoryBuffer.for_robot(robot)
    >>> buffer.anchor([0.0, 0.5])
    >>> point = TrajectoryPoint(2.0, [0.2, 0.5], [0.0, 0.0])
    >>> buffer.accept(robot.joint_names, [point], stamp=None, now=10.0)
    10.0
    >>> buffer.sample(12.0)[0]
    array([0.2, 0.5])
    """

    def __init__(self, joint_names: Sequence[str], limits: JointLimits, *,
                 continuous: ArrayLike | None = None,
                 units: Sequence[str] | None = None, start_tolerance: float = 0.1,
                 acceleration_limit: float = 50.0, blend_acceleration: float = 5.0,
                 stop_acceleration: float = 10.0, max_points: int = 10_000):
        self.joint_names = tuple(joint_names)
        n = len(self.joint_names)
        self._units = ('rad',) * n if units is None else tuple(units)
        #: Limits that trajectories must keep, and the other settings.
        self.limits = TrajectoryLimits(
            self.joint_names, limits,
            positive('acceleration_limit', acceleration_limit, 'rad/s^2'))
        self._continuous = np.zeros(n, dtype=np.bool_) if continuous is None \
            else each_joint('continuous', continuous, n) != 0.0
        self.start_tolerance = positive('start_tolerance', start_tolerance, 'rad')
        self.blend_acceleration = positive('blend_acceleration', blend_acceleration, 'rad/s^2')
        self.stop_acceleration = positive('stop_acceleration', stop_acceleration, 'rad/s^2')
        self.max_points = count('max_points', max_points)
        self._pieces: PiecewiseMotion | None = None
        #: State of the reference when last sampled.
        self.progress = Progress.RESTING
        self._evaluate = evaluate_pieces.load()
        solve_tridiagonal.load()

    @classmethod
    def for_robot(cls, robot: Robot, **settings: Any) -> TrajectoryBuffer:
        """Buffer with the limits of a robot."""
        robot.require_single_coordinates('a JointTrajectory')
        return cls(robot.joint_names, robot.limits, continuous=robot.is_continuous,
                   units=position_units(robot), **settings)

    @property
    def end(self) -> float:
        """Time at which the motion is at rest, including a stop after the last point, s."""
        return float(self._anchored().begins[-1])

    def anchor(self, q: FloatArray) -> None:
        """Rest at a pose, shape (n,), and drop the current motion."""
        self._pieces = resting(np.array(q, dtype=np.float64))
        self.progress = Progress.RESTING

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time.

        Parameters
        ----------
        t : float
            Time of the motion. s.
        q, v, a : ndarray, shape (n,)
            Receive position, velocity and acceleration.

        Raises
        ------
        StateError
            Before the first `anchor`.
        """
        pieces = self._anchored()
        index = self._evaluate(pieces.begins, pieces.origins, pieces.coefficients, t, q, v, a)
        self.progress = pieces.stages[index]

    def sample(self, t: float) -> Motion:
        """Motion at a time as new arrays q, v, a of shape (n,)."""
        q, v, a = np.empty((3, len(self.joint_names)))
        self.sample_into(t, q, v, a)
        return q, v, a

    def sample_many(self, times: ArrayLike) -> Motion:
        """Motion at m future times as arrays of shape (m, n); `progress` does not change."""
        pieces = self._anchored()
        times = np.asarray(times, dtype=np.float64)
        q, v, a = (np.empty((times.size, len(self.joint_names))) for _ in range(3))
        for k, t in enumerate(times.flat):
            self._evaluate(pieces.begins, pieces.origins, pieces.coefficients, float(t), q[k],
                           v[k], a[k])
        return q, v, a

    def stop(self, now: float, deceleration: ArrayLike) -> float:
        r"""Come to rest on the path of the present motion, and drop what would follow.

        With x from 0 to 1 the motion proceeds at a fraction of its speed,

        .. math:: \sigma(x) = 1 - 3 x^2 + 2 x^3,

        so that the arm leaves neither the path that was planned for it nor its position and speed
        limits. Accelerations exceed those of the path by `deceleration` and no more than 0.75 of
        their own.

        Parameters
        ----------
        now : float
            Time of the state last answered. s.
        deceleration : array_like, scalar or shape (n,)
            Largest deceleration of the joints. rad/s^2 or m/s^2.

        Returns
        -------
        float
            Time at which the motion is at rest. s.
        """
        old = self._anchored()
        duration = max(SHORTEST_STOP,
                       STOP_PEAK * float((np.abs(old.at(now)[1]) / deceleration).max()))
        x = np.linspace(0.0, 1.0, min(round(duration / STOP_STEP), STOP_POINTS) + 1)
        q, v, a = self.sample_many(now + duration * (x - x**3 + 0.5 * x**4))
        share = (1.0 - 3.0 * x**2 + 2.0 * x**3)[:, None]
        slowing = (6.0 * x * (x - 1.0) / duration)[:, None]
        new = pieces_through(now + duration * x, q, share * v, share**2 * a + slowing * v,
                             self.stop_acceleration)
        self._pieces = old.until(now, now).followed_by(new)
        return now + duration

    def accept(self, names: Sequence[str], points: Sequence[TrajectoryPoint] | PointArrays, *,
               stamp: float | None, now: float, measured: FloatArray | None = None,
               partial: bool = False) -> float:
        """Accept a trajectory completely, or reject it.

        Parameters
        ----------
        names : sequence of str
            The joints, in the order of the points.
        points : sequence of TrajectoryPoint, or PointArrays
            The points.
        stamp : float or None
            Start; None or 0 for now. s.
        now : float
            Time of the state last answered. s.
        measured : ndarray, shape (n,), optional
            Measured pose at that time. A trajectory may start at it or at the current motion,
            which a loaded arm does not follow exactly.
        partial : bool
            Whether joints may be missing. They come to rest where they can stop.

        Returns
        -------
        float
            Time at which it replaces the current motion. s.

        Raises
        ------
        TrajectoryError
            If the trajectory is invalid; the current motion then continues.
        """
        old = self._anchored()
        start = stamp if stamp else now
        given = read_points(
            self.joint_names, names, points, max_points=self.max_points,
            resting=self._resting_pose(old, max(now, start)) if partial else None)
        if not start <= now + LONGEST_WAIT:
            raise TrajectoryError(f'must be within {LONGEST_WAIT:g} s from now, got '
                                  f'{start - now:.3g} s', subject='stamp of the trajectory',
                                  remedy='compare the clocks')
        t = max(now, start)
        times = start + given.times
        if times[-1] < t:
            raise OldTrajectoryError(f'ended {now - times[-1]:.3f} s ago', subject='trajectory',
                                     remedy='compare the clocks, or send it without a stamp: it '
                                            'starts on arrival then')
        here = old.at(t)
        junction = Junction(t, *here, here[0] if measured is None else measured)
        self.limits.check_points(given, junction.q, junction.measured)
        join = self._connected if times[0] > t + SHORTEST_SEGMENT else self._taken_over
        try:
            new = join(given, times, junction, COAST)
            self.limits.check_motion(new, junction.q, junction.measured)
        except TrajectoryError:
            # The stop after the last point, which is not part of the message, may exceed a limit,
            # or the polynomials between points that keep it.
            new = join(given, times, junction, 0.0)
            self.limits.check_motion(new, junction.q, junction.measured, overshoot=OVERSHOOT)
        self._pieces = old.until(t, now).followed_by(new)
        return t

    def _resting_pose(self, motion: PiecewiseMotion, t: float) -> FloatArray:
        """Pose at which joints in motion at a time can be at rest, shape (n,)."""
        q, v, _ = motion.at(t)
        return self.limits.clip(q + 0.5 * v * np.abs(v) / self.stop_acceleration, q)

    def _connected(self, given: Points, times: FloatArray, junction: Junction,
                   coast: float) -> PiecewiseMotion:
        """Motion from the junction to the first point and on."""
        q = given.q + self._turns(junction.q, given.q[0])
        new = pieces_through(times, q, given.v, given.a, self.stop_acceleration, coast=coast,
                             before=(junction.t, junction.q, junction.v))
        return self._bridge(junction, float(times[0]), new).followed_by(new)

    def _taken_over(self, given: Points, times: FloatArray, junction: Junction,
                    coast: float) -> PiecewiseMotion:
        """Motion that joins a trajectory that began before the junction."""
        new = pieces_through(times, given.q, given.v, given.a, self.stop_acceleration,
                             coast=coast)
        q, v, a = new.at(junction.t)
        turns = self._turns(junction.q, q)
        new.coefficients[:, 0] += turns
        q += turns
        self._check_start(junction, q)
        away = [float(np.abs(difference).max())
                for difference in (q - junction.q, v - junction.v, a - junction.a)]
        if all(gap <= limit for gap, limit in zip(away, AGREEMENT, strict=True)):
            return new.since(junction.t)
        duration = max(SHORTEST_BLEND,
                       math.sqrt(QUINTIC_PEAK_ACCELERATION * away[0] / self.blend_acceleration),
                       VELOCITY_BLEND_PEAK * away[1] / self.blend_acceleration)
        joined = junction.t + duration
        return self._bridge(junction, joined, new).followed_by(new.since(joined))

    def _check_start(self, junction: Junction, q: FloatArray) -> None:
        """Reject a trajectory that begins neither at the measured nor at the desired pose."""
        away = np.maximum(np.minimum(junction.q, junction.measured) - q,
                          q - np.maximum(junction.q, junction.measured))
        if not away.max() <= self.start_tolerance:
            joint = int(np.argmax(away))
            raise TrajectoryError(f'is {away[joint]:.3f} {self._units[joint]} away from the '
                                  'start of the trajectory', subject=self.joint_names[joint],
                                  remedy='start it at the measured pose, or give its first '
                                         'point a later time to be moved there')

    def _bridge(self, junction: Junction, joined: float, new: PiecewiseMotion) -> PiecewiseMotion:
        """Quintic from the junction to the state of a motion at the time of joining."""
        there = new.at(joined)
        begin = np.array([junction.t])
        coefficients = quintic(joined - begin, junction.q[None], junction.v[None],
                               junction.a[None], *(x[None] for x in there))
        return PiecewiseMotion(begin, begin.copy(), coefficients, [Progress.MOVING])

    def _turns(self, here: FloatArray, there: FloatArray) -> FloatArray:
        """Full turns that move continuous joints nearest to their present position, rad."""
        return np.where(self._continuous,
                        2.0 * np.pi * np.round((here - there) / (2.0 * np.pi)), 0.0)

    def _anchored(self) -> PiecewiseMotion:
        if self._pieces is None:
            raise StateError('has no start pose', subject='trajectory buffer',
                             remedy='call anchor with the first joint state')
        return self._pieces
