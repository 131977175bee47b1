# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.adaptation.gradient import RestrictedGain
from robot_dynamics.control.adaptation.partial_knowledge import (
    PartialKnowledge,
    parse_combination,
    unknown_directions,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import structural_base
from robot_dynamics.errors import ControlError, ParameterError

COLUMNS = {'a/m': 0, 'a/Jzz': 1, 'b - c/m': 2, '2 b/m': 3}


def constraints(arm, known, terms=()):
    return known.constraints(arm, Dynamics(arm).column_names(terms))


def test_a_known_link_is_ten_equations_and_leaves_the_columns_of_the_others(arm3):
    C = constraints(arm3, PartialKnowledge(links=('fore',)))
    np.testing.assert_array_equal(C, np.eye(30)[10:20])
    np.testing.assert_array_equal(unknown_directions(C),
                                  np.eye(30)[:, [*range(10), *range(20, 30)]])


def test_single_parameters_and_joint_terms(arm3):
    C = constraints(arm3, PartialKnowledge(parameters=('hand/m', 'elbow/viscous')), ('viscous',))
    assert [row.nonzero()[0].tolist() for row in C] == [[20], [31]]


def test_what_is_said_twice_counts_once(arm3):
    C = constraints(arm3, PartialKnowledge(links='hand', parameters=['hand/m', 'fore/m'],
                                combinations=['hand/m + 2 fore/m', 'fore/Jzz + upper/Jzz']))
    assert len(C) == 12
    N = unknown_directions(C)
    assert N.shape == (30, 18)
    np.testing.assert_allclose(N.T @ N, np.eye(18), atol=1e-14)
    np.testing.assert_allclose(C @ N, 0.0, atol=1e-14)


def test_base_parameters_are_known_by_the_names_they_are_printed_with(arm3):
    base = structural_base(Dynamics(arm3))
    C = constraints(arm3, PartialKnowledge(combinations=base.base_names[:3]))
    np.testing.assert_allclose(C, base.matrix[:3])


@pytest.mark.parametrize(('text', 'entries'), [
    ('a/m', {0: 1.0}), ('a/m + a/Jzz', {0: 1.0, 1: 1.0}), ('-2.5 a/m', {0: -2.5}),
    ('a/m - 1e-3*a/Jzz', {0: 1.0, 1: -1e-3}), ('.5 * a/m + a/m', {0: 1.5}),
    ('2 b/m', {3: 1.0}), ('3 2 b/m', {3: 3.0})])
def test_combinations_are_read(text, entries):
    assert parse_combination(text, COLUMNS) == entries


@pytest.mark.parametrize('text', ['', '+', 'a/m + ', '2', 'a/m ++ a/Jzz', 'a/m - a/m', '0 a/m',
                                  '1e999 a/m', 'z/m'])
def test_what_is_no_combination_is_refused(text):
    with pytest.raises(ParameterError):
        parse_combination(text, COLUMNS)


@pytest.mark.parametrize('known', [PartialKnowledge(links=('hnad',)),
                                   PartialKnowledge(parameters=('hand/mass',)),
                                   PartialKnowledge(combinations=('hand/m + hnad/mx',))])
def test_names_that_are_none_are_refused_with_near_ones(arm3, known):
    with pytest.raises(ParameterError, match='hand'):
        constraints(arm3, known)


def test_an_arm_of_which_all_is_known_has_nothing_to_learn(arm3):
    with pytest.raises(ControlError, match='must not include every parameter'):
        constraints(arm3, PartialKnowledge(links=arm3.body_names))
    with pytest.raises(ParameterError, match='must be names'):
        PartialKnowledge(links=(3,))
    assert not PartialKnowledge()


def test_the_restricted_gain_is_that_of_the_coordinates_which_are_free():
    random = np.random.default_rng(0)
    root = random.normal(size=(8, 8)) * np.geomspace(1e-3, 1e2, 8)[:, None]
    gain, C = root @ root.T, np.zeros((3, 8))
    C[0, 2] = 1.0
    C[1:] = random.normal(size=(2, 8))
    C = C[[0, 1, 2]]
    restriction = RestrictedGain(gain, C)
    N = unknown_directions(C)
    expected = N @ np.linalg.inv(N.T @ np.linalg.inv(gain) @ N) @ N.T
    scale = np.sqrt(np.diag(gain))
    np.testing.assert_allclose(restriction.gain / np.outer(scale, scale),
                               expected / np.outer(scale, scale), atol=1e-8)
    assert not restriction.gain[2].any()
    x = random.normal(size=8)
    # The nearest point: what is taken away is at right angles to all that is free.
    np.testing.assert_allclose(C @ restriction.projection @ x, 0.0, atol=1e-7)
    away = np.linalg.solve(gain, x - restriction.projection @ x)
    np.testing.assert_allclose(N.T @ away, 0.0, atol=1e-6 * np.abs(away).max())
