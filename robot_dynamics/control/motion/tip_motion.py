# SPDX-License-Identifier: Apache-2.0
r"""Joint motions that lead an end effector along a path, within the bounds of the joints.

The motion is found at the level of accelerations: at every step the joints take, of all
accelerations within bounds that keep the end effector on its path, those nearest to

.. math:: u_0 = \dot J^T \lambda - k (v - J^+ \dot p), \qquad J J^T \lambda = \dot p,

so that v stays the least velocity for the path, v = J^+ pdot, as long as no bound is in
the way: then its derivative is the solution of J u = pddot - Jdot v nearest to Jdot^T
lambda. A joint at its bound is saturated in the null space; what remains of that when the
bound lets go, dies out with rate k. See A. De Luca, Robotics 2, July 12, 2021, Exercise 1,
eq. 5, and `robot_dynamics.control.motion.acceleration_command`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import each_joint, finite_array, positive
from robot_dynamics.control.motion import polynomials
from robot_dynamics.control.motion import trajectory_kernel as kernel
from robot_dynamics.control.motion.acceleration_command import AccelerationSolver, Outcome
from robot_dynamics.control.motion.joint_bounds import JointBounds
from robot_dynamics.control.motion.pieces import Pieces, Stage
from robot_dynamics.control.motion.references import Reference
from robot_dynamics.control.motion.tip_path import TipPath
from robot_dynamics.control.motion.trajectory_limits import TrajectoryLimits
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, TrajectoryError
from robot_dynamics.model.arrays import BoolArray, FloatArray

#: Step of the search. s.
STEP = 0.004
#: Rate at which what is off the path is corrected, and self-motion dies out. 1/s.
PATH_RATE, SELF_MOTION_RATE = 20.0, 10.0
#: What counts as standing still at the end, and how long that may take. rad/s or m/s, s.
STILL, LONGEST_SETTLING = 1e-6, 3.0
#: How far the motion found may be off the path. m and rad.
PATH_TOLERANCE = 1e-4
#: Longest motion that is planned ahead. s.
LONGEST = 600.0
_REMEDY = ('let it go more slowly, leave the orientation free, or begin at another pose or '
           'with another path')


@dataclass(frozen=True)
class TipTask:
    """What the end effector is to do.

    Parameters
    ----------
    link : str
        The link or frame that goes along the path.
    path : TipPath
        The path of its origin.
    speed, acceleration : float
        Largest speed along the path; largest acceleration along it, and across. m/s, m/s^2.
    keeps_orientation : bool
        Whether it must not turn.
    """

    link: str
    path: TipPath
    speed: float = 0.1
    acceleration: float = 0.5
    keeps_orientation: bool = True

    @property
    def duration(self) -> float:
        """Time that it takes, from rest to rest. s."""
        speed = positive('speed', self.speed, 'm/s')
        acceleration = positive('acceleration', self.acceleration, 'm/s^2')
        if self.path.curvature > 0.0:
            speed = min(speed, np.sqrt(acceleration / self.path.curvature))
        length = self.path.length
        return max(polynomials.QUINTIC_PEAK_SPEED * length / speed,
                   np.sqrt(polynomials.QUINTIC_PEAK_ACCELERATION * length / acceleration))


class TipMotion(Reference):
    """The joint motion for a task, from rest to rest, planned ahead.

    Parameters
    ----------
    dynamics : Dynamics
        The arm's equations.
    start : array_like, shape (n,)
        Where the arm stands; the path has to begin where its link is then. rad or m.
    task : TipTask
        What to do.
    bounds : JointBounds
        What the joints may do.
    step : float
        Step of the plan. s.

    Raises
    ------
    TrajectoryError
        Where it cannot be done within the bounds; the reason is in the message.
    """

    def __init__(self, dynamics: Dynamics, start: ArrayLike, task: TipTask, bounds: JointBounds,
                 *, step: float = STEP):
        dynamics.robot.require_single_coordinates('a path of the end effector')
        self.n = dynamics.n
        start = finite_array('start', each_joint('start', start, self.n))
        if not task.duration <= LONGEST:
            raise TrajectoryError(f'takes {task.duration:.0f} s', subject='path of the tip',
                                  remedy=f'let it take less than {LONGEST:.0f} s')
        plan = _Plan(dynamics, task, bounds, positive('step', step, 's'))
        times, q, v = plan.run(start)
        self.duration = float(times[-1])
        # Accelerations of the plan are linear in each step, so between bounds if the ends are.
        cubics = polynomials.cubic(np.diff(times), q[:-1], v[:-1], q[1:], v[1:])
        rest = polynomials.rest(q[-1])[None]
        self._pieces = Pieces(times, times, np.concatenate((cubics, rest)),
                              [Stage.MOVE] * len(cubics) + [Stage.REST])
        TrajectoryLimits(dynamics.robot.joint_names, bounds.limits, bounds.acceleration
                         ).check_motion(self._pieces, start)
        self._evaluate = kernel.evaluate_pieces.load()

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        pieces = self._pieces
        self._evaluate(pieces.begins, pieces.origins, pieces.coefficients, min(t, self.duration),
                       q, v, a)


class Reversed(Reference):
    """Another reference from its end to its start.

    What began and ended at rest does so again, and the joints come back to where they were:
    those of a redundant arm do not when only its end effector goes back.

    Parameters
    ----------
    member : Reference
        A reference that ends.
    """

    def __init__(self, member: Reference):
        if not np.isfinite(member.duration):
            raise TrajectoryError('never ends, so it cannot go back',
                                  subject=type(member).__name__, remedy='give one that ends')
        self._member = member
        self.n, self.duration = member.n, member.duration

    def sample_into(self, t: float, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """Write the motion at a time."""
        self._member.sample_into(self.duration - t, q, v, a)
        np.negative(v, out=v)


class _Plan:
    """Goes along a path step by step."""

    def __init__(self, dynamics: Dynamics, task: TipTask, bounds: JointBounds, step: float):
        if bounds.n != dynamics.n:
            raise DimensionError(f'are for {bounds.n} joints, not {dynamics.n}',
                                 subject='bounds', remedy='give those of this robot')
        self._dynamics, self._task, self._bounds = dynamics, task, bounds
        self._rows = 6 if task.keeps_orientation else 3
        self._solver = AccelerationSolver(dynamics.n)
        self._duration = task.duration
        self._step = step
        self._orientation = np.eye(3)

    def run(self, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return times (m,) and the motion there: q and v (m, n)."""
        pose = self._dynamics.forward_kinematics(q, self._task.link)
        self._orientation = pose[:3, :3].copy()
        off = float(np.linalg.norm(pose[:3, 3] - self._task.path.at(0.0)[0]))
        if not off <= PATH_TOLERANCE:
            raise TrajectoryError(f'begins {off:.4f} m from where {self._task.link} is',
                                  subject='path of the tip', remedy='begin it there')
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
        """Return the state after a step: acceleration linear in time, predicted once."""
        q_ahead, v_ahead = q + step * v + 0.5 * step**2 * u, v + step * u
        low, high = self._bounds.accelerations(q_ahead, v_ahead, self._step)
        # Within the bounds of its beginning all along, so that the step keeps the limits.
        ahead = self._acceleration(t + step, q_ahead, v_ahead, np.maximum(lower, low),
                                   np.minimum(upper, high))
        return (q + step * v + step**2 * (2.0 * u + ahead) / 6.0, v + 0.5 * step * (u + ahead))

    def _acceleration(self, t: float, q: FloatArray, v: FloatArray, lower: FloatArray,
                      upper: FloatArray) -> FloatArray:
        """Return the accelerations that keep to the path, or say why there are none."""
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
            raise TrajectoryError(f'{self._where(t)} the arm cannot move {link} as it has to: it '
                                  'is singular or has too few joints',
                                  subject='path of the tip', remedy=_REMEDY)
        return self._solver.u.copy()

    def _deviation(self, t: float, q: FloatArray, velocity: FloatArray
                   ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what is off the path, and the rate and acceleration wanted, shape (rows,)."""
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
            raise TrajectoryError(f'{self._where(t)} it is left by {np.max(np.abs(error)):.2g} m '
                                  'or rad', subject='path of the tip', remedy=_REMEDY)
        return error, rate, wanted

    def _refuse(self, t: float, joints: BoolArray, q: FloatArray, v: FloatArray) -> None:
        """Say which joints cannot do what the path asks for."""
        names = self._dynamics.robot.joint_names
        reasons = ', '.join(f'{names[i]} ({self._bounds.tightest(i, q, v, self._step)})'
                            for i in np.flatnonzero(joints))
        raise TrajectoryError(f'{self._where(t)} the joints would have to exceed their limits: '
                              + (reasons or 'all together'), subject='path of the tip',
                              remedy=_REMEDY)

    def _where(self, t: float) -> str:
        return f'at {100.0 * min(t / self._duration, 1.0):.0f} % of its time'


def _rotation_to(here: FloatArray, there: FloatArray) -> FloatArray:
    """Return the small rotation vector from one orientation to another, base axes. rad."""
    turn = there @ here.T
    return 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0],
                           turn[1, 0] - turn[0, 1]])
