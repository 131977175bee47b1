# SPDX-License-Identifier: Apache-2.0
"""How far an arm may be from a trajectory, on its way and at its end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import JointNamesError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray

#: Value of a tolerance in a goal that removes the default.
ERASED = -1.0


@dataclass(frozen=True, eq=False)
class ErrorBounds:
    """Largest errors of position (rad or m) and velocity (rad/s or m/s), (n,); inf for none."""

    position: FloatArray
    velocity: FloatArray

    def violation(self, names: Sequence[str], position: FloatArray, velocity: FloatArray) -> str:
        """First joint with errors, shape (n,), beyond a bound, in words; empty without one."""
        for what, error, bound in (('position', position, self.position),
                                   ('velocity', velocity, self.velocity)):
            # Written so that NaN exceeds a bound.
            outside = ~(np.abs(error) <= bound)
            if outside.any():
                joint = int(np.argmax(outside))
                return (f'the {what} of {names[joint]} is {error[joint]:.4g} away from the '
                        f'trajectory, more than {bound[joint]:.4g}')
        return ''

    def overridden(self, names: Sequence[str], given: Iterable[tuple[str, float, float]],
                   subject: str) -> ErrorBounds:
        """Bounds with those of a goal: name, position and velocity of some joints.

        A value of 0 keeps the bound and `ERASED` removes it. Raises a TrajectoryError for an
        unknown joint or another value that is not positive.
        """
        position, velocity = self.position.copy(), self.velocity.copy()
        for name, *values in given:
            if name not in names:
                raise JointNamesError(f'names the unknown joint {name}', subject=subject,
                                      remedy='name joints of: ' + ', '.join(names))
            joint = names.index(name)
            for bounds, value in zip((position, velocity), values, strict=True):
                bounds[joint] = resolved(value, bounds[joint], f'{subject} of {name}')
        return ErrorBounds(position, velocity)


@dataclass(frozen=True, eq=False)
class GoalTolerances:
    """Tolerances of a trajectory, as in control_msgs/action/FollowJointTrajectory.

    Parameters
    ----------
    path : ErrorBounds
        Bounds until the trajectory ends.
    goal : ErrorBounds
        Bounds that have to be kept at its end.
    time : float
        Time after the end within which the arm has to reach the goal, inf for any. s.

    Examples
    --------
    >>> import numpy as np
    >>> bounds = ErrorBounds(np.full(2, 0.05), np.full(2, np.inf))
    >>> tolerances = GoalTolerances(bounds, bounds, 1.0)
    >>> own = tolerances.overridden(('a', 'b'), path=[('b', -1.0, 0.0)], time=0.5)
    >>> own.path.position, own.time
    (array([0.05,  inf]), 0.5)
    """

    path: ErrorBounds
    goal: ErrorBounds
    time: float

    def overridden(self, names: Sequence[str], *, path: Iterable[tuple[str, float, float]] = (),
                   goal: Iterable[tuple[str, float, float]] = (), time: float = 0.0
                   ) -> GoalTolerances:
        """Tolerances with those of a goal; see `ErrorBounds.overridden`."""
        return replace(self, path=self.path.overridden(names, path, 'path_tolerance'),
                       goal=self.goal.overridden(names, goal, 'goal_tolerance'),
                       time=resolved(time, self.time, 'goal_time_tolerance'))


def bounds_of(values: FloatArray) -> FloatArray:
    """Bounds from parameters, of which 0 means none."""
    return np.where(values > 0.0, values, np.inf)


def resolved(value: float, default: float, subject: str) -> float:
    """Tolerance of a goal: 0 means the default, `ERASED` none."""
    if value == 0.0:
        return default
    if value == ERASED:
        return math.inf
    if not value > 0.0:
        raise TrajectoryError(f'must be positive, got {value:g}', subject=subject,
                              remedy='send 0 for the default, -1 for no tolerance')
    return value
