# SPDX-License-Identifier: Apache-2.0
"""Blocks as printed for the planar elbow and the RPR arm, where the print is right.

Symbolic: all is written out, so that equal formulas are equal expressions.
"""

import numpy as np
import pytest

sympy = pytest.importorskip('sympy')

from robot_dynamics.closed_form.algebra import Expansion, explicit  # noqa: E402
from robot_dynamics.closed_form.blocks import Lagrangian  # noqa: E402
from robot_dynamics.closed_form.quantities import QUANTITIES, derive  # noqa: E402
from robot_dynamics.closed_form.recording import Output, Recording  # noqa: E402
from robot_dynamics.closed_form.reduction import reduced, structure  # noqa: E402
from robot_dynamics.closed_form.tape import Tape  # noqa: E402

a1, a2, g = sympy.symbols('a1 a2 g')
q1, q2, q3, v1, v2, v3, r1, r2, r3, u1, u2, u3 = sympy.symbols(
    'q1 q2 q3 v1 v2 v3 vr1 vr2 vr3 ar1 ar2 ar3')
c1, s1, c2, s2 = sympy.cos(q1), sympy.sin(q1), sympy.cos(q2), sympy.sin(q2)
c12, s12 = sympy.cos(q1 + q2), sympy.sin(q1 + q2)


def section_v():
    """Section V, with b5 of velocities and b3 b8 in the first block of X."""
    b1 = r2 * v1 + r1 * v2
    b2 = r2 * v1 + (r1 + r2) * v2
    b3, b4 = 2 * u1 + u2, u1 + u2
    b5 = (2 * r1 + r2) * v1 + r1 * v2
    b6, b8 = a1 * a2 * s2, a1 * a2 * c2
    b9, b10 = a1 * c2, a1 * s2
    half = sympy.Rational(1, 2)
    last = [0, 0, 0, 0, 0]
    return {
        (0, 'X', 0): [[a1**2 * u1], [0]],
        (0, 'X', 1): [[2 * a1 * u1, 0, 0], [0, 0, 0]],
        (0, 'X', 2): [[*last, u1], [0] * 6],
        (0, 'W', 0): [[0], [0]], (0, 'W', 1): [[0] * 3] * 2, (0, 'W', 2): [[0] * 6] * 2,
        (0, 'Z', 0): [[a1 * c1 * g], [0]],
        (0, 'Z', 1): [[c1 * g, -g * s1, 0], [0] * 3],
        (0, 'Z', 2): [[0] * 6] * 2,
        (1, 'X', 0): [[-b6 * b1 - b6 * r2 * v2 + a2**2 * b4 + a1**2 * u1 + b3 * b8],
                      [-half * b6 * b1 + b8 * u1 + a2**2 * b4]],
        (1, 'X', 1): [[2 * a2 * b4 + b9 * b3 - b10 * b2, -b9 * b2 - b10 * b3, 0],
                      [b9 * u1 - half * b10 * b1 + 2 * a2 * b4, -half * b9 * b1 - b10 * u1, 0]],
        (1, 'X', 2): [[*last, b4], [*last, b4]],
        (1, 'W', 0): [[0], [-half * a1 * a2 * s2 * b5]],
        (1, 'W', 1): [[0, 0, 0], [-half * a1 * s2 * b5, -half * a1 * c2 * b5, 0]],
        (1, 'W', 2): [[0] * 6] * 2,
        (1, 'Z', 0): [[(a1 * c1 + a2 * c12) * g], [a2 * c12 * g]],
        (1, 'Z', 1): [[c12 * g, -g * s12, 0], [c12 * g, -g * s12, 0]],
        (1, 'Z', 2): [[0] * 6] * 2,
    }


@pytest.fixture(scope='module')
def elbow_blocks(elbow):
    """Every block of the elbow's Slotine-Li regressor, written out."""
    tape = Tape()
    geometry = elbow.on(tape)
    q, v, v_r, a_r = (tape.symbols(group, [f'{name}1', f'{name}2']) for group, name in (
        ('q', 'q'), ('v', 'v'), ('v_r', 'vr'), ('a_r', 'ar')))
    links = Lagrangian(tape, geometry, q).slotine_li_blocks(v, v_r, a_r)
    entries = tuple(x for link in links for rows in (link.X, link.W, link.Z)
                    for row in rows for x in row)
    expansion = Expansion(Recording('', '', '', tape, (),
                                    (Output('all', (len(entries),), entries),)))
    columns = (slice(0, 1), slice(1, 4), slice(4, 10))
    return {(i, name, number): sympy.Matrix([[expansion.expression(x) for x in row[block]]
                                             for row in getattr(link, name)])
            for i, link in enumerate(links) for name in 'XWZ'
            for number, block in enumerate(columns)}


