# SPDX-License-Identifier: Apache-2.0
"""Zero-phase filters, derivatives and even grids of signals, and filtered motions of a log.

The cut-off follows from the spectrum of the positions: it is the frequency above which encoder
noise exceeds the motion of the arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.dataset.dataset import Dataset, Segment, remembered
from robot_dynamics.identification.dataset.settings import require_choice, require_number
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray

#: Order of the Butterworth filter; forwards and backwards, its slope is twice as steep.
ORDER = 4
#: Fraction of the sampling rate above which a cut-off has no effect.
_ALL = 0.45
#: Ways to differentiate, by name.
METHODS = ('central', 'first_order', 'savitzky_golay')
# Samples in a central difference.
_SEVEN = 7
# Relative deviation of stamps that count as even.
_EVEN = 1e-3
# Rows of a spline at a time, and rows on both sides until its ends have no effect.
_PIECE, _MARGIN = 65536, 32
#: Cut-off of motions as a multiple of that of the equations (parallel filtering): products in
#: the equations contain higher frequencies of the motion.
WIDER = 3.0
#: Sampling rate of motions as a multiple of the cut-off.
SAMPLES = 24.0
#: Time left out at both ends of a segment, in which filters and presliding settle, s; and its
#: largest fraction of the segment.
TRIM, TRIM_SHARE = 0.5, 0.1
#: Largest order of a filter, and largest lag of efforts, s.
LARGEST_ORDER, LARGEST_LAG = 12, 10.0

# Number of cached motions of each log, shared by equations, friction and charts.
_MADE: WeakKeyDictionary[Dataset, tuple[SignalSettings, tuple[Motion, ...]]] = WeakKeyDictionary()
#: Ratio of power to noise of a frequency of the motion.
ABOVE_NOISE = 10.0
#: Fraction of the power of the acceleration below the cut-off.
SHARE = 0.98
#: Bounds of the cut-off, Hz, and its largest fraction of the sampling rate.
LOWEST, HIGHEST, OF_RATE = 0.5, 100.0, 0.15


@dataclass(frozen=True)
class SignalSettings:
    """Settings of filters and derivatives.

    Parameters
    ----------
    cutoff : float
        Cut-off of the equations, Hz: regressors and efforts are filtered there alike.
    order : int
        Order of the zero-phase Butterworth filters.
    derivative : str
        One of `robot_dynamics.identification.signals.METHODS`.
    velocity : str
        Source of velocities and accelerations: ``position`` or ``measured``.
    wider : float
        Cut-off of the motion as a multiple of that of the equations.
    lag : float
        Lag of efforts behind the corresponding positions, s.

    Examples
    --------
    >>> from robot_dynamics.identification import SignalSettings
    >>> SignalSettings(5.0).velocity
    'position'
    """

    cutoff: float
    order: int = ORDER
    derivative: str = 'central'
    velocity: str = 'position'
    wider: float = WIDER
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

    q, v and a, (N, n), are filtered; efforts, (N, n), are band-limited to the rate.
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

    @property
    def trim(self) -> int:
        """Number of samples at each end at which filters and presliding have not settled."""
        return int(np.ceil(min(TRIM * self.rate, TRIM_SHARE * self.count)))


def motions_of(dataset: Dataset, settings: SignalSettings) -> tuple[Motion, ...]:
    """Motion of each segment of a log.

    The latest motions of each log are cached and must not be written to.
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
    at the fraction `SHARE` of the power of the acceleration, for the fastest joint, but at most at
    twice the median over the joints, so that a single vibrating joint does not determine it.
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


