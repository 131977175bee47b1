# SPDX-License-Identifier: Apache-2.0
"""Lets another controller take over the arm of a running system.

The controller that has the arm sends the safe command, waits until it was heard, and lets
go; then the other one takes over from that effort. They never command together. Where the
other one cannot take over, the first goes on, or has the arm again.
"""

from __future__ import annotations

import argparse

from robot_dynamics.bringup.controllers import CONTROLLERS, SWITCHABLE
from robot_dynamics.bringup.running_system import running_system
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
    with running_system(options.domain) as domain:
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


def _switch(name: str, namespace: str, domain: int | None) -> None:
    from robot_dynamics.nodes.observing.switching import Switcher
    nodes = {name: CONTROLLERS[name].node for name in SWITCHABLE}
    with Switcher(nodes, namespace=namespace, domain=domain,
                  report=lambda text: print(text, flush=True)) as switcher:
        switcher.switch(name)
