# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.consistent import fit_consistent, prior_of
from robot_dynamics.identification.least_squares import ESTIMATORS, Equations, essential, estimate
from robot_dynamics.model.inertia import check_body, project_to_consistent, pseudo_inertia

TRUE = np.array([1.0, -2.0, 0.5])


def rows(seed=0, count=400, sizes=(0.1, 1.0), outliers=0):
    random = np.random.default_rng(seed)
    W = random.normal(size=(2 * count, 3))
    joint = np.repeat([0, 1], count)
    noise = random.normal(size=2 * count) * np.array(sizes)[joint]
    noise[random.choice(2 * count, outliers, replace=False)] += 30.0
    order = np.tile(np.arange(count), 2)
    return Equations(W, W @ TRUE + noise, joint, order, W)


@pytest.mark.parametrize('name', ESTIMATORS)
def test_without_noise_they_are_exact(name):
    found = estimate(name, rows(sizes=(0.0, 0.0)))
    np.testing.assert_allclose(found.x, TRUE, atol=1e-8)


def test_weights_help_where_joints_differ():
    errors = {name: np.std([estimate(name, rows(seed)).x - TRUE for seed in range(40)])
              for name in ('ols', 'wls')}
    assert errors['wls'] < 0.3 * errors['ols']


def test_outliers_do_not_move_a_robust_estimate():
    errors = {name: np.max(np.abs(estimate(name, rows(outliers=40)).x - TRUE))
              for name in ('wls', 'huber')}
    assert errors['huber'] < 0.25 * errors['wls']
    assert errors['huber'] < 0.05


def test_instruments_remove_the_bias_of_noisy_columns():
    random = np.random.default_rng(0)
    clean = random.normal(size=(4000, 3))
    W = clean + 0.5 * random.normal(size=clean.shape)
    Z = clean + 0.5 * random.normal(size=clean.shape)
    y = clean @ TRUE + 0.1 * random.normal(size=len(clean))
    equations = Equations(W, y, np.zeros(4000, dtype=int), np.arange(4000), Z)
    assert np.max(np.abs(estimate('wls', equations).x - TRUE)) > 0.3
    assert np.max(np.abs(estimate('iv', equations).x - TRUE)) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize('name', ['ols', 'wls', 'huber', 'iv'])
def test_standard_deviations_are_honest(name):
    inside = []
    for seed in range(100):
        found = estimate(name, rows(seed))
        inside.append(np.abs(found.x - TRUE) < 3.0 * np.sqrt(np.diag(found.covariance)))
    assert np.mean(inside) >= 0.98
    # And not simply huge: they say what the scatter is.
    estimates = np.array([estimate(name, rows(seed)).x for seed in range(100)])
    ratio = np.sqrt(np.diag(estimate(name, rows(0)).covariance)) / estimates.std(axis=0)
    assert np.all(ratio < 1.5)


def test_errors_that_are_alike_widen_the_deviations():
    random = np.random.default_rng(2)
    scale, inside = [], {0.0: [], 60.0: []}
    for _ in range(60):
        drift = np.repeat(random.normal(size=(30, 4)), 40, axis=0)
        W, noise = drift[:, :3], drift[:, 3]
        equations = Equations(W, W @ TRUE + noise, np.zeros(1200, dtype=int), np.arange(1200))
        for correlation, hits in inside.items():
            found = estimate('wls', equations, correlation=correlation)
            hits.append(np.abs(found.x - TRUE) < 3 * np.sqrt(np.diag(found.covariance)))
            scale.append(found.sigma)
    assert np.mean(inside[0.0]) < 0.6
    assert np.mean(inside[60.0]) > 0.9


def test_what_cannot_be_estimated():
    with pytest.raises(ParameterError, match='choose among'):
        estimate('magic', rows())
    with pytest.raises(ParameterError, match='instruments'):
        estimate('iv', Equations(np.ones((5, 1)), np.ones(5), np.zeros(5, int), np.arange(5)))
    with pytest.raises(ParameterError, match='record longer'):
        estimate('ols', Equations(np.ones((2, 3)), np.ones(2), np.zeros(2, int), np.arange(2)))


def test_judgement_of_bodies(cases):
    folder = cases / 'ident_unphysical'
    vectors = json.loads((folder / 'parameters.json').read_text())
    expected = json.loads((folder / 'expected.json').read_text())['numbers']
    # The order of the case: [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz].
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
    for name, vector in vectors.items():
        ours = np.array(vector)[order]
        verdict = check_body(ours)
        assert verdict.is_consistent == expected['consistent'][name]
        assert verdict.min_eigenvalue == pytest.approx(expected['min_eig'][name], abs=1e-7)
        fixed = project_to_consistent(ours, 1e-3)
        assert np.linalg.eigvalsh(pseudo_inertia(fixed))[0] >= 1e-3 - 1e-12


def test_a_fit_to_an_impossible_body_is_possible(cases):
    vectors = json.loads((cases / 'ident_unphysical' / 'parameters.json').read_text())
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
    good, bad = (np.array(vectors[name])[order] for name in ('good', 'ls_typical'))
    for weight in (1e-3, 1.0, 1e4):
        found = fit_consistent(weight * np.eye(10), weight * bad, prior_of(good[None]), 1.0)
        assert check_body(found.x).is_definite
        # A minimum: no step in any direction is better.
        eigenvalues = np.linalg.eigvalsh(found.hessian)
        assert eigenvalues[0] > 0.0


def test_without_data_the_description_stays():
    ten = np.array([[2.0, 0.2, 0.0, 0.1, 0.025, 0.0, -0.01, 0.055, 0.0, 0.045]])
    found = fit_consistent(np.zeros((10, 10)), np.zeros(10), prior_of(ten), 5.0)
    np.testing.assert_allclose(found.x, ten[0], rtol=1e-6, atol=1e-9)


def test_with_much_data_it_goes():
    ten = np.array([[2.0, 0.2, 0.0, 0.1, 0.025, 0.0, -0.01, 0.055, 0.0, 0.045]])
    other = 1.1 * ten[0]
    found = fit_consistent(1e9 * np.eye(10), 1e9 * other, prior_of(ten), 1.0)
    np.testing.assert_allclose(found.x, other, atol=1e-5)


def test_bodies_without_mass_get_a_prior():
    priors = prior_of(np.zeros((2, 10)))
    assert np.all(np.linalg.eigvalsh(priors) > 0.0)
    with pytest.raises(ParameterError):
        fit_consistent(np.eye(20), np.zeros(20), priors, 0.0)


def test_essential_parameters():
    equations = rows()
    random = np.random.default_rng(5)
    W = np.concatenate([equations.W, 1e-3 * random.normal(size=(800, 4))], axis=1)
    found = essential(Equations(W, equations.y, equations.joint, equations.order), 0.0)
    np.testing.assert_array_equal(found.columns, [0, 1, 2])
    assert 0.0 <= found.growth < 0.01
