# SPDX-License-Identifier: Apache-2.0
"""What a loop computes is what the formulas say."""

import time

import numpy as np
import pytest

from benchmark.lq_gains import finite_riccati_gains, one_step_gain, riccati_gain
from robot_dynamics.control.feedback.loaded_model import FeedforwardModel, LinearPoint
from robot_dynamics.control.lq.design import FeedbackDesign
from robot_dynamics.control.lq.rules import (
    HIGHEST_ORDER,
    OneStepRule,
    RiccatiRule,
    rule_of_design,
    sufficient_order,
)
from robot_dynamics.errors import ControlError, ParameterError

DESIGN = FeedbackDesign()
T = 0.002


@pytest.fixture(scope='module')
def points(geared_arm7, motions):
    return FeedforwardModel(geared_arm7).linearise(*motions)


def weights_in_efforts(point, rule):
    """Q, and R = M^-2: an effort counts by the acceleration it makes."""
    inverse = np.linalg.inv(point.M)
    return np.diag(rule.weights), inverse @ inverse


@pytest.mark.parametrize('order', [1, 2, 3, 4, 8])
def test_one_step_of_any_order(points, order):
    rule = OneStepRule(7, DESIGN.horizon, DESIGN.one_step_weight, order=order)
    for point, K in zip(points, rule.gains_at(points), strict=True):
        Phi, Gamma = point.linear_model().discrete(DESIGN.horizon, order)
        wanted = one_step_gain(Phi, Gamma, rule.weights)
        np.testing.assert_allclose(K, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())


def test_the_default_order_is_enough(points):
    for kind, error in (('one_step', 5e-4), ('riccati', 5e-7)):
        gains, exact = (rule_of_design(kind, 7, DESIGN, T, **order).gains_at(points)
                        for order in ({}, {'order': 16}))
        sizes = np.abs(exact).max(axis=(1, 2), keepdims=True)
        assert (np.abs(gains - exact) / sizes).max() < error


def test_one_step_with_weights_of_each_state(points):
    rule = OneStepRule(7, DESIGN.horizon, DESIGN.one_step_weight, order=12)
    rule.weights *= np.random.default_rng(1).uniform(0.5, 2.0, 14)
    K = np.empty((7, 14))
    rule.gain(points[0], K)
    wanted = one_step_gain(*points[0].linear_model().discrete(DESIGN.horizon), rule.weights)
    np.testing.assert_allclose(K, wanted, rtol=1e-8, atol=1e-7)


