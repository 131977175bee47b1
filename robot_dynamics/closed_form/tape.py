# SPDX-License-Identifier: Apache-2.0
"""Formulas recorded operation by operation, each intermediate once.

A `Tape` stores every operation on its `Formula` objects. The same operation on the same operands
returns the same object, so that common subexpressions are shared and nothing is expanded. This
keeps the equations of a seven-joint arm small. Operations with known results are not recorded: ``x
* 0`` and ``x - x`` are the number 0, so that zeros of the geometry simplify all later formulas.

Numbers are Python's (int, Fraction or float) and need no tape. A *scalar* below is a
number or a formula; all arithmetic works on both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from robot_dynamics.errors import DimensionError

Number: TypeAlias = 'int | float | Fraction'
Scalar: TypeAlias = 'Formula | int | float | Fraction'
Scalars: TypeAlias = 'Sequence[Scalar]'


@dataclass(frozen=True)
class Symbol:
    """A variable that formulas depend on."""

    group: str  # Array that it belongs to, such as ``q`` or ``lengths``.
    index: int  # Place in that array, from 0.
    name: str  # How it is written where arrays are not: ``q1``, ``vr2``.


class Formula:
    """An operation on a tape; made by arithmetic, `Tape.symbol`, `sine` and `cosine`.

    Attributes
    ----------
    operation : str
        ``symbol``, ``add``, ``subtract``, ``multiply``, ``negate``, ``sine`` or ``cosine``.
    arguments : tuple
        Operands: scalars, or the `Symbol`.
    index : int
        Index on the tape; operands come before their results.
    """

    __slots__ = ('arguments', 'index', 'operation', 'tape')

    # Makes NumPy apply operators elementwise instead of treating a formula as an array.
    __array_ufunc__ = None

    def __init__(self, tape: Tape, operation: str, arguments: tuple[Any, ...], index: int):
        self.tape = tape
        self.operation = operation
        self.arguments = arguments
        self.index = index

    def __repr__(self) -> str:
        return f'<Formula {self.index}: {self.operation}>'

    def __add__(self, other: Scalar) -> Scalar:
        return self.tape.add(self, other)

    def __radd__(self, other: Scalar) -> Scalar:
        return self.tape.add(other, self)

    def __sub__(self, other: Scalar) -> Scalar:
        return self.tape.subtract(self, other)

    def __rsub__(self, other: Scalar) -> Scalar:
        return self.tape.subtract(other, self)

    def __mul__(self, other: Scalar) -> Scalar:
        return self.tape.multiply(self, other)

    def __rmul__(self, other: Scalar) -> Scalar:
        return self.tape.multiply(other, self)

    def __neg__(self) -> Scalar:
        return self.tape.negate(self)


class Tape:
    """A record of operations, in the order in which they first arose.

    Attributes
    ----------
    formulas : list of Formula
        Every operation, operands first.
    labels : dict
        Names of intermediates, by formula.
    """

    def __init__(self) -> None:
        self.formulas: list[Formula] = []
        self.labels: dict[Formula, str] = {}
        self._known: dict[tuple[Any, ...], Formula] = {}

    def symbol(self, symbol: Symbol) -> Formula:
        """The formula of a variable."""
        return self._record('symbol', symbol)

    def symbols(self, group: str, names: Iterable[str]) -> list[Formula]:
        """Variables of an array with these names."""
        return [self.symbol(Symbol(group, k, name)) for k, name in enumerate(names)]

    def label(self, name: str, value: Scalar) -> Scalar:
        """Name an intermediate, unless it has a name or is a number or a variable."""
        if isinstance(value, Formula) and value.operation != 'symbol':
            if value.operation == 'negate':
                self.label(name, value.arguments[0])
            else:
                self.labels.setdefault(value, name)
        return value

    def add(self, x: Scalar, y: Scalar) -> Scalar:
        """``x + y``."""
        x, y = self._ours(x), self._ours(y)
        if not isinstance(x, Formula):
            x, y = y, x
        if not isinstance(x, Formula):
            return x + y
        if not isinstance(y, Formula):
            if y == 0:
                return x
            return self._record('add', x, y) if y > 0 else self._record('subtract', x, -y)
        if y.operation == 'negate':
            return self.subtract(x, y.arguments[0])
        if x.operation == 'negate':
            return self.subtract(y, x.arguments[0])
        if y.operation == 'subtract' and y.arguments[1] is x:
            return y.arguments[0]
        if x.operation == 'subtract' and x.arguments[1] is y:
            return x.arguments[0]
        (factor, base), (other, same) = _factored(x), _factored(y)
        if base is same:
            return self.multiply(factor + other, base)
        return self._record('add', *((x, y) if x.index < y.index else (y, x)))

    def subtract(self, x: Scalar, y: Scalar) -> Scalar:
        """``x - y``."""
        x, y = self._ours(x), self._ours(y)
        if not isinstance(y, Formula):
            return self.add(x, -y)
        if y.operation == 'negate':
            return self.add(x, y.arguments[0])
        if not isinstance(x, Formula):
            return self.negate(y) if x == 0 else self._record('subtract', x, y)
        if x.operation == 'negate':
            return self.negate(self.add(x.arguments[0], y))
        (factor, base), (other, same) = _factored(x), _factored(y)
        if base is same:
            return self.multiply(factor - other, base)
        cancelled = self._cancelled(x, y)
        return self._record('subtract', x, y) if cancelled is None else cancelled

    def _cancelled(self, x: Formula, y: Formula) -> Scalar | None:
        """Value of x - y if one is a summand of the other."""
        if x.operation == 'add' and y in x.arguments:
            return x.arguments[1 - x.arguments.index(y)]
        if x.operation == 'subtract' and x.arguments[0] is y:
            return self.negate(x.arguments[1])
        if y.operation == 'add' and x in y.arguments:
            return self.negate(y.arguments[1 - y.arguments.index(x)])
        if y.operation == 'subtract' and y.arguments[0] is x:
            return y.arguments[1]
        return None

    def multiply(self, x: Scalar, y: Scalar) -> Scalar:
        """``x y``."""
        x, y = self._ours(x), self._ours(y)
        if not isinstance(x, Formula):
            x, y = y, x
        if not isinstance(x, Formula):
            return x * y
        if not isinstance(y, Formula):
            return self._scaled(y, x)
        if x.operation == 'negate':
            return self.negate(self.multiply(x.arguments[0], y))
        if y.operation == 'negate':
            return self.negate(self.multiply(x, y.arguments[0]))
        (factor, base), (other, same) = _factored(x), _factored(y)
        if factor != 1 or other != 1:
            return self._scaled(factor * other, self.multiply(base, same))
        return self._record('multiply', *((x, y) if x.index < y.index else (y, x)))

    def _scaled(self, factor: Number, x: Scalar) -> Scalar:
        """A number times a formula."""
        if factor == 0:
            return 0
        if not isinstance(x, Formula):
            return factor * x
        if x.operation == 'negate':
            return self._scaled(-factor, x.arguments[0])
        if factor < 0:
            return self.negate(self._scaled(-factor, x))
        inner, base = _factored(x)
        factor = factor * inner
        return base if factor == 1 else self._record('multiply', factor, base)

    def negate(self, x: Scalar) -> Scalar:
        """``-x``."""
        if not isinstance(x, Formula):
            return -x
        if x.operation == 'negate':
            return x.arguments[0]
        if x.operation == 'subtract':
            return self.subtract(x.arguments[1], x.arguments[0])
        return self._record('negate', x)

    def sine(self, x: Scalar) -> Scalar:
        """``sin x``."""
        return self._record('sine', x) if isinstance(x, Formula) else math.sin(x)

    def cosine(self, x: Scalar) -> Scalar:
        """``cos x``."""
        return self._record('cosine', x) if isinstance(x, Formula) else math.cos(x)

    def _record(self, operation: str, *arguments: Scalar | Symbol) -> Formula:
        # The key includes the type, because equal numbers of two types are written differently.
        key = (operation, *((type(x), x) if not isinstance(x, Formula) else x
                            for x in arguments))
        found = self._known.get(key)
        if found is None:
            found = Formula(self, operation, arguments, len(self.formulas))
            self._known[key] = found
            self.formulas.append(found)
        return found

    def _ours(self, x: Scalar) -> Scalar:
        if isinstance(x, Formula) and x.tape is not self:
            raise DimensionError('belongs to another tape', subject=repr(x),
                                 remedy='derive all parts of a formula on one tape')
        return x


def _factored(x: Formula) -> tuple[Number, Formula]:
    """A formula as a number times another formula."""
    if x.operation == 'multiply' and not isinstance(x.arguments[0], Formula):
        return x.arguments[0], x.arguments[1]
    return 1, x
