# SPDX-License-Identifier: Apache-2.0
"""When to feed back, when to compute new gains, when to stop; and weights that follow errors.

By the norm of the error, sum_i a_i |x_i|: below eps0 there is no feedback, above eps1
gains are kept up to date, above eps2 the law asks to be stopped.

Van Winssen, deSilva, "Accurate trajectory control of robotic manipulators", section 2.3.
The report updates when the error has become large; the gain is stale then, just when it is
needed. With eps1 = 0 updates are as frequent as `update_period` allows, which costs little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.checks import not_negative, number, positive
from robot_dynamics.errors import ControlError, ParameterError, StopRequestedError
from robot_dynamics.model.arrays import FloatArray

#: Weights are not to differ by more: beyond it most joints are as good as free.
LARGEST_RESCALE = 100.0


@dataclass(frozen=True)
class Schedule:
    """Thresholds of the error norm, rad or m, and what goes with them.

    Parameters
    ----------
    eps0 : float
        Below it there is no feedback. The arm drifts until it is reached: 0 for feedback
        always.
    eps1 : float
        Above it gains are updated.
    eps2 : float
        Above it the law asks to be stopped.
    debounce : int
        Samples in a row above eps2 after which it does.
    update_period : float
        Shortest time between two updates of the gain; 0 for one in each sample. s.
    rescale : float
        Largest factor by which the weight of one position or velocity may differ from
        that of the mean of all, in proportion to the largest error since the last update;
        1 to leave the weights alone.
    """

    eps0: float = 0.0
    eps1: float = 0.0
    eps2: float = 1.0
    debounce: int = 5
    update_period: float = 0.01
    rescale: float = 1.0

    def __post_init__(self) -> None:
        not_negative('eps0', self.eps0, 'rad or m')
        not_negative('eps1', self.eps1, 'rad or m')
        positive('eps2', self.eps2, 'rad or m')
        positive('debounce', self.debounce)
        not_negative('update_period', self.update_period, 's')
        if not max(self.eps0, self.eps1) < self.eps2:
            raise ControlError(f'is {self.eps2:g}, not above eps0 and eps1', subject='eps2',
                               remedy=f'set it above {max(self.eps0, self.eps1):g} rad or m')
        if not 1.0 <= number('rescale', self.rescale) <= LARGEST_RESCALE:
            raise ParameterError(f'is {self.rescale:g}', subject='rescale',
                                 remedy=f'set it to 1 or more, to {LARGEST_RESCALE:g} at most')

    def require_below(self, reach: float) -> None:
        """Refuse thresholds that an arm does not reach before it is given up.

        Parameters
        ----------
        reach : float
            Position error of one joint beyond which an arm is not followed. rad or m.

        Raises
        ------
        ControlError
            Names the threshold.
        """
        for name, loss in (('eps0', 'nothing would be fed back'),
                           ('eps1', 'no gain would be updated')):
            if getattr(self, name) >= reach:
                raise ControlError(f'is {getattr(self, name):g}, and an arm is given up at '
                                   f'max_tracking_error = {reach:g}: {loss} before',
                                   subject=name, remedy=f'set it below {reach:g} rad or m')


class ScheduleState:
    """What a schedule has decided about the last sample.

    Parameters
    ----------
    schedule : Schedule
        Its thresholds.

    Attributes
    ----------
    feeds_back : bool
        Whether the error is fed back.
    is_due : bool
        Whether the gain is to be updated.
    counts : dict of str to int
        Samples without feedback, and updates.
    """

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self.counts = {'skipped': 0, 'updates': 0}
        self.reset()

    @property
    def is_first(self) -> bool:
        """Whether there is no gain yet since the beginning."""
        return self._age == np.inf

    def reset(self) -> None:
        """Begin anew: the next sample is to have a gain of its own."""
        self.feeds_back, self.is_due = True, True
        self._excessive = 0
        self._age = np.inf

    def observe(self, norm: float, dt: float) -> None:
        """Decide about a sample.

        Parameters
        ----------
        norm : float
            Its error norm. rad or m.
        dt : float
            Time since the last one. s.

        Raises
        ------
        StopRequestedError
            Where the error is excessive.
        """
        schedule = self.schedule
        # Written so that NaN counts as excessive.
        self._excessive = 0 if norm <= schedule.eps2 else self._excessive + 1
        if self._excessive >= schedule.debounce:
            raise StopRequestedError(
                f'has been above eps2 = {schedule.eps2:g} for {self._excessive} samples, '
                f'{norm:.3g} in the last', subject='error norm',
                remedy='look what holds the arm or what the model does not know; activate anew')
        self._age += dt
        self.feeds_back = norm >= schedule.eps0
        self.counts['skipped'] += not self.feeds_back
        # The first gain is computed whatever the error is. A tenth of a sample is no delay.
        self.is_due = self.is_first or (
            norm >= schedule.eps1 and self._age >= schedule.update_period - 0.1 * dt)

    def note_updated(self) -> None:
        """Say that the gain was updated."""
        self._age = 0.0
        self.counts['updates'] += 1


def rescaled_weights(weights: FloatArray, largest: FloatArray, most: float) -> FloatArray:
    """Return weights in proportion to the largest errors.

    Parameters
    ----------
    weights : ndarray, shape (2 n,)
        Weights of positions and velocities as designed.
    largest : ndarray, shape (2 n,)
        Largest |x_i| since the last update.
    most : float
        Largest factor, up or down.

    Returns
    -------
    ndarray, shape (2 n,)
        Each weight times |x_i| over the mean of the positions or of the velocities: the
        designed ratio of the two kinds stays.
    """
    kinds = largest.reshape(2, -1)
    means = kinds.mean(axis=1, keepdims=True)
    with np.errstate(invalid='ignore', divide='ignore'):
        factors = np.where(means > 0.0, kinds / means, 1.0)
    return weights * np.clip(factors, 1.0 / most, most).ravel()
