# SPDX-License-Identifier: Apache-2.0
"""What Fast DDS, and the middleware of ROS 2 on it, read from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from robot_dynamics.model.shipped import candidate_folders

#: The variable for how far nodes look for others, from Iron on.
REACH = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
#: Where Fast DDS looks for its profiles: from 3.0 on (Kilted), and before it.
PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE'
#: Version of rclpy from which on ROS 2 comes with Fast DDS 3.
_RCLPY_OF_FAST_DDS_3 = 8


def this_machine_profile() -> Path | None:
    """Return ``config/dds/this_machine.xml``, None where it is not installed."""
    paths = (folder / 'dds' / 'this_machine.xml' for folder in candidate_folders('config'))
    return next((path for path in paths if path.is_file()), None)


def names_this_machine_profile(environment: Mapping[str, str]) -> bool:
    """Whether Fast DDS is the middleware and takes `this_machine_profile`.

    Parameters
    ----------
    environment : mapping of str to str
        The environment of a process.
    """
    ours = this_machine_profile()
    named = environment.get(_profile_variable())
    return ours is not None and bool(named) and _is_fast_dds(environment) \
        and os.path.realpath(named) == os.path.realpath(ours)


def profile_to_take(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that names our Fast DDS profile, unless the user has one.

    Parameters
    ----------
    environment : mapping of str to str
        The environment of a process.
    """
    path = this_machine_profile()
    if path is None or not _is_fast_dds(environment) or any(map(environment.get, PROFILES)):
        return {}
    return {_profile_variable(): os.fspath(path)}


def reaches_this_machine(environment: Mapping[str, str]) -> bool:
    """Whether nodes look for others on this machine only, and for no peer named elsewhere.

    Parameters
    ----------
    environment : mapping of str to str
        The environment of a process.
    """
    if environment.get('ROS_LOCALHOST_ONLY') == '1':
        return True  # peers are not looked at then
    return environment.get(REACH) == 'LOCALHOST' and not environment.get('ROS_STATIC_PEERS')


def _is_fast_dds(environment: Mapping[str, str]) -> bool:
    """Whether the middleware of an environment is Fast DDS."""
    return 'fastrtps' in (environment.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps_cpp')


def _profile_variable() -> str:
    """Return the name of the variable that this version of Fast DDS reads."""
    return PROFILES[0] if has_fast_dds_3() else PROFILES[1]


def has_fast_dds_3() -> bool:
    """Whether the ROS 2 of this Python has Fast DDS 3 or later; so where it has none."""
    for name in ('rclpy', 'ros-rclpy'):
        try:
            return int(version(name).split('.')[0]) >= _RCLPY_OF_FAST_DDS_3
        except PackageNotFoundError:
            continue
    return True
