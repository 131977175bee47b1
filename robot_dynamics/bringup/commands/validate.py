# SPDX-License-Identifier: Apache-2.0
"""Validate identified or described models on recordings to which they were not fitted.

A model is a folder of `robot-dynamics identify`, a URDF, or the name of a robot of this package.
Writes report.html, which compares the models joint by joint, and result.json.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.bringup.commands.identify import PAGE, load_robot
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.xacro_args import add_xacro_args
from robot_dynamics.files import require_replaceable, write_files
from robot_dynamics.identification.dataset.dataset import joined, load_dataset
from robot_dynamics.identification.dataset.settings import DatasetSettings, read_settings
from robot_dynamics.identification.outputs import RESULT, result_file
from robot_dynamics.identification.result import findings_list
from robot_dynamics.identification.rigid import estimate_settings
from robot_dynamics.identification.validation import (
    Candidate,
    described_candidate,
    read_identified,
    validate,
)
from robot_dynamics.model.robot import Robot
from robot_dynamics.report.validation import validation_page, validation_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_xacro_args(parser)
    parser.add_argument('model', metavar='MODEL',
                        help='folder of robot-dynamics identify, a URDF, or the name of a robot '
                             'of this package')
    parser.add_argument('recordings', nargs='+', type=Path, metavar='RECORDING',
                        help='recordings as for robot-dynamics identify')
    parser.add_argument('--against', nargs='+', default=[], metavar='MODEL',
                        help='further models, such as the description or the model of last month')
    parser.add_argument('--config', type=Path, metavar='YAML',
                        help='settings of the recordings as for robot-dynamics identify; joints '
                             'and base_link of it choose those of a URDF')
    parser.add_argument('--output', type=Path, default=Path('validated'), metavar='DIR',
                        help='folder for the results')


def run(options: argparse.Namespace) -> int:
    """Predict the recordings, write the page and print the verdicts."""
    require_replaceable(options.output, (PAGE, RESULT))
    settings, content = (DatasetSettings(), {}) if options.config is None else read_settings(
        options.config)
    has_rotors = estimate_settings(content).armature is not False
    if Path(options.model).is_dir():
        first = read_identified(Path(options.model))
    else:
        robot = load_robot(content, (), options.model, options.robot_args)[1]
        first = described_candidate(options.model, robot, has_rotors=has_rotors)
    robot = first.model.robot
    candidates = [first, *(_candidate(name, robot, has_rotors) for name in options.against)]
    dataset = joined([load_dataset(path, robot, settings) for path in options.recordings])
    found = validate(dataset, candidates)
    content = {'source': dataset.source, 'rows': dataset.count, 'cutoff': found.signals.cutoff,
               'models': [{'name': one.name, 'verdict': verdict, **errors.to_dict()}
                          for one, verdict, errors in zip(
                              found.candidates, found.verdicts, found.residuals, strict=True)],
               'joints': list(dataset.joint_names), 'findings': findings_list(found.findings)}
    write_files(options.output, {PAGE: validation_page(found, dataset).encode(),
                                 RESULT: result_file(content)})
    print(f'{validation_text(found)}\n\n{options.output / PAGE}')
    return 0


def _candidate(name: str, like: Robot, has_rotors: bool) -> Candidate:
    """A further model, with the joints and the base of the first one if it is a description."""
    if Path(name).is_dir():
        return read_identified(Path(name))
    description = load_description(name)
    return described_candidate(name, Robot.from_urdf(
        description.urdf.encode(), joints=like.joint_names, base_link=like.base_name,
        gravity=description.robot.gravity), has_rotors=has_rotors)
