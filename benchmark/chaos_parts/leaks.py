# SPDX-License-Identifier: Apache-2.0
"""Finds what is left of a run: all its processes, and their children, carry its mark."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path

#: In the environment of every process, so that none can be overlooked at the end.
_MARK = 'ROBOT_DYNAMICS_CHAOS'


def marked_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return an environment that tells the processes of one run from all others, and its mark."""
    mark = uuid.uuid4().hex
    return {**environment, _MARK: mark}, mark


def processes_with(mark: str) -> list[int]:
    """Return the ids of all processes on this machine with that mark, but for this one."""
    wanted, found = f'{_MARK}={mark}'.encode(), []
    for folder in Path('/proc').iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            environment = (folder / 'environ').read_bytes()
        except OSError:  # ended meanwhile, or not ours
            continue
        if wanted in environment.split(b'\0'):
            found.append(int(folder.name))
    return found
