# SPDX-License-Identifier: Apache-2.0
"""Resonances of a joint or an arm, from a torque and the resulting motion.

A linear difference equation between both is fitted by least squares; its order is selected by the
error of a free simulation (L. Ljung, "System Identification: Theory for the User", 1999, section
4.2)::

    y(t) = sum_i a_i y(t - i) + sum_i b_i u(t - i)

Its poles z give the resonances: with s = rate log z, the frequency |s| / 2 pi and the damping
ratio -Re s / |s|. An inertia J on a spring K resonates at sqrt(K / J).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.model.arrays import FloatArray

#: Candidate orders.
ORDERS = (2, 4, 6, 8)
#: Required relative improvement of the free simulation by a higher order.
GAIN = 0.1
#: Largest damping ratio of a resonance, and its least amplitude relative to the largest.
DAMPED, SHARE = 0.3, 0.02
#: Least power of the torque at a resonance relative to its largest: with less, the equation fits
#: noise.
EXCITED = 1e-6


@dataclass(frozen=True)
class Mode:
    """A resonance: frequency, Hz or cycles per sample without a rate, and damping ratio."""

    frequency: float
    damping: float


@dataclass(frozen=True, eq=False)
class ModesReport:
    """Resonances between a torque and a motion."""

    #: Resonances by frequency.
    modes: tuple[Mode, ...]
    #: Order of the difference equation.
    order: int
    #: Error of predictions of the next sample, relative to the output.
    one_step: float
    #: Error of the free simulation from the torque alone.
    simulated: float
    #: Whether frequencies are in Hz.
    has_rate: bool
    #: J (2 pi f)^2 of the lowest resonance, nan without an inertia or a rate.
    stiffness: float
    #: Frequencies, shape (m,), and amplitudes of the output per torque there by the equation.
    frequency: FloatArray
    gain: FloatArray
    #: The same amplitudes from spectra.
    measured: FloatArray


def examine_modes(torque: FloatArray, output: FloatArray, rate: float, *, has_rate: bool = True,
                  inertia: float | None = None, name: str = 'joint') -> ModesReport:
    """Resonances from a torque to an acceleration (or velocity, or position), shape (N,) each.

    The rate is in Hz, or 1 if unknown; ``inertia`` is what the spring carries, kg m^2 or kg, and
    ``name`` is for messages.
    """
    from scipy.signal import csd, freqz, lfilter, welch
    u, y = torque - np.mean(torque), output - np.mean(output)
    if len(u) < 20 * max(ORDERS) or not (np.any(u) and np.any(y)):
        raise RecordingError('has too few samples for resonances, or a constant signal',
                             subject=name, remedy='record torque and motion')
    size = float(np.linalg.norm(y))
    best: tuple[float, int, FloatArray, FloatArray] | None = None
    for order in ORDERS:
        a, b = _fitted(u, y, order)
        simulated = float(np.linalg.norm(y - _simulated(a, b, u, y))) / size
        if best is None or (np.isfinite(simulated) and simulated < (1.0 - GAIN) * best[0]):
            best = (simulated, order, a, b)
    assert best is not None
    simulated, order, a, b = best
    predicted = lfilter(b, [1.0], u) - lfilter(np.r_[0.0, a[1:]], [1.0], y)
    one_step = float(np.linalg.norm((y - predicted)[order:]) / np.linalg.norm(y[order:]))
    pieces = min(len(u) // 4, 1024)
    frequency, cross = csd(u, y, fs=rate, nperseg=pieces)
    power = welch(u, fs=rate, nperseg=pieces)[1]
    gain = np.abs(freqz(b, a, frequency, fs=rate)[1])
    measured = np.abs(cross) / np.maximum(power, 1e-12 * power.max())
    modes = tuple(mode for mode in _modes(a, b, rate)
                  if power[np.argmin(np.abs(frequency - mode.frequency))] > EXCITED * power.max())
    K = np.nan
    if inertia is not None and has_rate and modes:
        K = inertia * (2.0 * np.pi * modes[0].frequency) ** 2
    return ModesReport(modes, order, one_step, simulated, has_rate, K, frequency[1:], gain[1:],
                       measured[1:])


def _fitted(u: FloatArray, y: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Denominators (1, -a_1 ...) and numerators (b_0 ...)."""
    count = len(y)
    past = [y[order - i:count - i] for i in range(1, order + 1)]
    drive = [u[order - i:count - i] for i in range(order + 1)]
    W = np.stack(past + drive, axis=1)
    lengths = np.linalg.norm(W, axis=0)
    lengths[lengths == 0.0] = 1.0
    x = np.linalg.lstsq(W / lengths, y[order:], rcond=None)[0] / lengths
    return np.r_[1.0, -x[:order]], x[order:]


def _simulated(a: FloatArray, b: FloatArray, u: FloatArray, y: FloatArray) -> FloatArray:
    """Free simulation of the output from the first measured samples."""
    from scipy.signal import lfilter, lfiltic
    order = len(a) - 1
    begun = lfiltic(b, a, y[order - 1::-1], u[order - 1::-1])
    return np.r_[y[:order], lfilter(b, a, u[order:], zi=begun)[0]]


def _modes(a: FloatArray, b: FloatArray, rate: float) -> tuple[Mode, ...]:
    """Resonances that contribute to the output."""
    from scipy.signal import residuez
    residues, poles, _ = residuez(b, a)
    found = []
    for residue, z in zip(residues, poles, strict=True):
        if z.imag <= 1e-9:
            continue
        s = rate * np.log(z)
        damping = -s.real / abs(s)
        if 0.0 < damping < DAMPED:
            found.append((abs(residue) / (1.0 - abs(z)), Mode(abs(s) / (2.0 * np.pi), damping)))
    largest = max((height for height, _ in found), default=0.0)
    return tuple(sorted((mode for height, mode in found if height > SHARE * largest),
                        key=lambda mode: mode.frequency))
