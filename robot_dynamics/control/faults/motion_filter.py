# SPDX-License-Identifier: Apache-2.0
r"""How measured motion corrects the predicted one, and what its surprises tell of accelerations.

Of each joint position and velocity are predicted from the equations of motion and corrected by
what is measured (R. E. Kalman, "A new approach to linear filtering and prediction problems",
Journal of Basic Engineering 82, 1960), with one gain for all joints:

.. math::

    x^- = A x + (T^2/2, T) a, \qquad e = z - x^-, \qquad x = x^- + K e, \qquad
    A = \begin{pmatrix} 1 & T \\ 0 & 1 \end{pmatrix}

If a joint accelerates by 1 more than predicted from some instant on, the surprises e follow a
known course s_1, s_2, ... So the acceleration that nobody explains, if it began L states ago, is
by weighted least squares (the generalised likelihood ratio of A. S. Willsky, H. L. Jones, "A
generalized likelihood ratio approach to the detection and estimation of jumps in linear
systems", IEEE Transactions on Automatic Control 21, 1976)

.. math:: \sum_j s_j^T S^{-1} e_j \; / \; \sum_j s_j^T S^{-1} s_j

with S the covariance of e. Velocities tell of it first, positions more surely a moment later.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray, real_array

#: After a start surprises count once their spread is within so much of what it becomes.
SETTLED = 1.1
#: States that come faster are none of an arm, and their windows too long to be worked out. s.
SHORTEST_PERIOD = 2e-5
#: Smallest and largest noise.
SENSIBLE = (1e-12, 1e6)
#: States of a window at most; it is looked through at every state.
LONGEST_WINDOW = 10_000
#: Corrections after which the gain is taken for that of all times.
_LONGEST = 1000


@dataclass(frozen=True)
class FilterSettings:
    """What is expected of measurements; only ratios matter where thresholds are learnt.

    Parameters
    ----------
    velocity_noise, position_noise : float
        Standard deviation. rad/s or m/s, rad or m.
    wander : float
        How far a velocity goes from what is predicted, in a second and as a random walk.
        rad/s or m/s per square root of a second.
    windows : sequence of float
        How long ago an acceleration may have begun, increasing. s.
    """

    velocity_noise: float = 0.005
    position_noise: float = 3e-5
    wander: float = 0.0134
    windows: Sequence[float] = (0.004, 0.008, 0.016, 0.032, 0.064)

    def __post_init__(self) -> None:
        windows = real_array(self.windows, 'windows', 'give increasing times in s')
        # Written so that NaN fails.
        if windows.ndim != 1 or windows.size == 0 or not np.all(np.diff(windows) > 0.0):
            raise ParameterError(f'are {reprlib.repr(self.windows)}', subject='windows',
                                 remedy='give increasing times in s')
        positive('windows', windows[0], 's')
        positive('windows', windows[-1], 's')
        for name in ('velocity_noise', 'position_noise', 'wander'):
            value, (low, high) = positive(name, getattr(self, name)), SENSIBLE
            if not low <= value <= high:
                raise ParameterError(f'is {value:g}', subject=name,
                                     remedy=f'give {low:g} to {high:g}, whose squares can be '
                                            'told from each other')


class MotionFilter:
    """Gains and weights for one period.

    Parameters
    ----------
    period : float
        Time between states. s.
    settings : FilterSettings, optional
        What is expected of measurements.

    Attributes
    ----------
    gains : ndarray, shape (k, 2, 2)
        K of the first, second, ... correction after a start; the last for all that follow.
        From position and velocity (columns) to position and velocity (rows).
    settled : int
        Corrections after a start until surprises count.
    lengths : ndarray of int, shape (w,)
        States of each window; two at least: one alone may be a slip of a sensor.
    weights : ndarray, shape (w, length, 2)
        Of surprises in position and velocity, the newest first.
    noise : ndarray, shape (w,)
        Standard deviation of the accelerations by the noise expected. rad/s^2 or m/s^2.
    corrected : float
        Standard deviation of a corrected velocity, as a share of that of a measured one.
    """

    def __init__(self, period: float, settings: FilterSettings | None = None):
        settings = FilterSettings() if settings is None else settings
        if not isinstance(settings, FilterSettings):
            raise ParameterError(f'are {reprlib.repr(settings)}', subject='settings',
                                 remedy='give FilterSettings')
        self.settings = settings
        self.period = period = positive('period', period, 's')
        if period < SHORTEST_PERIOD:
            raise ParameterError(f'is {period:g} s', subject='period',
                                 remedy=f'give {SHORTEST_PERIOD:g} s or more')
        if settings.windows[-1] > LONGEST_WINDOW * period:
            raise ParameterError(f'{settings.windows[-1]:g} s has more than {LONGEST_WINDOW} '
                                 f'states in it', subject='windows',
                                 remedy='give shorter windows, or a longer period')
        self.lengths = np.array([max(2, round(window / period)) for window in settings.windows],
                                dtype=np.int64)
        self.gains, spreads = _gains(period, settings)
        # K = P R^-1, with P the covariance after the correction and R that of what is measured.
        self.corrected = float(np.sqrt(self.gains[-1][1, 1]))
        close = np.diagonal(spreads, axis1=1, axis2=2) \
            <= SETTLED**2 * np.diagonal(spreads[-1])
        self.settled = int(np.argmax(close.all(axis=1)))
        course = _course(self.gains[-1], period, int(self.lengths[-1]))
        weighted = course @ np.linalg.inv(spreads[-1])
        self.weights = np.zeros((self.lengths.size, int(self.lengths[-1]), 2))
        self.noise = np.zeros(self.lengths.size)
        for w, length in enumerate(self.lengths):
            information = np.sum(weighted[:length] * course[:length])
            self.weights[w, :length] = weighted[:length][::-1] / information
            self.noise[w] = information**-0.5


def _gains(period: float, settings: FilterSettings) -> tuple[FloatArray, FloatArray]:
    """Return K and the covariance of surprises, one by one after a start."""
    transition = np.array([[1.0, period], [0.0, 1.0]])
    measured = np.diag([settings.position_noise**2, settings.velocity_noise**2])
    kick = np.array([0.5 * period, 1.0])
    wander = settings.wander**2 * period * np.outer(kick, kick)
    gains, spreads, covariance = [], [], measured
    while True:
        before = transition @ covariance @ transition.T + wander
        spread = before + measured
        gain = before @ np.linalg.inv(spread)
        covariance = before - gain @ before
        gains.append(gain)
        spreads.append(spread)
        if len(gains) == _LONGEST or (len(gains) > 1 and np.allclose(gain, gains[-2], rtol=1e-3,
                                                                    atol=0.0)):
            return np.array(gains), np.array(spreads)


def _course(gain: FloatArray, period: float, length: int) -> FloatArray:
    """Return the surprises that an acceleration of 1 leads to, shape (length, 2)."""
    course, error = np.zeros((length, 2)), np.zeros(2)
    for k in range(length):
        course[k] = (error[0] + period * error[1] + 0.5 * period**2, error[1] + period)
        error = course[k] - gain @ course[k]
    return course
