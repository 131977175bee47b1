# SPDX-License-Identifier: Apache-2.0
"""Paths of an end effector in space, by the length travelled along them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import finite_array, positive
from robot_dynamics.errors import DimensionError, TrajectoryError
from robot_dynamics.model.arrays import FloatArray

#: A path is longer than the one and shorter than the other, as is the radius of a circle. m.
SHORTEST_PATH, LONGEST_PATH = 1e-6, 1e6
#: How far from perpendicular the normal of a circle may be, as the sine of the angle.
_PERPENDICULAR = 1e-6


class TipPath(ABC):
    """A smooth curve, in base axes.

    Attributes
    ----------
    length : float
        m.
    curvature : float
        Largest, 0 where it is straight. 1/m.
    """

    length: float
    curvature: float

    @abstractmethod
    def at(self, s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return point, its derivative along s and the second one, each of shape (3,).

        Parameters
        ----------
        s : float
            Length travelled. m.
        """


class Line(TipPath):
    """A straight line.

    Parameters
    ----------
    start : array_like, shape (3,)
        Where it begins, base axes. m.
    displacement : array_like, shape (3,)
        From there to its end. m.
    """

    curvature = 0.0

    def __init__(self, start: ArrayLike, displacement: ArrayLike):
        self._start = _vector('start of the line', start)
        way = _vector('displacement', displacement)
        self.length, self._direction = _length_and_direction(way)
        if not SHORTEST_PATH < self.length < LONGEST_PATH:
            raise TrajectoryError(f'is {self.length:.3g} m long', subject='displacement',
                                  remedy='give where the line ends, counted from its start, in m')

    def at(self, s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return point, tangent and curvature vector after some length."""
        return self._start + s * self._direction, self._direction, np.zeros(3)


class Circle(TipPath):
    """A circle, once round or more.

    Parameters
    ----------
    start : array_like, shape (3,)
        Where it begins and ends, base axes. m.
    centre : array_like, shape (3,)
        From there to its centre. m.
    normal : array_like, shape (3,)
        Axis round which it goes, right-handed, perpendicular to the way to the centre.
    turns : float
        How often round.
    """

    def __init__(self, start: ArrayLike, centre: ArrayLike, normal: ArrayLike,
                 turns: float = 1.0):
        start = _vector('start of the circle', start)
        inward = _vector('centre', centre)
        axis = _vector('normal', normal)
        radius, inward = _length_and_direction(inward)
        size, axis = _length_and_direction(axis)
        if not SHORTEST_PATH < radius < LONGEST_PATH:
            raise TrajectoryError(f'is {radius:.3g} m from where the circle begins',
                                  subject='centre',
                                  remedy='give it counted from the start of the circle, in m')
        if not size > 0.0:
            raise TrajectoryError('is zero', subject='normal',
                                  remedy='give the axis round which the circle goes')
        if abs(axis @ inward) > _PERPENDICULAR:
            raise TrajectoryError('is not perpendicular to the way to the centre',
                                  subject='normal', remedy='give the axis of a circle through '
                                  'its start, such as one to which the centre is perpendicular')
        self.length = 2.0 * np.pi * radius * positive('turns', turns)
        if not SHORTEST_PATH < self.length < LONGEST_PATH:
            raise TrajectoryError(f'make a path of {self.length:.3g} m', subject='turns',
                                  remedy='go round more or less often, or a smaller circle')
        self.curvature = 1.0 / radius
        self._radius = radius
        self._centre = start + radius * inward
        self._outward = -inward
        self._forward = np.cross(axis, self._outward)

    def at(self, s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return point, tangent and curvature vector after some length."""
        c, d = np.cos(s / self._radius), np.sin(s / self._radius)
        out = c * self._outward + d * self._forward
        return (self._centre + self._radius * out,
                c * self._forward - d * self._outward, -out / self._radius)


def _length_and_direction(vector: FloatArray) -> tuple[float, FloatArray]:
    """Return the length of a vector and its direction, zero where it has none."""
    largest = float(np.max(np.abs(vector)))
    if not largest > 0.0:
        return 0.0, vector
    # No square of it may be too large or too small for a float.
    scaled = vector / largest
    length = float(np.linalg.norm(scaled))
    return largest * length, scaled / length


def _vector(name: str, value: ArrayLike) -> FloatArray:
    """Return three finite numbers."""
    vector = finite_array(name, value)
    if vector.shape != (3,):
        raise DimensionError(f'has shape {vector.shape}, not (3,)', subject=name,
                             remedy='give x, y and z in base axes')
    return vector
