# SPDX-License-Identifier: Apache-2.0
"""One node of a system as plain data, and the command that runs it as a child process."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

import robot_dynamics
from robot_dynamics.bringup.ros_environment import dds_environment, is_secure, one_thread
from robot_dynamics.errors import BringupError
from robot_dynamics.model.shipped import candidate_folders
from robot_dynamics.model.yaml_text import read_yaml
from robot_dynamics.nodes.ros.stopping import STARTED_BY

#: Types of a node parameter.
ParameterValue = bool | int | float | str | Sequence[bool] | Sequence[int] | Sequence[float] \
    | Sequence[str]

NODES_PACKAGE = 'robot_dynamics.nodes'

#: Path of the enclaves of our nodes in a keystore; config/security/policy.xml lists them.
ENCLAVES = '/robot_dynamics'

_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_FILE_SHAPE = 'write: <node>: {ros__parameters: {<name>: <value>}}'


@dataclass(frozen=True)
class NodeProcess:
    """One ROS 2 node in a separate process.

    Parameters
    ----------
    node : str
        Name of the node and of its executable, e.g. ``'simulated_arm'``.
    module : str
        Python module that runs it; the one of that name in ``robot_dynamics/nodes``
        by default.
    namespace : str
        Namespace of the node, ``''`` for the root.
    parameter_files : tuple of Path
        ROS 2 parameter files; `parameters` and later files take precedence.
    parameters : mapping of str to bool, int, float, str or a sequence of one of them
        Parameters of the node.
    remappings : tuple of (str, str)
        Names in the node, and their replacements.
    output : {'screen', 'log'}
        Where its output goes: to the terminal, or only to the log.
    essential : bool
        Whether an early end of this process is a failure of the system.
    stop_timeout : float
        Time for the process to end before it is killed, s.

    Examples
    --------
    >>> from robot_dynamics.bringup import NodeProcess
    >>> NodeProcess('simulated_arm', namespace='left').full_name
    '/left/simulated_arm'
    """

    node: str
    module: str = ''
    namespace: str = ''
    parameter_files: tuple[Path, ...] = ()
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()
    output: str = 'screen'
    essential: bool = True
    stop_timeout: float = 5.0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.node):
            raise BringupError('is not a valid node name', subject=self.node or "''",
                               remedy='use letters, digits and underscores')
        for part in filter(None, self.namespace.split('/')):
            if not _NAME.fullmatch(part):
                raise BringupError('is not a valid namespace', subject=self.namespace,
                                   remedy='use names of letters, digits and underscores, '
                                          'separated by /')
        object.__setattr__(self, 'module', self.module or f'{NODES_PACKAGE}.{self.node}')
        object.__setattr__(self, 'parameters', MappingProxyType(dict(self.parameters)))

    @property
    def full_name(self) -> str:
        """Name of the node with its namespace, e.g. ``/left/simulated_arm``."""
        return '/'.join(['', *filter(None, self.namespace.split('/')), self.node])


def read_parameter_file(path: Path) -> dict[str, dict[str, ParameterValue]]:
    """Parameters by node of a ROS 2 parameter file; groups become part of the names.

    Raises a `BringupError` if it cannot be read or is not a parameter file.
    """
    content = read_yaml(path, BringupError, 'give a ROS 2 parameter file')
    if not isinstance(content, dict) or not content:
        raise BringupError('has no nodes', subject=str(path), remedy=_FILE_SHAPE)
    parameters = {}
    for node, below in content.items():
        values = below.get('ros__parameters') if isinstance(below, dict) else None
        if not isinstance(node, str) or not isinstance(values, dict):
            raise BringupError(f'has no ros__parameters below {node}', subject=str(path),
                               remedy=_FILE_SHAPE)
        parameters[node] = dict(_flat(values))
    return parameters


def shipped_config() -> Path:
    """Folder ``config`` of this package; raises `BringupError` if it is not installed."""
    for folder in candidate_folders('config'):
        if (folder / 'excitation.yaml').is_file():
            return folder
    raise BringupError('is not installed', subject='config of robot_dynamics',
                       remedy='reinstall the package')


def _flat(values: Mapping[Any, Any], prefix: str = '') -> Iterator[tuple[str, ParameterValue]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value


def parameter_yaml(process: NodeProcess) -> str:
    """Text of a ROS 2 parameter file with the parameters of a node."""
    values = {name: list(value) if isinstance(value, tuple) else value
              for name, value in process.parameters.items()}
    return yaml.safe_dump({process.full_name: {'ros__parameters': values}},
                          allow_unicode=True, width=float('inf'))


def command_line(process: NodeProcess, parameter_file: Path,
                 environment: Mapping[str, str] | None = None) -> list[str]:
    """Command that runs a node with this Python and a file with its `parameter_yaml`.

    The environment, by default that of this process, determines whether DDS security is used.
    """
    command = [sys.executable, '-m', process.module, '--ros-args', '-r', f'__node:={process.node}',
               *enclave_arguments(process, environment)]
    if process.namespace:
        command += ['-r', f'__ns:=/{process.namespace.strip("/")}']
    for old, new in process.remappings:
        command += ['-r', f'{old}:={new}']
    for path in (*process.parameter_files, parameter_file):
        command += ['--params-file', str(path)]
    return command


def enclave_arguments(process: NodeProcess,
                      environment: Mapping[str, str] | None = None) -> list[str]:
    """ROS arguments that put a node into its enclave; none without DDS security."""
    if not is_secure(os.environ if environment is None else environment):
        return []
    return ['--enclave', f'{ENCLAVES}/{process.node}']


def child_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment of the nodes of one system, private to this machine by default.

    See `robot_dynamics.bringup.ros_environment.dds_environment` for the variables that change
    this. Call it once per system, so that all its processes share the domain.

    Parameters
    ----------
    base : mapping of str to str, optional
        Environment to start from; that of this process by default.

    Examples
    --------
    >>> from robot_dynamics.bringup import child_environment
    >>> child_environment({'ROS_DOMAIN_ID': '7'})['ROS_DOMAIN_ID']
    '7'
    """
    environment = dict(os.environ if base is None else base)
    environment.update(dds_environment(environment))
    environment.update(one_thread(environment))
    environment['PYTHONUNBUFFERED'] = '1'
    # Lets a checkout run without installation.
    root = str(Path(robot_dynamics.__file__).resolve().parents[1])
    paths = [path for path in environment.get('PYTHONPATH', '').split(os.pathsep) if path]
    environment['PYTHONPATH'] = os.pathsep.join([root, *(p for p in paths if p != root)])
    return environment


def starter_environment() -> dict[str, str]:
    """Variable with the process that starts a node; the node ends when that process ends."""
    return {STARTED_BY: str(os.getpid())}
