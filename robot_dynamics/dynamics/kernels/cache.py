# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels are kept.

numba looks at a kernel's own file only when it decides whether what it cached is up to
date, while ours share helpers from several files. So each kernel's directory carries a
digest of all it may depend on: its own module, everything in this directory, numba, the
Python and the processor. (A kernel takes its helpers from those files only.)

The directory lies below NUMBA_CACHE_DIR where that is set, else in the user's cache
directory, never in the install space, which may be read-only.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import llvmlite.binding
import numba
import numba.core.config


@cache
def cache_directory(source: Path) -> Path:
    """Return the cache directory of the kernels in a source file; create it if need be."""
    state = _common_digest().copy()
    state.update(source.read_bytes())
    return _below(_base(), f'{source.stem}-{state.hexdigest()[:16]}')


@cache
def _common_digest() -> hashlib._Hash:
    """Digest of what every kernel depends on."""
    state = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob('*.py')):
        state.update(path.read_bytes())
    for part in (numba.__version__, llvmlite.binding.get_host_cpu_name(), sys.version):
        state.update(part.encode())
    return state


@cache
def _base() -> Path:
    """Return the first place that can be written; one for this process if there is none.

    A shared temporary directory is no such place: whoever can write there could have
    this process run his code.
    """
    places = [numba.core.config.CACHE_DIR, os.environ.get('XDG_CACHE_HOME')]
    home = os.environ.get('HOME')
    if home:
        places.append(str(Path(home) / '.cache'))
    for place in places:
        if place:
            try:
                directory = _below(Path(place), 'robot_dynamics')
                with tempfile.TemporaryFile(dir=directory):
                    return directory
            except OSError:
                continue
    directory = tempfile.mkdtemp(prefix='robot_dynamics-')
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


def _below(place: Path, name: str) -> Path:
    directory = place / name
    directory.mkdir(parents=True, exist_ok=True)
    return directory
