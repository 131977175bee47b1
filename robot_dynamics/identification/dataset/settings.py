# SPDX-License-Identifier: Apache-2.0
"""Settings of logs and of estimates, read from a YAML file, and the checks that they share.

A YAML file beside a log describes its names, units, drives and times::

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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.dataset.conventions import TIME_UNITS
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.yaml_text import read_yaml

#: Quantities that the efforts of a log may be.
EFFORT_KINDS = ('torque', 'current', 'motor_torque', 'gravity_compensated')
#: Sources of velocities.
VELOCITY_SOURCES = ('auto', 'position', 'measured')

# Factors, which must not be zero.
_FACTORS = ('sign', 'gear_ratio', 'torque_constant', 'position_scale')

_SECTIONS: Mapping[str, Mapping[str, str]] = {
    'log': {'topic': 'topic', 'rate': 'rate', 'times': 'times', 'time_unit': 'time_unit',
            'keys': 'keys', 'files': 'files'},
    'effort': {'kind': 'effort_kind', 'sign': 'sign', 'gear_ratio': 'gear_ratio',
               'torque_constant': 'torque_constant', 'coupling': 'coupling',
               'unsigned_bits': 'unsigned_bits'},
    'position': {'side': 'position_side', 'offset': 'position_offset',
                 'scale': 'position_scale'},
    'loop': {'proportional': 'proportional', 'derivative': 'derivative',
             'reference': 'reference'},
}

Settings = TypeVar('Settings')


def require_choice(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise ParameterError unless a setting is one of some names."""
    if value not in known:
        raise ParameterError(f'must be one of {", ".join(map(str, known))}, got {value!r}',
                             subject=name, remedy='choose among these')


def require_bool(name: str, value: Any, *others: str) -> None:
    """Raise ParameterError unless a setting is true, false or one of some words."""
    if not (isinstance(value, bool) or (isinstance(value, str) and value in others)):
        raise ParameterError(f'must be {", ".join((*others, "true or false"))}, got {value!r}',
                             subject=name, remedy='correct it')


def require_number(name: str, value: Any, remedy: str, low: float = 0.0, high: float = np.inf, *,
                   whole: bool = False, closed: bool = True) -> None:
    """Raise ParameterError unless a setting is a finite number from low to high.

    With ``closed=False`` the number must be above ``low``; with ``whole`` it must be an integer.
    """
    is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    size = float(value) if is_number else np.nan
    # Written so that nan is wrong.
    if not (low <= size <= high and np.isfinite(size)) or (size == low and not closed):
        raise ParameterError(f'must be a {"whole " if whole else ""}number from {low:g} to '
                             f'{high:g}, got {value!r}', subject=name, remedy=remedy)


def require_mapping(value: Any, name: str, known: Iterable[str]) -> Mapping[str, Any]:
    """Section of a YAML file, or ParameterError unless it is a mapping with known keys."""
    known = list(known)
    if not isinstance(value, Mapping):
        raise ParameterError(f'must be a mapping, got {value!r}', subject=name,
                             remedy='give ' + ', '.join(known))
    for key in value:
        if key not in known:
            raise ParameterError('is not a setting', subject=f'{name}.{key}',
                                 remedy='choose among ' + ', '.join(known))
    return value


def values_of_joints(name: str, value: Any, n: int) -> FloatArray:
    """Setting as finite values of n joints, shape (n,), from one number or n."""
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (n,)) or not np.all(np.isfinite(values)):
        raise ParameterError(f'must be one number or {n}, got {value!r}', subject=name,
                             remedy='give finite numbers in the order of the joints')
    return np.broadcast_to(values, (n,)).copy()


