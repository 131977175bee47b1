# SPDX-License-Identifier: Apache-2.0
"""``FaultIsolator``: which one joint explains best what has happened since a fault began."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.faults import isolation_kernel
from robot_dynamics.control.faults.motion_predictor import MotionPredictor
from robot_dynamics.control.faults.prediction_kernel import MEASURED
from robot_dynamics.control.faults.tolerances import Tolerances

#: Farthest that a joint may move from one state to the next: beyond, the mean of two efforts is
#: not that of what acts between them. rad or m.
FARTHEST = 0.05


class FaultIsolator:
    r"""Weighs, joint by joint, what is left of a change of momentum when that joint is faulty.

    Between the state before a fault and any later one, with what is measured,

    .. math:: f = M v - M_0 v_0 - \int (\tau + C^T v - g - \text{friction}) \, dt

    is the impulse of what nobody commanded. Whatever the actuator of joint i does, and however
    it changes, only f_i tells of it; the rest is noise, and what one does not know: efforts
    that the model lacks; when between two states something changed; and friction of the joints
    that are thrown off, which turn round where they should not. How far joint j is thrown off
    depends on who does it: a fault of joint i moves it by h_ji / h_ii times as much as joint i
    (h the inverse of M), and where that is next to nothing its friction is as predicted. So
    each suspect has a covariance R_i of its own (`control.faults.isolation_kernel`),
    and leaves

    .. math:: f^T R_i^{-1} f - (R_i^{-1} f)_i^2 / (R_i^{-1})_{ii}

    unexplained, which is summed over the states since the alarm: faults are isolated by the
    momentum as De Luca, Mattone (ICRA 2003) do, and weighed by their likelihood as Willsky,
    Jones (1976) do, with the efforts of the fault free.

    Parameters
    ----------
    predictor : MotionPredictor
        Whose motion is looked at.
    """

    def __init__(self, predictor: MotionPredictor):
        n, motion_filter = predictor.velocity.size, predictor.filter
        self._predictor = predictor
        size = int(motion_filter.lengths[-1]) + 1
        self._inertias, self._motions = np.zeros((size, n, n)), np.zeros((size, 6, n))
        self._steps = np.zeros(size)
        self._newest, self._count = -1, 0
        self._anchor, self._thrown = np.zeros((n + 1, n)), np.zeros((2, n, n))
        self._sums = np.zeros((isolation_kernel.SUMS, n))
        self._left, self._work = np.zeros(n + 1), np.zeros((4, n, n))
        self._states, self._goes_on = 0, False
        self._compare = isolation_kernel.compare.load()

    @property
    def joint(self) -> int:
        """The one that leaves least."""
        return int(self._left[:-1].argmin())

    @property
    def left(self) -> float:
        """What it leaves, a state and a joint that should show nothing, in variances."""
        n = self._left.size - 1
        return float(self._left[:-1].min() / max(self._states * (n - 1), 1))

    @property
    def share(self) -> float:
        """That, as a share of all there is."""
        return float(self._left[:-1].min() / max(self._left[-1], np.finfo(float).tiny))

    @property
    def lead(self) -> float:
        """How much more the next best joint leaves, a state."""
        if self._left.size == 2:
            return np.inf
        best, second = np.partition(self._left[:-1], 1)[:2]
        return float((second - best) / max(self._states, 1))

    def remember(self) -> None:
        """Take note of the last state of the predictor, so that one can look back."""
        predictor = self._predictor
        self._newest = (self._newest + 1) % len(self._steps)
        self._inertias[self._newest] = predictor.inertia
        self._motions[self._newest] = predictor.motion
        self._steps[self._newest] = predictor.step
        self._count = min(self._count + 1, len(self._steps))

    def begin(self, states: int, tolerances: Tolerances) -> None:
        """Suppose that a fault began so many states ago, and weigh the last one."""
        for part in (self._left, self._sums, self._thrown):
            part[:] = 0.0
        self._states, self._goes_on = 0, True
        self._weigh(min(states, self._count - 1), tolerances)

    def go_on(self, tolerances: Tolerances) -> None:
        """Weigh the last state, too.

        After a gap, or once an arm is thrown about (`FARTHEST`), there is nothing to weigh any
        more: what has been seen until then has to say which joint it is.
        """
        predictor = self._predictor
        farthest = np.abs(predictor.motion[MEASURED]).max() * predictor.step
        self._goes_on = self._goes_on and bool(farthest <= FARTHEST)
        if self._goes_on:
            self._weigh(1, tolerances)

    def reset(self) -> None:
        """Take note of a gap."""
        self._count, self._goes_on = 0, False

    def _weigh(self, count: int, tolerances: Tolerances) -> None:
        predictor, motion_filter = self._predictor, self._predictor.filter
        # Spread of the shortest window, which has hardly anything but noise of velocities.
        noise = motion_filter.settings.velocity_noise * tolerances.noise[0] \
            / motion_filter.noise[0]
        elapsed = self._sums[isolation_kernel.ELAPSED, 0] / motion_filter.period + count
        window = min(int(np.searchsorted(motion_filter.lengths, elapsed)),
                     len(motion_filter.lengths) - 1)
        if count > 0 and self._compare(
                self._inertias, self._motions, self._steps, self._newest, count,
                predictor.friction, noise, motion_filter.corrected,
                tolerances.effort[0, window], self._anchor, self._sums, self._thrown,
                self._left, self._work):
            self._states += 1
        else:
            self._goes_on = False
