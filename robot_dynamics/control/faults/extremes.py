# SPDX-License-Identifier: Apache-2.0
"""``Extremes``: the largest shares of a run, by spreads that are known only at its end."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.faults import detection_kernel
from robot_dynamics.model.arrays import FloatArray, IntArray

#: Stretches that are kept apart, and states of each; when there are more, two become one.
STRETCHES = 64
LENGTH = 500


class Extremes:
    """Remembers the states with the largest shares, so that they can be weighed anew.

    A share is in standard deviations, and those are estimated while states come: by the
    first estimates, of a joint that has hardly moved, what is nothing looks large. So of each
    stretch of the run the state is kept that is the largest by the estimates of then, one for
    each window and joint and one for all joints together, and what counts is its share by the
    estimates of the end.

    Parameters
    ----------
    windows, n : int
        How many windows and joints there are.
    """

    def __init__(self, windows: int, n: int):
        self._n, self._length, self._in_stretch = n, LENGTH, 0
        self._largest = np.zeros((windows, n + 1))
        # Of each stretch: acceleration, inertia and slow joints of the largest.
        self._kept: list[tuple[FloatArray, FloatArray, IntArray]] = []
        self._weigh = detection_kernel.weigh.load()
        self._work = np.zeros((3, n, n))
        self._shares, self._whole = np.zeros((1, n)), np.zeros(1)

    def take(self, shares: FloatArray, whole: FloatArray, acceleration: FloatArray,
             inertia: FloatArray, slow: IntArray, noise: FloatArray,
             effort: FloatArray) -> None:
        """Take a state, with its shares by the spreads of now.

        Parameters
        ----------
        shares, whole, acceleration, inertia, slow, noise, effort
            As for `robot_dynamics.control.faults.detection_kernel.weigh`.
        """
        if self._in_stretch == 0:
            self._begin(noise, effort)
        now = np.abs(np.column_stack([shares, whole]))
        accelerations, inertias, slows = self._kept[-1]
        for w, j in np.argwhere(now > self._largest):
            accelerations[w, j], inertias[w, j], slows[w, j] = acceleration[w], inertia, slow
        np.fmax(self._largest, now, out=self._largest)
        self._in_stretch = (self._in_stretch + 1) % self._length

    def largest(self, noise: FloatArray, effort: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the largest shares by these spreads: of joints (w, n), of all together (w,)."""
        weighed = [self._weighed(kept, noise, effort) for kept in self._kept]
        largest = np.max(weighed, axis=0, initial=0.0) if weighed else 0.0 * self._largest
        return largest[:, :-1].copy(), largest[:, -1].copy()

    def _begin(self, noise: FloatArray, effort: FloatArray) -> None:
        """Begin a stretch; where there are too many, make one of each two."""
        if len(self._kept) == STRETCHES:
            self._kept = [self._merged(*pair, noise, effort)
                          for pair in zip(self._kept[::2], self._kept[1::2], strict=True)]
            self._length *= 2
        windows, n = self._largest.shape[0], self._n
        self._largest[:] = 0.0
        self._kept.append((np.zeros((windows, n + 1, n)),
                           np.broadcast_to(np.eye(n), (windows, n + 1, n, n)).copy(),
                           np.zeros((windows, n + 1, n), dtype=np.int64)))

    def _merged(self, first, second, noise: FloatArray, effort: FloatArray):
        """Return the larger ones of two stretches, by the spreads of now."""
        later = self._weighed(second, noise, effort) > self._weighed(first, noise, effort)
        return tuple(np.where(later.reshape(later.shape + (1,) * (one.ndim - 2)), two, one)
                     for one, two in zip(first, second, strict=True))

    def _weighed(self, kept, noise: FloatArray, effort: FloatArray) -> FloatArray:
        """Return the shares of what is kept of a stretch, shape (w, n + 1)."""
        weighed, (accelerations, inertias, slows) = np.zeros_like(self._largest), kept
        for w, j in np.ndindex(weighed.shape):
            self._weigh(accelerations[w, j:j + 1], inertias[w, j], noise[w:w + 1],
                        np.ascontiguousarray(effort[:, w:w + 1]), slows[w, j], self._work,
                        self._shares, self._whole)
            weighed[w, j] = self._whole[0] if j == self._n else abs(self._shares[0, j])
        return weighed
