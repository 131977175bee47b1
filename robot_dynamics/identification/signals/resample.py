# SPDX-License-Identifier: Apache-2.0
"""Rows with uneven stamps on an even grid."""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.arrays import FloatArray

# Stamps that are even to this part of a period are taken as they are.
_EVEN = 1e-3
# Rows of a spline at a time, and rows on both sides that it needs to forget its ends.
_PIECE, _MARGIN = 65536, 32


def grid(time: FloatArray, period: float) -> FloatArray:
    """Return the even grid between the first and the last time, shape (M,)."""
    count = int(np.floor((time[-1] - time[0]) / period * (1.0 + 1e-12) + _EVEN)) + 1
    return time[0] + period * np.arange(count)


def evenly(time: FloatArray, x: FloatArray, period: float, *, smooth: bool = True) -> FloatArray:
    """Return signals on `grid`.

    Parameters
    ----------
    time : ndarray, shape (N,)
        Strictly increasing, s.
    x : ndarray, shape (N, n)
        Signals.
    period : float
        s.
    smooth : bool
        By a cubic spline, for positions; else by straight lines, for efforts, which jump.

    Returns
    -------
    ndarray, shape (M, n)
        Signals at the times of the grid.
    """
    at = grid(time, period)
    if len(at) == len(time) and np.max(np.abs(time - at)) < _EVEN * period:
        return np.ascontiguousarray(x)
    if not smooth or len(time) < 4:
        return np.stack([np.interp(at, time, column) for column in x.T], axis=1)
    from scipy.interpolate import make_interp_spline
    out = np.empty((len(at), x.shape[1]))
    for start in range(0, len(at), _PIECE):
        piece = slice(start, min(start + _PIECE, len(at)))
        a, b = np.searchsorted(time, (at[piece][0], at[piece][-1]))
        near = slice(max(a - _MARGIN, 0), min(b + _MARGIN, len(time)))
        out[piece] = make_interp_spline(time[near], x[near], k=3)(at[piece])
    return out
