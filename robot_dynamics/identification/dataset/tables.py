# SPDX-License-Identifier: Apache-2.0
"""Logs in tables: text from spreadsheets, plotters and loggers, JSON objects, NPZ archives.

The first line of a text table determines the separator. If it is not a comma, a comma is a decimal
point. An ambiguous field such as ``"1,234"`` in a table with commas is nan.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError, shown
from robot_dynamics.identification.dataset.log import Log, in_order, stamps_of
from robot_dynamics.model.arrays import FloatArray

QUANTITIES = ('position', 'velocity', 'effort')
#: Names of a column of times, in lower case.
TIME_NAMES = ('t', 'time', 'times', 'stamp', 'timestamp', 'time_s', 'sec')
#: File name suffixes of tables.
TABLES = ('.csv', '.txt', '.tsv', '.dat', '.asc', '.json')
#: Largest number of rows of a table.
MAX_ROWS = 20_000_000

# Words for a quantity beside the name of a joint, longest first.
_WORDS = {
    'position': ('position', 'positions', 'pos', 'q'),
    'velocity': ('velocity', 'velocities', 'vel', 'dq', 'qd', 'v'),
    'effort': ('effort', 'efforts', 'torque', 'torques', 'current', 'currents', 'tau'),
}
# Unit in the name of a column of times.
_SECONDS = re.compile(r'\s*[\[(]s[\])]$')
_MARKS = (',', ';', '\t')
_BLANK = ' '
_COMMENTS = ('#', '%')


def read_tables(files: Mapping[str, Path], joints: Sequence[str], rename: Mapping[str, str],
                rate: float | None, keys: Mapping[str, Sequence[str] | str],
                required: Sequence[str]) -> Log:
    """Read a log from one table, ``{'all': path}``, or from one table for each quantity.

    Parameters
    ----------
    files : mapping of str to Path
        A header names the columns: a time (``t``, ``time`` ...), and for each joint and quantity
        ``joint_position`` etc. (also ``position_joint`` and ``q_joint``), or only the joint
        in a table of one quantity.
    joints, rename
        Joints in order, and the joint by column or by name of the joint in the log.
    rate : float, optional
        Rows per second of a table without a column of time, Hz.
    keys : mapping
        Names of the columns of a quantity in the order of the joints, where they differ:
        ``{'position': ['q1', 'q2'], 'time': 'clock'}``.
    required : sequence of str
        Quantities that the log has to have; others are nan if missing.
    """
    columns: dict[str, FloatArray] = {}
    time: FloatArray | None = None
    dropped: dict[str, int] = {}
    rows, known = [], []
    reason = 'rows with missing or extra fields'
    for quantity, path in files.items():
        header, values, broken = read_table(path)
        dropped[reason] = dropped.get(reason, 0) + broken
        rows.append(len(values))
        known += header
        clock = next((k for k, name in enumerate(header) if name == keys.get('time') or (
            'time' not in keys and _SECONDS.sub('', name.lower()) in TIME_NAMES)), None)
        if clock is not None and time is None:
            time = values[:, clock]
        for wanted in QUANTITIES if quantity == 'all' else (quantity,):
            places = (in_order(header, keys[wanted]) if wanted in keys else
                      _places(header, wanted, joints, rename, alone=quantity != 'all'))
            if places is not None:
                columns[wanted] = values[:, places]
    _require(columns, ', '.join(map(str, files.values())), joints, required, known)
    count = min(rows)
    if max(rows) != count:
        dropped['rows that not all tables have'] = max(rows) - count
    return _log(joints, time, rate, columns, count, dropped, next(iter(files.values())))


def read_npz(path: Path, joints: Sequence[str], rename: Mapping[str, str],
             keys: Mapping[str, str], rate: float | None, required: Sequence[str]) -> Log:
    """Read a log from an NPZ archive without pickled objects; see `read_tables`.

    ``keys`` are the names of the arrays ``time``, ``position``, ``velocity``, ``effort`` and
    ``names`` where they differ. Without names, the columns are the joints in order.
    """
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
    _require(columns, str(path), joints, required, list(arrays))
    time = None if get['time'] is None else _seconds(get['time'], path)
    rows = [len(x) for x in columns.values()] + ([] if time is None else [len(time)])
    dropped = {'rows that not all arrays have': max(rows) - min(rows)}
    return _log(joints, time, rate, columns, min(rows), dropped, path)


def load_archive(path: Path, names: set[str] | None = None) -> dict[str, NDArray[Any]]:
    """Arrays of an NPZ archive by name: all, or those of some names."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files if names is None or key in names}
    # zipfile has its own exceptions.
    except Exception as error:
        raise RecordingError(f'cannot be read: {error}', subject=str(path),
                             remedy='give an archive of plain arrays') from error


