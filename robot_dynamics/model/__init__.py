# SPDX-License-Identifier: Apache-2.0
"""Robots: bodies, joints, frames and inertial parameters, and the files they are read from.

Names are loaded on first use, so that importing a type does not load the readers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

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
else:
    __getattr__ = lazy_names(__name__, __file__)

__all__ = ['PARAMETER_SUFFIXES', 'Finding', 'Frame', 'JointLimits', 'JointType', 'Robot',
           'Severity', 'check_body', 'com_from_parameters', 'parameters_from_com',
           'project_to_consistent', 'resolve_robot', 'shipped_robots', 'with_payload',
           'with_scaled_masses']
