# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.control.adaptation.gradient import (
    LARGEST_RELATIVE_STEP,
    Adaptation,
    BodyMetric,
    StepOutcome,
    TermMetric,
    dual_matrix,
    weights_from_dual,
)
from robot_dynamics.model.inertia import check_body, parameters_from_com, pseudo_inertia
from test.control.adaptation.distances import distance

SEEDS = st.integers(0, 2**32 - 1)
BODIES, JOINTS, GAIN = 3, 2, 2.0


def random_bodies(random, count=BODIES, scale=1.0):
    """Parameters of point clouds: bodies in the interior of what is possible."""
    bodies = []
    for _ in range(count):
        points = random.normal(size=(6, 3)) * 0.2 + random.normal(size=3) * 0.2
        masses = random.uniform(0.1, 1.0, 6) * scale
        bodies.append(sum(parameters_from_com(m, x, np.zeros((3, 3)))
                          for m, x in zip(masses, points, strict=True)))
    return np.array(bodies)


def make(seed=0, *, largest_mass=1e3, largest_spread=1e3, least=0.0, largest=5.0):
    """A law for random bodies, and its random source."""
    random = np.random.default_rng(seed)
    prior = random_bodies(random)
    metric = BodyMetric(pseudo_inertia(prior) + 0.05 * np.eye(4), GAIN,
                        np.full(BODIES, largest_mass), np.full(BODIES, largest_spread))
    shape = (2, JOINTS)
    terms = TermMetric(random.uniform(0.0, 1.0, shape), random.uniform(0.5, 2.0, shape),
                       np.full(shape, least), np.full(shape, largest))
    return Adaptation(prior, metric, terms), random, prior


def bodies_of(law):
    return law.bodies.reshape(BODIES, 10)


@settings(deadline=None)
@given(SEEDS)
def test_the_dual_matrix_weighs_as_the_weights_do(seed):
    random = np.random.default_rng(seed)
    weights, parameters = random.normal(size=(2, 10))
    assert np.trace(dual_matrix(weights) @ pseudo_inertia(parameters)) == pytest.approx(
        weights @ parameters, abs=1e-12)
    np.testing.assert_allclose(weights_from_dual(dual_matrix(weights)), weights, atol=1e-14)


def test_a_step_is_the_gradient_in_the_metric():
    law, random, prior = make()
    gradient = random.normal(size=law.estimate.size)
    terms = law.terms.copy()
    assert law.step(gradient, 1e-3) is StepOutcome.ACCEPTED
    for body, (before, after) in enumerate(zip(prior, bodies_of(law), strict=True)):
        Q = law.metric.matrices[body]
        U = dual_matrix(gradient[10 * body:10 * body + 10])
        np.testing.assert_allclose(pseudo_inertia(after) - pseudo_inertia(before),
                                   1e-3 * GAIN * Q @ U @ Q, atol=1e-14)
    np.testing.assert_allclose(law.terms, terms + 1e-3 * law.term_metric.gain
                               * gradient[-4:].reshape(2, JOINTS))


def test_gain_blocks_and_precision_say_the_same_step():
    law, random, _ = make()
    gradient = random.normal(size=law.estimate.size)
    before = law.estimate.copy()
    law.step(gradient, 1e-4)
    blocks = law.metric.gain_blocks()
    expected = np.concatenate([*(block @ gradient[10 * b:10 * b + 10]
                                 for b, block in enumerate(blocks)),
                               law.term_metric.gain.ravel() * gradient[-4:]])
    np.testing.assert_allclose((law.estimate - before) / 1e-4, expected, atol=1e-8)
    np.testing.assert_allclose(law.precision() @ expected, gradient, atol=1e-8)


