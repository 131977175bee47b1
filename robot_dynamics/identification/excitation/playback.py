# SPDX-License-Identifier: Apache-2.0
"""Playback of a plan on an arm: the way to its start, its periods, and a stop at any time.

`ExcitationSession` runs on the times of joint states, without a clock of its own.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.motion.references import (
    Hold,
    PointToPoint,
    Reference,
    Repeat,
    Sequence,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import StateError, TrajectoryError
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.identification.excitation.limits import (
    Clearance,
    MotionLimits,
    check_limits,
    check_rest,
    poses_of,
)
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, position_units

#: Peak of the derivative of a quintic from 0 to 1 in a unit of time.
_PEAK_SLOPE = 15.0 / 8.0
#: Shortest stop. s.
SHORTEST_STOP = 0.3
#: Largest distance of a sagging arm outside its range: fraction of the range, and rad or m.
SAG, MOST_SAG = 0.02, 0.05
# Rest before and after the periods. s.
_DWELL = 0.5
# Samples of the way to the start and of stops, and places of checked stops.
_SAMPLES, _PLACES = 200, 100
#: Time until the arm is at rest after its reference, s.
SETTLING = 0.3
#: Speed below which an arm is at rest. rad/s or m/s.
STANDING = 0.1


class PlanReference(Reference):
    """One period of a plan as a reference."""

    def __init__(self, plan: ExcitationPlan):
        self._motion = plan.motion
        self.n, self.duration = plan.motion.n, plan.motion.duration

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        times = [min(max(t, 0.0), self.duration)]
        q[:], v[:], a[:] = (self._motion.evaluate(times, k)[0] for k in range(3))


class Stopping(Reference):
    """A reference that stops along its own path.

    q(s(t)) with ds/dt = 1 until the stop begins, and 1 - (10 x^3 - 15 x^4 + 6 x^5) within it, so
    that positions are on the path of the reference, speeds are not higher, and accelerations are a
    (ds/dt)^2 + v d^2s/dt^2. ``begin`` and ``duration`` are those of the stop, s.
    """

    def __init__(self, reference: Reference, begin: float, duration: float):
        self._reference = reference
        self._begin, self._stop = begin, duration
        self.n, self.duration = reference.n, begin + duration

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        T = self._stop
        x = min(max((t - self._begin) / T, 0.0), 1.0)
        s = min(t, self._begin) + T * (x - x**4 * (2.5 - 3.0 * x + x * x))
        rate = 1.0 - x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
        change = -30.0 * x * x * (1.0 - x) ** 2 / T
        self._reference.sample_into(s, q, v, a)
        a *= rate * rate
        a += v * change
        v *= rate


def playback(plan: ExcitationPlan, pose: FloatArray, *, periods: int = 1,
             approach: float = 0.25) -> tuple[Reference, float]:
    """Motion from a pose to the plan's start, its periods, and rest; and when the first begins, s.

    ``approach`` is the fraction of the plan's limits of speed and acceleration on the way.
    """
    limits, start = plan.limits, plan.motion.start
    way = PointToPoint(pose, start, velocity_limit=approach * limits.velocity,
                       acceleration_limit=approach * limits.acceleration)
    return (Sequence(way, Hold(start, _DWELL), Repeat(PlanReference(plan), periods),
                     Hold(start, _DWELL)), way.duration + _DWELL)


def within_range(robot: Robot, pose: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Pose within the range of every joint, and a line for each joint that is outside.

    An arm that sags may be slightly outside; the reference begins at the nearest pose within the
    range. Raises a StateError if a joint is farther outside than sagging explains.
    """
    lower, upper = robot.limits.lower, robot.limits.upper
    inside = np.clip(pose, lower, upper)
    notes = []
    for j in np.flatnonzero(~(inside == pose)):
        name, text = robot.joint_names[j], (f'is at {pose[j]:.4g}, outside its range from '
                                            f'{lower[j]:.4g} to {upper[j]:.4g}')
        # Written so that NaN is outside.
        if not abs(pose[j] - inside[j]) <= min(SAG * (upper[j] - lower[j]), MOST_SAG):
            raise StateError(text, subject=name,
                             remedy='move it back by other means, or correct the limits of the '
                                    'description')
        notes.append(f'{name} {text}: the way to the start begins at {inside[j]:.4g}')
    return inside, tuple(notes)


