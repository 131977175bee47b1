# SPDX-License-Identifier: Apache-2.0
"""How far DDS reaches: this machine and nobody else, unless the user wishes otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics.bringup.domains import private_domain
from robot_dynamics.bringup.security import require_domain
from robot_dynamics.nodes.ros.transports import REACH, profile_to_take, reaches_this_machine


def dds_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep a system to itself.

    What the user has set stays: a ``ROS_DOMAIN_ID`` or a wider discovery range that is
    there already is a wish to be seen by others. A range of this machine alone is none:
    what runs there in the default domain may be the driver of a real arm. Call this once
    a system, so that all its processes share the domain.

    Parameters
    ----------
    base : mapping of str to str
        The environment as the user has it.

    Raises
    ------
    BringupError
        When DDS is to be secure and no domain is set.
    """
    require_domain(base)
    chosen: dict[str, str] = {}
    reach = base.get(REACH)
    if not base.get('ROS_DOMAIN_ID') and reach in (None, '', 'LOCALHOST', 'OFF'):
        chosen['ROS_DOMAIN_ID'] = str(private_domain())
    if reach is None and not base.get('ROS_LOCALHOST_ONLY'):
        chosen[REACH] = 'LOCALHOST'
        if base.get('ROS_DISTRO') == 'humble':  # knows only the older variable
            chosen['ROS_LOCALHOST_ONLY'] = '1'
    if reaches_this_machine({**base, **chosen}):
        chosen.update(profile_to_take(base))
    return chosen


def launch_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep the nodes of a launch file on this machine.

    They stay in the domain that the user has, because the driver of the arm is there and
    ``ros2 topic`` in another terminal looks there. Nodes that are bound to this machine and
    nodes that are not hear each other on it; with the older variable of Humble they may
    not, so there nothing is changed.

    Parameters
    ----------
    base : mapping of str to str
        The environment as the user has it.
    """
    if base.get('ROS_DISTRO') == 'humble':
        return {}
    chosen = dds_environment({**base, 'ROS_DOMAIN_ID': base.get('ROS_DOMAIN_ID') or '0'})
    return {name: value for name, value in chosen.items() if name != 'ROS_DOMAIN_ID'}
