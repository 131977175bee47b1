# SPDX-License-Identifier: Apache-2.0
"""A published Fourier series as a motion, for limits of cases that do not begin at rest."""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import positive
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.identification.excitation.curves import (
    POINTS_PER_HARMONIC,
    harmonics_of,
    slack_of,
    widened,
)
from robot_dynamics.model.arrays import FloatArray, real_array


class FourierCurve:
    """A finite Fourier series, which need not begin at rest.

    q = offset + sum_k sine_k sin(k w t) + cosine_k cos(k w t), w = 2 pi/period.

    Parameters
    ----------
    period : float
        s.
    offset : array_like, shape (n,)
        rad or m.
    sine, cosine : array_like, shape (n, h)
        rad or m.
    """

    def __init__(self, period: float, offset: ArrayLike, sine: ArrayLike, cosine: ArrayLike):
        self.duration = positive('period', period, 's')
        self.offset = real_array(offset, 'offset')
        self.sine, self.cosine = real_array(sine, 'sine'), real_array(cosine, 'cosine')
        self.n = self.offset.size
        if self.sine.ndim != 2 or self.sine.shape != self.cosine.shape \
                or self.offset.shape != (len(self.sine),) or self.sine.shape[1] == 0:
            raise DimensionError(f'have shapes {self.sine.shape} and {self.cosine.shape} for '
                                 f'{self.n} joints', subject='sine and cosine',
                                 remedy='give both one row per joint and one column per harmonic')
        if not all(np.all(np.isfinite(x)) for x in (self.offset, self.sine, self.cosine)):
            raise ParameterError('hold a value that is not finite', subject='amplitudes',
                                 remedy='give finite numbers')

    @cached_property
    def _w(self) -> FloatArray:
        return 2.0 * np.pi * np.arange(1, self.sine.shape[1] + 1) / self.duration

    def evaluate(self, times: ArrayLike, derivative: int = 0) -> FloatArray:
        """Derivative at m times, shape (m, n)."""
        sines, cosines = harmonics_of(self._w, np.asarray(times, dtype=np.float64), derivative)
        value = sines @ self.sine.T + cosines @ self.cosine.T
        return value + self.offset if derivative == 0 else value

    def extremes(self, derivative: int = 0) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of a derivative at all times, shape (n,) each."""
        harmonics = self.sine.shape[1]
        points = POINTS_PER_HARMONIC * harmonics
        values = self.evaluate(np.arange(points) * self.duration / points, derivative)
        return widened(values, slack_of(harmonics, points))

    def largest(self, derivative):
        """Upper bound of the magnitude of a derivative, shape (n,)."""
        return np.max(np.abs(self.extremes(derivative)), axis=0)
