# SPDX-License-Identifier: Apache-2.0
"""Recorded signals, thinned for charts."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.model.arrays import FloatArray

#: Multiple of the usual distance of samples above which a recording has a gap.
GAP = 2.5
#: Samples of a chart: five minutes at 40 Hz, with a lower rate in longer runs.
MOST_SAMPLES = 12_000


def grid(begin: float, end: float, rate: float) -> FloatArray:
    """Times from the begin on at a rate in Hz, at most `MOST_SAMPLES`."""
    return np.arange(begin, end, max(1.0 / rate, (end - begin) / MOST_SAMPLES))


def moving_rms(time: FloatArray, values: FloatArray, at: FloatArray, width: float) -> FloatArray:
    """RMS of each column over windows of a width that end at given times, nan for empty ones."""
    # nan samples do not count, and must not affect later sums.
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
    """Newest sample at each of the given times; before the first sample, that one."""
    return values[np.clip(np.searchsorted(time, at, side='right') - 1, 0, None)]


def with_gaps(time: FloatArray, values: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """About `most` of the samples, with a row of nan in every gap to interrupt lines."""
    steps = np.diff(time)
    piece = np.concatenate([[0], np.cumsum(steps > GAP * np.median(steps))]) if len(steps) \
        else np.zeros(len(time))
    thin = slice(None, None, max(1, -(-len(time) // most)))
    time, values, piece = time[thin], values[thin], piece[thin]
    gaps = np.flatnonzero(np.diff(piece)) + 1
    return (np.insert(time, gaps, 0.5 * (time[gaps - 1] + time[gaps])),
            np.insert(values, gaps, np.nan, axis=0))


def worst(time: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Largest value between each of the given times and the next, nan if there is none."""
    result = np.full(len(at), np.nan)
    slot = np.searchsorted(at, time, side='right') - 1
    inside = slot >= 0
    np.fmax.at(result, slot[inside], values[inside])
    return result


def histogram(values: FloatArray, bins: int = 60) -> dict[str, Any]:
    """Counts over equal bins from zero to the 99.9th percentile; larger values in the last."""
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return {'edges': [], 'counts': []}
    top = max(float(np.percentile(values, 99.9)), 1e-9)
    counts, edges = np.histogram(np.minimum(values, top), bins=bins, range=(0.0, top))
    return {'edges': rounded(edges), 'counts': counts.tolist()}


def rounded(values: FloatArray, figures: int = 4) -> Any:
    """Nested lists of numbers with this many significant figures, None for nan."""
    array = np.asarray(values, dtype=np.float64)
    with np.errstate(divide='ignore', invalid='ignore'):
        exponent = np.floor(np.log10(np.abs(array)))
    decimals = figures - 1 - np.where(np.isfinite(exponent), exponent, 0)
    scale = 10.0 ** np.clip(decimals, -300, 300)
    result = np.round(array * scale) / scale
    plain = result.astype(object)
    plain[~np.isfinite(result)] = None
    return plain.tolist()
