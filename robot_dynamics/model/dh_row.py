# SPDX-License-Identifier: Apache-2.0
"""One row of a DH table: the geometry, limits and transmission of a joint.

Frame i of a table is carried by link i. In the standard convention it sits at
the far end of the link, on the axis of the next joint; in the modified one at
the near end, on the link's own joint axis::

    standard   T_i = Rz(theta) Tz(d) Tx(a) Rx(alpha)
    modified   T_i = Rx(alpha) Tx(a) Rz(theta) Tz(d)

with the joint variable added to theta of a revolute and to d of a prismatic row.

References
----------
Standard: J. Denavit and R. S. Hartenberg, "A kinematic notation for lower-pair
mechanisms based on matrices", Journal of Applied Mechanics 22, 1955; B. Siciliano
et al., *Robotics: Modelling, Planning and Control*, 2009, eq. (2.52). Modified:
J. J. Craig, *Introduction to Robotics*, 3rd ed., 2005, eq. (3.6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from robot_dynamics.errors import ModelError, shown
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.dh_fields import Fields, vector
from robot_dynamics.model.findings import Finding, Severity
from robot_dynamics.model.tree import JointKind, LimitDescription

#: Every field that a row can have.
ROW_FIELDS = (
    'name', 'joint', 'type', 'a', 'alpha', 'd', 'theta', 'offset',
    'mass', 'm', 'com', 'r', 'inertia_com', 'I_com', 'inertia_origin', 'I_origin',
    'limits', 'qlim', 'damping', 'friction', 'armature', 'Jm', 'G', 'B', 'Tc')

#: No angle of a table needs more than a turn, rad.
LARGEST_ANGLE = 2.0 * math.pi + 1e-6

_LIMITS = ('lower', 'upper', 'velocity', 'effort')
_KINDS = {'revolute': JointKind.REVOLUTE, 'r': JointKind.REVOLUTE,
          'continuous': JointKind.CONTINUOUS,
          'prismatic': JointKind.PRISMATIC, 'p': JointKind.PRISMATIC}


class Convention(Enum):
    """Where frame i sits on link i."""

    STANDARD = 'standard'
    MODIFIED = 'modified'


@dataclass(frozen=True)
class Geometry:
    """Placement, axis and link offset of a joint as `Robot` documents them.

    Parameters
    ----------
    placement : ndarray, shape (4, 4)
        Pose of the joint frame in frame i - 1.
    axis : ndarray, shape (3,)
        Joint axis in the axes of frame i.
    link_offset : ndarray, shape (3,)
        Origin of frame i seen from the joint frame, in the axes of frame i, m.
    """

    placement: FloatArray
    axis: FloatArray
    link_offset: FloatArray


@dataclass(frozen=True)
class Transmission:
    """What a motor adds to a joint, at the joint.

    Parameters
    ----------
    damping, friction, armature : float
        Viscous coefficient (N m s/rad), Coulomb effort (N m), rotor inertia (kg m^2).
    """

    damping: float
    friction: float
    armature: float


def joint_kind(row: Fields) -> JointKind:
    """Return the type of the joint; a row without type is revolute."""
    written = row.text('type', 'revolute')
    kind = _KINDS.get(written.lower())
    if kind is None:
        raise ModelError(f'is {shown(written)}', subject=row.where('type'),
                         remedy='use revolute, continuous or prismatic')
    return kind


def geometry(row: Fields, kind: JointKind, convention: Convention) -> Geometry:
    """Return the geometry of a row.

    Standard, with R0 = Rz(theta) Rx(alpha) at zero joint variable: the joint axis
    is z of frame i - 1, so Rx(alpha)^T z = (0, sin alpha, cos alpha) in the axes of
    frame i, and frame i sits (a, 0, 0) from it. Modified: the joint axis is z of
    frame i itself.
    """
    a, alpha, d = (row.number(name) for name in ('a', 'alpha', 'd'))
    offset = row.number('offset', default=0.0)
    theta = row.number('theta', default=0.0)
    if kind is JointKind.PRISMATIC:
        d += offset
    else:
        theta += offset
    cos_alpha, sin_alpha = math.cos(alpha), math.sin(alpha)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cos_alpha, -sin_alpha],
                        [0.0, sin_alpha, cos_alpha]])
    about_z = np.array([[math.cos(theta), -math.sin(theta), 0.0],
                        [math.sin(theta), math.cos(theta), 0.0], [0.0, 0.0, 1.0]])
    placement = np.eye(4)
    if convention is Convention.MODIFIED:
        placement[:3, :3] = about_x @ about_z
        placement[:3, 3] = (a, -d * sin_alpha, d * cos_alpha)
        return Geometry(placement, np.array([0.0, 0.0, 1.0]), np.zeros(3))
    placement[:3, :3] = about_z @ about_x
    placement[:3, 3] = (0.0, 0.0, d)
    axis, arm = np.array([0.0, sin_alpha, cos_alpha]), np.array([a, 0.0, 0.0])
    if kind is JointKind.PRISMATIC:
        # Nothing turns: the arm belongs to the placement.
        placement[:3, 3] += about_z @ arm
        arm = np.zeros(3)
    return Geometry(placement, axis, arm)


def angles_of_degrees(row: Fields, kind: JointKind) -> tuple[Finding, ...]:
    """Tell of angles of more than a turn: tables in print are often in degrees."""
    names = ('alpha', 'theta', *(() if kind is JointKind.PRISMATIC else ('offset',)))
    large = {name: value for name in names
             if abs(value := row.number(name, default=0.0)) > LARGEST_ANGLE}
    if not large:
        return ()
    told = ', '.join(f'{name} {value:g}' for name, value in large.items())
    return (Finding(Severity.WARNING, row.subject, f'has {told}, more than a turn: it looks like '
                    'degrees', 'write angles in radians'),)


def limits(row: Fields) -> LimitDescription | None:
    """Return the limits of a row; None where it has none."""
    name, value = row.get('limits', 'qlim')
    if value is None:
        return None
    if name == 'qlim':
        lower, upper = vector(value, 2, row.where(name))
        velocity = effort = math.nan
    else:
        fields = Fields.of(value, row.where(name))
        fields.check_names(_LIMITS)
        lower = fields.number('lower', default=-math.inf)
        upper = fields.number('upper', default=math.inf)
        velocity, effort = (fields.number(key, default=math.nan) for key in _LIMITS[2:])
        for key, limit in (('velocity', velocity), ('effort', effort)):
            if limit < 0.0:
                raise ModelError(f'is {limit:g}', subject=fields.where(key),
                                 remedy='give a positive number')
    if lower > upper:
        raise ModelError(f'runs from {lower:g} to {upper:g}', subject=row.where(name),
                         remedy='give the lower limit first')
    return LimitDescription(float(lower), float(upper), velocity, effort)


def transmission(row: Fields, findings: list[Finding]) -> Transmission:
    """Return friction and rotor inertia at the joint.

    Joint-side values are taken as they are; values of the motor shaft come through
    the gear of ratio G: armature = G^2 Jm, damping = G^2 B, friction = abs(G) Tc.
    """
    ratio = row.number('G', default=1.0)
    if ratio == 0.0:
        raise ModelError('is zero', subject=row.where('G'),
                         remedy='give the gear ratio; 1 is a direct drive')
    at_joint = {
        'armature': ('Jm', ratio * ratio * row.number('Jm', default=0.0)),
        'damping': ('B', ratio * ratio * row.number('B', default=0.0)),
        'friction': ('Tc', abs(ratio) * _coulomb(row, findings)),
    }
    values = {}
    for name, (motor_name, reflected) in at_joint.items():
        given, _ = row.get(name, motor_name)  # Refuses both at once.
        values[name] = reflected if given == motor_name else row.number(name, default=0.0)
        if values[name] < 0.0:
            raise ModelError('is negative', subject=row.where(given),
                             remedy='give a number that is not negative')
    return Transmission(**values)


def _coulomb(row: Fields, findings: list[Finding]) -> float:
    """Return the Coulomb friction of the motor: a number, or [plus, minus] with minus <= 0."""
    _, value = row.get('Tc')
    if not isinstance(value, (list, tuple)):
        return row.number('Tc', default=0.0)
    plus, minus = vector(value, 2, row.where('Tc'))
    if plus < 0.0 or minus > 0.0:
        raise ModelError(f'is [{plus:g}, {minus:g}]', subject=row.where('Tc'),
                         remedy='give [friction in positive motion, minus that in negative '
                                'motion], for example [0.4, -0.4]')
    if plus != -minus:
        findings.append(Finding(
            Severity.INFO, row.subject,
            f'has Coulomb friction {plus:g} in positive and {-minus:g} in negative motion: the '
            'mean is taken'))
    return float(0.5 * (plus - minus))
