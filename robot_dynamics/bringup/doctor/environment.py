# SPDX-License-Identifier: Apache-2.0
"""Checks of the ROS 2 environment, and the search for the running system."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping

from robot_dynamics.bringup.doctor.findings import CheckResult, error, note, ok, warning
from robot_dynamics.bringup.ros_environment import (
    LAST_DOMAIN,
    OLDER_REACH,
    is_local,
    is_wide,
    listening_domains,
    local_discovery,
    require_ros,
)
from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot
from robot_dynamics.nodes.ros.transports import PROFILES, REACH

#: Last domain with ports below the ephemeral ones of Linux.
_LAST_SAFE = 101
_RANGES = ('SUBNET', 'LOCALHOST', 'OFF', 'SYSTEM_DEFAULT')


def check_environment(environment: Mapping[str, str], exists: Callable[[str], bool],
                      middleware: str = '') -> list[CheckResult]:
    """Check for variables that prevent discovery, or extend it to the network.

    `exists` is true for paths of files; `middleware` is the RMW implementation in use, empty
    where ROS 2 did not start.
    """
    results = [*_check_domain(environment), *_check_reach(environment),
               *_check_profiles(environment, exists)]
    if any(result.remedy for result in results):
        return results
    reach = 'this machine only' if _stays_local(environment) else 'the whole network'
    name = middleware or environment.get('RMW_IMPLEMENTATION', 'the default middleware')
    return [*results, ok('ROS 2', f'{name}, discovery on {reach}')]


def _check_domain(environment: Mapping[str, str]) -> Iterator[CheckResult]:
    text = environment.get('ROS_DOMAIN_ID', '')
    remedy = f'set a number from 0 to {_LAST_SAFE}'
    if text and (not text.strip().isdigit() or int(text) > LAST_DOMAIN):
        yield error('ROS_DOMAIN_ID', f'is {text!r}', remedy)
    elif text and int(text) > _LAST_SAFE:
        yield warning('ROS_DOMAIN_ID', f'is {text}: Linux gives its ports to any process', remedy)


def _check_reach(environment: Mapping[str, str]) -> list[CheckResult]:
    reach, only = environment.get(REACH), environment.get(OLDER_REACH)
    results = []
    if reach is not None and reach not in _RANGES:
        results.append(error(REACH, f'is {reach!r}', 'set it to one of ' + ', '.join(_RANGES)))
    elif reach == 'OFF' and not environment.get('ROS_STATIC_PEERS'):
        results.append(error(REACH, 'is OFF: nodes do not discover each other',
                             'set it to LOCALHOST or SUBNET'))
    elif reach is not None and environment.get('ROS_DISTRO') == 'humble':
        results.append(warning(REACH, 'has no effect in Humble',
                               f'set {OLDER_REACH} to 1 to stay on this machine'))
    if only == '1' and reach in ('SUBNET', 'SYSTEM_DEFAULT'):
        results.append(warning(OLDER_REACH, f'is 1 and overrides {REACH}={reach}', 'unset it'))
    if environment.get('ROS_DISCOVERY_SERVER'):
        results.append(note('ROS_DISCOVERY_SERVER', 'is set: only a super client sees the whole '
                            'system'))
    if not results and not _stays_local(environment):
        results.append(note(REACH, 'includes the whole network: any machine in it can command the '
                            'arm'))
    return results


def _check_profiles(environment: Mapping[str, str], exists: Callable[[str], bool]
                    ) -> Iterator[CheckResult]:
    """Check the variables that configure DDS by files."""
    for name in PROFILES:
        path = environment.get(name)
        if path and not exists(path):
            yield warning(name, f'is {path!r}, which is not a file',
                          'correct or unset it: DDS runs with its default reach')
    uri = environment.get('CYCLONEDDS_URI', '')
    if uri and not uri.lstrip().startswith('<') and not exists(uri.removeprefix('file://')):
        yield warning('CYCLONEDDS_URI', f'is {uri!r}, which is not a file', 'correct or unset it')
    if environment.get('RMW_FASTRTPS_USE_QOS_FROM_XML') == '1':
        yield note('RMW_FASTRTPS_USE_QOS_FROM_XML', 'is 1: the profile may change the quality of '
                   'service of nodes')


def _stays_local(environment: Mapping[str, str]) -> bool:
    return environment.get(REACH) in ('LOCALHOST', 'OFF') or environment.get(OLDER_REACH) == '1'


def find_system(seconds: float, *, namespace: str | None, domain: int | None
                ) -> tuple[GraphSnapshot, list[CheckResult]]:
    """Take a snapshot of the running system for some seconds; also return notes on its place.

    A system limited to this machine, as those of this package are, binds its sockets to
    127.0.0.1, so that discovery in the whole network does not find it. Where the environment of
    the user leads to no system, and a participant listens on this machine, that is tried too.
    Raises `BringupError` when ROS 2 is missing or cannot be started.
    """
    require_ros()
    _try_middleware(os.environ)
    from robot_dynamics.nodes.observing.graph_probe import look
    here = listening_domains()
    graph = look(seconds, namespace=namespace, domain=domain)
    others = [number for number in here if number != graph.domain]
    if not graph.is_empty or is_wide(os.environ):
        return graph, _other_domains(others)
    candidates = [] if is_local(os.environ) else \
        [number for number in here if number == graph.domain]
    if not candidates and domain is None and not os.environ.get('ROS_DOMAIN_ID'):
        candidates = others
    if len(candidates) == 1:
        with local_discovery():
            found = look(seconds, namespace=namespace, domain=candidates[0])
        if not found.is_empty:
            where = '' if found.domain == graph.domain else f', in domain {found.domain}'
            reach = '' if is_local(os.environ) else f'{REACH}=LOCALHOST and '
            return found, [note('ROS 2', f'this system is limited to this machine{where}',
                                f'to reach it set {reach}ROS_DOMAIN_ID={found.domain}')]
    return graph, _other_domains(others)


def _try_middleware(environment: Mapping[str, str]) -> None:
    """Raise where the chosen middleware is missing, which would end this process later."""
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


def _other_domains(domains: list[int]) -> list[CheckResult]:
    """Note other domains with participants on this machine."""
    if not domains:
        return []
    plural = 's' if len(domains) > 1 else ''
    return [note('ROS_DOMAIN_ID', f'ROS nodes of this machine are in domain{plural} '
                 + ', '.join(map(str, domains)), f'robot-dynamics doctor --domain {domains[0]}')]
