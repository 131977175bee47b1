# SPDX-License-Identifier: Apache-2.0
"""The running system that a command means: its domain, and how far to look for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from robot_dynamics.bringup.doctor.environment import LAST_DOMAIN
from robot_dynamics.bringup.doctor.looking import looks_further, on_this_machine
from robot_dynamics.bringup.domains import listening_domains
from robot_dynamics.bringup.session import require_ros
from robot_dynamics.errors import BringupError


@contextmanager
def running_system(domain: int | None = None) -> Iterator[int | None]:
    """Look where a system runs, inside the block.

    Parameters
    ----------
    domain : int, optional
        ROS domain; that of ``ROS_DOMAIN_ID``, or else the one that is in use on this machine,
        by default.

    Yields
    ------
    int or None
        The domain; None leaves it to the environment.

    Raises
    ------
    BringupError
        When there is no ROS 2 or no such domain, or several are in use.
    """
    if domain is not None and not 0 <= domain <= LAST_DOMAIN:
        raise BringupError(f'is {domain}', subject='ROS domain',
                           remedy=f'give one from 0 to {LAST_DOMAIN}')
    require_ros()
    domain = _domain_in_use() if domain is None else domain
    if domain is None or looks_further(os.environ):
        yield domain
    else:
        with on_this_machine():
            yield domain


def _domain_in_use() -> int | None:
    """Return the domain of the system on this machine; None leaves it to the environment."""
    if os.environ.get('ROS_DOMAIN_ID') or looks_further(os.environ):
        return None
    domains = listening_domains()
    if len(domains) > 1:
        raise BringupError('are in use on this machine', subject='ROS domains '
                           + ', '.join(map(str, domains)),
                           remedy=f'say which: --domain {domains[0]}')
    return domains[0] if domains else None
