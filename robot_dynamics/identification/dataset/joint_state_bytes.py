# SPDX-License-Identifier: Apache-2.0
"""Many serialized ``sensor_msgs/JointState`` messages to arrays, thousands at a time.

A driver says the same names in every message, so that nearly all messages of a recording
have one layout: stamps and numbers stand at the same places, and everything else is the
same, byte for byte. The first message is taken apart; all that have its layout are then
read at once.

The format: OMG, "DDS-XTypes", version 1.2, section 7.4.3 (XCDR1, plain): four bytes that
say how, then the members one after the other, each at a multiple of its size.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray

ByteArray = NDArray[np.uint8]

#: Layouts looked at in one batch; messages of a yet another one are counted as damaged.
MAX_LAYOUTS = 64

_HEAD = 4
_LITTLE, _BIG = b'\x00\x01', b'\x00\x00'


@dataclass(frozen=True, eq=False)
class Rows:
    """Messages with the same joints.

    Parameters
    ----------
    names : tuple of str, length n
        The joints, as the messages name them.
    stamps : ndarray of int64, shape (k,)
        Stamps of the headers, ns.
    position, velocity, effort : ndarray, shape (k, n)
        nan where the messages have none.
    """

    names: tuple[str, ...]
    stamps: IntArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


def read_joint_states(messages: Sequence[bytes]) -> tuple[list[tuple[IntArray, Rows]], int]:
    """Read serialized messages.

    Parameters
    ----------
    messages : sequence of bytes
        As a recording holds them.

    Returns
    -------
    groups : list of (ndarray of int64, Rows)
        Indices of the messages of each layout, and what they say.
    damaged : int
        Number of messages that are no joint state.
    """
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
    """Where what stands in the messages of one kind."""

    names: tuple[str, ...]
    order: str
    arrays: tuple[tuple[int, int], ...]
    constant: BoolArray

    @classmethod
    def of(cls, message: bytes) -> _Layout | None:
        """Take a message apart; None where it is no joint state."""
        try:
            return cls._taken_apart(message)
        except (struct.error, UnicodeDecodeError):
            return None

    @classmethod
    def _taken_apart(cls, message: bytes) -> _Layout | None:
        if message[:2] not in (_LITTLE, _BIG):
            return None
        order = '<' if message[:2] == _LITTLE else '>'
        reader = _Reader(message, order)
        reader.place += 8
        reader.text()
        names = tuple(reader.text() for _ in range(reader.count(4)))
        arrays = []
        for _ in range(3):
            length = reader.count(8)
            place = reader.aligned(8) if length else reader.place
            arrays.append((place, length))
            reader.place = place + 8 * length
        if reader.place > len(message) or any(length not in (0, len(names))
                                              for _, length in arrays):
            return None
        constant = np.ones(len(message), dtype=bool)
        constant[_HEAD:_HEAD + 8] = False
        for place, length in arrays:
            constant[place:place + 8 * length] = False
        return cls(names, order, tuple(arrays), constant)

    def read(self, data: ByteArray) -> Rows:
        """Return the numbers of messages of this layout."""
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
    """A place in a message."""

    def __init__(self, message: bytes, order: str):
        self._message, self._order = message, order
        self.place = _HEAD

    def aligned(self, size: int) -> int:
        """Return the next place at a multiple of a size, counted behind the head."""
        return _HEAD + -(-(self.place - _HEAD) // size) * size

    def count(self, size: int) -> int:
        """Read the length of an array whose entries have at least so many bytes."""
        place = self.aligned(4)
        number, = struct.unpack_from(self._order + 'I', self._message, place)
        self.place = place + 4
        if number * size > len(self._message):
            raise struct.error('longer than the message')
        return int(number)

    def text(self) -> str:
        """Read a text with its closing zero."""
        length = self.count(1)
        end = self.place + length
        if length == 0 or end > len(self._message):
            raise struct.error('no text')
        text = self._message[self.place:end - 1].decode('utf-8')
        self.place = end
        return text
