# SPDX-License-Identifier: Apache-2.0
"""Derivatives of evenly sampled signals: central differences and Savitzky-Golay."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.signals.kernels import central
from robot_dynamics.model.arrays import FloatArray

#: Ways to differentiate, by name.
METHODS = ('central', 'first_order', 'savitzky_golay')

# Samples that a central difference looks at.
_SEVEN = 7


def derivative(x: FloatArray, rate: float, method: str = 'central', *, window: int = 21,
               degree: int = 5) -> FloatArray:
    """Return the time derivative of signals along the first axis.

    Parameters
    ----------
    x : ndarray, shape (N, ...)
        Signals; filter them first, but for ``savitzky_golay``, which is a filter itself.
    rate : float
        Samples a second, Hz.
    method : {'central', 'first_order', 'savitzky_golay'}
        Central differences of sixth order (second order at the edges); differences of
        neighbours, half a sample back and forth, as L. Zollo, E. Lopez, L. Spedaliere, N.
        Garcia Aracil and E. Guglielmelli, "Identification of dynamic parameters for robots
        with elastic joints", Advances in Mechanical Engineering 7(2), 2015, section 6; or
        the slope of a polynomial through the samples around (A. Savitzky and M. J. E. Golay,
        "Smoothing and differentiation of data by simplified least squares procedures",
        Analytical Chemistry 36(8), 1964).
    window, degree : int
        Samples and degree of that polynomial.

    Returns
    -------
    ndarray, shape (N, ...)
        Per second.
    """
    if method not in METHODS:
        raise ParameterError(f'is {method!r}', subject='derivative',
                             remedy='choose among ' + ', '.join(METHODS))
    if len(x) < 2:
        return np.zeros_like(x)
    if method == 'savitzky_golay':
        from scipy.signal import savgol_filter
        width = min(window | 1, (len(x) - 1) | 1)
        if width <= degree:
            raise ParameterError(f'of {width} samples is too short for degree {degree}',
                                 subject='window', remedy='give more samples than the degree')
        return savgol_filter(x, width, degree, deriv=1, delta=1.0 / rate, axis=0)
    if method == 'first_order':
        return np.gradient(x, 1.0 / rate, axis=0, edge_order=1)
    if len(x) < _SEVEN:
        return np.gradient(x, 1.0 / rate, axis=0, edge_order=2 if len(x) > 2 else 1)
    flat = np.ascontiguousarray(x, dtype=np.float64).reshape(len(x), -1)
    slope = np.empty_like(flat)
    central.load()(flat, rate, slope)
    slope[:3] = np.gradient(flat[:5], 1.0 / rate, axis=0, edge_order=2)[:3]
    slope[-3:] = np.gradient(flat[-5:], 1.0 / rate, axis=0, edge_order=2)[-3:]
    return slope.reshape(np.shape(x))
