# SPDX-License-Identifier: Apache-2.0
"""Description, start, switching and checks of systems of an arm, its controller and observers.

`System` describes the processes. `run_until_stopped` starts them as child processes; the launch
files start the same processes by ``ros2 launch``::

    from robot_dynamics.bringup import System, run_until_stopped

    run_until_stopped(System(robot='arm7', controller='adaptive').processes(), seconds=60.0)

The command ``robot-dynamics`` is `robot_dynamics.bringup.cli`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

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
else:
    __getattr__ = lazy_names(__name__, __file__)
