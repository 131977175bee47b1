# SPDX-License-Identifier: Apache-2.0
"""A plain MCAP file, without chunks and index, or with a chunk that is too large.

The format: Foxglove, "MCAP file format specification".
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from typing import Any

from lz4.frame import LZ4FrameCompressor

# What rosbags uses, too.
if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MAGIC = b'\x89MCAP0\r\n'
_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 1, 2, 3, 4, 5, 6, 15
#: Bytes compressed at a time.
_PART = 2**22


def content(messages: Sequence[tuple[str, str, int, bytes]]) -> bytes:
    """Return the file of messages, given by topics, types, times and bytes."""
    records = [_MAGIC, _record(_HEADER, _text('ros2') + _text('fuzz'))]
    channels: dict[tuple[str, str], int] = {}
    for topic, kind, received, data in messages:
        if (topic, kind) not in channels:
            number = channels[topic, kind] = len(channels) + 1
            records += _announcement(number, topic, kind)
        head = struct.pack('<HIQQ', channels[topic, kind], 0, received, received)
        records.append(_record(_MESSAGE, head + data))
    records += [_record(_DATA_END, bytes(4)), _record(_FOOTER, bytes(20)), _MAGIC]
    return b''.join(records)


def bomb(compression: str, size: int, claimed: int) -> bytes:
    """Return a file of some kilobytes with a chunk of so many bytes.

    Parameters
    ----------
    compression : str
        ``'zstd'`` or ``'lz4'``.
    size : int
        What is in the chunk, in bytes: zeros.
    claimed : int
        What the chunk says it holds.
    """
    compressor: Any = zstd.ZstdCompressor() if compression == 'zstd' else LZ4FrameCompressor()
    parts = [] if compression == 'zstd' else [compressor.begin()]
    parts += [compressor.compress(bytes(_PART)) for _ in range(size // _PART)]
    data = b''.join([*parts, compressor.flush()])
    chunk = struct.pack('<QQQI', 0, 1, claimed, 0) + _text(compression) \
        + struct.pack('<Q', len(data)) + data
    records = (_record(_HEADER, _text('ros2') + _text('fuzz')), _record(_CHUNK, chunk),
               _record(_DATA_END, bytes(4)), _record(_FOOTER, bytes(20)))
    return b''.join((_MAGIC, *records, _MAGIC))


def _announcement(number: int, topic: str, kind: str) -> list[bytes]:
    """Return schema and channel of a topic."""
    schema = struct.pack('<H', number) + _text(kind) + _text('ros2msg') + _text('')
    channel = struct.pack('<HH', number, number) + _text(topic) + _text('cdr') + bytes(4)
    return [_record(_SCHEMA, schema), _record(_CHANNEL, channel)]


def _record(code: int, body: bytes) -> bytes:
    return struct.pack('<BQ', code, len(body)) + body


def _text(text: str) -> bytes:
    raw = text.encode('utf-8', 'replace')
    return struct.pack('<I', len(raw)) + raw
