# SPDX-License-Identifier: Apache-2.0
r"""What rubs in a joint: effects that are linear in one parameter, by name.

With u the speed of an axis (a joint, or a motor that turns with several joints)::

    offset          1
    viscous         u
    coulomb         tanh(u / width)               width: where the sign is chosen smooth
    sign            sign u
    cbrt            cube root of u: a stand-in for Stribeck and for viscous friction that
                    saturates
    stribeck        sign(u) exp(-(u / width)^2)
    dahl            z,  dz/dt = |u| (sign u - z) / length: presliding
    load            |load| tanh(u / width)
    load_dahl       |load| z
    armature        du/dt

The load is what the rigid body alone asks of the axis. Widths and lengths are chosen per
axis.

References
----------
P. R. Dahl, "A solid friction model", Aerospace Corporation TOR-0158(3107-18), 1968.
P. Hamon, M. Gautier and P. Garrec, "Dynamic identification of robots with a dry friction
model depending on load and velocity", IROS 2010.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray

#: Every term, by name.
TERMS = ('offset', 'viscous', 'coulomb', 'sign', 'cbrt', 'stribeck', 'dahl', 'load', 'load_dahl',
         'armature')

#: Terms that need the load of an axis, and what they are for each unit of it.
LOADED: Mapping[str, str] = {'load': 'coulomb', 'load_dahl': 'dahl'}

#: Sets of terms to choose among, from plain to rich; each also has offset and viscous friction.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    'coulomb': ('offset', 'viscous', 'coulomb'),
    'coulomb+load+cbrt': ('offset', 'viscous', 'coulomb', 'load', 'cbrt'),
    'dahl+cbrt': ('offset', 'viscous', 'dahl', 'cbrt'),
    'dahl+load+cbrt': ('offset', 'viscous', 'dahl', 'load_dahl', 'cbrt'),
    'dahl+coulomb': ('offset', 'viscous', 'dahl', 'coulomb'),
}

#: Widths of the smooth sign, as parts of the root mean square of the speed.
WIDTHS = (0.01, 0.03, 0.1, 0.3)
#: Lengths of presliding, rad or m.
LENGTHS = (0.0003, 0.001, 0.002, 0.004, 0.01)

#: Units of the parameter of a term, of an axis that turns and of one that slides.
UNITS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(TERMS, ('N m', 'N')),
    'viscous': ('N m s/rad', 'N s/m'), 'cbrt': ('N m (s/rad)^(1/3)', 'N (s/m)^(1/3)'),
    'load': ('', ''), 'load_dahl': ('', ''), 'armature': ('kg m^2', 'kg')}

_WITH_WIDTH = ('coulomb', 'stribeck', 'load')
_WITH_LENGTH = ('dahl', 'load_dahl')


def check_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Return friction terms; refuse what is none."""
    if isinstance(terms, str):
        if terms not in FAMILIES:
            raise ParameterError(f'is {terms!r}', subject='friction',
                                 remedy='choose among ' + ', '.join(FAMILIES)
                                        + ', or list terms: ' + ', '.join(TERMS))
        return FAMILIES[terms]
    for term in terms:
        if term not in TERMS:
            raise ParameterError('is no friction term', subject=str(term),
                                 remedy='choose among ' + ', '.join(TERMS))
    if len(set(terms)) != len(tuple(terms)):
        raise ParameterError('names a term twice', subject='friction',
                             remedy='name each term once')
    return tuple(terms)


def options_of(term: str, speed: float, width: float | None = None) -> tuple[float, ...]:
    """Return the widths or lengths that a term may have on an axis; (0,) where it has none.

    Parameters
    ----------
    term : str
        The term.
    speed : float
        Root mean square of the speed of the axis.
    width : float, optional
        The only width wanted.
    """
    if term in _WITH_WIDTH and width is not None:
        return (width,)
    if term in _WITH_WIDTH:
        return tuple(width * max(speed, 1e-6) for width in WIDTHS)
    return LENGTHS if term in _WITH_LENGTH else (0.0,)


def shares_option(term: str) -> str:
    """Return whose width or length a term takes over: those of one axis are the same."""
    return 'width' if term in _WITH_WIDTH else 'length' if term in _WITH_LENGTH else ''


def columns_of(term: str, options: Sequence[float], position: FloatArray, speed: FloatArray,
               acceleration: FloatArray, load: FloatArray | None = None) -> FloatArray:
    """Return the effect of a term per unit of its parameter, along a motion.

    Parameters
    ----------
    term : str
        One of `TERMS`.
    options : sequence of float, length k
        Widths or lengths.
    position, speed, acceleration : ndarray, shape (N,)
        Of the axis.
    load : ndarray, shape (N,), optional
        Effort that the rigid bodies ask of it.

    Returns
    -------
    ndarray, shape (N, k)
        One column for each option.
    """
    if term in LOADED:
        if load is None:
            raise ParameterError('needs the load of its axis', subject=term,
                                 remedy='give efforts of a rigid model')
        return np.abs(load)[:, np.newaxis] * columns_of(LOADED[term], options, position, speed,
                                                        acceleration)
    if term == 'dahl':
        out = np.empty((len(position), len(options)))
        if len(position):
            presliding.load()(np.ascontiguousarray(position), np.array(options), out)
        return out
    one = {
        'offset': lambda: np.ones_like(speed), 'viscous': lambda: speed,
        'sign': lambda: np.sign(speed), 'cbrt': lambda: np.cbrt(speed),
        'armature': lambda: acceleration,
    }
    if term in one:
        return one[term]()[:, np.newaxis] * np.ones(len(options))
    scaled = speed[:, np.newaxis] / np.array(options)
    if term == 'coulomb':
        return np.tanh(scaled)
    return np.sign(scaled) * np.exp(-scaled ** 2)


@kernel('void(float64[::1], float64[::1], float64[:, ::1])', on_demand=True, nogil=True)
def presliding(position, lengths, out):
    """Write the Dahl state z of each length into out, (N, k): dz = |dx| (sign dx - z) / length.

    Between two samples the motion keeps its direction, so that the step is exact: z comes
    closer to the sign of the motion by exp(-|dx| / length).
    """
    for k in range(lengths.size):
        z = 0.0
        out[0, k] = 0.0
        for i in range(1, position.size):
            step = position[i] - position[i - 1]
            sign = 1.0 if step > 0.0 else (-1.0 if step < 0.0 else 0.0)
            if sign != 0.0:
                z = sign + (z - sign) * math.exp(-abs(step) / lengths[k])
            out[i, k] = z
