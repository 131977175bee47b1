# SPDX-License-Identifier: Apache-2.0
"""Processes of a system as actions of ROS 2's ``launch`` and ``launch_ros``.

Both are imported on use, so that the rest of this package works without them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.arguments import ARGUMENTS, Arguments, launch_text, system_from_texts
from robot_dynamics.bringup.plants import NO_PLANT
from robot_dynamics.bringup.processes import NodeProcess, enclave_arguments, starter_environment
from robot_dynamics.bringup.ros_environment import is_secure, launch_environment
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError, one_of

_ROBOT_OR_TOPIC = ('Path of a URDF, xacro or DH file, or name of a robot of this package; empty '
                   'takes the topic robot_description.')


def system_launch(names: Sequence[str], make: Callable[..., Iterable[Any]] = System.processes, *,
                  arguments: Arguments = ARGUMENTS, extra: Arguments | None = None, **values: Any
                  ) -> Any:
    """Launch description of a system with the launch arguments `names`.

    `extra` are further arguments. `values` contains defaults of arguments, and fixed values of
    other fields of `System`. `make` gets the system and the texts of the arguments `extra`, and
    returns processes or actions.
    """
    from launch import LaunchDescription
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.substitutions import LaunchConfiguration
    extra = extra or {}
    fixed = {name: value for name, value in values.items() if name not in names}
    texts = {'robot': _ROBOT_OR_TOPIC} if values.get('robot') == '' else {}
    declared = [DeclareLaunchArgument(
        name, default_value=launch_text(values.get(name, default)),
        description=texts.get(name, text))
        for name, (default, text) in {**arguments, **extra}.items()
        if name in names or name in extra]

    def start(context: Any) -> list[Any]:
        check_arguments(sys.argv, Path(context.locals.current_launch_file_path).name,
                        (*names, *extra))
        given, others = ({name: LaunchConfiguration(name).perform(context) for name in group}
                         for group in (names, extra))
        system = system_from_texts(given, **fixed)
        made = [node_action(each) if isinstance(each, NodeProcess) else each
                for each in make(system, **others)]
        return [*made, *state_publisher(system)]

    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def check_arguments(command: Sequence[str], file: str, names: Sequence[str]) -> None:
    """Raise `BringupError` for an unknown argument after the name of a launch file.

    ROS 2 ignores it. A launch file that another one includes is not in the command.
    """
    places = [k for k, text in enumerate(command) if Path(text).name == file]
    for text in command[places[-1] + 1:] if places else ():
        name, is_assigned, _ = text.partition(':=')
        if is_assigned and name not in names:
            raise BringupError(f'is not an argument of {file}', subject=name,
                               remedy=one_of(names, name))


def state_publisher(system: System) -> list[Any]:
    """Node robot_state_publisher of a simulated arm, if installed.

    It is for RViz only. A real arm has its own, and with DDS security every node needs keys.
    """
    if system.plant == NO_PLANT or is_secure(os.environ) \
            or find_package('robot_state_publisher') is None:
        return []
    from launch_ros.actions import Node
    urdf = system.description.urdf
    return [Node(package='robot_state_publisher', executable='robot_state_publisher',
                 namespace=system.namespace, parameters=[{
                     'robot_description': launch_value(urdf),
                     'use_sim_time': system.use_sim_time}])]


def node_action(process: NodeProcess) -> Any:
    """``launch_ros`` node of a process; the end of an essential one ends the launch.

    The launch fails where the process failed.
    """
    from launch.actions import Shutdown
    from launch_ros.actions import Node

    def on_exit(event: Any, context: Any) -> Any:
        if context.is_shutdown:
            return None
        if event.returncode != 0:
            raise BringupError(f'ended with status {event.returncode}', subject=process.full_name,
                               remedy='read its last lines above')
        return Shutdown(reason=f'{process.full_name} ended')

    parameters: list[Any] = [str(path) for path in process.parameter_files]
    parameters.append({name: launch_value(value) for name, value in process.parameters.items()})
    return Node(
        **_executable(process), name=process.node, namespace=process.namespace,
        parameters=parameters, remappings=list(process.remappings), output=process.output,
        ros_arguments=enclave_arguments(process),
        additional_env={**launch_environment(os.environ), **starter_environment()},
        sigterm_timeout=str(process.stop_timeout),
        on_exit=on_exit if process.essential else None)


def launch_value(value: Any) -> Any:
    """Value marked as text: launch would otherwise read ``robot_description`` as YAML."""
    from launch_ros.parameter_descriptions import ParameterValue
    if isinstance(value, str):
        return ParameterValue(value, value_type=str)
    return list(value) if isinstance(value, tuple) else value


def _executable(process: NodeProcess) -> dict[str, Any]:
    """Installed executable, or this Python if the package is not installed."""
    if _installed(Path('lib', 'robot_dynamics', process.node)) is not None:
        return {'package': 'robot_dynamics', 'executable': process.node}
    return {'executable': sys.executable, 'arguments': ['-m', process.module]}


def find_package(name: str) -> Path | None:
    """Share folder of a ROS 2 package, None if it is not installed."""
    prefix = _installed(Path('share', 'ament_index', 'resource_index', 'packages', name))
    return None if prefix is None else prefix / 'share' / name


def _installed(file: Path) -> Path | None:
    """First prefix of ROS 2 that contains a file."""
    prefixes = filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep))
    return next((Path(prefix) for prefix in prefixes if (Path(prefix) / file).is_file()), None)


def require_packages(names: Iterable[str], what: str) -> None:
    """Raise `BringupError` with subject `what` if ROS 2 packages are not installed."""
    missing = [name for name in names if find_package(name) is None]
    if not missing:
        return
    distro = os.environ.get('ROS_DISTRO')
    if distro is None:
        raise BringupError(f'needs ROS 2 packages that are not found: {", ".join(missing)}',
                           subject=what, remedy='source a ROS 2 installation first, '
                                                'e.g. source /opt/ros/jazzy/setup.bash')
    packages = ' '.join(f'ros-{distro}-{name.replace("_", "-")}' for name in missing)
    raise BringupError(f'needs packages that are not installed: {", ".join(missing)}',
                       subject=what, remedy=f'sudo apt install {packages}')
