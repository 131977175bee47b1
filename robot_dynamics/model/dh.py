# SPDX-License-Identifier: Apache-2.0
"""Robots from Denavit-Hartenberg tables; docs/dh_tables.md describes the format.

The two conventions share their symbols and mean different robots by them, with
the link frames, and so the centres of mass, in different places. Nothing in a
table tells them apart, so a table has to say which it is.


One row of a DH table: the geometry, limits and transmission of a joint.

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

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import Finding, ModelError, Severity, shown
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.assembly import assemble
from robot_dynamics.model.description import (
    JointDescription,
    JointKind,
    LimitDescription,
    LinkDescription,
    RobotTree,
    check_tree,
)
from robot_dynamics.model.dh_fields import (
    Fields,
    inertia_order,
    inertial_parameters,
    is_point_mass,
    read_table,
    sequence,
    vector,
)
from robot_dynamics.model.robot import Robot

#: Name of the frame that ``tool`` places in the last link.
TOOL_FRAME = 'tool'

#: Largest number of rows.
MAX_ROWS = 200

#: Every field that a table can have, beside those that mean nothing.
TABLE_FIELDS = ('name', 'convention', 'gravity', 'base', 'base_name', 'tool', 'inertia_order',
                'links')
# Fields that say nothing about the robot.
_IGNORED_FIELDS = ('description', 'source', 'samples', 'has_dynamics')
_GRAVITY = (0.0, 0.0, -9.81)


def robot_from_dh(source: str | bytes | Path | Mapping[str, Any]) -> Robot:
    """Read a DH table.

    The link frame of body i is DH frame i. ``frames`` holds the base, every link
    and ``'tool'``; the base placement is part of the first joint's.

    Parameters
    ----------
    source : str, bytes, Path or mapping
        Path of a YAML or JSON file, its text, or the mapping it holds.

    Returns
    -------
    Robot
        The robot, with findings.

    Raises
    ------
    ModelError
        Naming the link and the field, and what to do.
    """
    content, label = read_table(source)
    table = Fields(content, label)
    convention = _convention(table)
    findings = _unknown_fields(table)
    gravity = table.vector('gravity', length=3)
    tree = _tree(table, convention, findings)
    robot = assemble(tree, gravity=_GRAVITY if gravity is None else gravity)
    return replace(robot, findings=(*findings, *robot.findings))


def _convention(table: Fields) -> Convention:
    known = {convention.value: convention for convention in Convention}
    written = table.text('convention', '').lower()
    if written not in known:
        problem = 'is missing' if not written else f'is {shown(written)}'
        raise ModelError(
            problem, subject=table.where('convention'),
            remedy='write convention: standard if frame i sits at the far end of link i (rows '
                   'are Rz(theta) Tz(d) Tx(a) Rx(alpha); Denavit-Hartenberg, Siciliano, '
                   'Spong) or convention: modified if it sits at the near end, on the axis of '
                   'joint i (rows are Rx(alpha) Tx(a) Rz(theta) Tz(d); Craig, Khalil)')
    return known[written]


def _unknown_fields(table: Fields) -> list[Finding]:
    """Refuse misspelt fields of the table; note those that mean nothing here."""
    by_rows = table.get('links')[1] is not None
    known = TABLE_FIELDS if by_rows else TABLE_FIELDS + _COLUMNS
    strangers = [name for name in table.names() if name not in known + _IGNORED_FIELDS]
    # A field of the rows, put beside them, or one that resembles a known one.
    table.check_names(known, ignored=[
        *_IGNORED_FIELDS, *(name for name in strangers if name not in ROW_FIELDS
                            and not difflib.get_close_matches(str(name), known, n=1))])
    return [Finding(Severity.WARNING, table.where(shown(name)),
                    'is not a field of DH tables and is ignored', 'remove it')
            for name in strangers]


def _tree(table: Fields, convention: Convention, findings: list[Finding]) -> RobotTree:
    """Return base, links and tool as a chain."""
    base = table.text('base_name', 'base')
    order = inertia_order(table)
    rows = _rows(table)
    links = {base: LinkDescription(base)}
    joints: dict[str, JointDescription] = {}
    parent, carrier = base, table.pose('base')
    for row in rows:
        joint = _joint(row, convention, parent, carrier, findings)
        _check_new(joint.child, links, 'link')
        _check_new(joint.name, joints, 'joint')
        links[joint.child] = LinkDescription(joint.child, inertial_parameters(row, order))
        joints[joint.name] = joint
        parent, carrier = joint.child, np.eye(4)
    _check_new(TOOL_FRAME, links, 'link')
    links[TOOL_FRAME] = LinkDescription(TOOL_FRAME)
    fixed = f'{TOOL_FRAME}_fixed'
    _check_new(fixed, joints, 'joint')
    joints[fixed] = JointDescription(
        name=fixed, kind=JointKind.FIXED, parent=parent, child=TOOL_FRAME,
        placement=table.pose('tool'), axis=np.array([0.0, 0.0, 1.0]), link_offset=np.zeros(3))
    tree = RobotTree(table.text('name', 'robot'), links, joints)
    check_tree(tree)
    findings += _zero_inertias(tree)
    return tree


def _check_new(name: str, taken: Mapping[str, object], what: str) -> None:
    if name in taken:
        raise ModelError(f'is the name of two {what}s', subject=name,
                         remedy=f'rename one of them ({TOOL_FRAME!r} is the frame after the last '
                                'link)' if name.startswith(TOOL_FRAME) else 'rename one of them')


def _joint(row: Fields, convention: Convention, parent: str, carrier: FloatArray,
           findings: list[Finding]) -> JointDescription:
    kind = joint_kind(row)
    shape = geometry(row, kind, convention)
    findings += angles_of_degrees(row, kind)
    motor = transmission(row, findings)
    return JointDescription(
        name=row.text('joint', row.subject.replace('link', 'joint', 1)
                      if row.get('name')[1] is None else f'{row.subject}_joint'),
        kind=kind, parent=parent, child=row.subject, placement=carrier @ shape.placement,
        axis=shape.axis, link_offset=shape.link_offset, limit=limits(row),
        damping=motor.damping, friction=motor.friction, armature=motor.armature)


def _zero_inertias(tree: RobotTree) -> list[Finding]:
    """Return a finding for every link that resists no rotation, if any link has inertia at all."""
    moving = [joint for joint in tree.joints.values() if joint.kind is not JointKind.FIXED]
    parameters = {joint.name: tree.links[joint.child].parameters for joint in moving}
    if not any(p is not None and np.any(p) for p in parameters.values()):
        return []  # A table of the geometry alone.
    return [Finding(
        Severity.WARNING, joint.child,
        'has zero inertia about its centre of mass, as makers write for small last links: the '
        f'motion of {joint.name!r} that only turns it costs no torque',
        'give the inertia of the real link, or an armature of the joint')
        for joint in moving if is_point_mass(parameters[joint.name])]


def _rows(table: Fields) -> list[Fields]:
    """Return the rows of a table written by rows (links) or by columns (a, alpha, d, ...)."""
    name, written = table.get('links')
    if written is None:
        contents = _rows_of_columns(table)
        subject = table.subject
    else:
        subject = table.where(name)
        contents = sequence(written, subject, 'rows')
    if not contents:
        raise ModelError('has no rows', subject=subject,
                         remedy='give one row with a, alpha and d for each joint')
    if len(contents) > MAX_ROWS:
        raise ModelError(f'has {len(contents)} rows, more than {MAX_ROWS}', subject=subject,
                         remedy='give the table of one robot')
    rows = []
    for number, content in enumerate(contents, start=1):
        default = f'link{number}'
        label = Fields.of(content, default).text('name', default)
        row = Fields(content, label)
        row.check_names(ROW_FIELDS)
        rows.append(row)
    return rows


def _rows_of_columns(table: Fields) -> list[dict[str, Any]]:
    """Return the rows of a table that gives each field as a list over the joints."""
    columns = {name: sequence(table.get(name)[1], table.where(name), 'one value per joint')
               for name in table.names() if name in _COLUMNS}
    if not columns:
        raise ModelError('is missing', subject=table.where('links'),
                         remedy='give links as a list of rows with a, alpha and d, or the '
                                'columns a, alpha and d as lists')
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ModelError('has columns of different lengths: '
                         + ', '.join(f'{name} {length}' for name, length in lengths.items()),
                         subject=table.subject, remedy='give one value per joint in each')
    return [dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)]


#: Every field that a row can have.
ROW_FIELDS = (
    'name', 'joint', 'type', 'a', 'alpha', 'd', 'theta', 'offset',
    'mass', 'm', 'com', 'r', 'inertia_com', 'I_com', 'inertia_origin', 'I_origin',
    'limits', 'qlim', 'damping', 'friction', 'armature', 'Jm', 'G', 'B', 'Tc')

# In the layout by columns, `name` is the name of the robot.
_COLUMNS = tuple(field for field in ROW_FIELDS if field != 'name')

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
