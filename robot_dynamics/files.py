# SPDX-License-Identifier: Apache-2.0
"""Writing of files: completely or not at all, and never over a file of the user.

Each folder with a file of this package has a list of them, `MARKS`: names, and a fingerprint of
what was written. A file is replaced or removed only if the list names it and its fingerprint is
unchanged. A file that the user made, replaced or edited is in the way, which is an error.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robot_dynamics.errors import FileError

#: Name of the list, and its first entry.
MARKS = '.robot-dynamics.json'
_NOTE = 'robot_dynamics wrote these files and may replace them, unless they are changed'
#: Fingerprint of a file that a process is still writing, or was when it was killed.
_OPEN = 'open'
#: A fingerprint depends on so many bytes at both ends: a recording may be large.
_END = 2**20
_REMEDY = 'move it away, or name another place'


def write_files(folder: str | Path, files: Mapping[str, bytes], *, others: Iterable[str] = ()
                ) -> None:
    """Write files into a folder, or none of them where one of the user is in the way.

    Parameters
    ----------
    folder : str or Path
        Where to write; made when missing.
    files : mapping of str to bytes
        Contents by name.
    others : iterable of str
        Names of further files of the same command. Those of an earlier run are removed.

    Raises
    ------
    FileError
        When a file cannot be written, or the user's is in its place.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from robot_dynamics.report import write_files
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_files(folder, {'a.txt': b'first'})
    >>> write_files(folder, {'a.txt': b'second'})
    >>> (folder / 'a.txt').write_bytes(b'edited by hand')
    14
    >>> write_files(folder, {'a.txt': b'third'})
    Traceback (most recent call last):
    ...
    robot_dynamics.errors.FileError: .../a.txt was changed after robot_dynamics wrote it; ...
    """
    folder = Path(folder)
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder, files, others)


def write_file(path: str | Path, content: str) -> None:
    """Write a file of text into a folder that exists; raises a `FileError` as `write_files`."""
    path = Path(path)
    with _writing(path):
        _write(path.parent, {path.name: content.encode()}, ())


def require_replaceable(folder: str | Path, names: Iterable[str]) -> None:
    """Raise a `FileError` where a file of the user has one of the names, or none can be written.

    For commands that compute for a while before they write.
    """
    folder = Path(folder)
    with _writing(folder):
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not there.is_dir():
            raise FileError('must be a folder, got a file', subject=str(there), remedy=_REMEDY)
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        marks = _read_marks(folder)
        for name in names:
            _require_replaceable(folder / name, marks.get(name))


def require_own_folder(folder: str | Path) -> None:
    """Raise a `FileError` where a folder has anything that this package did not write."""
    with _writing(Path(folder)):
        _own_files(Path(folder))


def remove_own_folder(folder: Path) -> None:
    """Remove a folder of nothing but files of this package; raises a `FileError` for others.

    Only files that were checked are removed, one by one: files that appear meanwhile stay.
    """
    with _writing(folder):
        for path in _own_files(folder):
            path.unlink()
        if folder.exists():
            (folder / MARKS).unlink(missing_ok=True)
            folder.rmdir()


def mark_open(folder: Path, names: Iterable[str]) -> None:
    """Mark files of a folder that another library writes, until `mark_written`."""
    _add_marks(folder, dict.fromkeys(names, _OPEN))


def mark_written(folder: Path) -> None:
    """Mark the open files of a folder as they are now."""
    _add_marks(folder, {name: _fingerprint(folder / name)
                        for name, mark in _read_marks(folder).items()
                        if mark == _OPEN and (folder / name).is_file()})


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into one of this package."""
    try:
        yield
    # ValueError: a path with a null character.
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise FileError(f'cannot be written ({reason})', subject=str(path),
                          remedy='name a place in a folder where you can write') from error


def _write(folder: Path, files: Mapping[str, bytes], others: Iterable[str]) -> None:
    stale = set(others) - set(files)
    require_replaceable(folder, [*files, *stale])
    for name, content in files.items():
        _replace(folder / name, content)
    for name in stale:
        (folder / name).unlink(missing_ok=True)
    _add_marks(folder, {name: _fingerprint(folder / name) for name in files})


def _replace(path: Path, content: bytes) -> None:
    """Write a file under another name and rename it: no reader sees half of it."""
    temporary = path.with_name(f'.{path.name}-{secrets.token_hex(8)}')
    with temporary.open('xb') as stream:
        try:
            stream.write(content)
            stream.flush()
            temporary.replace(path)
        except BaseException:
            temporary.unlink()
            raise


def _require_replaceable(path: Path, mark: str | None) -> None:
    """Raise a `FileError` for a file that differs from its mark."""
    if not path.is_symlink() and not path.exists():
        return
    if mark is None or path.is_symlink() or not path.is_file():
        raise FileError('was not written by robot_dynamics and would be replaced or removed',
                          subject=str(path), remedy=_REMEDY)
    if mark not in (_OPEN, _fingerprint(path)):
        raise FileError('was changed after robot_dynamics wrote it', subject=str(path),
                          remedy=_REMEDY)


def _own_files(folder: Path) -> list[Path]:
    """Files of a folder, all of this package; those of the user are a `FileError`."""
    if folder.is_symlink():
        raise FileError('must be a folder, got a symbolic link', subject=str(folder),
                          remedy='name the folder itself')
    if folder.exists() and not folder.is_dir():
        raise FileError('must be a folder, got a file', subject=str(folder), remedy=_REMEDY)
    marks = _read_marks(folder)
    files = [path for path in folder.iterdir() if path.name != MARKS] if folder.exists() else []
    for path in sorted(files):
        _require_replaceable(path, marks.get(path.name))
    return files


def _read_marks(folder: Path) -> dict[str, str]:
    """Fingerprints by name; none without a list."""
    path = folder / MARKS
    if not path.is_symlink() and not path.exists():
        return {}
    try:
        # Reading a pipe would block for ever.
        content = json.loads(path.read_text(encoding='utf-8') if path.is_file() else '')
        return {str(name): str(mark) for name, mark in content[_NOTE].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileError('is not a list of files of robot_dynamics', subject=str(path),
                          remedy=_REMEDY) from error


def _add_marks(folder: Path, marks: Mapping[str, str]) -> None:
    """Write fingerprints, also those of before as far as their files exist."""
    kept = {name: mark for name, mark in {**_read_marks(folder), **marks}.items()
            if name in marks or (folder / name).exists()}
    _replace(folder / MARKS, (json.dumps({_NOTE: kept}, indent=1) + '\n').encode())


def _fingerprint(path: Path) -> str:
    """Size, and a digest of both ends."""
    size = path.stat().st_size
    with path.open('rb') as stream:
        content = stream.read(_END)
        stream.seek(max(len(content), size - _END))
        content += stream.read(_END)
    return f'{size} {hashlib.sha256(content).hexdigest()}'
