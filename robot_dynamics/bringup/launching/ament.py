# SPDX-License-Identifier: Apache-2.0
"""Which packages of ROS 2 are installed, read from where they are registered."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from robot_dynamics.errors import BringupError

_REGISTER = Path('share', 'ament_index', 'resource_index', 'packages')


def find_package(name: str) -> Path | None:
    """Return the share folder of a package, None where it is not installed."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix and (Path(prefix) / _REGISTER / name).is_file():
            return Path(prefix) / 'share' / name
    return None


def require_packages(names: Iterable[str], what: str) -> None:
    """Check that packages are installed.

    Parameters
    ----------
    names : iterable of str
        Packages.
    what : str
        What they are needed for.

    Raises
    ------
    BringupError
        Naming those that are not, and how to install them.
    """
    missing = [name for name in names if find_package(name) is None]
    if not missing:
        return
    distro = os.environ.get('ROS_DISTRO')
    if distro is None:
        raise BringupError(f'needs ROS 2 packages that are not found: {", ".join(missing)}',
                           subject=what, remedy='source a ROS 2 installation first, '
                                                'e.g. source /opt/ros/jazzy/setup.bash')
    packages = ' '.join(f'ros-{distro}-{name.replace("_", "-")}' for name in missing)
    raise BringupError(f'needs packages that are not installed: {", ".join(missing)}',
                       subject=what, remedy=f'sudo apt install {packages}')