@pytest.mark.parametrize('key', section_v(), ids=str)
def test_the_blocks_of_section_v(elbow_blocks, key):
    expected = sympy.Matrix(section_v()[key])
    assert elbow_blocks[key].shape == expected.shape
    assert sympy.expand(elbow_blocks[key] - expected) == sympy.zeros(*expected.shape)


def test_as_printed_two_of_the_blocks_are_wrong(elbow_blocks):
    b4, b5 = u1 + u2, (2 * u1 + u2) * v1 + u1 * v2  # b5 of accelerations
    b1 = r2 * v1 + r1 * v2
    printed = (-a1 * a2 * s2 * (b1 + r2 * v2) + a2**2 * b4 + a1**2 * u1 + b4 * a1 * a2 * c2)
    error = sympy.expand(printed - elbow_blocks[1, 'X', 0][0])
    assert error == -a1 * a2 * u1 * c2
    assert sympy.expand(elbow_blocks[1, 'W', 0][1] + a1 * a2 * s2 * b5 / 2) != 0


@pytest.mark.parametrize('what', QUANTITIES)
@pytest.mark.parametrize('robot', ['elbow', 'rpr'])
def test_recursion_and_blocks_agree_symbolically(robot, what, request):
    description = request.getfixturevalue(robot)
    (one,) = explicit(derive(description, what)).values()
    (other,) = explicit(derive(description, what, method='blocks')).values()
    assert one == other
    assert (what == 'g' and robot == 'rpr') or any(entry != 0 for entry in one)


def lagrange(kinetic, potential, q, v, a):
    """Efforts from energies, by SymPy's own derivatives."""
    rates = dict(zip(q, v, strict=True)) | dict(zip(v, a, strict=True))

    def by_time(x):
        return sum(sympy.diff(x, variable) * rate for variable, rate in rates.items())
    return [by_time(sympy.diff(kinetic, v_k)) - sympy.diff(kinetic - potential, q_k)
            for q_k, v_k in zip(q, v, strict=True)]


def same(one, other):
    return sympy.expand(sympy.expand(one - other, trig=True).subs(s1**2, 1 - c1**2).subs(
        s2**2, 1 - c2**2)) == 0


@pytest.mark.slow
def test_the_elbow_equals_lagrange_equations_of_its_energies(elbow):
    m1, m2, x1, x2, J1, J2, b1, b2 = sympy.symbols('m1 m2 mx1 mx2 Jzz1 Jzz2 acc1 acc2')
    p1 = sympy.Matrix([a1 * c1, a1 * s1])
    p2 = p1 + sympy.Matrix([a2 * c12, a2 * s12])
    e1, e2 = sympy.Matrix([c1, s1]), sympy.Matrix([c12, s12])
    v, kinetic, potential = (v1, v2), 0, 0
    for m, x, J, p, e, w in ((m1, x1, J1, p1, e1, v1), (m2, x2, J2, p2, e2, v1 + v2)):
        rate = p.jacobian([q1, q2]) * sympy.Matrix(v)
        turn = e.jacobian([q1, q2]) * sympy.Matrix(v)
        kinetic += (m * rate.dot(rate) + 2 * x * rate.dot(turn) + J * w**2) / 2
        potential += g * (m * p[1] + x * e[1])
    expected = lagrange(kinetic, potential, (q1, q2), v, (b1, b2))
    (tau,) = explicit(derive(elbow, 'tau')).values()
    # Centres of mass on the links' axes; the plane hides all but Jzz.
    assert not [s for s in tau.free_symbols if s.name[0] == 'J' and s.name[:3] != 'Jzz']
    tau = tau.subs({s: 0 for s in tau.free_symbols if s.name[:2] == 'my'})
    assert all(same(entry, other) for entry, other in zip(tau, expected, strict=True))


