# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters that shift nothing in time, and what they let through."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.signals.kernels import cascade
from robot_dynamics.model.arrays import FloatArray

#: Order of the Butterworth filter; run forwards and backwards it falls off twice as fast.
ORDER = 4
#: A filter of this share of the sampling rate or more is none.
_ALL = 0.45


def low_pass(x: FloatArray, rate: float, cutoff: float, order: int = ORDER) -> FloatArray:
    """Return signals without what is faster than a cut-off, and without delay.

    A Butterworth filter forwards and backwards: amplitude 1 / (1 + (f / cutoff)^(2 order)).

    Parameters
    ----------
    x : ndarray, shape (N, ...)
        Signals along the first axis.
    rate : float
        Samples a second, Hz.
    cutoff : float
        Where half of the amplitude is left, Hz; from 0.45 of the rate on nothing is done.
    order : int
        Of the filter that is run twice.

    Returns
    -------
    ndarray, shape (N, ...)
        Filtered. The first and last 1 / cutoff seconds depend on what is assumed outside.
    """
    if not 0.0 < cutoff < np.inf:
        raise ParameterError(f'is {cutoff!r}', subject='cutoff', remedy='give a frequency in Hz')
    if not 1 <= order <= 12:
        raise ParameterError(f'is {order!r}', subject='order', remedy='give 1 to 12')
    if cutoff >= _ALL * rate or len(x) < 8:
        return np.array(x, dtype=np.float64)
    padding = min(len(x) - 1, int(3.0 * rate / cutoff))
    flat = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
    # Continued by its own mirror image about the ends, as scipy.signal.sosfiltfilt does.
    run = np.ascontiguousarray(np.concatenate([
        2.0 * flat[:1] - flat[padding:0:-1], flat, 2.0 * flat[-1:] - flat[-2:-padding - 2:-1]]))
    sections, rest = _sections(order, cutoff / rate)
    for first, backwards in ((0, False), (-1, True)):
        # Each way begins as if its first value had been there for ever.
        cascade.load()(sections, run, rest[:, :, np.newaxis] * run[first], backwards)
    return run[padding:padding + len(x)].reshape(np.shape(x)).copy()


@lru_cache(maxsize=64)
def _sections(order: int, cutoff: float) -> tuple[FloatArray, FloatArray]:
    """Return a Butterworth filter and its state at rest under a constant signal of one.

    The cut-off is a share of the sampling rate.
    """
    from scipy.signal import butter, sosfilt_zi
    sections = butter(order, cutoff, fs=1.0, output='sos')
    return np.ascontiguousarray(sections), np.ascontiguousarray(sosfilt_zi(sections))


def settling(cutoff: float) -> float:
    """Return after how many seconds a filter has forgotten its edge (to 1e-6)."""
    return 6.0 / cutoff
