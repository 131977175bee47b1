# SPDX-License-Identifier: Apache-2.0
"""The environment of ROS 2 on this machine: domains in use, reach of discovery, DDS security.

Two systems in one domain receive each other's messages: a controller finds two publishers of joint
states and does not move, or even commands the other arm. With many systems on a machine, a random
domain is not sufficient, so a private domain is checked for participants and reserved.

Ports are those of the DDS interoperability wire protocol (OMG RTPS 2.5, 9.6.1): participant ``p``
of domain ``d`` listens at UDP port ``7400 + 250 d + 10 + 2 p``.
"""

from __future__ import annotations

import os
import random
import socket
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robot_dynamics.errors import BringupError
from robot_dynamics.nodes import require_ros
from robot_dynamics.nodes.ros.transports import (
    REACH,
    overridden,
    profile_to_take,
    reaches_this_machine,
)

#: Domains with ports below the ephemeral ones of Linux (from 32768), without the
#: default domain 0.
PRIVATE_DOMAINS = range(1, 101)
#: Last domain with valid ports.
LAST_DOMAIN = 232

#: The variable for the discovery range in Humble, and the one that enables security.
OLDER_REACH, SECURITY = 'ROS_LOCALHOST_ONLY', 'ROS_SECURITY_ENABLE'

_FIRST_PORT, _DOMAIN_PORTS = 7400, 250
_FIRST_PARTICIPANT, _PARTICIPANT_PORTS = 10, 2
#: Number of participant ports tested per domain. Participants use the lowest free number, so that
#: a domain is also recognised after its first participants have ended.
_PARTICIPANTS = 16
#: The last port of a domain, which no participant uses. Binding it reserves the domain.
_MARK = _DOMAIN_PORTS - 1

#: Reservations of this process. The oldest is released after many newer ones, when its
#: participants have bound their ports.
_marks: deque[socket.socket] = deque(maxlen=16)


def private_domain() -> int:
    """Reserve a ``ROS_DOMAIN_ID`` that nothing else on this machine uses; raises `BringupError`.

    It stays reserved until this process ends or has reserved many more domains.
    """
    candidates = list(PRIVATE_DOMAINS)
    random.SystemRandom().shuffle(candidates)
    for number in candidates:
        mark = _reserve(number)
        if mark is not None:
            _marks.append(mark)
            return number
    raise BringupError(
        f'has no free value: every DDS domain from {PRIVATE_DOMAINS[0]} to {PRIVATE_DOMAINS[-1]} '
        f'is in use on this machine', subject='ROS_DOMAIN_ID',
        remedy='stop other ROS 2 systems, or set it yourself')


def listening_domains() -> tuple[int, ...]:
    """Domains with a participant on this machine, in order; none if ports cannot be listed."""
    ports: set[int] = set()
    for table in ('/proc/net/udp', '/proc/net/udp6'):
        try:
            lines = Path(table).read_text(encoding='ascii').splitlines()[1:]
        except OSError:
            continue
        ports.update(int(line.split()[1].rpartition(':')[2], 16) for line in lines)
    return domains_of_ports(ports)


def domains_of_ports(ports: Iterable[int]) -> tuple[int, ...]:
    """Domains that have a participant at one of these UDP ports, in order."""
    domains = set()
    for port in ports:
        number, rest = divmod(port - _FIRST_PORT, _DOMAIN_PORTS)
        participant, odd = divmod(rest - _FIRST_PARTICIPANT, _PARTICIPANT_PORTS)
        # Only the lowest port of a participant counts; other ports could be of any program.
        if 0 <= number <= PRIVATE_DOMAINS[-1] and odd == 0 and 0 <= participant < _PARTICIPANTS:
            domains.add(number)
    return tuple(sorted(domains))


