# SPDX-License-Identifier: Apache-2.0
"""Numbers of written-out formulas as people write them.

Formulas are written out with exact fractions. A length of 0.45 m is the double nearest to it,
so that the fraction is 8106479329266893/18014398509481984, which nobody wants to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robot_dynamics.closed_form.algebra import import_sympy

if TYPE_CHECKING:
    import sympy

#: Largest denominator of a fraction that is read more easily than its decimals.
_LONGEST_DENOMINATOR = 100


def in_decimals(expression: sympy.Expr) -> sympy.Expr:
    """Return an expression with decimals, if it has fractions that are long.

    Parameters
    ----------
    expression : sympy.Expr
        A sum of polynomials times sines and cosines, with exact numbers.

    Returns
    -------
    sympy.Expr
        The same with each coefficient as the double nearest to it, in order of sines and
        cosines; or the expression itself where its fractions are short.
    """
    sympy = import_sympy()
    expression = sympy.sympify(expression)
    if all(number.q <= _LONGEST_DENOMINATOR for number in expression.atoms(sympy.Rational)):
        return expression
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(expression, trig=False)):
        coefficient, rest = term.as_coeff_Mul()
        total += _decimal(sympy, coefficient) * rest
    waves = sorted(total.atoms(sympy.sin, sympy.cos), key=sympy.default_sort_key)
    return sympy.collect(total, waves)


def decimal_text(expression: sympy.Expr) -> str:
    """Return an expression as text, with decimals if it has fractions that are long."""
    sympy = import_sympy()
    return str(sympy.sstr(in_decimals(expression), full_prec=False))


def _decimal(sympy: Any, number: sympy.Rational) -> sympy.Expr:
    """Return a number as a float, and as a whole number where it is one."""
    return number if number.is_Integer else sympy.Float(float(number))
