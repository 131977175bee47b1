# SPDX-License-Identifier: Apache-2.0
"""What a robot is: bodies, joints, frames and inertial parameters."""

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
