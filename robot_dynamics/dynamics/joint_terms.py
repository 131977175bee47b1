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
from numpy.typing import NDArray

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot

FloatArray = NDArray[np.float64]

_VALUES: dict[str, Callable[[FloatArray, FloatArray, float], FloatArray]] = {
    'viscous': lambda v, a, epsilon: v,
    'coulomb': lambda v, a, epsilon: np.tanh(v / epsilon),
    'armature': lambda v, a, epsilon: a,
    'offset': lambda v, a, epsilon: np.ones_like(v),
}

_DESCRIBED: dict[str, Callable[[Robot], FloatArray]] = {
    'viscous': lambda robot: robot.damping,
    'coulomb': lambda robot: robot.friction,
    'armature': lambda robot: robot.armature,
    'offset': lambda robot: np.zeros(robot.n),
}

#: Every term, by name.
JOINT_TERMS = tuple(_VALUES)


def check_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the terms as a tuple; refuse unknown or repeated names."""
    if isinstance(terms, str):
        terms = (terms,)
    for term in terms:
        if term not in _VALUES:
            raise ParameterError('is no joint term', subject=str(term),
                                 remedy='choose among ' + ', '.join(JOINT_TERMS))
    if len(set(terms)) != len(terms):
        raise ParameterError('names a joint term twice', subject=', '.join(terms),
                             remedy='name each term once')
    return tuple(terms)


def term_values(terms: Sequence[str], v: FloatArray, a: FloatArray,
                epsilon: float) -> FloatArray:
    """Return the entries of the columns of each term, shape (len(terms), ..., n).

    Column i of a term has this entry in row i and zeros elsewhere.
    """
    return np.stack([np.broadcast_to(_VALUES[term](v, a, epsilon), v.shape) for term in terms])


def write_columns(out: FloatArray, first: int, values: FloatArray) -> None:
    """Write the columns of the terms into ``out[..., first:]``, which must hold zeros.

    Parameters
    ----------
    out : ndarray, shape (..., n, first + len(values) n)
    first : int
        Column of the first term.
    values : ndarray, shape (terms, ..., n)
        From `term_values`.
    """
    n = values.shape[-1]
    rows = np.arange(n)
    for k, value in enumerate(values):
        out[..., rows, first + k * n + rows] = value


def described_parameters(robot: Robot, terms: Sequence[str]) -> FloatArray:
    """Return the parameters of the terms as the robot's description gives them.

    Shape (len(terms) n,).
    """
    return np.concatenate([np.zeros(0), *(_DESCRIBED[term](robot) for term in terms)])
