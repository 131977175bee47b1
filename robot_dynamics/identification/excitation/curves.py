# SPDX-License-Identifier: Apache-2.0
"""Parametrised joint motions, with bounds that also hold between samples.

Both kinds are smooth enough for efforts to be twice differentiable. Extreme values of every
derivative are bounded rigorously instead of sampled:

* a piece of a spline lies within the convex hull of its Bernstein coefficients;
* a trigonometric polynomial of degree h that is at most m at N > 2 h even points of its
  period is nowhere above m / cos(pi h / N) (H. Ehlich and K. Zeller, "Schwankung von
  Polynomen zwischen Gitterpunkten", Mathematische Zeitschrift 86, 1964).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import positive
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.identification.dataset.settings import require_number
from robot_dynamics.model.arrays import FloatArray, real_array

#: Degree of the splines: five, so that position has four continuous derivatives.
DEGREE = 5
#: Coefficients at each end that are fixed by rest: position, velocity and acceleration.
AT_REST = 3
#: Parts in which a piece of a spline is enclosed.
PARTS = 4
#: Points at which a Fourier series is enclosed, for each of its harmonics.
POINTS_PER_HARMONIC = 256


class Basis(ABC):
    """Functions phi_k of time that are zero at both ends, with their first two derivatives.

    A motion q_j(t) = start_j + sum_k x_kj phi_k(t) begins and ends at rest at its start.
    """

    #: Duration of a motion, s.
    duration: float
    #: Number of functions.
    count: int

    @abstractmethod
    def evaluate(self, times: ArrayLike, derivative: int = 0) -> FloatArray:
        """Derivative of all functions at m times, shape (m, count)."""

    @abstractmethod
    def hull(self, derivative: int) -> tuple[FloatArray, float]:
        """Enclosure of a derivative, from 0 to 4, of every combination of the functions.

        It is a matrix E, (r, count), and a factor with ``|f(t) - c| <= slack * max |E x - c|`` at
        all times, for any number c if the factor is 1 and for c = 0 otherwise.
        """


class RestToRest:
    """A motion of a basis that begins and ends at rest at the same pose.

    ``start``, (n,), is the pose, and ``coefficients``, (count, n), are x, rad or m.
    """

    def __init__(self, basis: Basis, start: ArrayLike, coefficients: ArrayLike):
        self.basis = basis
        self.start = real_array(start, 'start').copy()
        self.coefficients = real_array(coefficients, 'coefficients').copy()
        self.n, self.duration = self.start.size, basis.duration
        if self.start.ndim != 1 or self.coefficients.shape != (basis.count, self.n):
            raise DimensionError(f'have shape {self.coefficients.shape}, not '
                                 f'({basis.count}, {self.n})', subject='coefficients',
                                 remedy='give one row per function and one column per joint')
        if not (np.all(np.isfinite(self.start)) and np.all(np.isfinite(self.coefficients))):
            raise ParameterError('hold a value that is not finite',
                                 subject='start and coefficients', remedy='give finite numbers')

    def evaluate(self, times: ArrayLike, derivative: int = 0) -> FloatArray:
        """Derivative at m times, shape (m, n)."""
        value = self.basis.evaluate(times, derivative) @ self.coefficients
        return value + self.start if derivative == 0 else value

    def extremes(self, derivative: int = 0) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of a derivative at all times, shape (n,) each."""
        rows, slack = self.basis.hull(derivative)
        low, high = widened(rows @ self.coefficients, slack)
        return (low + self.start, high + self.start) if derivative == 0 else (low, high)

    def largest(self, derivative: int) -> FloatArray:
        """Upper bound of the magnitude of a derivative, shape (n,)."""
        return np.max(np.abs(self.extremes(derivative)), axis=0)


class BSplineBasis(Basis):
    """B-splines of fifth degree on even knots.

    The first and last three control points equal the start (L. Zollo, E. Lopez, L. Spedaliere, N.
    Garcia Aracil and E. Guglielmelli, "Identification of dynamic parameters for robots with
    elastic joints", Advances in Mechanical Engineering 7(2), 2015, section 6; W. Rackl, R.
    Lampariello and G. Hirzinger, "Robot excitation trajectories for dynamic parameter estimation
    using optimized B-splines", ICRA 2012).

    The duration is in s. With at least two ``intervals`` between knots, the basis has one function
    less than intervals.
    """

    def __init__(self, duration: float, intervals: int):
        self.duration = positive('duration', duration, 's')
        require_number('intervals', intervals, 'give 40 or so', 2, 1000, whole=True)
        self.intervals = int(intervals)
        self.count = self.intervals + DEGREE - 2 * AT_REST
        self.knots = np.concatenate((np.zeros(DEGREE),
                                     np.linspace(0.0, self.duration, self.intervals + 1),
                                     np.full(DEGREE, self.duration)))
        chosen = np.eye(self.intervals + DEGREE)[:, AT_REST:-AT_REST]
        # Imported here as it takes half a second.
        from scipy.interpolate import BSpline
        self._splines = [BSpline(self.knots, chosen, DEGREE)]
        for _ in range(DEGREE - 1):
            self._splines.append(self._splines[-1].derivative())
        self._hulls: dict[int, FloatArray] = {}

    def evaluate(self, times: ArrayLike, derivative: int = 0) -> FloatArray:
        """Derivative of all functions at m times, shape (m, count)."""
        times = np.clip(np.asarray(times, dtype=np.float64), 0.0, self.duration)
        return np.asarray(self._splines[derivative](times))

    def hull(self, derivative: int) -> tuple[FloatArray, float]:
        """Bernstein coefficients of every piece; see `Basis.hull`."""
        if derivative not in self._hulls:
            degree = DEGREE - derivative
            edges = np.linspace(0.0, self.duration, self.intervals * PARTS + 1)
            inside = (np.arange(degree + 1) + 0.5) / (degree + 1)
            times = edges[:-1, np.newaxis] + inside * np.diff(edges)[:, np.newaxis]
            values = self.evaluate(times.ravel(), derivative).reshape(*times.shape, self.count)
            self._hulls[derivative] = np.einsum(
                'ij,pjk->pik', np.linalg.inv(_bernstein(degree, inside)), values,
            ).reshape(-1, self.count)
        return self._hulls[derivative], 1.0


