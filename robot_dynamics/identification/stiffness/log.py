# SPDX-License-Identifier: Apache-2.0
"""``JointLog``: the signals of single joints, from the columns of any log.

A YAML file names the columns::

    log: {rate: 100}             # rows per second without a column of time; times: [2, 30]
    joints:
      elbow:
        motor: motor_angle       # columns by name, or by number from 1
        link: link_angle
        torque: current
        torque_scale: 0.12       # factor of the column, to rad and N m
        torque_side: motor       # torque of the motor's shaft, or of the joint
        gear_ratio: 100          # turns of the motor per turn of the joint, if known
        inertia: 0.05            # inertia that the spring carries, kg m^2

Without a YAML file, the joints are those for which the log also has ``motor_<joint>``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.bags import JOINT_STATE, read_joint_states
from robot_dynamics.identification.dataset.conventions import QUANTITIES, TIME_NAMES
from robot_dynamics.identification.dataset.settings import (
    LogSettings,
    require_choice,
    require_mapping,
    require_number,
)
from robot_dynamics.identification.dataset.table_files import TABLES, load_archive, read_table
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.recordings.bag import stream_topics

#: Signals of a joint.
SIGNALS = ('motor', 'link', 'torque', 'acceleration')
#: Fewest samples of a joint.
FEWEST = 64
# Names of columns of motors and links without a YAML.
_POSITIONS = ('{}/position', '{}_position', 'position_{}', '{}_pos', 'q_{}', '{}')
# Endings of bare names that are not positions.
_OTHER_QUANTITIES = ('effort', 'torque', 'current', 'velocity', 'acceleration')
_EFFORTS = ('{}/effort', '{}_effort', 'effort_{}', '{}_torque', 'tau_{}')
_POSITION = '/position'


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a log by name, or by number from 1 without a header, each with its own times.

    Times, s, are missing for a log without them; ``source`` is for messages.
    """

    values: Mapping[str, FloatArray]
    times: Mapping[str, FloatArray]
    source: str

    def named(self, name: str | int) -> FloatArray:
        """Column by name, or by number from 1."""
        return self.values[self._key(name)]

    def time_of(self, name: str | int) -> FloatArray | None:
        """Times of a column, or None for a log without times."""
        return self.times.get(self._key(name))

    def _key(self, name: str | int) -> str:
        names = list(self.values)
        if str(name) in names:
            return str(name)
        if isinstance(name, int) and 1 <= name <= len(names):
            return names[name - 1]
        raise RecordingError(f'has no column {str(name)!r}', subject=self.source,
                             remedy='name one of: ' + ', '.join(names[:40]))


@dataclass(frozen=True)
class JointColumns:
    """Columns of the signals of one joint, and its known properties."""

    #: Columns: angle of the motor, and angle, torque and acceleration of the joint.
    motor: str | int | None = None
    link: str | int | None = None
    torque: str | int | None = None
    acceleration: str | int | None = None
    #: Factors to rad (or m), N m (or N), rad/s^2 (or m/s^2).
    motor_scale: float = 1.0
    link_scale: float = 1.0
    torque_scale: float = 1.0
    acceleration_scale: float = 1.0
    #: Side of the gear of the torque: ``joint`` or ``motor``.
    torque_side: str = 'joint'
    #: Turns of the motor per turn of the joint.
    gear_ratio: float | None = None
    #: Inertia that the spring carries, kg m^2 or kg.
    inertia: float | None = None


@dataclass(frozen=True, eq=False)
class StiffnessSettings(LogSettings):
    """Settings of a log of single joints; names of columns give them if ``joints`` is empty."""

    joints: Mapping[str, JointColumns] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class JointLog:
    """Signals of one joint at common times, shape (N,), by the names in `SIGNALS`.

    They are in rad, N m, rad/s^2, or m and N; times are s, or samples without a known rate.
    ``about`` are the known properties of the joint.
    """

    name: str
    time: FloatArray
    signals: Mapping[str, FloatArray]
    has_rate: bool
    about: JointColumns

    @property
    def rate(self) -> float:
        """Samples per second, or 1 if unknown."""
        return 1.0 / float(np.median(np.diff(self.time)))


