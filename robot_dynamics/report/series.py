# SPDX-License-Identifier: Apache-2.0
"""Thins recorded signals to what a chart can show."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.model.arrays import FloatArray

#: A recording has a gap where the next sample is so many times further than usual.
GAP = 2.5
#: Samples of a chart: five minutes at 40 Hz, and less often in longer runs.
MOST_SAMPLES = 12_000


def grid(begin: float, end: float, rate: float) -> FloatArray:
    """Return times from the begin on, so many a second but never more than `MOST_SAMPLES`."""
    return np.arange(begin, end, max(1.0 / rate, (end - begin) / MOST_SAMPLES))


def moving_rms(time: FloatArray, values: FloatArray, at: FloatArray, width: float) -> FloatArray:
    """Return the RMS of each column over a window that ends at each of the given times.

    Parameters
    ----------
    time : ndarray, shape (k,)
        Ascending times of the samples, s.
    values : ndarray, shape (k, n)
        Samples.
    at : ndarray, shape (m,)
        Where the result is wanted, s.
    width : float
        Length of the window, s.

    Returns
    -------
    ndarray, shape (m, n)
        nan where a window holds no sample.
    """
    # Samples that are nan do not count, and must not spoil the sums after them.
    known = np.isfinite(values)
    nothing = np.zeros(values.shape[1])
    squares = np.vstack([nothing, np.cumsum(np.where(known, values, 0.0) ** 2, axis=0)])
    counts = np.vstack([nothing, np.cumsum(known, axis=0)])
    last = np.searchsorted(time, at, side='right')
    first = np.searchsorted(time, at - width, side='right')
    with np.errstate(invalid='ignore', divide='ignore'):
        return np.sqrt(np.maximum(squares[last] - squares[first], 0.0)
                       / (counts[last] - counts[first]))


def sample(time: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Return the newest sample at each of the given times, shape (m, n).

    Parameters
    ----------
    time : ndarray, shape (k,)
        Ascending times of the samples, s.
    values : ndarray, shape (k, n)
        Samples.
    at : ndarray, shape (m,)
        Where the result is wanted, s. Before the first sample it is the first.
    """
    return values[np.clip(np.searchsorted(time, at, side='right') - 1, 0, None)]


def with_gaps(time: FloatArray, values: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Return at most so many of the samples, and a row of nan wherever a recording has a gap.

    Parameters
    ----------
    time : ndarray, shape (k,)
        Ascending times, s, evenly spaced but for gaps.
    values : ndarray, shape (k, m)
        Samples.
    most : int
        How many samples are wanted; rows of nan come on top.

    Returns
    -------
    time : ndarray, shape (l,)
        A row of nan stands in the middle of its gap.
    values : ndarray, shape (l, m)
        A line through them has a hole where nothing was recorded.
    """
    steps = np.diff(time)
    piece = np.concatenate([[0], np.cumsum(steps > GAP * np.median(steps))]) if len(steps) \
        else np.zeros(len(time))
    thin = slice(None, None, max(1, -(-len(time) // most)))
    time, values, piece = time[thin], values[thin], piece[thin]
    gaps = np.flatnonzero(np.diff(piece)) + 1
    return (np.insert(time, gaps, 0.5 * (time[gaps - 1] + time[gaps])),
            np.insert(values, gaps, np.nan, axis=0))


def worst(time: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Return the largest value between each of the given times and the next, shape (m,).

    nan where there is no sample.
    """
    result = np.full(len(at), np.nan)
    slot = np.searchsorted(at, time, side='right') - 1
    inside = slot >= 0
    np.fmax.at(result, slot[inside], values[inside])
    return result


def histogram(values: FloatArray, bins: int = 60) -> dict[str, Any]:
    """Return counts over equal bins from zero to the 99.9th percentile; the rest in the last."""
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return {'edges': [], 'counts': []}
    top = max(float(np.percentile(values, 99.9)), 1e-9)
    counts, edges = np.histogram(np.minimum(values, top), bins=bins, range=(0.0, top))
    return {'edges': rounded(edges), 'counts': counts.tolist()}


def rounded(values: FloatArray, figures: int = 4) -> Any:
    """Return nested lists of numbers with so many significant figures, None for nan."""
    array = np.asarray(values, dtype=np.float64)
    with np.errstate(divide='ignore', invalid='ignore'):
        exponent = np.floor(np.log10(np.abs(array)))
    decimals = figures - 1 - np.where(np.isfinite(exponent), exponent, 0)
    scale = 10.0 ** np.clip(decimals, -300, 300)
    result = np.round(array * scale) / scale
    return np.where(np.isfinite(result), result.astype(object), None).tolist()
