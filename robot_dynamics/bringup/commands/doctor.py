# SPDX-License-Identifier: Apache-2.0
"""Check the running ROS 2 system, or a robot description; print problems and remedies.

It publishes nothing and does not interfere with the system. The exit status is 1 if there is an
error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from robot_dynamics.bringup.arguments import add_place, seconds_up_to
from robot_dynamics.bringup.doctor.findings import as_json, as_lines, as_text
from robot_dynamics.bringup.doctor.robot import check_robot
from robot_dynamics.bringup.doctor.system import check_system
from robot_dynamics.bringup.xacro_args import add_xacro_args

#: Longest observation time, because every message is kept in memory. s.
LONGEST_TIME = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument('robot', metavar='ROBOT', nargs='?',
                        help='a URDF, xacro or DH file or a robot of this package; without it '
                             'the running system is checked')
    add_xacro_args(parser)
    add_place(parser, 'the arm', namespace=None)
    parser.add_argument('--seconds', type=seconds_up_to(LONGEST_TIME), default=4.0,
                        metavar='SECONDS', help='how long to listen')
    parser.add_argument('--json', action='store_true', help='print JSON, for programs')


def run(options: argparse.Namespace) -> int:
    """Check, print the report, and return 1 if there is an error."""
    if options.robot:
        report = check_robot(options.robot, options.robot_args)
    else:
        report = check_system(options.seconds, namespace=options.namespace, domain=options.domain)
    if options.json:
        print(as_json(report))
    elif sys.stdout.isatty():
        print(as_text(report, shutil.get_terminal_size().columns,
                      colours=not os.environ.get('NO_COLOR')))
    else:
        print(as_lines(report))
    return report.exit_status
