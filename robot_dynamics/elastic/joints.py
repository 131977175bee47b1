# SPDX-License-Identifier: Apache-2.0
"""``ElasticJoints``: the motors, gears and springs between motors and links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.arrays import FloatArray, Rebuilt, real_array, store

#: Fields that must be positive; the others must not be negative.
_POSITIVE = ('gear_ratio', 'rotor_inertia', 'stiffness')


@dataclass(frozen=True, eq=False)
class ElasticJoints(Rebuilt):
    """Gears, rotors and springs between the motors and the links of n joints.

    Assumptions of Zollo et al., "Identification of Dynamic Parameters for Robots with
    Elastic Joints": springs are linear, each rotor is symmetric about its axis, and motor i is
    mounted on the link before joint i.

    Parameters
    ----------
    gear_ratio : array_like, shape (n,)
        k_m, turns of the motor in a turn of the joint: theta = theta_motor / k_m. For a
        prismatic joint rad/m.
    rotor_inertia : array_like, shape (n,)
        Upsilon, inertia of each rotor about its axis. kg m^2.
    stiffness : array_like, shape (n,)
        K of each spring, on the link side. N m/rad or N/m.
    rotor_axes : array_like, shape (n, 3), optional
        z_m, axis of each rotor, in the axes of the link that it is mounted on (frame i - 1); the
        joint axis by default.
    coulomb : array_like, shape (n,), optional
        f_s, Coulomb friction of the motor, on the link side. N m or N.
    viscous : array_like, shape (n,), optional
        f_v, friction of the motor per speed of theta. N m s/rad or N s/m.
    spring_damping : array_like, shape (n,), optional
        D, effort across the spring per speed of its deflection. N m s/rad or N s/m.
    names : sequence of str, optional
        Names of the joints. With them one number applies to all joints, except for axes.

    Examples
    --------
    >>> from robot_dynamics.elastic import ElasticJoints
    >>> joints = ElasticJoints(gear_ratio=[100, 50], rotor_inertia=4e-5, stiffness=2e4)
    >>> joints.n, joints.stiffness.tolist()
    (2, [20000.0, 20000.0])
    """

    gear_ratio: FloatArray
    rotor_inertia: FloatArray
    stiffness: FloatArray
    rotor_axes: FloatArray | None = None
    coulomb: FloatArray = 0.0  # type: ignore[assignment]
    viscous: FloatArray = 0.0  # type: ignore[assignment]
    spring_damping: FloatArray = 0.0  # type: ignore[assignment]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        numbers = {each.name: getattr(self, each.name) for each in fields(self)
                   if each.name not in ('rotor_axes', 'names')}
        names = tuple(self.names) or numbered(numbers.values())
        store(self, 'names', names)
        for name, value in numbers.items():
            store(self, name, per_joint(name, value, names,
                                        'positive' if name in _POSITIVE else 'zero or positive'))
        if self.rotor_axes is not None:
            store(self, 'rotor_axes', _unit_axes(self.rotor_axes, names))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.names)


def numbered(values: Iterable[ArrayLike]) -> tuple[str, ...]:
    """Default joint names, as many as the longest of some arrays has numbers."""
    return tuple(f'joint {index}' for index in range(1, 1 + max(map(np.size, values))))


def per_joint(field_name: str, value: ArrayLike, names: tuple[str, ...], wanted: str
              ) -> FloatArray:
    """One number per joint, read-only, after a check of finite, nonnegative or positive values."""
    array = real_array(value, field_name)
    if array.shape not in ((), (1,), (len(names),)):
        raise DimensionError(f'must have shape ({len(names)},), got {array.shape}',
                             subject=field_name,
                             remedy='give one number, or one for each of: ' + ', '.join(names))
    numbers = np.broadcast_to(array.reshape(-1), (len(names),)).copy()
    for joint, number in zip(names, numbers, strict=True):
        if not np.isfinite(number) or (number < 0.0 and wanted != 'finite') \
                or (number == 0.0 and wanted == 'positive'):
            raise ParameterError(f'must have a {wanted} {field_name}, got {number:g}',
                                 subject=joint,
                                 remedy='correct it in the configuration of the elastic joints')
    numbers.flags.writeable = False
    return numbers


def _unit_axes(value: ArrayLike, names: tuple[str, ...]) -> FloatArray:
    """Unit vectors, read-only."""
    axes = real_array(value, 'rotor_axes')
    if axes.shape != (len(names), 3):
        raise DimensionError(f'must have shape ({len(names)}, 3), got {axes.shape}',
                             subject='rotor_axes',
                             remedy='give x, y, z of the rotor axis of each of: '
                                    + ', '.join(names))
    lengths = np.linalg.norm(axes, axis=1)
    for joint, length in zip(names, lengths, strict=True):
        if not (np.isfinite(length) and length > 0.0):
            raise ParameterError('must have a direction', subject=f'rotor axis of {joint}',
                                 remedy='give three finite numbers that are not all zero')
    unit = axes / lengths[:, None]
    unit.flags.writeable = False
    return unit
