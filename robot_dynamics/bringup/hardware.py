# SPDX-License-Identifier: Apache-2.0
"""Parameter files by name for the drivers of arms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from robot_dynamics.bringup.processes import (
    NodeProcess,
    ParameterValue,
    read_parameter_file,
    shipped_config,
)
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError
from robot_dynamics.model.shipped import resolve_file
from robot_dynamics.nodes.controllers import CONTROLLER_NODES

#: Nodes that depend on the driver.
NODES = (*CONTROLLER_NODES, 'command_guard', 'inverse_dynamics', 'reference')

#: Parameters of a controller that describe the driver. A file sets them for one controller; they
#: then apply to every controller that the file does not name.
DRIVER_PARAMETERS = frozenset((
    'rate', 'spin', 'joints', 'command_topic', 'command_type', 'command_joints', 'effort_kind',
    'effort_scale', 'hardware_gravity_compensation', 'effort_limit', 'effort_limit_share',
    'effort_rate_limit', 'delay', 'state_publishers', 'state_timeout', 'state_skew', 'max_age',
    'max_future', 'velocity_cutoff', 'safe_command', 'safe_command_count', 'states_lost',
    'resume_after', 'deactivate_effort_controller', 'stop_service'))

#: Default and text of the launch arguments for a driver, beside those of a system.
HARDWARE_ARGUMENTS = {
    'hardware': ('', 'Settings for the driver: the name of a file in config/hardware, or the '
                 'path of a parameter file. No default: whether an arm carries itself decides.'),
    'command_topic': ('', 'Topic on which the driver receives efforts; empty takes that of the '
                      'file of the hardware.'),
    'joint_states': ('joint_states', 'Topic on which the driver publishes joint states.'),
}


def shipped_hardware() -> dict[str, Path]:
    """Parameter files ``config/hardware/<name>.yaml`` by name, in alphabetical order."""
    return {path.stem: path for path in sorted((shipped_config() / 'hardware').glob('*.yaml'))}


def hardware_processes(system: System, hardware: str, command_topic: str = '',
                       joint_states: str = 'joint_states') -> tuple[NodeProcess, ...]:
    """Processes that run beside the driver of an arm, as in ``hardware.launch.py``.

    Parameters
    ----------
    system : System
        A system without a plant.
    hardware, command_topic, joint_states : str
        Values of `HARDWARE_ARGUMENTS`.

    Raises
    ------
    RobotDynamicsError
        If the robot or the hardware cannot be used.

    Examples
    --------
    >>> from robot_dynamics.bringup import System, hardware_processes
    >>> system = System('planar_2r', 'pd_gravity', plant='none', reference='none')
    >>> hardware_processes(system, 'ur')[0].parameters['command_topic']
    'forward_effort_controller/commands'
    """
    return with_states_from(joint_states,
                            with_hardware(system, hardware, command_topic).processes())


def with_hardware(system: System, hardware: str, command_topic: str = '') -> System:
    """System with the settings for a driver; arguments as for `hardware_processes`."""
    parameters = with_every_controller(load_hardware(hardware))
    if command_topic:
        for node in (*CONTROLLER_NODES, 'command_guard'):
            parameters.setdefault(node, {})['command_topic'] = command_topic
    return replace(system, parameters=parameters)


def with_states_from(topic: str, processes: Iterable[NodeProcess]) -> tuple[NodeProcess, ...]:
    """Processes that take joint states from a topic of another name."""
    renamed = () if topic == 'joint_states' else (('joint_states', topic),)
    return tuple(replace(process, remappings=renamed) for process in processes)


def load_hardware(name_or_path: str) -> dict[str, dict[str, ParameterValue]]:
    """Parameters for the driver of an arm, by node name.

    The argument is the name of a file of this package, or the path of a ROS 2 parameter file for
    some of `NODES`; raises `RobotDynamicsError` for anything else.
    """
    if not name_or_path:
        raise BringupError('is not given', subject='hardware', remedy='name one of: '
                           + ', '.join(shipped_hardware()) + '; or a file of your own '
                           '(docs/hardware.md): a wrong one makes the arm fall or jump')
    path = resolve_file(name_or_path, shipped_hardware, 'a known driver', '.yaml')
    parameters = read_parameter_file(path)
    for node in parameters:
        if node not in NODES:
            raise BringupError(f'has parameters of {node}', subject=str(path),
                               remedy='give parameters of: ' + ', '.join(NODES))
    return parameters


def with_every_controller(parameters: Mapping[str, Mapping[str, ParameterValue]]
                          ) -> dict[str, dict[str, ParameterValue]]:
    """Parameters by node in which every controller has the settings of the driver.

    An arm has one driver, so that a controller that a file does not name gets the
    `DRIVER_PARAMETERS` of the first one that it names.
    """
    named = [node for node in CONTROLLER_NODES if node in parameters]
    driver = {name: value for name, value in parameters[named[0]].items()
              if name in DRIVER_PARAMETERS} if named else {}
    return {**{node: dict(driver) for node in CONTROLLER_NODES if driver},
            **{node: dict(values) for node, values in parameters.items()}}
