# SPDX-License-Identifier: Apache-2.0
"""Meaning of the ``effort`` of joint states, which differs between drivers."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray


class EffortKind(Enum):
    """Meaning of the reported effort; the value is its name in parameters.

    Examples
    --------
    >>> EffortKind('torque')
    <EffortKind.TORQUE: 'torque'>
    """

    #: Torque or force of the joint, gravity included. N m or N.
    TORQUE = 'torque'
    #: Current of the motor. A.
    CURRENT = 'current'
    #: Torque or force without gravity: zero for an arm at rest. N m or N.
    GRAVITY_COMPENSATED = 'gravity_compensated'
    #: Not usable.
    NONE = 'none'


class ReportedEffort:
    r"""Convert reported efforts r to joint efforts.

    .. math::

        \tau = s r \; (torque, current), \qquad \tau = s r + g(q) \; (gravity\ compensated)

    Parameters
    ----------
    kind : EffortKind
        Meaning of r.
    scale : array_like, shape (n,), optional
        s: N m or N per unit reported, negative where the driver counts the other way; one by
        default. A current needs it: torque constant times gear ratio.
    gravity : callable
        g of the model, for positions q, shape (n,) both. N m or N.
    hardware_gravity : bool
        Whether the hardware adds gravity to the commands.

    Raises
    ------
    ParameterError
        If a scale is missing, zero or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> effort = ReportedEffort(EffortKind.CURRENT, [10.0, 5.0], lambda q: np.zeros(2))
    >>> effort.joint_effort(np.zeros(2), np.array([0.5, 2.0]))
    array([ 5., 10.])
    """

    def __init__(self, kind: EffortKind, scale: ArrayLike | None,
                 gravity: Callable[[FloatArray], FloatArray], *, hardware_gravity: bool = False):
        if scale is None and kind is EffortKind.CURRENT:
            raise ParameterError('must be given for currents', subject='effort_scale',
                                 remedy='give torque constant times gear ratio of each joint, '
                                        'N m per A, or set effort_kind to none')
        self.kind = kind
        self._scale = np.array(1.0 if scale is None else scale, dtype=np.float64)
        bad = [value for value in self._scale.flat if value == 0.0 or not math.isfinite(value)]
        if bad:
            raise ParameterError(f'must be finite and not zero, got {bad[0]:g}',
                                 subject='effort_scale',
                                 remedy='give the joint effort per reported unit')
        self._gravity = gravity
        self._hardware_gravity = hardware_gravity

    @property
    def comparable(self) -> bool:
        """Whether it can be compared with commands; a current also contains friction."""
        return self.kind in (EffortKind.TORQUE, EffortKind.GRAVITY_COMPENSATED)

    def joint_effort(self, q: FloatArray, reported: FloatArray) -> FloatArray:
        """Joint efforts with gravity, shape (n,), N m or N; nan where unknown.

        Parameters
        ----------
        q, reported : ndarray, shape (n,)
            Positions, and efforts as reported (nan for none).
        """
        if self.kind is EffortKind.NONE:
            return np.full_like(reported, np.nan)
        effort = self._scale * reported
        return effort + self._gravity(q) if self.kind is EffortKind.GRAVITY_COMPENSATED else effort

    def as_sent(self, q: FloatArray, reported: FloatArray) -> FloatArray:
        """Commands for the reported efforts, shape (n,), N m or N; nan where unknown.

        Parameters
        ----------
        q, reported : ndarray, shape (n,)
            As for `joint_effort`.
        """
        effort = self.joint_effort(q, reported)
        return effort - self._gravity(q) if self._hardware_gravity else effort
