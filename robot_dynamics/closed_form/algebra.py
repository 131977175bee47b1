# SPDX-License-Identifier: Apache-2.0
r"""Formulas in SymPy, as recorded or expanded.

Expanded formulas are sums of polynomials times sines and cosines of sums of angles. Products of
sines and cosines are converted to sums, which makes the form unique: two derivations of the same
quantity give equal terms, and a formula that vanishes is literally zero::

    cos a cos b = (cos(a - b) + cos(a + b))/2        sin a sin b = (cos(a - b) - cos(a + b))/2
    sin a cos b = (sin(a + b) + sin(a - b))/2

Such formulas are short for planar arms and for two or three joints, but too long for spatial arms
with many joints. Numbers are exact fractions. SymPy is imported only in this module, on first use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any

from robot_dynamics.closed_form.recording import Output, Recording, live, plan
from robot_dynamics.closed_form.tape import Formula, Number, Scalar, Symbol
from robot_dynamics.errors import BackendError, ModelError, install_line

if TYPE_CHECKING:
    import sympy

#: Relative size below which a term of a formula counts as rounding.
_ROUNDING = (1, 10**14)

#: Largest number of products of two terms; longer texts take too long to compute and to read.
LARGEST_WORK = 100_000


def import_sympy() -> ModuleType:
    """SymPy; raises a `BackendError` if it is not installed."""
    try:
        import sympy
    except ImportError as error:
        raise BackendError('is not installed', subject='SymPy',
                           remedy=install_line('sympy', 'python3-sympy')) from error
    return sympy


@dataclass(frozen=True)
class Expressions:
    """A recording in SymPy."""

    assignments: list[tuple[sympy.Symbol, sympy.Expr]]  # Intermediates, in order.
    outputs: dict[str, sympy.Matrix]  # By name; one column for a vector.


def expressions(recording: Recording) -> Expressions:
    """A recording in SymPy with its intermediates, without expansion.

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
    known: dict[Formula, Any] = {}
    assignments = []

    def spelt(x: Scalar) -> Any:
        return known[x] if isinstance(x, Formula) and x in known else _operation(sympy, x, spelt)

    for formula, name in plan(recording).variables.items():
        symbol = sympy.Symbol(name)
        assignments.append((symbol, _operation(sympy, formula, spelt)))
        known[formula] = symbol
    return Expressions(assignments, {
        output.name: _matrix(sympy, output, [spelt(0 if entry is None else entry)
                                             for entry in output.entries])
        for output in recording.outputs})


def _operation(sympy: ModuleType, x: Scalar, spelt: Any) -> Any:
    if not isinstance(x, Formula):
        # Floats keep their type.
        if isinstance(x, Fraction):
            return sympy.Rational(x.numerator, x.denominator)
        return sympy.Integer(x) if isinstance(x, int) else sympy.Float(x)
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


