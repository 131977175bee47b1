# SPDX-License-Identifier: Apache-2.0
r"""Joint effects that are linear in a parameter a joint: friction, armature, offset.

Each is one more column a joint in a regressor, after the inertial ones:

==========  =====================  ==================================
name        column entry           parameter
==========  =====================  ==================================
viscous     v                      viscous coefficient, N m s/rad
coulomb     tanh(v / epsilon)      Coulomb torque, N m
armature    a                      reflected rotor inertia, kg m^2
offset      1                      constant torque, N m
==========  =====================  ==================================

(N s/m, N, kg and N for a prismatic joint). In the Slotine-Li regressor v and a are the
reference v_r and a_r: a controller then compensates the friction of the motion it
wants, which does not chatter with the measured sign of v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics.dynamics.kernels import terms as kernels
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

_CODES = {
    'viscous': kernels.VISCOUS,
    'coulomb': kernels.COULOMB,
    'armature': kernels.ARMATURE,
    'offset': kernels.OFFSET,
}

_DESCRIBED: dict[str, Callable[[Robot], FloatArray]] = {
    'viscous': lambda robot: robot.damping,
    'coulomb': lambda robot: robot.friction,
    'armature': lambda robot: robot.armature,
    'offset': lambda robot: np.zeros(robot.n),
}

#: Every term, by name.
JOINT_TERMS = tuple(_CODES)


def check_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the terms as a tuple; refuse unknown or repeated names."""
    try:
        if isinstance(terms, (set, frozenset)):
            raise TypeError('no order')
        terms = (terms,) if isinstance(terms, str) else tuple(terms)
    except TypeError:
        raise ParameterError(f'is {terms!r}, not a list of joint terms', subject='terms',
                             remedy='choose among ' + ', '.join(JOINT_TERMS)) from None
    for term in terms:
        if not isinstance(term, str) or term not in JOINT_TERMS:
            raise ParameterError('is no joint term', subject=str(term),
                                 remedy='choose among ' + ', '.join(JOINT_TERMS))
    if len(set(terms)) != len(terms):
        raise ParameterError('names a joint term twice', subject=', '.join(terms),
                             remedy='name each term once')
    return terms


def choice_of(terms: Sequence[str], epsilon: float) -> FloatArray:
    """Return the terms as `robot_dynamics.dynamics.kernels.terms` reads them."""
    return np.array([epsilon, *(_CODES[term] for term in check_terms(terms))])


def described_parameters(robot: Robot, terms: Sequence[str]) -> FloatArray:
    """Return the parameters of the terms as the robot's description gives them.

    Shape (len(terms) n,).
    """
    return np.concatenate([np.zeros(0), *(_DESCRIBED[term](robot)
                                          for term in check_terms(terms))])
