# SPDX-License-Identifier: Apache-2.0
"""A folder that nobody else can put a library into.

To load a library is to run it. So compiled kernels are kept only where no other user
could have written them: below directories that belong to this user or to root and that
others can at most add entries to (the sticky bit), in a folder that only this user writes.
Where the user's cache directory is no such place, a fresh one is made for this process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@cache
def library_folder() -> Path:
    """Return the folder of compiled kernels; create it if need be.

    It lies below ``XDG_CACHE_HOME`` or ``~/.cache``. Where neither can be trusted or
    written to, it is a new folder that is gone when the process ends.
    """
    for place in _places():
        folder = place / 'robot_dynamics' / 'native'
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        if is_private(folder):
            return folder.resolve()
    # mkdtemp makes it for this user alone.
    folder = Path(tempfile.mkdtemp(prefix='robot_dynamics-'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_private(folder: Path) -> bool:
    """Whether only this user and root decide what lies in a folder."""
    folder = folder.resolve()
    return _is_ours_alone(folder) and all(_is_safe_way(parent) for parent in folder.parents)


def is_trusted(library: Path) -> bool:
    """Whether a file is a regular one that only this user and root can have written."""
    try:
        found = library.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and _is_of_us(found) \
        and not found.st_mode & _OTHERS_WRITE


def _is_ours_alone(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and _is_of_us(found) and not found.st_mode & _OTHERS_WRITE


def _is_safe_way(folder: Path) -> bool:
    """Whether nobody else can exchange what a directory holds for something of his own."""
    found = folder.lstat()
    return _is_of_us(found) and (not found.st_mode & _OTHERS_WRITE
                                 or bool(found.st_mode & stat.S_ISVTX))


def _is_of_us(found: os.stat_result) -> bool:
    return found.st_uid in (0, os.geteuid())


def _places() -> Iterator[Path]:
    for place in (os.environ.get('XDG_CACHE_HOME'),
                  os.environ.get('HOME') and str(Path(os.environ['HOME']) / '.cache')):
        if place and Path(place).is_absolute():
            yield Path(place)
