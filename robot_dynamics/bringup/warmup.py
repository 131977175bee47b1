# SPDX-License-Identifier: Apache-2.0
"""Compiles every kernel that any node needs, before the first node starts."""

from __future__ import annotations

import importlib
import pkgutil
import time

import robot_dynamics
from robot_dynamics.dynamics.kernels.loading import all_kernels

_ROOMS = ('dynamics', 'control', 'simulation')


def warm_up() -> float:
    """Load or compile every kernel of the package; return the seconds it took.

    Nodes do this themselves. Done before, several that start together need not wait
    for each other, and the user sees what takes so long.
    """
    start = time.perf_counter()
    for room in _ROOMS:
        path = [f'{folder}/{room}' for folder in robot_dynamics.__path__]
        for module in pkgutil.walk_packages(path, f'robot_dynamics.{room}.'):
            importlib.import_module(module.name)
    for kernel in all_kernels():
        kernel.load()
    return time.perf_counter() - start
