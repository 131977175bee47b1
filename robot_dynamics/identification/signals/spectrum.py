# SPDX-License-Identifier: Apache-2.0
"""Where the motion of an arm ends and the noise of its encoders begins."""

from __future__ import annotations

import numpy as np

from robot_dynamics.identification.dataset import Dataset
from robot_dynamics.identification.dataset.remembered import remembered
from robot_dynamics.identification.signals.resample import evenly
from robot_dynamics.model.arrays import FloatArray

#: A frequency belongs to the motion where its power is so many times that of the noise.
ABOVE_NOISE = 10.0
#: Share of the power of the acceleration that is to lie below the cut-off.
SHARE = 0.98
#: Cut-offs are looked for between these, Hz, and below this part of the sampling rate.
LOWEST, HIGHEST, OF_RATE = 0.5, 100.0, 0.15


def spectrum(dataset: Dataset) -> tuple[FloatArray, FloatArray]:
    """Return frequencies and the power of the positions, the median of all pieces.

    Parameters
    ----------
    dataset : Dataset
        The motion.

    Returns
    -------
    frequency : ndarray, shape (m,)
        Hz.
    power : ndarray, shape (m, n)
        rad^2/Hz or m^2/Hz of each joint.
    """
    from scipy.signal import welch
    rate = 1.0 / dataset.period
    longest = max(dataset.segments, key=lambda segment: len(segment.time))
    q = evenly(longest.time, longest.position, dataset.period)
    length = min(len(q), max(64, 2 ** int(np.log2(max(len(q) / 4, 1)))))
    frequency, power = welch(q, fs=rate, nperseg=length, axis=0, detrend='linear')
    return frequency, power


@remembered
def cutoff_of(dataset: Dataset) -> float:
    """Return the cut-off below which the positions tell of the motion, Hz.

    The noise of a joint is the median power of its upper half of frequencies; its motion
    ends at the first frequency whose power is not `ABOVE_NOISE` times that. The cut-off is
    where `SHARE` of the power of the acceleration of the motion is reached, of the joint
    for which that is highest, but twice of the median one at most: one joint that shakes
    shall not decide for all.
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
