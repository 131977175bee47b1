# SPDX-License-Identifier: Apache-2.0
"""A DDS domain that nothing else on this machine uses.

Two systems in one domain hear each other: the controller of one sees two publishers of joint
states, and refuses to move, or worse, one arm is moved by the controller of the other. A number
drawn at random is not enough where many systems run side by side.

Ports are those of the DDS interoperability wire protocol (OMG RTPS 2.5, 9.6.1): participant ``p``
of domain ``d`` listens at UDP port ``7400 + 250 d + 10 + 2 p``.
"""

from __future__ import annotations

import random
import socket
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from robot_dynamics.errors import BringupError

#: Domains whose ports lie below the ephemeral ones of Linux (from 32768), without the
#: default domain 0.
PRIVATE_DOMAINS = range(1, 101)

_FIRST_PORT, _DOMAIN_PORTS = 7400, 250
_FIRST_PARTICIPANT, _PARTICIPANT_PORTS = 10, 2
#: Participants take the lowest number that is free: with so many looked at, a domain
#: whose first participants have ended is seen too.
_PARTICIPANTS = 16
#: The last port of a domain, which no participant reaches. Who holds it has the domain.
_MARK = _DOMAIN_PORTS - 1


#: Marks of this process. The oldest goes when many newer ones are there: by then the
#: participants themselves listen.
_marks: deque[socket.socket] = deque(maxlen=16)


def private_domain() -> int:
    """Return a ``ROS_DOMAIN_ID`` that nothing else on this machine uses, and keep it.

    It is kept from other calls, of this process and others, for as long as this process
    lives or until it has taken many more.

    Raises
    ------
    BringupError
        Where every domain is in use.
    """
    candidates = list(PRIVATE_DOMAINS)
    random.SystemRandom().shuffle(candidates)
    for number in candidates:
        mark = _take(number)
        if mark is not None:
            _marks.append(mark)
            return number
    raise BringupError(
        f'every DDS domain from {PRIVATE_DOMAINS[0]} to {PRIVATE_DOMAINS[-1]} is in use on this '
        f'machine', subject='ROS_DOMAIN_ID', remedy='end other ROS 2 systems, or set it yourself')


def listening_domains() -> tuple[int, ...]:
    """Return the domains in which something listens on this machine, as far as Linux tells."""
    ports: set[int] = set()
    for table in ('/proc/net/udp', '/proc/net/udp6'):
        try:
            lines = Path(table).read_text(encoding='ascii').splitlines()[1:]
        except OSError:
            continue
        ports.update(int(line.split()[1].rpartition(':')[2], 16) for line in lines)
    return domains_of_ports(ports)


def domains_of_ports(ports: Iterable[int]) -> tuple[int, ...]:
    """Return the domains in which a participant has one of these UDP ports, in order."""
    domains = set()
    for port in ports:
        number, rest = divmod(port - _FIRST_PORT, _DOMAIN_PORTS)
        participant, odd = divmod(rest - _FIRST_PARTICIPANT, _PARTICIPANT_PORTS)
        # The lowest port of a participant: what else listens there does so at any of them.
        if 0 <= number <= PRIVATE_DOMAINS[-1] and odd == 0 and 0 <= participant < _PARTICIPANTS:
            domains.add(number)
    return tuple(sorted(domains))


def _take(number: int) -> socket.socket | None:
    """Return the mark of a domain if nothing uses it, or None."""
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
    """Return a UDP socket bound to a port of all interfaces, or None where it is taken."""
    endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        endpoint.bind(('', port))
    except OSError:
        endpoint.close()
        return None
    return endpoint
