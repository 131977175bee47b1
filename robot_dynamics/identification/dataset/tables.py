# SPDX-License-Identifier: Apache-2.0
"""Logs in tables: which columns of a file are the time, positions, velocities and efforts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.conventions import (
    QUANTITIES,
    TIME_UNITS,
    Found,
    find_columns,
    matches,
    stem_of,
    time_columns,
    unit_of_time,
)
from robot_dynamics.identification.dataset.log import Log, in_order, stamps_of
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.dataset.table_files import is_unnamed, load_archive, read_table
from robot_dynamics.model.arrays import FloatArray

# Most columns that a message lists.
_LISTED = 24


def read_tables(files: Mapping[str, Path], joints: Sequence[str], rename: Mapping[str, str],
                settings: DatasetSettings, required: Sequence[str]) -> Log:
    """Read a log from one table, ``{'all': path}``, or from one table for each quantity.

    Parameters
    ----------
    files : mapping of str to Path
        Tables, with columns as in `robot_dynamics.identification.dataset.conventions`.
    joints, rename
        Joints in order, and the joint by column or by name of the joint in the log.
    settings : DatasetSettings
        ``keys`` are the columns of a quantity in the order of the joints, by name or by number
        from 1, and ``time``, one column, or seconds and nanoseconds. Also ``rate``, ``time_unit``
        and ``topic``.
    required : sequence of str
        Quantities that the log has to have; others are nan if missing.
    """
    columns: dict[str, FloatArray] = {}
    clock: tuple[list[FloatArray], str | None] = [], None
    dropped: dict[str, int] = {}
    notes: list[str] = []
    rows, tables = [], []
    reason = 'rows with missing or extra fields'
    for quantity, path in files.items():
        header, values, broken = read_table(path)
        dropped[reason] = dropped.get(reason, 0) + broken
        rows.append(len(values))
        tables.append((quantity, header))
        found = _found(header, quantity, joints, rename, settings, path)
        if not clock[0]:
            places, unit = _clock(header, found.source, settings, path)
            clock = [values[:, place] for place in places], unit
        for wanted, places in found.places.items():
            if quantity in ('all', wanted):
                columns[wanted] = values[:, places]
        # An explicit scale is that of the column.
        if found.degrees and np.all(np.asarray(settings.position_scale) == 1.0):
            columns.update({wanted: np.deg2rad(columns[wanted])
                            for wanted in found.degrees & columns.keys()})
            notes.append(' and '.join(sorted(found.degrees)) + ' were converted from degrees')
    source = ', '.join(map(str, files.values()))
    for wanted in required:
        if wanted not in columns:
            raise _missing(wanted, tables, joints, rename, settings, source)
    count = min(rows)
    if max(rows) != count:
        dropped['rows that not all tables have'] = max(rows) - count
    return _log(joints, clock, settings, columns, count, dropped, notes,
                next(iter(files.values())))


def read_npz(path: Path, joints: Sequence[str], rename: Mapping[str, str],
             settings: DatasetSettings, required: Sequence[str]) -> Log:
    """Read a log from an NPZ archive without pickled objects; see `read_tables`.

    ``keys`` are the names of the arrays ``time``, ``position``, ``velocity``, ``effort`` and
    ``names`` where they differ. Without names, the columns are the joints in order.
    """
    keys = settings.keys
    arrays = load_archive(path, {keys.get(k, k) for k in ('time', 'names', *QUANTITIES)})
    get = {key: arrays.get(keys.get(key, key)) for key in ('time', 'names', *QUANTITIES)}
    names = list(joints) if get['names'] is None else [
        rename.get(name, name) for name in _names(get['names'], path)]
    places = in_order(names, joints)
    if places is None:
        raise RecordingError('lacks some of ' + ', '.join(joints), subject=str(path),
                             remedy='give names; the log has: ' + ', '.join(names))
    columns = {}
    for quantity in QUANTITIES:
        array = get[quantity]
        if array is None:
            continue
        if array.ndim != 2 or array.shape[1] != len(names) or array.dtype.kind not in 'fiu':
            raise RecordingError(f'must be numbers of shape (rows, {len(names)}), got shape '
                                 f'{array.shape} and type {array.dtype}',
                                 subject=f'{path}: {keys.get(quantity, quantity)}',
                                 remedy='give one column for each joint, and names')
        columns[quantity] = np.asarray(array, dtype=np.float64)[:, places]
    for quantity in required:
        if quantity not in columns:
            raise RecordingError(f'has no array {keys.get(quantity, quantity)}',
                                 subject=str(path), remedy='give log.keys, the names of the '
                                 'arrays; it has: ' + ', '.join(load_archive(path)))
    clock, unit = ([], None) if get['time'] is None else _times(get['time'], path)
    rows = [len(x) for x in (*columns.values(), *clock)]
    dropped = {'rows that not all arrays have': max(rows) - min(rows)}
    return _log(joints, (clock, unit), settings, columns, min(rows), dropped, [], path)


def seconds(clock: Sequence[NDArray[Any]], unit: str | None) -> tuple[FloatArray, float, str]:
    """Times since their median, that median, both s, and the unit if it was detected.

    Parameters
    ----------
    clock : sequence of ndarray, each of shape (N,)
        Times, or seconds and nanoseconds.
    unit : str, optional
        One of `robot_dynamics.identification.dataset.conventions.TIME_UNITS`; detected if not
        given, see `unit_of_time`.
    """
    whole = clock[0]
    good = whole[np.isfinite(whole)]
    if not len(good):
        return np.full(len(whole), np.nan), 0.0, ''
    middle = np.sort(good)[len(good) // 2]
    with np.errstate(over='ignore', invalid='ignore'):
        if len(clock) == 2:
            return (whole - middle) + 1e-9 * clock[1], float(middle), ''
        detected = ''
        if unit is None:
            unit = unit_of_time(float(np.median(np.abs(np.diff(good)))) if len(good) > 1 else 0.0,
                                float(middle))
            detected = '' if unit == 's' else unit
        return (whole - middle) * TIME_UNITS[unit], float(middle) * TIME_UNITS[unit], detected


def _found(header: Sequence[str], quantity: str, joints: Sequence[str],
           rename: Mapping[str, str], settings: DatasetSettings, path: Path) -> Found:
    """Columns of the quantities, from keys or else from the header."""
    given = {wanted: _by_keys(header, settings.keys[wanted], path) for wanted in QUANTITIES
             if wanted in settings.keys and quantity in ('all', wanted)}
    found = find_columns(header, joints, rename, None if quantity == 'all' else quantity,
                         settings.topic)
    if found.rivals and not given:
        raise RecordingError('has several sources of joint states: ' + ', '.join(found.rivals),
                             subject=str(path), remedy=f'choose one: log: {{topic: '
                                                       f'"{found.rivals[0].rstrip("/.")}"}}')
    found.places.update(given)
    found.degrees -= given.keys()
    return found


def _by_keys(header: Sequence[str], keys: Any, path: Path) -> tuple[int, ...]:
    """Columns by name, or by number from 1."""
    places = []
    for key in keys if isinstance(keys, (list, tuple)) else [keys]:
        if isinstance(key, int) and 1 <= key <= len(header):
            places.append(key - 1)
        elif list(header).count(key) == 1:
            places.append(list(header).index(key))
        else:
            raise RecordingError(f'has not exactly one column {key}', subject=str(path),
                                 remedy=f'give names or numbers in log.keys; {_listed(header)}')
    return tuple(places)


def _clock(header: Sequence[str], source: str, settings: DatasetSettings, path: Path
           ) -> tuple[tuple[int, ...], str | None]:
    """Columns of time and their unit, if their name has one."""
    if 'time' in settings.keys:
        return _by_keys(header, settings.keys['time'], path), None
    return time_columns(header, source)


def _missing(quantity: str, tables: Sequence[tuple[str, Sequence[str]]], joints: Sequence[str],
             rename: Mapping[str, str], settings: DatasetSettings, source: str) -> RecordingError:
    """Error of a quantity without columns, with settings that would work where there are some."""
    header = next((header for name, header in tables if name in ('all', quantity)), [])
    if is_unnamed(header):
        return RecordingError(
            'has no line of names, and all fields of its first line are numbers', subject=source,
            remedy='name its columns by number: ' + _by_number(len(header), len(joints)))
    of = [one for one in (next(iter(matches(column, joints, rename)), None) for column in header)
          if one is not None and one.quantity == quantity]
    lacking = [joint for joint in joints if joint not in [one.joint for one in of]]
    named = [one.joint for one in of if one.joint in joints]
    if len(named) > len(set(named)) and not lacking:
        message = f'has several columns for the {quantity} of {named[0]}'
    elif named or len(joints) == 1:
        message = f'has no {quantity} of {lacking[0]}'
    else:
        message = f'has no {quantity} of its joints {", ".join(joints)}'
    return RecordingError(message, subject=source, remedy=_proposal(
        quantity, header, joints, rename, lacking) + _listed(header))


def _by_number(count: int, n: int) -> str:
    """Keys of a table without names, in its most usual order."""
    parts = [('position', 'effort'), QUANTITIES][count > 1 + 2 * n]
    lists = [f'{name}: {[*range(2 + k * n, 2 + (k + 1) * n)]}' for k, name in enumerate(parts)]
    return 'log: {keys: {time: 1, ' + ', '.join(lists) + '}}'


def _proposal(quantity: str, header: Sequence[str], joints: Sequence[str],
              rename: Mapping[str, str], lacking: Sequence[str]) -> str:
    """Settings for columns with other names, or empty."""
    others = [column for column in header if not list(matches(column, joints, rename))
              and not time_columns([column])[0]]
    # Columns with a word of the quantity, but other names of joints.
    found = [stem_of(column) for column in others]
    stems = [one[1] for one in found if one is not None and one[0] == quantity]
    if len(stems) == len(joints) == len(set(stems)):
        return 'name them: names: {' + ', '.join(
            f'"{stem}": {joint}' for stem, joint in zip(stems, joints, strict=True)) + '}; '
    if len(others) >= len(joints) == len(lacking):
        places = [list(header).index(column) + 1 for column in others[:len(joints)]]
        return f'name its columns, such as log: {{keys: {{{quantity}: {places}}}}}; '
    return 'add it to the table; '


def _listed(header: Sequence[str]) -> str:
    """Columns by number, for a message."""
    names = [f'{k} {name}' for k, name in enumerate(header[:_LISTED], 1)]
    return 'columns: ' + ', '.join(names) + (' ...' if len(header) > _LISTED else '')


def _names(names: NDArray[Any], path: Path) -> list[str]:
    if names.ndim != 1 or names.dtype.kind not in 'US':
        raise RecordingError(f'must be a list of names, got shape {names.shape} and type '
                             f'{names.dtype}', subject=f'{path}: names',
                             remedy='give one text for each column')
    return [name.decode(errors='replace') if isinstance(name, bytes) else str(name)
            for name in names]


def _times(time: NDArray[Any], path: Path) -> tuple[list[NDArray[Any]], str | None]:
    """Times of an archive and their unit, if it is known."""
    if time.size != max(time.shape, default=0) or time.dtype.kind not in 'fiuM':
        raise RecordingError(f'must be one number for each row, got shape {time.shape} and type '
                             f'{time.dtype}', subject=f'{path}: time', remedy='give times in s')
    time = time.ravel()
    if time.dtype.kind == 'M':
        return [time.astype('datetime64[ns]').astype(np.int64)], 'ns'
    return [time.astype(np.int64) if time.dtype.kind == 'u' else time], None


def _log(joints: Sequence[str], clock: tuple[Sequence[NDArray[Any]], str | None],
         settings: DatasetSettings, columns: Mapping[str, FloatArray], count: int,
         dropped: dict[str, int], notes: list[str], path: Path) -> Log:
    times, unit = clock
    if times:
        time, origin, detected = seconds(times, settings.time_unit or unit)
        if detected:
            notes.append(f'times were read as {detected}, from their size; if that is wrong, '
                         'set log.time_unit')
    elif settings.rate is not None:
        time, origin = np.arange(count) / settings.rate, 0.0
    else:
        raise RecordingError('has no column of time', subject=str(path),
                             remedy='name one: log: {keys: {time: 1}}; or give log.rate, the rows '
                                    'per second')
    time = time[:count]
    stamps, good = stamps_of(time)
    if len(good) and not np.any(good):
        raise RecordingError('has no numeric times', subject=str(path),
                             remedy='write them like 1234.5, in s, without thousands separators')
    dropped['rows without a time'] = int(np.count_nonzero(~good))
    empty = np.full((count, len(joints)), np.nan)
    position, velocity, effort = (columns.get(name, empty)[:count][good] for name in QUANTITIES)
    start = origin + float(time[good][0]) if np.any(good) else 0.0
    return Log(tuple(joints), stamps, position, velocity, effort, dropped, str(path), start,
               tuple(notes))
