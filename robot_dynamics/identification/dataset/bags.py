# SPDX-License-Identifier: Apache-2.0
"""Joint states of rosbag2 recordings as a `Log`, with the stamps of their headers.

A driver sends the same names in every message, so that nearly all messages of a recording have one
layout: stamps and numbers at the same positions, and all other bytes equal. The first message is
parsed, and all messages with its layout are then read at once.

The format: OMG, "DDS-XTypes", version 1.2, section 7.4.3 (XCDR1, plain): four bytes of
encapsulation, then the members one after the other, each aligned to its size.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.log import Log, in_order
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray
from robot_dynamics.recordings.bag import stream_batches

JOINT_STATE = 'sensor_msgs/msg/JointState'
#: Reason of a count: the file is damaged or truncated.
PARTS_MISSING = 'damaged or missing parts of the recording'
#: Reasons of counts: unreadable messages, and messages that do not name all joints.
DAMAGED, INCOMPLETE = 'damaged messages', 'messages without all joints'
ByteArray = NDArray[np.uint8]

#: Rows of a topic of another arm, relative to the most, and largest difference between positions
#: of one motion, relative to the largest range.
OTHER_ARM, SAME_MOTION = 0.1, 0.05
#: Largest number of layouts in one batch; messages of further ones count as damaged.
MAX_LAYOUTS = 64

_HEAD = 4
_LITTLE, _BIG = b'\x00\x01', b'\x00\x00'


def read_bag(path: Path, joints: Sequence[str], rename: Mapping[str, str],
             topic: str | None = None) -> Log:
    """Joint states of some joints from a recording: a folder, or an MCAP or SQLite file.

    ``rename`` maps names of the log to joints of the robot. The default topic is the one with
    these joints in most messages. Raises a RecordingError if no topic has all of them.
    """
    def choose(types: Mapping[str, str]) -> dict[str, str | None]:
        known = [name for name, kind in types.items() if kind == JOINT_STATE]
        if topic is not None and topic not in types:
            raise RecordingError('is not recorded', subject=f'topic {topic}',
                                 remedy='choose among: ' + (', '.join(known) or 'none'))
        return {name: JOINT_STATE for name in (known if topic is None else [topic])}

    collector = JointStateCollector(joints, rename)
    broken: list[RecordingError] = []
    for name, messages in stream_batches(path, choose, broken.append):
        collector.take(name, messages)
    if broken and not collector.count:
        raise broken[0]
    return collector.log(str(path), {PARTS_MISSING: len(broken)})


@dataclass(eq=False)
class _Topic:
    """Rows of one topic so far."""

    pieces: list[tuple[NDArray[np.generic], ...]] = field(default_factory=list)
    rows: int = 0
    whole: int = 0
    damaged: int = 0
    without: int = 0


class JointStateCollector:
    """Collects serialized messages of several topics and makes a log of one topic."""

    def __init__(self, joints: Sequence[str], rename: Mapping[str, str]):
        self._joints, self._rename = tuple(joints), rename
        self._topics: dict[str, _Topic] = {}
        self._names: set[str] = set()

    @property
    def count(self) -> int:
        """Number of rows so far, of all topics."""
        return sum(topic.rows for topic in self._topics.values())

    def take(self, name: str, messages: Sequence[bytes]) -> None:
        """Add messages of a topic."""
        topic = self._topics.setdefault(name, _Topic())
        groups, damaged = read_joint_states(messages)
        topic.damaged += damaged
        kept: list[tuple[IntArray, Rows, tuple[int, ...]]] = []
        for indices, rows in groups:
            self._names.update(rows.names)
            places = in_order([self._rename.get(one, one) for one in rows.names], self._joints)
            if places is None:
                topic.without += len(indices)
            else:
                kept.append((indices, rows, places))
                # Controllers publish errors and commands as incomplete joint states.
                whole = np.isfinite(rows.position[:, places]) & np.isfinite(rows.effort[:, places])
                topic.whole += int(np.count_nonzero(whole.all(axis=1)))
        if not kept:
            return
        order = np.argsort(np.concatenate([indices for indices, _, _ in kept]), kind='stable')
        columns = [np.concatenate([rows.stamps for _, rows, _ in kept])[order]]
        for quantity in ('position', 'velocity', 'effort'):
            columns.append(np.concatenate([getattr(rows, quantity)[:, places]
                                           for _, rows, places in kept])[order])
        topic.pieces.append(tuple(columns))
        topic.rows += len(order)

    def log(self, source: str, dropped: Mapping[str, int] | None = None) -> Log:
        """Log of the topic with most rows of positions and efforts, or RecordingError.

        ``dropped`` counts earlier losses by reason. Topics with the same joints and other motions
        belong to several arms, of which none is chosen.
        """
        best = max(self._topics, key=lambda name: (self._topics[name].whole,
                                                   self._topics[name].rows), default=None)
        if best is None or self._topics[best].rows == 0:
            if {self._rename.get(name, name) for name in self._names} >= set(self._joints):
                raise RecordingError(
                    'has no message with each of ' + ', '.join(self._joints) + ' exactly once',
                    subject=source, remedy='record a publisher of all of them, or list under '
                    'joints those of one message')
            raise RecordingError(
                'has no message with all of ' + ', '.join(self._joints), subject=source,
                remedy='give names, a map from the names of the log to those of the robot, or '
                       'joints; the log has: '
                       + (', '.join(sorted(self._names)) or 'no joint states'))
        chosen = self._topics[best]
        arms = [best, *(name for name, topic in self._topics.items()
                        if topic is not chosen and topic.whole > OTHER_ARM * chosen.whole
                        and _differ(chosen, topic))]
        if len(arms) > 1:
            raise RecordingError('has these joints in other motions on several topics: '
                                 + ', '.join(sorted(arms)), subject=source,
                                 remedy='choose one with log.topic in the YAML')
        columns = tuple(np.concatenate(column) for column in zip(*chosen.pieces, strict=True))
        chosen.pieces = [columns]
        stamps, position, velocity, effort = columns
        return Log(self._joints, stamps, position, velocity, effort, {
            **(dropped or {}), DAMAGED: chosen.damaged, INCOMPLETE: chosen.without},
            f'{source}:{best}')


def _differ(one: _Topic, other: _Topic) -> bool:
    """Whether the positions of two topics differ where their stamps overlap."""
    stamps, position = (np.concatenate([piece[k] for piece in one.pieces]) for k in (0, 1))
    at, others = (np.concatenate([piece[k] for piece in other.pieces]) for k in (0, 1))
    both = (at >= stamps.min()) & (at <= stamps.max())
    if not np.any(both):
        return True
    order = np.argsort(stamps, kind='stable')
    stamps, position = stamps[order], position[order]
    near = position[np.clip(np.searchsorted(stamps, at[both]), 0, len(stamps) - 1)]
    error = np.nanmedian(np.abs(others[both] - near), axis=0)
    return bool(np.any(error > SAME_MOTION * np.nanmax(np.ptp(position, axis=0))))


@dataclass(frozen=True, eq=False)
class Rows:
    """Messages with the same joints: names, stamps (ns), and quantities of shape (k, n).

    Quantities that the messages lack are nan.
    """

    names: tuple[str, ...]
    stamps: IntArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


def read_joint_states(messages: Sequence[bytes]) -> tuple[list[tuple[IntArray, Rows]], int]:
    """Indices and `Rows` of serialized messages of each layout, and the number of damaged ones."""
    lengths: dict[int, list[int]] = {}
    for index, message in enumerate(messages):
        lengths.setdefault(len(message), []).append(index)
    groups, damaged, layouts = [], 0, 0
    for length, members in lengths.items():
        left = np.array(members, dtype=np.int64)
        data = np.frombuffer(b''.join([messages[k] for k in members]),
                             dtype=np.uint8).reshape(len(members), length)
        while len(left):
            layout = _Layout.of(data[0].tobytes()) if layouts < MAX_LAYOUTS else None
            layouts += 1
            if layout is None:
                damaged, left, data = damaged + 1, left[1:], data[1:]
                if layouts >= MAX_LAYOUTS:
                    damaged, left = damaged + len(left), left[:0]
                continue
            alike = np.all(data[:, layout.constant] == data[0, layout.constant], axis=1)
            groups.append((left[alike], layout.read(data[alike])))
            left, data = left[~alike], data[~alike]
    return groups, damaged


@dataclass(frozen=True, eq=False)
class _Layout:
    """Places of the members in messages of one layout."""

    names: tuple[str, ...]
    order: str
    arrays: tuple[tuple[int, int], ...]
    constant: BoolArray

    @classmethod
    def of(cls, message: bytes) -> _Layout | None:
        """Layout of a message; None if it is not a joint state."""
        if message[:2] not in (_LITTLE, _BIG):
            return None
        order = '<' if message[:2] == _LITTLE else '>'
        reader = _Reader(message, order)
        reader.place += 8
        arrays = []
        try:
            reader.text()
            names = tuple(reader.text() for _ in range(reader.count(4)))
            for _ in range(3):
                length = reader.count(8)
                place = reader.aligned(8) if length else reader.place
                arrays.append((place, length))
                reader.place = place + 8 * length
        except (struct.error, UnicodeDecodeError):
            return None
        if reader.place > len(message) or any(length not in (0, len(names))
                                              for _, length in arrays):
            return None
        constant = np.ones(len(message), dtype=bool)
        constant[_HEAD:_HEAD + 8] = False
        for place, length in arrays:
            constant[place:place + 8 * length] = False
        return cls(names, order, tuple(arrays), constant)

    def read(self, data: ByteArray) -> Rows:
        """Content of messages of this layout."""
        seconds = self._numbers(data, _HEAD, 1, 'i4')[:, 0].astype(np.int64)
        nanoseconds = self._numbers(data, _HEAD + 4, 1, 'u4')[:, 0].astype(np.int64)
        fields = []
        for place, length in self.arrays:
            fields.append(self._numbers(data, place, length, 'f8').astype(np.float64) if length
                          else np.full((len(data), len(self.names)), np.nan))
        return Rows(self.names, seconds * 10**9 + nanoseconds, *fields)

    def _numbers(self, data: ByteArray, place: int, length: int, kind: str) -> NDArray[np.generic]:
        size = int(kind[1:])
        piece = np.ascontiguousarray(data[:, place:place + size * length])
        return piece.view(np.dtype(self.order + kind))


class _Reader:
    """A position in a message."""

    def __init__(self, message: bytes, order: str):
        self._message, self._order = message, order
        self.place = _HEAD

    def aligned(self, size: int) -> int:
        """Next position at a multiple of a size, counted after the head."""
        return _HEAD + -(-(self.place - _HEAD) // size) * size

    def count(self, size: int) -> int:
        """Read the length of an array, with entries of at least so many bytes."""
        place = self.aligned(4)
        number, = struct.unpack_from(self._order + 'I', self._message, place)
        self.place = place + 4
        if number * size > len(self._message):
            raise struct.error('longer than the message')
        return int(number)

    def text(self) -> str:
        """Read a text with its terminating zero."""
        length = self.count(1)
        end = self.place + length
        if length == 0 or end > len(self._message):
            raise struct.error('no text')
        text = self._message[self.place:end - 1].decode('utf-8')
        self.place = end
        return text