def exercise_3():
    """Y_U and Y_K of the exercise, Y_U(1,3) with q2^2 times the acceleration of joint 1."""
    c3, s3 = sympy.cos(q3), sympy.sin(q3)
    both = v1 * r2 + v2 * r1
    unknown = [[u1, 2 * q2 * u1 + both, q2**2 * u1 + q2 * both],
               [0, -v1 * r1, u2 - q2 * v1 * r1], [0, 0, 0]]
    known = [[u1 + u3, q2**2 * u1 + q2 * both,
              q2 * c3 * (2 * u1 + u3) - s3 * u2 + c3 * both
              - q2 * s3 * (v3 * r1 + (v1 + v3) * r3)],
             [0, u2 - q2 * v1 * r1, -s3 * (u1 + u3) - c3 * (v1 + v3) * (r1 + r3)],
             [u1 + u3, 0, q2 * c3 * u1 - s3 * u2 + q2 * s3 * v1 * r1 + c3 * both]]
    return sympy.Matrix(unknown), sympy.Matrix(known)


def test_the_regressors_of_the_rpr_exercise(rpr):
    recording = derive(rpr)
    (Yr,) = explicit(recording).values()
    column = {name: Yr[:, k] for k, name in enumerate(recording.columns)}
    unknown, known = exercise_3()
    # Along the slide stands y of frame 2 backwards, along link 3 x of frame 3.
    ours = (column['Jyy1'].row_join(-column['my2']).row_join(column['m2']),
            column['Jzz3'].row_join(column['m3']).row_join(column['mx3']))
    for found, expected in zip(ours, (unknown, known), strict=True):
        assert sympy.expand(found - expected) == sympy.zeros(3, 3)
    assert column['Jzz2'] == column['Jyy1']
    assert column['m3'] == column['m2']


def test_the_rpr_exercise_at_reference_states(reference, rpr, evaluated):
    recording = derive(rpr)
    names = recording.columns
    for state in reference('ref_rpr')['states']:
        Yr = evaluated(recording, {'q': state['q'], 'v': state['qd'], 'v_r': state['qdr'],
                                   'a_r': state['qddr']})
        unknown = Yr[:, [names.index(name) for name in ('Jyy1', 'my2', 'm2')]] * [1, -1, 1]
        known = Yr[:, [names.index(name) for name in ('Jzz3', 'm3', 'mx3')]]
        assert np.allclose(unknown, state['Y_U'], rtol=0, atol=1e-12)
        assert np.allclose(known, state['Y_K'], rtol=0, atol=1e-12)


def test_the_elbow_at_reference_states(reference, elbow, evaluated):
    content = reference('ref_planar_elbow')
    given = content['parameters']
    for state in content['states']:
        for method in ('recursion', 'blocks'):
            recording = derive(elbow, method=method)
            Yr = evaluated(recording, {
                'q': state['q'], 'v': state['qd'], 'v_r': state['qdr'], 'a_r': state['qddr'],
                'constants': [given['a1'], given['a2'], given['g_y']]})
            assert np.allclose(Yr, state['Yr_ORD000'], rtol=0, atol=1e-11)


def test_the_blocks_of_the_elbow_at_reference_states(reference, elbow_blocks):
    content = reference('ref_planar_elbow')
    given = content['parameters']
    for state in content['states']:
        values = {a1: given['a1'], a2: given['a2'], g: given['g_y']}
        for symbols, name in (((q1, q2), 'q'), ((v1, v2), 'qd'), ((r1, r2), 'qdr'),
                              ((u1, u2), 'qddr')):
            values.update(zip(symbols, state[name], strict=True))
        for name, expected in state['blocks_SL'].items():
            for i, of_link in enumerate(expected):
                found = elbow_blocks[i, name[0], int(name[1])].subs(values)
                assert np.allclose(np.array(found, float), np.reshape(of_link, found.shape),
                                   rtol=0, atol=1e-12), (name, i)


def test_the_reduced_regressors_of_the_elbow_at_reference_states(reference, elbow, evaluated):
    content = reference('ref_planar_elbow')
    given, columns = content['parameters'], content['meta']['reduced_columns_1based']
    for what, name in (('slotine-li', 'Yr_reduced_8'), ('regressor', 'Y_reduced_8')):
        recording = derive(elbow, what)
        effective = structure(recording).effective
        assert [column + 1 for column in effective] == columns
        for state in content['states']:
            Y = evaluated(reduced(recording, effective), {
                'q': state['q'], 'v': state['qd'], 'a': state['qdd'], 'v_r': state['qdr'],
                'a_r': state['qddr'], 'constants': [given['a1'], given['a2'], given['g_y']]})
            assert np.allclose(Y, state[name], rtol=0, atol=1e-11)