def stop_duration(plan: ExcitationPlan) -> float:
    """Time in which the motion can stop within its acceleration limits, s."""
    return max(SHORTEST_STOP, float(np.max(
        _PEAK_SLOPE * plan.motion.largest(1) / plan.limits.acceleration)))


def check_plan(plan: ExcitationPlan, robot: Robot, clearance: Clearance | None = None) -> None:
    """Raise TrajectoryError for a plan that this robot cannot follow from any pose.

    Position, speed and acceleration are checked against the limits of the plan and the robot, and
    efforts against those of the robot, at all times of the motion; contact, and the efforts of
    stops, at samples.
    """
    own = _own_limits(plan, robot)
    enclosure = EffortEnclosure(Dynamics(robot))
    check_rest(plan.motion, plan.limits)
    check_limits(plan.motion, own, enclosure)
    T, reference = stop_duration(plan), PlanReference(plan)
    for begin in np.linspace(0.0, plan.motion.duration, _PLACES):
        samples = Stopping(reference, begin, T).sample_many(
            begin + np.linspace(0.0, T, 20))
        _check_efforts(own, enclosure, begin, samples, 'the stop')
    if clearance is not None:
        check_clear(poses_of(plan.motion), clearance, 'the motion')


def check_approach(plan: ExcitationPlan, robot: Robot, way: Reference, duration: float,
                   clearance: Clearance | None = None) -> None:
    """Raise TrajectoryError if the way to the start is out of range, too strong or not clear.

    ``way`` and ``duration`` are the result of `playback`.
    """
    samples = way.sample_many(np.linspace(0.0, duration, _SAMPLES))
    within_range(robot, samples[0][0])
    _check_efforts(_own_limits(plan, robot), EffortEnclosure(Dynamics(robot)), 0.0, samples,
                   'the way to the start')
    if clearance is not None:
        check_clear(samples[0], clearance, 'the way to the start')


def check_clear(q: FloatArray, clearance: Clearance, what: str) -> None:
    """Raise TrajectoryError for poses, shape (m, n), in contact with something."""
    away, name = clearance(q)
    if not np.all(away > 0.0):
        raise TrajectoryError(f'{what} comes {-float(np.min(away)):.3g} m too close',
                              subject=name, remedy='design it with this check, or start '
                                                   'elsewhere')


def _own_limits(plan: ExcitationPlan, robot: Robot) -> MotionLimits:
    """Limits of the plan, or those of the robot if they are lower."""
    limits, own = plan.limits, robot.limits
    if plan.joint_names != robot.joint_names:
        raise TrajectoryError('is for the joints ' + ', '.join(plan.joint_names),
                              subject='excitation plan',
                              remedy='design one for ' + ', '.join(robot.joint_names))
    return MotionLimits(plan.joint_names, np.maximum(limits.lower, own.lower),
                        np.minimum(limits.upper, own.upper),
                        np.fmin(limits.velocity, own.velocity), limits.acceleration,
                        np.where(np.isnan(own.effort), np.inf, own.effort))


def _check_efforts(limits: MotionLimits, enclosure: EffortEnclosure, begin: float,
                   samples: tuple[FloatArray, FloatArray, FloatArray], what: str) -> None:
    tau = np.abs(enclosure.efforts(*samples)) + enclosure.robot.friction
    if not np.all(tau <= limits.effort):
        joint = int(np.argmax(np.max(tau / limits.effort, axis=0)))
        raise TrajectoryError(f'{what} at {begin:.3f} s takes {np.max(tau[:, joint]):.4g}, more '
                              f'than {limits.effort[joint]:.4g}',
                              subject=limits.joint_names[joint],
                              remedy='design a smaller or slower motion')


class Stage(Enum):
    """Stage of a session; the value is its name on topics."""

    WAITING = 'waiting'
    APPROACHING = 'approaching'
    PLAYING = 'playing'
    STOPPING = 'stopping'
    STOPPED = 'stopped'
    DONE = 'done'


