# SPDX-License-Identifier: Apache-2.0
"""Design of the least squares feedback from a bandwidth and a time constant, and its schedule.

In acceleration units, u = M w, each joint is a double integrator dx/dt = (v, w) for fast motions.
A feedback w = -k_p x - k_v v with its poles at -b, the bandwidth, and at -1/t_c, the time
constant, has::

    k_p = b / t_c        k_v = b + 1 / t_c

The one-step minimiser of the report over a horizon h with the weights q_p = 1 and q_v has k_p = 1
/ (h^2/2 + 2 q_v) and k_v = k_p (h + 2 q_v / h). Solved for b and t_c::

    h = (k_v - sqrt(k_v^2 - 2 k_p)) / k_p        q_v = (1 / k_p - h^2/2) / 2

The report uses the sampling period T as h. This fixes k_v to 1/T, a bang-bang feedback at any
delay. q_v only sets the slow pole, with the time constant t_c = 2 q_v / T
(`weight_of_time_constant`): 2/T for Q = 1, which is far too slow.

The continuous regulator with q_p, q_v and unit weight of w has k_p = sqrt(q_p) and k_v = sqrt(q_v
+ 2 k_p)::

    q_p = k_p^2        q_v = k_v^2 - 2 k_p = b^2 + 1 / t_c^2

Compensation of unknown torques at a rate w changes neither and adds a third pole at -w
(`robot_dynamics.control.lq.rules`).

*Schedule.* It uses the error norm sum_i a_i |x_i| of the report, here the mean of |e| + t_c
|e_dot| over the joints: below eps0 the feedback is zero, above eps1 gains are updated, above eps2
the law requests a stop. The mean does not grow with the number of joints, as a sum does. The
report updates gains only after errors have become large, so that they are outdated when needed.
With eps1 = 0 updates are as frequent as `update_period` allows, which costs little.

References
----------
J. C. Van Winssen and C. W. deSilva, "Accurate trajectory control of robotic manipulators",
Carnegie Mellon University, CMU-RI-TR-85-15, 1985, section 2.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.checks import check_fields, not_negative, number, positive
from robot_dynamics.errors import ControlError, ParameterError, StopRequestedError
from robot_dynamics.model.arrays import FloatArray

#: Largest rate of a design, the inverse of the smallest. 1/s.
FASTEST = 1e6
#: Largest ratio of weights: above it most joints are hardly controlled.
LARGEST_RESCALE = 100.0


@dataclass(frozen=True)
class FeedbackDesign:
    """Bandwidth and time constant of the feedback, and the weights that follow.

    Parameters
    ----------
    bandwidth : float
        b, rate at which velocity errors decay. 1/s.
    time_constant : float
        t_c with which position errors decay. s.
    disturbance_rate : float
        w, rate at which a constant unknown torque is compensated; 0 for no compensation. 1/s.
    largest_disturbance : float
        Largest compensated torque, as a share of the effort limits.

    Examples
    --------
    >>> design = FeedbackDesign(bandwidth=40.0, time_constant=0.025)
    >>> design.stiffness, design.damping
    (1600.0, 80.0)
    """

    bandwidth: float = 40.0
    time_constant: float = 0.026
    disturbance_rate: float = 0.0
    largest_disturbance: float = 0.5

    def __post_init__(self) -> None:
        for name, check, unit in (('bandwidth', positive, '1/s'), ('time_constant', positive, 's'),
                                  ('disturbance_rate', not_negative, '1/s')):
            value = check(name, getattr(self, name), unit)
            # Weights are products of up to four rates.
            if value != 0.0 and not 1.0 / FASTEST <= value <= FASTEST:
                raise ParameterError(f'must be between {1.0 / FASTEST:g} and {FASTEST:g} {unit}, '
                                     f'got {value:g}', subject=name,
                                     remedy=f'give it in {unit}')
        largest = number('largest_disturbance', self.largest_disturbance)
        if not 0.0 < largest <= 1.0:
            raise ParameterError(f'must be above 0 and at most 1, got {largest:g}',
                                 subject='largest_disturbance',
                                 remedy='give a share of the effort limits; for no '
                                        'compensation set disturbance_rate to 0')

    @property
    def stiffness(self) -> float:
        """k_p, acceleration per position error. 1/s^2."""
        return self.bandwidth / self.time_constant

    @property
    def damping(self) -> float:
        """k_v, acceleration per velocity error. 1/s."""
        return self.bandwidth + 1.0 / self.time_constant

    @property
    def horizon(self) -> float:
        """Horizon h of the one-step minimiser. s."""
        # The smaller root of k_p h^2/2 - k_v h + 1, without its cancellation;
        # k_v^2 - 2 k_p = b^2 + 1 / t_c^2.
        return 2.0 / (self.damping + math.hypot(self.bandwidth, 1.0 / self.time_constant))

    @property
    def one_step_weight(self) -> float:
        """q_v of the one-step minimiser where q_p is 1. s^2."""
        return 0.5 * (1.0 / self.stiffness - 0.5 * self.horizon**2)

    @property
    def riccati_weights(self) -> tuple[float, float]:
        """q_p and q_v of the regulator where the weight of an acceleration is 1."""
        return self.stiffness**2, self.bandwidth**2 + 1.0 / self.time_constant**2


def weight_of_time_constant(horizon: float, time_constant: float) -> float:
    """q_v of a one-step minimiser over one sampling period, q_p = 1, s^2.

    One of its poles is at 0, the other at (2 q_v - h^2/2) / (2 q_v + h^2/2), which is exp(-h /
    t_c) to second order.
    """
    return 0.5 * positive('horizon', horizon, 's') * positive('time_constant', time_constant, 's')


@dataclass(frozen=True)
class Schedule:
    """Thresholds of the error norm, rad or m, for feedback, gain updates and stops.

    Parameters
    ----------
    eps0 : float
        Threshold of the feedback, below which the arm drifts; 0 for permanent feedback.
    eps1 : float
        Threshold of gain updates.
    eps2 : float
        Threshold of a stop.
    debounce : int
        Samples in a row above eps2 after which a stop is requested.
    update_period : float
        Shortest time between two updates of the gain; 0 for one in each sample. s.
    rescale : float
        Largest ratio of a rescaled weight to the designed one. Weights are rescaled in proportion
        to the largest error since the last update, relative to the mean; 1 for constant weights.

    Examples
    --------
    >>> Schedule(eps2=0.5).update_period
    0.01
    """

    eps0: float = 0.0
    eps1: float = 0.0
    eps2: float = 0.5
    debounce: int = 5
    update_period: float = 0.01
    rescale: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, not_negative, eps0='rad or m', eps1='rad or m', update_period='s')
        check_fields(self, positive, eps2='rad or m')
        positive('debounce', self.debounce)
        if not max(self.eps0, self.eps1) < self.eps2:
            raise ControlError(f'must be above eps0 and eps1, got {self.eps2:g}', subject='eps2',
                               remedy=f'set it above {max(self.eps0, self.eps1):g} rad or m')
        if not 1.0 <= number('rescale', self.rescale) <= LARGEST_RESCALE:
            raise ParameterError(f'must be between 1 and {LARGEST_RESCALE:g}, got '
                                 f'{self.rescale:g}', subject='rescale',
                                 remedy='use 1 for constant weights')

    def require_below(self, reach: float) -> None:
        """Reject thresholds beyond the largest tracking error.

        Parameters
        ----------
        reach : float
            Largest position error of one joint. rad or m.

        Raises
        ------
        ControlError
            Names the threshold.
        """
        for name, loss in (('eps0', 'there would never be feedback'),
                           ('eps1', 'no gain would ever be updated')):
            if getattr(self, name) >= reach:
                raise ControlError(f'must be below max_tracking_error = {reach:g}, got '
                                   f'{getattr(self, name):g}: {loss}', subject=name,
                                   remedy=f'set it below {reach:g} rad or m')


class ScheduleState:
    """Decisions of a schedule for the last sample (feedback, gain update), and their counts."""

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self.counts = {'skipped': 0, 'updates': 0}
        self.reset()

    @property
    def is_first(self) -> bool:
        """Whether no gain has been computed since the beginning."""
        return self._age == np.inf

    def reset(self) -> None:
        """Start over: the next sample gets a new gain."""
        self.feeds_back, self.is_due = True, True
        self._excessive = 0
        self._age = np.inf

    def observe(self, norm: float, dt: float) -> None:
        """Decide for a sample with an error norm, rad or m, after a time, s.

        Raises a StopRequestedError if the error is excessive.
        """
        schedule = self.schedule
        # Written so that NaN counts as excessive.
        self._excessive = 0 if norm <= schedule.eps2 else self._excessive + 1
        if self._excessive >= schedule.debounce:
            raise StopRequestedError(
                f'has been above eps2 = {schedule.eps2:g} for {self._excessive} samples, '
                f'{norm:.3g} in the last', subject='error norm',
                remedy='check the arm for obstacles and the model for errors; then activate again')
        self._age += dt
        self.feeds_back = norm >= schedule.eps0
        self.counts['skipped'] += not self.feeds_back
        # The first gain is computed at any error. The tolerance of a tenth of a sample is for
        # rounding.
        self.is_due = self.is_first or (
            norm >= schedule.eps1 and self._age >= schedule.update_period - 0.1 * dt)

    def note_updated(self) -> None:
        """Note an update of the gain."""
        self._age = 0.0
        self.counts['updates'] += 1


def rescaled_weights(weights: FloatArray, largest: FloatArray, most: float) -> FloatArray:
    """Weights times |x_i| over the mean of the positions or of the velocities, shape (2 n,).

    The factors are within 1/`most` and `most`; positions and velocities are rescaled separately.
    """
    kinds = largest.reshape(2, -1)
    means = kinds.mean(axis=1, keepdims=True)
    with np.errstate(invalid='ignore', divide='ignore'):
        factors = np.where(means > 0.0, kinds / means, 1.0)
    return weights * np.clip(factors, 1.0 / most, most).ravel()