class FourierBasis(Basis):
    r"""Harmonics of 1/duration, combined so that every function rests at both ends.

    J. Swevers, C. Ganseman, D. B. Tuekel, J. De Schutter and H. Van Brussel, "Optimal robot
    excitation and identification", IEEE Transactions on Robotics and Automation 13(5), 1997,
    eq. (9), with the coefficients in a subspace:

    .. math::

        q = q_0 + \sum_k \alpha_k \sin k w t + \beta_k (1 - \cos k w t), \quad
        \sum_k k \alpha_k = 0, \quad \sum_k k^2 \beta_k = 0

    so that q, v and a at both ends are q_0, 0 and 0. The duration, s, is one period; with h
    ``harmonics``, at least two, the basis has 2 h - 2 functions.
    """

    def __init__(self, duration: float, harmonics: int):
        self.duration = positive('duration', duration, 's')
        require_number('harmonics', harmonics, 'give 10 or so', 2, 500, whole=True)
        self.harmonics = int(harmonics)
        self.count = 2 * self.harmonics - 2
        order = np.arange(1.0, self.harmonics + 1.0)
        self._w = 2.0 * np.pi * order / self.duration
        self._sine, self._cosine = _complement(order), _complement(order ** 2)
        self._hulls: dict[int, FloatArray] = {}

    def evaluate(self, times: ArrayLike, derivative: int = 0) -> FloatArray:
        """Derivative of all functions at m times, shape (m, count)."""
        times = np.clip(np.asarray(times, dtype=np.float64), 0.0, self.duration)
        sines, cosines = harmonics_of(self._w, times, derivative)
        if derivative == 0:
            cosines = cosines - 1.0
        return np.hstack((sines @ self._sine, -cosines @ self._cosine))

    def hull(self, derivative: int) -> tuple[FloatArray, float]:
        """Values at even points, and the factor of Ehlich and Zeller; see `Basis.hull`."""
        points = POINTS_PER_HARMONIC * self.harmonics
        if derivative not in self._hulls:
            self._hulls[derivative] = self.evaluate(
                np.arange(points) * self.duration / points, derivative)
        return self._hulls[derivative], slack_of(self.harmonics, points)

    def amplitudes(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Amplitudes alpha and beta, shape (n, h) each, of coefficients (count, n)."""
        half = self.harmonics - 1
        return (self._sine @ coefficients[:half]).T, (self._cosine @ coefficients[half:]).T

    def coefficients(self, sine: ArrayLike, cosine: ArrayLike) -> FloatArray:
        """Coefficients of amplitudes alpha and beta, shape (n, h) each.

        Raises
        ------
        ParameterError
            If their motion does not begin at rest.
        """
        sine, cosine = real_array(sine, 'sine'), real_array(cosine, 'cosine')
        if sine.ndim != 2 or sine.shape != cosine.shape or sine.shape[1] != self.harmonics:
            raise DimensionError(f'have shapes {sine.shape} and {cosine.shape}',
                                 subject='sine and cosine',
                                 remedy='give both one row per joint and one column per harmonic')
        x = np.vstack((self._sine.T @ sine.T, self._cosine.T @ cosine.T))
        for name, given, kept in zip(('sine', 'cosine'), (sine, cosine), self.amplitudes(x),
                                     strict=True):
            away = np.max(np.abs(given - kept), initial=0.0)
            if not away <= 1e-9 * max(1.0, np.max(np.abs(given), initial=0.0)):
                raise ParameterError('must belong to a motion that begins at rest',
                                     subject=name, remedy='let sum k sine_k and '
                                     'sum k^2 cosine_k be zero for every joint')
        return x


def widened(values: FloatArray, slack: float) -> tuple[FloatArray, FloatArray]:
    """Range of values, widened about its middle by the slack."""
    low, high = values.min(axis=0), values.max(axis=0)
    if slack == 1.0:
        return low, high
    more = 0.5 * (slack - 1.0) * (high - low)
    return low - more, high + more


def slack_of(harmonics: int, points: int) -> float:
    """Largest ratio of a series between even points to its values at them."""
    return float(1.0 / np.cos(np.pi * harmonics / points))


def harmonics_of(w: FloatArray, times: FloatArray, derivative: int
               ) -> tuple[FloatArray, FloatArray]:
    """Derivative of sin(w t) and cos(w t), shape (m, h) each."""
    angle = np.multiply.outer(times, w) + 0.5 * np.pi * (derivative % 4)
    size = w ** derivative
    return size * np.sin(angle), size * np.cos(angle)


def _complement(direction: FloatArray) -> FloatArray:
    """Orthonormal basis, shape (h, h - 1), of the complement of a vector."""
    reflector = direction / np.linalg.norm(direction)
    reflector[0] += 1.0  # Householder's: takes the vector to the first axis, and back.
    reflection = np.eye(len(direction)) - 2.0 * np.outer(reflector, reflector) / (
        reflector @ reflector)
    return reflection[:, 1:]


def _bernstein(degree: int, s: FloatArray) -> FloatArray:
    """Bernstein polynomials of a degree at s, shape (len(s), degree + 1)."""
    return np.stack([comb(degree, k) * s ** k * (1.0 - s) ** (degree - k)
                     for k in range(degree + 1)], axis=1)
