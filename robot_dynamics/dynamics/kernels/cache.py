# SPDX-License-Identifier: Apache-2.0
"""Cache of compiled kernels on disk, addressed by content.

The name of the directory contains a digest of the kernel's module, of all modules here (the only
ones with helpers of kernels), of numba, Python and the processor. Unlike in numba, path and date
of the source are not used: another checkout or an installed copy of the same code finds the same
kernels.

The cache is below NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache, whichever can be written first, or
else in a private temporary directory. It is never in the install space, which may be read-only.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numba.core.config
from numba.core.caching import FunctionCache, IndexDataCacheFile


@cache
def cache_directory(source: Path) -> Path:
    """Cache directory of the kernels in a source file, created if need be."""
    state = _common_digest().copy()
    state.update(source.read_bytes())
    return _below(cache_base(), f'{source.stem}-{state.hexdigest()[:16]}')


def cache_of(function: Callable[..., Any], directory: Path) -> FunctionCache:
    """Numba's cache of a function, in a directory named by its content."""
    theirs = numba.core.config.CACHE_DIR
    numba.core.config.CACHE_DIR = str(directory)
    try:
        cached = FunctionCache(function)
    finally:
        numba.core.config.CACHE_DIR = theirs
    # numba would use path and date of the source.
    cached._cache_path = str(directory)
    cached._cache_file = IndexDataCacheFile(
        str(directory), f'{function.__qualname__}.py{sys.version_info[0]}{sys.version_info[1]}',
        'found by content')
    cached._impl.locator.ensure_cache_path = lambda: directory.mkdir(parents=True, exist_ok=True)
    return cached


def is_kept() -> str:
    """Location of the cache, as part of a sentence for the user."""
    return f'kept in {cache_base()}' if outlives_process() else \
        'not kept, because no cache directory can be written: set XDG_CACHE_HOME'


def outlives_process() -> bool:
    """Whether the next process finds the kernels compiled now."""
    return cache_base() not in _THROWN_AWAY


@cache
def cache_base() -> Path:
    """Directory of all caches of this package."""
    home = os.environ.get('HOME')
    places = [numba.core.config.CACHE_DIR, os.environ.get('XDG_CACHE_HOME'),
              home and str(Path(home) / '.cache')]
    for place in places:
        if place and (place == numba.core.config.CACHE_DIR or Path(place).is_absolute()):
            try:
                directory = _below(Path(place), 'robot_dynamics')
                with tempfile.TemporaryFile(dir=directory):
                    return directory
            except OSError:
                continue
    return _private_temporary()


_THROWN_AWAY: set[Path] = set()


def _private_temporary() -> Path:
    """Private temporary directory of this user; persistent if that is safe.

    Loading a kernel executes it, so a directory that another user owns or can write is not used.
    """
    place = Path(tempfile.gettempdir()) / f'robot_dynamics-{os.getuid()}'
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
        if (stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
                and not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)):
            with tempfile.TemporaryFile(dir=place):
                return place
    except OSError:
        pass
    place = Path(tempfile.mkdtemp(prefix='robot_dynamics-'))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    _THROWN_AWAY.add(place)
    return place


@cache
def _common_digest() -> hashlib._Hash:
    """Digest of everything that all kernels depend on."""
    state = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob('*.py')):
        state.update(path.read_bytes())
    for part in (numba.__version__, llvmlite.binding.get_host_cpu_name(), sys.version):
        state.update(part.encode())
    return state


def _below(place: Path, name: str) -> Path:
    directory = place / name
    directory.mkdir(parents=True, exist_ok=True)
    return directory
