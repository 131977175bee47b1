# SPDX-License-Identifier: Apache-2.0
import math
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.closed_form.recording import live
from robot_dynamics.closed_form.tape import Formula, Tape
from robot_dynamics.errors import DimensionError

VALUES = {'x0': 0.7, 'x1': -1.3, 'x2': 2.1}


@pytest.fixture
def tape():
    return Tape()


@pytest.fixture
def xyz(tape):
    return tape.symbols('x', VALUES)


def value(scalar, known=None):
    """A scalar at VALUES, by walking over it."""
    if not isinstance(scalar, Formula):
        return float(scalar)
    if scalar.operation == 'symbol':
        return VALUES[scalar.arguments[0].name]
    parts = [value(part) for part in scalar.arguments]
    return {'add': operator.add, 'subtract': operator.sub, 'multiply': operator.mul,
            'negate': operator.neg, 'sine': math.sin, 'cosine': math.cos}[
                scalar.operation](*parts)


def test_the_same_operation_is_the_same_object(tape, xyz):
    x, y, _ = xyz
    assert x * y is y * x
    assert x + y is y + x
    assert tape.sine(x) is tape.sine(x)
    assert x - y is not y - x


def test_known_results_are_not_recorded(tape, xyz):
    x, y, _ = xyz
    before = len(tape.formulas)
    assert x * 0 == 0
    assert x - x == 0
    assert x + 0 is x
    assert 1 * x is x
    assert operator.neg(-x) is x
    assert len(tape.formulas) == before + 1  # -x
    assert (x + y) - y is x
    assert (x - y) + y is x
    assert (-x) * (-y) is x * y
    assert -(x - y) is y - x
    assert 2 * (3 * x) is 6 * x
    assert x * 2 + x is 3 * x
    assert x * Fraction(1, 2) + x * Fraction(1, 2) is x


def test_numbers_of_different_types_stay_apart(tape, xyz):
    x = xyz[0]
    assert (x * 2).arguments[0] == 2
    assert isinstance((x * 2.0).arguments[0], float)
    assert isinstance((x * 2).arguments[0], int)


def test_formulas_of_two_tapes_do_not_mix(xyz):
    with pytest.raises(DimensionError, match='another tape'):
        xyz[0] + Tape().symbols('x', ['x0'])[0]


def test_labels_go_to_what_is_computed(tape, xyz):
    x, y, _ = xyz
    tape.label('p', -(x * y))
    tape.label('other', x * y)
    tape.label('q', x)
    tape.label('r', 3)
    assert tape.labels == {x * y: 'p'}


LEAVES = st.sampled_from(['x0', 'x1', 'x2', 0, 1, -1, 2, Fraction(1, 2), -0.3])
TREES = st.recursive(LEAVES, lambda parts: st.tuples(
    st.sampled_from(['add', 'sub', 'mul', 'neg', 'sin']), parts, parts), max_leaves=25)


def build(tree, leaf, functions):
    if not isinstance(tree, tuple):
        return leaf(tree)
    operation, *parts = tree
    one, other = (build(part, leaf, functions) for part in parts)
    return {'add': lambda: one + other, 'sub': lambda: one - other, 'mul': lambda: one * other,
            'neg': lambda: -one, 'sin': lambda: functions(one) + other}[operation]()


@given(TREES)
def test_whatever_is_simplified_keeps_its_value(tree):
    tape = Tape()
    formula = build(tree, lambda x: tape.symbols('x', VALUES)[int(x[1])]
                    if isinstance(x, str) else x,
                    lambda x: tape.sine(x) if isinstance(x, Formula) else math.sin(x))
    plain = build(tree, lambda x: VALUES[x] if isinstance(x, str) else float(x), math.sin)
    assert value(formula) == pytest.approx(plain, rel=1e-12, abs=1e-12)
    for recorded in live([formula]):
        assert all(part.index < recorded.index for part in recorded.arguments
                   if isinstance(part, Formula))
