# SPDX-License-Identifier: Apache-2.0
r"""What can go wrong with the actuator of a joint, for the simulated arm.

With a fault the arm moves by

.. math:: M(q) a + c(q, v) + g(q) = \tau - \tau_f

A. De Luca, Robotics 2, July 12, 2021, Exercise 2, eq. 1. tau_f has one entry, that of the
faulty joint i:

=============  =============================================================  ============
kind           tau_f,i                                                        size
=============  =============================================================  ============
block          (h_i . (tau - c - g) + size v_i) / h_ii, so that               lambda, 1/s
               a_i = -size v_i; h_i is row i of M^-1 (eq. 7)
free_swinging  tau_i: nothing is delivered                                    none
saturated      tau_i - size times the largest effort: stuck there             -1 to 1
loss           size tau_i: only the rest is delivered                         0 to 1
bias           -size: so much is added                                        N m or N
=============  =============================================================  ============

Through the inverse of the inertia every one of them accelerates the other joints, too, by
-h_ji tau_f,i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from robot_dynamics.errors import SimulationError


class FaultKind(Enum):
    """What is wrong; the value is its name in parameters."""

    BLOCK = 'block'
    FREE_SWINGING = 'free_swinging'
    SATURATED = 'saturated'
    LOSS = 'loss'
    BIAS = 'bias'

    @classmethod
    def named(cls, name: str) -> FaultKind:
        """Return the kind of a name.

        Raises
        ------
        SimulationError
            Where there is none.
        """
        try:
            return cls(name)
        except ValueError:
            raise SimulationError(f'is {name!r}', subject='kind of fault',
                                  remedy='choose one of: '
                                         + ', '.join(kind.value for kind in cls)) from None


#: Sizes that make sense, lowest and highest.
_SIZES = {
    FaultKind.BLOCK: (0.0, 1e6), FaultKind.FREE_SWINGING: (-math.inf, math.inf),
    FaultKind.SATURATED: (-1.0, 1.0), FaultKind.LOSS: (0.0, 1.0),
    FaultKind.BIAS: (-1e6, 1e6),
}


@dataclass(frozen=True)
class Fault:
    """A fault of one actuator, for some time.

    Parameters
    ----------
    joint : str
        Its joint.
    kind : FaultKind
        What is wrong.
    size : float
        How much, see above.
    begin, end : float
        From when to when, in simulated time. s.
    """

    joint: str
    kind: FaultKind
    size: float = 0.0
    begin: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        low, high = _SIZES[self.kind]
        # Written so that NaN fails.
        if not low <= self.size <= high:
            raise SimulationError(f'of {self.kind.value} is {self.size:g}',
                                  subject=f'size of the fault of {self.joint}',
                                  remedy=f'give one from {low:g} to {high:g}')
        if not self.begin < self.end:
            raise SimulationError(f'lasts from {self.begin:g} to {self.end:g} s',
                                  subject=f'fault of {self.joint}',
                                  remedy='let it end after it begins')

    def is_active(self, time: float) -> bool:
        """Whether it is there at a time."""
        return self.begin <= time < self.end

    def delivered(self, tau: float, limit: float) -> float:
        """Return what the actuator delivers of an effort commanded, other than for a block.

        Parameters
        ----------
        tau, limit : float
            Effort commanded, and the largest. N m or N.
        """
        return {
            FaultKind.BLOCK: tau, FaultKind.FREE_SWINGING: 0.0,
            FaultKind.SATURATED: self.size * limit if math.isfinite(limit) else tau,
            FaultKind.LOSS: (1.0 - self.size) * tau, FaultKind.BIAS: tau + self.size,
        }[self.kind]