@dataclass(frozen=True, eq=False)
class LogSettings:
    """Rows per second of a table without times, Hz, and interval that is kept, s.

    The interval is from the first row, or from 1970 on if its numbers are so large.
    """

    rate: float | None = None
    times: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            require_number('rate', self.rate, 'give rows per second', 0.0, 1e7, closed=False)
        if self.times is not None:
            pair = np.asarray(self.times, dtype=object)
            if pair.shape != (2,) or not all(isinstance(x, Real) for x in pair) \
                    or not pair[0] < pair[1]:
                raise ParameterError(f'must be an interval, got {self.times!r}', subject='times',
                                     remedy='give two times in s, the earlier one first')


@dataclass(frozen=True, eq=False)
class DatasetSettings(LogSettings):
    """Settings of a log of joint positions and efforts.

    Parameters
    ----------
    rate, times
        See `LogSettings`.
    time_unit : str, optional
        Unit of the times of a table: ``s``, ``ms``, ``us`` or ``ns``; detected if not given.
    names : mapping of str to str
        Name of the robot's joint by name of the joint in the log.
    topic : str, optional
        Topic of a recording, or of columns of a table such as ``/joint_states/j1/position``.
    keys : mapping
        Columns of a table by name or number, or arrays of an archive, by quantity:
        ``{'time': 1, 'position': [2, 3], 'effort': ['a', 'b']}``.
    files : mapping of str to str
        One file per quantity, relative to the log.
    effort_kind : str
        One of `EFFORT_KINDS`.
    sign, gear_ratio, torque_constant : float or sequence of float
        Factors of each joint. Efforts are multiplied by the sign; currents also by the torque
        constant (N m/A), and efforts of motors by the gear ratio.
    coupling : matrix, optional
        C of a transmission that couples joints, q_motor = C q + offset, instead of gear
        ratios. Efforts of joints are then C^T tau_motor.
    position_side : {'joint', 'motor'}
        Side of the gears on which positions and velocities are measured.
    position_offset : float or sequence of float
        Added to the positions of the joints, rad or m.
    position_scale : float or sequence of float
        Factor of positions and velocities, applied first: 0.017453 for degrees.
    unsigned_bits : int, optional
        Efforts are unsigned numbers of this many bits in two's complement.
    velocity : str
        One of `VELOCITY_SOURCES`.
    proportional, derivative : float or sequence of float, optional
        Gains of the position controller on the side of the joints, for estimators that simulate
        its loop: N m/rad and N m s/rad, or N/m and N s/m.
    reference : str, optional
        Reference of that controller: a file beside the log with positions, a topic of the
        recording, or the key of its columns or array.

    Examples
    --------
    >>> from robot_dynamics.identification import DatasetSettings
    >>> DatasetSettings(effort_kind='current', torque_constant=0.1).transmission(2)
    array([[1., 0.],
           [0., 1.]])
    """

    names: Mapping[str, str] = field(default_factory=dict)
    time_unit: str | None = None
    topic: str | None = None
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
    proportional: float | Sequence[float] | None = None
    derivative: float | Sequence[float] = 0.0
    reference: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reference is not None and (self.proportional is None
                                           or not isinstance(self.reference, str)):
            raise ParameterError('must be a name beside loop.proportional, got '
                                 f'{self.reference!r}', subject='loop.reference',
                                 remedy='name a file, topic or key, and give the gains')
        require_choice('effort.kind', self.effort_kind, EFFORT_KINDS)
        require_choice('velocity', self.velocity, VELOCITY_SOURCES)
        if self.time_unit is not None:
            require_choice('log.time_unit', self.time_unit, tuple(TIME_UNITS))
        require_choice('position.side', self.position_side, ('joint', 'motor'))
        for name in ('names', 'keys', 'files'):
            if not isinstance(getattr(self, name), Mapping):
                raise ParameterError(f'must be a mapping, got {getattr(self, name)!r}',
                                     subject=name, remedy='give a mapping of names')
        if self.unsigned_bits is not None:
            require_number('unsigned_bits', self.unsigned_bits, 'give 8, 16 or 32', 2, 52,
                           whole=True)

    def of_joints(self, name: str, n: int) -> FloatArray:
        """Values of a setting for n joints, shape (n,)."""
        values = values_of_joints(name, getattr(self, name), n)
        if name in _FACTORS and np.any(values == 0.0):
            raise ParameterError('must not contain a zero', subject=name,
                                 remedy='give the factor of each joint')
        return values

    def gains(self, n: int) -> FloatArray | None:
        """Proportional and derivative gains of the position controller, shape (2, n)."""
        if self.proportional is None:
            return None
        gains = np.stack([self.of_joints(name, n) for name in ('proportional', 'derivative')])
        if np.any(gains < 0.0) or not np.all(gains[0] > 0.0):
            raise ParameterError(f'must be positive, got {gains.tolist()}',
                                 subject='loop.proportional and derivative',
                                 remedy='give the gains of each joint')
        return gains

    def transmission(self, n: int) -> FloatArray:
        """Matrix C of q_motor = C q, shape (n, n).

        Raises
        ------
        ParameterError
            If the matrix is not square or not invertible.
        """
        if self.coupling is None:
            return np.diag(self.of_joints('gear_ratio', n))
        try:
            C = np.asarray(self.coupling, dtype=np.float64)
        except (TypeError, ValueError):
            C = np.zeros(0)
        if C.shape != (n, n) or not np.all(np.isfinite(C)) or np.linalg.cond(C) > 1e12:
            raise ParameterError('must be an invertible matrix', subject='coupling',
                                 remedy=f'give {n} rows of {n} numbers: motor positions as '
                                        'combinations of joint positions')
        return C


