# SPDX-License-Identifier: Apache-2.0
r"""Friction terms of a joint, each linear in one parameter, and the terms of a URDF.

With u the speed of an axis (a joint, or a motor that turns with several joints)::

    offset          1
    viscous         u
    coulomb         tanh(u / width)               smooth sign
    sign            sign u
    cbrt            cube root of u: Stribeck friction, and viscous friction that saturates
    stribeck        sign(u) exp(-(u / width)^2)
    dahl            z,  dz/dt = |u| (sign u - z) / length: presliding
    load            |load| tanh(u / width)
    load_dahl       |load| z
    armature        du/dt

The load is the effort that the rigid bodies require of the axis. Widths and lengths are
selected for each axis. To add a term, see docs/add_a_friction_term.md.

References
----------
P. R. Dahl, "A solid friction model", Aerospace Corporation TOR-0158(3107-18), 1968.
P. Hamon, M. Gautier and P. Garrec, "Dynamic identification of robots with a dry friction
model depending on load and velocity", IROS 2010.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.kernels.loading import kernel
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray

#: All terms by name.
TERMS = ('offset', 'viscous', 'coulomb', 'sign', 'cbrt', 'stribeck', 'dahl', 'load', 'load_dahl',
         'armature')
#: Terms that are proportional to the load of an axis, and the term per unit of load.
LOADED: Mapping[str, str] = {'load': 'coulomb', 'load_dahl': 'dahl'}
#: Terms that dissipate no power on average.
STORING = ('armature', 'offset')
#: Sets of terms to select from, with increasing number of terms.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    'coulomb': ('offset', 'viscous', 'coulomb'),
    'coulomb+load+cbrt': ('offset', 'viscous', 'coulomb', 'load', 'cbrt'),
    'dahl+cbrt': ('offset', 'viscous', 'dahl', 'cbrt'),
    'dahl+load+cbrt': ('offset', 'viscous', 'dahl', 'load_dahl', 'cbrt'),
    'dahl+coulomb': ('offset', 'viscous', 'dahl', 'coulomb'),
}
#: Widths of the smooth sign as fractions of the RMS speed.
WIDTHS = (0.01, 0.03, 0.1, 0.3)
#: Lengths of presliding, rad or m.
LENGTHS = (0.0003, 0.001, 0.002, 0.004, 0.01)
#: Units of the parameter of a term, for a revolute and a prismatic axis.
UNITS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(TERMS, ('N m', 'N')),
    'viscous': ('N m s/rad', 'N s/m'), 'cbrt': ('N m (s/rad)^(1/3)', 'N (s/m)^(1/3)'),
    'load': ('', ''), 'load_dahl': ('', ''), 'armature': ('kg m^2', 'kg')}
#: Speed below which controllers fade Coulomb friction out, rad/s or m/s; the default of
#: `robot_dynamics.dynamics.Dynamics`.
COULOMB_VELOCITY = 0.05
#: Largest number of samples in the fit of `plain_friction`.
SAMPLES = 100_000

_WITH_WIDTH = ('coulomb', 'stribeck', 'load')
_WITH_LENGTH = ('dahl', 'load_dahl')


def check_terms(terms: str | Sequence[str]) -> tuple[str, ...]:
    """Terms of a family or of a list, or ParameterError for an unknown or repeated one."""
    if isinstance(terms, str):
        if terms not in FAMILIES:
            raise ParameterError(f'must be the name of a family or a list of terms, got {terms!r}',
                                 subject='friction',
                                 remedy='choose among ' + ', '.join(FAMILIES)
                                        + ', or list terms: ' + ', '.join(TERMS))
        return FAMILIES[terms]
    for term in terms:
        if term not in TERMS:
            raise ParameterError('is not a friction term', subject=str(term),
                                 remedy='choose among ' + ', '.join(TERMS))
    if len(set(terms)) != len(tuple(terms)):
        raise ParameterError('contains a term twice', subject='friction',
                             remedy='name each term once')
    return tuple(terms)


def options_of(term: str, speed: float, width: float | None = None) -> tuple[float, ...]:
    """Widths or lengths to select from for one of `TERMS`, (0,) for a term without them.

    ``speed`` is the RMS speed of the axis, and ``width`` the only width to use, rad/s or m/s.
    """
    if term in _WITH_WIDTH and width is not None:
        return (width,)
    if term in _WITH_WIDTH:
        return tuple(width * max(speed, 1e-6) for width in WIDTHS)
    return LENGTHS if term in _WITH_LENGTH else (0.0,)


def shares_option(term: str) -> str:
    """Kind of option of a term, shared by all terms of an axis: width, length or none."""
    return 'width' if term in _WITH_WIDTH else 'length' if term in _WITH_LENGTH else ''


def columns_of(term: str, options: Sequence[float], position: FloatArray, speed: FloatArray,
               acceleration: FloatArray, load: FloatArray | None = None) -> FloatArray:
    """Effort of one of `TERMS` per unit of its parameter along a motion of its axis, shape (N, k).

    The k options are widths or lengths, one for each column; ``load`` is the effort that the rigid
    bodies require of the axis, (N,), for `LOADED` terms.
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


@dataclass(frozen=True, eq=False)
class PlainFriction:
    """Joint terms of a URDF and of the controllers, shape (n,) each, nonnegative.

    Viscous coefficient, Coulomb effort and reflected rotor inertia; ``lost`` is the RMS of the
    identified friction that they do not represent, N m or N, constant offsets included.
    """

    damping: FloatArray
    friction: FloatArray
    armature: FloatArray
    lost: FloatArray


def plain_friction(v: FloatArray, efforts: FloatArray, armature: FloatArray) -> PlainFriction:
    """Best fit of damping and Coulomb friction to friction efforts, (N, n), without rotors.

    For every joint D, F >= 0 minimise |effort - D v - F tanh(v / `COULOMB_VELOCITY`) - c|.
    Negative entries of the identified rotor inertias, ``armature``, become zero.
    """
    from scipy.optimize import nnls
    step = max(1, len(v) // SAMPLES)
    v, efforts = v[::step], efforts[::step]
    n = v.shape[1]
    damping, friction, lost = np.zeros(n), np.zeros(n), np.zeros(n)
    constant = np.ones(len(v))
    for j in range(n):
        # Two columns for the constant, because it may have either sign.
        A = np.stack([v[:, j], np.tanh(v[:, j] / COULOMB_VELOCITY), constant, -constant], axis=1)
        lengths = np.linalg.norm(A, axis=0)
        lengths[lengths == 0.0] = 1.0
        # The triangular factor has the same sums of squares.
        R = np.asarray(np.linalg.qr(np.column_stack([A / lengths, efforts[:, j]]), mode='r'))
        x = nnls(R[:, :-1], R[:, -1])[0] / lengths
        damping[j], friction[j] = x[:2]
        lost[j] = np.sqrt(np.mean((efforts[:, j] - A[:, :2] @ x[:2]) ** 2))
    return PlainFriction(damping, friction, np.maximum(armature, 0.0), lost)


@kernel('void(float64[::1], float64[::1], float64[:, ::1])', on_demand=True, nogil=True)
def presliding(position, lengths, out):
    """Write the Dahl state z of each length into out, (N, k): dz = |dx| (sign dx - z) / length.

    The direction of motion is constant between two samples, so that the step is exact: the
    distance of z to the sign of the motion shrinks by exp(-|dx| / length).
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
