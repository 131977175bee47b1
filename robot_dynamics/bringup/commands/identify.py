# SPDX-License-Identifier: Apache-2.0
"""Identify an arm from recordings of its motion and write the identified model.

Reads rosbag2 recordings (MCAP or SQLite), tables or NPZ files, or records a running arm. Writes
identified.urdf, parameters.yaml (for any node, and for launch files: identified:=FOLDER),
covariance.npz, result.json and report.html; with a payload in the YAML, payload.yaml. With
output_error in the YAML, servo drives are identified, without covariances. With elastic_joints,
elastic joints are identified from recordings of links and motors: elastic_joints.yaml beside the
others, covariances in result.json. The exit status is 1 if no URDF could be written.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.bringup.arguments import add_place, seconds_up_to
from robot_dynamics.bringup.descriptions import Description, load_description
from robot_dynamics.bringup.progress import progress_bar
from robot_dynamics.bringup.ros_environment import running_system
from robot_dynamics.bringup.runner import StopFlag
from robot_dynamics.bringup.system import DESCRIPTION
from robot_dynamics.bringup.xacro_args import add_xacro_args
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import BringupError, InertiaError, ParameterError, RecordingError
from robot_dynamics.files import require_replaceable, write_files
from robot_dynamics.identification.dataset.bags import JointStateCollector
from robot_dynamics.identification.dataset.dataset import (
    Dataset,
    dataset_from_log,
    joined,
    load_dataset,
)
from robot_dynamics.identification.dataset.log import Log
from robot_dynamics.identification.dataset.settings import (
    DatasetSettings,
    read_estimate,
    read_settings,
)
from robot_dynamics.identification.elastic.dataset import (
    elastic_settings_from,
    load_elastic_dataset,
)
from robot_dynamics.identification.elastic.identify import identify_elastic
from robot_dynamics.identification.elastic.outputs import ELASTIC_JOINTS, make_elastic_outputs
from robot_dynamics.identification.elastic.problem import ElasticEstimateSettings
from robot_dynamics.identification.outputs import (
    COVARIANCE,
    PARAMETERS,
    PAYLOAD,
    RESULT,
    URDF,
    make_outputs,
    payload_file,
    payload_text,
)
from robot_dynamics.identification.payload import identify_payload_from
from robot_dynamics.identification.rigid import estimate_settings, identify
from robot_dynamics.identification.servo.log import ServoLog, read_servo_logs
from robot_dynamics.identification.servo.output_error import (
    identify_drives,
    output_error_settings,
    simulated,
    verdict_of_drives,
)
from robot_dynamics.identification.servo.outputs import drive_files
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.urdf_document import read_source
from robot_dynamics.report.drives import drives_page, drives_text
from robot_dynamics.report.elastic import elastic_page, elastic_text
from robot_dynamics.report.identification import identification_page, summary_text

#: Name of the page, beside the files of `robot_dynamics.identification.outputs`.
PAGE = 'report.html'
#: Recording of a running arm, stored beside the result so that it can be identified again.
KEPT = 'recording.npz'
#: Names of all other files.
FILES = (URDF, PARAMETERS, COVARIANCE, RESULT, PAYLOAD, ELASTIC_JOINTS, PAGE)
#: Keys of the YAML for servo drives and for elastic joints.
OUTPUT_ERROR, ELASTIC = 'output_error', 'elastic_joints'
#: Longest recording of a running arm, because every message is kept in memory. s.
LONGEST_LISTENING = 3600.0

_ROBOT_KEYS = ('urdf', 'xacro_args', 'joints', 'base_link', 'second_origin_of')


@dataclass(frozen=True, eq=False)
class Inputs:
    """A description, its robot with the joints to identify, recordings, and settings to read them.

    ``content`` has all keys of the YAML; relative paths are looked up in ``folders``.
    """

    description: Description
    robot: Robot
    recordings: tuple[Path, ...]
    settings: DatasetSettings
    content: Mapping[str, Any]
    folders: tuple[Path, ...]


class _Result(NamedTuple):
    """Files by name, the verdict for a terminal, rows used, and the reason for a missing URDF."""

    files: dict[str, bytes]
    text: str
    rows: int
    refused: Exception | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_xacro_args(parser)
    parser.add_argument('recordings', nargs='*', type=Path, metavar='RECORDING',
                        help='folder of a rosbag2 recording, an .mcap, .db3, .npz or .json file, '
                             'or a table of text (.csv, .txt, .tsv, .dat); source of the YAML '
                             'if none is given')
    parser.add_argument('--robot', metavar='URDF',
                        help='its description, or the name of a robot of this package; '
                             'robot.urdf of the YAML if not given')
    parser.add_argument('--config', type=Path, metavar='YAML',
                        help='settings for this recording: names, units, drives, and choices '
                             'that are otherwise made automatically (docs/identification.md)')
    parser.add_argument('--elastic-joints', metavar='YAML',
                        help='motors and springs, where joints are elastic: a file, the name of '
                             'one of this package, or description for the tags of the URDF; '
                             'elastic_joints of the YAML if not given '
                             '(docs/elastic_identification.md)')
    parser.add_argument('--data', type=Path, metavar='DIR',
                        help='folder in which paths of the YAML are looked up, beside its own')
    parser.add_argument('--live', type=seconds_up_to(LONGEST_LISTENING), metavar='SECONDS',
                        help='record the running arm for so long from its first joint states on, '
                             'instead of reading a recording; recording.npz is kept')
    add_place(parser, 'the running arm')
    parser.add_argument('--output', type=Path, default=Path('identified'), metavar='DIR',
                        help='folder for the results')
    parser.add_argument('--allow-inconsistent', action='store_true',
                        help='write a URDF even if the recording contradicts the description '
                             '(unit, sign, gravity) or a body is physically inconsistent')


def run(options: argparse.Namespace) -> int:
    """Identify, write the files and print the verdict."""
    begin = time.perf_counter()
    require_replaceable(options.output, FILES if options.live is None else (*FILES, KEPT))
    inputs = read_inputs(options.recordings, options.robot, options.config, options.data,
                         options.robot_args)
    springs = wanted_joints(inputs.content, options.elastic_joints)
    is_servo = OUTPUT_ERROR in inputs.content
    if is_servo and springs:
        raise BringupError(f'cannot be combined with {OUTPUT_ERROR}', subject=ELASTIC,
                           remedy='leave one of them out')
    if options.live is not None and (is_servo or springs):
        raise BringupError('needs recordings', subject=OUTPUT_ERROR if is_servo else ELASTIC,
                           remedy='omit --live')
    if is_servo:
        result = _identify_servos(inputs)
    elif springs:
        result = _identify_elastic(inputs, springs, options)
    else:
        result = _identify_rigid(inputs, options)
    # A file of an earlier run does not belong to this recording.
    write_files(options.output, result.files, others=FILES)
    print(result.text)
    print(f'\n{options.output / PAGE} ({result.rows:,} rows, {time.perf_counter() - begin:.1f} s)')
    if result.refused is not None:
        may = isinstance(result.refused, (InertiaError, RecordingError))
        hint = '; or give --allow-inconsistent' if may else ''
        print(f'robot-dynamics identify: no URDF was written: {result.refused}{hint}',
              file=sys.stderr)
        return 1
    return 0


def _identify_rigid(inputs: Inputs, options: argparse.Namespace) -> _Result:
    """Result for an arm with rigid joints, and for its payload."""
    estimate = estimate_settings(inputs.content)
    dataset, files = _dataset(inputs, options)
    payload = None
    if 'payload' in inputs.content:
        payload, found, dataset = identify_payload_from(inputs.content, inputs.folders[0],
                                                        inputs.robot, dataset)
    else:
        found = identify(dataset, inputs.robot, estimate)
    outputs = make_outputs(found, dataset, inputs.description.urdf,
                           allow_inconsistent=options.allow_inconsistent)
    files.update(outputs.files)
    files[PAGE] = identification_page(found, dataset, outputs, payload).encode()
    text = summary_text(found)
    if payload is not None:
        files[PAYLOAD] = payload_file(payload).encode()
        text += '\n' + payload_text(payload, inputs.robot.joint_names)
    return _Result(files, text, dataset.count, outputs.refused)


def _dataset(inputs: Inputs, options: argparse.Namespace) -> tuple[Dataset, dict[str, bytes]]:
    """Motion of the arm, and the file of a live recording."""
    if options.live is None:
        return joined([load_dataset(path, inputs.robot, inputs.settings)
                       for path in inputs.recordings]), {}
    if options.recordings:
        raise BringupError('cannot be combined with recordings', subject='--live',
                           remedy='give one or the other')
    log = _live_log(inputs.robot, inputs.settings, options.live, options.namespace,
                    options.domain)
    kept = io.BytesIO()
    np.savez_compressed(kept, time=1e-9 * (log.stamps - log.stamps[0]), position=log.position,
                        velocity=log.velocity, effort=log.effort, names=np.array(log.names))
    return dataset_from_log(log, inputs.robot, inputs.settings), {KEPT: kept.getvalue()}


def _live_log(robot: Robot, settings: DatasetSettings, seconds: float, namespace: str,
              domain: int | None) -> Log:
    """Joint states of a running arm; the first Ctrl-C ends the recording early and keeps it."""
    collector = JointStateCollector(robot.joint_names, settings.names)
    with running_system(domain) as number, StopFlag().listening() as stop:
        from robot_dynamics.nodes.observing.live_states import listen
        where = '' if number is None else f' in ROS domain {number}'
        print(f'listening to {settings.topic or "joint states"}{where} for {seconds:g} s from the '
              'first message on; Ctrl-C ends it early and keeps what was received',
              file=sys.stderr, flush=True)
        listen(seconds, collector.take, topic=settings.topic, namespace=namespace,
               domain=number, is_over=lambda: stop.is_set, progress=progress_bar())
    if stop.is_set and sys.stderr.isatty():
        print(file=sys.stderr)  # ends the line of an unfinished progress bar
    log = collector.log('live')
    print(f'received {log.count:,} messages of {log.source.partition(":")[2]}', file=sys.stderr,
          flush=True)
    return log


def _identify_servos(inputs: Inputs) -> _Result:
    """Result for the drives of servos."""
    section = inputs.content[OUTPUT_ERROR]
    settings = output_error_settings(section)
    robot = inputs.robot
    logs = _servo_logs(inputs, section)
    found = identify_drives(robot, logs, settings)
    judged = verdict_of_drives(found, logs)
    files = drive_files(found, judged, logs, robot, inputs.description.urdf)
    runs = simulated(robot, found, logs, settings.step)
    files[PAGE] = drives_page(found, judged, runs, robot).encode()
    return _Result(files, drives_text(found, judged, robot), sum(log.count for log in logs))


def _servo_logs(inputs: Inputs, section: Mapping[str, Any]) -> tuple[ServoLog, ...]:
    """Logs of the command line, or else those of the section.

    Settings for a source in the section also apply to a given log of that name.
    """
    own = section.get('logs', [])
    own = own if isinstance(own, list) else []
    if inputs.recordings:
        named = {Path(one['source']).name: one for one in own if _has_source(one)}
        logs = [{**named.get(path.name, {}), 'source': str(path.absolute())}
                for path in inputs.recordings]
    else:
        # `read_servo_logs` rejects those without a source.
        logs = [{**one, 'source': str(find_path(one['source'], inputs.folders).absolute())}
                if _has_source(one) else one for one in own]
    return read_servo_logs({**section, 'logs': logs}, Path(), inputs.robot.joint_names)


def _has_source(log: Any) -> bool:
    return isinstance(log, Mapping) and isinstance(log.get('source'), str)


def wanted_joints(content: Mapping[str, Any], option: str | None) -> str:
    """Source of motors and springs, by option or YAML; empty for rigid joints."""
    wanted = content.get(ELASTIC, '') if option is None else option
    if not isinstance(wanted, str):
        raise ParameterError(f'must be a name, got {wanted!r}', subject=ELASTIC,
                             remedy='give a file, the name of one of this package, or description')
    return wanted


def _identify_elastic(inputs: Inputs, wanted: str, options: argparse.Namespace) -> _Result:
    """Result for an arm with elastic joints."""
    if 'payload' in inputs.content:
        raise ParameterError('cannot be identified with elastic joints', subject='payload',
                             remedy=f'leave it out, or leave {ELASTIC} out')
    estimate = read_estimate(ElasticEstimateSettings, inputs.content)
    settings = elastic_settings_from(inputs.content)
    urdf = inputs.description.urdf
    source: Any = {} if wanted == DESCRIPTION else find_path(wanted, inputs.folders)
    if isinstance(source, Path) and not source.is_file():
        source = wanted
    robot = ElasticRobot.from_yaml(source, inputs.robot, description=urdf.encode())
    if not inputs.recordings:
        raise BringupError('is missing', subject='recording',
                           remedy='give one or more, or source in the YAML')
    sets = [load_elastic_dataset(path, robot, settings) for path in inputs.recordings]
    data = replace(sets[0], dataset=joined([one.dataset for one in sets]))
    found = identify_elastic(data, robot, estimate)
    outputs = make_elastic_outputs(found, data, urdf, options.output,
                                   allow_inconsistent=options.allow_inconsistent)
    files = {**outputs.files, PAGE: elastic_page(found, data, outputs).encode()}
    return _Result(files, elastic_text(found, outputs), data.dataset.count, outputs.refused)


def read_inputs(recordings: Sequence[Path], robot: str | None, config: Path | None,
                data: Path | None = None, xacro_args: str = '') -> Inputs:
    """Read the inputs of the command line, and missing ones from the YAML.

    The YAML has ``robot.urdf`` and ``source``, one recording or a list. Relative paths in it are
    relative to its own folder, or to that of --data::

        robot:
          urdf: arm.urdf.xacro
          xacro_args: name:=arm size:=2   # only for a xacro file
          joints: [joint_1, joint_2]      # the others are fixed
          base_link: base
          second_origin_of: joint_1       # a joint that has two origins, against the specification
        source: [first.mcap, second.mcap]
        elastic_joints: my_springs.yaml   # a file, the name of a shipped one, or description
        encoders: both                    # both, links or motors
        motors: {topic: motor_states}     # robot_dynamics.identification.elastic.dataset
        estimate: {friction: auto}

    Recordings and robot (a description, or the name of one of this package) replace those of the
    YAML; ``data`` is a further folder for its paths. ``xacro_args`` are those of a xacro file, and
    replace those of the YAML.
    """
    settings, content = (DatasetSettings(), {}) if config is None else read_settings(config)
    folders = tuple(folder for folder in (None if config is None else config.parent, data)
                    if folder is not None)
    description, chosen = load_robot(content, folders, robot, xacro_args)
    source = content.get('source', [])
    names = [source] if isinstance(source, str) else source
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f'must be a path or a list of paths, got {source!r}',
                             subject='source', remedy='name a recording, or a list of them')
    found = tuple(recordings) or tuple(find_path(name, folders) for name in names)
    return Inputs(description, chosen, found, settings, content, folders)


def load_robot(content: Mapping[str, Any], folders: Sequence[Path], robot: str | None = None,
               xacro_args: str = '') -> tuple[Description, Robot]:
    """Description, and the robot with the joints that the content of a YAML names.

    `robot` replaces the description of the YAML; relative paths are looked up in `folders`.
    """
    keys = content.get('robot', {})
    keys = {'urdf': keys} if isinstance(keys, str) else keys
    if not isinstance(keys, Mapping):
        raise ParameterError(f'must be a mapping, got {keys!r}', subject='robot',
                             remedy='give ' + ', '.join(_ROBOT_KEYS))
    for key in keys:
        if key not in _ROBOT_KEYS:
            raise ParameterError('is not a known setting', subject=f'robot.{key}',
                                 remedy='choose among ' + ', '.join(_ROBOT_KEYS))
    name = keys.get('urdf') if robot is None else robot
    if not isinstance(name, str) or not name:
        raise BringupError('is not given', subject='robot',
                           remedy='give --robot, or robot.urdf in the YAML')
    path = find_path(name, folders) if robot is None else Path(name)
    source = str(path) if path.exists() else name
    if robot is None:
        xacro_args = xacro_args or str(keys.get('xacro_args', ''))
    double = keys.get('second_origin_of')
    if double is None:
        description = load_description(source, xacro_args)
    else:
        text = without_second_origin(read_source(Path(source)).text, str(double))
        description = Description(Path(source), text, Robot.from_urdf(text.encode()))
    joints = content.get('joints', keys.get('joints'))
    base = content.get('base_link', keys.get('base_link'))
    if joints is None and base is None:
        return description, description.robot
    return description, Robot.from_urdf(description.urdf.encode(), joints=joints, base_link=base,
                                        gravity=description.robot.gravity)


def find_path(name: str, folders: Sequence[Path]) -> Path:
    """First existing path of a name in some folders, else the path in the last folder."""
    paths = [folder / name for folder in folders] or [Path(name)]
    return next((path for path in paths if path.exists()), paths[-1])


def without_second_origin(text: str, joint: str) -> str:
    """URDF in which a joint keeps only the first of two origins."""
    parts = re.split(rf'(<joint name="{re.escape(joint)}".*?</joint>)', text, maxsplit=1,
                     flags=re.DOTALL)
    if len(parts) != 3:
        raise ParameterError('is not a joint of the description', subject=joint,
                             remedy='correct second_origin_of, or leave it out')
    head, joint_text, tail = parts
    for other in re.findall(r'<origin[^>]*/>', joint_text)[1:]:
        joint_text = joint_text.replace(other, '')
    return head + joint_text + tail
