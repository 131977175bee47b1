# SPDX-License-Identifier: Apache-2.0
"""``design``: the most informative motion within limits."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.dataset.settings import require_choice, require_number
from robot_dynamics.identification.excitation.curves import (
    Basis,
    BSplineBasis,
    FourierBasis,
    RestToRest,
)
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.identification.excitation.limits import (
    Clearance,
    MotionLimits,
    Use,
    check_limits,
    check_rest,
    random_motion,
    shrunk,
    units,
)
from robot_dynamics.identification.excitation.objective import Information, Penalty
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

KINDS = ('bspline', 'fourier')
#: Time between knots, and half the period of the fastest harmonic. s.
WAVE = 0.5
#: Number of random motions for comparison.
COMPARED = 15
#: Samples of the objective a second.
RATE = 20.0
#: Weights of violated limits in successive optimisations.
WEIGHTS = (10.0, 1000.0)
# Fraction of the limits in the optimisation, so that its errors stay within them.
_AIM = 0.985
Improve = Callable[[FloatArray, Callable[[], None]], FloatArray]

#: For matrices of this size, several BLAS threads are slower than one.
_ONE_THREAD = {'OPENBLAS_NUM_THREADS': '1', 'OMP_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1'}
# Period of progress reports, s.
_REPORT_PERIOD = 0.2

# Iterations of all processes; set at the start of each process.
_done: Any = None


@dataclass(frozen=True, eq=False)
class Design:
    """A designed motion and its quality."""

    motion: RestToRest
    limits: MotionLimits
    use: Use
    #: Condition number of the base regressor with columns of unit length.
    condition: float
    #: Those of random motions within the same limits.
    random_conditions: FloatArray
    #: Number of base parameters.
    rank: int
    #: Condition number of each restart.
    restarts: tuple[float, ...]
    #: Duration of the computation, s.
    seconds: float

    @property
    def random_condition(self) -> float:
        """Median of `random_conditions`."""
        return float(np.median(self.random_conditions))


@dataclass(frozen=True)
class DesignSettings:
    """Settings of `design`.

    Parameters
    ----------
    seconds : float
        Duration of the motion, s.
    kind : {'bspline', 'fourier'}
        Kind of motion.
    objective : {'condition', 'd_optimal'}
        See `robot_dynamics.identification.excitation.objective`.
    seed : int
        Random seed.
    restarts : int
        Number of optimisations from different random motions, of which the best is kept.
    iterations : int
        Largest number of iterations of each optimisation.
    waves : int, optional
        Intervals of a spline or harmonics of a series; by default from the duration.
    terms : tuple of str
        Joint terms to identify with the bodies.

    Examples
    --------
    >>> from robot_dynamics.identification import DesignSettings
    >>> DesignSettings(seconds=10.0, kind='fourier').basis().count
    18
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
        require_number('seconds', self.seconds, 'give a duration in s', 1.0, 600.0)
        require_choice('kind', self.kind, KINDS)
        for name, least, most in (('seed', 0, 2**31 - 1), ('restarts', 1, 100),
                                  ('iterations', 1, 10_000)):
            require_number(name, getattr(self, name), 'correct it', least, most, whole=True)

    def basis(self) -> Basis:
        """Functions of time."""
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
        Description of the arm, also for efforts.
    start : array_like, shape (n,)
        The pose.
    limits : MotionLimits
        Limits at all times.
    settings : DesignSettings, optional
        Duration, kind and objective.
    clearance : callable, optional
        Distance of poses from obstacles, such as
        `robot_dynamics.simulation.clearance.ShapeClearance`.
    workers : int
        Processes among which the restarts are shared; the result is the same.
    progress : callable, optional
        Called with the completed fraction, from 0 to 1.

    Returns
    -------
    Design
        The best of all restarts; the same for the same seed.

    Raises
    ------
    TrajectoryError
        If the arm cannot move from there.

    See Also
    --------
    ExcitationPlan, identify

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.identification import DesignSettings, MotionLimits, design
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> limits = MotionLimits.for_robot(robot, [0.0, 0.0], speed=2.0)
    >>> made = design(robot, [0.0, 0.0], limits, DesignSettings(seconds=5.0, restarts=1,
    ...                                                         iterations=20))
    >>> made.use.largest <= 1.0, made.condition < made.random_condition
    (True, True)
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
    best = min(range(len(found)), key=lambda k: problem.objective(found[k][1]))
    condition, motion = found[best]
    check_rest(motion, limits, start)
    return Design(motion, limits, check_limits(motion, limits, problem.efforts), condition,
                  conditions, problem.information.base.rank,
                  tuple(value for value, _ in found), perf_counter() - began)


