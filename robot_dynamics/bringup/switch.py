# SPDX-License-Identifier: Apache-2.0
"""Lets another controller take over the arm of a running system.

The controller that has the arm sends the safe command, waits until it was heard, and lets
go; then the other one takes over from that effort. They never command together. Where the
other one cannot take over, the first goes on, or has the arm again.
"""

from __future__ import annotations

import argparse
import os

from robot_dynamics.bringup.controllers import CONTROLLERS, SWITCHABLE
from robot_dynamics.bringup.doctor.looking import on_this_machine, says_how_far
from robot_dynamics.bringup.domains import listening_domains
from robot_dynamics.bringup.session import require_ros
from robot_dynamics.errors import BringupError

SUMMARY = 'let another controller take over the arm of a running system'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument('controller', metavar='CONTROLLER', help='who takes over: '
                        + ', '.join(SWITCHABLE) + ', or the name of a node')
    parser.add_argument('--namespace', default='', metavar='NAME', help='namespace of the arm')
    parser.add_argument('--domain', type=int, metavar='NUMBER',
                        help='ROS domain; that of ROS_DOMAIN_ID, or else the one that is in use '
                             'on this machine, by default')


def run(options: argparse.Namespace) -> int:
    """Switch; return the exit status."""
    name = controller_named(options.controller)
    require_ros()
    domain = options.domain if options.domain is not None else _domain_in_use()
    if domain is None or says_how_far(os.environ):
        _switch(name, options.namespace, domain)
    else:
        with on_this_machine():
            _switch(name, options.namespace, domain)
    return 0


def controller_named(text: str) -> str:
    """Return the name of a controller that a user means by its name or by that of its node.

    Raises
    ------
    BringupError
        When there is none.
    """
    for name in SWITCHABLE:
        if text in (name, CONTROLLERS[name].node):
            return name
    raise BringupError('is no controller to switch to', subject=text or "''",
                       remedy='choose one of: ' + ', '.join(SWITCHABLE))


def _domain_in_use() -> int | None:
    """Return the domain of the system on this machine; None leaves it to the environment.

    Raises
    ------
    BringupError
        When there are several.
    """
    if os.environ.get('ROS_DOMAIN_ID') or says_how_far(os.environ):
        return None
    domains = listening_domains()
    if len(domains) > 1:
        raise BringupError('are in use on this machine', subject='ROS domains '
                           + ', '.join(map(str, domains)),
                           remedy=f'say which: --domain {domains[0]}')
    return domains[0] if domains else None


def _switch(name: str, namespace: str, domain: int | None) -> None:
    from robot_dynamics.nodes.switching import Switcher
    nodes = {name: CONTROLLERS[name].node for name in SWITCHABLE}
    with Switcher(nodes, namespace=namespace, domain=domain,
                  say=lambda text: print(text, flush=True)) as switcher:
        switcher.switch(name)
