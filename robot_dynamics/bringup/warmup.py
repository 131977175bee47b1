# SPDX-License-Identifier: Apache-2.0
"""Compilation of the kernels of nodes before the first node starts."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

import robot_dynamics
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.dynamics.kernels.loading import Compiled
from robot_dynamics.dynamics.warmup import warm_up as warm_up_imported
from robot_dynamics.nodes.controllers import CONTROLLER_NODES

# Importing these rooms imports everything that nodes need from the others.
_ROOMS = ('control', 'simulation')

#: Kernels of nodes in addition to those of every loop, by module of the package.
_OF_NODES = {node: row.kernels for node, row in CONTROLLER_NODES.items()}

#: The same for an arm with elastic joints.
_OF_ELASTIC_ARMS = {'elastic.rotors': ('add_rotor_matrices',), 'elastic.motion': ('advance',)}


def warm_up(processes: Sequence[NodeProcess] = ()) -> float:
    """Load or compile the kernels of a control loop and of some processes; returns the time, s.

    Nodes also do this. If it is done before, nodes that start together do not wait for each other,
    and the user sees the reason of the delay.
    """
    import_kernels()
    return warm_up_imported(kernels_of(processes))


def every_node() -> tuple[NodeProcess, ...]:
    """One process of each kind with additional kernels."""
    return (NodeProcess('simulated_arm', parameters={'elastic_joints': 'description'}),
            *(NodeProcess(node) for node in CONTROLLER_NODES))


def kernels_of(processes: Sequence[NodeProcess]) -> tuple[Compiled, ...]:
    """Kernels of nodes in addition to those of every loop, each once."""
    found: dict[Compiled, None] = {}
    for process in processes:
        wanted = _OF_NODES.get(process.node, {})
        if process.node == 'simulated_arm' and process.parameters.get('elastic_joints'):
            wanted = _OF_ELASTIC_ARMS
        for name, kernels in wanted.items():
            module = importlib.import_module(f'robot_dynamics.{name}')
            found.update(dict.fromkeys(getattr(module, kernel) for kernel in kernels))
    return tuple(found)


def import_kernels() -> None:
    """Import every module that defines kernels, without compiling any."""
    for room in _ROOMS:
        path = [f'{folder}/{room}' for folder in robot_dynamics.__path__]
        for module in pkgutil.walk_packages(path, f'robot_dynamics.{room}.'):
            importlib.import_module(module.name)