def read_columns(path: Path) -> Columns:
    """Read all columns of a log.

    Parameters
    ----------
    path : Path
        A table with or without a header, an NPZ archive, or a rosbag2 recording with columns
        ``joint/position``, ``joint/velocity`` and ``joint/effort``. If several topics name a
        joint, the columns are ``topic:joint/position`` etc.; columns of joint states then also
        have the plain names, and those of motor states ``motor_joint/...``.

    See Also
    --------
    joint_logs

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from robot_dynamics.identification import read_columns
    >>> t = np.arange(0.0, 20.0, 0.005)
    >>> link, torque = np.sin(t), 10.0 * np.cos(0.7 * t)
    >>> table = np.stack([t, link + torque / 2000.0, link, torque], axis=1)
    >>> path = Path(tempfile.mkdtemp()) / 'log.csv'
    >>> np.savetxt(path, table, delimiter=',', comments='',
    ...            header='time,motor_elbow_position,elbow_position,elbow_effort')
    >>> columns = read_columns(path)
    >>> list(columns.values)
    ['time', 'motor_elbow_position', 'elbow_position', 'elbow_effort']
    """
    if path.suffix.lower() in TABLES:
        header, table, _ = read_table(path)
        if len(table) < 2:
            raise RecordingError('has a single row', subject=str(path),
                                 remedy='give one row per sample')
        columns = dict(zip(header, table.T, strict=True))
    elif path.suffix == '.npz':
        columns = {}
        for name, array in load_archive(path).items():
            if array.dtype.kind in 'fiu' and array.ndim == 1:
                columns[name] = array.astype(np.float64)
            elif array.dtype.kind in 'fiu' and array.ndim == 2:
                columns.update({f'{name}/{k}': column.astype(np.float64)
                                for k, column in enumerate(array.T, 1)})
    else:
        return _recording(path)
    clock = next((columns[name] for name in columns if name.lower() in TIME_NAMES), None)
    return Columns(columns, {name: clock for name, column in columns.items()
                             if clock is not None and len(column) == len(clock)}, str(path))


def _recording(path: Path) -> Columns:
    messages_of: dict[str, list[bytes]] = {}
    for topic, _, data in stream_topics(path, lambda types: {
            name: JOINT_STATE for name, kind in types.items() if kind == JOINT_STATE}):
        messages_of.setdefault(topic, []).append(data)
    columns: dict[str, FloatArray] = {}
    times: dict[str, FloatArray] = {}
    parts: list[tuple[str, str, FloatArray, FloatArray]] = []
    origin = None
    for topic, messages in messages_of.items():
        for _, rows in read_joint_states(messages)[0]:
            origin = rows.stamps[0] if origin is None else origin
            seconds = (rows.stamps - origin) * 1e-9
            for k, joint in enumerate(rows.names):
                parts += [(topic, f'{joint}/{quantity}', seconds, getattr(rows, quantity)[:, k])
                          for quantity in QUANTITIES
                          if np.any(np.isfinite(getattr(rows, quantity)[:, k]))]
    several = {name for _, name, _, _ in parts
               if len({topic for topic, other, _, _ in parts if other == name}) > 1}
    for topic, name, seconds, values in parts:
        key = f'{topic}:{name}' if name in several else name
        # If messages name different sets of joints, the most frequent set is used.
        if len(values) > len(columns.get(key, ())):
            columns[key], times[key] = values, seconds
    if not columns:
        raise RecordingError('has no joint states', subject=str(path),
                             remedy='record the joint states of motors and links')
    for plain, key in _plain_names(columns, several).items():
        columns[plain], times[plain] = columns[key], times[key]
    return Columns(columns, times, str(path))


def _plain_names(columns: Mapping[str, FloatArray], several: Collection[str]) -> dict[str, str]:
    """Columns with the states of joints and of motors, by their plain names.

    Controllers also publish errors and model torques under the names of joints, but at lower rates
    than states. If two topics are equally likely, neither is used.
    """
    topics: dict[str, list[str]] = {}
    for key in columns:
        topic, _, name = key.rpartition(':')
        if name in several and name.endswith(_POSITION):
            topics.setdefault(name.removesuffix(_POSITION), []).append(topic)
    out = {}
    for joint, known in topics.items():
        motors = [topic for topic in known if topic.rpartition('/')[2].startswith('motor')]
        links = [topic for topic in known if topic not in motors]
        for name, ours in ((joint, links), (f'motor_{joint}', motors)):
            chosen = _states({topic: len(columns[f'{topic}:{joint}{_POSITION}'])
                              for topic in ours})
            if chosen is not None and f'{name}{_POSITION}' not in columns:
                out.update({f'{name}/{quantity}': f'{chosen}:{joint}/{quantity}'
                            for quantity in QUANTITIES
                            if f'{chosen}:{joint}/{quantity}' in columns})
    return out


def _states(counts: Mapping[str, int]) -> str | None:
    """Topic of states among some with their counts, or None if two are equally likely."""
    ranked = sorted(((topic.endswith('states'), count, topic) for topic, count
                     in counts.items()), reverse=True)
    if not ranked or (len(ranked) > 1 and ranked[0][:2] == ranked[1][:2]):
        return None
    return ranked[0][2]


