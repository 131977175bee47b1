# SPDX-License-Identifier: Apache-2.0
"""Compiles every kernel that any node needs, before the first node starts."""

from __future__ import annotations

import importlib
import pkgutil

import robot_dynamics
from robot_dynamics.dynamics.warmup import warm_up as warm_up_imported

_ROOMS = ('dynamics', 'control', 'simulation')


def warm_up() -> float:
    """Load or compile every kernel of the package; return the seconds it took.

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
