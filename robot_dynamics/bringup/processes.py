# SPDX-License-Identifier: Apache-2.0
"""What a process of a running system is: plain data, read by every way of starting it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from robot_dynamics.errors import BringupError

#: What a node parameter can be.
ParameterValue = bool | int | float | str | Sequence[bool] | Sequence[int] | Sequence[float] \
    | Sequence[str]

NODES_PACKAGE = 'robot_dynamics.nodes'

_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


@dataclass(frozen=True)
class NodeProcess:
    """One ROS 2 node in a process of its own.

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
        ROS 2 parameter files, weaker than `parameters`; a later file wins.
    parameters : mapping of str to bool, int, float, str or a sequence of one of them
        Parameters of the node.
    remappings : tuple of (str, str)
        Names as the node knows them, and what they become.
    output : {'screen', 'log'}
        Where what it writes goes: to the terminal, or only to the log.
    essential : bool
        Whether the system has failed when this process ends before the others.
    stop_timeout : float
        Seconds the process gets to end by itself before it is forced to.
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
            raise BringupError('is not the name of a node', subject=self.node or "''",
                               remedy='use letters, digits and underscores')
        for part in filter(None, self.namespace.split('/')):
            if not _NAME.fullmatch(part):
                raise BringupError('is not a namespace', subject=self.namespace,
                                   remedy='use names of letters, digits and underscores, '
                                          'separated by /')
        object.__setattr__(self, 'module', self.module or f'{NODES_PACKAGE}.{self.node}')
        object.__setattr__(self, 'parameters', MappingProxyType(dict(self.parameters)))

    @property
    def full_name(self) -> str:
        """The node's name with its namespace, e.g. ``/left/simulated_arm``."""
        return '/'.join(['', *filter(None, self.namespace.split('/')), self.node])
