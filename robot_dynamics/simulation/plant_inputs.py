# SPDX-License-Identifier: Apache-2.0
"""What is said to a simulated arm, checked the same way for every kind of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, SimulationError
from robot_dynamics.model.arrays import FloatArray, real_array


def joint_vector(values: ArrayLike, subject: str, names: Sequence[str]) -> FloatArray:
    """Return a finite vector of one value a joint.

    Raises
    ------
    DimensionError, SimulationError
        Naming the joint.
    """
    vector = real_array(values, subject)
    if vector.shape != (len(names),):
        raise DimensionError(f'has shape {vector.shape}, not ({len(names)},)',
                             subject=subject, remedy='give one value for each of: '
                             + ', '.join(names))
    if not np.all(np.isfinite(vector)):
        joint = names[int(np.argmin(np.isfinite(vector)))]
        raise SimulationError(f'the {subject} is not finite', subject=joint,
                              remedy='give finite values only')
    return vector


def number_of_steps(timestep: float, seconds: float | None, steps: int | None) -> int:
    """Return a duration in whole steps, or the number of steps that is given instead.

    Raises
    ------
    SimulationError
        Unless exactly one of them is given.
    """
    if (seconds is None) == (steps is None):
        raise SimulationError('needs either a duration or a number of steps',
                              subject='advance', remedy='give one of seconds and steps')
    return round(seconds / timestep) if steps is None else steps
