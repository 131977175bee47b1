# SPDX-License-Identifier: Apache-2.0
"""Robots: bodies, joints, frames and inertial parameters, and the files they are read from.

Names are loaded on first use, so that a module of types costs nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics.errors import Finding, Severity
    from robot_dynamics.model.inertia import PARAMETER_SUFFIXES
    from robot_dynamics.model.joints import JointType
    from robot_dynamics.model.robot import Robot
    from robot_dynamics.model.robot_data import Frame, JointLimits

_MODULES = {
    'PARAMETER_SUFFIXES': 'model.inertia', 'Finding': 'errors', 'Frame': 'model.robot_data',
    'JointLimits': 'model.robot_data', 'JointType': 'model.joints', 'Robot': 'model.robot',
    'Severity': 'errors',
}

__all__ = ['PARAMETER_SUFFIXES', 'Finding', 'Frame', 'JointLimits', 'JointType', 'Robot',
           'Severity']


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f'robot_dynamics.{_MODULES[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
