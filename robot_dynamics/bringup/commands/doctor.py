# SPDX-License-Identifier: Apache-2.0
"""The command ``robot-dynamics doctor``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from robot_dynamics.bringup.doctor.environment import LAST_DOMAIN
from robot_dynamics.bringup.doctor.output import as_json, as_lines, as_text
from robot_dynamics.bringup.doctor.robot import examine_robot
from robot_dynamics.bringup.doctor.system import examine_system

SUMMARY = 'look at the running system, or at a robot, and say what is wrong and what to do'
DESCRIPTION = (
    'Looks at the running ROS 2 system for some seconds, or at a robot description, says what is '
    'wrong with it and what to do. It publishes nothing and takes no part in what it looks at. '
    'Exit status 1 when there is an error.')

#: Longest look: everything heard is kept. s.
LONGEST_LOOK = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument('robot', metavar='ROBOT', nargs='?',
                        help='a URDF, xacro or DH file or a robot of this package; without it '
                             'the running system is looked at')
    parser.add_argument('--domain', type=_domain, metavar='NUMBER',
                        help='ROS domain to look into; that of ROS_DOMAIN_ID, or else the one '
                             'that is in use on this machine, by default')
    parser.add_argument('--namespace', metavar='NAME',
                        help='namespace of the arm; wherever there is one by default')
    parser.add_argument('--seconds', type=_seconds, default=4.0, metavar='SECONDS',
                        help='how long to listen')
    parser.add_argument('--json', action='store_true', help='print JSON, for machines')


def run(options: argparse.Namespace) -> int:
    """Look, print what was found, and return 1 where something is wrong that has to be right."""
    if options.robot:
        examination = examine_robot(options.robot)
    else:
        examination = examine_system(options.seconds, namespace=options.namespace,
                                     domain=options.domain)
    if options.json:
        print(as_json(examination))
    elif sys.stdout.isatty():
        print(as_text(examination, shutil.get_terminal_size().columns,
                      colours=not os.environ.get('NO_COLOR')))
    else:
        print(as_lines(examination))
    return examination.exit_status


def _domain(text: str) -> int:
    number = int(text)
    if not 0 <= number <= LAST_DOMAIN:
        raise argparse.ArgumentTypeError(f'{number} is not from 0 to {LAST_DOMAIN}')
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.0 < seconds <= LONGEST_LOOK:
        raise argparse.ArgumentTypeError(f'{text} is not above 0 and up to {LONGEST_LOOK:g}')
    return seconds
