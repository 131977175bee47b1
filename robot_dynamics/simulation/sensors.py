# SPDX-License-Identifier: Apache-2.0
"""Sensors of a simulated arm: noise, resolution and delay of its ``joint_states``."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import SimulationError
from robot_dynamics.model.arrays import FloatArray


@dataclass(frozen=True)
class SensorQuality:
    """Quality of the sensors of an arm; the defaults are perfect sensors.

    Parameters
    ----------
    position_resolution : float
        Step of the encoder: 2 pi / 2^16 for 16 bits. rad or m.
    position_noise, velocity_noise, effort_noise : float
        Standard deviation of white noise. rad or m, rad/s or m/s, N m or N.
    delay : float
        Age of the reported state, which its stamp shows. s.
    signal_to_noise : float
        Ratio of the standard deviation of each position and velocity so far to that of additional
        white noise; 0 for no such noise.

    Examples
    --------
    >>> import math
    >>> from robot_dynamics.simulation import SensorQuality
    >>> SensorQuality(position_resolution=2 * math.pi / 2**16, delay=0.001).delay
    0.001
    """

    position_resolution: float = 0.0
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    effort_noise: float = 0.0
    delay: float = 0.0
    signal_to_noise: float = 0.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not (np.isfinite(value) and value >= 0.0):
                raise SimulationError(f'must be zero or positive, got {value}',
                                      subject=entry.name,
                                      remedy='give zero for a perfect sensor')


@dataclass(frozen=True, eq=False)
class Reading:
    """One measurement of all joints at a time, s: q, v and effort, shape (n,), SI units."""

    stamp: float
    q: FloatArray
    v: FloatArray
    effort: FloatArray


class JointSensors:
    """Turns the true state of an arm into the state that its driver reports.

    Parameters
    ----------
    quality : SensorQuality
        Noise, resolution and delay.
    seed : int
        Seed of the noise: equal seeds give equal readings.

    Examples
    --------
    >>> from robot_dynamics.simulation import JointSensors, SensorQuality
    >>> sensors = JointSensors(SensorQuality(position_resolution=0.1))
    >>> sensors.read(0.0, [0.52], [0.0], [0.0]).q.round(3).tolist()
    [0.5]
    """

    def __init__(self, quality: SensorQuality | None = None, *, seed: int = 0):
        self.quality = SensorQuality() if quality is None else quality
        self._random = np.random.default_rng(seed)
        self._pending: deque[Reading] = deque()
        self._spreads = {'position': _Spread(), 'velocity': _Spread()}

    def reset(self) -> None:
        """Reset delayed readings and the spread of signals."""
        self._pending.clear()
        self._spreads = {signal: _Spread() for signal in self._spreads}

    def read(self, time: float, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Reading:
        """Measure the true state in SI units; returns the reading that the driver reports.

        It is the newest reading at least `SensorQuality.delay` old, else the oldest one. The
        time of measurements, s, never decreases.
        """
        quality = self.quality
        q = self._noisy(q, quality.position_noise, 'position')
        if quality.position_resolution > 0.0:
            q = quality.position_resolution * np.round(q / quality.position_resolution)
        self._pending.append(Reading(time, q, self._noisy(v, quality.velocity_noise, 'velocity'),
                                     self._noisy(effort, quality.effort_noise)))
        # With a tolerance of 10^-9, because stamps are sums of steps instead of exact multiples.
        newest_due = time - quality.delay * (1.0 - 1e-9)
        while len(self._pending) > 1 and self._pending[1].stamp <= newest_due:
            self._pending.popleft()
        return self._pending[0]

    def _noisy(self, values: ArrayLike, deviation: float, signal: str = '') -> FloatArray:
        """A copy with white noise added."""
        array = np.array(values, dtype=np.float64)
        ratio = self.quality.signal_to_noise
        by_signal = self._spreads[signal].update(array) / ratio if signal and ratio > 0.0 else 0.0
        if deviation > 0.0:
            array += deviation * self._random.standard_normal(array.shape)
        if np.any(by_signal):
            array += by_signal * self._random.standard_normal(array.shape)
        return array


class _Spread:
    """Standard deviation of all values so far (Welford, Technometrics 4(3), 1962)."""

    def __init__(self) -> None:
        self._count = 0
        self._mean = self._squares = np.zeros(())

    def update(self, values: FloatArray) -> FloatArray:
        """Standard deviation including these values, shape (n,)."""
        self._count += 1
        before = values - self._mean
        self._mean = self._mean + before / self._count
        self._squares = self._squares + before * (values - self._mean)
        return np.sqrt(self._squares / self._count)
