# SPDX-License-Identifier: Apache-2.0
"""What has to be told to nodes about an arm's driver: parameter files by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from robot_dynamics.bringup.controllers import CONTROLLER_NODES
from robot_dynamics.bringup.parameter_files import read_parameter_file
from robot_dynamics.bringup.processes import NodeProcess, ParameterValue
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError
from robot_dynamics.model.shipped import candidate_folders

#: Nodes that have to do with a driver.
NODES = (*CONTROLLER_NODES, 'inverse_dynamics', 'reference')

#: Parameters that tell of a driver: what a file says of them to one controller holds for every
#: controller that the file does not name.
DRIVER_PARAMETERS = frozenset((
    'rate', 'spin', 'command_topic', 'command_type', 'command_joints', 'effort_kind',
    'effort_scale', 'hardware_gravity_compensation', 'effort_limit', 'effort_rate_limit',
    'state_publishers', 'state_timeout', 'state_skew', 'max_age', 'max_future',
    'velocity_cutoff', 'safe_command', 'safe_command_count', 'resume_after'))

#: Launch arguments of a system with a driver beside those of a system: default and text.
HARDWARE_ARGUMENTS = {
    'hardware': ('ros2_control', 'What the driver is like: the name of a file in '
                 'config/hardware, or the path of a parameter file.'),
    'command_topic': ('', 'Where the controller of the arm takes efforts; empty means what the '
                      'file of the hardware says.'),
    'joint_states': ('joint_states', 'Where the driver publishes the states of the joints.'),
}


def shipped_hardware() -> dict[str, Path]:
    """Return the parameter files ``config/hardware/<name>.yaml`` by name, in order."""
    for folder in candidate_folders('config'):
        files = sorted((folder / 'hardware').glob('*.yaml'))
        if files:
            return {path.stem: path for path in files}
    raise BringupError('the parameter files of this package are not installed',
                       subject='config/hardware', remedy='install the package again')


def hardware_processes(system: System, hardware: str, command_topic: str = '',
                       joint_states: str = 'joint_states') -> tuple[NodeProcess, ...]:
    """Return what runs beside a driver.

    Parameters
    ----------
    system : System
        A system without a plant.
    hardware, command_topic, joint_states : str
        Values of `HARDWARE_ARGUMENTS`.

    Raises
    ------
    RobotDynamicsError
        When the robot or the hardware cannot be used.
    """
    parameters = with_every_controller(load_hardware(hardware))
    if command_topic:
        for node in CONTROLLER_NODES:
            parameters.setdefault(node, {})['command_topic'] = command_topic
    renamed = () if joint_states == 'joint_states' else (('joint_states', joint_states),)
    return tuple(replace(process, remappings=renamed)
                 for process in replace(system, parameters=parameters).processes())


def load_hardware(name_or_path: str) -> dict[str, dict[str, ParameterValue]]:
    """Return the parameters for an arm's driver, by node name.

    Parameters
    ----------
    name_or_path : str
        Name of a file of this package, or path of a ROS 2 parameter file whose nodes
        are among `NODES`.

    Raises
    ------
    BringupError
        When there is none or it is no such file.
    """
    path = _find(name_or_path)
    parameters = read_parameter_file(path)
    for node in parameters:
        if node not in NODES:
            raise BringupError(f'{node} is not a node it can be for', subject=str(path),
                               remedy='give parameters of: ' + ', '.join(NODES))
    return parameters


def with_every_controller(parameters: Mapping[str, Mapping[str, ParameterValue]]
                          ) -> dict[str, dict[str, ParameterValue]]:
    """Return parameters by node in which every controller is told of the driver.

    One arm has one driver. A controller that a file does not name takes what the file
    tells the first of those that it names, as far as that is about the driver.
    """
    told = [node for node in CONTROLLER_NODES if node in parameters]
    driver = {name: value for name, value in parameters[told[0]].items()
              if name in DRIVER_PARAMETERS} if told else {}
    return {**{node: dict(driver) for node in CONTROLLER_NODES if driver},
            **{node: dict(values) for node, values in parameters.items()}}


def _find(name_or_path: str) -> Path:
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path.resolve()
    known = shipped_hardware()
    if name_or_path in known:
        return known[name_or_path]
    raise BringupError('is neither a file nor a driver known here', subject=name_or_path or "''",
                       remedy='give the path of a parameter file or one of: ' + ', '.join(known))
