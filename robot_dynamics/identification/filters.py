# SPDX-License-Identifier: Apache-2.0
"""Zero-phase low-pass filters, derivatives and even grids of sampled signals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.dataset.settings import require_choice, require_number
from robot_dynamics.model.arrays import BoolArray, FloatArray

#: Order of the Butterworth filter; run forwards and backwards it falls off twice as fast.
ORDER = 4
#: Cut-offs above this fraction of the sampling rate do not filter.
_ALL = 0.45
#: Ways to differentiate, by name.
METHODS = ('central', 'first_order', 'savitzky_golay')

# Samples in a central difference.
_SEVEN = 7
# Relative deviation of stamps that count as even.
_EVEN = 1e-3
# Rows of a spline at a time, and rows on both sides until its ends have no effect.
_PIECE, _MARGIN = 65536, 32


def low_pass(x: FloatArray, rate: float, cutoff: float, order: int = ORDER) -> FloatArray:
    """Signals along the first axis filtered by a zero-phase Butterworth low-pass, shape (N, ...).

    The filter runs forwards and backwards: amplitude 1 / (1 + (f / cutoff)^(2 order)). From a
    cut-off, Hz, of 0.45 of the rate on nothing is filtered. The first and last 1 / cutoff seconds
    depend on the assumed continuation of the signal.
    """
    require_number('cutoff', cutoff, 'give a frequency in Hz', closed=False)
    require_number('order', order, 'give 4', 1, 12, whole=True)
    if cutoff >= _ALL * rate or len(x) < 8:
        return np.array(x, dtype=np.float64)
    padding = min(len(x) - 1, int(3.0 * rate / cutoff))
    flat = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
    # Odd extension about the ends, as in scipy.signal.sosfiltfilt.
    run = np.ascontiguousarray(np.concatenate([
        2.0 * flat[:1] - flat[padding:0:-1], flat, 2.0 * flat[-1:] - flat[-2:-padding - 2:-1]]))
    sections, rest = _sections(order, cutoff / rate)
    for first, backwards in ((0, False), (-1, True)):
        # The initial state is that of a constant signal.
        cascade.load()(sections, run, rest[:, :, np.newaxis] * run[first], backwards)
    return run[padding:padding + len(x)].reshape(np.shape(x)).copy()


@lru_cache(maxsize=64)
def _sections(order: int, cutoff: float) -> tuple[FloatArray, FloatArray]:
    """Second-order sections of a Butterworth filter, and their state under a constant input of 1.

    The cut-off is a fraction of the sampling rate.
    """
    from scipy.signal import butter, sosfilt_zi
    sections = butter(order, cutoff, fs=1.0, output='sos')
    return np.ascontiguousarray(sections), np.ascontiguousarray(sosfilt_zi(sections))


def settling(cutoff: float) -> float:
    """Time after which a filter has forgotten its edge (to 1e-6), s."""
    return 6.0 / cutoff


def derivative(x: FloatArray, rate: float, method: str = 'central', *, window: int = 21,
               degree: int = 5) -> FloatArray:
    """Time derivative of signals along the first axis, shape (N, ...), per second.

    Parameters
    ----------
    x : ndarray, shape (N, ...)
        Signals, filtered except for ``savitzky_golay``, which filters by itself.
    rate : float
        Sampling rate, Hz.
    method : {'central', 'first_order', 'savitzky_golay'}
        Central differences of sixth order (second order at the edges); differences of
        neighbours, half a sample forwards and backwards, as L. Zollo, E. Lopez, L. Spedaliere,
        N. Garcia Aracil and E. Guglielmelli, "Identification of dynamic parameters for robots
        with elastic joints", Advances in Mechanical Engineering 7(2), 2015, section 6; or the
        slope of a fitted polynomial (A. Savitzky and M. J. E. Golay, "Smoothing and
        differentiation of data by simplified least squares procedures", Analytical Chemistry
        36(8), 1964).
    window, degree : int
        Samples and degree of that polynomial.
    """
    require_choice('derivative', method, METHODS)
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


def grid(time: FloatArray, period: float) -> FloatArray:
    """Even grid between the first and the last time, shape (M,), s."""
    count = int(np.floor((time[-1] - time[0]) / period * (1.0 + 1e-12) + _EVEN)) + 1
    return time[0] + period * np.arange(count)


def evenly(time: FloatArray, x: FloatArray, period: float, *, smooth: bool = True) -> FloatArray:
    """Signals, (N, n), at strictly increasing times on the even `grid`, shape (M, n).

    By cubic splines, for positions; otherwise by lines, for efforts, which jump.
    """
    at = grid(time, period)
    if len(at) == len(time) and np.max(np.abs(time - at)) < _EVEN * period:
        return np.ascontiguousarray(x)
    if not smooth or len(time) < 4:
        return by_lines(at, time, x)
    from scipy.interpolate import make_interp_spline
    out = np.empty((len(at), x.shape[1]))
    for start in range(0, len(at), _PIECE):
        piece = slice(start, min(start + _PIECE, len(at)))
        a, b = np.searchsorted(time, (at[piece][0], at[piece][-1]))
        near = slice(max(a - _MARGIN, 0), min(b + _MARGIN, len(time)))
        out[piece] = make_interp_spline(time[near], x[near], k=3)(at[piece])
    return out


def by_lines(at: FloatArray, time: FloatArray, x: FloatArray) -> FloatArray:
    """Signals, (N, n), at other times by linear interpolation, shape (M, n)."""
    return np.stack([np.interp(at, time, column) for column in x.T], axis=1)


def lasting(true: BoolArray, least: float) -> BoolArray:
    """Mask of runs of true values of at least a number of samples."""
    out = np.zeros_like(true)
    edges = np.diff(np.concatenate([[0], true.astype(np.int8), [0]]))
    for first, end in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        out[first:end] = end - first >= least
    return out


def widened(true: BoolArray, margin: int) -> BoolArray:
    """Mask widened by a number of samples on both sides."""
    edges = np.diff(np.concatenate([[0], true.astype(np.int8), [0]]))
    change = np.zeros(len(true) + 1, dtype=np.int64)
    np.add.at(change, np.maximum(np.flatnonzero(edges == 1) - margin, 0), 1)
    np.add.at(change, np.minimum(np.flatnonzero(edges == -1) + margin, len(true)), -1)
    return np.cumsum(change[:-1]) > 0


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, :, ::1], boolean)',
        on_demand=True, nogil=True)
def cascade(sections, x, state, backwards):
    """Filter x, (N, k), by a cascade of second-order sections, in place.

    Transposed direct form II. A row of sections, (s, 6), holds b0 b1 b2 and 1 a1 a2; state,
    (s, 2, k), is the initial state and becomes the final one. With backwards, the filter runs
    from the last row to the first.
    """
    for row in range(x.shape[0]):
        i = x.shape[0] - 1 - row if backwards else row
        for s in range(sections.shape[0]):
            b0, b1, b2 = sections[s, 0], sections[s, 1], sections[s, 2]
            a1, a2 = sections[s, 4], sections[s, 5]
            for k in range(x.shape[1]):
                value = x[i, k]
                out = b0 * value + state[s, 0, k]
                state[s, 0, k] = b1 * value - a1 * out + state[s, 1, k]
                state[s, 1, k] = b2 * value - a2 * out
                x[i, k] = out


@kernel('void(float64[:, ::1], float64, float64[:, ::1])', on_demand=True, nogil=True)
def central(x, rate, out):
    """Write the slope of x, (N, k), from three samples on both sides into rows 3 to N - 4.

    Its relative error is (w T)^6 / 140.
    """
    for i in range(3, x.shape[0] - 3):
        for k in range(x.shape[1]):
            near, far = x[i + 1, k] - x[i - 1, k], x[i + 2, k] - x[i - 2, k]
            out[i, k] = rate * (45.0 * near - 9.0 * far + (x[i + 3, k] - x[i - 3, k])) / 60.0
