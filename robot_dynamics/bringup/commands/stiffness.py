# SPDX-License-Identifier: Apache-2.0
"""Says how stiff joints are, and how much motion they lose, from a log of motors and links.

The log is a table of numbers, an NPZ archive or a rosbag2 recording. Without settings joints
are those of which the log has a ``motor_<joint>`` as well; a YAML names any other columns:
their scales to rad and N m, a known gear ratio, the rate of the samples, inertias. What
cannot be told from the log is said.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from robot_dynamics.errors import BringupError, ParameterError
from robot_dynamics.identification.stiffness.log import (
    joint_logs,
    read_columns,
    stiffness_settings,
)
from robot_dynamics.identification.stiffness.report import examine
from robot_dynamics.model.yaml_text import read_yaml
from robot_dynamics.report.stiffness_page import draw_stiffness, stiffness_page

SUMMARY = 'say how stiff joints are and what motion they lose, from motor and link encoders'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument('log', type=Path, metavar='LOG',
                        help='table of numbers (.csv, .txt, .dat), .npz, or rosbag2 recording')
    parser.add_argument('--settings', type=Path, metavar='FILE',
                        help='YAML that names columns, rate, scales and what is known')
    parser.add_argument('--output', type=Path, metavar='FOLDER',
                        help='write stiffness.json, stiffness.html and stiffness.png there')


def run(options: argparse.Namespace) -> int:
    """Examine and report."""
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
        'stiffness.json': (json.dumps([report.to_dict() for report in reports], indent=2,
                                      allow_nan=False) + '\n').encode(),
        'stiffness.html': stiffness_page(options.log.name, reports, picture).encode(),
        'stiffness.png': picture}
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (options.output / name).write_bytes(data)
    except OSError as error:
        raise BringupError(f'cannot be written ({error.strerror})', subject=str(options.output),
                           remedy='name a folder that is yours') from error
    print(options.output / 'stiffness.html')
    return 0
