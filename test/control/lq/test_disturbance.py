# SPDX-License-Identifier: Apache-2.0
"""What makes up for torques that the model does not know of."""

import numpy as np
import pytest

from robot_dynamics.control.feedback.loaded_model import FeedforwardModel
from robot_dynamics.control.feedback.sampled_loop import closed_loop, spectral_radii
from robot_dynamics.control.laws.feedforward_lq import LONGEST_GAP, SummedDisturbance
from robot_dynamics.control.lq.certificate import ModelErrors, certify
from robot_dynamics.control.lq.design import FeedbackDesign
from robot_dynamics.control.lq.rules import DisturbanceRule, rule_of_design
from robot_dynamics.errors import ControlError, ParameterError

T, RATE = 0.002, 5.0
PLAIN, DESIGN = FeedbackDesign(), FeedbackDesign(disturbance_rate=RATE)
KINDS = pytest.mark.parametrize('kind', ['one_step', 'riccati'])


@pytest.fixture(scope='module')
def points(geared_arm7, motions):
    return FeedforwardModel(geared_arm7).linearise(*motions)


@KINDS
def test_its_spectrum_is_that_of_the_regulator_and_the_rate(points, kind):
    """In continuous time, where the separation is exact."""
    regulators = rule_of_design(kind, 7, PLAIN, T).gains_at(points)
    gains = rule_of_design(kind, 7, DESIGN, T).gains_at(points)
    model = points.linear_model()
    for k in range(0, 20, 5):
        A, B = model.A[k], model.B[k]
        whole = np.zeros((21, 21))
        whole[:14] = np.hstack([A, np.zeros((14, 7))]) - B @ gains[k]
        whole[14:, :7] = np.eye(7)
        regulated = np.poly(np.linalg.eigvals(A - B @ regulators[k]) / 50.0)
        wanted = np.poly(np.concatenate([np.linalg.eigvals(A - B @ regulators[k]) / 50.0,
                                         np.full(7, -RATE / 50.0)]))
        found = np.poly(np.linalg.eigvals(whole) / 50.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())
        assert np.abs(found[:15] - regulated).max() > 1e-3


@KINDS
def test_of_a_constant_torque_nothing_is_left(points, kind):
    """In discrete time with the gains that a loop gets: 50 N m on every joint."""
    plain, whole = (rule_of_design(kind, 7, design, T).gains_at(points)[0]
                    for design in (PLAIN, DESIGN))
    Phi, Gamma = (x[0] for x in points.linear_model().discrete(T))
    error = {}
    for name, K in (('plain', plain), ('whole', whole)):
        x, z = np.zeros(14), np.zeros(7)
        for _ in range(round(4.0 / T)):
            u = -K[:, :14] @ x - (K[:, 14:] @ z if K.shape[1] > 14 else 0.0)
            z += T * x[:7]
            x = Phi @ x + Gamma @ (u + 50.0)
        error[name] = np.abs(x[:7]).max()
    # exp(-5 * 4) is 2e-9.
    assert error['plain'] > 0.01 and error['whole'] < 1e-7 * error['plain']
    np.testing.assert_allclose(-whole[:, 14:] @ z, np.full(7, -50.0), rtol=1e-6)


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_a_point_a_trajectory_and_many_points_get_the_same(points, kind):
    rule = rule_of_design(kind, 7, DESIGN, T)
    assert isinstance(rule, DisturbanceRule) and rule.name == kind and rule.columns == 21
    at, along = rule.gains_at(points), rule.gains_along(points, T)
    K = np.empty((7, 21))
    for _ in range(200):
        rule.gain(points[19], K)
    for other in (along[19], K):
        np.testing.assert_allclose(other, at[19], rtol=1e-6, atol=1e-6 * np.abs(at[19]).max())


def test_weights_of_the_regulator_are_those_of_the_rule(points):
    rule, plain = (rule_of_design('one_step', 7, design, T) for design in (DESIGN, PLAIN))
    for each in (rule, plain):
        each.weights[:] = each.base_weights * np.repeat([3.0, 1.0 / 3.0], 7)
    regulator, K = plain.gains_at(points)[0], rule.gains_at(points)[0]
    np.testing.assert_allclose(K[:, 7:14], regulator[:, 7:] + RATE * points.M[0])
    np.testing.assert_allclose(K[:, 14:], RATE * (regulator[:, :7] + points.dtau_dq[0]))


