# SPDX-License-Identifier: Apache-2.0
"""What is judged of a residual.

Noise of the velocity makes a residual rough, friction that the model does not know makes
it wander. So its means over several windows are judged: the short ones see a hard block at
once, the long ones, where noise is averaged away, a gentle fault. And friction is least
known where a joint rests or turns round: there it has thresholds of its own. Whether it
should move is told by how it moved a moment ago, because a blocked joint does not move now.

Noise counts with the inertia of the pose: a row of M of an arm that is stretched may be ten
times as long as when it is folded. Friction does not. So there are two kinds of thresholds,
absolute ones and ones per length of that row, and the lower one counts.
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
        Whether a joint should move now is told by its velocities between twice as long ago
        and so long ago, and a straight line through them. s.
    slow : float
        Speed up to which it does not. rad/s or m/s.
    """

    windows: Sequence[float] = (0.004, 0.006, 0.008, 0.012, 0.018, 0.024, 0.036, 0.048)
    delay: float = 0.06
    slow: float = 0.05

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
        1 where a joint should move, by how it moved a moment ago.
    inertia : ndarray, shape (n,)
        Length of each row of M.
    """

    def __init__(self, n: int, period: float, settings: ScaleSettings | None = None):
        self.settings = settings = ScaleSettings() if settings is None else settings
        period = positive('period', period, 's')
        self._windows = np.array([max(2, round(window / period)) for window in settings.windows],
                                 dtype=np.int64)
        self._delay = round(settings.delay / period)
        length = max(int(self._windows[-1]), 2 * self._delay) + 1
        self._residuals, self._velocities = np.zeros((length, n)), np.zeros((length, n))
        self._place = np.zeros(2, dtype=np.int64)
        self.means = np.zeros((len(self._windows), n))
        self.moving = np.zeros(n, dtype=np.int64)
        self.inertia = np.zeros(n)
        self._remember = detection_kernel.remember.load()

    def update(self, residual: FloatArray, inertia: FloatArray, v: FloatArray) -> None:
        """Take a residual, the length of each row of M and the velocity, each of shape (n,)."""
        self._remember(residual, v, self._windows, self._delay, self.settings.slow,
                       self._residuals, self._velocities, self._place, self.means, self.moving)
        self.inertia[:] = inertia

    def reset(self) -> None:
        """Forget the past."""
        self._place[:] = 0
        self.means[:] = 0.0
        self.moving[:] = 0


def default_thresholds(robot: Robot, windows: int) -> FloatArray:
    """Return thresholds for an arm nobody has watched yet, shape (2, 2, w, n).

    A share of each joint's largest effort, which is far above what a sound arm shows; inf,
    which is never exceeded, where there is none.
    """
    limit = np.where(np.isnan(robot.limits.effort), np.inf, robot.limits.effort)
    return _absolute(UNLEARNT_SHARE * limit, windows)


def shaped_thresholds(values: ArrayLike, windows: int, n: int) -> FloatArray:
    """Return thresholds of shape (2, 2, w, n) from that shape, flat or not, or from one a joint.

    Raises
    ------
    DimensionError, ParameterError
        Where their number is wrong, or one is not above zero.
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    whole = 4 * windows * n
    if flat.size not in (1, n, whole):
        raise DimensionError(f'have {flat.size} values', subject='thresholds',
                             remedy=f'give one for each of {n} joints, or learn them anew: '
                                    f'{whole}, absolute and per inertia, for slow and moving '
                                    f'joints, each for {windows} windows')
    if not np.all(flat > 0.0):
        raise ParameterError('hold a value that is not above zero', subject='thresholds',
                             remedy='give the largest residuals of a sound arm, in N m or N')
    if flat.size == whole:
        return flat.reshape(2, 2, windows, n).copy()
    return _absolute(each_joint('thresholds', flat if flat.size == n else flat[0], n), windows)


def _absolute(values: FloatArray, windows: int) -> FloatArray:
    """Return thresholds of one value a joint, whatever the window, the motion and the pose."""
    thresholds = np.full((2, 2, windows, values.size), np.inf)
    thresholds[0] = values
    return thresholds
