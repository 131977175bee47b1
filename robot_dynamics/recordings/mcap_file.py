# SPDX-License-Identifier: Apache-2.0
"""An MCAP file, read record by record, even if its end is missing.

A recorder that was killed leaves a file without end and index, but with all messages.
So neither is needed here. Every length is compared with the rest of the file, and every
chunk with its limit, before anything is read. All chunks together are limited as well: a
file of megabytes may otherwise stand for days of reading.

The format: Foxglove, "MCAP file format specification", version 0.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

from robot_dynamics.errors import RecordingError, install_line

#: Largest content of a chunk, and largest record, in bytes; writers make chunks of a
#: megabyte or so.
MAX_CHUNK = MAX_RECORD = 64 * 2**20

_MAGIC = b'\x89MCAP0\r\n'
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 3, 4, 5, 6, 15
_TOPICS = (_SCHEMA, _CHANNEL)
# Not records: the file ended within a chunk, and without an end record.
_CUT_CHUNK, _END = -2, -1
_RECORD = struct.Struct('<BQ')
_MESSAGE_HEAD = struct.Struct('<HIQQ')
_CHUNK_HEAD = struct.Struct('<QQQI')
_TWO_NUMBERS = struct.Struct('<HH')
_REMEDY = 'record it again'

#: Bytes that all compressed chunks of a recording may have: a part for any recording, and a
#: part for each of its bytes. States of an arm at rest are compressed to a tenth or so.
MAX_UNPACKED, MOST_FROM_A_BYTE = 2**30, 100
#: A record takes as long to skip as so many bytes to decompress.
_RECORD_COST = 256

Record = tuple[int, bytes]
Report = Callable[[RecordingError], None]


class Budget:
    """Bytes that the compressed chunks of a recording may still have.

    ``size`` is that of its files.
    """

    def __init__(self, path: Path, size: int):
        self._path, self._limit = path, MAX_UNPACKED + MOST_FROM_A_BYTE * size
        self._left = self._limit

    @property
    def is_spent(self) -> bool:
        """Whether more was taken than there is."""
        return self._left < 0

    def take(self, amount: int) -> None:
        """Count decompressed bytes; raises a `RecordingError` if there are too many."""
        self._left -= amount
        if self.is_spent:
            raise RecordingError('is much larger decompressed than recordings of its size: more '
                                 f'than {self._limit // 2**20} MiB', subject=str(self._path),
                                 remedy='if that is right, convert it to a recording without '
                                        'compression, or with joint states and commands only: '
                                        'ros2 bag convert')


class McapFile:
    """The topics and messages of an MCAP file, a regular file.

    ``report`` is called with each part that is damaged or missing, which is then left out.
    ``budget`` is that of the recording, of this file alone by default.
    """

    def __init__(self, path: Path, report: Report | None = None, budget: Budget | None = None):
        self._path, self._report = path, report
        #: None from the second time on: the file is the same.
        self._budget: Budget | None = \
            Budget(path, path.stat().st_size) if budget is None else budget

    def topics(self) -> dict[str, str]:
        """Type of each topic, ``package/msg/Name``; a `RecordingError` for a damaged file."""
        channels: dict[int, tuple[str, str]] = {}
        schemas: dict[int, str] = {}
        # Damage is reported once, with the messages.
        quiet = None if self._report is None else _ignore
        for code, body in self._records(_TOPICS, quiet):
            self._add_topic(code, body, schemas, channels)
        self._budget = None
        return dict(channels.values())

    def messages(self, wanted: Container[str]) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time (ns) and bytes of the messages of some topics, as written.

        Raises a `RecordingError` for a damaged file.
        """
        channels: dict[int, tuple[str, str]] = {}
        schemas: dict[int, str] = {}
        for code, body in self._records((*_TOPICS, _MESSAGE), self._report):
            if code != _MESSAGE:
                self._add_topic(code, body, schemas, channels)
            elif len(body) >= _MESSAGE_HEAD.size:
                channel, _, time, _ = _MESSAGE_HEAD.unpack_from(body)
                topic, _ = channels.get(channel, ('', ''))
                if topic in wanted:
                    yield topic, time, body[_MESSAGE_HEAD.size:]

    def _add_topic(self, code: int, body: bytes, schemas: dict[int, str],
               channels: dict[int, tuple[str, str]]) -> None:
        """Store a schema or a channel."""
        try:
            if code == _SCHEMA:
                number, = struct.unpack_from('<H', body)
                schemas[number] = _text(body, 2)[0]
            else:
                number, schema = _TWO_NUMBERS.unpack_from(body)
                channels[number] = _text(body, _TWO_NUMBERS.size)[0], schemas.get(schema, '')
        except (struct.error, UnicodeDecodeError) as error:
            raise self._damaged('a topic is damaged') from error

    def _records(self, wanted: Container[int], report: Report | None) -> Iterator[Record]:
        """Yield the records of some kinds, also those in chunks, up to the end of the data."""
        size = self._path.stat().st_size
        with self._path.open('rb') as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise self._damaged('it does not begin as an MCAP file')
            for code, length in _heads(stream, size):
                if code == _END and report is not None:
                    report(self._damaged(f'it is truncated after {size} bytes: its recorder '
                                         'was stopped, or the copy is incomplete'))
                if code == _CUT_CHUNK:
                    yield from self._start_of_chunk(stream.read(min(length, MAX_RECORD)), wanted)
                if code == _CHUNK or code in wanted:
                    if length > MAX_RECORD:
                        raise self._damaged(f'a record has {length} bytes')
                    body = stream.read(length)
                    yield from self._chunk(body, wanted, report) if code == _CHUNK \
                        else ((code, body),)

    def _chunk(self, body: bytes, wanted: Container[int], report: Report | None
               ) -> Iterator[Record]:
        """Yield the records of a chunk; a damaged one is reported and skipped, or an error."""
        try:
            yield from self._unpacked(body, wanted)
        except RecordingError as error:
            if report is None or (self._budget is not None and self._budget.is_spent):
                raise
            report(error)

    def _unpacked(self, body: bytes, wanted: Container[int]) -> Iterator[Record]:
        """Yield the records of some kinds in a chunk."""
        try:
            _, _, size, checksum = _CHUNK_HEAD.unpack_from(body)
            compression, place = _text(body, _CHUNK_HEAD.size)
            length, = struct.unpack_from('<Q', body, place)
        except (struct.error, UnicodeDecodeError) as error:
            raise self._damaged('a chunk is damaged') from error
        data = body[place + 8:place + 8 + length]
        if size > MAX_CHUNK:
            raise self._damaged(f'a chunk has {size} bytes, more than {MAX_CHUNK}')
        budget = self._budget if compression else None
        if budget is not None:
            budget.take(size)
        content = self._decompressed(data, compression, size)
        if len(content) != size or (checksum and crc32(content) != checksum):
            raise self._damaged('a chunk differs from its checksum')
        place = count = 0
        while place + _RECORD.size <= size:
            count += 1
            code, length = _RECORD.unpack_from(content, place)
            place += _RECORD.size
            if place + length > size:
                raise self._damaged('a chunk ends within a record')
            if code in wanted:
                yield code, content[place:place + length]
            place += length
        if budget is not None:
            budget.take(_RECORD_COST * count)

    def _start_of_chunk(self, body: bytes, wanted: Container[int]) -> Iterator[Record]:
        """Yield complete records at the start of a chunk without its end.

        A compressed chunk is decompressed as far as it goes.
        """
        try:
            _, _, size, _ = _CHUNK_HEAD.unpack_from(body)
            compression, place = _text(body, _CHUNK_HEAD.size)
            content = self._decompressed(body[place + 8:], compression, min(size, MAX_CHUNK))
        except (struct.error, UnicodeDecodeError, RecordingError):
            return
        if self._budget is not None and compression:
            self._budget.take(len(content))
        place = 0
        while place + _RECORD.size <= len(content):
            code, length = _RECORD.unpack_from(content, place)
            place += _RECORD.size + length
            if code in wanted and place <= len(content):
                yield code, content[place - length:place]

    def _decompressed(self, data: bytes, compression: str, size: int) -> bytes:
        """Content of a chunk, at most ``size`` bytes of it."""
        if not compression:
            return data
        if compression not in ('lz4', 'zstd'):
            raise RecordingError(f'has the unknown compression {compression}',
                                 subject=str(self._path),
                                 remedy='record it without compression, or by lz4 or zstd')
        try:
            return decompressed(data, compression, size)
        except RecordingError:
            raise
        # Each library has its own exceptions.
        except Exception as error:
            raise self._damaged(f'a chunk cannot be decompressed: {error}') from error

    def _damaged(self, how: str) -> RecordingError:
        return RecordingError(f'cannot be read: {how}', subject=str(self._path), remedy=_REMEDY)


