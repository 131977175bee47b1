# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels that most nodes need, before the first node starts."""

from __future__ import annotations

import importlib
import pkgutil

import robot_dynamics
from robot_dynamics.dynamics.warmup import warm_up as warm_up_imported

# What of the other rooms a node needs these import.
_ROOMS = ('control', 'simulation')


def warm_up() -> float:
    """Load or compile the kernels of a control loop; return the seconds it took.

    Nodes do this themselves. Done before, several that start together need not wait
    for each other, and the user sees what takes so long.
    """
    import_kernels()
    return warm_up_imported()


def import_kernels() -> None:
    """Import every module that defines kernels, without compiling any."""
    for room in _ROOMS:
        path = [f'{folder}/{room}' for folder in robot_dynamics.__path__]
        for module in pkgutil.walk_packages(path, f'robot_dynamics.{room}.'):
            importlib.import_module(module.name)