def read_table(path: Path, *, needs_header: bool = True) -> tuple[list[str], FloatArray, int]:
    """Header, numbers, (N, columns), and number of rows of another length of a table.

    Text has a line of names and one row per sample, separated by commas, semicolons, tabs or
    blanks, with or without quotes, byte order mark, and comments or empty lines before it. JSON
    is an object with ``columns``, their names, and ``rows``. Fields that are not numbers are nan.
    Unless a header is needed, columns without one are named by their numbers, from 1.
    """
    if path.suffix.lower() == '.json':
        return _json_table(path)
    lines = _lines(path)
    first = next((k for k, line in enumerate(lines) if line.strip()
                  and not line.lstrip().startswith(_COMMENTS)), len(lines))
    if len(lines) - first < 2:
        raise RecordingError('has no rows', subject=str(path),
                             remedy='give a table with a header and numbers')
    names, rows = lines[first], lines[first + 1:]
    mark = _mark(names, rows)
    if mark == _BLANK:
        names, rows = (_BLANK.join(names.split()), [_BLANK.join(row.split()) for row in rows])
    try:
        header = [name.strip().lstrip('-').strip()
                  for name in next(csv.reader([names], delimiter=mark), [])]
        if not needs_header and np.isfinite(number(names.split(mark)[0])):
            header, rows = [str(k + 1) for k in range(len(header))], [names, *rows]
        quoted = any('"' in row for row in rows[:2])
        good: list[Any] = [
            row for row in rows if row.count(mark) == len(header) - 1] if not quoted else [
            row for row in csv.reader(rows, delimiter=mark) if len(row) == len(header)]
    except csv.Error as error:
        raise RecordingError(f'cannot be read as a table: {error}', subject=str(path),
                             remedy='give a table with a header and numbers') from error
    broken = len(rows) - len(good) - sum(not row.strip() for row in rows)
    if not good or len(good) > MAX_ROWS:
        raise RecordingError(f'has {len(good)} valid rows of {len(header)}', subject=str(path),
                             remedy='give a table with a header and one row per sample')
    if mark != ',' and any(',' in field for field in good[0]):
        good = [row.replace(',', '.') if isinstance(row, str)
                else [field.replace(',', '.') for field in row] for row in good]
    return header, _values(good, header, mark, path), broken


def number(field: Any) -> float:
    """Field as a number, or nan."""
    try:
        return float(field)
    except (TypeError, ValueError):
        return float('nan')


def _names(names: NDArray[Any], path: Path) -> list[str]:
    if names.ndim != 1 or names.dtype.kind not in 'US':
        raise RecordingError(f'must be a list of names, got shape {names.shape} and type '
                             f'{names.dtype}', subject=f'{path}: names',
                             remedy='give one text for each column')
    return [name.decode(errors='replace') if isinstance(name, bytes) else str(name)
            for name in names]


def _seconds(time: NDArray[Any], path: Path) -> FloatArray:
    """Times of an archive, s."""
    if time.size != max(time.shape, default=0) or time.dtype.kind not in 'fiuM':
        raise RecordingError(f'must be one number for each row, got shape {time.shape} and type '
                             f'{time.dtype}', subject=f'{path}: time', remedy='give times in s')
    if time.dtype.kind == 'M':
        # Counted from the first time, to keep precision.
        time = (time - time.ravel()[0]) / np.timedelta64(1, 's') if time.size else time
    return np.asarray(time, dtype=np.float64).ravel()


