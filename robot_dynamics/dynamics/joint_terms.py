# SPDX-License-Identifier: Apache-2.0
r"""Joint effects that are linear in one parameter per joint: friction, armature, offset.

Each term adds one column per joint to a regressor, after the inertial columns:

==========  =====================  ==================================
name        column entry           parameter
==========  =====================  ==================================
viscous     v                      viscous coefficient, N m s/rad
coulomb     tanh(v / epsilon)      Coulomb torque, N m
armature    a                      reflected rotor inertia, kg m^2
offset      1                      constant torque, N m
==========  =====================  ==================================

(N s/m, N, kg and N for a prismatic joint). In the Slotine-Li regressor v and a are the
reference v_r and a_r: a controller then compensates the friction of the reference motion, without
chatter from the sign of the measured v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics.dynamics.kernels import slotine_li as kernels
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
    """The terms as a tuple."""
    try:
        if isinstance(terms, (set, frozenset)):
            raise TypeError('no order')
        terms = (terms,) if isinstance(terms, str) else tuple(terms)
    except TypeError:
        raise ParameterError(f'must be a list of joint terms, got {terms!r}', subject='terms',
                             remedy='choose among ' + ', '.join(JOINT_TERMS)) from None
    for term in terms:
        if not isinstance(term, str) or term not in JOINT_TERMS:
            raise ParameterError('is not a joint term', subject=str(term),
                                 remedy='choose among ' + ', '.join(JOINT_TERMS))
    if len(set(terms)) != len(terms):
        raise ParameterError('names a joint term twice', subject=', '.join(terms),
                             remedy='name each term once')
    return terms


def choice_of(terms: Sequence[str], epsilon: float) -> FloatArray:
    """The terms as `robot_dynamics.dynamics.kernels.slotine_li` reads them."""
    codes = [_CODES[term] for term in terms]
    return np.array([len(codes), epsilon, *codes, *[0.0] * (4 - len(codes))])


def described_parameters(robot: Robot, terms: Sequence[str]) -> FloatArray:
    """Parameters of the terms in the robot's description.

    Shape (len(terms) n,).
    """
    return np.concatenate([np.zeros(0), *(_DESCRIBED[term](robot)
                                          for term in check_terms(terms))])
