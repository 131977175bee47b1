# SPDX-License-Identifier: Apache-2.0
"""Normal equations and triangular factors, against those of the stack itself."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.dynamics import JOINT_TERMS, Dynamics, equations
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot

ROOT = Path(__file__).resolve().parents[2]

#: A count that makes three pieces, the last of them odd.
MANY = 2 * equations._AT_A_TIME + 13


def recording(dynamics, *shape, seed=0):
    """Random q, v, a, tau."""
    q, v, a, tau = np.random.default_rng(seed).uniform(-2.0, 2.0, (4, *shape, dynamics.n))
    return q, v, a, 10.0 * tau


def stacked(dynamics, q, v, a, tau, weights=None, terms=(), columns=None):
    """W and tau, weighted, from one regressor after the other."""
    samples = zip(*(x.reshape(-1, dynamics.n) for x in (q, v, a)), strict=True)
    W = np.array([dynamics.regressor(*sample, terms) for sample in samples])
    W = W.reshape(-1, len(dynamics.column_names(terms)))
    W = W if columns is None else W[:, columns]
    root = np.sqrt(np.broadcast_to(1.0 if weights is None else weights, tau.shape)).ravel()
    return W * root[:, np.newaxis], tau.ravel() * root


def agree(dynamics, motion, weights=None, terms=(), columns=None):
    """Compare both results with the stack."""
    W, tau = stacked(dynamics, *motion, weights, terms, columns)
    p = W.shape[1]
    scale = 1e-12 * max(1.0, np.sum(W**2))
    gram = dynamics.normal_equations(*motion, weights, terms=terms, columns=columns)
    np.testing.assert_allclose(gram.W_W, W.T @ W, rtol=0, atol=scale)
    np.testing.assert_array_equal(gram.W_W, gram.W_W.T)
    size = np.sqrt(tau @ tau)
    np.testing.assert_allclose(gram.W_tau, W.T @ tau, rtol=0, atol=1e-12 * (
        1.0 + np.sqrt(np.trace(gram.W_W)) * size))
    assert gram.tau_tau == pytest.approx(tau @ tau, rel=1e-12)
    assert type(gram.tau_tau) is float

    R, z, rest = dynamics.normal_equations(*motion, weights, terms=terms, columns=columns,
                                         factor='qr')
    assert R.shape == (p, p) and z.shape == (p,) and type(rest) is float
    np.testing.assert_array_equal(R, np.triu(R))
    assert np.all(np.diag(R) >= 0.0)
    np.testing.assert_allclose(R.T @ R, W.T @ W, rtol=0, atol=scale)
    np.testing.assert_allclose(R.T @ z, W.T @ tau, rtol=0, atol=1e-12 * (
        1.0 + np.sqrt(np.trace(gram.W_W)) * size))
    assert z @ z + rest**2 == pytest.approx(tau @ tau, rel=1e-12)
    for x in np.random.default_rng(1).normal(size=(3, p)):
        right = np.sum((W @ x - tau)**2)
        assert np.sum((R @ x - z)**2) + rest**2 == pytest.approx(right, rel=1e-11)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), bodies=st.integers(1, 6), count=st.integers(1, 17),
       is_coupled=st.booleans(), data=st.data())
def test_any_tree(tree, make, seed, bodies, count, is_coupled, data):
    rng = np.random.default_rng(seed)
    robot = tree(seed, bodies)
    if is_coupled:
        S = rng.uniform(-1.5, 1.5, (bodies, max(1, bodies - 1)))
        S *= rng.uniform(size=S.shape) < 0.6
        S[np.arange(S.shape[1]), np.arange(S.shape[1])] = 1.0
        robot = make(robot.parents, robot.joint_types, robot.placements, robot.axes,
                     robot.link_offsets, robot.inertial_parameters, gravity=robot.gravity,
                     coupling=S)
    dynamics = Dynamics(robot)
    terms = data.draw(st.lists(st.sampled_from(JOINT_TERMS), unique=True), 'terms')
    width = len(dynamics.column_names(terms))
    columns = data.draw(st.none() | st.lists(st.integers(0, width - 1), unique=True), 'columns')
    weights = data.draw(st.sampled_from([None, (robot.n,), (count, robot.n)]), 'weights')
    if weights is not None:
        weights = rng.uniform(0.0, 3.0, weights) * (rng.uniform(size=weights) < 0.8)
    agree(dynamics, recording(dynamics, count, seed=seed), weights, terms, columns)


@pytest.fixture(scope='module')
def dynamics(tree):
    """Equations of a tree out of depth-first order."""
    return Dynamics(tree(3, 6))


@pytest.mark.slow
def test_many_samples(dynamics):
    motion = recording(dynamics, MANY)
    weights = np.random.default_rng(2).uniform(0.1, 2.0, (MANY, dynamics.n))
    agree(dynamics, motion, weights, ('viscous', 'coulomb'))


def test_many_samples_with_axes_of_their_own(dynamics):
    motion = recording(dynamics, 30, 10)
    agree(dynamics, motion, np.linspace(0.5, 2.0, dynamics.n), columns=[7, 3, 41])


def test_threads_change_no_digit(dynamics):
    motion = recording(dynamics, MANY)
    for factor in ('gram', 'qr'):
        alone, together = (Dynamics(dynamics.robot, threads=threads).normal_equations(
            *motion, factor=factor) for threads in (1, 3))
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize('factor', ['gram', 'qr'])
def test_memory_does_not_grow_with_the_recording(dynamics, factor):
    """Neither a stack of regressors, 115 MB here, nor copies of the arguments."""
    motion = recording(dynamics, 40_000)
    weights = np.ones((40_000, dynamics.n))
    # Once without: what is made once for a process does not grow.
    dynamics.normal_equations(*motion, weights, factor=factor)
    tracemalloc.start()
    try:
        dynamics.normal_equations(*motion, weights, factor=factor)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4e6


def test_recordings_add_up(dynamics):
    motion = recording(dynamics, 600)
    whole = dynamics.normal_equations(*motion)
    parts = [dynamics.normal_equations(*(x[piece] for x in motion))
             for piece in (slice(0, 290), slice(290, 600))]
    for sum_of_parts, expected in zip(map(sum, zip(*parts, strict=True)), whole, strict=True):
        np.testing.assert_allclose(sum_of_parts, expected, rtol=1e-11, atol=1e-8)


def test_the_estimate_is_that_of_least_squares(dynamics):
    """Parameters in, efforts, and the same parameters out, in base columns."""
    q, v, a, _ = recording(dynamics, 500)
    Y = dynamics.regressor(q, v, a)
    tau = Y @ dynamics.parameters
    R = np.linalg.qr(Y.reshape(-1, Y.shape[-1]), mode='r')
    base = []
    for k in range(Y.shape[-1]):
        if np.linalg.matrix_rank(R[:, [*base, k]], tol=1e-8) > len(base):
            base.append(k)
    x, *_ = np.linalg.lstsq(Y[..., base].reshape(-1, len(base)), tau.ravel(), rcond=None)
    gram = dynamics.normal_equations(q, v, a, tau, columns=base)
    np.testing.assert_allclose(np.linalg.solve(gram.W_W, gram.W_tau), x, rtol=1e-6, atol=1e-8)
    factor = dynamics.normal_equations(q, v, a, tau, columns=base, factor='qr')
    np.testing.assert_allclose(np.linalg.solve(factor.R, factor.z), x, rtol=1e-9, atol=1e-11)
    assert factor.rest < 1e-10 * np.linalg.norm(tau)


def test_the_factor_keeps_digits_that_normal_equations_lose(dynamics):
    """Coulomb friction of a motion in one direction is an offset, but for a ten-millionth."""
    q, v, a, tau = recording(dynamics, 400)
    v = 0.42 + 0.01 * v
    terms = ('coulomb', 'offset')
    columns = [60, 66]
    W, _ = stacked(dynamics, q, v, a, tau, None, terms, columns)
    right = np.abs(np.linalg.qr(W, mode='r')[1, 1])
    assert 1e-8 < right / np.linalg.norm(W) < 1e-6
    factor = dynamics.normal_equations(q, v, a, tau, terms=terms, columns=columns, factor='qr')
    assert factor.R[1, 1] == pytest.approx(right, rel=1e-7, abs=0.0)
    gram = dynamics.normal_equations(q, v, a, tau, terms=terms, columns=columns)
    square = gram.W_W[1, 1] - gram.W_W[0, 1]**2 / gram.W_W[0, 0]
    assert square != pytest.approx(right**2, rel=1e-4, abs=0.0)


def test_no_samples(dynamics):
    nothing = np.zeros((0, dynamics.n))
    gram = dynamics.normal_equations(nothing, nothing, nothing, nothing)
    assert not np.any(gram.W_W) and not np.any(gram.W_tau) and gram.tau_tau == 0.0
    factor = dynamics.normal_equations(nothing, nothing, nothing, nothing, factor='qr')
    assert factor.R.shape == gram.W_W.shape and not np.any(factor.R) and factor.rest == 0.0


def test_one_sample(dynamics):
    agree(dynamics, [x[0] for x in recording(dynamics, 1)])


def test_nan_travels(dynamics):
    for count in (10, 300):
        q, v, a, tau = recording(dynamics, count)
        tau[5, 2] = np.nan
        gram = dynamics.normal_equations(q, v, a, tau)
        assert np.isnan(gram.tau_tau) and np.isfinite(gram.W_W).all()
        a[7, 1] = np.nan
        assert np.isnan(dynamics.normal_equations(q, v, a, tau).W_W).any()
        assert np.isnan(dynamics.normal_equations(q, v, a, tau, factor='qr').R).any()


def test_arguments_are_left_alone(dynamics):
    motion = recording(dynamics, 300)
    before = [x.copy() for x in motion]
    weights = np.full((300, dynamics.n), 2.0)
    for factor in ('gram', 'qr'):
        dynamics.normal_equations(*motion, weights, factor=factor)
    for now, then in zip(motion, before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert np.all(weights == 2.0)


@pytest.mark.parametrize(('options', 'message'), [
    ({'factor': 'svd'}, "factor must be 'gram' or 'qr', got 'svd'"),
    ({'factor': np.array(['gram', 'qr'])}, "factor must be 'gram' or 'qr'"),
    ({'factor': ['qr']}, "factor must be 'gram' or 'qr'"),
    ({'columns': [np.nan]}, 'columns must be.*from 0 to 59'),
    ({'columns': [1e300]}, 'columns must be.*from 0 to 59'),
    ({'columns': [2**70]}, 'columns must be.*from 0 to 59'),
    ({'columns': [0, 60]}, 'columns must be.*from 0 to 59'),
    ({'columns': [-1]}, 'columns must be.*from 0 to 59'),
    ({'columns': [0.5]}, 'columns must be.*from 0 to 59'),
    ({'columns': [[0, 1]]}, 'columns must be.*from 0 to 59'),
    ({'columns': [True] * 60}, 'columns must be.*from 0 to 59'),
    ({'columns': [3, 4, 3]}, 'columns names a column twice'),
    ({'weights': np.full(6, -1.0)}, 'weights must be finite and not negative'),
    ({'weights': np.full((5, 6), np.nan)}, 'weights must be finite and not negative'),
    ({'weights': np.full(6, np.inf)}, 'weights must be finite and not negative'),
    ({'terms': ('springs',)}, 'springs'),
])
@pytest.mark.filterwarnings('error')
def test_what_is_refused(dynamics, options, message):
    with pytest.raises(ParameterError, match=message):
        dynamics.normal_equations(*recording(dynamics, 5), **options)


@pytest.mark.filterwarnings('error')
def test_no_columns_are_asked_for(dynamics):
    motion = recording(dynamics, 5)
    gram = dynamics.normal_equations(*motion, columns=[])
    assert gram.W_W.shape == (0, 0) and gram.tau_tau == pytest.approx(np.sum(motion[3]**2))
    assert dynamics.normal_equations(*motion, columns=[], factor='qr').rest == pytest.approx(
        np.linalg.norm(motion[3]))


@pytest.mark.parametrize('weights', [np.ones(5), np.ones((4, 6)), np.ones((5, 1)), 1.0, 'one'])
def test_weights_of_other_shapes_are_refused(dynamics, weights):
    with pytest.raises(DimensionError, match='weights'):
        dynamics.normal_equations(*recording(dynamics, 5), weights)


def test_robots_with_joints_of_several_coordinates():
    """The same results for them; also in batches of other methods."""
    robot = Robot.from_urdf(ROOT / 'urdf' / 'arm7.urdf', floating_base=True)
    dynamics = Dynamics(robot)
    rng = np.random.default_rng(3)
    v, a, tau = rng.uniform(-2.0, 2.0, (3, 700, robot.n))
    q = rng.uniform(-2.0, 2.0, (700, robot.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    weights = rng.uniform(0.5, 2.0, (700, robot.n))
    columns = [3, 70, 0, 12]
    W = np.array([dynamics.regressor(*sample) for sample in zip(q, v, a, strict=True)])
    np.testing.assert_allclose(dynamics.regressor(q, v, a), W, atol=1e-12)
    rows = W[..., columns] * np.sqrt(weights)[..., np.newaxis]
    rows, efforts = rows.reshape(-1, len(columns)), (tau * np.sqrt(weights)).ravel()
    gram = dynamics.normal_equations(q, v, a, tau, weights, columns=columns)
    np.testing.assert_allclose(gram.W_W, rows.T @ rows, rtol=1e-10)
    np.testing.assert_allclose(gram.W_tau, rows.T @ efforts, rtol=1e-9)
    R, z, _ = dynamics.normal_equations(q, v, a, tau, weights, columns=columns, factor='qr')
    np.testing.assert_allclose(R.T @ R, gram.W_W, rtol=1e-10)
    np.testing.assert_allclose(R.T @ z, gram.W_tau, rtol=1e-9)
