# SPDX-License-Identifier: Apache-2.0
"""Transports of Fast DDS without shared memory, and the variables that choose them.

Fast DDS sends between processes of one machine through shared memory. Where a subscriber is
killed, its lock may stay taken, and publishers wait for it for up to seconds: also a controller
that has to send a safe command. ``rqt`` or ``ros2 topic echo`` may be such a subscriber.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from robot_dynamics.model.shipped import candidate_folders

#: Default transports of Fast DDS, from 2.11 on (Iron).
BUILTIN = 'FASTDDS_BUILTIN_TRANSPORTS'


@contextmanager
def without_shared_memory() -> Iterator[None]:
    """Keep shared memory out of the transports while ROS 2 is initialised in the block.

    Limited to this machine (``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST``), the middleware adds
    shared memory to the transports of any profile. Our profile limits DDS to 127.0.0.1 itself. So
    it is used, unless the user has another, and the range is set to leave the decision to the
    profile. With any other range Fast DDS gets UDP alone, unless the user has chosen transports.

    The range is read while ROS 2 is initialised, and restored afterwards. Profile and transports
    are read when the first node is made, and stay.
    """
    os.environ.setdefault(BUILTIN, 'UDPv4')
    is_local = reaches_this_machine(os.environ)
    if is_local:
        os.environ.update(profile_to_take(os.environ))
    left_to_profile: dict[str, str] = {}
    if _is_profile_read() and is_local and os.environ.get('ROS_DISTRO') != 'humble':
        left_to_profile[REACH] = 'SYSTEM_DEFAULT'
        if os.environ.get('ROS_LOCALHOST_ONLY'):
            left_to_profile['ROS_LOCALHOST_ONLY'] = ''
    with overridden(left_to_profile):
        yield


@functools.cache
def _is_profile_read() -> bool:
    """Whether this process uses our profile; Fast DDS reads the variable once."""
    return names_this_machine_profile(os.environ)


#: Variable of the discovery range, from Iron on.
REACH = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
#: Variables of the profiles of Fast DDS: from 3.0 on (Kilted), and before.
PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE'
#: Major version of rclpy from which ROS 2 has Fast DDS 3.
_RCLPY_OF_FAST_DDS_3 = 8


def this_machine_profile() -> Path | None:
    """Path of ``config/dds/this_machine.xml``, None where it is not installed."""
    paths = (folder / 'dds' / 'this_machine.xml' for folder in candidate_folders('config'))
    return next((path for path in paths if path.is_file()), None)


def names_this_machine_profile(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment uses Fast DDS with `this_machine_profile`."""
    ours = this_machine_profile()
    named = environment.get(_profile_variable())
    return ours is not None and named is not None and named != '' \
        and _is_fast_dds(environment) \
        and os.path.realpath(named) == os.path.realpath(ours)


def profile_to_take(environment: Mapping[str, str]) -> dict[str, str]:
    """Variable that selects our Fast DDS profile, unless the environment selects another."""
    path = this_machine_profile()
    if path is None or not _is_fast_dds(environment) or any(map(environment.get, PROFILES)):
        return {}
    return {_profile_variable(): os.fspath(path)}


def reaches_this_machine(environment: Mapping[str, str]) -> bool:
    """Whether discovery is limited to this machine, without static peers elsewhere."""
    if environment.get('ROS_LOCALHOST_ONLY') == '1':
        return True  # peers are ignored then
    return environment.get(REACH) == 'LOCALHOST' and not environment.get('ROS_STATIC_PEERS')


def _is_fast_dds(environment: Mapping[str, str]) -> bool:
    """Whether the middleware of an environment is Fast DDS."""
    return 'fastrtps' in (environment.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps_cpp')


def _profile_variable() -> str:
    """Name of the variable that this version of Fast DDS reads."""
    return PROFILES[0] if has_fast_dds_3() else PROFILES[1]


def has_fast_dds_3() -> bool:
    """Whether the ROS 2 of this Python has Fast DDS 3 or later; True without ROS 2."""
    for name in ('rclpy', 'ros-rclpy'):
        try:
            return int(version(name).split('.')[0]) >= _RCLPY_OF_FAST_DDS_3
        except PackageNotFoundError:
            continue
    return True


@contextmanager
def overridden(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables of this process inside the block, then restore them."""
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
