# SPDX-License-Identifier: Apache-2.0
"""Robots with springs between motors and links.

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics.elastic.dynamics import ElasticDynamics, elastic_base_parameters
    from robot_dynamics.elastic.friction import StribeckFriction
    from robot_dynamics.elastic.joints import ElasticJoints
    from robot_dynamics.elastic.robot import ElasticRobot, elastic_joints_yaml, with_motors

_HOMES = {
    'robot_dynamics.elastic.dynamics': ('ElasticDynamics', 'elastic_base_parameters'),
    'robot_dynamics.elastic.friction': ('StribeckFriction',),
    'robot_dynamics.elastic.joints': ('ElasticJoints',),
    'robot_dynamics.elastic.robot': ('ElasticRobot', 'elastic_joints_yaml', 'with_motors'),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ['ElasticDynamics', 'ElasticJoints', 'ElasticRobot', 'StribeckFriction',
           'elastic_base_parameters', 'elastic_joints_yaml', 'with_motors']


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
