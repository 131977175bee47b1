# SPDX-License-Identifier: Apache-2.0
"""Files of tables: text of spreadsheets, plotters and loggers, JSON, JSON lines, NPZ archives.

The first line of a text table determines the separator. If it is not a comma, a comma is a decimal
point. An ambiguous field such as ``"1,234"`` in a table with commas is nan.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError, shown
from robot_dynamics.identification.dataset.conventions import WORDS
from robot_dynamics.model.arrays import FloatArray

#: File name suffixes of tables.
TABLES = ('.csv', '.txt', '.tsv', '.dat', '.asc', '.json', '.jsonl', '.ndjson')
#: Largest number of rows of a table.
MAX_ROWS = 20_000_000

_MARKS = (',', ';', '\t')
_BLANK = ' '
_COMMENTS = ('#', '%')
# A list in a field: [1, 2], (1, 2), array('d', [1, 2]).
_LIST = re.compile(r'[^\[\](),]*[\[(](?:[^\[\]()]*\[)?([^\[\]]*?)[\])]+')
# A column of the names of joints, and columns that such names may replace the number of.
_NAME = re.compile(r'(.*?)names?([_.\[ ]?)(\d+)(\]?)', re.I)
_NUMBERED = re.compile(r'(.*?)([a-z]+)([_.\[ ]?)(\d+)(\]?)', re.I)
_WORDS = {'name', 'names', *(word for words in WORDS.values() for word in words)}
# Head of the rows of ros2 topic echo --csv, which writes no line of names.
_ROS2_HEAD = ['sec', 'nanosec', 'frame_id']


def read_table(path: Path) -> tuple[list[str], FloatArray, int]:
    """Header, numbers, (N, columns), and number of rows left out of a table.

    Text has a line of names and one row per sample, separated by commas, semicolons, tabs or
    blanks, with or without quotes, byte order mark, and comments or empty lines before it; the
    names may be the last of these comments. Columns without names are named by their numbers, from
    1. JSON is an object with ``columns``, their names, and ``rows``, a list of objects, or an
    object for each line. A list in a field becomes columns such as ``position[0]``. If columns
    such as ``name[0]`` name the joints, the column becomes ``position[elbow]``; rows with other
    names are left out. Fields that are not numbers are nan.
    """
    text = _read(path)
    if path.suffix.lower() in ('.json', '.jsonl', '.ndjson'):
        header, objects, broken = _json_rows(text, path)
        header, objects, lost = _with_names(*_flat(header, objects))
        return header, np.array([[number(x) for x in row] for row in objects]), broken + lost
    names, rows = _header_and_rows(text.splitlines(), path)
    mark = _mark(names or rows[0], rows)
    if mark == _BLANK:
        rows = [_BLANK.join(row.split()) for row in rows]
        names = names and _BLANK.join(names.split())
    try:
        header = _names_of(names, rows[0], mark)
        quoted = any('"' in row for row in rows[:2])
        good: list[Any] = [
            row for row in rows if row.count(mark) == len(header) - 1] if not quoted else [
            row for row in csv.reader(rows, delimiter=mark, skipinitialspace=True)
            if len(row) == len(header)]
    except csv.Error as error:
        raise RecordingError(f'cannot be read as a table: {error}', subject=str(path),
                             remedy='give a table with a header and numbers') from error
    broken = len(rows) - len(good) - sum(not row.strip() for row in rows)
    _require_rows(good, header, path)
    first = good[0].split(mark) if isinstance(good[0], str) else good[0]
    if any(_LIST.fullmatch(text.strip()) for text in first) \
            or any(_NAME.fullmatch(name) for name in header):
        fields = [row.split(mark) if isinstance(row, str) else row for row in good]
        header, good, lost = _with_names(*_flat(header, fields))
        broken += lost
        _require_rows(good, header, path)
    if mark != ',' and any(',' in field for field in good[0]):
        good = [row.replace(',', '.') if isinstance(row, str)
                else [field.replace(',', '.') for field in row] for row in good]
    return header, _values(good, header, mark, path), broken


def load_archive(path: Path, names: set[str] | None = None) -> dict[str, NDArray[Any]]:
    """Arrays of an NPZ archive by name: all, or those of some names."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files if names is None or key in names}
    # zipfile has its own exceptions.
    except Exception as error:
        raise RecordingError(f'cannot be read: {error}', subject=str(path),
                             remedy='give an archive of plain arrays') from error


def number(field: Any) -> float:
    """Field as a number, or nan."""
    try:
        return float(field)
    except (TypeError, ValueError):
        return float('nan')


def is_unnamed(header: Sequence[str]) -> bool:
    """Whether columns are named by their numbers."""
    return list(header) == [str(k + 1) for k in range(len(header))]


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordingError(f'cannot be read: {error.strerror}', subject=str(path),
                             remedy='give a table') from error
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode('utf-16' if wide else 'utf-8-sig', errors='replace')


