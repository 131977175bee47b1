# SPDX-License-Identifier: Apache-2.0
"""Geometry in numbers and symbols from a robot or a DH table.

Lengths and gravity enter the pose of a body linearly. The coefficient of a symbol is therefore the
difference of the poses with the symbol at 1 and at 0, so that the reader of numeric tables is used
once for each symbol.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.closed_form.geometry import Body, Geometry, numeric_geometry, vector_of
from robot_dynamics.closed_form.tape import Tape
from robot_dynamics.closed_form.vectors import IDENTITY, ZERO, Vector, add, scale, subtract
from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.dh_fields import read_table
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.rotation import rotation_from_rpy, rpy_from_rotation

#: Group of the symbols of lengths and gravity.
CONSTANTS = 'constants'

# A symbol in a table, with or without a sign.
_SYMBOL = re.compile(r'([+-]?)([A-Za-z][A-Za-z0-9]*)')
# Names of numbers that look like symbols.
_NUMBERS = ('inf', 'infinity', 'nan')
_LENGTHS = ('a', 'd')

#: Angles of a URDF are rounded to multiples of the step that are nearer than the first value.
#: Those nearer than the last one are exact up to the rounding of floating point. rad
ANGLE_ROUNDING, _STEP, _EXACT_ANGLE = 1e-9, math.pi / 12, 1e-14


@dataclass(frozen=True)
class Description:
    """A robot with lengths and gravity that may be symbols."""

    name: str
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    parameters: FloatArray  # Inertial, (nb, 10); zeros where none are described.
    base: Geometry  # With 0 for each symbol.
    units: dict[str, Geometry]  # With 1 for that symbol, 0 for the others.
    values: dict[str, float | None]  # What symbols stand for, m or m/s^2; None if unknown.
    turned: float = 0.0  # Largest angle by which a rotation was rounded, rad.

    def on(self, tape: Tape) -> Geometry:
        """The geometry with its symbols on a tape."""
        symbols = tape.symbols(CONSTANTS, self.units)
        pairs = list(zip(symbols, self.units.values(), strict=True))

        def combined(base: Vector, parts: Sequence[Vector]) -> Vector:
            total = base
            for (symbol, _), part in zip(pairs, parts, strict=True):
                total = add(total, scale(_exact(subtract(part, base)), symbol))
            return total

        def body(i: int, own: Body) -> Body:
            others = [unit.bodies[i] for _, unit in pairs]
            return replace(own, point=combined(own.point, [o.point for o in others]),
                           offset=combined(own.offset, [o.offset for o in others]))

        return replace(
            self.base, bodies=tuple(body(i, own) for i, own in enumerate(self.base.bodies)),
            gravity=combined(self.base.gravity, [unit.gravity for _, unit in pairs]))


def describe(source: Robot | str | bytes | Path | Mapping[str, Any], *,
             symbolic: bool = False) -> Description:
    """Describe a robot or a DH table.

    Parameters
    ----------
    source : Robot, or what `Robot.from_dh` reads
        In a table, the lengths a and d and the entries of gravity may be names, such as
        ``a1``, ``d4`` or ``-g``: these become symbols.
    symbolic : bool
        Whether numeric lengths and gravity become symbols, too. In a table they are called a1, d1,
        ... after the row, in a robot p1x, o1x, ... (position of the joint in the parent's frame,
        and of the link frame relative to the joint). Gravity is g, or gx, gy, gz if it is not
        along an axis.

    Raises
    ------
    ModelError
        If it cannot be read, or has joints of several degrees of freedom.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.closed_form import describe
    >>> describe(Robot.from_urdf('planar_2r'), symbolic=True).values
    {'p2x': 0.45, 'g': 9.81}
    """
    if isinstance(source, Robot):
        placements, turned = _rounded(source.placements)
        base = numeric_geometry(replace(source, placements=placements))
        base, units, known = _separated(base) if symbolic else (base, {}, {})
        return Description(source.name, source.body_names, source.joint_names,
                           np.array(source.inertial_parameters), base, units, known, turned)
    table, _ = read_table(source)
    table, values = _with_symbols(table, symbolic)
    robot = Robot.from_dh(_with_numbers(table, None))
    return Description(
        robot.name, robot.body_names, robot.joint_names, np.array(robot.inertial_parameters),
        numeric_geometry(robot),
        {name: numeric_geometry(Robot.from_dh(_with_numbers(table, name))) for name in values},
        values)


def rotations_note(description: Description) -> list[str]:
    """A line about rounded rotations, if there are any."""
    if not description.turned:
        return []
    return [f'rotations within {ANGLE_ROUNDING:g} rad of multiples of 15 degrees are rounded to '
            f'them, by up to {description.turned:.1g} rad']


def _rounded(placements: FloatArray) -> tuple[FloatArray, float]:
    """Poses (nb, 4, 4) with rounded roll, pitch and yaw, and the largest change of these, rad.

    Descriptions give right angles by 8 or 10 digits, which would be a term in every formula.
    """
    rounded, turned = np.array(placements), 0.0
    for pose in rounded:
        angles = rpy_from_rotation(pose[:3, :3])
        nearest = _STEP * np.round(angles / _STEP)
        change = np.abs(angles - nearest)
        is_near = (change <= ANGLE_ROUNDING) & (change > _EXACT_ANGLE)
        if is_near.any():
            pose[:3, :3] = rotation_from_rpy(np.where(is_near, nearest, angles))
            turned = max(turned, float(change[is_near].max()))
    return rounded, turned


@dataclass(frozen=True)
class _Name:
    """A symbol in a table."""

    name: str
    sign: int


def _with_symbols(table: Mapping[str, Any], symbolic: bool
                  ) -> tuple[dict[str, Any], dict[str, float | None]]:
    """The table with its symbols, and their values."""
    values: dict[str, float | None] = {}

    def found(value: Any, default: str) -> Any:
        name, length = _name_of(value), None
        if name is None:
            number = _number_of(value) if symbolic else None
            if not number:
                return value
            is_gravity = default[0] == 'g'
            name = _Name(default, -1 if is_gravity and number < 0 else 1)
            length = abs(number) if is_gravity else number
        # A symbol may occur several times, but the name of a number must be unique.
        if name.name in values and (length is not None or values[name.name] is not None):
            raise ModelError('is both a symbol of the table and the name of another number',
                             subject=name.name, remedy='rename the symbol')
        values[name.name] = length
        return name

    table = dict(table)
    if isinstance(table.get('links'), Sequence) and not isinstance(table['links'], str):
        table['links'] = [_row_with_symbols(row, k, found)
                          for k, row in enumerate(table['links'], start=1)]
    for length in _LENGTHS:
        if isinstance(table.get(length), Sequence) and not isinstance(table[length], str):
            table[length] = [found(value, f'{length}{k}')
                             for k, value in enumerate(table[length], start=1)]
    gravity = table.get('gravity', [0.0, 0.0, -9.81])
    if isinstance(gravity, Sequence) and not isinstance(gravity, str):
        present = [value for value in gravity if _number_of(value) != 0.0]
        names = ('g',) * 3 if len(present) == 1 else ('gx', 'gy', 'gz')
        table['gravity'] = [found(value, name)
                            for value, name in zip(gravity, names, strict=False)]
    return table, values


def _row_with_symbols(row: Any, number: int, found: Callable[[Any, str], Any]) -> Any:
    if not isinstance(row, Mapping):
        return row  # An error of the reader of tables.
    return {key: found(value, f'{key}{number}') if key in _LENGTHS else value
            for key, value in row.items()}


def _with_numbers(table: Any, unit: str | None) -> Any:
    """The table with 1 for one symbol and 0 for the others."""
    if isinstance(table, _Name):
        return float(table.sign) if table.name == unit else 0.0
    if isinstance(table, Mapping):
        return {key: _with_numbers(value, unit) for key, value in table.items()}
    if isinstance(table, list):
        return [_with_numbers(value, unit) for value in table]
    return table


def _name_of(value: Any) -> _Name | None:
    """The symbol in an entry, or None."""
    match = _SYMBOL.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match[2].lower() in _NUMBERS:
        return None
    return _Name(match[2], -1 if match[1] == '-' else 1)


def _number_of(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None  # An error of the reader of tables.


def _separated(geometry: Geometry
               ) -> tuple[Geometry, dict[str, Geometry], dict[str, float | None]]:
    """Replace every nonzero length and component of gravity by a symbol."""
    nothing = replace(geometry, gravity=ZERO, bodies=tuple(
        replace(body, point=ZERO, offset=ZERO) for body in geometry.bodies))
    units: dict[str, Geometry] = {}
    values: dict[str, float | None] = {}
    for i, body in enumerate(geometry.bodies):
        for letter, field in (('p', 'point'), ('o', 'offset')):
            for axis, unit, length in zip('xyz', IDENTITY, getattr(body, field), strict=True):
                if length != 0:
                    name = f'{letter}{i + 1}{axis}'
                    values[name] = float(length)
                    bodies = list(nothing.bodies)
                    bodies[i] = replace(bodies[i], point=unit) if field == 'point' \
                        else replace(bodies[i], offset=unit)
                    units[name] = replace(nothing, bodies=tuple(bodies))
    present = [k for k in range(3) if geometry.gravity[k] != 0]
    for k in present:
        name = 'g' if len(present) == 1 else f'g{"xyz"[k]}'
        component: Any = geometry.gravity[k]
        values[name] = abs(float(component))
        units[name] = replace(nothing, gravity=scale(IDENTITY[k], 1 if component > 0 else -1))
    return nothing, units, values


def _exact(x: Sequence[Any]) -> Vector:
    """Differences of numbers without their rounding."""
    return vector_of(np.array([float(component) for component in x]))
