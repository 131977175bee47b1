# SPDX-License-Identifier: Apache-2.0
"""Robots from Denavit-Hartenberg tables; docs/dh_tables.md describes the format.

Frame i of a table is carried by link i. In the standard convention it is at
the far end of the link, on the axis of the next joint; in the modified one at
the near end, on the link's own joint axis::

    standard   T_i = Rz(theta) Tz(d) Tx(a) Rx(alpha)
    modified   T_i = Rx(alpha) Tx(a) Rz(theta) Tz(d)

with the joint variable added to theta of a revolute and to d of a prismatic row. The symbols are
the same, but the link frames, and therefore the centres of mass, differ. The numbers do not show
the convention, so a table must name it.

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
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import Finding, ModelError, Severity, listed, shown
from robot_dynamics.model.arrays import FloatArray
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

#: Name of the frame that ``tool`` places in the last link.
TOOL_FRAME = 'tool'
#: Largest number of rows.
MAX_ROWS = 200
#: Largest angle of a table without a finding, rad.
LARGEST_ANGLE = 2.0 * math.pi + 1e-6

#: Every field that a table can have, beside the ignored ones.
TABLE_FIELDS = ('name', 'convention', 'gravity', 'base', 'base_name', 'tool', 'inertia_order',
                'links')
#: Every field that a row can have.
ROW_FIELDS = (
    'name', 'joint', 'type', 'a', 'alpha', 'd', 'theta', 'offset',
    'mass', 'm', 'com', 'r', 'inertia_com', 'I_com', 'inertia_origin', 'I_origin',
    'limits', 'qlim', 'damping', 'friction', 'armature', 'Jm', 'G', 'B', 'Tc')

# Fields without a meaning for the robot.
_IGNORED_FIELDS = ('description', 'source', 'samples', 'has_dynamics')
_LIMITS = ('lower', 'upper', 'velocity', 'effort')
_KINDS = {'revolute': JointKind.REVOLUTE, 'r': JointKind.REVOLUTE,
          'continuous': JointKind.CONTINUOUS,
          'prismatic': JointKind.PRISMATIC, 'p': JointKind.PRISMATIC}

#: Two constant poses, shape (4, 4): frame i in frame i - 1 is ``before @ joint motion @ after``,
#: where the joint turns about or slides along z.
Poses = tuple[FloatArray, FloatArray]


def _standard(a: float, alpha: float, d: float, theta: float) -> Poses:
    """Frame i at the far end of link i: Rz(theta) Tz(d) joint Tx(a) Rx(alpha)."""
    return _turn_z(theta) @ _shift(0.0, 0.0, d), _shift(a, 0.0, 0.0) @ _turn_x(alpha)


def _modified(a: float, alpha: float, d: float, theta: float) -> Poses:
    """Frame i at the near end of link i: Rx(alpha) Tx(a) Rz(theta) Tz(d) joint."""
    return _turn_x(alpha) @ _shift(a, 0.0, 0.0) @ _turn_z(theta) @ _shift(0.0, 0.0, d), np.eye(4)


class Convention(NamedTuple):
    """A DH convention.

    ``poses`` is a function from a, alpha, d, theta and the extra numbers of a row to its `Poses`;
    ``extra`` are fields of a row that other conventions do not have, zero by default.
    """

    poses: Callable[..., Poses]
    extra: tuple[str, ...] = ()


#: The conventions by the name in a table; docs/add_a_dh_convention.md adds one.
CONVENTIONS: Mapping[str, Convention] = {
    'standard': Convention(_standard),
    'modified': Convention(_modified),
}


def read_dh(source: str | bytes | PathLike[str] | Mapping[str, Any]
            ) -> tuple[RobotTree, FloatArray | None, list[Finding]]:
    """The chain of a DH table, its gravity (3,) in m/s^2 if given, and remarks about the table.

    The source is the path of a YAML or JSON file, its text, or the mapping that it contains. A
    `ModelError` names link, field and remedy.
    """
    content, label = read_table(source)
    table = Fields(content, label)
    convention = _convention(table)
    findings = _unknown_fields(table, convention)
    gravity = table.vector('gravity', length=3)
    return _tree(table, convention, findings), gravity, findings


def _convention(table: Fields) -> Convention:
    written = table.text('convention', '').lower()
    if written not in CONVENTIONS:
        problem = f'must be one of {listed(CONVENTIONS)}, got {shown(written)}' if written \
            else 'is missing'
        raise ModelError(
            problem, subject=table.where('convention'),
            remedy='write convention: standard if frame i is at the far end of link i (rows '
                   'are Rz(theta) Tz(d) Tx(a) Rx(alpha); Denavit-Hartenberg, Siciliano, '
                   'Spong) or convention: modified if it is at the near end, on the axis of '
                   'joint i (rows are Rx(alpha) Tx(a) Rz(theta) Tz(d); Craig, Khalil)')
    return CONVENTIONS[written]


def _unknown_fields(table: Fields, convention: Convention) -> list[Finding]:
    """Reject misspelt fields of the table; warn of other unknown ones."""
    by_rows = table.get('links')[1] is not None
    known = TABLE_FIELDS if by_rows else TABLE_FIELDS + _columns(convention)
    strangers = [name for name in table.names() if name not in known + _IGNORED_FIELDS]
    # A field of the rows at the wrong level, or a name similar to a known one.
    table.check_names(known, ignored=[
        *_IGNORED_FIELDS, *(name for name in strangers if name not in ROW_FIELDS
                            and not difflib.get_close_matches(str(name), known, n=1))])
    return [Finding(Severity.WARNING, table.where(shown(name)),
                    'is not a field of DH tables and is ignored', 'remove it')
            for name in strangers]


def _tree(table: Fields, convention: Convention, findings: list[Finding]) -> RobotTree:
    """Base, links and tool as a chain."""
    base = table.text('base_name', 'base')
    order = inertia_order(table)
    links = {base: LinkDescription(base)}
    joints: dict[str, JointDescription] = {}

    def add(joint: JointDescription, parameters: FloatArray | None = None) -> None:
        for name, taken, kind in ((joint.child, links, 'link'), (joint.name, joints, 'joint')):
            if name in taken:
                raise ModelError(f'is the name of two {kind}s', subject=name,
                                 remedy='rename one of them' + (
                                     f' ({TOOL_FRAME!r} is the frame after the last link)'
                                     if name.startswith(TOOL_FRAME) else ''))
        links[joint.child] = LinkDescription(joint.child, parameters)
        joints[joint.name] = joint

    parent, carrier = base, table.pose('base')
    for row in _rows(table, convention):
        add(_joint(row, convention, parent, carrier, findings), inertial_parameters(row, order))
        parent, carrier = row.subject, np.eye(4)
    add(JointDescription(f'{TOOL_FRAME}_fixed', JointKind.FIXED, parent, TOOL_FRAME,
                         table.pose('tool')))
    tree = RobotTree(table.text('name', 'robot'), links, joints)
    check_tree(tree)
    findings += _zero_inertias(tree)
    return tree


def _zero_inertias(tree: RobotTree) -> list[Finding]:
    """A finding for every link without rotational inertia, if any link has inertia at all."""
    moving = [joint for joint in tree.joints.values() if joint.kind is not JointKind.FIXED]
    parameters = {joint.name: tree.links[joint.child].parameters for joint in moving}
    if not any(p is not None and np.any(p) for p in parameters.values()):
        return []  # A table of the geometry alone.
    return [Finding(
        Severity.WARNING, joint.child,
        'has zero inertia about its centre of mass, as data sheets give for small last links: '
        f'the motion of {joint.name!r} that only turns it costs no torque',
        'give the inertia of the real link, or an armature of the joint')
        for joint in moving if is_point_mass(parameters[joint.name])]


def _columns(convention: Convention) -> tuple[str, ...]:
    """Fields of the layout by columns, in which `name` is the name of the robot."""
    return tuple(name for name in (*ROW_FIELDS, *convention.extra) if name != 'name')


def _rows(table: Fields, convention: Convention) -> list[Fields]:
    """Rows of a table written by rows (links) or by columns (a, alpha, d, ...)."""
    name, written = table.get('links')
    if written is None:
        contents = _rows_of_columns(table, _columns(convention))
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
        row.check_names((*ROW_FIELDS, *convention.extra))
        rows.append(row)
    return rows


def _rows_of_columns(table: Fields, known: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of a table that gives each field as a list over the joints."""
    columns = {name: sequence(table.get(name)[1], table.where(name), 'one value per joint')
               for name in table.names() if name in known}
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


