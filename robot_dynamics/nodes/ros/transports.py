# SPDX-License-Identifier: Apache-2.0
"""No shared memory for what this process sends: who is killed there holds up those who send.

Fast DDS sends between processes of one machine through shared memory. Where a listener is
killed, its lock may stay taken, and whoever sends to it waits, for up to seconds: a controller
that has a safe command to send as well. ``rqt`` or ``ros2 topic echo`` is such a listener.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from robot_dynamics.model.shipped import candidate_folders

#: Which transports Fast DDS has where nothing else says it, from 2.11 on (Iron).
BUILTIN = 'FASTDDS_BUILTIN_TRANSPORTS'


@contextmanager
def without_shared_memory() -> Iterator[None]:
    """While ROS 2 is initialised, let nothing add shared memory to its transports.

    Limited to this machine (``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST``), the middleware adds it
    to whatever a profile says. Our profile limits DDS to 127.0.0.1 by itself, so it is taken,
    unless the user has another, and the range says no more than that the profile decides. With
    any other range Fast DDS is asked for UDP alone, unless the user has asked for something else.

    The range is read while ROS 2 is initialised, and is as it was afterwards; profile and
    transports are read when the first node is made, and stay.
    """
    os.environ.setdefault(BUILTIN, 'UDPv4')
    if reaches_this_machine(os.environ):
        os.environ.update(profile_to_take(os.environ))
    _is_profile_read()
    with overridden(_left_to_profile(os.environ)):
        yield


def _left_to_profile(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what makes the middleware leave everything to our profile, where it is used."""
    if environment.get('ROS_DISTRO') == 'humble' or not reaches_this_machine(environment) \
            or not _is_profile_read():
        return {}
    older = {'ROS_LOCALHOST_ONLY': ''} if environment.get('ROS_LOCALHOST_ONLY') else {}
    return {REACH: 'SYSTEM_DEFAULT', **older}


@functools.cache
def _is_profile_read() -> bool:
    """Whether this process takes our profile; Fast DDS reads the variable once, at the first."""
    return names_this_machine_profile(os.environ)


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


@contextmanager
def overridden(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process inside the block; afterwards they are as they were.

    Parameters
    ----------
    values : mapping of str to str
        By name.
    """
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
