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

Some descriptions have a placeholder instead of a limit, such as 50,000 N m for the head of Baxter,
which would give a rotor of 150 kg m^2. With the weight W of all links, in N, and the length l of
the arm, in m, real joints have at most 14 W l; the base joint of an arm has about W l. A limit
above 20 W l (20 W of a prismatic joint) therefore counts as not described, unless it is below 400
N m or N: the links of some descriptions have almost no mass.

Under the default gains :math:`\omega_D \lambda (M + a)` the assumed friction moves a joint by at
most :math:`0.01 / (720 \times 0.003)` = 4.6 mrad, whatever its links weigh.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, arm_length, prismatic_joints

#: Rotor inertia per effort limit, kg m^2/(N m), and Coulomb friction as a share of it.
ROTOR_SHARE, COULOMB_SHARE = 0.003, 0.01
#: Largest plausible effort limit, as a multiple of W l or W, and limits that always are. N m or N.
LARGEST_MULTIPLE, PLAUSIBLE_LIMIT = 20.0, 400.0
#: Acceleration of free fall, whatever the gravity of the robot. m/s^2.
_FREE_FALL = 9.81


def assumed_rotors(robot: Robot) -> FloatArray:
    """Rotor inertia of each joint, shape (n,), kg m^2 or kg.

    As described; where nothing is described, `ROTOR_SHARE` of the effort limit, or zero for a
    joint without one or with a placeholder.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> assumed_rotors(Robot.from_urdf('planar_2r')).round(3).tolist()  # limits of 100 and 50 N m
    [0.3, 0.15]
    """
    weight = _FREE_FALL * float(robot.inertial_parameters[:, 0].sum())
    levers = np.where(prismatic_joints(robot), 1.0, arm_length(robot))
    largest = np.maximum(LARGEST_MULTIPLE * weight * levers, PLAUSIBLE_LIMIT)
    limits = robot.limits.effort
    rule = np.where(limits <= largest, ROTOR_SHARE * limits, 0.0)
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