def decompressed(data: bytes, compression: str, most: int) -> bytes:
    """Content of data compressed by ``'lz4'`` or ``'zstd'``, at most ``most`` bytes of it.

    Raises a `RecordingError` if the library is missing; damaged data raise its exceptions.
    """
    if most == 0:
        return b''
    return bytes(_decompressor(compression).decompress(data, max_length=most))


def _decompressor(compression: str) -> Any:
    """An incremental decompressor."""
    try:
        if compression == 'lz4':
            from lz4.frame import LZ4FrameDecompressor
            return LZ4FrameDecompressor()
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor
        else:
            from backports.zstd import ZstdDecompressor
        return ZstdDecompressor()
    except ImportError as error:
        raise RecordingError('is needed for compressed recordings, but is not installed',
                             subject='the Python package rosbags',
                             remedy=install_line('rosbags')) from error


def _heads(stream: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """Yield code and length of each record; `_END` without a complete end record.

    For an incomplete last chunk, `_CUT_CHUNK` with its remaining length comes before `_END`.
    """
    place = stream.tell()
    while place + _RECORD.size <= size:
        stream.seek(place)
        code, length = _RECORD.unpack(stream.read(_RECORD.size))
        place += _RECORD.size + length
        if code == _DATA_END:
            return
        # No record is of kind 0: these are zeros that a crash has left at the end.
        if code == 0:
            break
        if place > size:
            if code == _CHUNK:
                yield _CUT_CHUNK, size - place + length
            break
        yield code, length
    yield _END, 0


def _ignore(error: RecordingError) -> None:
    """Drop a report."""


def _text(body: bytes, place: int) -> tuple[str, int]:
    """A text within a record, and the place after it."""
    length, = struct.unpack_from('<I', body, place)
    end = place + 4 + length
    if end > len(body):
        raise struct.error('a text is longer than its record')
    return body[place + 4:end].decode('utf-8'), end