def _log(joints: Sequence[str], time: FloatArray | None, rate: float | None,
         columns: Mapping[str, FloatArray], count: int, dropped: dict[str, int], path: Path
         ) -> Log:
    if time is None:
        if rate is None:
            raise RecordingError('has no column of time', subject=str(path),
                                 remedy='give rate, the rows per second')
        time = np.arange(count) / rate
    time = time[:count]
    stamps, good = stamps_of(time)
    if len(good) and not np.any(good):
        raise RecordingError('has no numeric times', subject=str(path),
                             remedy='write them like 1234.5, in s, without thousands separators')
    dropped['rows without a time'] = int(np.count_nonzero(~good))
    empty = np.full((count, len(joints)), np.nan)
    position, velocity, effort = (columns.get(name, empty)[:count][good] for name in QUANTITIES)
    return Log(tuple(joints), stamps, position, velocity, effort, dropped, str(path))


def _json_table(path: Path) -> tuple[list[str], FloatArray, int]:
    try:
        content = json.loads(path.read_text(encoding='utf-8-sig'))
    except OSError as error:
        raise RecordingError(f'cannot be read: {error.strerror}', subject=str(path),
                             remedy='give a JSON file') from error
    except (ValueError, RecursionError) as error:
        raise RecordingError(f'is damaged: {error}', subject=str(path),
                             remedy='give a whole JSON file') from error
    content = content if isinstance(content, dict) else {}
    header, rows = content.get('columns'), content.get('rows')
    if not (isinstance(header, list) and header and isinstance(rows, list)
            and all(isinstance(name, str) for name in header)):
        raise RecordingError('must have columns and rows', subject=str(path),
                             remedy='give an object with "columns" (names) and "rows" (numbers)')
    good = [row for row in rows if isinstance(row, list) and len(row) == len(header)]
    if not good or len(good) > MAX_ROWS:
        raise RecordingError(f'has {len(good)} valid rows of {len(header)}', subject=str(path),
                             remedy='give one row per sample')
    return header, np.array([[number(field) for field in row] for row in good]), \
        len(rows) - len(good)


def _places(header: Sequence[str], quantity: str, joints: Sequence[str],
            rename: Mapping[str, str], alone: bool) -> tuple[int, ...] | None:
    """Columns of a quantity, or None if one is missing."""
    named = []
    for column in header:
        name = rename.get(column, column)
        for word in _WORDS[quantity]:
            stem = re.sub(rf'^{word}[_ .]|[_ .]{word}$', '', column)
            if stem != column:
                name = rename.get(stem, stem)
                break
        else:
            # A column without a quantity in its name belongs to a table of one quantity.
            name = name if alone else ''
        named.append(name)
    return in_order(named, joints)


def _require(columns: Mapping[str, FloatArray], source: str, joints: Sequence[str],
             required: Sequence[str], known: Sequence[str]) -> None:
    for quantity in required:
        if quantity not in columns:
            raise RecordingError(f'has no {quantity} for some of: ' + ', '.join(joints),
                                 subject=source,
                                 remedy='give names, a map from the columns of the log to the '
                                        'joints of the robot; it has: ' + ', '.join(known))


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordingError(f'cannot be read: {error.strerror}', subject=str(path),
                             remedy='give a table') from error
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode('utf-16' if wide else 'utf-8-sig', errors='replace').splitlines()


def _mark(names: str, rows: Sequence[str]) -> str:
    """Separator of the fields."""
    found = [mark for mark in _MARKS if mark in names]
    if found:
        return max(found, key=lambda mark: (names.count(mark), -_MARKS.index(mark)))
    return _BLANK if len(names.split()) > 1 and len(rows[0].split()) > 1 else ','


def _values(rows: Sequence[Any], header: Sequence[str], mark: str, path: Path) -> FloatArray:
    """Numbers of rows, which are lines or lists of fields."""
    fields = rows
    if isinstance(rows[0], str):
        try:
            return np.loadtxt(rows, delimiter=mark, ndmin=2, comments=None)
        except ValueError:
            fields = [row.split(mark) for row in rows]
    wanted = set(header)
    for row in fields:
        again = [field.strip().lstrip('-').strip() for field in row]
        if again != list(header) and set(again) == wanted:
            raise RecordingError('has a second header with another order of columns',
                                 subject=str(path), remedy='give the two parts as two files')
    values = np.array([[number(field) for field in row] for row in fields])
    if not np.any(np.isfinite(values)):
        raise RecordingError(f'has no numbers, but fields such as {shown(str(fields[0][0]))}',
                             subject=str(path),
                             remedy='write them like 1234.5, without thousands separators')
    return values
