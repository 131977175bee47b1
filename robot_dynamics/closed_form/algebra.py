# SPDX-License-Identifier: Apache-2.0
"""Recordings as SymPy expressions.

SymPy is imported here and nowhere else, and only when it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any

from robot_dynamics.closed_form.recording import Entry, Intermediate, Output, Recording, plan
from robot_dynamics.closed_form.tape import Formula, Number, Scalar
from robot_dynamics.errors import BackendError

if TYPE_CHECKING:
    import sympy


def import_sympy() -> ModuleType:
    """SymPy; a `BackendError` when it is not installed."""
    try:
        import sympy
    except ImportError as error:
        raise BackendError('is not installed', subject='SymPy',
                           remedy="install it: pip install 'sympy>=1.9' (or this package with "
                                  'its extra: symbolic)') from error
    return sympy


@dataclass(frozen=True)
class Expressions:
    """A recording in SymPy.

    Parameters
    ----------
    assignments : list of (Symbol, Expr)
        Intermediates, each made of variables and of those before it.
    outputs : dict of str to Matrix
        By name, a matrix (of one column for a vector) of variables and intermediates.
    """

    assignments: list[tuple[sympy.Symbol, sympy.Expr]]
    outputs: dict[str, sympy.Matrix]


def expressions(recording: Recording) -> Expressions:
    """A recording in SymPy with its intermediates, without expanding anything.

    Parameters
    ----------
    recording : Recording
        The formulas.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.closed_form import derive, expressions
    >>> gravity = expressions(derive(Robot.from_urdf('planar_2r'), 'g'))
    >>> gravity.outputs['g'].shape
    (2, 1)
    """
    sympy = import_sympy()
    choice = plan(recording, reserved=[name for array in recording.inputs
                                       for name in array.names])
    known: dict[Formula, Any] = {}
    assignments = []

    def spelt(x: Scalar) -> Any:
        return known[x] if isinstance(x, Formula) and x in known else _operation(sympy, x, spelt)

    entries: dict[str, list[Any]] = {output.name: [sympy.Integer(0)] * len(output.entries)
                                     for output in recording.outputs}
    for step in choice.steps():
        if isinstance(step, Entry):
            entries[step.output.name][step.place] = spelt(step.value)
        elif isinstance(step, Intermediate):
            symbol = sympy.Symbol(step.name)
            assignments.append((symbol, _operation(sympy, step.formula, spelt)))
            known[step.formula] = symbol
    return Expressions(assignments, {output.name: _matrix(sympy, output, entries[output.name])
                                     for output in recording.outputs})


def _operation(sympy: ModuleType, x: Scalar, spelt: Any) -> Any:
    if not isinstance(x, Formula):
        return sympy_number(sympy, x)
    if x.operation == 'symbol':
        return sympy.Symbol(x.arguments[0].name)
    parts = [spelt(part) for part in x.arguments]
    if x.operation in ('sine', 'cosine'):
        return (sympy.sin if x.operation == 'sine' else sympy.cos)(parts[0])
    if x.operation == 'negate':
        return -parts[0]
    if x.operation == 'add':
        return parts[0] + parts[1]
    return parts[0] - parts[1] if x.operation == 'subtract' else parts[0] * parts[1]


def sympy_number(sympy: ModuleType, x: Number) -> Any:
    """A number of SymPy; floats keep their type."""
    if isinstance(x, Fraction):
        return sympy.Rational(x.numerator, x.denominator)
    return sympy.Integer(x) if isinstance(x, int) else sympy.Float(x)


def _matrix(sympy: ModuleType, output: Output, entries: list[Any]) -> Any:
    rows = output.shape[0]
    return sympy.Matrix(rows, len(entries) // rows, entries)
