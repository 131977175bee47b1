# SPDX-License-Identifier: Apache-2.0
"""A system whose arm is led through an excitation plan, once, and recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from robot_dynamics.bringup.commands.identify import identified_files
from robot_dynamics.bringup.controllers import find_controller
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.parameter_files import read_parameter_file
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.runner import ProcessRunner
from robot_dynamics.bringup.session import StopFlag
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError
from robot_dynamics.model.shipped import candidate_folders

NODE = 'excitation'
#: As the node has it.
MOST_PERIODS = 1000

#: Name, default and text of the launch arguments beside those of a system.
EXCITATION_ARGUMENTS = {
    'plan': ('', 'File of the plan, as robot-dynamics excite writes it.'),
    'output': ('excitation-recording', 'Folder of the recording; one that is there is replaced. '
               'Empty records nothing.'),
    'periods': ('1', 'How often the motion is played.'),
    'config': ('', 'Parameter file of the excitation node; config/excitation.yaml of this '
               'package by default.'),
}


def excitation_processes(system: System, plan: str, output: str = '', periods: str | int = 1,
                         config: str = '') -> tuple[NodeProcess, ...]:
    """Return what runs, the excitation node last.

    Parameters
    ----------
    system : System
        The arm and its controller; its reference gives way to the plan.
    plan : str
        File of the plan.
    output : str
        Folder of the recording, empty for none.
    periods : int or str
        How often it is played.
    config : str
        Parameter file of the node; that of this package by default.

    Raises
    ------
    RobotDynamicsError
        When something is missing or wrong.
    """
    if not plan:
        raise BringupError('is not given', subject='plan', remedy='design one with '
                           'robot-dynamics excite')
    if not Path(plan).expanduser().is_file():
        raise BringupError('is no file', subject=plan, remedy='design one with robot-dynamics '
                           'excite')
    try:
        count = int(periods)
    except ValueError:
        count = 0
    if not 1 <= count <= MOST_PERIODS:
        raise BringupError(f'is {periods!r}', subject='periods',
                           remedy=f'give a whole number from 1 to {MOST_PERIODS}')
    path = Path(config).expanduser() if config else default_config()
    own = read_parameter_file(path).get(NODE, {})
    tracks = find_controller(system.controller).tracks
    if own.get('play_as', 'reference') == 'reference' and not tracks:
        raise BringupError(f'{system.controller} follows no reference', subject='controller',
                           remedy='choose one that tracks, or set play_as to trajectory for an '
                                  'arm that is controlled by position')
    processes = replace(system, reference=False).processes()
    parameters = {'use_sim_time': system.use_sim_time, 'spin': system.spin,
                  'plan': str(Path(plan).expanduser().resolve()), 'output': output,
                  'periods': count}
    files = (path,)
    if system.identified:
        files = (path, identified_files(system.identified))
    elif system.robot:
        parameters['robot_description'] = load_description(system.robot).urdf
    return (*processes, NodeProcess(NODE, namespace=system.namespace, parameter_files=files,
                                    parameters=parameters, stop_timeout=20.0))


def default_config() -> Path:
    """Return ``config/excitation.yaml`` of this package."""
    for folder in candidate_folders('config'):
        path = folder / 'excitation.yaml'
        if path.is_file():
            return path
    raise BringupError('the parameter files of this package are not installed', subject='config',
                       remedy='install the package again')


def run_excitation(processes: tuple[NodeProcess, ...], environment: Mapping[str, str],
                   seconds: float | None = None) -> bool:
    """Run processes until the excitation node has ended; return whether it played everything.

    Raises
    ------
    BringupError
        When it, or another process, failed.
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
                                   remedy='see what it said above')
    return False
