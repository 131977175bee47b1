# SPDX-License-Identifier: Apache-2.0
"""The files that come with this package: its robots by name, and where to look for others."""

from __future__ import annotations

import contextlib
import difflib
import os
import site
import sys
from collections.abc import Iterator
from pathlib import Path

from robot_dynamics.errors import ModelError

_PACKAGE = 'robot_dynamics'
_SUFFIXES = ('.urdf', '.yaml')


def shipped_robots() -> dict[str, Path]:
    """Return every robot description that comes with the package.

    Returns
    -------
    dict of str to Path
        URDF files by their stem (``'arm7'``), DH tables by their file name
        (``'puma560.yaml'``), in alphabetical order.

    Raises
    ------
    ModelError
        When the descriptions are not where an installation or a checkout has them.
    """
    folders = list(candidate_folders('urdf'))
    for folder in folders:
        files = sorted(path for path in folder.glob('*') if path.suffix in _SUFFIXES)
        if files:
            return {path.stem if path.suffix == '.urdf' else path.name: path for path in files}
    raise ModelError('the robot descriptions of this package are not installed',
                     subject='urdf', remedy='install the package again; looked in '
                                            + ', '.join(str(folder) for folder in folders))


def resolve_robot(name_or_path: str | Path) -> Path:
    """Return the file that a user means by ``--robot``.

    Parameters
    ----------
    name_or_path : str or Path
        Path of a file, or the name of a shipped robot with or without its
        ``.urdf``. A file that exists wins over a shipped robot of that name.

    Raises
    ------
    ModelError
        When it is neither; names the robots there are.
    """
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # No path at all.
        path = Path(name_or_path).expanduser()
        if path.is_file():
            return path.resolve()
    robots = shipped_robots()
    name = str(name_or_path)
    found = robots.get(name.removesuffix('.urdf'))
    if found is not None:
        return found
    close = difflib.get_close_matches(name, robots, n=1)
    hint = f'did you mean {close[0]}? ' if close else ''
    raise ModelError('is neither a file nor a robot of this package', subject=name or "''",
                     remedy=f'{hint}give the path of a URDF or one of: {", ".join(robots)}')


def candidate_folders(kind: str) -> Iterator[Path]:
    """Yield the places of a shared folder: a checkout, ROS 2 workspaces, pip installations.

    Parameters
    ----------
    kind : str
        Name of the folder: ``'urdf'``, ``'config'`` or ``'launch'``.
    """
    module_root = Path(__file__).resolve().parents[2]
    if (module_root / 'package.xml').is_file():
        yield module_root / kind
    share = Path('share') / _PACKAGE / kind
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix) / share
    # pip install; pip install --user; pip install --target.
    yield Path(sys.prefix) / share
    if site.USER_BASE:
        yield Path(site.USER_BASE) / share
    yield module_root / share
