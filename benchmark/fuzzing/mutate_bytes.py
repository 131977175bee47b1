# SPDX-License-Identifier: Apache-2.0
"""Mutations of bytes: what a bad disk, cable or editor makes of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

Mutator = Callable[[bytes, Random], bytes]

#: Integers at which counts and lengths break.
_INTEGERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
             0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
_SNIPPETS = (
    b'\x00', b'\xff', b'\xfe\xff', b'\xff\xfe', b'\xef\xbb\xbf', b'\xc3\x28', b'\xed\xa0\x80',
    b'<', b'>', b'&', b'"', b"'", b'<!--', b']]>', b'<![CDATA[', b'<?xml ', b'{', b'[', b'---\n',
    b': ', b'&a ', b'*a', b'!!python/object/apply:os.system [id]', b'<<: *a\n', b'\n', b'\r',
    b'\t', b'\x1b[2J')


def mutate(content: bytes, random: Random, most: int = 4) -> bytes:
    """Return bytes with some mutations."""
    for _ in range(random.randint(1, most)):
        content = random.choice(MUTATORS)(content, random)
    return content


def flip_bits(content: bytes, random: Random) -> bytes:
    """Flip some bits."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8, 64)) if changed else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def truncate(content: bytes, random: Random) -> bytes:
    """Cut off the end, or the beginning."""
    place = random.randint(0, len(content))
    return content[:place] if random.random() < 0.8 else content[place:]


def remove(content: bytes, random: Random) -> bytes:
    """Take out a stretch."""
    begin, end = _stretch(content, random)
    return content[:begin] + content[end:]


def repeat(content: bytes, random: Random) -> bytes:
    """Repeat a stretch."""
    begin, end = _stretch(content, random)
    times = random.choice((1, 2, 10, 100))
    return content[:end] + content[begin:end] * times + content[end:]


def move(content: bytes, random: Random) -> bytes:
    """Copy a stretch to somewhere else."""
    begin, end = _stretch(content, random)
    place = random.randint(0, len(content))
    return content[:place] + content[begin:end] + content[place:]


def insert(content: bytes, random: Random) -> bytes:
    """Insert what means something in some format."""
    place = random.randint(0, len(content))
    return content[:place] + random.choice(_SNIPPETS) + content[place:]


def garbage(content: bytes, random: Random) -> bytes:
    """Overwrite a stretch with random bytes."""
    begin, end = _stretch(content, random)
    return content[:begin] + random.randbytes(end - begin) + content[end:]


def zero(content: bytes, random: Random) -> bytes:
    """Overwrite a stretch with zeros, as a file system does after a power cut."""
    begin, end = _stretch(content, random)
    return content[:begin] + bytes(end - begin) + content[end:]


def integer(content: bytes, random: Random) -> bytes:
    """Overwrite some bytes with an integer of a critical size."""
    width = random.choice((1, 2, 4, 8))
    raw = (random.choice(_INTEGERS) & (1 << 8 * width) - 1).to_bytes(
        width, random.choice(('little', 'big')))
    place = random.randint(0, len(content))
    return content[:place] + raw + content[place + width:]


def _stretch(content: bytes, random: Random) -> tuple[int, int]:
    """Return where a stretch begins and ends, mostly a short one."""
    begin = random.randint(0, len(content))
    length = int(len(content) ** random.random()) if content else 0
    return begin, min(begin + length, len(content))


MUTATORS: Sequence[Mutator] = (flip_bits, flip_bits, truncate, remove, repeat, move, insert,
                               garbage, zero, integer)
