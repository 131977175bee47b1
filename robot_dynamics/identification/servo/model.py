# SPDX-License-Identifier: Apache-2.0
"""Servo drives: which parameters they have, and the friction classes that leave some out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.servo import kernels
from robot_dynamics.model.arrays import FloatArray


@dataclass(frozen=True)
class DriveParameter:
    """A parameter of a drive.

    Parameters
    ----------
    columns : tuple of int
        Where it stands in the kernel's table; several columns are kept equal.
    low, high : float
        Between what it is looked for.
    typical : float
        Its scale: where searches begin, and what steps of derivatives are made of.
    unit : str
        With u in volts, of a joint that turns.
    """

    columns: tuple[int, ...]
    low: float
    high: float
    typical: float
    unit: str


#: Parameters by name. `typical` is relative to what the arm weighs, see `scaled`.
PARAMETERS: Mapping[str, DriveParameter] = {
    'gain': DriveParameter((kernels.GAIN,), 0.0, np.inf, 1.0, 'N m/V'),
    'back_emf': DriveParameter((kernels.BACK_EMF,), 0.0, np.inf, 0.2, 'N m s/rad'),
    'armature': DriveParameter((kernels.ARMATURE,), 0.0, np.inf, 0.5, 'kg m^2'),
    'viscous': DriveParameter((kernels.VISCOUS,), 0.0, np.inf, 0.02, 'N m s/rad'),
    'coulomb': DriveParameter((kernels.COULOMB,), 0.0, np.inf, 0.03, 'N m'),
    'stribeck': DriveParameter((kernels.STRIBECK,), 0.0, np.inf, 0.03, 'N m'),
    'stribeck_speed': DriveParameter((kernels.SPEED,), 1e-3, 100.0, 1.0, 'rad/s'),
    'load': DriveParameter((kernels.LOAD_MOTOR, kernels.LOAD_EXTERNAL), 0.0, 0.95, 0.1, ''),
    'load_motor': DriveParameter((kernels.LOAD_MOTOR,), 0.0, 0.95, 0.1, ''),
    'load_external': DriveParameter((kernels.LOAD_EXTERNAL,), 0.0, 0.95, 0.1, ''),
    'load_stribeck': DriveParameter((kernels.LOAD_MOTOR_STRIBECK, kernels.LOAD_EXTERNAL_STRIBECK),
                                    0.0, 0.95, 0.1, ''),
    'load_motor_stribeck': DriveParameter((kernels.LOAD_MOTOR_STRIBECK,), 0.0, 0.95, 0.1, ''),
    'load_external_stribeck': DriveParameter((kernels.LOAD_EXTERNAL_STRIBECK,), 0.0, 0.95, 0.1,
                                             ''),
    'offset': DriveParameter((kernels.OFFSET,), -0.5, 0.5, 0.02, 'rad'),
}

#: What every drive has.
DRIVE = ('gain', 'back_emf', 'armature', 'offset')
#: Friction classes, from plain to rich.
CLASSES: Mapping[str, tuple[str, ...]] = {
    'coulomb': ('viscous', 'coulomb'),
    'stribeck': ('viscous', 'coulomb', 'stribeck', 'stribeck_speed'),
    'load': ('viscous', 'coulomb', 'load'),
    'load+stribeck': ('viscous', 'coulomb', 'load', 'stribeck', 'load_stribeck',
                      'stribeck_speed'),
    'directional': ('viscous', 'coulomb', 'load_motor', 'load_external', 'stribeck',
                    'load_motor_stribeck', 'load_external_stribeck', 'stribeck_speed'),
}


def friction_of(friction: str | Sequence[str]) -> tuple[str, ...]:
    """Return the friction parameters of a class, or those that are listed; refuse others."""
    known = [name for name in PARAMETERS if name not in DRIVE]
    if isinstance(friction, str):
        if friction not in CLASSES:
            raise ParameterError(f'is {friction!r}', subject='friction', remedy='choose among '
                                 + ', '.join(CLASSES) + ', or list some of ' + ', '.join(known))
        return CLASSES[friction]
    if not isinstance(friction, Sequence):
        raise ParameterError(f'is {friction!r}', subject='friction',
                             remedy='name one of ' + ', '.join(CLASSES) + ', or list some of '
                                    + ', '.join(known))
    names = tuple(friction)
    for name in names:
        if name not in known:
            raise ParameterError('is no friction of a drive', subject=str(name),
                                 remedy='choose among ' + ', '.join(known))
    columns = [column for name in names for column in PARAMETERS[name].columns]
    if len(set(columns)) != len(columns):
        raise ParameterError('names an effect twice', subject='friction',
                             remedy='load stands for load_motor and load_external together')
    if any('stribeck' in name for name in names) and 'stribeck_speed' not in names:
        raise ParameterError('lacks stribeck_speed', subject='friction',
                             remedy='add it, Stribeck friction fades with it')
    return names


@dataclass(frozen=True, eq=False)
class Layout:
    """Which parameters of which joint are estimated, in one vector.

    Parameters
    ----------
    joints : tuple of str
        Names of the joints.
    names : tuple of str
        Names of the parameters of each joint.
    known : mapping of str to array, shape (n,)
        Parameters that are given, and so not estimated.
    """

    joints: tuple[str, ...]
    names: tuple[str, ...]
    known: Mapping[str, FloatArray]

    @property
    def free(self) -> tuple[str, ...]:
        """Parameters of a joint that are estimated."""
        return tuple(name for name in self.names if name not in self.known)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the entries of the vector: ``joint/parameter``."""
        return tuple(f'{joint}/{name}' for joint in self.joints for name in self.free)

    def table(self, x: FloatArray) -> FloatArray:
        """Return the table of the kernel, shape (n, COLUMNS), of a vector."""
        out = np.zeros((len(self.joints), kernels.COLUMNS))
        out[:, kernels.SPEED] = 1.0
        for name, values in self.known.items():
            out[:, PARAMETERS[name].columns] = np.asarray(values)[:, np.newaxis]
        values = np.reshape(x, (len(self.joints), len(self.free)))
        for k, name in enumerate(self.free):
            out[:, PARAMETERS[name].columns] = values[:, k, np.newaxis]
        return out

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return between what the entries of the vector lie."""
        low, high = ([getattr(PARAMETERS[name], side) for name in self.free]
                     for side in ('low', 'high'))
        n = len(self.joints)
        return np.tile(low, n), np.tile(high, n)

    def scales(self, effort: FloatArray, inertia: FloatArray, command: FloatArray,
               speed: FloatArray) -> FloatArray:
        """Return a typical size of each entry of the vector.

        Parameters
        ----------
        effort, inertia, command, speed : ndarray, shape (n,)
            What is typical of each joint: effort that its bodies ask for, inertia that it
            moves, size of u, and speed.
        """
        unit = {'gain': effort / command, 'back_emf': effort / speed, 'viscous': effort / speed,
                'armature': inertia, 'coulomb': effort, 'stribeck': effort,
                'stribeck_speed': speed}
        one = np.ones(len(self.joints))
        return np.stack([PARAMETERS[name].typical * unit.get(name, one) for name in self.free],
                        axis=1).ravel()
