# SPDX-License-Identifier: Apache-2.0
"""Reader of a serialised ``trajectory_msgs/JointTrajectory``, fast for any number of points.

rclpy makes Python objects of every point before their number is known, and to read these takes as
long again: a controller would answer no joint state meanwhile. Here the names and the number of
points are read first. The points have equal lengths and follow each other, so that numpy reads
each field of all of them at once.

The bytes are OMG's Common Data Representation (CDR) as the middleware sends it: four bytes with
the encoding, then the fields in order, numbers aligned to their size.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.motion.trajectory_points import (
    FIELDS,
    PointArrays,
    check_count,
    stacked,
    wrong_length,
)
from robot_dynamics.errors import TrajectoryError

#: Most joints, and characters of a name, that are read; more than any arm has.
MAX_NAMES, MAX_LETTERS = 1000, 1000

#: Order of bytes by the first two bytes.
_BYTE_ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}
_HEADER = 4
#: Fields of a point before its time, in order.
_ALL_FIELDS = (*FIELDS, 'effort')


@dataclass(frozen=True, eq=False)
class TrajectoryMessage:
    """A trajectory as it was sent; its stamp is the start time in ns, 0 for now."""

    stamp: int
    names: list[str]
    points: PointArrays


def read_trajectory(data: bytes, *, max_points: int) -> TrajectoryMessage:
    """Read a serialised trajectory of at most `max_points` points.

    It may have no point. Raises a TrajectoryError where it is truncated, or has too many points or
    points of different lengths.
    """
    order = _BYTE_ORDERS.get(data[:2])
    if order is None:
        raise TrajectoryError(f'must be plain CDR, begins with {data[:2].hex() or "nothing"}',
                              subject='trajectory',
                              remedy='check its publisher and the middleware of that')
    reader = _Reader(data, order)
    stamp = reader.seconds()
    reader.text('frame_id')
    names = reader.names()
    count = reader.number()
    if count == 0:
        return TrajectoryMessage(stamp, names, PointArrays(np.empty(0), None))
    check_count(count, max_points)
    return TrajectoryMessage(stamp, names, _points(reader, count, len(names)))


def points_of(message: JointTrajectory, max_points: int) -> PointArrays:
    """Points of a message that has been deserialised; raises as `read_trajectory`, or for none."""
    check_count(len(message.points), max_points)
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
             for point in message.points]
    return PointArrays(np.array(times), *(
        stacked(message.points, field, len(message.joint_names)) for field in FIELDS))


class _Reader:
    """Reads one field after the other; `order` is that of the bytes in the notation of struct."""

    def __init__(self, data: bytes, order: str):
        self.data, self.order = data, order
        self.at = _HEADER
        self._number = struct.Struct(f'{order}I')
        self._time = struct.Struct(f'{order}iI')

    def number(self) -> int:
        """Read an unsigned number of four bytes."""
        self.at += -(self.at - _HEADER) % 4
        return self._take(self._number)[0]

    def seconds(self) -> int:
        """Read a stamp, ns."""
        seconds, nanoseconds = self._take(self._time)
        return 1_000_000_000 * seconds + nanoseconds

    def text(self, subject: str) -> str:
        """Read a string."""
        length = self.number()
        if length > MAX_LETTERS:
            raise TrajectoryError(f'must have at most {MAX_LETTERS} characters, got {length}',
                                  subject=subject, remedy='give it the name of the description')
        self.require(length)
        letters = self.data[self.at:self.at + length]
        self.at += length
        return letters.rstrip(b'\0').decode('utf-8', 'replace')

    def names(self) -> list[str]:
        """Read the names of the joints."""
        count = self.number()
        if count > MAX_NAMES:
            raise TrajectoryError(f'must have at most {MAX_NAMES} joints, got {count}',
                                  subject='trajectory', remedy='name the joints of the arm only')
        return [self.text(f'joint_names[{k}]') for k in range(count)]

    def require(self, size: int) -> None:
        """Reject a message with fewer remaining bytes."""
        if self.at + size > len(self.data):
            raise TrajectoryError(f'is truncated after {len(self.data)} bytes',
                                  subject='trajectory', remedy='check its publisher')

    def lengths(self) -> list[int]:
        """Read the lengths of the fields of the next point, without advancing."""
        begin, found = self.at, []
        for _ in _ALL_FIELDS:
            length = self.number()
            found.append(length)
            self.at = _after(self.at, length)
        self.at = begin
        return found

    def column(self, kind: str, begin: int, stride: int, shape: tuple[int, ...]) -> np.ndarray:
        """View of numbers at a fixed distance, a row every stride bytes."""
        kind = f'{self.order}{kind}'
        return np.ndarray(shape, kind, self.data, begin,
                          (stride, np.dtype(kind).itemsize)[:len(shape)])

    def _take(self, layout: struct.Struct) -> tuple[int, ...]:
        self.require(layout.size)
        values = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return values


def _after(at: int, length: int) -> int:
    """Position after numbers of eight bytes, from the position after their count."""
    return at + -(at - _HEADER) % 8 * (length > 0) + 8 * length


def _points(reader: _Reader, count: int, joints: int) -> PointArrays:
    """Read the points."""
    lengths = reader.lengths()
    for field, length in zip(_ALL_FIELDS, lengths, strict=True):
        if length not in (0, joints):
            raise wrong_length(0, field, length, joints)
    times = np.empty(count)
    fields = [np.empty((count, joints)) if length else None for length in lengths]
    # The padding of the first point may differ; that of the others is equal, because each begins
    # where the one before ends.
    for part in (slice(0, 1), slice(1, count)):
        _read_alike(reader, lengths, times[part], [None if field is None else field[part]
                                                   for field in fields], part.start)
    return PointArrays(times, *fields[:len(FIELDS)])


def _require_alike(given: np.ndarray, lengths: list[int], first: int) -> None:
    """Reject points whose lengths, by row and field, differ from those of the first."""
    differs = given != lengths
    if differs.any():
        # Only the first that differs is at its position.
        k, field = np.argwhere(differs)[0]
        raise TrajectoryError(
            f'must have {lengths[field]} values like the point before, got {given[k, field]}',
            subject=f'points[{first + k}].{_ALL_FIELDS[field]}',
            remedy='give one value per joint in every point, or in none')


def _read_alike(reader: _Reader, lengths: list[int], times: np.ndarray,
                fields: list[np.ndarray | None], first: int) -> None:
    """Read points of equal layout into arrays."""
    count = len(times)
    if count == 0:
        return
    starts, at = [], reader.at
    for length in lengths:
        starts.append(at)
        at = _after(at + 4, length)
    stride = at + 8 - reader.at
    whole = min(count, (len(reader.data) - reader.at) // stride)
    given = np.empty((whole, len(starts)), dtype=np.int64)
    if whole:
        for field, start in enumerate(starts):
            given[:, field] = reader.column('u4', start, stride, (whole,))
    _require_alike(given, lengths, first)
    if whole < count:
        # The message is truncated, or the next point is shorter.
        reader.at += whole * stride
        _require_alike(np.array([reader.lengths()]), lengths, first + whole)
        reader.require(stride)
    for values, start, length in zip(fields, starts, lengths, strict=True):
        if values is not None:
            values[:] = reader.column('f8', _after(start + 4, length) - 8 * length, stride,
                                     (count, length))
    times[:] = reader.column('i4', at, stride, (count,))
    times += 1e-9 * reader.column('u4', at + 4, stride, (count,))
    reader.at += count * stride
