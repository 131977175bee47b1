# SPDX-License-Identifier: Apache-2.0
"""Robot files: shipped ones by name, their folders, and their content."""

from __future__ import annotations

import contextlib
import os
import re
import site
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.errors import ModelError, UnknownNameError, one_of

_PACKAGE = 'robot_dynamics'
# Longest name in a message, in case a text is given instead of a path.
_LONGEST_LABEL = 200


def shipped_robots() -> dict[str, Path]:
    """Every robot description that comes with the package.

    Returns
    -------
    dict of str to Path
        URDF files by their stem (``'arm7'``), DH tables by their file name
        (``'puma560.yaml'``), in alphabetical order.

    Raises
    ------
    ModelError
        If the descriptions are missing in the installation or checkout.

    Examples
    --------
    >>> from robot_dynamics.model import shipped_robots
    >>> list(shipped_robots())[:2]
    ['arm7', 'planar_2r']
    """
    files = shipped_files('urdf', '*.urdf', '*.yaml')
    if not files:
        raise ModelError('of this package are not installed', subject='robot descriptions',
                         remedy='reinstall the package; searched in '
                                + ', '.join(map(str, candidate_folders('urdf'))))
    return {path.stem if path.suffix == '.urdf' else path.name: path for path in files}


def resolve_robot(name_or_path: str | Path) -> Path:
    """Path of the robot file for a name or path, as of ``--robot``.

    Parameters
    ----------
    name_or_path : str or Path
        Path of a file, or the name of a shipped robot with or without its
        ``.urdf``. An existing file takes precedence over a shipped robot of that name.

    Raises
    ------
    UnknownNameError
        If it is neither; the message lists the shipped robots.

    Examples
    --------
    >>> from robot_dynamics.model import resolve_robot
    >>> resolve_robot('arm7').name
    'arm7.urdf'
    """
    return resolve_file(name_or_path, shipped_robots, 'a robot of this package', '.urdf')


def resolve_file(name_or_path: str | os.PathLike[str], shipped: Callable[[], Mapping[str, Path]],
                 kind: str, suffix: str) -> Path:
    """Path of a file that exists, or of a shipped one by name, with or without its suffix."""
    path = _existing(name_or_path)
    if path is not None:
        return path.resolve()
    files, name = shipped(), str(name_or_path)
    found = files.get(name.removesuffix(suffix))
    if found is None:
        raise UnknownNameError(f'is neither a file nor {kind}', subject=name or "''",
                               remedy=f'give the path of a file; {one_of(files, name)}')
    return found


def shipped_or(source: Any, suffix: str) -> Any:
    """The path of a shipped robot if a source is its name; otherwise the source itself.

    The suffix is that of the files that can be read: ``'.urdf'`` or ``'.yaml'``. A bare name that
    is neither a file nor a shipped robot raises an `UnknownNameError`.
    """
    if not isinstance(source, str) or not re.fullmatch(r'[\w.-]{1,100}', source) \
            or _existing(source):
        return source
    readable = {path.stem: path for path in shipped_robots().values() if path.suffix == suffix}
    found = readable.get(source.removesuffix(suffix))
    if found is not None:
        return found
    if '.' in source:  # A file, which its reader reports as missing.
        return source
    raise UnknownNameError('is neither a file nor a robot of this package', subject=source,
                           remedy=f'give the path of a file; {one_of(readable, source)}')


def file_content(path: str, most: int, kind: str, missing: str) -> tuple[bytes, str]:
    """At most ``most`` + 1 bytes of a file, and its name for messages; raises a `ModelError`.

    ``kind`` is what the file should be, ``missing`` the remedy if it does not exist.
    """
    label = path if len(path) <= _LONGEST_LABEL else f'{path[:_LONGEST_LABEL]}...'
    try:
        file = Path(path).expanduser()
        if file.is_file():
            with file.open('rb') as stream:
                return stream.read(most + 1), label
        exists = file.exists()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, 'strerror', None) or type(error).__name__
        raise ModelError(f'cannot be read ({reason})', subject=label,
                         remedy='check the path and its permissions') from error
    if exists:
        raise ModelError('is not a regular file', subject=label, remedy=f'give the {kind} itself')
    raise ModelError('does not exist', subject=label, remedy=missing)


def _existing(name_or_path: str | os.PathLike[str]) -> Path | None:
    """The path, if there is such a file."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # Not a path at all.
        path = Path(name_or_path).expanduser()
        if path.is_file():
            return path
    return None


def shipped_files(folder: str, *patterns: str) -> list[Path]:
    """Files of the first of the `candidate_folders` that has some, in order."""
    for candidate in candidate_folders(folder):
        files = sorted(path for pattern in patterns for path in candidate.glob(pattern))
        if files:
            return files
    return []


def candidate_folders(kind: str) -> Iterator[Path]:
    """Yield the paths of a shared folder: a checkout, ROS 2 workspaces, pip installations.

    Its name is ``'urdf'``, ``'config'`` or ``'launch'``.
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
