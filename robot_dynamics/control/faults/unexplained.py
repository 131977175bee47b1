# SPDX-License-Identifier: Apache-2.0
"""``UnexplainedAcceleration``: what the surprises of the last moments say about each joint."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.faults import detection_kernel
from robot_dynamics.control.faults.motion_predictor import MotionPredictor

#: Predicted speed up to which a joint is slow. rad/s or m/s.
SLOW = 0.02


class UnexplainedAcceleration:
    """The acceleration of each joint that its model does not explain, over several windows.

    A fault that acts since a moment stands out in a window of that length: a hard block in the
    shortest, a gentle fault in a long one, where noise is averaged away.

    Parameters
    ----------
    predictor : MotionPredictor
        Whose surprises are taken.

    Attributes
    ----------
    acceleration : ndarray, shape (w, n)
        Shortest window first, 0 where states are too few. rad/s^2 or m/s^2.
    slow : ndarray of int, shape (n,)
        1 where a joint is predicted to be slow.
    size : int
        States in the longest window.
    """

    def __init__(self, predictor: MotionPredictor):
        self.predictor = predictor
        motion_filter, n = predictor.filter, predictor.velocity.size
        self._lengths, self._weights = motion_filter.lengths, motion_filter.weights
        self.size = int(self._lengths[-1])
        self._ring = np.zeros((self.size, 2, n))
        self._place = np.zeros(2, dtype=np.int64)
        self.acceleration = np.zeros((self._lengths.size, n))
        self.slow = np.zeros(n, dtype=np.int64)
        self._explain = detection_kernel.explain.load()

    @property
    def count(self) -> int:
        """States since the last gap, up to those of the longest window."""
        return int(self._place[1])

    def update(self, *, counts: bool) -> None:
        """Take the last surprise; start over where it does not count."""
        if not counts:
            self.reset()
            return
        self._explain(self.predictor.surprise, self._lengths, self._weights, self._ring,
                      self._place, self.acceleration)
        self.slow[:] = np.abs(self.predictor.velocity) < SLOW

    def reset(self) -> None:
        """Forget the past."""
        self._place[:] = 0
        self.acceleration[:] = 0.0
