# SPDX-License-Identifier: Apache-2.0
"""Robots with springs between motors and links.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from robot_dynamics.elastic.dynamics import ElasticDynamics, elastic_base_parameters
    from robot_dynamics.elastic.friction import StribeckFriction
    from robot_dynamics.elastic.joints import ElasticJoints
    from robot_dynamics.elastic.robot import ElasticRobot, elastic_joints_yaml, with_motors
else:
    __getattr__ = lazy_names(__name__, __file__)

__all__ = ['ElasticDynamics', 'ElasticJoints', 'ElasticRobot', 'StribeckFriction',
           'elastic_base_parameters', 'elastic_joints_yaml', 'with_motors']
