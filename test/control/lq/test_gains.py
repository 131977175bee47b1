# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import minimize

from benchmark.lq_gains import finite_riccati_gains, one_step_gain, riccati_gain
from robot_dynamics.errors import ControlError, DimensionError

RANDOM = np.random.default_rng(5)


def system(m=4, n=2):
    return RANDOM.normal(size=(m, m)), RANDOM.normal(size=(m, n))


def weights(m):
    root = RANDOM.normal(size=(m, m))
    return root @ root.T + 0.1 * np.eye(m)


def test_one_step_is_the_minimiser_of_the_next_state():
    Phi, Gamma = system()
    Q, x = weights(4), RANDOM.normal(size=4)
    u = -one_step_gain(Phi, Gamma, Q) @ x

    def cost(u):
        following = Phi @ x + Gamma @ u
        return following @ Q @ following
    best = minimize(cost, np.zeros(2), tol=1e-14)
    np.testing.assert_allclose(u, best.x, rtol=1e-5)
    assert cost(u) <= best.fun * (1.0 + 1e-12)


def test_one_step_does_not_mind_units():
    Phi, Gamma = system()
    Q = np.array([1.0, 2.0, 3.0, 4.0])
    scaled = one_step_gain(Phi, Gamma * [1e6, 1e-6], Q)
    np.testing.assert_allclose(scaled * [[1e6], [1e-6]], one_step_gain(Phi, Gamma, Q), rtol=1e-9)


def test_riccati_solves_its_equation_and_stabilises():
    Phi, Gamma = system()
    Q, R = weights(4), weights(2)
    K, X = riccati_gain(Phi, Gamma, Q, R)
    closed = Phi - Gamma @ K
    np.testing.assert_allclose(X, Q + K.T @ R @ K + closed.T @ X @ closed, rtol=1e-8)
    assert np.abs(np.linalg.eigvals(closed)).max() < 1.0


def test_finite_gains_are_those_of_the_whole_least_squares_problem():
    """The first input of the horizon, found as a linear least squares problem at once."""
    steps, m, n = 6, 4, 2
    Phis = np.array([RANDOM.normal(size=(m, m)) for _ in range(steps)])
    Gammas = np.array([RANDOM.normal(size=(m, n)) for _ in range(steps)])
    Q, R, X_end = weights(m), weights(n), weights(m)
    K = finite_riccati_gains(Phis, Gammas, Q, R, X_end)
    x = RANDOM.normal(size=m)
    # Every later state as a linear function of all inputs.
    free, forced, rows = x, np.zeros((m, steps * n)), []
    for k in range(steps):
        free, forced = Phis[k] @ free, Phis[k] @ forced
        forced[:, k * n:(k + 1) * n] += Gammas[k]
        rows.append((free, forced.copy(), Q if k < steps - 1 else X_end))
    H = block_diag(*[R] * steps) + sum(F.T @ W @ F for _, F, W in rows)
    g = sum(F.T @ W @ f for f, F, W in rows)
    np.testing.assert_allclose(-K[0] @ x, -np.linalg.solve(H, g)[:n], rtol=1e-8)


def test_a_long_horizon_is_an_infinite_one():
    Phi, Gamma = system()
    Q, R = weights(4), weights(2)
    K = finite_riccati_gains(np.tile(Phi, (300, 1, 1)), np.tile(Gamma, (300, 1, 1)), Q, R,
                             np.zeros(4))
    np.testing.assert_allclose(K[0], riccati_gain(Phi, Gamma, Q, R)[0], rtol=1e-8)


@pytest.mark.parametrize(('call', 'error', 'subject'), [
    (lambda: one_step_gain(np.eye(2), np.zeros((2, 1)), np.eye(2)), ControlError, 'one-step gain'),
    (lambda: one_step_gain(np.eye(2), [[0.0], [1.0]], [1.0, 0.0]), ControlError, 'one-step gain'),
    (lambda: one_step_gain(np.full((2, 2), np.nan), np.ones((2, 1)), np.eye(2)), ControlError,
     'Phi'),
    (lambda: one_step_gain(np.eye(3), np.ones((2, 1)), np.eye(2)), DimensionError,
     'Phi and Gamma'),
    (lambda: one_step_gain(np.eye(2), np.ones(2), np.eye(2)), DimensionError, 'Phi and Gamma'),
    (lambda: one_step_gain(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0))), DimensionError,
     'Phi and Gamma'),
    (lambda: one_step_gain(np.eye(2), np.ones((2, 1)), np.eye(3)), DimensionError, 'Q'),
    (lambda: one_step_gain(np.eye(2), np.ones((2, 1)), [[1.0, 2.0], [0.0, 1.0]]), ControlError,
     'Q'),
    (lambda: one_step_gain('x', np.ones((2, 1)), np.eye(2)), DimensionError, 'Phi'),
    (lambda: riccati_gain(2.0 * np.eye(2), np.zeros((2, 1)), np.eye(2), [1.0]), ControlError,
     'Riccati equation'),
    (lambda: riccati_gain(np.eye(2), np.ones((2, 1)), np.eye(2), [np.inf]), ControlError, 'R'),
    (lambda: finite_riccati_gains(np.eye(2), np.ones((2, 1)), np.eye(2), [1.0], np.eye(2)),
     DimensionError, 'Phi and Gamma'),
    (lambda: one_step_gain(np.eye(2), np.ones((2, 1)), [1.0, -1.0]), ControlError, 'Q'),
    (lambda: one_step_gain(np.eye(2), np.ones((2, 1)), [[1.0, 2.0], [2.0, 1.0]]), ControlError,
     'Q'),
    (lambda: riccati_gain(np.eye(2), np.ones((2, 1)), [1e308, 1.0], [1.0]), ControlError, 'Q'),
    (lambda: riccati_gain(np.eye(2), np.ones((2, 1)), [1e-300, 0.0], [1.0]), ControlError, 'Q'),
    (lambda: riccati_gain(np.eye(2), np.ones((2, 1)), np.eye(2), [-1.0]), ControlError, 'R'),
    (lambda: finite_riccati_gains(np.eye(2)[None], np.ones((1, 2, 1)), np.eye(2), [0.0],
                                  np.eye(2)), ControlError, 'R'),
    (lambda: finite_riccati_gains(np.eye(2)[None], np.ones((1, 2, 1)), np.eye(2), [1.0],
                                  [-1.0, 1.0]), ControlError, 'X_end'),
])
def test_wrong_arguments_are_named(call, error, subject):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.subject == subject
    assert caught.value.remedy
