# SPDX-License-Identifier: Apache-2.0
r"""Joint accelerations for an acceleration of the end effector, within bounds.

.. math::

    \ddot p = J(q) u + \dot J(q) v, \qquad
    u = \arg\min \|u - u_0\| \;\; \text{with} \;\; J u = \ddot p - \dot J v, \;
    u_{min} \le u \le u_{max}

A. De Luca, Robotics 2, July 12, 2021, Exercise 1, eqs. 3-5. Its Algorithm 1 saturates the
largest command, once: it gives up although there is an answer where bounds differ between
joints or several have to be saturated. Here the answer is found for any redundancy and
any dimension of the task, whenever there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.checks import each_joint, finite_array
from robot_dynamics.control.motion import acceleration_kernel
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, DimensionError
from robot_dynamics.model.arrays import FloatArray


class Outcome(Enum):
    """Whether a task acceleration can be had."""

    #: The task is met within the bounds.
    EXACT = acceleration_kernel.EXACT
    #: The Jacobian is singular and no acceleration meets the task, bounds or not. The answer
    #: comes as near to it as any, the least such within the bounds.
    UNREACHABLE = acceleration_kernel.UNREACHABLE
    #: No acceleration within the bounds meets the task, or comes as near as is possible
    #: without them.
    OUT_OF_BOUNDS = acceleration_kernel.OUT_OF_BOUNDS


@dataclass(frozen=True)
class AccelerationCommand:
    """The answer to one task.

    Attributes
    ----------
    u : ndarray, shape (n,)
        Joint accelerations, nan where there is no answer. rad/s^2 or m/s^2.
    outcome : Outcome
        What they are.
    held : ndarray of int, shape (n,)
        -1 where a joint is held at its lower bound, 1 at its upper, else 0. Where there is
        no answer: the bounds that cannot be kept together with the task.
    """

    u: FloatArray
    outcome: Outcome
    held: NDArray[np.int8]

    @property
    def meets_task(self) -> bool:
        """Whether the end effector gets the acceleration that was asked for."""
        return self.outcome is Outcome.EXACT


class AccelerationSolver:
    """Find bounded accelerations again and again, without checks of what is passed.

    For control loops; `bounded_acceleration` does the same for whoever calls it once.

    Parameters
    ----------
    n : int
        Number of joints.
    """

    def __init__(self, n: int):
        self._solve = acceleration_kernel.solve.load()
        self.u = np.zeros(n)
        self.held = np.zeros(n, dtype=np.int8)
        self._still = np.zeros(n)

    def solve(self, J: FloatArray, task: FloatArray, lower: FloatArray, upper: FloatArray,
              preferred: FloatArray | None = None) -> Outcome:
        """Write the answer to `u` and `held`; return what it is.

        Parameters
        ----------
        J : ndarray, shape (m, n)
            Jacobian of the task, contiguous.
        task : ndarray, shape (m,)
            Acceleration of the task less the rate of J times velocity.
        lower, upper : ndarray, shape (n,)
            Bounds, finite or infinite, none below the other.
        preferred : ndarray, shape (n,), optional
            The answer is the nearest to this; zero by default.

        Raises
        ------
        ControlError
            Where the search does not end, as with values that are not numbers.
        """
        wish = self._still if preferred is None else preferred
        outcome = self._solve(J, task, wish, lower, upper, self.u, self.held)
        if outcome == acceleration_kernel.STALLED:
            raise ControlError('has no answer that could be computed', subject='task',
                               remedy='check that Jacobian, task and bounds are sound numbers')
        if outcome == acceleration_kernel.OUT_OF_BOUNDS:
            self.u[:] = np.nan
        return Outcome(outcome)


def minimum_norm_acceleration(J: ArrayLike, task: ArrayLike) -> AccelerationCommand:
    """Return the least joint acceleration for a task, without bounds: u = J^# task.

    Parameters
    ----------
    J : array_like, shape (m, n)
        Jacobian of the task; it may be singular.
    task : array_like, shape (m,)
        Acceleration of the task less the rate of J times velocity: -h where the end effector
        is not to accelerate. De Luca, eq. 4.
    """
    return bounded_acceleration(J, task, np.inf)


def bounded_acceleration(J: ArrayLike, task: ArrayLike, upper: ArrayLike,
                         lower: ArrayLike | None = None, *, preferred: ArrayLike = 0.0
                         ) -> AccelerationCommand:
    """Return the least joint acceleration for a task within bounds, if there is any.

    Parameters
    ----------
    J : array_like, shape (m, n)
        Jacobian of the task; it may be singular, and m may be anything from 1 up.
    task : array_like, shape (m,)
        Acceleration of the task less the rate of J times velocity.
    upper : array_like, scalar or shape (n,)
        Largest accelerations; inf where there is no bound. rad/s^2 or m/s^2.
    lower : array_like, scalar or shape (n,), optional
        Least accelerations; -upper by default.
    preferred : array_like, scalar or shape (n,)
        The answer is the nearest to this.

    Raises
    ------
    DimensionError, ControlError
        Where shapes or values are wrong.
    """
    J = finite_array('Jacobian', J)
    if J.ndim != 2 or 0 in J.shape:
        raise DimensionError(f'has shape {J.shape}', subject='Jacobian',
                             remedy='give one row a task coordinate and one column a joint')
    m, n = J.shape
    task = finite_array('task', task)
    if task.shape != (m,):
        raise DimensionError(f'has shape {task.shape}, not ({m},)', subject='task',
                             remedy='give one value for each row of the Jacobian')
    highest = each_joint('upper bounds', upper, n)
    lowest = -highest if lower is None else each_joint('lower bounds', lower, n)
    if not np.all(lowest <= highest):
        joint = int(np.argmin(lowest <= highest))
        raise ControlError(f'of joint {joint} are {lowest[joint]:g} to {highest[joint]:g}',
                           subject='bounds', remedy='give no upper bound below the lower one')
    wish = finite_array('preferred', each_joint('preferred', preferred, n))
    solver = AccelerationSolver(n)
    outcome = solver.solve(np.ascontiguousarray(J), task, lowest, highest, wish)
    return AccelerationCommand(solver.u, outcome, solver.held)


def end_effector_acceleration(dynamics: Dynamics, q: ArrayLike, v: ArrayLike, link: str,
                              acceleration: ArrayLike, upper: ArrayLike = np.inf,
                              lower: ArrayLike | None = None) -> AccelerationCommand:
    """Return the least joint acceleration that gives a link an acceleration, within bounds.

    Parameters
    ----------
    dynamics : Dynamics
        The robot's equations.
    q, v : array_like, shape (n,)
        State.
    link : str
        A link or frame.
    acceleration : array_like, shape (3,) or (6,)
        Acceleration of the frame's origin, m/s^2, and where six values are given, angular
        acceleration, rad/s^2, in base axes. Zeros keep it at its velocity.
    upper, lower : array_like
        As for `bounded_acceleration`.
    """
    dynamics.robot.require_single_coordinates('acceleration commands')
    wanted = finite_array('acceleration', acceleration)
    if wanted.shape not in ((3,), (6,)):
        raise DimensionError(f'has shape {wanted.shape}, not (3,) or (6,)',
                             subject='acceleration', remedy='give the linear acceleration, or '
                             'linear and angular acceleration')
    q, v = finite_array('q', q), finite_array('v', v)
    J = dynamics.jacobian(q, link)[:wanted.size]
    bias = dynamics.jacobian_dot(q, v, link)[:wanted.size] @ v
    return bounded_acceleration(J, wanted - bias, upper, lower)
