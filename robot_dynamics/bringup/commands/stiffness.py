# SPDX-License-Identifier: Apache-2.0
"""Measure stiffness and lost motion of joints from a log of motor and link positions.

The log is a table of numbers, an NPZ archive or a rosbag2 recording. Without settings, the joints
are those for which the log also has a ``motor_<joint>``; a YAML names any other columns, their
scales to rad and N m, a known gear ratio, the rate of the samples, and inertias. Quantities that
the log does not determine are listed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from robot_dynamics.errors import ParameterError
from robot_dynamics.files import require_replaceable, write_files
from robot_dynamics.identification.stiffness.log import (
    joint_logs,
    read_columns,
    stiffness_settings,
)
from robot_dynamics.identification.stiffness.report import examine
from robot_dynamics.model.yaml_text import read_yaml
from robot_dynamics.report.stiffness import draw_stiffness, stiffness_page

#: Names of the files.
DATA, PAGE, PICTURE = 'stiffness.json', 'stiffness.html', 'stiffness.png'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument('log', type=Path, metavar='LOG',
                        help='table of numbers (.csv, .txt, .dat), .npz, or rosbag2 recording')
    parser.add_argument('--settings', type=Path, metavar='FILE',
                        help='YAML with columns, rate, scales and known values')
    parser.add_argument('--output', type=Path, metavar='FOLDER',
                        help=f'write {DATA}, {PAGE} and {PICTURE} there')


def run(options: argparse.Namespace) -> int:
    """Evaluate the log and print the result."""
    if options.output is not None:
        require_replaceable(options.output, (DATA, PAGE, PICTURE))
    content = None
    if options.settings is not None:
        content = read_yaml(options.settings, ParameterError, 'give a YAML file of settings')
    settings = stiffness_settings(content, str(options.settings or 'settings'))
    reports = examine(joint_logs(read_columns(options.log), settings))
    print('\n'.join(line for report in reports for line in report.lines))
    if options.output is None:
        return 0
    picture = draw_stiffness(reports)
    files = {
        DATA: (json.dumps([report.to_dict() for report in reports], indent=2,
                          allow_nan=False) + '\n').encode(),
        PAGE: stiffness_page(options.log.name, reports, picture).encode(),
        PICTURE: picture}
    write_files(options.output, files)
    print(options.output / PAGE)
    return 0
