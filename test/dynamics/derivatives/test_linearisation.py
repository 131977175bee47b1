# SPDX-License-Identifier: Apache-2.0
"""Linear models: their blocks, their discretisation, and how small deviations really move."""

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.errors import ParameterError


def test_blocks(tree, near):
    robot = tree(1, 4)
    dynamics = Dynamics(robot)
    q, v, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 4))
    model = dynamics.linearise(q, v, tau=tau)
    da_dq, da_dv, da_dtau = dynamics.forward_dynamics_derivatives(q, v, tau)
    zero, one = np.zeros((4, 4)), np.eye(4)
    near(model.A, np.block([[zero, one], [da_dq, da_dv]]))
    near(model.B, np.block([[zero], [da_dtau]]))
    same = dynamics.linearise(q, v, a=dynamics.forward_dynamics(q, v, tau))
    near(same.A, model.A, 1e-9)
    near(same.B, model.B, 1e-9)


def at_rest(robot, rng):
    """A state in which the robot rests, and the efforts that hold it."""
    q = robot.integrate(robot.neutral(), rng.uniform(-1.0, 1.0, robot.n))
    v = np.zeros(robot.n)
    return q, v, Dynamics(robot).gravity_torque(q)


def moving_freely(robot, rng):
    """A state in which only the joint of several coordinates moves."""
    q = robot.integrate(robot.neutral(), rng.uniform(-1.0, 1.0, robot.n))
    v = rng.uniform(-1.0, 1.0, robot.n)
    return q, v, Dynamics(robot).inverse_dynamics(q, v, np.zeros(robot.n))


def advance(robot, dynamics, q, v, tau, time, steps):
    """Integrate by the midpoint rule, on the manifold."""
    dt = time / steps
    for _ in range(steps):
        a = dynamics.forward_dynamics(q, v, tau)
        middle = robot.integrate(q, v + 0.25 * dt * a, 0.5 * dt)
        v_middle = v + 0.5 * dt * a
        a = dynamics.forward_dynamics(middle, v_middle, tau)
        q, v = robot.integrate(q, v_middle, dt), v + dt * a
    return q, v


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('start', [at_rest, moving_freely])
def test_deviations_move_as_the_model_says(mixed, near, seed, start):
    """Over a time in which A hardly changes; at rest it does not change at all."""
    robot = mixed(seed, 3)
    dynamics = Dynamics(robot)
    q, v, tau = start(robot, np.random.default_rng(seed))
    n, time, size = robot.n, 1e-3, 1e-4
    Phi, Gamma = dynamics.linearise(q, v, tau=tau).discrete(time)
    columns = []
    for x in np.concatenate([np.eye(3 * n), -np.eye(3 * n)]) * size:
        columns.append(advance(robot, dynamics, robot.integrate(q, x[:n]), v + x[n:2 * n],
                               tau + x[2 * n:], time, 4))
    centre, _ = advance(robot, dynamics, q, v, tau, time, 4)
    ends = []
    for (q_ahead, v_ahead), (q_behind, v_behind) in zip(columns[:3 * n], columns[3 * n:],
                                                        strict=True):
        ends.append(np.concatenate([
            robot.difference(centre, q_ahead) - robot.difference(centre, q_behind),
            v_ahead - v_behind]) / (2.0 * size))
    measured = np.array(ends).T
    change = np.concatenate([Phi - np.eye(2 * n), Gamma], axis=1)
    measured[:, :2 * n] -= np.eye(2 * n)
    near(measured, change, 1e-6 if start is at_rest else 2e-2 * np.abs(change).max())


def test_exponential_of_known_systems(near):
    """A double integrator and an oscillator, whose models for a period are known."""
    T = 0.3
    double = LinearModel(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [2.0]]))
    for order in (None, 2, 9):
        Phi, Gamma = double.discrete(T, order)
        near(Phi, [[1.0, T], [0.0, 1.0]], 1e-15)
        near(Gamma, [[T * T], [2.0 * T]], 1e-15)
    w = 3.0
    oscillator = LinearModel(np.array([[0.0, 1.0], [-w * w, 0.0]]), np.array([[0.0], [1.0]]))
    Phi, Gamma = oscillator.discrete(T)
    c, s = np.cos(w * T), np.sin(w * T)
    near(Phi, [[c, s / w], [-w * s, c]], 1e-14)
    near(Gamma, [[(1.0 - c) / (w * w)], [s / w]], 1e-14)


@pytest.mark.parametrize('order', [1, 2, 3, 4, 6])
def test_series_converges_with_its_order(tree, order):
    dynamics = Dynamics(tree(1, 4))
    q, v, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 4))
    model = dynamics.linearise(q, v, tau=tau)
    errors = []
    for period in (2e-3, 1e-3):
        Phi, Gamma = model.discrete(period)
        by_series = model.discrete(period, order)
        errors.append([np.max(np.abs(by_series[0] - Phi)), np.max(np.abs(by_series[1] - Gamma))])
    halved = np.array(errors[0]) / np.array(errors[1])
    if errors[1][0] > 1e-12:
        assert halved[0] == pytest.approx(2.0 ** (order + 1), rel=0.1)
    if errors[1][1] > 1e-12:
        assert halved[1] == pytest.approx(2.0 ** (order + 1), rel=0.1)
    assert errors[1][0] < 1.0


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('order', [170, 400, 10**6])
def test_a_series_as_long_as_anyone_likes(tree, near, order):
    dynamics = Dynamics(tree(1, 3))
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 3))
    model = dynamics.linearise(q, v, a=a)
    for value, expected in zip(model.discrete(0.1, order), model.discrete(0.1), strict=True):
        near(value, expected, 1e-12)
    nowhere = dynamics.linearise(q, np.nan * v, a=a)
    for value in nowhere.discrete(0.1, order):
        assert np.isnan(value).any()


def test_batches(mixed, state, near):
    robot = mixed(2, 3)
    dynamics = Dynamics(robot)
    states = [state(robot, np.random.default_rng(k)) for k in range(3)]
    q, v, tau = (np.array(x) for x in zip(*states, strict=True))
    together = dynamics.linearise(q, v, tau=tau)
    pairs = [together.discrete(1e-3), together.discrete(1e-3, 5)]
    for k in range(3):
        alone = dynamics.linearise(q[k], v[k], tau=tau[k])
        near(together.A[k], alone.A)
        near(together.B[k], alone.B)
        for (Phi, Gamma), order in zip(pairs, (None, 5), strict=True):
            near(Phi[k], alone.discrete(1e-3, order)[0])
            near(Gamma[k], alone.discrete(1e-3, order)[1])


def test_wrong_arguments_are_refused(tree):
    dynamics, zero = Dynamics(tree(0, 2)), np.zeros(2)
    with pytest.raises(ParameterError, match='must not both be missing'):
        dynamics.linearise(zero, zero)
    with pytest.raises(ParameterError, match='must not both be given'):
        dynamics.linearise(zero, zero, tau=zero, a=zero)
    model = dynamics.linearise(zero, zero, tau=zero)
    for period in (0.0, -1.0, np.inf, np.nan, 'x', None, '0.1', True, [1], 10**400):
        with pytest.raises(ParameterError, match='positive number'):
            model.discrete(period)
    for order in (0, -1, 1.5, True, 'x'):
        with pytest.raises(ParameterError, match='whole number'):
            model.discrete(0.1, order)
