# SPDX-License-Identifier: Apache-2.0
"""Identifies an arm from recordings of its motion and writes the identified model.

Reads rosbag2 recordings (MCAP or SQLite), tables or NPZ files, or listens to an arm that runs.
Writes identified.urdf, parameters.yaml (for any node, and for launch files:
identified:=FOLDER), covariance.npz, result.json and report.html; with a payload in the YAML,
payload.yaml. With output_error in the YAML, drives of servos are identified, of which there
are no covariances. With elastic_joints, from recordings of links and motors, joints with
springs: elastic_joints.yaml beside the others, covariances in result.json. Exit status 1 where
no URDF could be written.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robot_dynamics.errors import BringupError, InertiaError

if TYPE_CHECKING:
    from robot_dynamics.bringup.commands.identify_inputs import Inputs

SUMMARY = 'identify an arm from recordings: masses, inertia, friction, and how well they are known'

#: The name of the page, beside the files of `robot_dynamics.identification.outputs`.
PAGE = 'report.html'
#: Longest time that a running arm is listened to: everything heard is kept. s.
LONGEST_LISTENING = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument('recordings', nargs='*', type=Path, metavar='RECORDING',
                        help='folder of a rosbag2 recording, an .mcap, .db3, .npz or .json file, '
                             'or a table of text (.csv, .txt, .tsv, .dat); source of the YAML '
                             'if none is given')
    parser.add_argument('--robot', metavar='URDF',
                        help='its description, or the name of a robot of this package; '
                             'robot.urdf of the YAML if not given')
    parser.add_argument('--config', type=Path, metavar='YAML',
                        help='what is special about the recording: names, units, drives, and '
                             'what is not to be chosen (docs/identification.md)')
    parser.add_argument('--elastic-joints', metavar='YAML',
                        help='motors and springs, where joints are elastic: a file, the name of '
                             'one of this package, or description for the tags of the URDF; '
                             'elastic_joints of the YAML if not given '
                             '(docs/elastic_identification.md)')
    parser.add_argument('--data', type=Path, metavar='DIR',
                        help='where paths in the YAML begin, beside its own folder')
    parser.add_argument('--live', type=_seconds, metavar='SECONDS',
                        help='listen to the arm that runs now, for so long from its first joint '
                             'states on, instead of reading a recording; recording.npz is kept')
    parser.add_argument('--namespace', default='', metavar='NAME',
                        help='namespace of the arm that is listened to')
    parser.add_argument('--domain', type=int, metavar='NUMBER',
                        help='ROS domain to listen in; that of ROS_DOMAIN_ID, or else the one '
                             'that is in use on this machine, by default')
    parser.add_argument('--output', type=Path, default=Path('identified'), metavar='DIR',
                        help='where to write')
    parser.add_argument('--allow-inconsistent', action='store_true',
                        help='write a URDF even with a body that cannot exist')


def run(options: argparse.Namespace) -> int:
    """Identify, write, and print the verdict."""
    from robot_dynamics.bringup.commands.identify_drives import SECTION, drive_results
    from robot_dynamics.bringup.commands.identify_elastic import (
        KEY,
        elastic_results,
        wanted_joints,
    )
    from robot_dynamics.bringup.commands.identify_inputs import read_inputs
    from robot_dynamics.identification.elastic.outputs import ELASTIC_JOINTS
    from robot_dynamics.identification.outputs import COVARIANCE, PARAMETERS, PAYLOAD, RESULT, URDF
    from robot_dynamics.report.files import write_file
    begin = time.perf_counter()
    inputs = read_inputs(options.recordings, options.robot, options.config, options.data)
    refused = None
    springs = wanted_joints(inputs.content, options.elastic_joints)
    special = SECTION if SECTION in inputs.content else KEY if springs else None
    if special is not None and options.live is not None:
        raise BringupError('goes with recordings only', subject=special,
                           remedy='leave --live out')
    if special == SECTION:
        if springs:
            raise BringupError(f'and {SECTION} are both given', subject=KEY,
                               remedy='leave one of them out')
        files, text, rows = drive_results(inputs, PAGE)
    elif special == KEY:
        files, text, rows, refused = elastic_results(
            inputs, springs, options.output, PAGE,
            allow_inconsistent=options.allow_inconsistent)
    else:
        files, text, rows, refused = _arm_results(inputs, options)
    for name, data in files.items():
        write_file(options.output, name, data)
    for name in (URDF, PARAMETERS, COVARIANCE, RESULT, PAYLOAD, ELASTIC_JOINTS):
        if name not in files:
            # What an earlier run left is not of this recording.
            (options.output / name).unlink(missing_ok=True)
    print(text)
    print(f'\n{options.output / PAGE} ({rows:,} rows, {time.perf_counter() - begin:.1f} s)')
    if refused is not None:
        hint = '; or give --allow-inconsistent' if isinstance(refused, InertiaError) else ''
        print(f'robot-dynamics identify: no URDF was written: {refused}{hint}', file=sys.stderr)
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


def _arm_results(inputs: Inputs, options: argparse.Namespace
                 ) -> tuple[dict[str, bytes], str, int, Exception | None]:
    """Return files, the verdict for a terminal, rows, and why there is no URDF."""
    from robot_dynamics.identification.outputs import (
        PAYLOAD,
        make_outputs,
        payload_file,
        payload_text,
    )
    from robot_dynamics.identification.payload import identify_payload_from
    from robot_dynamics.identification.rigid import estimate_settings, identify
    from robot_dynamics.report.identification_page import identification_page, summary_text
    estimate = estimate_settings(inputs.content)
    dataset, kept = _dataset(inputs, options)
    payload = None
    if 'payload' in inputs.content:
        payload, found, dataset = identify_payload_from(inputs.content, inputs.folders[0],
                                                        inputs.robot, dataset)
    else:
        found = identify(dataset, inputs.robot, estimate)
    outputs = make_outputs(found, dataset, inputs.description.urdf,
                           allow_inconsistent=options.allow_inconsistent)
    page = identification_page(found, dataset, outputs)
    files, text = {**kept, **outputs.files, PAGE: page.encode()}, summary_text(found)
    if payload is not None:
        files[PAYLOAD] = payload_file(payload).encode()
        text += '\n' + payload_text(payload)
    return files, text, dataset.count, outputs.refused


def _dataset(inputs: Inputs, options: argparse.Namespace) -> tuple[Any, dict[str, bytes]]:
    """Return what the arm did, and what is kept of it where there is no recording."""
    from robot_dynamics.identification.dataset import load_dataset
    from robot_dynamics.identification.dataset.dataset import dataset_from_log, joined
    if options.live is None:
        return joined([load_dataset(path, inputs.robot, inputs.settings)
                       for path in inputs.recordings]), {}
    if options.recordings:
        raise BringupError('and recordings are given', subject='--live',
                           remedy='give one or the other')
    from robot_dynamics.bringup.commands.identify_live import KEPT, kept_file, live_log
    log = live_log(inputs.robot, inputs.settings, options.live, options.namespace,
                   options.domain)
    return dataset_from_log(log, inputs.robot, inputs.settings), {KEPT: kept_file(log)}


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    # Written so that NaN fails.
    if not 0.0 < seconds <= LONGEST_LISTENING:
        raise argparse.ArgumentTypeError(f'{text} is not above 0 and up to '
                                         f'{LONGEST_LISTENING:g}')
    return seconds