class ExcitationSession:
    """Plays a plan, and stops along its path if a check fails.

    Times are those of joint states, in seconds on one clock.

    Parameters
    ----------
    plan : ExcitationPlan
        The plan.
    robot : Robot
        Description of the arm; the plan is checked against it.
    periods : int
        Number of periods.
    approach : float
        Fraction of the limits on the way to the start.
    max_deviation : float
        Largest distance of the arm from its reference, rad or m.
    clearance : Clearance, optional
        Distance of poses from obstacles.

    Raises
    ------
    TrajectoryError
        If the plan is for another arm, or beyond its limits.
    """

    def __init__(self, plan: ExcitationPlan, robot: Robot, *, periods: int = 1,
                 approach: float = 0.25, max_deviation: float = 0.2,
                 clearance: Clearance | None = None):
        self.plan = plan.in_order_of(robot.joint_names)
        check_plan(self.plan, robot, clearance)
        self._robot, self._clearance = robot, clearance
        self._periods, self._approach = periods, positive('approach', approach)
        self._max_deviation = positive('max_deviation', max_deviation, 'rad')
        #: Duration of a stop, s.
        self.stop_duration = stop_duration(self.plan)
        self._prepared: tuple[Reference, float] | None = None
        self._reference: Reference | None = None
        self._begin = self._first = 0.0
        self._stop: float | None = None
        #: Remarks on the initial pose.
        self.notes: tuple[str, ...] = ()
        #: Reason of the stop.
        self.reason = ''

    @property
    def has_begun(self) -> bool:
        """Whether the motion has begun."""
        return self._reference is not None

    @property
    def begins(self) -> float:
        """Time at which the way to the start begins, s."""
        return self._begin

    @property
    def first_period(self) -> float:
        """Time at which the first period begins, s."""
        return self._begin + self._first

    def prepare(self, q: FloatArray, v: FloatArray) -> None:
        """Plan and check the way from the pose of the arm, which may take a while.

        Raises
        ------
        RobotDynamicsError
            If the arm moves, or cannot reach the start from there.
        """
        if not np.all(np.abs(v) <= STANDING):
            joint = int(np.argmax(np.abs(v)))
            raise StateError(f'moves at {v[joint]:.3g}', subject=self._robot.joint_names[joint],
                             remedy='wait until the arm is at rest')
        pose, self.notes = within_range(self._robot, q)
        reference, first = playback(self.plan, pose, periods=self._periods,
                                    approach=self._approach)
        check_approach(self.plan, self._robot, reference, first, self._clearance)
        self._prepared = reference, first

    def begin(self, now: float) -> None:
        """Begin the prepared motion, or raise StateError."""
        if self._prepared is None:
            raise StateError('is not prepared', subject='excitation',
                             remedy='call prepare first')
        self._reference, self._first = self._prepared
        self._begin = now

    def stage(self, now: float) -> Stage:
        """Stage at a time."""
        if self._reference is None:
            return Stage.STOPPED if self.reason else Stage.WAITING
        if self._stop is not None:
            ended = now >= self._stop + self.stop_duration + SETTLING
            return Stage.STOPPED if ended else Stage.STOPPING
        elapsed = now - self._begin
        if elapsed >= self._reference.duration + SETTLING:
            return Stage.DONE
        return Stage.APPROACHING if elapsed < self._first else Stage.PLAYING

    def period(self, now: float) -> int:
        """Number of the period at a time, from 1; 0 before."""
        since = now - self.first_period
        if self._reference is None or since < 0.0:
            return 0
        return min(self._periods, 1 + int(since / self.plan.motion.duration))

    def look(self, now: float, q: FloatArray) -> None:
        """Compare the arm with its reference, and stop if the deviation is too large."""
        if self._reference is None or self._stop is not None:
            return
        away = np.abs(q - self._reference.sample(max(0.0, now - self._begin))[0])
        # Written so that NaN is too far.
        if not np.all(away <= self._max_deviation):
            joint = int(np.argmax(np.where(np.isnan(away), np.inf, away)))
            self.doubt(now, f'{self._robot.joint_names[joint]} is {away[joint]:.3f} '
                            f'{position_units(self._robot)[joint]} away from its reference')

    def doubt(self, now: float, reason: str) -> None:
        """Stop along the path; the first reason is kept."""
        if not self.reason:
            self.reason = reason
            self._stop = max(now, self._begin)

    def ahead(self, now: float, horizon: float) -> tuple[Reference, float, float]:
        """Motion from now on, with a stop along its path in case no more commands arrive.

        ``horizon`` is the time until the motion stops by itself, s. The present time in the motion
        and the duration from there, s, follow.
        """
        if self._reference is None:
            raise StateError('has not begun', subject='excitation', remedy='call begin first')
        elapsed = max(0.0, now - self._begin)
        stop = elapsed + horizon if self._stop is None else self._stop - self._begin
        reference = Stopping(self._reference, stop, self.stop_duration)
        return reference, elapsed, max(0.0, reference.duration - elapsed)
