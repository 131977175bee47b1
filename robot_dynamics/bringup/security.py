# SPDX-License-Identifier: Apache-2.0
"""Enclaves of DDS security: which keys and permissions of a keystore each node takes.

ROS 2 is told by ``ROS_SECURITY_ENABLE``, ``ROS_SECURITY_STRATEGY`` and
``ROS_SECURITY_KEYSTORE`` that DDS is to be secure (SROS2), and each node by its ROS
arguments who it is. ``config/security/policy.xml`` holds an enclave for each of our nodes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.errors import BringupError

#: Where the enclaves of our nodes are in a keystore.
ENCLAVES = '/robot_dynamics'

_ENABLE = 'ROS_SECURITY_ENABLE'


def is_secure(environment: Mapping[str, str]) -> bool:
    """Whether somebody wants DDS to be secure; rcl takes nothing but this word for it."""
    return environment.get(_ENABLE) == 'true'


def enclave_arguments(process: NodeProcess,
                      environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the ROS arguments that put a node into its enclave, none without security.

    Parameters
    ----------
    process : NodeProcess
        The node.
    environment : mapping of str to str, optional
        Its environment; that of this process by default.
    """
    if not is_secure(os.environ if environment is None else environment):
        return []
    return ['--enclave', f'{ENCLAVES}/{process.node}']


def require_domain(environment: Mapping[str, str]) -> None:
    """Refuse security in a domain drawn at random: permissions are given for one domain.

    Raises
    ------
    BringupError
        Saying what to set.
    """
    if is_secure(environment) and not environment.get('ROS_DOMAIN_ID'):
        raise BringupError(f'is not set, though {_ENABLE} is true', subject='ROS_DOMAIN_ID',
                           remedy='set it to the domain that the permissions of the keystore '
                                  'are for (0 unless it was set when they were made)')
