# SPDX-License-Identifier: Apache-2.0
"""From a path, text or bytes to the text of a robot description."""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass
from pathlib import Path

from robot_dynamics.errors import ModelError

#: Largest description read, in bytes. Descriptions of whole humanoids stay below 2 MB.
MAX_BYTES = 5 * 2**20

# Text given in place of a path must not fill the message.
_LONGEST_LABEL = 200

# Longer marks first: the mark of UTF-16 LE begins that of UTF-32 LE.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, 'utf-8'),
    (codecs.BOM_UTF32_LE, 'utf-32-le'),
    (codecs.BOM_UTF32_BE, 'utf-32-be'),
    (codecs.BOM_UTF16_LE, 'utf-16-le'),
    (codecs.BOM_UTF16_BE, 'utf-16-be'),
)
_DECLARED_ENCODING = re.compile(
    rb'^\s*<\?xml[^>]*?\sencoding\s*=\s*["\']([A-Za-z][A-Za-z0-9._-]*)["\']')
# Text encodings that documents are written in. Python knows others (punycode,
# unicode_escape) that no document uses and that take quadratic time.
_ENCODING_FAMILIES = ('ascii', 'big5', 'cp', 'euc', 'gb', 'iso8859', 'iso2022', 'koi8', 'mac',
                      'shift_jis', 'tis', 'utf-8', 'utf-16', 'utf-32')


@dataclass(frozen=True)
class SourceText:
    """A description as text.

    Parameters
    ----------
    text : str
        The decoded text, without byte order mark.
    label : str
        How messages call the source: its path, or what kind of text it is.
    path : Path, optional
        The file it came from, where it came from one.
    """

    text: str
    label: str
    path: Path | None = None


def read_source(source: str | bytes | os.PathLike[str]) -> SourceText:
    """Return the text of a description given as a path, as text or as bytes.

    A string that holds a ``<`` is taken for the description itself, any other
    for a path. Bytes are decoded by their byte order mark, else by the XML
    declaration, else as UTF-8; the locale never matters.

    Parameters
    ----------
    source : str, bytes or path
        The description or where it lies.

    Returns
    -------
    SourceText
        The text.

    Raises
    ------
    ModelError
        If there is nothing, too much, or nothing that can be decoded.
    """
    if isinstance(source, str) and ('<' in source or not source.strip()):
        return _from_text(source)
    if isinstance(source, (bytes, bytearray)):
        return SourceText(_decode(bytes(source), 'robot description'), 'robot description')
    if isinstance(source, (str, os.PathLike)):
        return _from_file(os.fsdecode(source))
    raise ModelError(f'is a {type(source).__name__}', subject='robot description',
                     remedy='give a path, a text or bytes')


def _from_text(text: str) -> SourceText:
    label = 'robot description'
    if len(text) > MAX_BYTES:
        raise _too_large(label)
    if not text.strip():
        raise _empty(label)
    return SourceText(text.lstrip('\ufeff'), label)


def _from_file(path: str) -> SourceText:
    label = path if len(path) <= _LONGEST_LABEL else f'{path[:_LONGEST_LABEL]}...'
    try:
        file = Path(path).expanduser()
        if not file.exists():
            raise ModelError('no such file', subject=label,
                             remedy='check the path; a description given as text has to '
                                    'contain its <robot> element')
        if not file.is_file():
            raise ModelError('is not a regular file', subject=label,
                             remedy='give the URDF or xacro file itself')
        with file.open('rb') as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, 'strerror', None) or type(error).__name__
        raise ModelError(f'cannot be read ({reason})', subject=label,
                         remedy='check the path and its permissions') from error
    return SourceText(_decode(content, label), label, file)


def _decode(content: bytes, label: str) -> str:
    if len(content) > MAX_BYTES:
        raise _too_large(label)
    if not content.strip():
        raise _empty(label)
    mark, encoding = _encoding_of(content, label)
    try:
        return content[len(mark):].decode(encoding)
    except UnicodeDecodeError as error:
        raise ModelError(f'is not valid {encoding} text (byte {error.start + len(mark)})',
                         subject=label,
                         remedy='save it as UTF-8, or name its encoding in the XML '
                                'declaration') from error


def _encoding_of(content: bytes, label: str) -> tuple[bytes, str]:
    """Return the byte order mark and the name of the encoding."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return mark, encoding
    if content.startswith(b'<\x00'):
        return b'', 'utf-16-le'
    if content.startswith(b'\x00<'):
        return b'', 'utf-16-be'
    declared = _DECLARED_ENCODING.match(content[:1024])
    if declared is None:
        return b'', 'utf-8'
    name = declared.group(1).decode('ascii')
    try:
        known = codecs.lookup(name).name
    except LookupError:
        known = ''
    if not known.startswith(_ENCODING_FAMILIES):
        raise ModelError(f'declares the unknown encoding {name!r}', subject=label,
                         remedy='save it as UTF-8')
    # Bytes that could be read this far are not UTF-16, whatever they claim.
    return b'', 'utf-8' if known.startswith(('utf-16', 'utf-32')) else known


def _too_large(label: str) -> ModelError:
    return ModelError(f'is larger than {MAX_BYTES // 2**20} MiB', subject=label,
                      remedy='give a URDF that refers to its meshes by file name')


def _empty(label: str) -> ModelError:
    return ModelError('is empty', subject=label,
                      remedy='check that robot_description was published, and that the file '
                             'was written to its end')
