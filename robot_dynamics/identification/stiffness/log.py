# SPDX-License-Identifier: Apache-2.0
"""``JointLog``: what a log says of one joint, by what a YAML says of the log.

Example::

    log: {rate: 100}             # rows a second where no column tells the time; times: [2, 30]
    joints:
      elbow:
        motor: motor_angle       # columns by name, or by number from 1
        link: link_angle
        torque: current
        torque_scale: 0.12       # what columns are multiplied by, to rad and N m
        torque_side: motor       # of the motor's shaft, or of the joint
        gear_ratio: 100          # turns of the motor in a turn of the joint, where known
        inertia: 0.05            # of what the spring carries, kg m^2

Without a YAML joints are those of which ``motor_<joint>`` is in the log as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any

import numpy as np

from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.columns import Columns
from robot_dynamics.model.arrays import FloatArray

#: What a joint may be measured by.
SIGNALS = ('motor', 'link', 'torque', 'acceleration')
#: Samples that a joint has to have.
FEWEST = 64
# How columns of motors and links are called, without a YAML.
_POSITIONS = ('{}/position', '{}_position', 'position_{}', '{}_pos', 'q_{}', '{}')
# What a bare name may end in that is no position.
_NO_POSITION = ('effort', 'torque', 'current', 'velocity', 'acceleration')
_EFFORTS = ('{}/effort', '{}_effort', 'effort_{}', '{}_torque', 'tau_{}')


@dataclass(frozen=True)
class JointColumns:
    """Where a log says what of a joint.

    Parameters
    ----------
    motor, link, torque, acceleration : str or int, optional
        Columns: angle of the motor, angle, torque and acceleration of the joint.
    motor_scale, link_scale, torque_scale, acceleration_scale : float
        What they are multiplied by, to rad (or m), N m (or N), rad/s^2 (or m/s^2).
    torque_side : {'joint', 'motor'}
        Whether the torque is that of the joint or that of the motor's own shaft.
    gear_ratio : float, optional
        Turns of the motor in a turn of the joint, where known.
    inertia : float, optional
        Of what the spring carries, kg m^2 or kg.
    """

    motor: str | int | None = None
    link: str | int | None = None
    torque: str | int | None = None
    acceleration: str | int | None = None
    motor_scale: float = 1.0
    link_scale: float = 1.0
    torque_scale: float = 1.0
    acceleration_scale: float = 1.0
    torque_side: str = 'joint'
    gear_ratio: float | None = None
    inertia: float | None = None


@dataclass(frozen=True)
class StiffnessSettings:
    """How to read a log.

    Parameters
    ----------
    joints : mapping of str to JointColumns
        Joints; those that the log names if empty.
    rate : float, optional
        Rows a second where no column tells the time, Hz.
    times : (float, float), optional
        What to keep, s from the first row.
    """

    joints: Mapping[str, JointColumns] = field(default_factory=dict)
    rate: float | None = None
    times: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class JointLog:
    """Signals of one joint at the same times.

    Parameters
    ----------
    name : str
        Of the joint.
    time : ndarray, shape (N,)
        s, or samples where nothing tells their rate.
    signals : mapping of str to ndarray, shape (N,)
        By the names of `SIGNALS`; rad, N m, rad/s^2, or m and N; time in s.
    has_rate : bool
        Whether times are seconds.
    about : JointColumns
        What is known of it.
    """

    name: str
    time: FloatArray
    signals: Mapping[str, FloatArray]
    has_rate: bool
    about: JointColumns

    @property
    def rate(self) -> float:
        """Samples a second, or 1 where nothing tells."""
        return 1.0 / float(np.median(np.diff(self.time)))


def stiffness_settings(content: Any, subject: str = 'settings') -> StiffnessSettings:
    """Return settings out of what a YAML says; keys that it does not know are refused."""
    content = {} if content is None else content
    _known(content, ('log', 'joints'), subject)
    log = content.get('log') or {}
    _known(log, ('rate', 'times'), f'{subject}: log')
    joints = content.get('joints') or {}
    if not isinstance(joints, Mapping):
        raise ParameterError('is no mapping', subject=f'{subject}: joints',
                             remedy='give columns by joint')
    named = {}
    for joint, part in joints.items():
        where = f'{subject}: joints.{joint}'
        _known(part, tuple(each.name for each in fields(JointColumns)), where)
        named[str(joint)] = _checked(JointColumns(**part), where)
    rate, times = log.get('rate'), log.get('times')
    if rate is not None and not _is_positive(rate):
        raise ParameterError(f'is {rate!r}', subject=f'{subject}: log.rate',
                             remedy='give rows a second')
    if times is not None:
        if not (isinstance(times, (list, tuple)) and len(times) == 2
                and all(isinstance(x, Real) for x in times) and times[0] < times[1]):
            raise ParameterError(f'is {times!r}', subject=f'{subject}: log.times',
                                 remedy='give two times, first the earlier one, s')
        times = (float(times[0]), float(times[1]))
    return StiffnessSettings(named, rate, times)


def joint_logs(columns: Columns, settings: StiffnessSettings | None = None
               ) -> tuple[JointLog, ...]:
    """Return what a log says of each joint.

    Raises
    ------
    RecordingError
        When a column is missing, or no joint has more than one signal.
    """
    settings = StiffnessSettings() if settings is None else settings
    joints = settings.joints or _found(columns)
    if not joints:
        positions = [name for name in columns.values if 'position' in name]
        raise RecordingError('names no joint together with a motor_<joint>',
                             subject=columns.source,
                             remedy='record the states of the motors too, or name the columns of '
                                    'motor and link in a YAML (--settings), among: '
                                    + ', '.join((positions or list(columns.values))[:20]))
    return tuple(_joint(columns, name, about, settings) for name, about in joints.items())


def _joint(columns: Columns, name: str, about: JointColumns, settings: StiffnessSettings
           ) -> JointLog:
    chosen = {signal: getattr(about, signal) for signal in SIGNALS
              if getattr(about, signal) is not None}
    if len(chosen) < 2:
        raise RecordingError(f'has {len(chosen)} signals', subject=name,
                             remedy='name two at least: motor and link, or torque and '
                                    'acceleration')
    values = {signal: columns.named(key) * getattr(about, f'{signal}_scale')
              for signal, key in chosen.items()}
    clocks = {signal: columns.time_of(key) for signal, key in chosen.items()}
    first = next(iter(chosen))
    time = clocks[first]
    if time is None:
        count = min(map(len, values.values()))
        time = np.arange(count) / (settings.rate or 1.0)
        values = {signal: value[:count] for signal, value in values.items()}
    else:
        values = {signal: value if clocks[signal] is time or clocks[signal] is None
                  else _at(time, clocks[signal], value) for signal, value in values.items()}
    kept = np.isfinite(time) & np.all([np.isfinite(value) for value in values.values()], axis=0)
    kept[kept] &= np.diff(time[kept], prepend=-np.inf) > 0.0
    if settings.times is not None and np.any(kept):
        since = time - time[kept][0]
        kept &= (since >= settings.times[0]) & (since <= settings.times[1])
    if np.count_nonzero(kept) < FEWEST:
        raise RecordingError(f'has {np.count_nonzero(kept)} usable rows', subject=name,
                             remedy=f'give at least {FEWEST}, with increasing times')
    has_rate = clocks[first] is not None or settings.rate is not None
    return JointLog(name, time[kept] - time[kept][0],
                    {signal: value[kept] for signal, value in values.items()}, has_rate, about)


def _at(time: FloatArray, own: FloatArray, values: FloatArray) -> FloatArray:
    """Return a signal at other times, nan beyond its own."""
    good = np.isfinite(values) & np.isfinite(own)
    good[good] &= np.diff(own[good], prepend=-np.inf) > 0.0
    if np.count_nonzero(good) < 4:
        return np.full(len(time), np.nan)
    from scipy.interpolate import make_interp_spline
    inside = (time >= own[good][0]) & (time <= own[good][-1])
    return np.where(inside, make_interp_spline(own[good], values[good], k=3)(time), np.nan)


def _found(columns: Columns) -> dict[str, JointColumns]:
    """Return the joints that a log names together with their motors."""
    out = {}
    for name in columns.values:
        for form in _POSITIONS:
            before, after = form.split('{}')
            if name.startswith(before + 'motor_') and name.endswith(after):
                joint = name[len(before) + len('motor_'):len(name) - len(after)]
                link = form.format(joint)
                if form == '{}' and joint.endswith(_NO_POSITION):
                    break
                if joint and joint not in out and link in columns.values:
                    efforts = [one.format(who) for who in (f'motor_{joint}', joint)
                               for one in _EFFORTS]
                    torque = next((one for one in efforts if one in columns.values), None)
                    side = 'motor' if torque in [one.format(f'motor_{joint}')
                                                 for one in _EFFORTS] else 'joint'
                    out[joint] = JointColumns(motor=name, link=link, torque=torque,
                                              torque_side=side)
                break
    return out


def _checked(about: JointColumns, subject: str) -> JointColumns:
    for name in SIGNALS:
        if not isinstance(getattr(about, name), (str, int, type(None))):
            raise ParameterError(f'is {getattr(about, name)!r}', subject=f'{subject}.{name}',
                                 remedy='give the name of a column, or its number')
        scale = getattr(about, f'{name}_scale')
        if not (isinstance(scale, Real) and np.isfinite(scale) and scale != 0.0):
            raise ParameterError(f'is {scale!r}', subject=f'{subject}.{name}_scale',
                                 remedy='give a number that is not zero')
    if about.torque_side not in ('joint', 'motor'):
        raise ParameterError(f'is {about.torque_side!r}', subject=f'{subject}.torque_side',
                             remedy='choose joint or motor')
    for name in ('gear_ratio', 'inertia'):
        value = getattr(about, name)
        if value is not None and not (_is_positive(value) or (
                name == 'gear_ratio' and _is_positive(-value if isinstance(value, Real) else 0))):
            raise ParameterError(f'is {value!r}', subject=f'{subject}.{name}',
                                 remedy='give a number that is not zero')
    return about


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < value < np.inf


def _known(part: Any, keys: tuple[str, ...], subject: str) -> None:
    if not isinstance(part, Mapping):
        raise ParameterError('is no mapping', subject=subject, remedy='give ' + ', '.join(keys))
    for key in part:
        if key not in keys:
            raise ParameterError('is no setting', subject=f'{subject}.{key}',
                                 remedy='choose among ' + ', '.join(keys))
