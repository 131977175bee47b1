# SPDX-License-Identifier: Apache-2.0
r"""The velocity that a joint most likely has, out of the measured and the desired one.

Least squares take noise in a regressor for a smaller parameter. What is worse, the feedback
answers noise: efforts of K_D times it follow each noisy velocity, as if friction or mass did.
A joint that stands still while others move learns nothing else. Its desired velocity has no
noise, and is wrong by the tracking error alone. So, with e = v - v_d of each joint::

    v_likely = v_d + g e,      g = max(0, 1 - c sigma^2 / mean e^2)

which for c = 1 is the gain that leaves the least mean square error where noise of variance
sigma^2 is in e and independent of the rest. That variance is told from how velocities bend, as
an arm's hardly do within three samples::

    6 sigma^2 = mean (v_k - 2 v_{k-1} + v_{k-2})^2

for samples at equal intervals. Means fade with a time constant. Where nothing is noisy v_likely
is the velocity measured, and so it is with errors far above the noise: whoever has much to
learn loses nothing.

References
----------
N. Wiener, "Extrapolation, Interpolation, and Smoothing of Stationary Time Series", MIT Press,
1949, chapter 3.

N. Sadegh and R. Horowitz, "Stability and robustness analysis of a class of adaptive controllers
for robotic manipulators", International Journal of Robotics Research 9(3), 1990: regressors of
the desired motion.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.model.arrays import FloatArray

#: Time constant of the means. s.
FADING = 0.5

#: c: both means are estimates, and an error that noise explains shall count as none.
MARGIN = 1.5

# Rows of what is kept of each joint.
LAST, BEFORE, NOISE, ERROR = range(4)


class LikelyVelocity:
    """Keeps the means of each joint.

    Parameters
    ----------
    n : int
        Number of joints.

    Attributes
    ----------
    value : ndarray, shape (n,)
        Likely velocity of the last sample. rad/s or m/s.
    """

    def __init__(self, n: int):
        self._kept = np.zeros((4, n))
        self._weigh = weigh_velocity.load()
        self.value = np.zeros(n)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._kept[:] = 0.0
        self.skip()

    def skip(self) -> None:
        """Begin anew after a gap, with the means of before."""
        self._samples, self._span = 0, 1.0

    def observe(self, v: FloatArray, v_d: FloatArray, dt: float) -> FloatArray:
        """Take in a sample and return `value`.

        Parameters
        ----------
        v, v_d : ndarray, shape (n,)
            Measured and desired velocity. rad/s or m/s.
        dt : float
            Time since the sample before. s.
        """
        share = 1.0 - math.exp(-dt / FADING) if self._samples >= 2 else 0.0
        ratio = dt / self._span
        try:
            self._weigh(v, v_d, ratio, share, self._kept, self.value)
        except TypeError:  # read-only, strided or of another type: slower, but right
            self._weigh(np.array(v, dtype=np.float64), np.array(v_d, dtype=np.float64), ratio,
                        share, self._kept, self.value)
        self._samples, self._span = self._samples + 1, dt
        return self.value


@kernel('void(f8[::1], f8[::1], f8, f8, f8[:, ::1], f8[::1])')
def weigh_velocity(v, v_d, ratio, share, kept, likely):
    """Move the means by a share of the way to a sample, and write the likely velocities.

    ``ratio`` is the length of the last interval over that of the one before: what a steady
    acceleration adds to the velocity is no bend.
    """
    spread = 1.0 + (1.0 + ratio) * (1.0 + ratio) + ratio * ratio
    for i in range(v.size):
        bend = v[i] - kept[LAST, i] - ratio * (kept[LAST, i] - kept[BEFORE, i])
        error = v[i] - v_d[i]
        kept[NOISE, i] += share * (bend * bend / spread - kept[NOISE, i])
        kept[ERROR, i] += share * (error * error - kept[ERROR, i])
        kept[BEFORE, i], kept[LAST, i] = kept[LAST, i], v[i]
        gain = 1.0
        if kept[ERROR, i] > 0.0:
            gain = max(0.0, 1.0 - MARGIN * kept[NOISE, i] / kept[ERROR, i])
        likely[i] = v_d[i] + gain * error
