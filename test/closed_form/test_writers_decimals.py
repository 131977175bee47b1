# SPDX-License-Identifier: Apache-2.0
"""Written-out formulas in decimals say the same, and are short."""

import pytest

from robot_dynamics.closed_form.writers import decimal_text, in_decimals

sympy = pytest.importorskip('sympy')
a, b, q = sympy.symbols('a b q')


def exact(number):
    """The fraction that a double is."""
    return sympy.Rational(*number.as_integer_ratio())


def test_short_fractions_stay():
    for x in (a / 2 + 3 * b * sympy.cos(2 * q), a * (b + 1) / 100, sympy.Integer(0)):
        assert in_decimals(x) is x


def test_long_fractions_become_decimals():
    x = exact(0.45) * a * sympy.cos(q) - exact(0.45) * exact(0.45) * b - a**2 + b / 2
    assert decimal_text(x) == '-a**2 + 0.45*a*cos(q) + 0.2975*b'


def test_factors_in_front_of_a_sum():
    x = (exact(0.1) * a + 1) * sympy.sin(q) / 4 + exact(1.1)
    assert decimal_text(x) == '(0.025*a + 0.25)*sin(q) + 1.1'


def test_angles_and_powers_are_left_alone():
    x = exact(0.3) * a**2 * sympy.sin(q / 2 + 2 * b)
    assert decimal_text(x) == '0.3*a**2*sin(2*b + q/2)'


def test_the_value_is_that_of_the_fractions():
    x = (exact(0.1) * a + exact(1 / 3) * b) * (sympy.cos(q) - exact(2.5e-7) * sympy.sin(q))
    values = {a: 1.25, b: -3.5, q: 0.75}
    assert float(in_decimals(x).subs(values)) == pytest.approx(float(x.subs(values)), rel=1e-14)