def _header_and_rows(lines: Sequence[str], path: Path) -> tuple[str, Sequence[str]]:
    """Line of names, empty without one, and the lines after it."""
    first = next((k for k, line in enumerate(lines) if line.strip()
                  and not line.lstrip().startswith(_COMMENTS)), len(lines))
    names, start = '', first
    if first < len(lines):
        mark = _mark(lines[first], lines[first:])
        fields = lines[first].split(mark)
        if not np.isfinite(number(fields[0].strip('" '))):
            names, start = lines[first], first + 1
        elif first:
            # The names are a comment, as numpy.savetxt and rostopic echo -p write them.
            comment = lines[first - 1].lstrip(' #%')
            names = comment if len(comment.split(None if mark == _BLANK else mark)) == len(
                lines[first].split(None if mark == _BLANK else mark)) else ''
    if len(lines) - start < 1 or (names and not lines[start:]):
        raise RecordingError('has no rows', subject=str(path),
                             remedy='give a table with a header and numbers')
    return names, lines[start:]


def _names_of(names: str, row: str, mark: str) -> list[str]:
    """Names of the columns, from the line of names or else from the first row."""
    if names:
        return [name.strip().lstrip('-').strip() for name in
                next(csv.reader([names], delimiter=mark, skipinitialspace=True), [])]
    fields = next(csv.reader([row], delimiter=mark, skipinitialspace=True), [])
    is_text = [not np.isfinite(number(field)) for field in fields]
    joints = sum(is_text[3:])
    if joints and not any(is_text[:2]) and all(is_text[2:3 + joints]) \
            and (len(fields) - 3) == 4 * joints:
        return _ROS2_HEAD + [f'{word}[{k}]' for word in ('name', 'position', 'velocity', 'effort')
                             for k in range(joints)]
    return [str(k + 1) for k in range(len(fields))]


def _require_rows(rows: Sequence[Any], header: Sequence[str], path: Path) -> None:
    if not rows or len(rows) > MAX_ROWS:
        raise RecordingError(f'has {len(rows)} valid rows of {len(header)}', subject=str(path),
                             remedy='give a table with a header and one row per sample')


def _flat(header: Sequence[str], rows: Sequence[Sequence[Any]]
          ) -> tuple[list[str], list[list[Any]], int]:
    """Columns for the elements of lists, as in the first row; and the number of other rows."""
    parts = [_elements(field) for field in rows[0]]
    names = [name if part is None else f'{name}[{k}]' for name, part in
             zip(header, parts, strict=True) for k in range(1 if part is None else len(part))]
    good = []
    for row in rows:
        flat: list[Any] = []
        for field, part in zip(row, parts, strict=True):
            own = None if part is None else _elements(field)
            flat += [field] if part is None else own or []
        if len(flat) == len(names):
            good.append(flat)
    return names, good, len(rows) - len(good)


def _elements(field: Any) -> list[Any] | None:
    """Elements of a list, or None for a single value."""
    if isinstance(field, list):
        return field
    found = _LIST.fullmatch(field.strip()) if isinstance(field, str) else None
    return None if found is None else [part.strip('\'"') for part in
                                       re.split(r'[,\s]+', found[1].strip()) if part]


def _with_names(header: list[str], rows: list[list[Any]], lost: int
                ) -> tuple[list[str], list[list[Any]], int]:
    """Columns with the names of joints from the columns of names instead of numbers."""
    places = [(k, found) for k, found in enumerate(map(_NAME.fullmatch, header)) if found]
    if not places or not rows:
        return header, rows, lost
    names = {found[3]: str(rows[0][k]).strip() for k, found in places}
    head = places[0][1][1]
    good = [row for row in rows if all(str(row[k]).strip() == names[found[3]]
                                       for k, found in places)]
    named = []
    for column in header:
        found = _NUMBERED.fullmatch(column)
        is_joint = found and found[1] == head and found[4] in names and found[2].lower() in _WORDS
        named.append(f'{found[1]}{found[2]}[{names[found[4]]}]' if found and is_joint else column)
    return named, good, lost + len(rows) - len(good)


def _json_rows(text: str, path: Path) -> tuple[list[str], list[list[Any]], int]:
    """Header, rows of fields, and the number of rows with other fields."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        content = list(_json_lines(text))
        if len(content) < 2:
            raise RecordingError(f'is damaged: {error}', subject=str(path),
                                 remedy='give a whole JSON file, or one object per line'
                                 ) from error
    header: Any
    if isinstance(content, list) and content and isinstance(content[0], dict):
        objects = [dict(_leaves(one)) for one in content if isinstance(one, dict)]
        header = list(objects[0])
        rows: Any = [[one[name] for name in header] for one in objects
                     if one.keys() == objects[0].keys()]
        return header, rows, len(content) - len(rows)
    content = content if isinstance(content, dict) else {}
    header, rows = content.get('columns'), content.get('rows')
    if not (isinstance(header, list) and header and isinstance(rows, list)
            and all(isinstance(name, str) for name in header)):
        raise RecordingError('must have columns and rows', subject=str(path),
                             remedy='give an object with "columns" (names) and "rows" (numbers), '
                                    'or one object per line')
    good = [row for row in rows if isinstance(row, list) and len(row) == len(header)]
    _require_rows(good, header, path)
    return header, good, len(rows) - len(good)


def _json_lines(text: str) -> Iterator[Any]:
    """Objects of the lines that are JSON."""
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _leaves(value: Mapping[str, Any], head: str = '') -> Iterator[tuple[str, Any]]:
    """Yield the values of nested objects, named ``header.stamp.sec``."""
    for key, one in value.items():
        if isinstance(one, dict):
            yield from _leaves(one, f'{head}{key}.')
        else:
            yield head + key, one


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
