# SPDX-License-Identifier: Apache-2.0
"""Reads a serialised ``trajectory_msgs/JointTrajectory`` in a time that hardly grows with it.

rclpy makes Python objects of every point before anybody can say that there are too many, and
whoever reads these takes as long again: a controller would answer no joint state meanwhile.
Here the names and the number of points are read first; the points have the same lengths, one
after the other, so that numpy takes each field of all of them at once.

The bytes are those of OMG's Common Data Representation (CDR) as the middleware sends them:
four bytes that say how it is written, then the fields in order, numbers aligned to their size.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.motion.trajectory_points import (
    FIELDS,
    PointArrays,
    check_count,
    wrong_length,
)
from robot_dynamics.errors import TrajectoryError

#: Joints, and characters of a name, that are read; more than any arm has.
MAX_NAMES, MAX_LETTERS = 1000, 1000

#: The first two bytes, and the order of bytes that they say.
_BYTE_ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}
_HEADER = 4
#: Everything that a point has, in order, before its time.
_ALL_FIELDS = (*FIELDS, 'effort')


@dataclass(frozen=True, eq=False)
class TrajectoryMessage:
    """A trajectory as it was sent.

    Parameters
    ----------
    stamp : int
        When it starts. ns; 0 for now.
    names : list of str
        Its joints.
    points : PointArrays
        Its points.
    """

    stamp: int
    names: list[str]
    points: PointArrays


def read_trajectory(data: bytes, *, max_points: int) -> TrajectoryMessage:
    """Return what a serialised trajectory says.

    Parameters
    ----------
    data : bytes
        The message.
    max_points : int
        Largest number of points.

    Raises
    ------
    TrajectoryError
        Where it is cut off, of too many points, or of points of different lengths.
    """
    order = _BYTE_ORDERS.get(data[:2])
    if order is None:
        raise TrajectoryError(f'begins with {data[:2].hex() or "nothing"}, which is not plain CDR',
                              subject='trajectory', remedy='look at who sends it, and by what '
                                                           'middleware')
    reader = _Reader(data, order)
    stamp = reader.seconds()
    reader.text('frame_id')
    names = reader.names()
    count = reader.number()
    check_count(count, max_points)
    return TrajectoryMessage(stamp, names, _points(reader, count, len(names)))


class _Reader:
    """Reads one field after the other.

    Parameters
    ----------
    data : bytes
        The message.
    order : str
        Order of its bytes, as struct and numpy have it.
    """

    def __init__(self, data: bytes, order: str):
        self.data, self.order = data, order
        self.at = _HEADER
        self._number = struct.Struct(f'{order}I')
        self._time = struct.Struct(f'{order}iI')

    def number(self) -> int:
        """Return an unsigned number of four bytes."""
        self.at += -(self.at - _HEADER) % 4
        return self._take(self._number)[0]

    def seconds(self) -> int:
        """Return a stamp. ns."""
        seconds, nanoseconds = self._take(self._time)
        return 1_000_000_000 * seconds + nanoseconds

    def text(self, subject: str) -> str:
        """Return a text."""
        length = self.number()
        if length > MAX_LETTERS:
            raise TrajectoryError(f'has {length} letters, more than {MAX_LETTERS}',
                                  subject=subject, remedy='give it the name of the description')
        self.require(length)
        letters = self.data[self.at:self.at + length]
        self.at += length
        return letters.rstrip(b'\0').decode('utf-8', 'replace')

    def names(self) -> list[str]:
        """Return the names of the joints."""
        count = self.number()
        if count > MAX_NAMES:
            raise TrajectoryError(f'has {count} joints, more than {MAX_NAMES}',
                                  subject='trajectory', remedy='name the joints of the arm only')
        return [self.text(f'joint_names[{k}]') for k in range(count)]

    def require(self, size: int) -> None:
        """Refuse a message that has not so many bytes more."""
        if self.at + size > len(self.data):
            raise TrajectoryError(f'is cut off after {len(self.data)} bytes', subject='trajectory',
                                  remedy='look at who sends it')

    def lengths(self) -> list[int]:
        """Return the lengths of the fields of the point that begins here, and stay."""
        begin, found = self.at, []
        for _ in _ALL_FIELDS:
            length = self.number()
            found.append(length)
            self.at = _after(self.at, length)
        self.at = begin
        return found

    def column(self, kind: str, begin: int, stride: int, shape: tuple[int, ...]) -> np.ndarray:
        """Return numbers that stand at a fixed distance from each other, a row every stride."""
        kind = f'{self.order}{kind}'
        return np.ndarray(shape, kind, self.data, begin,
                          (stride, np.dtype(kind).itemsize)[:len(shape)])

    def _take(self, layout: struct.Struct) -> tuple[int, ...]:
        self.require(layout.size)
        values = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return values


def _after(at: int, length: int) -> int:
    """Return where numbers of eight bytes end whose count has been read."""
    return at + -(at - _HEADER) % 8 * (length > 0) + 8 * length


def _points(reader: _Reader, count: int, joints: int) -> PointArrays:
    """Return the points, which begin here."""
    lengths = reader.lengths()
    for field, length in zip(_ALL_FIELDS, lengths, strict=True):
        if length not in (0, joints):
            raise wrong_length(0, field, length, joints)
    times = np.empty(count)
    fields = [np.empty((count, joints)) if length else None for length in lengths]
    # The first one may be padded otherwise than those that follow it, which are all alike: a
    # point always ends where the next one has to begin for that.
    for part in (slice(0, 1), slice(1, count)):
        _read_alike(reader, lengths, times[part], [None if field is None else field[part]
                                                   for field in fields], part.start)
    return PointArrays(times, *fields[:len(FIELDS)])


def _require_alike(told: np.ndarray, lengths: list[int], first: int) -> None:
    """Refuse points of other lengths than the one before them, told by row and field."""
    differs = told != lengths
    if differs.any():
        # Only the first of them stands where it is looked for.
        k, field = np.argwhere(differs)[0]
        raise TrajectoryError(
            f'has {told[k, field]} values where the point before has {lengths[field]}',
            subject=f'points[{first + k}].{_ALL_FIELDS[field]}',
            remedy='give every point one value a joint, or none of them')


def _read_alike(reader: _Reader, lengths: list[int], times: np.ndarray,
                fields: list[np.ndarray | None], first: int) -> None:
    """Read points that begin here and are laid out alike into arrays of theirs."""
    count = len(times)
    if count == 0:
        return
    starts, at = [], reader.at
    for length in lengths:
        starts.append(at)
        at = _after(at + 4, length)
    stride = at + 8 - reader.at
    whole = min(count, (len(reader.data) - reader.at) // stride)
    told = np.empty((whole, len(starts)), dtype=np.int64)
    if whole:
        for field, start in enumerate(starts):
            told[:, field] = reader.column('u4', start, stride, (whole,))
    _require_alike(told, lengths, first)
    if whole < count:
        # Cut off, or the first that is not there is a shorter one.
        reader.at += whole * stride
        _require_alike(np.array([reader.lengths()]), lengths, first + whole)
        reader.require(stride)
    for field, start, length in zip(fields, starts, lengths, strict=True):
        if field is not None:
            field[:] = reader.column('f8', _after(start + 4, length) - 8 * length, stride,
                                     (count, length))
    times[:] = reader.column('i4', at, stride, (count,))
    times += 1e-9 * reader.column('u4', at + 4, stride, (count,))
    reader.at += count * stride
