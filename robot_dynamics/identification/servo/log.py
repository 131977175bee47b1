# SPDX-License-Identifier: Apache-2.0
"""``ServoLog``: commands and positions of servos, without gaps.

A YAML file names them under ``output_error``::

    logs:
      - {source: run_1.json, proportional: 0.29}
      - {source: run_2.json, proportional: 1.15}
    keys: {time: timestamp, position: position, goal: goal_position, supply: input_volts}
    servo: {derivative: 0, limit: 1, supply: 7.4}

Settings beside the source of a log hold for that log, those under ``servo`` for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.log import LARGEST_VALUE, UsableRows
from robot_dynamics.identification.dataset.settings import require_mapping
from robot_dynamics.identification.dataset.table_files import read_table
from robot_dynamics.model.arrays import FloatArray

#: Quantities of a table of a servo; the first three are required.
QUANTITIES = ('time', 'position', 'goal', 'velocity', 'supply', 'enabled')
#: Settings of a servo.
LAW = ('proportional', 'derivative', 'limit', 'supply')
_USUAL = {'derivative': 0.0, 'limit': np.inf, 'supply': 1.0}
# Rows of the initial velocity, if it was not measured.
_FIRST_ROWS = 8


@dataclass(frozen=True, eq=False)
class ServoLog:
    """Commands and positions of joints, without a gap."""

    #: Origin of the log.
    name: str
    #: Times, shape (N,), s, strictly increasing.
    time: FloatArray
    #: Positions of the encoders, shape (N, n), rad or m.
    position: FloatArray
    #: Commanded positions, shape (N, n), rad or m.
    goal: FloatArray
    #: Supply voltage, shape (N, n), V; 1 if the command is an effort or a current.
    supply: FloatArray
    #: 1 while a servo is enabled, else 0, shape (N, n).
    enabled: FloatArray
    #: Proportional gain, 1/rad, derivative gain, s/rad, and limit of u / supply, shape (n, 3).
    law: FloatArray
    #: Initial velocity, shape (n,), rad/s or m/s.
    velocity: FloatArray
    #: Rows left out, by reason.
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.time)

    def cut(self, first: int, last: int) -> ServoLog:
        """Rows from first to before last."""
        rows = slice(first, last)
        time, position, goal, supply, enabled = (np.ascontiguousarray(x[rows]) for x in (
            self.time, self.position, self.goal, self.supply, self.enabled))
        return ServoLog(self.name, time, position, goal, supply, enabled, self.law,
                        self.velocity if first == 0 else _slope(time, position), self.counts)


def read_servo_logs(section: Mapping[str, Any], folder: Path, joints: Sequence[str]
                    ) -> tuple[ServoLog, ...]:
    """Read the logs of an ``output_error`` section.

    Parameters
    ----------
    section : mapping
        As in the example of this module.
    folder : Path
        Folder of the sources.
    joints : sequence of str
        Joints of the robot, in its order.

    Returns
    -------
    tuple of ServoLog
        Pieces without a gap, with the counts of the rows left out.

    See Also
    --------
    robot_dynamics.identification.servo.output_error.identify_drives

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from robot_dynamics.identification import read_servo_logs
    >>> folder, t = Path(tempfile.mkdtemp()), np.arange(0.0, 2.0, 0.02)
    >>> table = np.stack([t, np.sin(t - 0.05), np.sin(t)], axis=1)
    >>> np.savetxt(folder / 'run.csv', table, delimiter=',', comments='',
    ...            header='time,position,goal')
    >>> logs = read_servo_logs({'logs': [{'source': 'run.csv', 'proportional': 2.0}]}, folder,
    ...                        ('joint1',))
    >>> len(logs), logs[0].count
    (1, 100)
    """
    logs = section.get('logs')
    if not isinstance(logs, Sequence) or isinstance(logs, str) or not logs:
        raise ParameterError('must be a list of logs', subject='output_error.logs',
                             remedy='list them, each with a source')
    servo = require_mapping(section.get('servo', {}), 'output_error.servo', LAW)
    keys = require_mapping(section.get('keys', {}), 'output_error.keys', QUANTITIES)
    pieces: list[ServoLog] = []
    for one in logs:
        if not isinstance(one, Mapping) or not isinstance(one.get('source'), str):
            raise ParameterError(f'must have a source, got {one!r}', subject='output_error.logs',
                                 remedy='give each a source')
        own = {**servo, **{key: value for key, value in one.items() if key != 'source'}}
        pieces += read_servo_log(folder / one['source'], joints, keys, own)
    return tuple(pieces)


def read_servo_log(path: Path, joints: Sequence[str], keys: Mapping[str, Any],
                   servo: Mapping[str, Any]) -> tuple[ServoLog, ...]:
    """Pieces without gaps of one log.

    ``keys`` names the columns of each of `QUANTITIES`, one per joint or one for all, and ``servo``
    the law: ``proportional``, ``derivative``, ``limit``, ``supply``.
    """
    header, values, broken = read_table(path)
    n = len(joints)
    columns = {name: _column(header, values, keys.get(name, name), name, n, path)
               for name in QUANTITIES if name in (*QUANTITIES[:3], *keys) or name in header}
    require_mapping(servo, f'{path}: servo', LAW)
    values_of = {**_USUAL, **servo}
    if 'proportional' not in values_of:
        raise ParameterError('is not given', subject=f'{path}: servo.proportional',
                             remedy='give the command per radian of error')
    law = np.stack([_each(values_of[name], n, f'servo.{name}') for name in LAW[:3]], axis=1)
    columns.setdefault('supply', np.tile(_each(values_of['supply'], n, 'servo.supply'),
                                         (len(values), 1)))
    columns.setdefault('enabled', np.ones((len(values), n)))
    columns['enabled'] = (columns['enabled'] != 0.0).astype(np.float64)
    return _pieces(path, columns, law, broken)


def arrays_log(time: FloatArray, position: FloatArray, goal: FloatArray, law: FloatArray, *,
               supply: float = 1.0, velocity: FloatArray | None = None, name: str = 'arrays'
               ) -> ServoLog:
    """Log of arrays of shape (N,), (N, n) and (n, 3)."""
    ones = np.ones_like(position)
    return ServoLog(name, time, position, goal, supply * ones, ones, law,
                    _slope(time, position) if velocity is None else velocity)


def halves_of(logs: Sequence[ServoLog]) -> tuple[tuple[ServoLog, ...], tuple[ServoLog, ...]]:
    """First and second halves of all logs; the second ones start again."""
    return (tuple(log.cut(0, log.count // 2) for log in logs),
            tuple(log.cut(log.count // 2, log.count) for log in logs))


def _pieces(path: Path, columns: Mapping[str, FloatArray], law: FloatArray, broken: int
            ) -> tuple[ServoLog, ...]:
    """Leave out unusable rows and split at gaps."""
    used = UsableRows(len(columns['time']), {'rows with missing or extra fields': broken})
    time = columns['time'][:, 0]
    needed = ('position', 'goal', 'supply')
    used.drop('rows without a time', ~np.isfinite(time))
    for name in needed:
        used.drop(f'rows without a finite {name}',
                  ~np.all(np.abs(columns[name]) < LARGEST_VALUE, axis=1))
    used.drop_disorder(time)
    out = []
    for mine in used.segments(time, str(path))[0]:
        position, goal, supply, enabled = (np.ascontiguousarray(columns[name][mine]) for name in (
            *needed, 'enabled'))
        first = columns['velocity'][mine[0]] if 'velocity' in columns else np.array(np.nan)
        if not np.all(np.isfinite(first)):
            first = _slope(time[mine], position)
        out.append(ServoLog(str(path), time[mine] - time[mine[0]], position, goal, supply,
                            enabled, law, np.array(first), used.counts))
    return tuple(out)


def _slope(time: FloatArray, position: FloatArray) -> FloatArray:
    """Velocities at the beginning."""
    t = time[:_FIRST_ROWS] - time[0]
    t = t - t.mean()
    return t @ position[:_FIRST_ROWS] / max(float(t @ t), 1e-300)


def _column(header: Sequence[str], values: FloatArray, key: Any, quantity: str, n: int,
            path: Path) -> FloatArray:
    """Columns of a quantity."""
    names = [key] if isinstance(key, str) else key
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f'must be the name of a column, got {key!r}',
                             subject=f'output_error.keys.{quantity}',
                             remedy='name a column, or one for each joint')
    if any(name not in header for name in names):
        raise RecordingError('has no columns of ' + quantity, subject=str(path),
                             remedy=f'give keys.{quantity}; the table has: ' + ', '.join(header))
    if len(names) not in ((1,) if quantity == 'time' else (1, n)):
        raise ParameterError(f'names {len(names)} columns',
                             subject=f'output_error.keys.{quantity}', remedy=f'name one, or {n}')
    found = values[:, [list(header).index(name) for name in names]]
    return found if quantity == 'time' else np.repeat(found, n // len(names), axis=1)


def _each(value: Any, n: int, subject: str) -> FloatArray:
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (n,)) or np.any(np.isnan(values)) or np.any(values < 0.0):
        raise ParameterError(f'must be one nonnegative number or {n} of them, got {value!r}',
                             subject=subject, remedy='correct it')
    return np.broadcast_to(values, (n,)).copy()
