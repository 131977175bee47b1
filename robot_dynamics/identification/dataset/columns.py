# SPDX-License-Identifier: Apache-2.0
"""The columns of any log: tables with or without a header, archives, recordings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.bags import read_joint_states
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.recordings.bag import stream_topics

_JOINT_STATE = 'sensor_msgs/msg/JointState'
_TIMES = ('t', 'time', 'times', 'stamp', 'timestamp', 'time_s', 'sec')
_TABLES = ('.csv', '.txt', '.dat', '.tsv', '.asc')
_QUANTITIES = ('position', 'velocity', 'effort')
_POSITION = '/position'
#: Largest table that is read, bytes.
LARGEST = 2**30


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a log by name, each with its own times.

    Parameters
    ----------
    values : mapping of str to ndarray
        Columns; those without names are called by their numbers, from 1.
    times : mapping of str to ndarray
        s; missing where the log tells no time.
    source : str
        For messages.
    """

    values: Mapping[str, FloatArray]
    times: Mapping[str, FloatArray]
    source: str

    def named(self, name: str | int) -> FloatArray:
        """Return a column by its name, or its number from 1."""
        key = str(name)
        if key in self.values:
            return self.values[key]
        names = list(self.values)
        if isinstance(name, int) and 1 <= name <= len(names):
            return self.values[names[name - 1]]
        raise RecordingError(f'has no column {key!r}', subject=self.source,
                             remedy='name one of: ' + ', '.join(names[:40]))

    def time_of(self, name: str | int) -> FloatArray | None:
        """Return the times of a column, None where the log tells none."""
        key = str(name)
        if key not in self.values and isinstance(name, int):
            key = list(self.values)[name - 1]
        return self.times.get(key)


def read_columns(path: Path) -> Columns:
    """Read all columns of a log.

    Parameters
    ----------
    path : Path
        A table of numbers, separated by commas, semicolons or blanks, with or without a line
        of names; an NPZ archive of plain arrays; or a rosbag2 recording, of which the columns
        are ``joint/position``, ``joint/velocity`` and ``joint/effort``, after ``topic:``
        where several topics name the joint. Of those the states of the joint have the plain
        names too, and the states of motors in a topic of their own are ``motor_joint/...``.
    """
    if path.suffix in _TABLES:
        return _table(path)
    if path.suffix == '.npz':
        return _archive(path)
    return _recording(path)


def _table(path: Path) -> Columns:
    try:
        if path.stat().st_size > LARGEST:
            raise RecordingError('is larger than 1 GiB', subject=str(path),
                                 remedy='give a part of it')
        text = path.read_text(encoding='utf-8-sig', errors='replace')
    except OSError as error:
        raise RecordingError(f'cannot be read: {error.strerror}', subject=str(path),
                             remedy='give a table of numbers') from error
    lines = [line for line in text.splitlines() if line.strip() and line.lstrip()[0] not in '#%']
    if not lines:
        raise RecordingError('has no rows', subject=str(path), remedy='give a table of numbers')
    mark = next((mark for mark in (',', ';', '\t') if mark in lines[0].strip()), None)
    rows = [[cell.strip() for cell in line.strip().split(mark)] for line in lines]
    header = None if _number(rows[0][0]) is not None else rows.pop(0)
    width = len(header or rows[0]) if rows else 0
    good = [row for row in rows if len([cell for cell in row if cell]) >= width]
    if len(good) < 2 or width == 0:
        raise RecordingError(f'has {len(good)} rows of {width} numbers', subject=str(path),
                             remedy='give a table of numbers, one row a sample')
    values = np.array([[_number(cell) for cell in row[:width]] for row in good], dtype=np.float64)
    names = [name.strip('"\' ') for name in header] if header else \
        [str(k) for k in range(1, width + 1)]
    columns = dict(zip(names, values.T, strict=True))
    clock = next((columns[name] for name in names if name.lower() in _TIMES), None)
    return Columns(columns, {} if clock is None else dict.fromkeys(columns, clock), str(path))


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return np.nan if cell.lower() in ('', 'na', 'null', 'none') else None


def _archive(path: Path) -> Columns:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # zipfile has exceptions of its own.
        raise RecordingError(f'cannot be read: {error}', subject=str(path),
                             remedy='give an archive of plain arrays') from error
    columns: dict[str, FloatArray] = {}
    for name, array in arrays.items():
        if array.dtype.kind in 'fiu' and array.ndim == 1:
            columns[name] = array.astype(np.float64)
        elif array.dtype.kind in 'fiu' and array.ndim == 2:
            columns.update({f'{name}/{k}': column.astype(np.float64)
                            for k, column in enumerate(array.T, 1)})
    clock = next((columns[name] for name in columns if name.lower() in _TIMES), None)
    times = {name: clock for name, column in columns.items()
             if clock is not None and len(column) == len(clock)}
    return Columns(columns, times, str(path))


def _recording(path: Path) -> Columns:
    found: dict[str, list[bytes]] = {}
    for topic, _, data in stream_topics(path, lambda types: {
            name: _JOINT_STATE for name, kind in types.items() if kind == _JOINT_STATE}):
        found.setdefault(topic, []).append(data)
    columns: dict[str, FloatArray] = {}
    times: dict[str, FloatArray] = {}
    parts: list[tuple[str, str, FloatArray, FloatArray]] = []
    origin = None
    for topic, messages in found.items():
        groups, _ = read_joint_states(messages)
        for _, rows in groups:
            origin = rows.stamps[0] if origin is None else origin
            seconds = (rows.stamps - origin) * 1e-9
            for k, joint in enumerate(rows.names):
                parts += [(topic, f'{joint}/{quantity}', seconds, getattr(rows, quantity)[:, k])
                          for quantity in _QUANTITIES
                          if np.any(np.isfinite(getattr(rows, quantity)[:, k]))]
    several = {name for _, name, _, _ in parts
               if len({topic for topic, other, _, _ in parts if other == name}) > 1}
    for topic, name, seconds, values in parts:
        key = f'{topic}:{name}' if name in several else name
        # Of messages with other sets of joints the most frequent set counts.
        if len(values) > len(columns.get(key, ())):
            columns[key], times[key] = values, seconds
    if not columns:
        raise RecordingError('has no joint states', subject=str(path),
                             remedy='record the joint states of motors and links')
    for plain, key in _plain_names(columns, several).items():
        columns[plain], times[plain] = columns[key], times[key]
    return Columns(columns, times, str(path))


def _plain_names(columns: Mapping[str, FloatArray], several: Collection[str]) -> dict[str, str]:
    """Return which columns of several topics are the states of joints, and of motors.

    A controller tells errors and models under the names of joints too, less often than
    states come. Where nothing tells them apart no topic is chosen.
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
        for who, ours in ((joint, links), (f'motor_{joint}', motors)):
            chosen = _states(ours, lambda topic, joint=joint: len(
                columns[f'{topic}:{joint}{_POSITION}']))
            if chosen is not None and f'{who}{_POSITION}' not in columns:
                out.update({f'{who}/{quantity}': f'{chosen}:{joint}/{quantity}'
                            for quantity in _QUANTITIES
                            if f'{chosen}:{joint}/{quantity}' in columns})
    return out


def _states(topics: Sequence[str], count: Callable[[str], int]) -> str | None:
    """Return the topic of states among some, None where two are as likely."""
    ranked = sorted(((topic.endswith('states'), count(topic), topic) for topic in topics),
                    reverse=True)
    if not ranked or (len(ranked) > 1 and ranked[0][:2] == ranked[1][:2]):
        return None
    return ranked[0][2]
