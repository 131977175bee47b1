# SPDX-License-Identifier: Apache-2.0
"""A plan as a reference: the way to its start, its periods, and a stop at any time."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.references import (
    Hold,
    PointToPoint,
    Reference,
    Repeat,
    Sequence,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import StateError, TrajectoryError
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.identification.excitation.feasible import poses_of
from robot_dynamics.identification.excitation.limits import (
    Clearance,
    MotionLimits,
    check_limits,
    check_rest,
)
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Peak of the derivative of a quintic from 0 to 1 in a unit of time.
_PEAK_SLOPE = 15.0 / 8.0
#: Shortest stop. s.
SHORTEST_STOP = 0.3
#: How far an arm may hang outside its range, as a share of it, and at most. rad or m.
SAG, MOST_SAG = 0.02, 0.05
# Rest before and after the periods. s.
_DWELL = 0.5
# Samples of the way to the start and of stops, and places at which stops are tried.
_SAMPLES, _PLACES = 200, 100


class PlanReference(Reference):
    """One period of a plan.

    Parameters
    ----------
    plan : ExcitationPlan
        The plan.
    """

    def __init__(self, plan: ExcitationPlan):
        self._motion = plan.motion
        self.n, self.duration = plan.motion.n, plan.motion.duration

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        times = [min(max(t, 0.0), self.duration)]
        q[:], v[:], a[:] = (self._motion.evaluate(times, k)[0] for k in range(3))


class Stopping(Reference):
    r"""A reference that leaves its time behind: it stops somewhere along its own path.

    q(s(t)) with ds/dt = 1 until the stop begins, and 1 - (10 x^3 - 15 x^4 + 6 x^5) within
    it, so that positions are those of the reference, speeds are not higher, and accelerations
    are a (ds/dt)^2 + v d^2s/dt^2.

    Parameters
    ----------
    reference : Reference
        What is to stop.
    begin, duration : float
        When and for how long it comes to rest. s.
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
    """Return the way from a pose to the plan's start, then its periods, then rest.

    Parameters
    ----------
    plan : ExcitationPlan
        The plan.
    pose : ndarray, shape (n,)
        Where the arm is.
    periods : int
        How often the motion is played.
    approach : float
        Share of the plan's limits of speed and acceleration on the way to the start.

    Returns
    -------
    reference : Reference
        All of it.
    begin : float
        When the first period begins. s.
    """
    limits, start = plan.limits, plan.motion.start
    way = PointToPoint(pose, start, velocity_limit=approach * limits.velocity,
                       acceleration_limit=approach * limits.acceleration)
    return (Sequence(way, Hold(start, _DWELL), Repeat(PlanReference(plan), periods),
                     Hold(start, _DWELL)), way.duration + _DWELL)


def within_range(robot: Robot, pose: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Return a pose within the range of every joint, and what had to be changed.

    An arm that sags may hang a little outside. From farther away the reference would jump by
    that much when it begins.

    Parameters
    ----------
    robot : Robot
        The arm.
    pose : ndarray, shape (n,)
        Where it is.

    Returns
    -------
    inside : ndarray, shape (n,)
        The nearest pose within.
    notes : tuple of str
        A line for each joint that is not there.

    Raises
    ------
    StateError
        Where a joint is farther outside than sagging explains.
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
    """Return in what time the motion can stop with no more deceleration than its limits. s."""
    return max(SHORTEST_STOP, float(np.max(
        _PEAK_SLOPE * plan.motion.largest(1) / plan.limits.acceleration)))


def check_plan(plan: ExcitationPlan, robot: Robot, clearance: Clearance | None = None) -> None:
    """Refuse a plan that this robot cannot follow, wherever it is.

    Position, speed and acceleration are held against the plan's own limits and the robot's,
    efforts against the robot's, at all times of the motion; what may not be touched, and
    the efforts of stops, at samples.

    Raises
    ------
    TrajectoryError
        With joint, quantity, time and value.
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
    """Refuse a way that begins out of range, takes efforts beyond limits or touches something.

    Parameters
    ----------
    plan, robot, clearance
        As in `check_plan`.
    way : Reference
        What `playback` returned.
    duration : float
        When it is there. s.
    """
    samples = way.sample_many(np.linspace(0.0, duration, _SAMPLES))
    within_range(robot, samples[0][0])
    _check_efforts(_own_limits(plan, robot), EffortEnclosure(Dynamics(robot)), 0.0, samples,
                   'the way to the start')
    if clearance is not None:
        check_clear(samples[0], clearance, 'the way to the start')


def check_clear(q: FloatArray, clearance: Clearance, what: str) -> None:
    """Refuse poses, shape (m, n), in which something is touched."""
    away, name = clearance(q)
    if not np.all(away > 0.0):
        raise TrajectoryError(f'{what} comes {-float(np.min(away)):.3g} m too near',
                              subject=name, remedy='design it with this check, or start '
                                                   'elsewhere')


def _own_limits(plan: ExcitationPlan, robot: Robot) -> MotionLimits:
    """Return limits of the plan, or those of the robot where they are lower."""
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
