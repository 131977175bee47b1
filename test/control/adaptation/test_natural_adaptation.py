# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from robot_dynamics.control.adaptation.gradient import (
    BodyMetric,
    StepOutcome,
    TermMetric,
    dual_matrix,
)
from robot_dynamics.control.adaptation.natural_adaptation import NaturalAdaptation
from robot_dynamics.control.adaptation.partial_knowledge import PartialKnowledge
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.inertia import check_body, pseudo_inertia
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from test.control.adaptation.distances import distance


@pytest.fixture
def body():
    """One body and one joint term: what an adaptation needs."""
    prior = np.array([[2.0, 0.2, -0.1, 0.3, 0.3, 0.01, -0.02, 0.35, 0.03, 0.2]])
    metric = BodyMetric(pseudo_inertia(prior) + 0.5 * np.diag([0.01, 0.01, 0.01, 1.0]), 0.5,
                        np.array([5.0]), np.array([2.0]))
    terms = TermMetric(np.array([[0.3]]), np.array([[0.2]]), np.array([[0.0]]),
                       np.array([[1.0]]))
    return prior, metric, terms


def make(body, **keywords):
    prior, metric, terms = body
    return NaturalAdaptation(prior, metric, terms, **keywords)


def test_a_step_is_the_exponential_to_third_order(body):
    adaptation = make(body)
    gradient = np.random.default_rng(0).normal(size=11)
    P = pseudo_inertia(adaptation.bodies)
    L = np.linalg.cholesky(P)
    for dt, order in ((1e-2, 1e-5), (1e-3, 1e-8)):
        adaptation.reset()
        assert adaptation.step(gradient, dt) is StepOutcome.ACCEPTED
        A = dt * 0.5 * L.T @ dual_matrix(gradient[:10]) @ L
        np.testing.assert_allclose(pseudo_inertia(adaptation.bodies), L @ expm(A) @ L.T,
                                   atol=order * np.abs(P).max())
        np.testing.assert_allclose(adaptation.terms, 0.3 + dt * 0.2 * gradient[10])


def test_every_estimate_is_a_body_however_wild_the_gradients(body):
    adaptation = make(body)
    random = np.random.default_rng(1)
    outcomes = []
    for _ in range(3000):
        outcomes.append(adaptation.step(10.0**random.uniform(0.0, 3.0)
                                        * random.normal(size=11), 0.002))
        verdict = check_body(adaptation.bodies)
        assert verdict.is_consistent
        assert adaptation.bodies[0] <= 5.0
        assert np.all(np.diag(pseudo_inertia(adaptation.bodies))[:3] <= 2.0)
        assert 0.0 <= adaptation.terms[0, 0] <= 1.0
    assert {StepOutcome.ACCEPTED, StepOutcome.TOO_LARGE} == set(outcomes)


@pytest.mark.parametrize('bad', [np.nan, np.inf, 1e300])
def test_a_step_that_is_none_leaves_no_trace(body, bad):
    adaptation = make(body)
    before = adaptation.estimate.copy()
    gradient = np.zeros(11)
    gradient[3] = bad
    assert adaptation.step(gradient, 0.002) is not StepOutcome.ACCEPTED
    np.testing.assert_array_equal(adaptation.estimate, before)


def test_a_largest_mass_brings_estimates_closer_to_all_that_keep_it(body):
    prior, metric, terms = body
    heavy = replace(metric, largest_mass=np.array([100.0]), largest_spread=np.array([100.0]))
    free, bound = make((prior, heavy, terms)), make(body)
    push = np.zeros(11)
    push[0] = 60.0
    for _ in range(200):
        free.step(push, 1e-3)
        bound.bodies[:], before = free.bodies, distance(free, prior, terms.prior)
        bound.step(np.zeros(11), 1e-3)
        assert distance(bound, prior, terms.prior) <= before + 1e-12
    assert free.bodies[0] > 5.0
    assert bound.bodies[0] == pytest.approx(5.0)