def resting_pose(robot: Robot, given: Sequence[float] | None = None) -> FloatArray:
    """A given pose, or the middle of the position ranges, zero for joints without."""
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


class Problem:
    """Objective and penalty of violated limits, with their derivatives; see `design`."""

    def __init__(self, robot: Robot, start: FloatArray, limits: MotionLimits,
                 settings: DesignSettings):
        self._given = robot, start, limits, settings
        self._start, self._settings = start, settings
        self.basis = settings.basis()
        self.information = Information(robot, settings.objective, settings.terms)
        self.efforts = EffortEnclosure(self.information.dynamics)
        self._penalty = Penalty(self.basis, start, limits.tightened(_AIM), self.efforts)
        times = np.linspace(0.0, settings.seconds, max(50, round(RATE * settings.seconds)) + 1)
        self._phi = [self.basis.evaluate(times, k) for k in range(3)]
        self._unit = units(self.basis, limits)

    def __reduce__(self) -> tuple[type[Problem], tuple]:
        # Each process builds it again.
        return Problem, self._given

    def condition(self, motion: RestToRest) -> float:
        """Condition number of a motion."""
        return self.information.condition(*self._samples(motion.coefficients))

    def objective(self, motion: RestToRest) -> float:
        """Objective of a motion within the limits."""
        if self._settings.objective == 'condition':
            return self.condition(motion)
        return self.information.value_and_gradient(*self._samples(motion.coefficients))[0]

    def improved(self, x: FloatArray, count_one: Callable[[], None]) -> FloatArray:
        """Optimised coefficients, (count, n); ``count_one`` is called after each iteration."""
        # Imported here as it takes some tenths of a second.
        from scipy.optimize import minimize
        shape, y = x.shape, (x / self._unit).ravel()

        def cost(y: FloatArray, weight: float) -> tuple[float, FloatArray]:
            value, slope = self.cost(y.reshape(shape) * self._unit, weight)
            return value, (slope * self._unit).ravel()

        for weight in WEIGHTS:
            y = minimize(cost, y, (weight,), jac=True, method='L-BFGS-B',
                         callback=lambda _: count_one(),
                         options={'maxiter': self._settings.iterations, 'maxcor': 30}).x
        return y.reshape(shape) * self._unit

    def cost(self, x: FloatArray, weight: float) -> tuple[float, FloatArray]:
        """Objective and penalty of coefficients (count, n), and the derivative."""
        q, v, a = self._samples(x)
        value, slopes = self.information.value_and_gradient(q, v, a)
        broken, slope = self._penalty.of_motion(x)
        effort, by_effort = self._penalty.of_efforts(q, v, a)
        slope = weight * slope
        for k, phi in enumerate(self._phi):
            by = slopes[k] if by_effort is None else slopes[k] + weight * by_effort[k]
            slope += phi.T @ by
        return value + weight * (broken + effort), slope

    def _samples(self, x: FloatArray) -> tuple[FloatArray, ...]:
        q, v, a = (phi @ x for phi in self._phi)
        return q + self._start, v, a


def in_processes(improve: Improve, starts: Sequence[FloatArray], workers: int,
                 progress: Callable[[int], None]) -> list[FloatArray]:
    """Optimise several starts, in several processes if there are workers.

    ``improve`` gets a start and a callback for each iteration, and is pickled for other processes;
    ``progress`` gets the number of completed iterations.
    """
    if min(workers, len(starts)) <= 1:
        count = 0

        def count_one() -> None:
            nonlocal count
            count += 1
            progress(count)

        return [improve(start, count_one) for start in starts]
    context = multiprocessing.get_context('spawn')
    counter = context.Value('l', 0)
    with _one_thread_each(), ProcessPoolExecutor(
            min(workers, len(starts)), mp_context=context, initializer=_begin,
            initargs=(counter,)) as pool:
        futures = [pool.submit(_improved, improve, start) for start in starts]
        waiting = set(futures)
        while waiting:
            waiting = wait(waiting, timeout=_REPORT_PERIOD).not_done
            progress(counter.value)
        return [future.result() for future in futures]


def _begin(counter: Any) -> None:
    global _done  # the only way into a task of a pool
    _done = counter


def _improved(improve: Improve, start: FloatArray) -> FloatArray:
    def count_one() -> None:
        with _done.get_lock():
            _done.value += 1

    return improve(start, count_one)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Limit new processes to one thread each, unless the user has set a number."""
    added = {name: value for name, value in _ONE_THREAD.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
