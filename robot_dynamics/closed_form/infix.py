# SPDX-License-Identifier: Apache-2.0
"""Formulas as text with signs between operands, which most languages share."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from robot_dynamics.closed_form.tape import Formula, Number, Scalar, Symbol

_SUM, _PRODUCT, _ATOM = 1, 2, 3


class Infix:
    """Writes formulas in one language; subclasses say how it spells their parts.

    Parameters
    ----------
    variables : mapping of Formula to str
        Formulas that are written by a name of their own.
    """

    #: What stands between factors.
    times = '*'

    def __init__(self, variables: Mapping[Formula, str]):
        self._variables = variables

    def symbol(self, symbol: Symbol) -> str:
        """Spell a variable."""
        return symbol.name

    def variable(self, name: str) -> str:
        """Spell an intermediate."""
        return name

    def number(self, x: Number) -> str:
        """Spell a number that is not negative."""
        return str(x) if isinstance(x, (int, Fraction)) else repr(float(x))

    def call(self, function: str, argument: str) -> str:
        """Spell ``sine`` or ``cosine`` of something."""
        return f'{ {"sine": "sin", "cosine": "cos"}[function]}({argument})'

    def define(self, formula: Formula) -> str:
        """Spell the operation itself of a formula that may have a name."""
        return self._operation(formula)[0]

    def text(self, x: Scalar) -> str:
        """Spell a scalar."""
        return self._spelt(x)[0]

    def _spelt(self, x: Scalar) -> tuple[str, int]:
        """Return the text and how strongly its parts hold together."""
        if not isinstance(x, Formula):
            if x < 0:
                return f'-{self._bound(-x, _PRODUCT)}', _SUM
            text = self.number(x)
            return text, _PRODUCT if '/' in text else _ATOM
        if x in self._variables:
            return self.variable(self._variables[x]), _ATOM
        return self._operation(x)

    def _operation(self, x: Formula) -> tuple[str, int]:
        if x.operation == 'symbol':
            return self.symbol(x.arguments[0]), _ATOM
        if x.operation in ('sine', 'cosine'):
            return self.call(x.operation, self.text(x.arguments[0])), _ATOM
        if x.operation == 'negate':
            return f'-{self._bound(x.arguments[0], _PRODUCT)}', _SUM
        first, second = x.arguments
        if x.operation == 'multiply':
            return (f'{self._bound(first, _PRODUCT)}{self.times}{self._bound(second, _PRODUCT)}',
                    _PRODUCT)
        if x.operation == 'add':
            return f'{self.text(first)} + {self._bound(second, _SUM)}', _SUM
        return f'{self.text(first)} - {self._bound(second, _PRODUCT)}', _SUM

    def _bound(self, x: Scalar, least: int) -> str:
        """Spell an operand, in brackets if its parts hold together less than that."""
        text, strength = self._spelt(x)
        return f'({text})' if strength < least or text.startswith('-') else text
