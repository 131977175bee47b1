# SPDX-License-Identifier: Apache-2.0
"""Motions on an even grid from the rows of a log: filtered, differentiated, decimated.

The cut-off is found from the spectrum of the positions: the motion of the arm ends where the
noise of the encoders begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from robot_dynamics.identification.dataset import Dataset, Segment
from robot_dynamics.identification.dataset.dataset import remembered
from robot_dynamics.identification.dataset.settings import require_choice, require_number
from robot_dynamics.identification.filters import (
    METHODS,
    ORDER,
    by_lines,
    derivative,
    evenly,
    low_pass,
)
from robot_dynamics.model.arrays import FloatArray

#: Cut-off of motions as a multiple of that of the equations (parallel filtering): products in
#: the equations contain higher frequencies of the motion.
WIDER = 3.0
#: Sampling rate of motions as a multiple of the cut-off.
SAMPLES = 24.0
#: Largest order of a filter, and largest lag of efforts, s.
LARGEST_ORDER, LARGEST_LAG = 12, 10.0

# Motions made last of each log, shared by equations, friction and charts.
_MADE: WeakKeyDictionary[Dataset, tuple[SignalSettings, tuple[Motion, ...]]] = WeakKeyDictionary()
#: Ratio of power to noise of a frequency of the motion.
ABOVE_NOISE = 10.0
#: Fraction of the power of the acceleration below the cut-off.
SHARE = 0.98
#: Bounds of the cut-off, Hz, and its largest fraction of the sampling rate.
LOWEST, HIGHEST, OF_RATE = 0.5, 100.0, 0.15


@dataclass(frozen=True)
class SignalSettings:
    """Settings of filters and derivatives."""

    #: Cut-off of the equations, Hz: regressors and efforts are filtered there alike.
    cutoff: float
    #: Order of the zero-phase Butterworth filters.
    order: int = ORDER
    #: One of `robot_dynamics.identification.filters.METHODS`.
    derivative: str = 'central'
    #: Source of velocities and accelerations: ``position`` or ``measured``.
    velocity: str = 'position'
    #: Cut-off of the motion as a multiple of that of the equations.
    wider: float = WIDER
    #: Lag of efforts behind the positions they belong to, s.
    lag: float = 0.0

    def __post_init__(self) -> None:
        require_choice('derivative', self.derivative, METHODS)
        require_choice('velocity', self.velocity, ('position', 'measured'))
        require_number('order', self.order, 'give 4', 1, LARGEST_ORDER, whole=True)
        require_number('lag', self.lag, 'give s', -LARGEST_LAG, LARGEST_LAG)
        require_number('cutoff', self.cutoff, 'give a frequency in Hz', closed=False)


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion and efforts of one segment on an even grid of times, s, (N,), with a rate in Hz.

    q, v and a, (N, n), are filtered; efforts, (N, n), lack the frequencies above the rate.
    """

    time: FloatArray
    q: FloatArray
    v: FloatArray
    a: FloatArray
    effort: FloatArray
    rate: float

    @property
    def count(self) -> int:
        """Number of samples."""
        return len(self.time)


def motions_of(dataset: Dataset, settings: SignalSettings) -> tuple[Motion, ...]:
    """Motion of each segment of a log.

    The motions made last are cached for each log; they must not be written to.
    """
    made = _MADE.get(dataset)
    if made is None or made[0] != settings:
        made = settings, tuple(_motion(segment, dataset.period, settings)
                               for segment in dataset.segments)
        _MADE[dataset] = made
    return made[1]


def _motion(segment: Segment, period: float, settings: SignalSettings) -> Motion:
    rate = 1.0 / period
    wide = settings.wider * settings.cutoff
    step = max(1, int(rate / (SAMPLES * settings.cutoff)))
    smoothed = low_pass(evenly(segment.time, segment.position, period), rate, wide,
                        settings.order)
    if settings.velocity == 'measured':
        v = low_pass(evenly(segment.time, segment.velocity, period), rate, wide, settings.order)
    else:
        v = derivative(smoothed, rate, settings.derivative)
    a = derivative(v, rate, settings.derivative)[::step].copy()
    q, v = smoothed[::step].copy(), v[::step].copy()
    effort = (_shifted(segment, settings.lag, period, len(smoothed)) if settings.lag else
              evenly(segment.time, segment.effort, period, smooth=False))
    if step > 1:
        effort = low_pass(effort, rate, 0.4 * rate / step, settings.order)
    effort = effort[::step].copy()
    count = min(len(q), len(effort))
    time = segment.time[0] + period * step * np.arange(count)
    return Motion(time, q[:count], v[:count], a[:count], effort[:count], rate / step)


def _shifted(segment: Segment, lag: float, period: float, count: int) -> FloatArray:
    """Efforts shifted forwards by the lag, on the even grid."""
    at = segment.time[0] + lag + period * np.arange(count)
    return by_lines(at, segment.time, segment.effort)


def spectrum(dataset: Dataset) -> tuple[FloatArray, FloatArray]:
    """Power spectra of the positions, mean removed: frequencies (m,), Hz, and powers (m, n)."""
    from scipy.signal import welch
    rate = 1.0 / dataset.period
    longest = max(dataset.segments, key=lambda segment: len(segment.time))
    q = evenly(longest.time, longest.position, dataset.period)
    length = min(len(q), max(64, 2 ** int(np.log2(max(len(q) / 4, 1)))))
    frequency, power = welch(q, fs=rate, nperseg=length, axis=0, detrend='linear')
    return frequency, power


@remembered
def cutoff_of(dataset: Dataset) -> float:
    """Cut-off of the motion in the positions of a log, Hz.

    The noise of a joint is the median power of the upper half of its frequencies; its motion ends
    at the first frequency with less than `ABOVE_NOISE` times that power. The cut-off is reached
    at the fraction `SHARE` of the power of the acceleration, for the fastest joint, but at most
    at twice the median over the joints: a single vibrating joint must not decide.
    """
    frequency, power = spectrum(dataset)
    ends = []
    for one in power.T:
        floor = np.median(one[len(one) // 2:])
        below = np.flatnonzero(one[1:] <= ABOVE_NOISE * floor)
        end = below[0] + 1 if len(below) else len(one) - 1
        weight = np.cumsum(one[:end + 1] * frequency[:end + 1] ** 4)
        if weight[-1] > 0.0:
            ends.append(frequency[np.searchsorted(weight, SHARE * weight[-1])])
    highest = min(HIGHEST, OF_RATE / dataset.period)
    if not ends:
        return highest
    chosen = min(max(ends), 2.0 * float(np.median(ends)))
    return float(np.clip(chosen, LOWEST, highest))
