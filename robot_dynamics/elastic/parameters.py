# SPDX-License-Identifier: Apache-2.0
r"""The 14 n parameters Pi of a robot with n elastic joints, in three orders.

=============  ==================================================================
``'paper'``    m, c, I, Upsilon, f_s, f_v, K: each for all joints, I of a body as
               xx, yy, zz, xy, xz, yz (eq. 14 of Zollo et al., "Identification of
               Dynamic Parameters for Robots with Elastic Joints")
``'tables'``   the same with K first, as in tables 1 and 3 to 6 of that paper
``'bodies'``   the ten of each body as everywhere in this package, then Upsilon,
               f_s, f_v, K
=============  ==================================================================

m is the mass of a body, c its first moment and I its inertia about the origin of the link
frame, off-diagonal entries being those of the tensor; Upsilon and K are the inertia of the
rotor and the stiffness of the spring, f_s and f_v Coulomb and viscous friction of the motor.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.model.arrays import IntArray
from robot_dynamics.model.robot import Robot

ParameterOrder = Literal['paper', 'tables', 'bodies']

#: Of each joint, after the ten of each body.
JOINT_PARAMETERS = ('rotor_inertia', 'coulomb', 'viscous', 'stiffness')

# Where xx, yy, zz, xy, xz, yz stand among the ten parameters of a body.
_TENSOR = (4, 7, 9, 5, 6, 8)


def places(n: int, order: ParameterOrder) -> IntArray:
    """Return where each parameter of an order stands in the order ``'bodies'``.

    Parameters
    ----------
    n : int
        Number of joints.
    order : {'paper', 'tables', 'bodies'}
        The order.

    Returns
    -------
    ndarray of int64, shape (14 n,)
        ``in_order = bodies_first[places(n, order)]``.

    Raises
    ------
    ParameterError
        When there is no such order.
    """
    if order not in get_args(ParameterOrder):
        raise ParameterError(f'is {shown(order)}', subject='order',
                             remedy='choose among: ' + ', '.join(get_args(ParameterOrder)))
    if order == 'bodies':
        return np.arange(14 * n)
    of_bodies = np.arange(10 * n).reshape(n, 10)
    of_joints = np.arange(10 * n, 14 * n)
    rotors_and_friction, stiffness = of_joints[:3 * n], of_joints[3 * n:]
    inertial = [of_bodies[:, 0], of_bodies[:, 1:4].ravel(), of_bodies[:, _TENSOR].ravel()]
    if order == 'tables':
        return np.concatenate([stiffness, *inertial, rotors_and_friction])
    return np.concatenate([*inertial, rotors_and_friction, stiffness])


def parameter_names(links: Robot, order: ParameterOrder) -> tuple[str, ...]:
    """Return ``link/m`` and the like, and ``joint/rotor_inertia`` and the like, in order."""
    names = links.parameter_names + tuple(f'{joint}/{kind}' for kind in JOINT_PARAMETERS
                                          for joint in links.joint_names)
    return tuple(names[place] for place in places(links.n, order))