def stiffness_settings(content: Any, subject: str = 'settings') -> StiffnessSettings:
    """Settings from the content of a YAML file; unknown keys are rejected."""
    content = require_mapping({} if content is None else content, subject, ('log', 'joints'))
    log = require_mapping(content.get('log') or {}, f'{subject}: log', ('rate', 'times'))
    joints = content.get('joints') or {}
    if not isinstance(joints, Mapping):
        raise ParameterError(f'must be a mapping, got {joints!r}', subject=f'{subject}: joints',
                             remedy='give columns by joint')
    named = {}
    for joint, part in joints.items():
        where = f'{subject}: joints.{joint}'
        require_mapping(part, where, [each.name for each in fields(JointColumns)])
        named[str(joint)] = _checked(JointColumns(**part), where)
    return StiffnessSettings(log.get('rate'), log.get('times'), named)


def joint_logs(columns: Columns, settings: StiffnessSettings | None = None
               ) -> tuple[JointLog, ...]:
    """Signals of each joint of a log.

    Parameters
    ----------
    columns : Columns
        Result of `read_columns`.
    settings : StiffnessSettings, optional
        Columns by joint; by default from the names of the columns.

    Raises
    ------
    RecordingError
        If a column is missing, or no joint has two signals.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics.identification import joint_logs
    >>> from robot_dynamics.identification.stiffness.log import Columns
    >>> t = np.arange(0.0, 20.0, 0.005)
    >>> values = {'motor_elbow_position': np.sin(t), 'elbow_position': np.sin(t) + 0.001}
    >>> columns = Columns(values, dict.fromkeys(values, t), 'example')
    >>> [log.name for log in joint_logs(columns)]
    ['elbow']
    """
    settings = StiffnessSettings() if settings is None else settings
    joints = settings.joints or _joints_with_motors(columns)
    if not joints:
        positions = [name for name in columns.values if 'position' in name]
        raise RecordingError('has no joint together with its motor, motor_<joint>',
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
        raise RecordingError(f'must have two signals or more, got {len(chosen)}', subject=name,
                             remedy='name motor and link, or torque and acceleration')
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
        for signal, clock in clocks.items():
            if clock is not None and clock is not time:
                values[signal] = _at(time, clock, values[signal])
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
    """Signal at other times, nan beyond its own."""
    good = np.isfinite(values) & np.isfinite(own)
    good[good] &= np.diff(own[good], prepend=-np.inf) > 0.0
    if np.count_nonzero(good) < 4:
        return np.full(len(time), np.nan)
    from scipy.interpolate import make_interp_spline
    inside = (time >= own[good][0]) & (time <= own[good][-1])
    return np.where(inside, make_interp_spline(own[good], values[good], k=3)(time), np.nan)


def _joints_with_motors(columns: Columns) -> dict[str, JointColumns]:
    """Columns of the joints with a motor in the log."""
    out = {}
    for name in columns.values:
        for form in _POSITIONS:
            before, after = form.split('{}')
            if name.startswith(before + 'motor_') and name.endswith(after):
                joint = name[len(before) + len('motor_'):len(name) - len(after)]
                link = form.format(joint)
                if form == '{}' and joint.endswith(_OTHER_QUANTITIES):
                    break
                if joint and joint not in out and link in columns.values:
                    of_motor = [one.format(f'motor_{joint}') for one in _EFFORTS]
                    efforts = [*of_motor, *(one.format(joint) for one in _EFFORTS)]
                    torque = next((one for one in efforts if one in columns.values), None)
                    out[joint] = JointColumns(
                        motor=name, link=link, torque=torque,
                        torque_side='motor' if torque in of_motor else 'joint')
                break
    return out


def _checked(about: JointColumns, subject: str) -> JointColumns:
    for name in SIGNALS:
        column, scale = getattr(about, name), getattr(about, f'{name}_scale')
        if not isinstance(column, (str, int, type(None))):
            raise ParameterError(f'must be the name or number of a column, got {column!r}',
                                 subject=f'{subject}.{name}', remedy='name one')
        _require_factor(scale, f'{subject}.{name}_scale')
    require_choice(f'{subject}.torque_side', about.torque_side, ('joint', 'motor'))
    if about.gear_ratio is not None:
        _require_factor(about.gear_ratio, f'{subject}.gear_ratio')
    if about.inertia is not None:
        require_number(f'{subject}.inertia', about.inertia, 'give kg m^2 or kg', closed=False)
    return about


def _require_factor(value: Any, subject: str) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and np.isfinite(float(value)) and float(value) != 0.0):
        raise ParameterError(f'must be a finite number other than 0, got {value!r}',
                             subject=subject, remedy='correct it')