def test_steps_are_shortened_where_the_loop_has_become_too_fast(body):
    free, slow = make(body), make(body, largest_frequency=0.5)
    random = np.random.default_rng(4)
    y, s = random.normal(size=11), random.normal(size=1)
    M = np.array([[0.2]])
    P, U = pseudo_inertia(free.bodies), dual_matrix(y[:10])
    frequency = np.sqrt((0.5 * np.trace(U @ P @ U @ P) + 0.2 * y[10]**2) / (s @ M @ s))
    assert frequency > 0.5
    assert free.share(y, s, M) == 1.0
    assert slow.share(y, s, M) == pytest.approx((0.5 / frequency)**2)
    assert slow.share(1e-3 * y, 1e-3 * s, M) == pytest.approx((0.5 / frequency)**2)
    assert slow.share(0.0 * y, 0.0 * s, M) == 1.0


def test_lyapunov_function_falls_as_the_proof_says(arm3):
    model = replace(arm3, damping=np.full(3, 0.7))
    true, damping = with_scaled_masses(model, 0.8), np.array([0.5, 0.7, 1.0])
    dynamics = Dynamics(true)
    gains = AdaptationGains(law='natural', composite=0.0, terms=('viscous',), frequency=20.0)
    random = np.random.default_rng(1)
    for _ in range(5):
        law = AdaptiveController(model, adaptation=gains)
        q, v, a_d = random.normal(size=(3, 3))
        q_d, v_d = q + 0.1 * random.normal(size=3), v + 0.3 * random.normal(size=3)

        def lyapunov(q, v, q_d, v_d, law=law):
            s = v_d - v + 12.0 * (q_d - q)
            return (0.5 * s @ dynamics.mass_matrix(q) @ s
                    + distance(law.adaptation, true.inertial_parameters, damping[None]))

        h, before = 1e-7, lyapunov(q, v, q_d, v_d)
        tau = law.update(q, v, q_d, v_d, a_d, h, adapt=True)
        assert not law.frozen
        a = dynamics.forward_dynamics(q, v, tau - damping * v)
        after = lyapunov(q + h * v + 0.5 * h * h * a, v + h * a,
                         q_d + h * v_d + 0.5 * h * h * a_d, v_d + h * a_d)
        expected = -law.s @ (60.0 * law.feedback.mass_matrix + np.diag(damping)) @ law.s
        assert expected < 0.0
        assert (after - before) / h == pytest.approx(expected, rel=2e-3)


def test_known_links_stay_and_single_parameters_are_refused(arm3):
    gains = AdaptationGains(law='natural', frequency=20.0)
    law = AdaptiveController(arm3, adaptation=gains,
                             known=PartialKnowledge(links=('upper', 'fore')))
    before = law.estimate.copy()
    random = np.random.default_rng(2)
    for _ in range(50):
        q, v, a_d = random.normal(size=(3, 3))
        law.update(q, v, q + 0.1, v + 0.1, a_d, 0.002, adapt=True)
    np.testing.assert_array_equal(law.estimate[:20], before[:20])
    assert np.any(law.estimate[20:] != before[20:])
    for known in (PartialKnowledge(parameters=('hand/m',)),
                  PartialKnowledge(combinations=('hand/m + fore/m',))):
        with pytest.raises(ParameterError, match=r'hand/m.*whole bodies'):
            AdaptiveController(arm3, adaptation=gains, known=known)


@pytest.mark.parametrize('name', ['arm7', 'rpr', 'puma560'])
def test_thin_and_massless_links_can_be_learnt(name):
    robot = Robot.from_urdf(resolve_robot(name))
    law = AdaptiveController(robot, allow_unphysical=True,
                             adaptation=AdaptationGains(law='natural', frequency=20.0))
    true = Dynamics(with_payload(robot, 0.5, (0.1, 0.0, 0.0)))
    random = np.random.default_rng(3)
    before = law.estimate.copy()
    q, v, a_d = 0.3 * random.normal(size=(3, robot.n))
    for _ in range(300):
        law.update(q, v, q + 0.01, v, a_d, 0.002, adapt=True)
        law.note_applied(true.inverse_dynamics(q, v, np.zeros(robot.n)))
        assert not law.frozen
    assert np.any(law.estimate != before)
    for parameters in law.adaptation.bodies.reshape(-1, 10):
        assert check_body(parameters).is_consistent
