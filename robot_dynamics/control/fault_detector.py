# SPDX-License-Identifier: Apache-2.0
"""``FaultDetector``: which joint is faulty, or whether the arm is touched."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control import detection_kernel
from robot_dynamics.control.checks import not_negative, positive
from robot_dynamics.control.residual_scales import ResidualScales, shaped_thresholds

FloatArray = NDArray[np.float64]

#: Time from an alarm to the decision between fault and contact. s.
WINDOW = 0.01
#: In a contact another joint has this share of the weight of the first.
SPREAD = 0.35


class Event(Enum):
    """What a detector has found; the name in lower case is what people are told."""

    NOTHING = detection_kernel.NOTHING
    #: A residual is above its threshold, since a moment.
    UNDECIDED = detection_kernel.UNDECIDED
    #: It stands out alone: the actuator of that joint.
    FAULT = detection_kernel.FAULT
    #: Others are with it: something touches the arm.
    CONTACT = detection_kernel.CONTACT


class FaultDetector:
    """Judge the residuals of a `robot_dynamics.control.momentum_observer.MomentumObserver`.

    An alarm is raised as soon as a mean of a residual is above its threshold. It is at the
    joint whose residual is largest beside its threshold, times its weight: beside what it
    may be at rest or in motion, whichever is more. An actuator fault is in one residual
    only, a contact in those of all joints that carry the link: a moment later it is clear
    which of them it is, and where. (A contact that one joint alone can feel, such as a twist
    of the last link about its axis, cannot be told from a fault of that joint.)

    Parameters
    ----------
    scales : ResidualScales
        What is judged.
    thresholds : array_like, shape (2, 2, w, n), flat or not, or one a joint
        Largest means of a sound arm, in N m or N and per length of a row of M, for slow and
        for moving joints: see `robot_dynamics.control.threshold_learner`.
    window : float
        Time from alarm to decision, and how long residuals must be small again for an event
        to be over. s.
    spread : float
        Share of the first joint's weight that another one must have in a contact.

    Attributes
    ----------
    excess : ndarray, shape (n,)
        Largest mean of each joint over its threshold.
    """

    def __init__(self, scales: ResidualScales, thresholds: ArrayLike, *, window: float = WINDOW,
                 spread: float = SPREAD):
        windows, n = scales.means.shape
        self._scales = scales
        self.thresholds = shaped_thresholds(thresholds, windows, n)
        self._window = positive('window', window, 's')
        self._spread = not_negative('spread', spread)
        self._judge = detection_kernel.judge.load()
        self._excess = np.zeros((2, n))
        self.excess = self._excess[0]
        self._since = np.full(2, -np.inf)
        self._event = np.array([-1, detection_kernel.NOTHING], dtype=np.int64)

    @property
    def event(self) -> Event:
        """What goes on."""
        return Event(int(self._event[1]))

    @property
    def joint(self) -> int:
        """Where it is, -1 where nothing goes on; final with the decision."""
        return int(self._event[0])

    def update(self, residual: FloatArray, inertia: FloatArray, v: FloatArray,
               now: float) -> Event:
        """Take residual and velocity of a time, and return what goes on.

        Parameters
        ----------
        residual, inertia, v : ndarray, shape (n,)
            N m or N; length of each row of M, kg m^2 or kg; rad/s or m/s.
        now : float
            s.
        """
        scales = self._scales
        scales.update(residual, inertia, v)
        self._judge(scales.means, scales.inertia, scales.moving, self.thresholds, now,
                    self._window, self._spread, self._excess, self._since, self._event)
        return self.event

    def reset(self) -> None:
        """Forget the past, and what goes on."""
        self._scales.reset()
        self._excess[:] = 0.0
        self._event[:] = -1, detection_kernel.NOTHING
