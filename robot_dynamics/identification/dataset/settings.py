# SPDX-License-Identifier: Apache-2.0
"""What a YAML beside a log says of it: names, units, drives, times.

Example::

    joints: [torso_lift_joint, arm_1_joint]
    log:
      files: {position: position.csv, effort: current.csv}
      times: [9, 45]
    names: {J1: arm_1_joint}
    effort:
      kind: current              # torque, current, motor_torque or gravity_compensated
      sign: [1, -1]
      gear_ratio: [1, 100]
      torque_constant: [1, 0.136]
    velocity: position           # position, measured or auto
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.yaml_text import read_yaml

#: What the efforts of a log may be.
EFFORT_KINDS = ('torque', 'current', 'motor_torque', 'gravity_compensated')
#: Where velocities may come from.
VELOCITY_SOURCES = ('auto', 'position', 'measured')
Settings = TypeVar('Settings')


@dataclass(frozen=True, eq=False)
class DatasetSettings:
    """How to read a log.

    Parameters
    ----------
    names : mapping of str to str
        What the robot calls a joint of the log.
    topic : str, optional
        The topic of a recording.
    rate : float, optional
        Rows a second of a table without time, Hz.
    times : (float, float), optional
        What to keep, s from the first row.
    keys : mapping
        Columns or arrays of a table; see `table_log`.
    files : mapping of str to str
        One file for each quantity, relative to the log.
    effort_kind : str
        One of `EFFORT_KINDS`.
    sign, gear_ratio, torque_constant : sequence of float, or one for all
        Of each joint. Efforts are multiplied by the sign; of a current also by the torque
        constant (N m/A), and what is motor-side by the ratio.
    coupling : matrix, optional
        C of a transmission that couples joints, q_motor = C q + offset; stands for gear
        ratios. Efforts of motors then act as tau = C^T tau_motor.
    position_side : {'joint', 'motor'}
        Which side positions and velocities are measured on.
    position_offset : sequence of float, or one for all
        Added to the positions of the joints, rad or m.
    position_scale : sequence of float, or one for all
        What positions and velocities are multiplied by first: 0.017453 for degrees.
    unsigned_bits : int, optional
        Efforts are written as unsigned numbers of so many bits, of which the upper half stands
        for negative ones (two's complement).
    velocity : str
        One of `VELOCITY_SOURCES`.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    topic: str | None = None
    rate: float | None = None
    times: tuple[float, float] | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    effort_kind: str = 'torque'
    sign: float | Sequence[float] = 1.0
    gear_ratio: float | Sequence[float] = 1.0
    torque_constant: float | Sequence[float] = 1.0
    coupling: Sequence[Sequence[float]] | None = None
    position_side: str = 'joint'
    position_offset: float | Sequence[float] = 0.0
    position_scale: float | Sequence[float] = 1.0
    unsigned_bits: int | None = None
    velocity: str = 'auto'

    def __post_init__(self) -> None:
        for name, value, known in (('effort.kind', self.effort_kind, EFFORT_KINDS),
                                   ('velocity', self.velocity, VELOCITY_SOURCES),
                                   ('position.side', self.position_side, ('joint', 'motor'))):
            if value not in known:
                raise ParameterError(f'is {value!r}', subject=name,
                                     remedy='choose among ' + ', '.join(known))
        for name in ('names', 'keys', 'files'):
            if not isinstance(getattr(self, name), Mapping):
                raise ParameterError('is no mapping', subject=name, remedy='give names by name')
        if self.rate is not None and not (isinstance(self.rate, (int, float))
                                          and 0.0 < self.rate < 1e7):
            raise ParameterError(f'is {self.rate!r}', subject='rate', remedy='give rows a second')
        if self.unsigned_bits is not None and not (isinstance(self.unsigned_bits, int)
                                                   and 2 <= self.unsigned_bits <= 52):
            raise ParameterError(f'are {self.unsigned_bits!r}', subject='unsigned_bits',
                                 remedy='give 8, 16 or 32')
        if self.times is not None:
            pair = np.asarray(self.times, dtype=object)
            if pair.shape != (2,) or not all(isinstance(x, (int, float)) for x in pair) \
                    or not pair[0] < pair[1]:
                raise ParameterError(f'is {self.times!r}', subject='times',
                                     remedy='give two times, first the earlier one, s')

    def of_joints(self, name: str, n: int) -> FloatArray:
        """Return one of the settings of each joint, shape (n,)."""
        try:
            values = np.asarray(getattr(self, name), dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if values.shape not in ((), (n,)) or not np.all(np.isfinite(values)):
            raise ParameterError(f'is {getattr(self, name)!r}', subject=name,
                                 remedy=f'give one number, or {n} in the order of the joints')
        if name in _FACTORS and np.any(values == 0.0):
            raise ParameterError('holds a zero', subject=name, remedy='give the real one')
        return np.broadcast_to(values, (n,)).copy()

    def transmission(self, n: int) -> FloatArray:
        """Return C in q_motor = C q, shape (n, n).

        Raises
        ------
        ParameterError
            When the matrix is not square or has no inverse.
        """
        if self.coupling is None:
            return np.diag(self.of_joints('gear_ratio', n))
        try:
            C = np.asarray(self.coupling, dtype=np.float64)
        except (TypeError, ValueError):
            C = np.zeros(0)
        if C.shape != (n, n) or not np.all(np.isfinite(C)) or np.linalg.cond(C) > 1e12:
            raise ParameterError('is no invertible matrix', subject='coupling',
                                 remedy=f'give {n} rows of {n} numbers: motor positions as '
                                        'combinations of joint positions')
        return C


def settings_from(content: Any, subject: str = 'settings') -> DatasetSettings:
    """Return settings out of what a YAML says; keys that it does not know are refused.

    Parameters
    ----------
    content : mapping
        As in the example of this module; ``joints``, ``robot``, ``estimate`` and the like
        belong to others and are passed over.
    subject : str
        Name of the file, for messages.
    """
    if not isinstance(content, Mapping):
        raise ParameterError('is no mapping', subject=subject, remedy='see the documentation')
    flat: dict[str, Any] = {}
    for section, known in _SECTIONS.items():
        part = content.get(section, {})
        if not isinstance(part, Mapping):
            raise ParameterError('is no mapping', subject=f'{subject}: {section}',
                                 remedy='give ' + ', '.join(known))
        for key, value in part.items():
            if key not in known:
                raise ParameterError('is no setting', subject=f'{subject}: {section}.{key}',
                                     remedy='choose among ' + ', '.join(known))
            flat[known[key]] = value
    for key in ('names', 'velocity'):
        if key in content:
            flat[key] = content[key]
    if 'times' in flat and isinstance(flat['times'], list):
        flat['times'] = tuple(flat['times'])
    return DatasetSettings(**flat)


def read_settings(path: Path) -> tuple[DatasetSettings, Mapping[str, Any]]:
    """Return the settings that a YAML file holds, and all that it says."""
    content = read_yaml(path, ParameterError, 'give a YAML file that describes the log')
    return settings_from({} if content is None else content, str(path)), content or {}


# What multiplies, and so is never zero.
_FACTORS = ('sign', 'gear_ratio', 'torque_constant', 'position_scale')

_SECTIONS: Mapping[str, Mapping[str, str]] = {
    'log': {'topic': 'topic', 'rate': 'rate', 'times': 'times', 'keys': 'keys', 'files': 'files'},
    'effort': {'kind': 'effort_kind', 'sign': 'sign', 'gear_ratio': 'gear_ratio',
               'torque_constant': 'torque_constant', 'coupling': 'coupling',
               'unsigned_bits': 'unsigned_bits'},
    'position': {'side': 'position_side', 'offset': 'position_offset',
                 'scale': 'position_scale'},
}

assert {name for part in _SECTIONS.values() for name in part.values()} | {'names', 'velocity'} \
    == {field.name for field in fields(DatasetSettings)}


def read_estimate(kind: type[Settings], content: Mapping[str, Any], refusal: str) -> Settings:
    """Return settings out of the section; ``auto`` and none are the defaults.

    Parameters
    ----------
    kind : type
        A dataclass of settings, which checks its values.
    content : mapping
        The whole YAML.
    refusal : str
        What a name is that is no setting.

    Raises
    ------
    ParameterError
        Where the section is no mapping, or names something else.
    """
    part = content.get('estimate', {})
    known = [field.name for field in fields(kind)]
    if part == 'auto':
        part = {}
    if not isinstance(part, Mapping):
        raise ParameterError(f'is {part!r}', subject='estimate', remedy='give auto, or '
                             + ', '.join(known))
    for key in part:
        if key not in known:
            raise ParameterError(refusal, subject=f'estimate.{key}',
                                 remedy='choose among ' + ', '.join(known))
    return kind(**part)
