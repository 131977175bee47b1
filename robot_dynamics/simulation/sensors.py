# SPDX-License-Identifier: Apache-2.0
"""What an arm's ``joint_states`` say about it: noise, resolution and delay."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import SimulationError
from robot_dynamics.model.arrays import FloatArray


@dataclass(frozen=True)
class SensorQuality:
    """How well an arm measures itself; the defaults are perfect sensors.

    Parameters
    ----------
    position_resolution : float
        Step of the encoder: 2 pi / 2^16 for 16 bits. rad or m.
    position_noise, velocity_noise, effort_noise : float
        Standard deviation of white noise. rad or m, rad/s or m/s, N m or N.
    delay : float
        Age of what is reported, which its stamp shows. s.
    signal_to_noise : float
        Standard deviation of each position and velocity so far over that of further white
        noise; 0 for none of it.
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
                raise SimulationError(f'is {value}, neither zero nor positive',
                                      subject=entry.name,
                                      remedy='give zero for a perfect sensor')


@dataclass(frozen=True, eq=False)
class Reading:
    """One measurement of all joints.

    Parameters
    ----------
    stamp : float
        Time at which it was true. s.
    q, v, effort : ndarray, shape (n,)
        Measured positions, velocities and efforts, SI units.
    """

    stamp: float
    q: FloatArray
    v: FloatArray
    effort: FloatArray


class JointSensors:
    """Turns the true state of an arm into what its driver reports.

    Parameters
    ----------
    quality : SensorQuality
        Noise, resolution and delay.
    seed : int
        Seed of the noise: equal seeds give equal readings.
    """

    def __init__(self, quality: SensorQuality | None = None, *, seed: int = 0):
        self.quality = SensorQuality() if quality is None else quality
        self._random = np.random.default_rng(seed)
        self._pending: deque[Reading] = deque()
        self._spreads = {'position': _Spread(), 'velocity': _Spread()}

    def reset(self) -> None:
        """Forget readings that wait for their delay to pass, and how far signals went."""
        self._pending.clear()
        self._spreads = {signal: _Spread() for signal in self._spreads}

    def read(self, time: float, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Reading:
        """Measure now, and return what the driver has to report.

        Parameters
        ----------
        time : float
            Time of this measurement, never decreasing. s.
        q, v, effort : array_like, shape (n,)
            True state, SI units.

        Returns
        -------
        Reading
            The newest reading at least `SensorQuality.delay` old; the oldest there
            is while none is old enough.
        """
        quality = self.quality
        q = self._noisy(q, quality.position_noise, 'position')
        if quality.position_resolution > 0.0:
            q = quality.position_resolution * np.round(q / quality.position_resolution)
        self._pending.append(Reading(time, q, self._noisy(v, quality.velocity_noise, 'velocity'),
                                     self._noisy(effort, quality.effort_noise)))
        # A part in 10^9 of slack: stamps are sums of steps, not exact multiples.
        newest_due = time - quality.delay * (1.0 - 1e-9)
        while len(self._pending) > 1 and self._pending[1].stamp <= newest_due:
            self._pending.popleft()
        return self._pending[0]

    def _noisy(self, values: ArrayLike, deviation: float, signal: str = '') -> FloatArray:
        """Return a copy with white noise added."""
        array = np.array(values, dtype=np.float64)
        ratio = self.quality.signal_to_noise
        by_signal = self._spreads[signal].update(array) / ratio if signal and ratio > 0.0 else 0.0
        if deviation > 0.0:
            array += deviation * self._random.standard_normal(array.shape)
        if np.any(by_signal):
            array += by_signal * self._random.standard_normal(array.shape)
        return array


class _Spread:
    """Standard deviation of what came so far (Welford, Technometrics 4(3), 1962)."""

    def __init__(self) -> None:
        self._count = 0
        self._mean = self._squares = np.zeros(())

    def update(self, values: FloatArray) -> FloatArray:
        """Return it, these values included, shape (n,)."""
        self._count += 1
        before = values - self._mean
        self._mean = self._mean + before / self._count
        self._squares = self._squares + before * (values - self._mean)
        return np.sqrt(self._squares / self._count)