def test_riccati_is_the_solution_of_the_algebraic_equation(points):
    rule = RiccatiRule(7, T, DESIGN.riccati_weights, order=12)
    for point, K in zip(points, rule.gains_at(points), strict=True):
        Phi, Gamma = point.linear_model().discrete(T)
        wanted, _ = riccati_gain(Phi, Gamma, *weights_in_efforts(point, rule))
        np.testing.assert_allclose(K, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


def test_riccati_on_line_follows_it(geared_arm7):
    """A swing of 2 s at up to 2.5 rad/s; the gain is updated every 10 ms."""
    rule = RiccatiRule(7, T, DESIGN.riccati_weights)
    model, K = FeedforwardModel(geared_arm7), np.empty((7, 14))
    amplitude = np.linspace(0.3, 0.8, 7)
    away = []
    for t in np.arange(0.0, 2.0, 0.01):
        phase = np.pi * t
        motion = (amplitude * np.sin(phase), np.pi * amplitude * np.cos(phase),
                  -np.pi**2 * amplitude * np.sin(phase))
        point = model.linearise(*motion)
        rule.gain(point, K)
        settled = rule.gains_at(LinearPoint(*(x[None] for x in (point.dtau_dq, point.dtau_dv,
                                                                point.M))))[0]
        away.append(np.abs(K - settled).max() / np.abs(settled).max())
    # It begins with the gain of joints that nothing but their input moves.
    assert away[0] < 0.05 and max(away[20:]) < 0.005


def test_riccati_along_a_trajectory_is_the_finite_horizon(geared_arm7, motions):
    """Backwards from the regulator at its end, with as many periods a knot as there are."""
    model = FeedforwardModel(geared_arm7)
    share = np.linspace(0.0, 1.0, 6)[:, None]
    way = tuple((1.0 - share) * x[0] + share * x[1] for x in motions)
    points, rule = model.linearise(*way), RiccatiRule(7, T, DESIGN.riccati_weights, order=12)
    found = rule.gains_along(points, 3.0 * T)
    # In acceleration units Q and R are the same all along.
    Phis, Gammas, Ms = [], [], []
    for point in points:
        Phi, Gamma = point.linear_model().discrete(T)
        Phis += [Phi] * 3
        Gammas += [Gamma @ point.M] * 3
        Ms.append(point.M)
    Q, R = np.diag(rule.weights), np.eye(7)
    X = riccati_gain(Phis[-1], Gammas[-1], Q, R)[1]
    wanted = finite_riccati_gains(Phis, Gammas, Q, R, X)[::3]
    for k in range(5):
        expected = Ms[k] @ wanted[k]
        np.testing.assert_allclose(found[k], expected, rtol=1e-6,
                                   atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(found[-1], rule.gains_at(points)[-1], rtol=1e-6, atol=1e-6)


def test_an_update_takes_microseconds(arm7, motions, slowness):
    """The median on a quiet machine is half of this; see benchmark/lq.py."""
    model, K = FeedforwardModel(arm7), np.empty((7, 14))
    q, v, a = (x[0].copy() for x in motions)
    for kind in ('one_step', 'riccati'):
        rule, best = rule_of_design(kind, 7, DESIGN, T), np.inf
        for _ in range(300):
            start = time.perf_counter()
            rule.gain(model.linearise(q, v, a), K)
            best = min(best, time.perf_counter() - start)
        assert best < 60e-6 * slowness()


def test_a_massless_link_has_no_gain(points):
    M = points.M.copy()
    M[0, 6] = M[0, :, 6] = 0.0
    K = np.empty((7, 14))
    for kind in ('one_step', 'riccati'):
        rule = rule_of_design(kind, 7, DESIGN, T)
        with pytest.raises(ControlError, match='positive definite'):
            rule.gain(LinearPoint(points.dtau_dq[0], points.dtau_dv[0], M[0]), K)
        rule.gain(points[0], K)
        assert np.all(np.isfinite(K))


@pytest.mark.parametrize(('call', 'subject'), [
    (lambda: rule_of_design('lqr', 7, DESIGN, T), 'gain'),
    (lambda: rule_of_design('riccati', 7, DESIGN, 0.0), 'time'),
    (lambda: OneStepRule(7, np.nan, 1.0), 'time'),
    (lambda: OneStepRule(7, 0.1, -1.0), 'velocity weight'),
    (lambda: OneStepRule(7, 0.1, 1.0, order=0), 'series_order'),
    (lambda: rule_of_design('one_step', 7, FeedbackDesign(), 0.002, order=1), 'series_order'),
    (lambda: OneStepRule(7, 0.1, 1.0, order=2.5), 'series_order'),
    (lambda: OneStepRule(7, 0.1, 1.0, order=True), 'series_order'),
    (lambda: OneStepRule(7, 0.1, 1.0, order=21), 'series_order'),
    (lambda: OneStepRule(7, 0.1, 1.0, order=10**400), 'series_order'),
])
def test_wrong_settings_are_named(call, subject):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.subject == subject


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
@pytest.mark.parametrize('lightness', [1.0, 0.1, 0.01])
def test_the_order_that_an_arm_needs_bounds_the_error_of_its_gains(arm7, motions, kind, lightness):
    """A light wrist that still carries gravity needs more terms."""
    parameters = arm7.inertial_parameters.copy()
    parameters[-1, 4:] *= lightness
    parameters[-1, 1:4] *= np.sqrt(lightness)
    points = FeedforwardModel(arm7.with_parameters(parameters)).linearise(*motions)
    design = FeedbackDesign()
    time = design.horizon if kind == 'one_step' else T
    orders = {order: rule_of_design(kind, 7, design, T, order=order).gains_at(points)
              for order in (3, sufficient_order(points, time), HIGHEST_ORDER)}
    exact = orders.pop(HIGHEST_ORDER)
    errors = {order: np.abs(gains - exact).max() / np.abs(exact).max()
              for order, gains in orders.items()}
    assert errors[sufficient_order(points, time)] < 1e-6
    if kind == 'one_step':
        assert errors[3] > 1e-4