def _matrix(sympy: ModuleType, output: Output, entries: list[Any]) -> Any:
    rows = output.shape[0]
    return sympy.Matrix(rows, len(entries) // rows, entries)


@dataclass(frozen=True)
class Wave:
    """Cosine or sine of an angle, the sum of multiples of variables.

    Variables are in the order of their arrays, and the first factor is positive. An empty sum
    stands for the cosine of zero, 1.
    """

    is_sine: bool
    angle: tuple[tuple[Symbol, Number], ...]


_ONE = Wave(False, ())

#: Polynomial factor of each wave.
Harmonics = dict[Wave, Any]


class Expansion:
    """Expands the formulas of a recording."""

    def __init__(self, recording: Recording):
        sympy = import_sympy()
        from sympy.polys.rings import ring
        self._sympy = sympy
        self.symbols = sorted(recording.symbols, key=_order) or [Symbol('none', 0, 'none')]
        self.ring, *generators = ring([symbol.name for symbol in self.symbols], sympy.QQ)
        self._generators = dict(zip(self.symbols, generators, strict=True))
        self._known: dict[Formula, Harmonics] = {}
        self._robot, self._work = recording.robot, 0

    def __call__(self, x: Scalar) -> Harmonics:
        """An expanded scalar."""
        if not isinstance(x, Formula):
            return self._clean({_ONE: self.ring(self._rational(x))})
        if x not in self._known:
            for formula in live([x]):
                if formula not in self._known:
                    self._known[formula] = self._of(formula)
        return self._clean(self._known[x])

    def expression(self, x: Scalar) -> sympy.Expr:
        """A scalar as a SymPy expression, each polynomial factored."""
        total = self._sympy.Integer(0)
        for wave, polynomial in self(x).items():
            total += self._sympy.factor(polynomial.as_expr()) * self._wave(wave)
        return total

    def matrix(self, output: Output) -> sympy.Matrix:
        """An output as a SymPy matrix; a vector has one column."""
        for entry in output.entries:
            # Rejected before the factorisation, which takes long.
            self(entry)
        return _matrix(self._sympy, output, [self.expression(entry) for entry in output.entries])

    def _wave(self, wave: Wave) -> Any:
        sympy = self._sympy
        angle = sum((sympy.nsimplify(factor, rational=True) * sympy.Symbol(symbol.name)
                     for symbol, factor in wave.angle), sympy.Integer(0))
        return sympy.sin(angle) if wave.is_sine else sympy.cos(angle)

    def _of(self, x: Formula) -> Harmonics:
        if x.operation == 'symbol':
            return {_ONE: self._generators[x.arguments[0]]}
        if x.operation in ('sine', 'cosine'):
            return self._turn(x.operation == 'sine', *_angle(x.arguments[0]))
        parts = [self._known[part] if isinstance(part, Formula) else self(part)
                 for part in x.arguments]
        if x.operation == 'negate':
            return {wave: -polynomial for wave, polynomial in parts[0].items()}
        if x.operation == 'multiply':
            return self._product(*parts)
        sign = 1 if x.operation == 'add' else -1
        total = dict(parts[0])
        for wave, polynomial in parts[1].items():
            _accumulate(total, wave, sign * polynomial)
        return total

    def _turn(self, is_sine: bool, angle: dict[Symbol, Number], shift: Number) -> Harmonics:
        """Sine or cosine of an angle and a constant."""
        total: Harmonics = {}
        cosine, sine = (self._rational(f(shift)) for f in (math.cos, math.sin))
        self._add_wave(total, is_sine, angle, self.ring(cosine))
        self._add_wave(total, not is_sine, angle, self.ring(sine if is_sine else -sine))
        return total

    def _product(self, one: Harmonics, other: Harmonics) -> Harmonics:
        self._work += _size(one) * _size(other)
        if self._work > LARGEST_WORK:
            raise ModelError('has formulas that are too long to be expanded', subject=self._robot,
                             remedy='use formulas with intermediates, or a robot with '
                                    'fewer joints')
        total: Harmonics = {}
        half = self.ring(self._sympy.QQ(1, 2))
        for a, p in one.items():
            for b, r in other.items():
                both = p * r
                if a == _ONE or b == _ONE:
                    _accumulate(total, b if a == _ONE else a, both)
                    continue
                both *= half
                plus, minus = _sum(a.angle, b.angle, 1), _sum(a.angle, b.angle, -1)
                if a.is_sine == b.is_sine:
                    self._add_wave(total, False, minus, both)
                    self._add_wave(total, False, plus, -both if a.is_sine else both)
                else:
                    self._add_wave(total, True, plus, both)
                    self._add_wave(total, True, minus, both if a.is_sine else -both)
        return total

    def _add_wave(self, total: Harmonics, is_sine: bool, angle: dict[Symbol, Number],
                  polynomial: Any) -> None:
        """Add a polynomial times a wave, with the angle in its normal form."""
        terms = sorted(((symbol, factor) for symbol, factor in angle.items() if factor != 0),
                       key=lambda term: _order(term[0]))
        if terms and terms[0][1] < 0:
            terms = [(symbol, -factor) for symbol, factor in terms]
            polynomial = -polynomial if is_sine else polynomial
        if terms or not is_sine:
            _accumulate(total, Wave(is_sine, tuple(terms)), polynomial)

    def _rational(self, x: Number) -> Any:
        exact = Fraction(x)
        return self._sympy.QQ(exact.numerator, exact.denominator)

    def _clean(self, harmonics: Harmonics) -> Harmonics:
        """Remove terms that are only rounding."""
        sizes = [abs(c) for polynomial in harmonics.values() for c in polynomial.coeffs()]
        least = max(sizes, default=0) * self._sympy.QQ(*_ROUNDING)
        cleaned = {}
        for wave, polynomial in harmonics.items():
            kept = self.ring.from_dict({monomial: c for monomial, c in polynomial.terms()
                                        if abs(c) > least})
            if kept:
                cleaned[wave] = kept
        return cleaned


def explicit(recording: Recording) -> dict[str, sympy.Matrix]:
    """Expanded outputs of a recording, by name, as SymPy matrices.

    Parameters
    ----------
    recording : Recording
        The formulas.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.closed_form import derive, explicit
    >>> explicit(derive(Robot.from_urdf('planar_2r'), 'M'))['M'][1, 1]
    Jzz2
    """
    expansion = Expansion(recording)
    return {output.name: expansion.matrix(output) for output in recording.outputs}


def _angle(x: Scalar) -> tuple[dict[Symbol, Number], Number]:
    """Multiples of variables in an angle, and its constant."""
    if not isinstance(x, Formula):
        return {}, x
    if x.operation == 'symbol':
        return {x.arguments[0]: 1}, 0
    if x.operation == 'negate':
        terms, shift = _angle(x.arguments[0])
        return {symbol: -factor for symbol, factor in terms.items()}, -shift
    (one, shift), (other, more) = (_angle(part) for part in x.arguments)
    if x.operation == 'multiply':  # A number stands first.
        return {symbol: shift * factor for symbol, factor in other.items()}, shift * more
    sign = 1 if x.operation == 'add' else -1
    return _sum(tuple(one.items()), tuple(other.items()), sign), shift + sign * more


def _sum(one: tuple[tuple[Symbol, Number], ...], other: tuple[tuple[Symbol, Number], ...],
         sign: int) -> dict[Symbol, Number]:
    total = dict(one)
    for symbol, factor in other:
        total[symbol] = total.get(symbol, 0) + sign * factor
    return total


def _size(harmonics: Harmonics) -> int:
    return sum(len(polynomial) for polynomial in harmonics.values())


def _accumulate(total: Harmonics, wave: Wave, polynomial: Any) -> None:
    total[wave] = total[wave] + polynomial if wave in total else polynomial


def _order(symbol: Symbol) -> tuple[str, int]:
    return symbol.group, symbol.index
