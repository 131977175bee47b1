# SPDX-License-Identifier: Apache-2.0
"""Tables of numbers as text, whoever wrote them: spreadsheets, plotters, loggers, scripts.

The line of names tells how fields are separated. Where that is no comma, a comma is a decimal
point. What can be read in two ways, such as ``"1,234"`` among commas, is no number.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import RecordingError, shown
from robot_dynamics.model.arrays import FloatArray

#: Rows of a table at most.
MAX_ROWS = 20_000_000

_MARKS = (',', ';', '\t')
_BLANK = ' '
_COMMENTS = ('#', '%')


def csv_table(path: Path) -> tuple[list[str], FloatArray, int]:
    """Return header, numbers and the number of rows of another length of a text table.

    Parameters
    ----------
    path : Path
        A line of names, and one row a sample, separated by commas, semicolons, tabs or blanks;
        with or without quotes, a byte order mark, and comments or empty lines before it.

    Returns
    -------
    header : list of str
        Names of the columns.
    values : ndarray, shape (N, columns)
        nan where a field is no number.
    broken : int
        Rows with too few or too many fields, which are left out.
    """
    lines = _lines(path)
    first = next((k for k, line in enumerate(lines) if line.strip()
                  and not line.lstrip().startswith(_COMMENTS)), len(lines))
    if len(lines) - first < 2:
        raise RecordingError('has no rows', subject=str(path), remedy='give a CSV file with a '
                                                                      'header and numbers')
    names, rows = lines[first], lines[first + 1:]
    mark = _mark(names, rows)
    if mark == _BLANK:
        names, rows = (_BLANK.join(names.split()), [_BLANK.join(row.split()) for row in rows])
    try:
        header = [name.strip().lstrip('-').strip()
                  for name in next(csv.reader([names], delimiter=mark), [])]
        quoted = any('"' in row for row in rows[:2])
        good = [row for row in rows if row.count(mark) == len(header) - 1] if not quoted else [
            row for row in csv.reader(rows, delimiter=mark) if len(row) == len(header)]
    except csv.Error as error:
        raise RecordingError(f'is no table: {error}', subject=str(path),
                             remedy='give a CSV file with a header and numbers') from error
    broken = len(rows) - len(good) - sum(not row.strip() for row in rows)
    if not good or len(good) > MAX_ROWS:
        raise RecordingError(f'has {len(good)} rows of {len(header)} numbers', subject=str(path),
                             remedy='give a CSV file with a header and one row a sample')
    if mark != ',' and any(',' in field for field in good[0]):
        good = [row.replace(',', '.') if isinstance(row, str)
                else [field.replace(',', '.') for field in row] for row in good]
    return header, _values(good, header, mark, path), broken


def number(field: Any) -> float:
    """Return a field as a number, nan where it is none."""
    try:
        return float(field)
    except (TypeError, ValueError):
        return float('nan')


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordingError(f'cannot be read: {error.strerror}', subject=str(path),
                             remedy='give a CSV file') from error
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode('utf-16' if wide else 'utf-8-sig', errors='replace').splitlines()


def _mark(names: str, rows: Sequence[str]) -> str:
    """Return what separates the fields."""
    # A name may hold any of them; the rows do not.
    found = [mark for mark in _MARKS if mark in names]
    if found:
        return max(found, key=lambda mark: (names.count(mark), -_MARKS.index(mark)))
    return _BLANK if len(names.split()) > 1 and len(rows[0].split()) > 1 else ','


def _values(rows: Sequence[Any], header: Sequence[str], mark: str, path: Path) -> FloatArray:
    """Return the numbers of rows that are lines, or lists of fields."""
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
            raise RecordingError('names its columns again, in another order', subject=str(path),
                                 remedy='give the two parts as two files')
    values = np.array([[number(field) for field in row] for row in fields])
    told = np.any(np.isfinite(values), axis=0)
    if not np.any(told):
        raise RecordingError(f'has no numbers, but fields such as {shown(str(fields[0][0]))}',
                             subject=str(path),
                             remedy='write them like 1234.5, without marks between digits')
    return values