def test_distance_is_half_the_squared_length_in_the_inverse_gain():
    law, random, prior = make()
    other, terms = random_bodies(random), random.uniform(size=(2, JOINTS))
    difference = np.concatenate([other.ravel(), terms.ravel()]) - law.estimate
    assert distance(law, other, terms) == pytest.approx(
        0.5 * difference @ law.precision() @ difference, rel=1e-9)
    assert distance(law, prior, law.term_metric.prior) == 0.0


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_moving_anywhere_brings_no_admissible_body_further_away(seed):
    law, random, _ = make(seed, largest_mass=4.0, largest_spread=1.0)
    true = random_bodies(random)
    true *= np.minimum(1.0, np.minimum(4.0 / true[:, 0], 1.0 / (
        0.5 * true[:, [4, 7, 9]].sum(axis=1))))[:, None]
    terms = random.uniform(0.0, 5.0, (2, JOINTS))
    target = law.estimate + random.normal(size=law.estimate.size) * 10.0**random.uniform(-3, 2)
    difference = np.concatenate([true.ravel(), terms.ravel()]) - target
    before = 0.5 * difference @ law.precision() @ difference
    assert law.move_to(target) is StepOutcome.ACCEPTED
    assert distance(law, true, terms) <= before * (1.0 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_estimates_are_always_those_of_bodies_however_they_are_pushed(seed):
    law, random, _ = make(seed, largest_mass=4.0, largest_spread=1.0)
    for _ in range(20):
        law.move_to(law.estimate + random.normal(size=law.estimate.size)
                    * 10.0**random.uniform(-3, 2))
        for parameters in bodies_of(law):
            assert check_body(parameters).is_consistent
    assert np.all(law.terms >= 0.0)
    assert np.all(law.terms <= 5.0)


def test_an_admissible_target_is_reached_exactly():
    law, random, _ = make()
    target = np.concatenate([random_bodies(random).ravel(), np.full(4, 0.5)])
    law.move_to(target)
    np.testing.assert_array_equal(law.estimate, target)


def test_the_projection_is_the_nearest_point():
    law, random, _ = make()
    target = law.estimate.copy()
    target[10:20] -= 2.0 * target[10:20]
    law.move_to(target)
    distance = np.sum((target - law.estimate) @ law.precision() @ (target - law.estimate))
    for _ in range(300):
        other = law.estimate.copy()
        other[10:20] += random.uniform(0.0, 0.2) * (random_bodies(random, 1)[0] - other[10:20])
        assert (target - other) @ law.precision() @ (target - other) >= distance - 1e-9


def test_a_mass_above_the_largest_comes_back():
    law, _, prior = make(largest_mass=1.2 * 6.0)
    gradient = np.zeros(law.estimate.size)
    gradient[0] = 1.0
    for _ in range(5000):
        law.step(gradient, 0.01)
    assert bodies_of(law)[0, 0] == pytest.approx(1.2 * 6.0, rel=1e-6)
    np.testing.assert_array_equal(bodies_of(law)[1:], prior[1:])


def test_a_spread_above_the_largest_comes_back():
    law, _, _ = make(largest_spread=2.0)
    gradient = np.zeros(law.estimate.size)
    gradient[[4, 7, 9]] = 1.0
    for _ in range(5000):
        law.step(gradient, 0.01)
    assert 0.5 * bodies_of(law)[0, [4, 7, 9]].sum() == pytest.approx(2.0, rel=1e-6)


def test_terms_stay_in_their_range():
    law, _, _ = make(least=-1.0, largest=2.0)
    gradient = np.zeros(law.estimate.size)
    gradient[-4:] = [1.0, -1.0, 1.0, -1.0]
    for _ in range(3000):
        law.step(gradient, 0.01)
    np.testing.assert_array_equal(law.terms, [[2.0, -1.0], [2.0, -1.0]])


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('place', [0, 17, -1])
def test_what_is_not_finite_is_refused_and_nothing_changes(value, place):
    law, random, _ = make()
    before = law.estimate.copy()
    vector = random.normal(size=law.estimate.size)
    vector[place] = value
    assert law.step(vector, 1e-3) is StepOutcome.NOT_FINITE
    assert law.move_to(vector) is StepOutcome.NOT_FINITE
    np.testing.assert_array_equal(law.estimate, before)


def test_a_step_too_large_for_any_sound_loop_is_refused_and_nothing_changes():
    law, _, _ = make()
    before = law.estimate.copy()
    gradient = np.zeros(law.estimate.size)
    gradient[13] = 1.0
    # |dX| = gamma dt |L^T U L| against 1 + tr X.
    root = np.linalg.cholesky(law.metric.matrices[1])
    length = GAIN * np.linalg.norm(root.T @ dual_matrix(gradient[10:20]) @ root)
    trace = np.trace(np.linalg.solve(law.metric.matrices[1], pseudo_inertia(bodies_of(law)[1])))
    largest = LARGEST_RELATIVE_STEP * (1.0 + trace) / length
    assert law.step(gradient, 1.001 * largest) is StepOutcome.TOO_LARGE
    np.testing.assert_array_equal(law.estimate, before)
    assert law.step(gradient, 0.999 * largest) is StepOutcome.ACCEPTED


def test_starts_from_the_nearest_body_where_the_prior_is_none():
    law, _, prior = make()
    impossible = prior.copy()
    impossible[0, 4] = -impossible[0, 4]
    other = Adaptation(impossible, law.metric, law.term_metric)
    assert check_body(bodies_of(other)[0]).is_consistent
    np.testing.assert_array_equal(bodies_of(other)[1:], prior[1:])


@pytest.mark.parametrize(('leakage', 'left'), [(0.5, np.exp(-0.005)), (100.0, np.exp(-1.0)),
                                               (1e4, 0.0)])
def test_leakage_leads_back_to_the_prior_and_never_beyond(leakage, left):
    law, _, _ = make()
    leaky = Adaptation(law.prior[:10 * BODIES].reshape(BODIES, 10), law.metric, law.term_metric,
                       leakage=leakage)
    away = 0.1 * leaky.prior
    leaky.estimate += away
    assert leaky.step(np.zeros(away.size), 0.01) is StepOutcome.ACCEPTED
    np.testing.assert_allclose(leaky.estimate - leaky.prior, left * away, rtol=1e-6, atol=1e-12)


def test_reset_forgets_what_was_learnt():
    law, random, prior = make()
    law.step(random.normal(size=law.estimate.size), 1e-3)
    assert np.any(bodies_of(law) != prior)
    law.reset()
    np.testing.assert_array_equal(bodies_of(law), prior)
    np.testing.assert_array_equal(law.terms, law.term_metric.prior)
