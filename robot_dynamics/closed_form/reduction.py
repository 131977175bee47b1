# SPDX-License-Identifier: Apache-2.0
"""Parameters without effect, and combinations of parameters, from a regressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.closed_form.algebra import Expansion, import_sympy
from robot_dynamics.closed_form.description import CONSTANTS, Description, describe
from robot_dynamics.closed_form.languages import compiled
from robot_dynamics.closed_form.quantities import parameter_symbols
from robot_dynamics.closed_form.recording import Input, Output, Recording
from robot_dynamics.closed_form.recursion import regressor
from robot_dynamics.closed_form.tape import Scalar, Tape
from robot_dynamics.closed_form.vectors import Vector
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import PARAMETER_SUFFIXES
from robot_dynamics.model.robot import Robot

if TYPE_CHECKING:
    import sympy

#: Size, relative to the largest entry or singular value, below which a number counts as zero.
RELATIVE_ZERO = 1e-10

#: Order in which columns are preferred when others are their linear combinations.
_KEPT_FIRST = ('Jzz', 'Jxx', 'Jxy', 'Jxz', 'Jyz', 'mx', 'my', 'mz', 'Jyy', 'm')

_STATES = 24


@dataclass(frozen=True)
class Structure:
    """Structure of a regressor, determined at random states."""

    zero: tuple[int, ...]  # Columns that are zero: parameters without effect.
    effective: tuple[int, ...]  # The other columns: those of the reduced regressor.
    rank: int  # Number of combinations that motion and effort determine.


def structure(recording: Recording) -> Structure:
    """Columns without effect and rank of a regressor, determined at random states.

    Parameters
    ----------
    recording : Recording
        A regressor; symbolic lengths get random values, too.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.closed_form import derive, structure
    >>> structure(derive(Robot.from_urdf('planar_2r'), 'regressor')).rank
    6
    """
    stacked = _at_random_states(recording)
    sizes = np.max(np.abs(stacked), axis=0)
    is_zero = sizes <= RELATIVE_ZERO * max(float(np.max(sizes)), 1.0)
    values = np.linalg.svd(stacked[:, ~is_zero], compute_uv=False)
    rank = int(np.sum(values > RELATIVE_ZERO * values[0])) if values.size else 0
    return Structure(tuple(np.flatnonzero(is_zero).tolist()),
                     tuple(np.flatnonzero(~is_zero).tolist()), rank)


def reduced(recording: Recording, columns: Sequence[int]) -> Recording:
    """The regressor with these columns only.

    Parameters
    ----------
    recording : Recording
        A regressor.
    columns : sequence of int
        Indices of the columns that are kept.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.closed_form import derive, reduced, structure
    >>> Y = derive(Robot.from_urdf('planar_2r'), 'regressor')
    >>> reduced(Y, structure(Y).effective).columns
    ('mx1', 'my1', 'Jzz1', 'm2', 'mx2', 'my2', 'Jzz2')
    """
    (output,) = recording.outputs
    width = len(recording.columns)
    if not all(isinstance(c, (int, np.integer)) and 0 <= c < width for c in columns):
        raise ParameterError('must be columns of the regressor', subject='columns',
                             remedy=f'{recording.name} has {width} of them, counted from 0')
    rows = output.shape[0]
    entries = tuple(output.entries[j * width + c] for j in range(rows) for c in columns)
    return replace(recording, columns=tuple(recording.columns[c] for c in columns),
                   outputs=(Output(output.name, (rows, len(columns)), entries, output.text),))


def combinations(source: Robot | Description | str | bytes | Path | Mapping[str, Any],
                 ) -> list[sympy.Expr]:
    """Combinations of inertial parameters that determine all efforts, as formulas.

    Their number is the rank of the regressor. If a link frame is not on its joint, the parameters
    are first transformed to the joint, so that the combinations are moments about joint axes.

    Parameters
    ----------
    source : Robot, Description, or a DH table
        The robot. Numeric lengths give numeric coefficients.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.closed_form import combinations, describe
    >>> combinations(describe(Robot.from_urdf('planar_2r'), symbolic=True))
    [Jzz1 + m2*p2x**2, Jzz2, m2*p2x + mx1, mx2, my1, my2]
    """
    sympy = import_sympy()
    description = source if isinstance(source, Description) else describe(source)
    tape = Tape()
    geometry = description.on(tape)
    n = geometry.n
    q, v, a = (tape.symbols(group, (f'{group}{k}' for k in range(1, n + 1)))
               for group in ('q', 'v', 'a'))
    rows = regressor(tape, geometry, q, v, v, a)
    about_joints = []
    for row in rows:
        for i, body in enumerate(geometry.bodies):
            back = shifted(tuple(-x for x in body.offset))
            own = row[10 * i:10 * i + 10]
            about_joints += [sum(own[k] * back[k][c] for k in range(10)) for c in range(10)]
    output = Output('Y', (n, len(rows[0])), tuple(about_joints))
    moved = [entry for body in geometry.bodies for line in shifted(body.offset)
             for entry in line]
    recording = Recording('regressor', '', description.name, tape,
                          (Input(CONSTANTS, tuple(description.units)),),
                          (output, Output('A', (len(moved),), tuple(moved))))
    expansion = Expansion(recording)
    base = _echelon(sympy, expansion, output)
    symbols = [sympy.Symbol(name) for name in parameter_symbols(description)]
    about = [sum((expansion.expression(entry) * symbols[10 * i + k]
                  for k, entry in enumerate(line)), sympy.Integer(0))
             for i, body in enumerate(geometry.bodies) for line in shifted(body.offset)]
    return [sympy.expand(sum((factor * about[column] for column, factor in row.items()),
                             sympy.Integer(0))) for row in base]


def shifted(offset: Vector) -> list[list[Scalar]]:
    """10 x 10 matrix that transforms parameters from one reference point to another.

    The other point is ``-offset`` from the first, so that every particle at c is at
    c + offset from it: h' = h + m o, and J' follows from the second moments
    S' = S + o h^T + h o^T + m o o^T by J = tr(S) 1 - S.
    """
    x, y, z = offset
    A: list[list[Scalar]] = [[int(r == c) for c in range(10)] for r in range(10)]
    place = {suffix: k for k, suffix in enumerate(PARAMETER_SUFFIXES)}

    def put(row: str, m: Scalar, mx: Scalar, my: Scalar, mz: Scalar) -> None:
        A[place[row]][:4] = [m, mx, my, mz]

    for k, component in enumerate(offset, start=1):
        A[k][0] = component
    put('Jxx', y * y + z * z, 0, 2 * y, 2 * z)
    put('Jyy', x * x + z * z, 2 * x, 0, 2 * z)
    put('Jzz', x * x + y * y, 2 * x, 2 * y, 0)
    put('Jxy', -(x * y), -y, -x, 0)
    put('Jxz', -(x * z), -z, 0, -x)
    put('Jyz', -(y * z), 0, -z, -y)
    return A


def _echelon(sympy: Any, expansion: Expansion, output: Output) -> list[dict[int, Any]]:
    """Row space of a regressor: by row, coefficients by column.

    Each entry is a sum of products of variable factors (waves and monomials of q, v, a) and
    constants. Each variable factor gives one equation, linear in the columns.
    """
    from sympy.polys.matrices import DomainMatrix
    constants = [symbol for symbol in expansion.symbols if symbol.group == CONSTANTS]
    names = [sympy.Symbol(symbol.name) for symbol in constants]
    field = sympy.QQ.frac_field(*names) if names else sympy.QQ
    # In the order in which they are preferred.
    columns = sorted(range(output.shape[1]),
                     key=lambda c: (_KEPT_FIRST.index(PARAMETER_SUFFIXES[c % 10]), c))
    equations: dict[Any, dict[int, Any]] = {}
    for k, entry in enumerate(output.entries):
        row, column = divmod(k, output.shape[1])
        for wave, polynomial in expansion(entry).items():
            for monomial, factor in polynomial.terms():
                moving, fixed = _split(expansion, monomial)
                value = field.from_sympy(sympy.Rational(factor.numerator, factor.denominator)
                                         * sympy.prod(name**power for name, power
                                                      in zip(names, fixed, strict=True)))
                place = equations.setdefault((row, wave, moving), {})
                place[column] = place.get(column, field.zero) + value
    if not equations:
        return []
    matrix = DomainMatrix([[terms.get(c, field.zero) for c in columns]
                           for terms in equations.values()],
                          (len(equations), len(columns)), field)
    form, pivots = matrix.rref()
    rows = form.to_Matrix()
    return [{columns[c]: rows[r, c] for c in range(len(columns)) if rows[r, c] != 0}
            for r in range(len(pivots))]


def _split(expansion: Expansion, monomial: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """Powers of variables, and powers of constants."""
    powers = list(zip(expansion.symbols, monomial, strict=True))
    return (tuple((symbol, power) for symbol, power in powers
                  if power and symbol.group != CONSTANTS),
            tuple(power for symbol, power in powers if symbol.group == CONSTANTS))


def _at_random_states(recording: Recording) -> FloatArray:
    """Stacked regressors of random states."""
    function, rng = compiled(recording), np.random.default_rng(0)
    constants = rng.uniform(0.5, 1.5, len(recording.constants))
    return np.concatenate([
        function(*(constants if array.group == CONSTANTS
                   else rng.uniform(-2.0, 2.0, len(array.names)) for array in recording.inputs))
        for _ in range(max(_STATES, 2 * len(recording.columns)))])
