# SPDX-License-Identifier: Apache-2.0
"""Robots from Denavit-Hartenberg tables; docs/dh_tables.md describes the format.

The two conventions share their symbols and mean different robots by them, with
the link frames, and so the centres of mass, in different places. Nothing in a
table tells them apart, so a table has to say which it is.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import ModelError, shown
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.assemble import assemble
from robot_dynamics.model.dh_fields import Fields, sequence
from robot_dynamics.model.dh_inertia import inertia_order, inertial_parameters, is_point_mass
from robot_dynamics.model.dh_row import (
    ROW_FIELDS,
    Convention,
    angles_of_degrees,
    geometry,
    joint_kind,
    limits,
    transmission,
)
from robot_dynamics.model.dh_source import read_table
from robot_dynamics.model.findings import Finding, Severity
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.tree import (
    JointDescription,
    JointKind,
    LinkDescription,
    RobotTree,
    check_tree,
)

#: Name of the frame that ``tool`` places in the last link.
TOOL_FRAME = 'tool'

#: Largest number of rows.
MAX_ROWS = 200

#: Every field that a table can have, beside those that mean nothing.
TABLE_FIELDS = ('name', 'convention', 'gravity', 'base', 'base_name', 'tool', 'inertia_order',
                'links')
# Fields that say nothing about the robot.
_IGNORED_FIELDS = ('description', 'source', 'samples', 'has_dynamics')
# In the layout by columns, `name` is the name of the robot.
_COLUMNS = tuple(field for field in ROW_FIELDS if field != 'name')
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
