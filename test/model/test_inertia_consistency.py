# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import DimensionError, InertiaError, ParameterError
from robot_dynamics.model.inertia import (
    check_body,
    parameters_from_com,
    parameters_from_pseudo_inertia,
    project_to_consistent,
    pseudo_inertia,
)


def body(mass, moments, com=(0.1, -0.2, 0.3)):
    return parameters_from_com(mass, com, np.diag(moments))


def possible_bodies(rng, count):
    """Bodies made of random points: possible by construction."""
    weights = rng.uniform(0.01, 1.0, (count, 6))
    points = np.concatenate([rng.normal(size=(count, 6, 3)), np.ones((count, 6, 1))], axis=-1)
    return parameters_from_pseudo_inertia(
        np.einsum('bk,bki,bkj->bij', weights, points, points))


def test_pseudo_inertia_of_a_point_mass_is_its_outer_product():
    point = np.array([0.1, -0.2, 0.3, 1.0])
    p = parameters_from_com(2.0, point[:3], np.zeros((3, 3)))
    np.testing.assert_allclose(pseudo_inertia(p), 2.0 * np.outer(point, point), atol=1e-16)


def test_pseudo_inertia_round_trip():
    p = np.random.default_rng(1).normal(size=(3, 4, 10))
    np.testing.assert_allclose(parameters_from_pseudo_inertia(pseudo_inertia(p)), p,
                               rtol=1e-14, atol=1e-15)


def test_possible_bodies_pass():
    for p in possible_bodies(np.random.default_rng(2), 100):
        verdict = check_body(p)
        assert verdict.is_consistent
        assert verdict.is_definite
        assert verdict.min_eigenvalue > 0.0
        assert verdict.violation == ''


@pytest.mark.parametrize('moments', [(0.0, 0.0, 0.0), (0.0, 0.02, 0.02), (0.01, 0.02, 0.03)],
                         ids=['point', 'rod', 'plate'])
def test_point_rod_and_plate_are_possible_but_not_definite(moments):
    verdict = check_body(body(1.0, moments, com=(0.0, 0.0, 0.0)))
    assert verdict.is_consistent
    assert not verdict.is_definite
    np.testing.assert_allclose(verdict.principal_moments, moments, atol=1e-17)


@pytest.mark.parametrize('moments', [(0.0, 0.0, 0.0), (0.0, 0.02, 0.02), (0.01, 0.02, 0.03)])
@pytest.mark.parametrize('distance', [0.1, 1.0, 10.0])
def test_rounding_of_a_far_centre_of_mass_is_forgiven(moments, distance):
    rng = np.random.default_rng(3)
    for _ in range(50):
        com = distance * rng.normal(size=3)
        assert check_body(body(rng.uniform(0.1, 50.0), moments, com)).is_consistent


@pytest.mark.parametrize('p, violation', [
    (body(1.0, (0.01, 0.012, 0.03)), 'triangle inequality'),
    (body(1.0, (-0.004, 0.015, 0.02)), 'not positive semi-definite'),
    (body(-1.0, (0.01, 0.01, 0.01)), 'mass is negative'),
    (body(0.0, (0.01, 0.01, 0.01)), 'without mass'),
    (np.array([0, 0.1, 0, 0, 0, 0, 0, 0, 0, 0.0]), 'without mass'),
    (np.array([np.nan, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 'not finite'),
    (np.array([1, 0, 0, np.inf, 0, 0, 0, 0, 0, 0]), 'not finite'),
])
def test_impossible_bodies_are_named(p, violation):
    verdict = check_body(p)
    assert not verdict.is_consistent
    assert not verdict.is_definite
    assert violation in verdict.violation


def test_positive_definite_tensor_alone_does_not_pass():
    p = body(1.0, (0.01, 0.012, 0.03), com=(0.0, 0.0, 0.0))
    assert np.linalg.eigvalsh(np.diag([0.01, 0.012, 0.03]))[0] > 0.0
    assert check_body(p).min_eigenvalue == pytest.approx(0.5 * (0.01 + 0.012 - 0.03))


def test_massless_body_is_possible():
    assert check_body(np.zeros(10)).is_consistent


def test_projection_keeps_what_is_inside():
    p = possible_bodies(np.random.default_rng(4), 20)
    assert np.array_equal(project_to_consistent(p), p)


def test_projection_reaches_the_cone_and_is_nearest():
    rng = np.random.default_rng(5)
    p = rng.normal(size=(40, 10))
    margin = 0.05
    projected = project_to_consistent(p, margin)
    eigenvalues = np.linalg.eigvalsh(pseudo_inertia(projected))
    assert np.all(eigenvalues >= margin - 1e-12)
    # The projection onto a convex set: no allowed point lies behind it.
    allowed = pseudo_inertia(possible_bodies(rng, 200)) + margin * np.eye(4)
    away = pseudo_inertia(p) - pseudo_inertia(projected)
    for k in range(40):
        towards = allowed - pseudo_inertia(projected[k])
        assert np.all(np.einsum('ij,bij->b', away[k], towards) <= 1e-10)


def test_projection_touches_only_the_bodies_outside():
    rng = np.random.default_rng(6)
    p = np.stack([possible_bodies(rng, 1)[0], -possible_bodies(rng, 1)[0]])
    projected = project_to_consistent(p)
    assert np.array_equal(projected[0], p[0])
    assert check_body(projected[1]).is_consistent


def test_wrong_shapes_are_named():
    with pytest.raises(DimensionError, match='\\(10,\\), got'):
        check_body(np.zeros((2, 10)))
    with pytest.raises(DimensionError, match='4, 4'):
        parameters_from_pseudo_inertia(np.zeros((3, 3)))


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_projection_of_what_is_not_finite_is_refused(bad):
    parameters = body(1.0, (0.1, 0.1, 0.1))
    parameters[3] = bad
    with pytest.raises(InertiaError, match='parameters contain NaN or inf') as caught:
        project_to_consistent(parameters)
    assert caught.value.remedy
    assert not check_body(parameters).is_consistent


@pytest.mark.parametrize('margin', [-1.0, np.nan, np.inf])
def test_margin_has_to_be_a_number(margin):
    with pytest.raises(ParameterError, match='margin must be zero or positive, got'):
        project_to_consistent(body(1.0, (0.1, 0.1, 0.1)), margin=margin)


@pytest.mark.parametrize('value', [np.ones(10) * 1j, ['1'] * 10, None, [None] * 10])
def test_what_is_no_real_number_is_refused(value):
    for function in (check_body, project_to_consistent, pseudo_inertia):
        with pytest.raises(DimensionError, match='parameters must hold real numbers'):
            function(value)


def test_verdicts_are_plain_truth_values():
    verdict = check_body(body(1.0, (0.1, 0.1, 0.1)))
    assert verdict.is_definite is True
    assert verdict.is_consistent is True