def low_pass(x: FloatArray, rate: float, cutoff: float, order: int = ORDER,
             rows: slice | IntArray = slice(None)) -> FloatArray:
    """Signals along the first axis filtered by a zero-phase Butterworth low-pass, shape (N, ...).

    The filter runs forwards and backwards: amplitude 1 / (1 + (f / cutoff)^(2 order)). With a
    cut-off, Hz, of 0.45 of the rate or more, signals are not filtered. The first and last 1 /
    cutoff seconds depend on the assumed continuation of the signal. Only ``rows`` are returned.
    """
    require_number('cutoff', cutoff, 'give a frequency in Hz', closed=False)
    require_number('order', order, 'give 4', 1, LARGEST_ORDER, whole=True)
    if cutoff >= _ALL * rate or len(x) < 8:
        return np.array(x[rows], dtype=np.float64)
    padding = min(len(x) - 1, int(3.0 * rate / cutoff))
    flat = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
    # Odd extension about the ends, as in scipy.signal.sosfiltfilt.
    run = np.empty((len(x) + 2 * padding, flat.shape[1]))
    inner = run[padding:padding + len(x)]
    run[:padding] = 2.0 * flat[:1] - flat[padding:0:-1]
    inner[:] = flat
    run[padding + len(x):] = 2.0 * flat[-1:] - flat[-2:-padding - 2:-1]
    sections, rest = _sections(order, cutoff / rate)
    for first, backwards in ((0, False), (-1, True)):
        # The initial state is that of a constant signal.
        states = (rest[:, k, np.newaxis] * run[first] for k in range(2))
        cascade.load()(sections, run, *states, backwards)
    return inner[rows].reshape(-1, *np.shape(x)[1:]).copy()


@lru_cache(maxsize=64)
def _sections(order: int, cutoff: float) -> tuple[FloatArray, FloatArray]:
    """Second-order sections of a Butterworth filter, and their state under a constant input of 1.

    The cut-off is a fraction of the sampling rate.
    """
    from scipy.signal import butter, sosfilt_zi
    sections = butter(order, cutoff, fs=1.0, output='sos')
    return np.ascontiguousarray(sections), np.ascontiguousarray(sosfilt_zi(sections))


def settling(cutoff: float) -> float:
    """Time after which the effect of an edge on a filter is below 1e-6, s."""
    return 6.0 / cutoff


def derivative(x: FloatArray, rate: float, method: str = 'central', *, window: int = 21,
               degree: int = 5) -> FloatArray:
    """Time derivative of signals along the first axis, shape (N, ...), per second.

    Parameters
    ----------
    x : ndarray, shape (N, ...)
        Signals; filter them first, except for ``savitzky_golay``, which is a filter itself.
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
    central.load()(flat.ravel(), flat.shape[1], rate, slope.ravel())
    slope[:3] = np.gradient(flat[:5], 1.0 / rate, axis=0, edge_order=2)[:3]
    slope[-3:] = np.gradient(flat[-5:], 1.0 / rate, axis=0, edge_order=2)[-3:]
    return slope.reshape(np.shape(x))


def grid(time: FloatArray, period: float) -> FloatArray:
    """Even grid between the first and the last time, shape (M,), s."""
    count = int(np.floor((time[-1] - time[0]) / period * (1.0 + 1e-12) + _EVEN)) + 1
    return time[0] + period * np.arange(count)


def evenly(time: FloatArray, x: FloatArray, period: float, *, smooth: bool = True) -> FloatArray:
    """Signals, (N, n), at strictly increasing times on the even `grid`, shape (M, n).

    By cubic splines for positions, or by linear interpolation for efforts, which may jump.
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


@kernel('void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], boolean)',
        on_demand=True, nogil=True)
def cascade(sections, x, first, second, backwards):
    """Filter x, (N, k), by a cascade of second-order sections, in place.

    Transposed direct form II. A row of sections, (s, 6), holds b0 b1 b2 and 1 a1 a2; first and
    second, (s, k), are the initial states and become the final ones. With backwards, the filter
    runs from the last row to the first. With one array of states, the compiler would not
    vectorise the loop over the columns.
    """
    for row in range(x.shape[0]):
        i = x.shape[0] - 1 - row if backwards else row
        for s in range(sections.shape[0]):
            b0, b1, b2 = sections[s, 0], sections[s, 1], sections[s, 2]
            a1, a2 = sections[s, 4], sections[s, 5]
            for k in range(x.shape[1]):
                value = x[i, k]
                out = b0 * value + first[s, k]
                first[s, k] = b1 * value - a1 * out + second[s, k]
                second[s, k] = b2 * value - a2 * out
                x[i, k] = out


@kernel('void(float64[::1], int64, float64, float64[::1])', on_demand=True, nogil=True)
def central(x, k, rate, out):
    """Write the slope of x, (N k,), from three samples on both sides into rows 3 to N - 4.

    Rows of k signals follow each other. The relative error is (w T)^6 / 140.
    """
    for i in range(3 * k, x.size - 3 * k):
        near, far = x[i + k] - x[i - k], x[i + 2 * k] - x[i - 2 * k]
        out[i] = rate * (45.0 * near - 9.0 * far + (x[i + 3 * k] - x[i - 3 * k])) / 60.0