def dds_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep a new system private: a free domain, discovery on this machine only.

    Variables of the user are kept: with ``ROS_DOMAIN_ID`` or a wider discovery range, other
    systems can discover this one. A range of this machine only does not set the domain, because
    the default domain may contain the driver of a real arm. Call this once per system, so that all
    its processes share the domain. Raises a `BringupError` if DDS security is on and no domain is
    set, because permissions are for one domain.
    """
    if is_secure(base) and not base.get('ROS_DOMAIN_ID'):
        raise BringupError(f'is not set, but {SECURITY} is true', subject='ROS_DOMAIN_ID',
                           remedy='set it to the domain that the permissions of the keystore '
                                  'are for (0 unless it was set when they were made)')
    chosen: dict[str, str] = {}
    reach = base.get(REACH)
    if not base.get('ROS_DOMAIN_ID') and reach in (None, '', 'LOCALHOST', 'OFF'):
        chosen['ROS_DOMAIN_ID'] = str(private_domain())
    if reach is None and not base.get(OLDER_REACH):
        chosen[REACH] = 'LOCALHOST'
        if base.get('ROS_DISTRO') == 'humble':  # which reads only the older variable
            chosen[OLDER_REACH] = '1'
    if reaches_this_machine({**base, **chosen}):
        chosen.update(profile_to_take(base))
    return chosen


def launch_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep the nodes of a launch file on this machine, in the user's domain.

    They also get one thread of BLAS each, as `one_thread` states.
    The domain stays because the driver of the arm is in it, and ``ros2 topic`` in another
    terminal uses it. Nodes limited to this machine and unlimited ones discover each other on it;
    with the older variable of Humble they may not, so nothing is changed there.
    """
    if base.get('ROS_DISTRO') == 'humble':
        return one_thread(base)
    chosen = dds_environment({**base, 'ROS_DOMAIN_ID': base.get('ROS_DOMAIN_ID') or '0'})
    return {**one_thread(base), **{name: value for name, value in chosen.items()
                                   if name != 'ROS_DOMAIN_ID'}}


def one_thread(base: Mapping[str, str]) -> dict[str, str]:
    """Variables for one thread of BLAS, unless the user has set a number.

    Arm-sized matrices gain nothing from more, which would compete for the cores: on a busy
    machine an LQ law took 1.7 s to build with threads, 0.12 s without. numpy reads these
    variables when it is imported.
    """
    return {name: base.get(name, '1')
            for name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')}


def is_secure(environment: Mapping[str, str]) -> bool:
    """Whether DDS security (SROS2) is on; rcl accepts only this spelling."""
    return environment.get(SECURITY) == 'true'


def is_local(environment: Mapping[str, str]) -> bool:
    """Whether discovery is limited to this machine.

    This does not imply a domain: the system may still use a private one.
    """
    reach = environment.get(REACH)
    return reach == 'LOCALHOST' if reach is not None else environment.get(OLDER_REACH) == '1'


def is_wide(environment: Mapping[str, str]) -> bool:
    """Whether the user has set a discovery range beyond this machine."""
    return (REACH in environment or OLDER_REACH in environment) and not is_local(environment)


@contextmanager
def local_discovery() -> Iterator[None]:
    """Limit discovery to this machine inside the block."""
    names = [REACH, OLDER_REACH] if os.environ.get('ROS_DISTRO') == 'humble' else [REACH]
    with overridden(dict(zip(names, ('LOCALHOST', '1'), strict=False))):
        yield


@contextmanager
def running_system(domain: int | None = None) -> Iterator[int | None]:
    """Set discovery, inside the block, for a running system; yield its domain.

    By default the domain is that of ``ROS_DOMAIN_ID`` (None is then yielded), or else the only one
    in use on this machine. Raises a `BringupError` if ROS 2 is missing or several domains are in
    use.
    """
    require_ros()
    if domain is None and not (os.environ.get('ROS_DOMAIN_ID') or is_wide(os.environ)):
        domains = listening_domains()
        if len(domains) > 1:
            raise BringupError('are in use on this machine', subject='ROS domains '
                               + ', '.join(map(str, domains)),
                               remedy=f'choose one, e.g. --domain {domains[0]}')
        domain = domains[0] if domains else None
    if domain is None or is_wide(os.environ):
        yield domain
    else:
        with local_discovery():
            yield domain


def _reserve(number: int) -> socket.socket | None:
    """Socket that reserves an unused domain, or None."""
    first = _FIRST_PORT + _DOMAIN_PORTS * number
    mark = _bound(first + _MARK)
    if mark is None:
        return None
    for participant in range(_PARTICIPANTS):
        probe = _bound(first + _FIRST_PARTICIPANT + _PARTICIPANT_PORTS * participant)
        if probe is None:
            mark.close()
            return None
        probe.close()
    return mark


def _bound(port: int) -> socket.socket | None:
    """UDP socket bound to a port of all interfaces, or None if the port is in use."""
    endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        endpoint.bind(('', port))
    except OSError:
        endpoint.close()
        return None
    return endpoint
