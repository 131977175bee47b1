# SPDX-License-Identifier: Apache-2.0
"""``design``: the motion within limits from which the parameters can be told best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.excitation.curves import (
    Basis,
    BSplineBasis,
    FourierBasis,
    RestToRest,
)
from robot_dynamics.identification.excitation.feasible import random_motion, shrunk
from robot_dynamics.identification.excitation.limits import (
    Clearance,
    MotionLimits,
    Use,
    check_limits,
    check_rest,
)
from robot_dynamics.identification.excitation.problem import WEIGHTS, Problem
from robot_dynamics.identification.excitation.restarts import in_processes
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

KINDS = ('bspline', 'fourier')
#: Time between knots, and half the period of the fastest harmonic. s.
WAVE = 0.5
#: Random motions that tell what an optimum is worth.
COMPARED = 15


@dataclass(frozen=True, eq=False)
class Design:
    """A motion and what it is worth.

    Parameters
    ----------
    motion : RestToRest
        The motion.
    limits : MotionLimits
        What it keeps.
    use : Use
        How much of them it uses.
    condition : float
        Condition number of the base regressor with columns of unit length.
    random_conditions : ndarray
        Those of random motions within the same limits.
    rank : int
        Number of base parameters.
    restarts : tuple of float
        Condition number that each restart came to.
    seconds : float
        How long it took.
    """

    motion: RestToRest
    limits: MotionLimits
    use: Use
    condition: float
    random_conditions: FloatArray
    rank: int
    restarts: tuple[float, ...]
    seconds: float

    @property
    def random_condition(self) -> float:
        """Median of `random_conditions`."""
        return float(np.median(self.random_conditions))


@dataclass(frozen=True)
class DesignSettings:
    """What is wanted.

    Parameters
    ----------
    seconds : float
        Duration. s.
    kind : {'bspline', 'fourier'}
        Of the motion.
    objective : {'condition', 'd_optimal'}
        See `robot_dynamics.identification.excitation.information`.
    seed : int
        Of everything random.
    restarts : int
        Optimisations from different random motions, of which the best is kept.
    iterations : int
        Of each optimisation, at most.
    waves : int, optional
        Intervals of a spline or harmonics of a series; chosen by the duration if not given.
    terms : tuple of str
        Joint terms to be identified with the bodies.
    """

    seconds: float = 20.0
    kind: str = 'bspline'
    objective: str = 'condition'
    seed: int = 0
    restarts: int = 3
    iterations: int = 150
    waves: int | None = None
    terms: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not (isinstance(self.seconds, (int, float)) and 1.0 <= self.seconds <= 600.0):
            raise ParameterError(f'is {self.seconds!r}', subject='seconds',
                                 remedy='give a duration from 1 to 600 s')
        if self.kind not in KINDS:
            raise ParameterError(f'is {self.kind!r}', subject='kind',
                                 remedy='choose among ' + ', '.join(KINDS))
        for name, least, most in (('seed', 0, 2**31 - 1), ('restarts', 1, 100),
                                  ('iterations', 1, 10_000)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) \
                    or not least <= value <= most:
                raise ParameterError(f'is {value!r}', subject=name,
                                     remedy=f'give a whole number from {least} to {most}')

    def basis(self) -> Basis:
        """Return the functions of time."""
        if self.kind == 'bspline':
            return BSplineBasis(self.seconds, max(6, round(self.seconds / WAVE))
                                if self.waves is None else self.waves)
        return FourierBasis(self.seconds, max(4, round(0.5 * self.seconds / WAVE))
                            if self.waves is None else self.waves)


def design(robot: Robot, start: ArrayLike, limits: MotionLimits,
           settings: DesignSettings | None = None, *, clearance: Clearance | None = None,
           workers: int = 1, progress: Callable[[float], None] = lambda share: None) -> Design:
    """Design a motion that begins and ends at rest at a pose.

    Parameters
    ----------
    robot : Robot
        As it is described; efforts are those of this description.
    start : array_like, shape (n,)
        The pose.
    limits : MotionLimits
        What holds at all times.
    settings : DesignSettings, optional
        What is wanted.
    clearance : callable, optional
        Says how far an arm is from what it may not touch, such as
        `robot_dynamics.simulation.clearance.ShapeClearance`.
    workers : int
        Processes among which the restarts are shared; the result is the same.
    progress : callable, optional
        Gets how much is done, from 0 to 1.

    Returns
    -------
    Design
        The best of all restarts; the same for the same seed.

    Raises
    ------
    TrajectoryError
        When the arm cannot move from there.
    """
    began = perf_counter()
    settings = DesignSettings() if settings is None else settings
    start = np.asarray(start, dtype=np.float64)
    limits.check_start(start)
    problem = Problem(robot, start, limits, settings)
    random = np.random.default_rng(settings.seed)
    compared = [random_motion(problem.basis, start, limits, problem.efforts, random, clearance)
                for _ in range(max(COMPARED, settings.restarts))]
    conditions = np.array([problem.condition(motion) for motion in compared])
    chosen = [compared[k].coefficients
              for k in np.argsort(conditions, kind='stable')[:settings.restarts]]
    total = settings.restarts * len(WEIGHTS) * settings.iterations
    improved = in_processes(problem.improved, chosen, workers,
                            lambda done: progress(min(1.0, done / total)))
    found = []
    for x in improved:
        motion = shrunk(RestToRest(problem.basis, start, x), limits, problem.efforts, clearance)
        found.append((problem.condition(motion), motion))
    progress(1.0)
    best = min(range(len(found)), key=lambda k: problem.judged(found[k][1]))
    condition, motion = found[best]
    check_rest(motion, limits, start)
    return Design(motion, limits, check_limits(motion, limits, problem.efforts), condition,
                  conditions, problem.information.base.rank,
                  tuple(value for value, _ in found), perf_counter() - began)


def resting_pose(robot: Robot, given: Sequence[float] | None = None) -> FloatArray:
    """Return a pose given, or the middle of the position ranges, zero where there is none."""
    if given is not None:
        pose = np.asarray(given, dtype=np.float64)
        if pose.shape != (robot.n,) or not np.all(np.isfinite(pose)):
            raise ParameterError(f'has {pose.size} values for {robot.n} joints, or one that is '
                                 'not finite', subject='start', remedy='give one position for '
                                 'each of: ' + ', '.join(robot.joint_names))
        return pose
    with np.errstate(invalid='ignore'):
        middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    return np.where(np.isfinite(middle), middle, 0.0)
