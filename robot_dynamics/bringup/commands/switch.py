# SPDX-License-Identifier: Apache-2.0
"""Switch a running system to another controller.

The active controller publishes the safe command, waits until it was received, and releases the
arm; then the other one takes over from that effort. They never command at the same time. Where
the other one cannot take over, the first one continues, or is activated again. Where another
switch of the arm is under way on this machine, this one waits for it.
"""

from __future__ import annotations

import argparse

from robot_dynamics.bringup.arguments import add_place
from robot_dynamics.bringup.ros_environment import running_system
from robot_dynamics.bringup.system import SWITCHABLE
from robot_dynamics.errors import BringupError
from robot_dynamics.nodes.controllers import CONTROLLERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument('controller', metavar='CONTROLLER', help='controller that takes over: '
                        + ', '.join(SWITCHABLE) + ', or the name of a node')
    add_place(parser, 'the arm')


def run(options: argparse.Namespace) -> int:
    """Switch; return the exit status."""
    name = controller_named(options.controller)
    with running_system(options.domain) as domain:
        from robot_dynamics.nodes.observing.switching import Switcher
        nodes = {name: CONTROLLERS[name].node for name in SWITCHABLE}
        with Switcher(nodes, namespace=options.namespace, domain=domain,
                      report=lambda text: print(text, flush=True)) as switcher:
            switcher.switch(name)
    return 0


def controller_named(text: str) -> str:
    """Name of the controller that a user names directly or by its node; raises `BringupError`."""
    for name in SWITCHABLE:
        if text in (name, CONTROLLERS[name].node):
            return name
    raise BringupError('is not a controller to switch to', subject=text or "''",
                       remedy='choose one of: ' + ', '.join(SWITCHABLE))