@pytest.mark.parametrize('delay', [0.0, 0.0007, 0.002, 0.0034])
def test_the_certified_matrix_is_what_a_simulation_does(points, delay):
    K = rule_of_design('riccati', 7, DESIGN, T).gains_at(points)[:1]
    linear = points.linear_model()
    fine = T / 20.0
    Phi, Gamma = (x[0] for x in linear.discrete(fine))
    matrix = closed_loop(points.linear_model().__class__(linear.A[:1], linear.B[:1]), K, T,
                         delay)[0]
    past = (matrix.shape[0] - 21) // 7
    state = np.random.default_rng(2).normal(size=matrix.shape[0])
    torques = {-k - 1: state[21 + 7 * k:28 + 7 * k] for k in range(past)}
    x, z = state[:14].copy(), state[14:21].copy()
    for k in range(5):
        torques[k] = -K[0] @ np.concatenate([x, z])
        z = z + T * x[:7]
        for step in range(20):
            x = Phi @ x + Gamma @ torques[(20 * k + step - round(delay / fine)) // 20]
        state = matrix @ state
        scale = np.abs(x).max()
        np.testing.assert_allclose(state[:14], x, rtol=1e-8, atol=1e-8 * scale)
        np.testing.assert_allclose(state[14:21], z, rtol=1e-8, atol=1e-8 * scale)


@KINDS
def test_it_is_certified_as_a_whole(arm7, motions, kind):
    """Stable on every arm allowed for; a rate that is not is refused."""
    certify(rule_of_design(kind, 7, DESIGN, T), arm7, *motions, period=T, delay=T).require()
    hasty = FeedbackDesign(disturbance_rate=400.0)
    with pytest.raises(ControlError, match='unstable') as caught:
        certify(rule_of_design(kind, 7, hasty, T), arm7, *motions, period=T, delay=T,
                errors=ModelErrors(0.0, 0.0, 0.0)).require()
    assert 'disturbance_rate' in caught.value.remedy


def test_the_slowest_root_is_that_of_the_rate(points):
    matrices = closed_loop(points, rule_of_design('riccati', 7, DESIGN, T).gains_at(points), T, T)
    np.testing.assert_allclose(spectral_radii(matrices), np.exp(-RATE * T), atol=1e-4)


def test_what_is_summed_up_stays_in_its_bounds():
    K = np.hstack([np.zeros((2, 4)), [[10.0, 0.0], [5.0, 20.0]]])
    summed = SummedDisturbance(np.array([0.05, np.inf]), T)
    e = np.array([1.0, -2.0])
    summed.add(K, e, T)
    np.testing.assert_allclose(summed.effort, [0.02, -0.07])
    for _ in range(1000):
        summed.add(K, e, T)
    np.testing.assert_allclose(summed.effort, [0.05, -70.07])
    # It leaves its bound with the first error that points the other way.
    summed.add(K, -e, T)
    np.testing.assert_allclose(summed.effort, [0.03, -70.0])
    summed.reset()
    np.testing.assert_array_equal(summed.effort, 0.0)


@pytest.mark.parametrize('dt', [0.0, -T, np.nan, np.inf, 1.01 * LONGEST_GAP * T])
def test_it_rests_where_nobody_knows_what_happened(dt):
    summed = SummedDisturbance(np.full(1, np.inf), T)
    K, e = np.ones((1, 3)), np.ones(1)
    summed.add(K, e, T)
    before = summed.effort.copy()
    summed.add(K, e, dt)
    np.testing.assert_array_equal(summed.effort, before)


@pytest.mark.parametrize('wrong', [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_not_summed_up(wrong):
    summed = SummedDisturbance(np.array([np.inf, 3.0]), T)
    K = np.hstack([np.zeros((2, 4)), 10.0 * np.eye(2)])
    summed.add(K, np.array([wrong, 0.5]), T)
    np.testing.assert_array_equal(summed.effort, 0.0)
    summed.add(K, np.array([0.5, 0.3]), T)
    np.testing.assert_allclose(summed.effort, [5.0 * T, 3.0 * T])


@pytest.mark.parametrize(('design', 'subject'), [
    ({'disturbance_rate': -1.0}, 'disturbance_rate'),
    ({'disturbance_rate': np.nan}, 'disturbance_rate'),
    ({'disturbance_rate': np.inf}, 'disturbance_rate'),
    ({'largest_disturbance': 0.0}, 'largest_disturbance'),
    ({'largest_disturbance': 1.1}, 'largest_disturbance'),
    ({'largest_disturbance': np.nan}, 'largest_disturbance'),
])
def test_wrong_designs_are_named(design, subject):
    with pytest.raises(ParameterError) as caught:
        FeedbackDesign(**design)
    assert caught.value.subject == subject and caught.value.remedy
