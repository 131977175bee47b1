# SPDX-License-Identifier: Apache-2.0
"""Identifies an arm from recordings of its motion and writes the identified model.

Reads rosbag2 recordings (MCAP or SQLite), CSV or NPZ files. Writes identified.urdf,
parameters.yaml (for any node, and for launch files: identified:=FOLDER), covariance.npz,
result.json and report.html; with a payload in the YAML, payload.yaml. Exit status 1 where no
URDF could be written.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.descriptions import Description, load_description
from robot_dynamics.errors import BringupError, ParameterError
from robot_dynamics.model.robot import Robot

SUMMARY = 'identify an arm from recordings: masses, inertia, friction, and how well they are known'

#: The name of the page, beside the files of `robot_dynamics.identification.outputs`.
PAGE = 'report.html'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument('recordings', nargs='+', type=Path, metavar='BAG',
                        help='folder of a rosbag2 recording, an .mcap, .db3, .csv or .npz file')
    parser.add_argument('--robot', required=True, metavar='URDF',
                        help='its description, or the name of a robot of this package')
    parser.add_argument('--config', type=Path, metavar='YAML',
                        help='what is special about the recording: names, units, drives, and '
                             'what is not to be chosen (docs/identification.md)')
    parser.add_argument('--output', type=Path, default=Path('identified'), metavar='DIR',
                        help='where to write')
    parser.add_argument('--allow-inconsistent', action='store_true',
                        help='write a URDF even with a body that cannot exist')


def run(options: argparse.Namespace) -> int:
    """Identify, write, and print the verdict."""
    from robot_dynamics.identification.dataset import joined, load_dataset
    from robot_dynamics.identification.identify import estimate_settings, identify
    from robot_dynamics.identification.outputs.make import PARAMETERS, URDF, make_outputs
    from robot_dynamics.identification.outputs.payload_file import (
        PAYLOAD,
        payload_file,
        payload_text,
    )
    from robot_dynamics.identification.payload_runs import identify_payload_from
    from robot_dynamics.report.files import write_file
    from robot_dynamics.report.identification import identification_page, summary_text
    begin = time.perf_counter()
    settings, content = _settings(options.config)
    estimate = estimate_settings(content)
    description = load_description(options.robot)
    robot = _robot(description, content)
    dataset = joined([load_dataset(path, robot, settings) for path in options.recordings])
    payload = None
    if 'payload' in content:
        payload, found, dataset = identify_payload_from(content, options.config.parent, robot,
                                                        dataset)
    else:
        found = identify(dataset, robot, estimate)
    outputs = make_outputs(found, dataset, description.urdf,
                           allow_inconsistent=options.allow_inconsistent)
    page = identification_page(found, dataset, outputs)
    files = {**outputs.files, PAGE: page.encode()}
    if payload is not None:
        files[PAYLOAD] = payload_file(payload).encode()
    for name, data in files.items():
        write_file(options.output, name, data)
    for name in (URDF, PARAMETERS, PAYLOAD):
        if name not in files:
            # What an earlier run left is not of this recording.
            (options.output / name).unlink(missing_ok=True)
    print(summary_text(found))
    if payload is not None:
        print(payload_text(payload))
    print(f'\n{options.output / PAGE} ({dataset.count:,} rows, '
          f'{time.perf_counter() - begin:.1f} s)')
    if outputs.refused is not None:
        print(f'robot-dynamics identify: no URDF was written: {outputs.refused}; or give '
              '--allow-inconsistent', file=sys.stderr)
        return 1
    return 0


def identified_files(folder: str) -> Path:
    """Return the parameter file that a user means by ``identified``.

    Parameters
    ----------
    folder : str
        Where ``robot-dynamics identify`` has written.

    Raises
    ------
    BringupError
        Where there is none.
    """
    path = Path(folder).expanduser() / 'parameters.yaml'
    if not path.is_file():
        raise BringupError('holds no parameters.yaml', subject=folder or "''",
                           remedy='give the --output of robot-dynamics identify')
    return path.resolve()


def _settings(config: Path | None) -> tuple[Any, Mapping[str, Any]]:
    """Return the settings of the recording, and all that their file says."""
    from robot_dynamics.identification.dataset import DatasetSettings, read_settings
    return (DatasetSettings(), {}) if config is None else read_settings(config)


def _robot(description: Description, content: Mapping[str, Any]) -> Robot:
    """Return the robot with the joints that are to be identified."""
    about = content.get('robot', {})
    about = about if isinstance(about, Mapping) else {}
    joints = content.get('joints', about.get('joints'))
    base = content.get('base_link', about.get('base_link'))
    if joints is not None and (isinstance(joints, str) or not isinstance(joints, Sequence)
                               or not all(isinstance(name, str) for name in joints)):
        raise ParameterError(f'is {joints!r}', subject='joints',
                             remedy='give a list of names of joints')
    if base is not None and not isinstance(base, str):
        raise ParameterError(f'is {base!r}', subject='base_link', remedy='give the name of a link')
    if joints is None and base is None:
        return description.robot
    return Robot.from_urdf(description.urdf.encode(), joints=joints, base_link=base,
                           gravity=description.robot.gravity)
