# SPDX-License-Identifier: Apache-2.0
"""Files of a report: written into the folder chosen, and nowhere else."""

from __future__ import annotations

import secrets
from pathlib import Path

from robot_dynamics.errors import RecordingError


def write_file(folder: Path, name: str, content: bytes) -> Path:
    """Write a file of a report, and return its path.

    It is written under another name and then renamed, so that nobody ever sees half of
    it, and so that a link that somebody has put there is replaced, not followed.

    Parameters
    ----------
    folder : Path
        Where to write; made when missing.
    name : str
        Name of the file.
    content : bytes
        What to write.

    Raises
    ------
    RecordingError
        When that cannot be.
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
