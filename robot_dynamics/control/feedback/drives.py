# SPDX-License-Identifier: Apache-2.0
r"""Rotors and friction of the drives of an arm, where its description has none.

Most descriptions contain the links alone. Behind a gear, however, the rotor of a motor often has
more inertia than the links that it moves: at the last joint of a UR5e some hundred times as much.
A feedback in proportion to the inertia of the links would leave such a joint where friction holds
it. Geared joints are therefore assumed to have, per N m or N of their effort limit L,

.. math::

    a = 0.003\,\mathrm{s^2/rad^2} \; L, \qquad \tau_c = 0.01 \; L

of rotor inertia (kg m^2 or kg, seen from the joint) and Coulomb friction. Both grow with the size
of a drive: a longer motor has the torque and the inertia of several shorter ones. Real arms are
within a factor of about three. A rotor of the description replaces the assumed one.

Under the default gains :math:`\omega_D \lambda (M + a)` the assumed friction moves a joint by at
most :math:`0.01 / (720 \times 0.003)` = 4.6 mrad, whatever its links weigh.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Rotor inertia per effort limit, kg m^2/(N m), and Coulomb friction as a share of it.
ROTOR_SHARE, COULOMB_SHARE = 0.003, 0.01


def assumed_rotors(robot: Robot) -> FloatArray:
    """Rotor inertia of each joint, shape (n,), kg m^2 or kg.

    As described; where nothing is described, `ROTOR_SHARE` of the effort limit, or zero for a
    joint without one.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> assumed_rotors(Robot.from_urdf('planar_2r')).round(3).tolist()  # limits of 100 and 50 N m
    [0.3, 0.15]
    """
    rule = ROTOR_SHARE * np.nan_to_num(robot.limits.effort, nan=0.0, posinf=0.0)
    return np.where(robot.armature > 0.0, robot.armature, rule)


def with_rotors(robot: Robot, rotors: ArrayLike | None = None) -> Robot:
    """The robot with the rotors of its drives.

    Parameters
    ----------
    robot : Robot
        The robot as described; it is not changed.
    rotors : array_like, shape (n,), optional
        Rotor inertia of each joint, seen from the joint; that of `assumed_rotors` by default.
        kg m^2 or kg.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> with_rotors(Robot.from_urdf('planar_2r'), [0.2, 0.0]).armature.tolist()
    [0.2, 0.0]
    """
    given = assumed_rotors(robot) if rotors is None else np.array(rotors, dtype=np.float64)
    return replace(robot, armature=given)
