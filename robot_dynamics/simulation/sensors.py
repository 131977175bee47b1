# SPDX-License-Identifier: Apache-2.0
"""What an arm's ``joint_states`` say about it: noise, resolution and delay."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import SimulationError
from robot_dynamics.model.robot import FloatArray


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
    """

    position_resolution: float = 0.0
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    effort_noise: float = 0.0
    delay: float = 0.0

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

    def reset(self) -> None:
        """Forget readings that wait for their delay to pass."""
        self._pending.clear()

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
        q = self._noisy(q, quality.position_noise)
        if quality.position_resolution > 0.0:
            q = quality.position_resolution * np.round(q / quality.position_resolution)
        self._pending.append(Reading(time, q, self._noisy(v, quality.velocity_noise),
                                     self._noisy(effort, quality.effort_noise)))
        # A part in 10^9 of slack: stamps are sums of steps, not exact multiples.
        newest_due = time - quality.delay * (1.0 - 1e-9)
        while len(self._pending) > 1 and self._pending[1].stamp <= newest_due:
            self._pending.popleft()
        return self._pending[0]

    def _noisy(self, values: ArrayLike, deviation: float) -> FloatArray:
        """Return a copy with white noise added."""
        array = np.array(values, dtype=np.float64)
        if deviation > 0.0:
            array += deviation * self._random.standard_normal(array.shape)
        return array
