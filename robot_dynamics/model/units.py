# SPDX-License-Identifier: Apache-2.0
"""Which joints of a robot slide, and so in which units their numbers are."""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.arrays import BoolArray
from robot_dynamics.model.joint_types import JointType
from robot_dynamics.model.robot import Robot


def prismatic_joints(robot: Robot) -> BoolArray:
    """Return which joints slide: those whose body does, shape of ``robot.joint_names``."""
    kinds = dict(zip(robot.body_joint_names, robot.joint_types.tolist(), strict=True))
    return np.array([kinds.get(name) == JointType.PRISMATIC for name in robot.joint_names],
                    dtype=np.bool_)


def position_units(robot: Robot) -> tuple[str, ...]:
    """Return the unit of each joint's position, ``'rad'`` or ``'m'``."""
    return tuple('m' if slides else 'rad' for slides in prismatic_joints(robot))


def effort_units(robot: Robot) -> tuple[str, ...]:
    """Return the unit of each joint's effort, ``'N m'`` or ``'N'``."""
    return tuple('N' if slides else 'N m' for slides in prismatic_joints(robot))
