# SPDX-License-Identifier: Apache-2.0
"""The valid inputs that mutations start from: those of this repository, or of any folder."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
#: Variable with further folders of seeds, separated by colons.
FOLDERS_VARIABLE = 'ROBOT_DYNAMICS_FUZZ_SEEDS'
#: Larger files take too long to be mutated thousands of times.
_LARGEST = 60_000


@cache
def descriptions() -> tuple[bytes, ...]:
    """Return URDF files."""
    return _contents(('urdf', 'test/cases'), ('.urdf',))


@cache
def dh_tables() -> tuple[bytes, ...]:
    """Return DH tables in YAML and JSON."""
    return tuple(content for content in _contents(('urdf', 'test/cases'), ('.yaml', '.json'))
                 if b'convention' in content and b'alpha' in content)


@cache
def parameter_files() -> tuple[bytes, ...]:
    """Return ROS 2 parameter files."""
    return tuple(content for content in _contents(('config', 'test/cases'), ('.yaml',))
                 if b'ros__parameters' in content)


@cache
def parsed(content: bytes) -> Any:
    """Content of a seed in YAML, not to be changed."""
    return yaml.safe_load(content)


def _contents(folders: tuple[str, ...], suffixes: tuple[str, ...]) -> tuple[bytes, ...]:
    """Return the files below some folders of the repository, and of those named outside."""
    further = os.environ.get(FOLDERS_VARIABLE, '')
    roots = [REPOSITORY / folder for folder in folders]
    roots += [Path(folder) for folder in further.split(os.pathsep) if folder]
    files = [path for root in roots for path in sorted(root.rglob('*'))
             if path.suffix in suffixes and path.is_file() and path.stat().st_size <= _LARGEST]
    return tuple(path.read_bytes() for path in files)
