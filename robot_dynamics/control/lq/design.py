# SPDX-License-Identifier: Apache-2.0
r"""From a bandwidth and a time constant to horizons and weights: nobody chooses Q.

In acceleration units, u = M w, each joint is a double integrator dx/dt = (v, w) for all
that is fast. A feedback w = -k_p x - k_v v with its poles at -b, the bandwidth, and at
-1/t_c, the time constant, has::

    k_p = b / t_c        k_v = b + 1 / t_c

The one-step minimiser of the report over a horizon h with the weights q_p = 1 and q_v has
k_p = 1 / (h^2/2 + 2 q_v) and k_v = k_p (h + 2 q_v / h). Solved for what was asked::

    h = (k_v - sqrt(k_v^2 - 2 k_p)) / k_p        q_v = (1 / k_p - h^2/2) / 2

The report takes for h the sampling period T. That leaves no choice of k_v, which is 1/T
and makes a bang-bang feedback of any delay; q_v only sets the slow pole, of the time
constant t_c = 2 q_v / T (`weight_of_time_constant`), which for Q = 1 is 2/T: never.

The continuous regulator with q_p, q_v and unit weight of w has k_p = sqrt(q_p) and
k_v = sqrt(q_v + 2 k_p)::

    q_p = k_p^2        q_v = k_v^2 - 2 k_p = b^2 + 1 / t_c^2

Where torques that the model does not know of are made up for at a rate w, neither changes, and
the feedback as a whole has a third pole at -w (`robot_dynamics.control.lq.disturbance`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from robot_dynamics.control.checks import not_negative, number, positive
from robot_dynamics.errors import ParameterError

#: No arm answers at this rate or faster, nor as slowly as at its inverse. 1/s.
FASTEST = 1e6


@dataclass(frozen=True)
class FeedbackDesign:
    """What the user wants of the feedback, and what follows from it.

    Parameters
    ----------
    bandwidth : float
        b, rate at which velocity errors decay. 1/s.
    time_constant : float
        t_c with which position errors decay. s.
    disturbance_rate : float
        w, rate at which a constant torque unknown to the model is made up for; 0 for not at
        all. 1/s.
    largest_disturbance : float
        How much of it at most, as a share of the effort limits.
    """

    bandwidth: float = 40.0
    time_constant: float = 0.026
    disturbance_rate: float = 0.0
    largest_disturbance: float = 0.5

    def __post_init__(self) -> None:
        for name, check, unit in (('bandwidth', positive, '1/s'), ('time_constant', positive, 's'),
                                  ('disturbance_rate', not_negative, '1/s')):
            value = check(name, getattr(self, name), unit)
            # Weights are products of four of them.
            if value != 0.0 and not 1.0 / FASTEST <= value <= FASTEST:
                raise ParameterError(f'is {value:g} {unit}', subject=name,
                                     remedy=f'set it between {1.0 / FASTEST:g} and {FASTEST:g} '
                                            f'{unit}')
        largest = number('largest_disturbance', self.largest_disturbance)
        if not 0.0 < largest <= 1.0:
            raise ParameterError(f'is {largest:g}, which is no share of a limit',
                                 subject='largest_disturbance',
                                 remedy='set it above 0, to 1 at most; for nothing set '
                                        'disturbance_rate to 0')

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
    """Return q_v of a one-step minimiser whose horizon is the sampling period, q_p = 1. s^2.

    One of its poles is at 0, the other at (2 q_v - h^2/2) / (2 q_v + h^2/2), which is
    exp(-h / t_c) to second order.
    """
    return 0.5 * positive('horizon', horizon, 's') * positive('time_constant', time_constant, 's')