def _joint(row: Fields, convention: Convention, parent: str, carrier: FloatArray,
           findings: list[Finding]) -> JointDescription:
    kind = _joint_kind(row)
    placement, axis, link_offset = _geometry(row, kind, convention)
    findings += _angles_of_degrees(row, kind)
    return JointDescription(
        name=row.text('joint', row.subject.replace('link', 'joint', 1)
                      if row.get('name')[1] is None else f'{row.subject}_joint'),
        kind=kind, parent=parent, child=row.subject, placement=carrier @ placement,
        axis=axis, link_offset=link_offset, limit=_limits(row),
        **_transmission(row, findings))


def _joint_kind(row: Fields) -> JointKind:
    """Type of the joint; a row without type is revolute."""
    written = row.text('type', 'revolute')
    kind = _KINDS.get(written.lower())
    if written.lower() == 'fixed':
        raise ModelError("must have a joint that moves, got 'fixed'", subject=row.where('type'),
                         remedy='give the pose of a fixed first row as base of the table, that of '
                                'a fixed last row as tool, and merge any other into the next row')
    if kind is None:
        raise ModelError(f'must be revolute, continuous or prismatic, got {shown(written)}',
                         subject=row.where('type'), remedy='correct it')
    return kind


def _geometry(row: Fields, kind: JointKind, convention: Convention
              ) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Placement (4, 4), axis (3,) and link offset (3,) of a row, as `Robot` documents them.

    With frame i at B joint(q) A: the joint frame has the origin of B and the axes of frame
    i, in which the joint axis is R_A^T z and the origin of frame i R_A^T p_A.
    """
    a, alpha, d = (row.number(name) for name in ('a', 'alpha', 'd'))
    offset = row.number('offset', default=0.0)
    theta = row.number('theta', default=0.0)
    if kind is JointKind.PRISMATIC:
        d += offset
    else:
        theta += offset
    before, after = convention.poses(a, alpha, d, theta, *(
        row.number(name, default=0.0) for name in convention.extra))
    placement = before.copy()
    placement[:3, :3] = before[:3, :3] @ after[:3, :3]
    axis, arm = after[2, :3].copy(), after[:3, 3]
    if kind is JointKind.PRISMATIC:
        # A prismatic joint has no rotation, so its link offset belongs to the placement.
        placement[:3, 3] += before[:3, :3] @ arm
        return placement, axis, np.zeros(3)
    return placement, axis, after[:3, :3].T @ arm


def _turn_x(angle: float) -> FloatArray:
    pose = np.eye(4)
    pose[1:3, 1:3] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return pose


def _turn_z(angle: float) -> FloatArray:
    pose = np.eye(4)
    pose[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return pose


def _shift(x: float, y: float, z: float) -> FloatArray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def _angles_of_degrees(row: Fields, kind: JointKind) -> tuple[Finding, ...]:
    """Warn of angles of more than a turn: tables in print are often in degrees."""
    names = ('alpha', 'theta', *(() if kind is JointKind.PRISMATIC else ('offset',)))
    large = ', '.join(f'{name} {value:g}' for name in names
                      if abs(value := row.number(name, default=0.0)) > LARGEST_ANGLE)
    if not large:
        return ()
    return (Finding(Severity.WARNING, row.subject, f'has {large}, more than a turn: it looks like '
                    'degrees', 'write angles in radians'),)


def _limits(row: Fields) -> LimitDescription | None:
    """Limits of a row; None where it has none."""
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
                raise ModelError(f'must be positive, got {limit:g}', subject=fields.where(key),
                                 remedy='leave it out if it is unknown')
    if lower > upper:
        raise ModelError(f'must have the lower limit first, got {lower:g} to {upper:g}',
                         subject=row.where(name), remedy='swap them')
    return LimitDescription(float(lower), float(upper), velocity, effort)


def _transmission(row: Fields, findings: list[Finding]) -> dict[str, Any]:
    """Damping, friction and armature at the joint.

    Values at the joint are used unchanged. Values at the motor shaft are transformed by the gear
    ratio G: armature = G^2 Jm, damping = G^2 B, friction = abs(G) Tc.
    """
    ratio = row.number('G', default=1.0)
    if ratio == 0.0:
        raise ModelError('must not be zero', subject=row.where('G'),
                         remedy='give the gear ratio; 1 is a direct drive')
    at_joint = {
        'armature': ('Jm', ratio * ratio * row.number('Jm', default=0.0)),
        'damping': ('B', ratio * ratio * row.number('B', default=0.0)),
        'friction': ('Tc', abs(ratio) * _coulomb(row, findings)),
    }
    values = {}
    for name, (motor_name, reflected) in at_joint.items():
        given, _ = row.get(name, motor_name)  # Rejects both at once.
        values[name] = reflected if given == motor_name else row.number(name, default=0.0)
        if values[name] < 0.0:
            raise ModelError(f'must be zero or positive, got {row.number(given):g}',
                             subject=row.where(given), remedy='correct its sign')
    return values


def _coulomb(row: Fields, findings: list[Finding]) -> float:
    """Coulomb friction of the motor: a number, or [plus, minus] with minus <= 0."""
    _, value = row.get('Tc')
    if not isinstance(value, (list, tuple)):
        return row.number('Tc', default=0.0)
    plus, minus = vector(value, 2, row.where('Tc'))
    if plus < 0.0 or minus > 0.0:
        raise ModelError(f'must be [positive, negative], got [{plus:g}, {minus:g}]',
                         subject=row.where('Tc'),
                         remedy='give [friction in positive motion, minus that in negative '
                                'motion], for example [0.4, -0.4]')
    if plus != -minus:
        findings.append(Finding(
            Severity.INFO, row.subject,
            f'has Coulomb friction {plus:g} in positive and {-minus:g} in negative motion: the '
            'mean is taken'))
    return float(0.5 * (plus - minus))
