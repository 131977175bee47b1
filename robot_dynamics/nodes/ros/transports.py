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

from robot_dynamics.nodes.ros.fast_dds import (
    REACH,
    names_this_machine_profile,
    profile_to_take,
    reaches_this_machine,
)
from robot_dynamics.nodes.ros.overridden import overridden

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
