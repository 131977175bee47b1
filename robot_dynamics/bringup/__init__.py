# SPDX-License-Identifier: Apache-2.0
"""Systems of an arm, its controller and observers: described, started, switched and checked.

`System` describes what runs. `run_until_stopped` starts it as child processes; the launch files
start the same processes by ``ros2 launch``::

    from robot_dynamics.bringup import System, run_until_stopped

    run_until_stopped(System(robot='arm7', controller='adaptive').processes(), seconds=60.0)

The command ``robot-dynamics`` is `robot_dynamics.bringup.cli`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ['CheckResult', 'Description', 'HealthReport', 'NodeProcess', 'ProcessRunner', 'System',
           'check_robot', 'check_system', 'child_environment', 'excitation_processes',
           'hardware_processes', 'load_description', 'run_until_stopped']

if TYPE_CHECKING:
    from robot_dynamics.bringup.descriptions import Description, load_description
    from robot_dynamics.bringup.doctor.findings import CheckResult, HealthReport
    from robot_dynamics.bringup.doctor.robot import check_robot
    from robot_dynamics.bringup.doctor.system import check_system
    from robot_dynamics.bringup.excitation import excitation_processes
    from robot_dynamics.bringup.hardware import hardware_processes
    from robot_dynamics.bringup.processes import NodeProcess, child_environment
    from robot_dynamics.bringup.runner import ProcessRunner, run_until_stopped
    from robot_dynamics.bringup.system import System

_MODULES = {'CheckResult': 'doctor.findings', 'Description': 'descriptions',
            'HealthReport': 'doctor.findings', 'NodeProcess': 'processes',
            'ProcessRunner': 'runner', 'System': 'system', 'check_robot': 'doctor.robot',
            'check_system': 'doctor.system', 'child_environment': 'processes',
            'excitation_processes': 'excitation', 'hardware_processes': 'hardware',
            'load_description': 'descriptions', 'run_until_stopped': 'runner'}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
