# SPDX-License-Identifier: Apache-2.0
"""What a robot is: bodies, joints, frames and inertial parameters.

Names are loaded on first use, so that a module of types costs nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics.model.findings import Finding, Severity
    from robot_dynamics.model.robot import (
        PARAMETER_SUFFIXES,
        Frame,
        JointLimits,
        JointType,
        Robot,
    )

__all__ = ['PARAMETER_SUFFIXES', 'Finding', 'Frame', 'JointLimits', 'JointType', 'Robot',
           'Severity']

_MODULES = {'Finding': 'findings', 'Severity': 'findings'}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f'{__name__}.{_MODULES.get(name, "robot")}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
