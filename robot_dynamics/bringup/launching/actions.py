# SPDX-License-Identifier: Apache-2.0
"""What runs together, as actions of ROS 2's ``launch`` and ``launch_ros``.

Both are imported where they are used, so that everything else of this package
works without them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.arguments import (
    ARGUMENTS,
    Argument,
    launch_text,
    system_from_texts,
)
from robot_dynamics.bringup.child_process import starter_environment
from robot_dynamics.bringup.dds import launch_environment
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.launching.ament import find_package
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.security import enclave_arguments, is_secure
from robot_dynamics.bringup.system import NO_PLANT, System

_ROBOT_OR_TOPIC = ('Path of a URDF, xacro or DH file, or name of a robot of this package; empty '
                   'takes the topic robot_description.')


def declare_arguments(names: Iterable[str], among: Iterable[Argument] = ARGUMENTS,
                      **defaults: str) -> list[Any]:
    """Return the launch arguments of a system.

    Parameters
    ----------
    names : iterable of str
        Which of them.
    among : iterable of Argument
        Them.
    **defaults
        Defaults that differ from those of `System`.
    """
    from launch.actions import DeclareLaunchArgument
    chosen = set(names)
    texts = {'robot': _ROBOT_OR_TOPIC} if defaults.get('robot') == '' else {}
    return [DeclareLaunchArgument(
        argument.name, description=texts.get(argument.name, argument.text),
        default_value=defaults.get(argument.name, launch_text(argument.default)))
        for argument in among if argument.name in chosen]


def system_actions(names: Sequence[str], make_actions: Callable[..., Sequence[Any]] | None = None,
                   *, extra: Sequence[str] = (), **options: Any) -> Any:
    """Return the action that starts the system the launch arguments ask for.

    Parameters
    ----------
    names : sequence of str
        Arguments of the system that were declared.
    make_actions : callable of System, optional
        What to do with it; `node_actions` of its processes by default.
    extra : sequence of str
        Further launch arguments, whose texts it gets by name.
    **options
        Fields of `System` that no argument sets.
    """
    from launch.actions import OpaqueFunction
    from launch.substitutions import LaunchConfiguration

    def start(context: Any) -> Sequence[Any]:
        texts, others = ({name: LaunchConfiguration(name).perform(context) for name in group}
                         for group in (names, extra))
        system = system_from_texts(texts, **options)
        actions = node_actions(system.processes()) if make_actions is None \
            else make_actions(system, **others)
        return [*actions, *state_publisher(system)]

    return OpaqueFunction(function=start)


def state_publisher(system: System) -> list[Any]:
    """Return the robot_state_publisher of a simulated arm, where it is installed.

    It is for those who look, as in RViz; nothing here needs it. An arm that is not ours
    has its own, and a secure system needs keys for everybody.
    """
    if system.plant == NO_PLANT or is_secure(os.environ) \
            or find_package('robot_state_publisher') is None:
        return []
    from launch_ros.actions import Node
    urdf = load_description(system.robot).urdf
    return [Node(package='robot_state_publisher', executable='robot_state_publisher',
                 namespace=system.namespace, parameters=[{
                     'robot_description': launch_value(urdf),
                     'use_sim_time': system.use_sim_time}])]


def node_actions(processes: Iterable[NodeProcess]) -> list[Any]:
    """Return a ``launch_ros`` node for each process; the end of an essential one ends all."""
    return [node_action(process) for process in processes]


def node_action(process: NodeProcess) -> Any:
    """Return the ``launch_ros`` node that runs a process."""
    from launch.actions import Shutdown
    from launch_ros.actions import Node
    parameters: list[Any] = [str(path) for path in process.parameter_files]
    parameters.append({name: launch_value(value) for name, value in process.parameters.items()})
    return Node(
        **_executable(process), name=process.node, namespace=process.namespace,
        parameters=parameters, remappings=list(process.remappings), output=process.output,
        ros_arguments=enclave_arguments(process),
        additional_env={**launch_environment(os.environ), **starter_environment()},
        sigterm_timeout=str(process.stop_timeout),
        on_exit=[Shutdown(reason=f'{process.full_name} ended')] if process.essential else None)


def launch_value(value: Any) -> Any:
    """Keep texts texts: launch would read ``robot_description`` as YAML."""
    from launch_ros.parameter_descriptions import ParameterValue
    if isinstance(value, str):
        return ParameterValue(value, value_type=str)
    return list(value) if isinstance(value, tuple) else value


def _executable(process: NodeProcess) -> dict[str, Any]:
    """Return the installed executable, or this Python where the package is not installed."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        path = Path(prefix) / 'lib' / 'robot_dynamics' / process.node
        if prefix and path.is_file():
            return {'package': 'robot_dynamics', 'executable': process.node}
    return {'executable': sys.executable, 'arguments': ['-m', process.module]}
