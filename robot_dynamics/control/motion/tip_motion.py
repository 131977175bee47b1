# SPDX-License-Identifier: Apache-2.0
r"""Joint motions that move an end effector along a path, within the bounds of the joints.

The motion is planned at acceleration level. At every step, among all accelerations within bounds
that keep the end effector on its path, it uses those nearest to

.. math:: u_0 = \dot J^T \lambda - k (v - J^+ \dot p), \qquad J J^T \lambda = \dot p,

While no bound is active, v stays the least velocity for the path, v = J^+ pdot, because its
derivative is the solution of J u = pddot - Jdot v nearest to Jdot^T lambda. Joints at their bounds
cause a self-motion, which decays at rate k once the bounds are inactive. See A. De Luca, Robotics
2, July 12, 2021, Exercise 1, eq. 5, and `robot_dynamics.control.motion.acceleration_command`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint, finite_array, positive
from robot_dynamics.control.motion.acceleration_command import AccelerationSolver, Outcome
from robot_dynamics.control.motion.piecewise import (
    QUINTIC_PEAK_ACCELERATION,
    QUINTIC_PEAK_SPEED,
    PiecewiseMotion,
    Progress,
    cubic,
    evaluate_pieces,
    rest,
)
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.control.motion.trajectory_limits import TrajectoryLimits
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, DimensionError, TrajectoryError
from robot_dynamics.model.arrays import BoolArray, FloatArray, real_array
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import JointLimits

#: Step of the search. s.
STEP = 0.004
#: Rate at which deviations from the path are corrected and self-motion decays. 1/s.
PATH_RATE, SELF_MOTION_RATE = 20.0, 10.0
#: Speed that counts as rest at the end, rad/s or m/s, and the longest time to reach it, s.
STILL, LONGEST_SETTLING = 1e-6, 3.0
#: Largest deviation of the motion from the path. m and rad.
PATH_TOLERANCE = 1e-4
#: Longest motion. s.
LONGEST = 600.0
_REMEDY = 'lower the speed, leave the orientation free, or choose another start pose or path'
#: Bounds of the length of a path and of the radius of a circle. m.
SHORTEST_PATH, LONGEST_PATH = 1e-6, 1e6
#: Sine of the largest angle by which the normal of a circle may deviate from perpendicular.
_PERPENDICULAR = 1e-6
#: Number of steps over which a speed limit is approached.
_APPROACH = 5.0
#: Share of the acceleration bound assumed for braking before a position limit.
_BRAKING = 0.8


@dataclass(frozen=True)
class TipTask:
    """A task of the end effector.

    Parameters
    ----------
    link : str
        Link or frame that moves along the path.
    path : TipPath
        The path of its origin.
    speed, acceleration : float
        Largest speed along the path; largest acceleration along it, and across. m/s, m/s^2.
    keeps_orientation : bool
        Whether its orientation stays fixed.

    Examples
    --------
    >>> path = Line([0.5, 0.0, 0.3], [0.0, 0.2, 0.0])
    >>> TipTask('tool', path, speed=0.375, acceleration=10.0).duration
    1.0
    """

    link: str
    path: TipPath
    speed: float = 0.1
    acceleration: float = 0.5
    keeps_orientation: bool = True

    @property
    def duration(self) -> float:
        """Duration from rest to rest, s."""
        speed = positive('speed', self.speed, 'm/s')
        acceleration = positive('acceleration', self.acceleration, 'm/s^2')
        if self.path.curvature > 0.0:
            speed = min(speed, np.sqrt(acceleration / self.path.curvature))
        length = self.path.length
        return max(QUINTIC_PEAK_SPEED * length / speed,
                   np.sqrt(QUINTIC_PEAK_ACCELERATION * length / acceleration))


class TipMotion(Reference):
    """Joint motion for a task, from rest to rest, planned in advance.

    Parameters
    ----------
    dynamics : Dynamics
        The arm's equations.
    start : array_like, shape (n,)
        Initial pose; the path must begin at the position of the link there. rad or m.
    task : TipTask
        The task.
    bounds : JointBounds
        Bounds of the joint motion.
    step : float
        Step of the plan. s.

    Raises
    ------
    TrajectoryError
        If the task is not possible within the bounds; the message has the reason.

    Examples
    --------
    >>> from robot_dynamics import Dynamics, Robot
    >>> robot = Robot.from_urdf('arm7')
    >>> dynamics, start = Dynamics(robot), [0.0, 0.6, 0.0, -1.2, 0.0, 0.6, 0.0]
    >>> tip = dynamics.forward_kinematics(start, robot.body_names[-1])[:3, 3]
    >>> task = TipTask(robot.body_names[-1], Line(tip, [0.0, 0.1, 0.0]))
    >>> motion = TipMotion(dynamics, start, task, JointBounds.for_robot(robot, acceleration=20.0))
    >>> round(task.duration, 3), motion.n
    (1.875, 7)
    """

    def __init__(self, dynamics: Dynamics, start: ArrayLike, task: TipTask, bounds: JointBounds,
                 *, step: float = STEP):
        dynamics.robot.require_single_coordinates('a path of the end effector')
        self.n = dynamics.n
        start = finite_array('start', each_joint('start', start, self.n))
        if not task.duration <= LONGEST:
            raise TrajectoryError(f'must take less than {LONGEST:.0f} s, got '
                                  f'{task.duration:.0f} s', subject='path of the tip',
                                  remedy='raise the speed, or shorten the path')
        plan = _Plan(dynamics, task, bounds, positive('step', step, 's'))
        times, q, v = plan.run(start)
        self.duration = float(times[-1])
        # Accelerations are linear in each step, so they are within bounds if both ends are.
        cubics = cubic(np.diff(times), q[:-1], v[:-1], q[1:], v[1:])
        self._pieces = PiecewiseMotion(times, times, np.concatenate((cubics, rest(q[-1])[None])),
                              [Progress.MOVING] * len(cubics) + [Progress.RESTING])
        TrajectoryLimits(dynamics.robot.joint_names, bounds.limits, bounds.acceleration
                         ).check_motion(self._pieces, start)
        self._evaluate = evaluate_pieces.load()

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        pieces = self._pieces
        self._evaluate(pieces.begins, pieces.origins, pieces.coefficients, min(t, self.duration),
                       q, v, a)


class Reversed(Reference):
    """Time reversal of another reference, which must end.

    The joints return to their start. A redundant arm would not do so if only its end effector were
    led back.
    """

    def __init__(self, member: Reference):
        if not np.isfinite(member.duration):
            raise TrajectoryError('is endless and cannot be reversed',
                                  subject=type(member).__name__, remedy='reverse one that ends')
        self._member = member
        self.n, self.duration = member.n, member.duration

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        self._member.sample_into(self.duration - t, q, v, a)
        np.negative(v, out=v)


class _Plan:
    """Integration along a path, step by step."""

    def __init__(self, dynamics: Dynamics, task: TipTask, bounds: JointBounds, step: float):
        if bounds.n != dynamics.n:
            raise DimensionError(f'must be for {dynamics.n} joints, got {bounds.n}',
                                 subject='bounds', remedy='give the bounds of this robot')
        self._dynamics, self._task, self._bounds = dynamics, task, bounds
        self._rows = 6 if task.keeps_orientation else 3
        self._solver = AccelerationSolver(dynamics.n)
        self._duration = task.duration
        self._step = step
        self._orientation = np.eye(3)

    def run(self, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Times (m,) and the motion there: q and v (m, n)."""
        pose = self._dynamics.forward_kinematics(q, self._task.link)
        self._orientation = pose[:3, :3].copy()
        off = float(np.linalg.norm(pose[:3, 3] - self._task.path.at(0.0)[0]))
        if not off <= PATH_TOLERANCE:
            raise TrajectoryError(f'must begin at the position of {self._task.link}, got a '
                                  f'distance of {off:.4f} m', subject='path of the tip',
                                  remedy='begin the path at that position')
        v, t = np.zeros_like(q), 0.0
        times, motion = [], []
        while True:
            lower, upper = self._bounds.accelerations(q, v, self._step)
            u = self._acceleration(t, q, v, lower, upper)
            times.append(t)
            motion.append((q, v))
            over = t - self._duration
            if over >= 0.0 and np.max(np.abs(v)) <= STILL:
                break
            if over > LONGEST_SETTLING:
                raise TrajectoryError('does not come to rest at its end',
                                      subject='motion of the joints', remedy=_REMEDY)
            step = self._step if over >= 0.0 else min(self._step, self._duration - t)
            if -over - step < 0.5 * self._step and over < 0.0:
                step = -over
            q, v = self._advance(t, q, v, u, lower, upper, step)
            t += step
        q_all, v_all = (np.array(part) for part in zip(*motion, strict=True))
        v_all[-1] = 0.0
        return np.array(times), q_all, v_all

    def _advance(self, t: float, q: FloatArray, v: FloatArray, u: FloatArray, lower: FloatArray,
                 upper: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
        """State after a step: acceleration linear in time, predicted once."""
        q_ahead, v_ahead = q + step * v + 0.5 * step**2 * u, v + step * u
        low, high = self._bounds.accelerations(q_ahead, v_ahead, self._step)
        # Also within the bounds at its beginning, so that the step stays within the limits.
        ahead = self._acceleration(t + step, q_ahead, v_ahead, np.maximum(lower, low),
                                   np.minimum(upper, high))
        return (q + step * v + step**2 * (2.0 * u + ahead) / 6.0, v + 0.5 * step * (u + ahead))

    def _acceleration(self, t: float, q: FloatArray, v: FloatArray, lower: FloatArray,
                      upper: FloatArray) -> FloatArray:
        """Accelerations that follow the path; raises a TrajectoryError without any."""
        link, rows = self._task.link, self._rows
        J = np.ascontiguousarray(self._dynamics.jacobian(q, link)[:rows])
        J_dot = self._dynamics.jacobian_dot(q, v, link)[:rows]
        error, rate, wanted = self._deviation(t, q, J @ v)
        task = wanted + PATH_RATE**2 * error + 2.0 * PATH_RATE * (rate - J @ v) - J_dot @ v
        inverse = np.linalg.pinv(J, rcond=1e-9)
        least = inverse @ rate
        preferred = J_dot.T @ (inverse.T @ least) - SELF_MOTION_RATE * (v - least)
        if not np.all(lower <= upper):
            self._refuse(t, ~(lower <= upper), q, v)
        outcome = self._solver.solve(J, task, lower, upper, preferred)
        if outcome is Outcome.OUT_OF_BOUNDS:
            self._refuse(t, self._solver.held != 0, q, v)
        if outcome is Outcome.UNREACHABLE:
            raise TrajectoryError(f'cannot be followed {self._where(t)} by {link}: the arm is '
                                  'singular or has too few joints',
                                  subject='path of the tip', remedy=_REMEDY)
        return self._solver.u.copy()

    def _deviation(self, t: float, q: FloatArray, velocity: FloatArray
                   ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Deviation from the path, and the desired rate and acceleration, shape (rows,)."""
        pose = self._dynamics.forward_kinematics(q, self._task.link)
        length = self._task.path.length
        x = min(t / self._duration, 1.0)
        s = length * x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
        s_dot = length * 30.0 * (x * (1.0 - x))**2 / self._duration
        s_ddot = length * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / self._duration**2
        point, tangent, curvature = self._task.path.at(s)
        error, rate, wanted = (np.zeros(self._rows) for _ in range(3))
        error[:3] = point - pose[:3, 3]
        rate[:3] = s_dot * tangent
        wanted[:3] = s_ddot * tangent + s_dot**2 * curvature
        if self._rows == 6:
            error[3:] = _rotation_to(pose[:3, :3], self._orientation)
        if not np.max(np.abs(error)) <= PATH_TOLERANCE:
            raise TrajectoryError(f'is left {self._where(t)} by {np.max(np.abs(error)):.2g} m '
                                  'or rad', subject='path of the tip', remedy=_REMEDY)
        return error, rate, wanted

    def _refuse(self, t: float, joints: BoolArray, q: FloatArray, v: FloatArray) -> None:
        """Raise the error for the joints with exceeded bounds."""
        names = self._dynamics.robot.joint_names
        reasons = ', '.join(f'{names[i]} ({self._bounds.tightest(i, q, v, self._step)})'
                            for i in map(int, np.flatnonzero(joints)))
        raise TrajectoryError(f'exceeds the limits of the joints {self._where(t)}: '
                              + (reasons or 'all of them together'), subject='path of the tip',
                              remedy=_REMEDY)

    def _where(self, t: float) -> str:
        return f'at {100.0 * min(t / self._duration, 1.0):.0f} % of its time'


def _rotation_to(here: FloatArray, there: FloatArray) -> FloatArray:
    """Small rotation vector from one orientation to another, base axes, rad."""
    turn = there @ here.T
    return 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0],
                           turn[1, 0] - turn[0, 1]])


class TipPath(ABC):
    """A smooth curve in base axes, parametrised by its arc length.

    `length` is in m, `curvature` the largest one, in 1/m, 0 for a line.
    """

    length: float
    curvature: float

    @abstractmethod
    def at(self, s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Point and its first and second derivative along s, each of shape (3,); s in m."""


class Line(TipPath):
    """A straight line.

    Parameters
    ----------
    start : array_like, shape (3,)
        Its start, base axes. m.
    displacement : array_like, shape (3,)
        From the start to its end. m.

    Examples
    --------
    >>> point, tangent, curvature = Line([0.5, 0.0, 0.3], [0.0, 0.2, 0.0]).at(0.1)
    >>> point, tangent
    (array([0.5, 0.1, 0.3]), array([0., 1., 0.]))
    """

    curvature = 0.0

    def __init__(self, start: ArrayLike, displacement: ArrayLike):
        self._start = _vector('start of the line', start)
        way = _vector('displacement', displacement)
        self.length, self._direction = _length_and_direction(way)
        if not SHORTEST_PATH < self.length < LONGEST_PATH:
            raise TrajectoryError(f'must be {SHORTEST_PATH:g} to {LONGEST_PATH:g} m long, got '
                                  f'{self.length:.3g} m', subject='displacement',
                                  remedy='give the end of the line relative to its start, in m')

    def at(self, s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Point, tangent and curvature vector after some length."""
        return self._start + s * self._direction, self._direction, np.zeros(3)


class Circle(TipPath):
    """A circle of one or more turns.

    Parameters
    ----------
    start : array_like, shape (3,)
        Its start and end, base axes. m.
    centre : array_like, shape (3,)
        From the start to its centre. m.
    normal : array_like, shape (3,)
        Its axis, right-handed, perpendicular to `centre`.
    turns : float
        Number of turns.

    Examples
    --------
    >>> circle = Circle([0.5, 0.0, 0.3], centre=[0.1, 0.0, 0.0], normal=[0.0, 0.0, 1.0])
    >>> circle.curvature, round(circle.length, 3)
    (10.0, 0.628)
    """

    def __init__(self, start: ArrayLike, centre: ArrayLike, normal: ArrayLike,
                 turns: float = 1.0):
        start = _vector('start of the circle', start)
        inward = _vector('centre', centre)
        axis = _vector('normal', normal)
        radius, inward = _length_and_direction(inward)
        size, axis = _length_and_direction(axis)
        if not SHORTEST_PATH < radius < LONGEST_PATH:
            raise TrajectoryError(f'must be {SHORTEST_PATH:g} to {LONGEST_PATH:g} m from the '
                                  f'start of the circle, got {radius:.3g} m', subject='centre',
                                  remedy='give it relative to the start of the circle, in m')
        if not size > 0.0:
            raise TrajectoryError('must not be zero', subject='normal',
                                  remedy='give the axis of the circle')
        if abs(axis @ inward) > _PERPENDICULAR:
            raise TrajectoryError('must be perpendicular to the direction of the centre',
                                  subject='normal', remedy='give the axis of a circle through '
                                  'its start')
        self.length = 2.0 * np.pi * radius * positive('turns', turns)
        if not SHORTEST_PATH < self.length < LONGEST_PATH:
            raise TrajectoryError(f'must make a path of {SHORTEST_PATH:g} to {LONGEST_PATH:g} m, '
                                  f'got {self.length:.3g} m', subject='turns',
                                  remedy='change the number of turns or the radius')
        self.curvature = 1.0 / radius
        self._radius = radius
        self._centre = start + radius * inward
        self._outward = -inward
        self._forward = np.cross(axis, self._outward)

    def at(self, s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Point, tangent and curvature vector after some length."""
        c, d = np.cos(s / self._radius), np.sin(s / self._radius)
        out = c * self._outward + d * self._forward
        return (self._centre + self._radius * out,
                c * self._forward - d * self._outward, -out / self._radius)


def _length_and_direction(vector: FloatArray) -> tuple[float, FloatArray]:
    """Length of a vector and its direction, zero for a zero vector."""
    largest = float(np.max(np.abs(vector)))
    if not largest > 0.0:
        return 0.0, vector
    # Scaled, so that squares neither overflow nor underflow.
    scaled = vector / largest
    length = float(np.linalg.norm(scaled))
    return largest * length, scaled / length


def _vector(name: str, value: ArrayLike) -> FloatArray:
    """Three finite numbers."""
    vector = finite_array(name, value)
    if vector.shape != (3,):
        raise DimensionError(f'must have shape (3,), got {vector.shape}', subject=name,
                             remedy='give x, y and z in base axes')
    return vector


class JointBounds:
    r"""Bounds of position, velocity and acceleration, expressed as bounds of acceleration.

    .. math::

        u \le \min\left( A, \; \frac{V - v}{\tau}, \; u_{stop} \right),

    and likewise for the lower bound. After a time tau of several steps with u_stop, a joint can
    still come to rest at its limit, now at the distance d, by braking with A' < A:

    .. math::

        (v + u \tau)^2 = 2 A' \left( d - v \tau - \tfrac{1}{2} u \tau^2 \right)
        \;\Rightarrow\; u_{stop} = \frac{x / (\tau + \sqrt{\tau^2 + x / A'}) - 2 v}{2 \tau},
        \quad x = 8 d - 4 v \tau,

    if it then still moves towards the limit, 2 d > v tau; otherwise it stops before tau, u_stop =
    -v^2 / (2 d). From any state in which a joint can stop before its limit, every acceleration
    within the bounds therefore leads to another such state.

    Parameters
    ----------
    lower, upper : array_like, shape (n,)
        Position limits, infinite for an unlimited joint. rad or m.
    velocity, acceleration : array_like, scalar or shape (n,)
        Largest absolute values. rad/s, rad/s^2 or m/s, m/s^2.

    Examples
    --------
    >>> bounds = JointBounds([-1.0], [1.0], velocity=2.0, acceleration=10.0)
    >>> bounds.accelerations(np.zeros(1), np.zeros(1), 0.004)
    (array([-10.]), array([10.]))
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, velocity: ArrayLike,
                 acceleration: ArrayLike):
        lower = real_array(lower, 'lower limits')
        self.n = lower.size
        self.lower = each_joint('lower limits', lower, self.n)
        self.upper = each_joint('upper limits', upper, self.n)
        self.velocity = each_joint('velocity limits', velocity, self.n)
        self.acceleration = each_joint('acceleration limits', acceleration, self.n)
        for name in ('velocity', 'acceleration'):
            if not np.all(getattr(self, name) > 0.0):
                raise ControlError('must be above zero', subject=f'{name} limits',
                                   remedy='use inf for an unlimited joint')
        if not np.all(self.lower <= self.upper):
            raise ControlError('must not be below the lower ones', subject='upper limits',
                               remedy='give the range of each joint')

    @classmethod
    def for_robot(cls, robot: Robot, *, velocity: ArrayLike = np.inf,
                  acceleration: ArrayLike = np.inf) -> JointBounds:
        """Limits of a robot, with speed and acceleration no higher than given."""
        return cls(robot.limits.lower, robot.limits.upper,
                   np.fmin(velocity, robot.limits.velocity), acceleration)

    @property
    def limits(self) -> JointLimits:
        """Ranges and speeds as the limits of a robot; efforts are nan."""
        return JointLimits(self.lower, self.upper, self.velocity, np.full(self.n, np.nan))

    def accelerations(self, q: FloatArray, v: FloatArray, step: float
                      ) -> tuple[FloatArray, FloatArray]:
        """Least and largest accelerations at a state, shape (n,) each, rad/s^2 or m/s^2.

        If the first is above the second, the joint can no longer stay within its limits.
        """
        below, above = self._kinds(q, v, step)
        return np.max(below, axis=0), np.min(above, axis=0)

    def tightest(self, joint: int, q: FloatArray, v: FloatArray, step: float) -> str:
        """Name of the tightest limit of a joint at a state, for messages."""
        below, above = self._kinds(q, v, step)
        kinds = ('acceleration', 'speed', 'range')
        # Measured by the distance to the bound of acceleration alone.
        low, high = below[:, joint], above[:, joint]
        return kinds[int(np.argmax(low))] if np.max(low) - low[0] > high[0] - np.min(high) \
            else kinds[int(np.argmin(high))]

    def _kinds(self, q: FloatArray, v: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
        """Bounds from acceleration, speed and range, shape (3, n) each."""
        tau = _APPROACH * step
        up = self._stopping(self.upper - q, v, tau)
        down = self._stopping(q - self.lower, -v, tau)
        return (np.stack([-self.acceleration, (-self.velocity - v) / tau, -down]),
                np.stack([self.acceleration, (self.velocity - v) / tau, up]))

    def _stopping(self, way: FloatArray, v: FloatArray, tau: float) -> FloatArray:
        """Largest accelerations u_stop towards a limit at a distance."""
        with np.errstate(divide='ignore', invalid='ignore'):
            x = 8.0 * way - 4.0 * tau * v
            later = (x / (tau + np.sqrt(tau**2 + x / (_BRAKING * self.acceleration)))
                     - 2.0 * v) / (2.0 * tau)
            bound = np.where(x >= 0.0, later, -v**2 / (2.0 * way))
        # Beyond its limit a joint comes to rest, or returns at least as fast as now.
        bound = np.where(way > 0.0, bound, -v / tau)
        return np.where(np.isinf(way), np.inf, bound)
