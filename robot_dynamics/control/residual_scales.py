# SPDX-License-Identifier: Apache-2.0
"""What is judged of a residual, and how large it is on a sound arm.

Noise of the velocity makes a residual rough, friction that the model does not know makes
it wander. So its means over several windows are judged: the short ones see a hard block at
once, the long ones, where noise is averaged away, a gentle fault. And friction is least
known where a joint turns round: a joint that did not move a moment ago has thresholds of
its own. (A moment ago, because a blocked joint does not move now.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control import detection_kernel
from robot_dynamics.control.checks import each_joint, not_negative, positive
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot

FloatArray = NDArray[np.float64]

#: A threshold without learning: this share of the largest effort of a joint.
UNLEARNT_SHARE = 0.1


@dataclass(frozen=True)
class ScaleSettings:
    """Windows and speeds.

    Parameters
    ----------
    windows : sequence of float
        Lengths of the means, increasing. s.
    delay : float
        How long ago it counts whether a joint moved. s.
    slow : float
        Speed up to which it did not. rad/s or m/s.
    """

    windows: Sequence[float] = (0.004, 0.006, 0.012, 0.024, 0.048)
    delay: float = 0.06
    slow: float = 0.15

    def __post_init__(self) -> None:
        if len(self.windows) == 0 or list(self.windows) != sorted(set(self.windows)):
            raise ParameterError(f'are {list(self.windows)}', subject='windows',
                                 remedy='give increasing times in s')
        positive('windows', self.windows[0], 's')
        positive('windows', self.windows[-1], 's')
        not_negative('delay', self.delay, 's')
        not_negative('slow', self.slow)


class ResidualScales:
    """Means of residuals over several windows, and whether joints move.

    Parameters
    ----------
    n : int
        Number of joints.
    period : float
        Time between residuals. s.
    settings : ScaleSettings, optional
        Windows and speeds. A window has two residuals at least: one alone may be noise.

    Attributes
    ----------
    means : ndarray, shape (w, n)
        Sizes of the means, shortest window first. N m or N.
    moving : ndarray of int, shape (n,)
        1 where a joint moved a moment ago.
    """

    def __init__(self, n: int, period: float, settings: ScaleSettings | None = None):
        self.settings = settings = ScaleSettings() if settings is None else settings
        period = positive('period', period, 's')
        self._windows = np.array([max(2, round(window / period)) for window in settings.windows],
                                 dtype=np.int64)
        self._delay = round(settings.delay / period)
        length = max(int(self._windows[-1]), self._delay) + 1
        self._residuals, self._speeds = np.zeros((length, n)), np.zeros((length, n))
        self._place = np.zeros(2, dtype=np.int64)
        self.means = np.zeros((len(self._windows), n))
        self.moving = np.zeros(n, dtype=np.int64)
        self._remember = detection_kernel.remember.load()

    def update(self, residual: FloatArray, v: FloatArray) -> None:
        """Take a residual and the velocity there, each of shape (n,)."""
        self._remember(residual, v, self._windows, self._delay, self.settings.slow,
                       self._residuals, self._speeds, self._place, self.means, self.moving)

    def reset(self) -> None:
        """Forget the past."""
        self._place[:] = 0
        self.means[:] = 0.0
        self.moving[:] = 0


class ThresholdLearner:
    """Learn thresholds from a run without faults: a margin above the largest means.

    Parameters
    ----------
    scales : ResidualScales
        What is judged; to be updated before this is.
    margin : float
        Threshold over the largest mean seen.

    Attributes
    ----------
    samples : int
        How many residuals have been seen.
    """

    def __init__(self, scales: ResidualScales, *, margin: float = 1.2):
        self._scales = scales
        self._margin = positive('margin', margin)
        if self._margin < 1.0:
            raise ParameterError(f'is {margin:g}', subject='margin',
                                 remedy='give at least 1: less than what a sound arm shows '
                                        'raises false alarms')
        self._largest = np.zeros((2, *scales.means.shape))
        self.samples = 0

    def update(self) -> None:
        """Take the means as they are."""
        scales = self._scales
        for kind in (0, 1):
            of_kind = scales.means * (scales.moving == kind)
            np.fmax(self._largest[kind], of_kind, out=self._largest[kind])
        self.samples += 1

    @property
    def thresholds(self) -> FloatArray:
        """Thresholds so far, shape (2, w, n). N m or N.

        Where a joint was never slow, or never moved, those of the other kind count for both.

        Raises
        ------
        ParameterError
            Where nothing was learnt, or a joint has shown no residual at all.
        """
        other = self._largest[::-1]
        largest = np.where(self._largest > 0.0, self._largest, other)
        if not np.all(largest > 0.0):
            raise ParameterError('showed no residual of every joint', subject='the run to learn '
                                 'from', remedy='let the arm move all its joints, without '
                                                'faults, for a minute or more')
        return self._margin * largest


def default_thresholds(robot: Robot, windows: int) -> FloatArray:
    """Return thresholds for an arm nobody has watched yet, shape (2, w, n).

    A share of each joint's largest effort, which is far above what a sound arm shows; inf,
    which is never exceeded, where there is none.
    """
    limit = np.where(np.isnan(robot.limits.effort), np.inf, robot.limits.effort)
    return np.broadcast_to(UNLEARNT_SHARE * limit, (2, windows, robot.n)).copy()


def shaped_thresholds(values: ArrayLike, windows: int, n: int) -> FloatArray:
    """Return thresholds of shape (2, w, n) from that shape, flat or not, or from one a joint.

    Raises
    ------
    DimensionError, ParameterError
        Where their number is wrong, or one is not above zero.
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    if flat.size not in (1, n, 2 * windows * n):
        raise DimensionError(f'have {flat.size} values', subject='thresholds',
                             remedy=f'give one for each of {n} joints, or {2 * windows * n}: '
                                    f'for slow and moving joints, each for {windows} windows')
    if not np.all(flat > 0.0):
        raise ParameterError('hold a value that is not above zero', subject='thresholds',
                             remedy='give the largest residuals of a sound arm, in N m or N')
    if flat.size == 2 * windows * n:
        return flat.reshape(2, windows, n).copy()
    return np.broadcast_to(each_joint('thresholds', flat if flat.size == n else flat[0], n),
                           (2, windows, n)).copy()
