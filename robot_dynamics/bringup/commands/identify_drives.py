# SPDX-License-Identifier: Apache-2.0
"""Drives of servos out of a YAML with a section ``output_error``: files, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.commands.identify_inputs import Inputs
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.servo.log import ServoLog, read_servo_logs
from robot_dynamics.identification.servo.output_error import (
    identify_drives,
    judge_drives,
    output_error_settings,
    simulated,
)
from robot_dynamics.identification.servo.outputs import drive_files
from robot_dynamics.report.drives_page import drives_page, drives_text

#: The section of the YAML.
SECTION = 'output_error'


def drive_results(inputs: Inputs, page: str) -> tuple[dict[str, bytes], str, int]:
    """Identify drives.

    Parameters
    ----------
    inputs : Inputs
        Robot, logs and YAML.
    page : str
        Name of the page.

    Returns
    -------
    files : dict of str to bytes
        Contents by name.
    text : str
        The verdict, for a terminal.
    rows : int
        How much there was.
    """
    section = inputs.content[SECTION]
    if not isinstance(section, Mapping):
        raise ParameterError('is no mapping', subject=SECTION,
                             remedy='give logs, keys and servo')
    settings = output_error_settings(section)
    robot = inputs.robot
    logs = servo_logs(inputs, section)
    found = identify_drives(robot, logs, settings)
    judged = judge_drives(found, logs)
    files = drive_files(found, judged, logs, robot, inputs.description.urdf)
    runs = simulated(robot, found, logs, settings.step)
    files[page] = drives_page(found, judged, runs, robot).encode()
    return files, drives_text(found, judged, robot), sum(log.count for log in logs)


def servo_logs(inputs: Inputs, section: Mapping[str, Any]) -> tuple[ServoLog, ...]:
    """Return the logs of the section, or those given on the command line.

    What the section says beside a source also counts for a log of that name that is given.
    """
    own = section.get('logs', [])
    own = own if isinstance(own, list) else []
    if inputs.recordings:
        named = {Path(one['source']).name: one for one in own if _has_source(one)}
        logs = [{**named.get(path.name, {}), 'source': str(path.absolute())}
                for path in inputs.recordings]
    else:
        # Those without a source are refused by who reads them.
        logs = [{**one, 'source': str(inputs.path(one['source']).absolute())}
                if _has_source(one) else one for one in own]
    return read_servo_logs({**section, 'logs': logs}, Path(), inputs.robot.joint_names)


def _has_source(log: Any) -> bool:
    return isinstance(log, Mapping) and isinstance(log.get('source'), str)
