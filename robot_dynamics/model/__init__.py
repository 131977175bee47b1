# SPDX-License-Identifier: Apache-2.0
"""Robots: bodies, joints, frames and inertial parameters, and the files they are read from.

Names are loaded on first use, so that a module of types costs nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics.errors import Finding, Severity
    from robot_dynamics.model.inertia import (
        PARAMETER_SUFFIXES,
        check_body,
        com_from_parameters,
        parameters_from_com,
        project_to_consistent,
    )
    from robot_dynamics.model.joints import JointType
    from robot_dynamics.model.modify import with_payload, with_scaled_masses
    from robot_dynamics.model.robot import Robot
    from robot_dynamics.model.robot_data import Frame, JointLimits
    from robot_dynamics.model.shipped import resolve_robot, shipped_robots

_HOMES = {
    'robot_dynamics.errors': ('Finding', 'Severity'),
    'robot_dynamics.model.inertia': ('PARAMETER_SUFFIXES', 'check_body', 'com_from_parameters',
                      'parameters_from_com', 'project_to_consistent'),
    'robot_dynamics.model.joints': ('JointType',),
    'robot_dynamics.model.modify': ('with_payload', 'with_scaled_masses'),
    'robot_dynamics.model.robot': ('Robot',),
    'robot_dynamics.model.robot_data': ('Frame', 'JointLimits'),
    'robot_dynamics.model.shipped': ('resolve_robot', 'shipped_robots'),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ['PARAMETER_SUFFIXES', 'Finding', 'Frame', 'JointLimits', 'JointType', 'Robot',
           'Severity', 'check_body', 'com_from_parameters', 'parameters_from_com',
           'project_to_consistent', 'resolve_robot', 'shipped_robots', 'with_payload',
           'with_scaled_masses']


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
