# SPDX-License-Identifier: Apache-2.0
"""Stribeck friction of motors."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.elastic.joints import ElasticJoints, numbered, per_joint
from robot_dynamics.model.arrays import FloatArray, Rebuilt, real_array, store


@dataclass(frozen=True, eq=False)
class StribeckFriction(Rebuilt):
    """Stribeck friction: it decreases as motion begins, and increases with speed.

    With v = theta' and s = sign(v)::

        F = f1 v + f2 s - f3 s exp(-|v| / f4) - f5 s exp(-1 / (f6 |v|))

    By Bompos et al., as in Zollo et al., "Identification of Dynamic Parameters for Robots with
    Elastic Joints", eq. 43. The first exponent contains the speed, although the angle is printed,
    and the second is ``1 / (f6 |v|)``.

    Parameters
    ----------
    viscous, coulomb : array_like, shape (n,)
        f1 (N m s/rad or N s/m) and f2 (N m or N).
    rise, rise_speed : array_like, shape (n,), optional
        f3 and f4: friction missing at standstill, and the speed at which it is reached.
    drop, drop_rate : array_like, shape (n,), optional
        f5 and f6: friction lost at speed, and the inverse of the speed at which it is lost.

    Examples
    --------
    >>> from robot_dynamics.elastic import StribeckFriction
    >>> friction = StribeckFriction(viscous=[2.0], coulomb=[1.0])
    >>> friction.torque([-0.5]).tolist()
    [-2.0]
    """

    viscous: FloatArray
    coulomb: FloatArray
    rise: FloatArray = 0.0  # type: ignore[assignment]
    rise_speed: FloatArray = 1.0  # type: ignore[assignment]
    drop: FloatArray = 0.0  # type: ignore[assignment]
    drop_rate: FloatArray = 1.0  # type: ignore[assignment]

    def __post_init__(self) -> None:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        names = numbered(values.values())
        for name, value in values.items():
            store(self, name, per_joint(
                name, value, names,
                'positive' if name in ('rise_speed', 'drop_rate') else 'finite'))

    @classmethod
    def of(cls, joints: ElasticJoints) -> StribeckFriction:
        """Friction of a description: Coulomb and viscous."""
        return cls(joints.viscous, joints.coulomb)

    @property
    def coefficients(self) -> FloatArray:
        """f1 to f6 of each joint, shape (n, 6)."""
        return np.stack([getattr(self, each.name) for each in fields(self)], axis=1)

    def torque(self, v: ArrayLike, smooth: float = 0.0) -> FloatArray:
        """Friction at speeds theta' of the motors, shape (..., n). N m or N.

        ``smooth`` is epsilon of tanh(v / epsilon) in place of the sign; 0 for the exact sign.
        """
        v = real_array(v, 'v')
        speed = np.abs(v)
        with np.errstate(divide='ignore'):
            lost = np.exp(-1.0 / (self.drop_rate * speed))
        sign = np.tanh(v / smooth) if smooth > 0.0 else np.sign(v)
        return self.viscous * v + sign * (
            self.coulomb - self.rise * np.exp(-speed / self.rise_speed) - self.drop * lost)