def settings_from(content: Any, subject: str = 'settings') -> DatasetSettings:
    """Settings of a log from the content of a YAML file, as in the example of this module.

    Unknown keys are rejected; keys for other functions, such as ``joints``, ``robot`` and
    ``estimate``, are ignored. ``subject`` names the file in messages.
    """
    if not isinstance(content, Mapping):
        raise ParameterError('must contain a mapping', subject=subject,
                             remedy='see docs/identification.md')
    flat = from_sections(content, _SECTIONS, subject)
    flat.update({key: content[key] for key in ('names', 'velocity') if key in content})
    if isinstance(flat.get('times'), list):
        flat['times'] = tuple(flat['times'])
    return DatasetSettings(**flat)


def from_sections(content: Mapping[str, Any], sections: Mapping[str, Mapping[str, str]],
                  subject: str) -> dict[str, Any]:
    """Settings by name from sections of a file; ``sections`` maps their keys to these names."""
    flat = {}
    for section, known in sections.items():
        part = require_mapping(content.get(section, {}), f'{subject}: {section}', known)
        flat.update({known[key]: value for key, value in part.items()})
    return flat


def read_settings(path: Path) -> tuple[DatasetSettings, Mapping[str, Any]]:
    """Settings of a log from a YAML file, and the whole content of the file.

    Parameters
    ----------
    path : Path
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from robot_dynamics.identification import read_settings
    >>> settings, content = read_settings(Path('benchmark/identification_logs/tx40.yaml'))
    >>> settings.rate, settings.effort_kind, content['name']
    (5000, 'motor_torque', 'Staubli TX40')
    """
    content = read_yaml(path, ParameterError, 'give a YAML file that describes the log')
    return settings_from({} if content is None else content, str(path)), content or {}


def read_estimate(kind: type[Settings], content: Mapping[str, Any], section: str = 'estimate',
                  others: Sequence[str] = ()) -> Settings:
    """Settings of an estimate from a section of a YAML file; ``auto`` gives the defaults.

    ``kind`` is the dataclass of the settings, ``others`` are keys of the section for other uses.
    """
    part = content.get(section, {})
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    part = require_mapping({} if part == 'auto' else part, section, (*names, *others))
    return kind(**{name: part[name] for name in names if name in part})
