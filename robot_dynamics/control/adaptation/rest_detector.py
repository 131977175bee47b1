# SPDX-License-Identifier: Apache-2.0
"""When an arm is at rest and has nothing more to correct.

An arm that stands still says little about its parameters, and friction that holds it lets
an integral wind up without end. So learning ends some time after the desired motion has,
and begins again when it moves, or when the error says that something has changed: a part
that was put down or picked up.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.arrays import FloatArray

#: Desired speed below which nothing moves. rad/s or m/s.
STILL = 1e-4


class RestWatch:
    """Watches for rest.

    Parameters
    ----------
    after : float
        Time without desired motion after which the arm is at rest; inf for never. s.
    sliding : float
        Entry of s, either sign, beyond which there is something to correct. rad/s or m/s.
    """

    def __init__(self, after: float, sliding: float):
        self._after, self._sliding = after, sliding
        self._largest = largest_entry.load()
        self._still = 0.0

    def reset(self) -> None:
        """Start to count anew."""
        self._still = 0.0

    def observe(self, v_d: FloatArray, largest_s: float, dt: float) -> bool:
        """Take in one sample; return whether the arm is at rest.

        Parameters
        ----------
        v_d : ndarray, shape (n,)
            Desired velocity. rad/s or m/s.
        largest_s : float
            Largest entry of s, either sign. rad/s or m/s.
        dt : float
            Time since the sample before. s.
        """
        try:
            speed = self._largest(v_d)
        except TypeError:  # read-only, strided or of another type: slower, but right
            speed = self._largest(np.array(v_d, dtype=np.float64))
        self._still = 0.0 if speed > STILL else self._still + dt
        return (self._still > self._after and largest_s <= self._sliding
                and not math.isinf(self._after))


@kernel('f8(f8[::1])')
def largest_entry(vector):
    """Return the largest entry of a vector, either sign."""
    largest = 0.0
    for i in range(vector.size):
        largest = max(largest, abs(vector[i]))
    return largest
