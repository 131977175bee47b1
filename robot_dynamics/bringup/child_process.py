# SPDX-License-Identifier: Apache-2.0
"""How a node becomes a child process: its command line, parameter file and environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

import robot_dynamics
from robot_dynamics.bringup.dds import dds_environment
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.security import enclave_arguments
from robot_dynamics.nodes.ros.stopping import STARTED_BY


def parameter_yaml(process: NodeProcess) -> str:
    """Return the parameters of a node as the text of a ROS 2 parameter file."""
    values = {name: list(value) if isinstance(value, tuple) else value
              for name, value in process.parameters.items()}
    return yaml.safe_dump({process.full_name: {'ros__parameters': values}},
                          allow_unicode=True, width=float('inf'))


def command_line(process: NodeProcess, parameter_file: Path,
                 environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the command that runs a node with this Python.

    Parameters
    ----------
    process : NodeProcess
        What to run.
    parameter_file : Path
        File that holds `parameter_yaml` of it.
    environment : mapping of str to str, optional
        Its environment, which says whether DDS is to be secure; that of this process by
        default.
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


def child_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of nodes that talk on this machine only and disturb nobody.

    See `dds_environment` for what the user may have set against that. Call this once a
    system, so that all its processes share the domain.

    Parameters
    ----------
    base : mapping of str to str, optional
        Where to start from; the environment of this process by default.
    """
    environment = dict(os.environ if base is None else base)
    environment.update(dds_environment(environment))
    # Arm-sized matrices gain nothing from BLAS threads, which would fight for the cores.
    environment.setdefault('OPENBLAS_NUM_THREADS', '1')
    environment.setdefault('OMP_NUM_THREADS', '1')
    environment['PYTHONUNBUFFERED'] = '1'
    # A checkout need not be installed to be run.
    root = str(Path(robot_dynamics.__file__).resolve().parents[1])
    paths = [path for path in environment.get('PYTHONPATH', '').split(os.pathsep) if path]
    environment['PYTHONPATH'] = os.pathsep.join([root, *(p for p in paths if p != root)])
    return environment


def starter_environment() -> dict[str, str]:
    """Return what tells a node that this process starts it, so that it never outlives it."""
    return {STARTED_BY: str(os.getpid())}
