# SPDX-License-Identifier: Apache-2.0
"""A system that plays an excitation plan on an arm and records it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from robot_dynamics.bringup.processes import (
    NodeProcess,
    ParameterValue,
    read_parameter_file,
    shipped_config,
)
from robot_dynamics.bringup.runner import ProcessRunner, StopFlag
from robot_dynamics.bringup.system import (
    NO_REFERENCE,
    System,
    find_controller,
    identified_files,
)
from robot_dynamics.errors import BringupError

NODE = 'excitation'
#: Limit of the parameter ``periods`` of the node.
MOST_PERIODS = 1000

#: Default and text of the launch arguments beside those of a system.
EXCITATION_ARGUMENTS = {
    'plan': ('', 'File of the plan, written by robot-dynamics excite.'),
    'output': ('excitation-recording', 'Folder of the recording; an earlier recording of this '
               'package is replaced, anything else is an error. Empty records nothing.'),
    'periods': ('1', 'Number of times that the motion is played.'),
    'config': ('', 'Parameter file of the excitation node; config/excitation.yaml of this '
               'package by default.'),
}


def excitation_processes(system: System, plan: str, output: str = '', periods: str | int = 1,
                         config: str = '') -> tuple[NodeProcess, ...]:
    """Processes of a system with a plan instead of its reference; the excitation node is last.

    Parameters
    ----------
    system : System
        The arm and its controller.
    plan : str
        File of the plan.
    output : str
        Folder of the recording, empty for none.
    periods : int or str
        Number of repetitions.
    config : str
        Parameter file of the node; by default that of this package.

    Raises
    ------
    RobotDynamicsError
        If an input is missing or invalid.

    Examples
    --------
    >>> from robot_dynamics.bringup import System, excitation_processes
    >>> excitation_processes(System('planar_2r'), 'no_plan.yaml')
    Traceback (most recent call last):
    robot_dynamics.errors.BringupError: no_plan.yaml is not a file; design a plan with ...
    """
    if not plan or not Path(plan).expanduser().is_file():
        raise BringupError('is not a file' if plan else 'is not given', subject=plan or 'plan',
                           remedy='design a plan with robot-dynamics excite')
    try:
        count = int(periods)
    except ValueError:
        count = 0
    if not 1 <= count <= MOST_PERIODS:
        raise BringupError(f'must be a whole number from 1 to {MOST_PERIODS}, got {periods!r}',
                           subject='periods', remedy='give the number of repetitions')
    path = Path(config).expanduser() if config else shipped_config() / 'excitation.yaml'
    own = read_parameter_file(path).get(NODE, {})
    if own.get('play_as', 'reference') == 'reference' \
            and not find_controller(system.controller).tracks:
        raise BringupError(f'must follow a reference, got {system.controller}',
                           subject='controller',
                           remedy='choose one that tracks, or set play_as to trajectory for an '
                                  'arm that is controlled by position')
    parameters: dict[str, ParameterValue] = {
        'plan': str(Path(plan).expanduser().resolve()), 'output': output, 'periods': count,
        **system.state_timeout()}
    files: tuple[Path, ...] = (path,)
    if system.identified:
        files = (path, identified_files(system.identified))
    elif system.robot:
        parameters['robot_description'] = system.description.urdf
    return (*replace(system, reference=NO_REFERENCE).processes(),
            system.node(NODE, parameters, files=files, stop_timeout=20.0))


def run_excitation(processes: tuple[NodeProcess, ...], environment: Mapping[str, str],
                   seconds: float | None = None) -> bool:
    """Run processes until the excitation node ends; return whether it played the whole plan.

    Raises `BringupError` when it, or another process, failed.
    """
    *others, last = processes
    name = last.full_name
    with StopFlag().listening() as stop, ProcessRunner(
            (*others, replace(last, essential=False)), environment=environment) as runner:
        end = None if seconds is None else time.monotonic() + seconds
        while not stop.is_set and (end is None or time.monotonic() < end):
            runner.poll(0.1)
            status = runner.exit_statuses()[name]
            if status == 0:
                return True
            if status is not None:
                raise BringupError(f'ended with status {status}', subject=name,
                                   remedy='read its messages above')
    return False
