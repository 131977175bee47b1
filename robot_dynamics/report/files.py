# SPDX-License-Identifier: Apache-2.0
"""Writing of files: completely or not at all, and only inside the folder."""

from __future__ import annotations

import secrets
from pathlib import Path

from robot_dynamics.errors import RecordingError


def write_file(folder: Path, name: str, content: bytes) -> Path:
    """Write a file of a report, and return its path.

    It is written under another name and then renamed: a reader never sees half of it, and a
    link of that name is replaced, not followed.

    Parameters
    ----------
    folder : Path
        Where to write; made when missing.
    name : str
        Name of the file.
    content : bytes
        Its content.

    Raises
    ------
    RecordingError
        When the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from robot_dynamics.report import write_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / 'new', 'a.txt', b'text').read_bytes()
    b'text'
    """
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f'.{name}-{secrets.token_hex(8)}'
        with temporary.open('xb') as stream:
            try:
                stream.write(content)
                stream.flush()
                temporary.replace(path)
            except BaseException:
                temporary.unlink()
                raise
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise RecordingError(f'cannot be written ({reason})', subject=str(path),
                             remedy='give another folder for the report') from error
    return path
