# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

sympy = pytest.importorskip('sympy')

from robot_dynamics.closed_form import algebra  # noqa: E402
from robot_dynamics.closed_form.algebra import (  # noqa: E402
    Expansion,
    explicit,
    expressions,
)
from robot_dynamics.closed_form.quantities import derive  # noqa: E402
from robot_dynamics.closed_form.recording import Output, Recording  # noqa: E402
from robot_dynamics.closed_form.tape import Tape  # noqa: E402
from robot_dynamics.errors import ModelError  # noqa: E402
from robot_dynamics.model.robot import Robot  # noqa: E402


@pytest.fixture
def expand():
    """Write a formula of q1, q2 and x out."""
    def written(make):
        tape = Tape()
        q1, q2 = tape.symbols('q', ['q1', 'q2'])
        (x,) = tape.symbols('x', ['x'])
        formula = make(tape, q1, q2, x)
        recording = Recording('', '', '', tape, (), (Output('', (1,), (formula,)),))
        return Expansion(recording).expression(formula)
    return written


q1, q2, x = sympy.symbols('q1 q2 x')


@pytest.mark.parametrize(('make', 'expected'), [
    (lambda t, a, b, x: t.sine(a) * t.sine(a) + t.cosine(a) * t.cosine(a), sympy.Integer(1)),
    (lambda t, a, b, x: t.cosine(a) * t.cosine(b) - t.sine(a) * t.sine(b), sympy.cos(q1 + q2)),
    (lambda t, a, b, x: t.sine(a) * t.cosine(b) - t.cosine(a) * t.sine(b), sympy.sin(q1 - q2)),
    (lambda t, a, b, x: t.sine(b - a) * x, -x * sympy.sin(q1 - q2)),
    (lambda t, a, b, x: t.sine(a) * t.cosine(a), sympy.sin(2 * q1) / 2),
    (lambda t, a, b, x: x * x - x * x + 3, sympy.Integer(3)),
    (lambda t, a, b, x: t.cosine(2 * a + -b), sympy.cos(2 * q1 - q2)),
], ids=range(7))
def test_products_become_sums(expand, make, expected):
    assert sympy.expand(expand(make) - expected) == 0


def test_a_constant_in_an_angle_is_a_number(expand):
    shifted = expand(lambda t, a, b, x: t.sine(a + 0.3))
    assert abs(float(shifted.subs(q1, 0.4)) - np.sin(0.7)) < 1e-15


def test_rounding_leaves_no_terms(expand):
    third = 1.0 / 3.0
    assert expand(lambda t, a, b, x: (x * third + x * third) + x * third - x
                  + t.sine(a)) == sympy.sin(q1)


def test_written_out_or_not_values_are_the_same(at_random, evaluated):
    robot = Robot.from_dh({'convention': 'modified', 'links': [
        {'a': 0.1, 'alpha': 0.4, 'd': 0.2, 'mass': 1.0, 'com': [0, 0.1, 0]},
        {'a': 0.3, 'alpha': -1.1, 'd': 0, 'type': 'prismatic'}]})
    values, expected = at_random(robot)
    recording = derive(robot, 'slotine-li')
    names = {name: float(value) for array in recording.inputs
             for name, value in zip(array.names, values[array.group], strict=True)}
    matrix = np.array(explicit(recording)['Yr'].subs(names), float)
    assert np.allclose(matrix, expected['slotine-li'], rtol=0, atol=1e-12)


def test_intermediates_in_sympy_give_the_same(puma, at_random):
    values, expected = at_random(puma)
    recording = derive(puma, 'C')
    names = {sympy.Symbol(name): float(value) for array in recording.inputs
             for name, value in zip(array.names, values[array.group], strict=True)}
    form = expressions(recording)
    for symbol, expression in form.assignments:
        names[symbol] = expression.xreplace(names)
    found = np.array(form.outputs['C'].xreplace(names), float)
    assert np.allclose(found, expected['C'], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_formulas_too_long_to_be_written_out_are_refused(puma, monkeypatch):
    monkeypatch.setattr(algebra, 'LARGEST_WORK', 2000)
    assert len(explicit(derive(puma, 'g'))['g']) == 6
    with pytest.raises(ModelError, match=r'puma560.*too long to be expanded; .*intermediates'):
        explicit(derive(puma, 'M'))


def test_they_are_refused_before_factors_are_looked_for(puma, monkeypatch):
    """The first entries may be short; factors of them take a minute for a long chain."""
    monkeypatch.setattr(algebra, 'LARGEST_WORK', 2000)

    def factor(*_):
        raise AssertionError('looked for factors')

    monkeypatch.setattr(sympy, 'factor', factor)
    with pytest.raises(ModelError, match='too long to be expanded'):
        explicit(derive(puma, 'slotine-li'))
