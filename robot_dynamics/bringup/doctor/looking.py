# SPDX-License-Identifier: Apache-2.0
"""Where to look for a running system: the user's domain, or the one in use on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from robot_dynamics.bringup.doctor.findings import Remark, note
from robot_dynamics.bringup.domains import listening_domains
from robot_dynamics.bringup.session import require_ros
from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot
from robot_dynamics.nodes.ros.transports import overridden

_REACH, _OLDER_REACH = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY'


def look_around(seconds: float, *, namespace: str | None, domain: int | None
                ) -> tuple[GraphSnapshot, list[Remark]]:
    """Return what runs, and what is to be said of where it was found.

    A system that keeps to this machine, as those of this package do, binds its sockets to
    127.0.0.1: whoever speaks to the whole network does not meet it. So where nothing is
    found the way the user's environment says, and something listens on this machine, that
    is looked at, too.

    Parameters
    ----------
    seconds : float
        How long to listen.
    namespace : str, optional
        Where to look for the arm.
    domain : int, optional
        ROS domain; that of the environment, or else any that is in use here.

    Raises
    ------
    BringupError
        When there is no ROS 2, or it cannot be started.
    """
    require_ros()
    _try_middleware(os.environ)
    from robot_dynamics.nodes.observing.graph_probe import look
    here = listening_domains()
    graph = look(seconds, namespace=namespace, domain=domain)
    asked = domain is not None or bool(os.environ.get('ROS_DOMAIN_ID'))
    others = [number for number in here if number != graph.domain]
    if not graph.is_empty:
        return graph, _elsewhere(others)
    if not looks_further(os.environ):
        candidates = [] if keeps_here(os.environ) else \
            [number for number in here if number == graph.domain]
        candidates = candidates or ([] if asked else others)
        if len(candidates) == 1:
            with on_this_machine():
                found = look(seconds, namespace=namespace, domain=candidates[0])
            if not found.is_empty:
                where = '' if found.domain == graph.domain else f', in domain {found.domain}'
                reach = '' if keeps_here(os.environ) else f'{_REACH}=LOCALHOST and '
                return found, [note('ROS 2', f'this system keeps to this machine{where}',
                                    f'to speak to it set {reach}ROS_DOMAIN_ID={found.domain}')]
    return graph, _elsewhere(others)


def _try_middleware(environment: Mapping[str, str]) -> None:
    """Refuse a middleware that was chosen and is not there: it would end this process."""
    chosen = environment.get('RMW_IMPLEMENTATION')
    if not chosen:
        return
    done = subprocess.run([sys.executable, '-c', 'import rclpy; rclpy.init()'], text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ['no reason given'])[-1]
        # Without level, time and logger, and the place in the source.
        reason = re.sub(r'^(\[[^]]*\] ?)*:? ?|, at /.*$', '', last)
        raise BringupError(f'is {chosen!r}, which cannot be used ({reason})',
                           subject='RMW_IMPLEMENTATION',
                           remedy=f'install ros-<distro>-{chosen.replace("_", "-")}, or unset it')


def _elsewhere(domains: list[int]) -> list[Remark]:
    """Say where else something listens on this machine."""
    if not domains:
        return []
    numbers = ', '.join(map(str, domains))
    plural = 's' if len(domains) > 1 else ''
    return [note('ROS_DOMAIN_ID', f'ROS nodes listen on this machine in domain{plural} {numbers}',
                 f'robot-dynamics doctor --domain {domains[0]}')]


def looks_further(environment: Mapping[str, str]) -> bool:
    """Whether the user has said how far discovery reaches, and not that it ends here."""
    return (_REACH in environment or _OLDER_REACH in environment) and not keeps_here(environment)


def keeps_here(environment: Mapping[str, str]) -> bool:
    """Whether the user has said that discovery ends at this machine.

    That names no domain: a system in a domain of its own is meant as much as without it.
    """
    reach = environment.get(_REACH)
    return reach == 'LOCALHOST' if reach is not None else environment.get(_OLDER_REACH) == '1'


@contextmanager
def on_this_machine() -> Iterator[None]:
    """Keep discovery to this machine inside the block."""
    names = [_REACH, _OLDER_REACH] if os.environ.get('ROS_DISTRO') == 'humble' else [_REACH]
    with overridden(dict(zip(names, ('LOCALHOST', '1'), strict=False))):
        yield
