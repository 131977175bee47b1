# SPDX-License-Identifier: Apache-2.0
"""Large batches give what one sample after the other gives."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.dynamics import JOINT_TERMS, Dynamics

#: Relative to the largest number of a sample's result.
TOLERANCE = 1e-12


def one_by_one(method, *arguments):
    """Results of a method sample by sample."""
    arguments = np.broadcast_arrays(*arguments)
    return [method(*sample) for sample in zip(*arguments, strict=True)]


def near(ours, right):
    """Whether arrays agree to `TOLERANCE` of the largest number of a sample."""
    ours, right = np.asarray(ours), np.asarray(right)
    assert ours.shape == right.shape
    if right.size:
        size = np.abs(right).reshape(len(right), -1).max(axis=1)
        error = np.abs(ours - right).reshape(len(right), -1).max(axis=1)
        assert np.all(error <= TOLERANCE * np.maximum(size, 1.0)), np.max(error / size)


def couple(make, free, rng):
    """The same bodies, some of them moved by the joints of others, in another order."""
    bodies = free.n_bodies
    joints = int(rng.integers(1, bodies + 1))
    S = np.eye(bodies)[:, rng.permutation(bodies)[:joints]]
    idle = ~S.any(axis=1)
    S[idle, rng.integers(0, joints, idle.sum())] = rng.uniform(-2.0, 2.0, idle.sum())
    return make(free.parents, free.joint_types, free.placements, free.axes, free.link_offsets,
                free.inertial_parameters, gravity=free.gravity, coupling=S,
                coupling_offset=rng.uniform(-0.5, 0.5, bodies))


@st.composite
def layouts(draw):
    """How the samples of an argument may lie in memory."""
    return draw(st.sampled_from(['plain', 'fortran', 'every other', 'backwards', 'read-only']))


def laid_out(x, layout):
    """The same numbers, somewhere else in memory."""
    if layout == 'fortran':
        return np.asfortranarray(x)
    if layout == 'every other':
        return np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2]
    if layout == 'backwards':
        return x[::-1].copy()[::-1]
    if layout == 'read-only':
        x = x.copy()
        x.flags.writeable = False
    return x


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), bodies=st.integers(1, 8), count=st.integers(1, 17),
       is_coupled=st.booleans(), layout=layouts(),
       terms=st.lists(st.sampled_from(JOINT_TERMS), unique=True),
       spread=st.sampled_from([2.0, 300.0, 1e7]))
def test_any_tree_and_any_number_of_samples(tree, make, seed, bodies, count, is_coupled, layout,
                                            terms, spread):
    rng = np.random.default_rng(seed)
    robot = tree(seed, bodies)
    if is_coupled:
        robot = couple(make, robot, rng)
    dynamics = Dynamics(robot)
    q, v, v_r, a_r = (laid_out(x, layout) for x in rng.uniform(-2.0, 2.0, (4, count, robot.n)))
    turning = robot.joint_types != 2
    if not is_coupled:
        q = q * np.where(turning, spread, 1.0)

    near(dynamics.slotine_li_regressor(q, v, v_r, a_r, terms),
         one_by_one(lambda *x: dynamics.slotine_li_regressor(*x, terms), q, v, v_r, a_r))
    near(dynamics.regressor(q, v, a_r), one_by_one(dynamics.regressor, q, v, a_r))
    near(dynamics.inverse_dynamics(q, v, a_r), one_by_one(dynamics.inverse_dynamics, q, v, a_r))
    expected = one_by_one(dynamics.matrices, q, v)
    for k, ours in enumerate(dynamics.matrices(q, v)):
        near(ours, [right[k] for right in expected])


@pytest.fixture(scope='module', params=['direct', 'coupled'])
def dynamics(request, tree, make):
    """Equations of a tree out of depth-first order."""
    robot = tree(3, 6)
    if request.param == 'coupled':
        robot = couple(make, robot, np.random.default_rng(5))
    return Dynamics(robot, threads=3)


def state(dynamics, *shape):
    """Four random joint vectors."""
    return np.random.default_rng(7).uniform(-2.0, 2.0, (4, *shape, dynamics.n))


def test_arguments_broadcast(dynamics):
    q, v, v_r, a_r = state(dynamics, 3, 5)
    Y = dynamics.slotine_li_regressor(q, v[0], v_r[:, :1], a_r[0, 0])
    assert Y.shape[:2] == (3, 5)
    for i in range(3):
        near(Y[i], one_by_one(dynamics.slotine_li_regressor, q[i], v[0],
                              np.tile(v_r[i, :1], (5, 1)), np.tile(a_r[0, 0], (5, 1))))


@pytest.mark.parametrize('shape', [(0,), (4, 0), (0, 3)])
def test_no_samples(dynamics, shape):
    q, v, v_r, a_r = state(dynamics, *shape)
    assert dynamics.slotine_li_regressor(q, v, v_r, a_r).shape[:-2] == shape
    assert dynamics.inverse_dynamics(q, v, a_r).shape == (*shape, dynamics.n)
    assert dynamics.matrices(q, v)[0].shape == (*shape, dynamics.n, dynamics.n)


def test_out_is_written_whole(dynamics):
    given = state(dynamics, 21)
    terms = ('offset', 'coulomb')
    expected = dynamics.slotine_li_regressor(*given, terms)
    out = np.full((23, *expected.shape[1:]), np.nan)
    part = out[1:22]
    assert dynamics.slotine_li_regressor(*given, terms, out=part) is part
    np.testing.assert_array_equal(part, expected)
    assert np.all(np.isnan(out[[0, 22]]))


def test_out_may_lie_over_the_arguments(dynamics):
    given = state(dynamics, 40)
    expected = dynamics.regressor(*given[:3])
    out = np.empty_like(expected)
    q = out.reshape(-1)[:given[0].size].reshape(given[0].shape)
    q[...] = given[0]
    np.testing.assert_array_equal(dynamics.regressor(q, *given[1:3], out=out), expected)


def test_nan_stays_in_its_sample(dynamics):
    given = state(dynamics, 11)
    right = dynamics.slotine_li_regressor(*given), dynamics.inverse_dynamics(*given[:3])
    given[0, 4, 0] = np.nan
    others = np.arange(11) != 4
    for ours, expected in zip((dynamics.slotine_li_regressor(*given),
                               dynamics.inverse_dynamics(*given[:3])), right, strict=True):
        assert np.isnan(ours[4]).any()
        np.testing.assert_allclose(ours[others], expected[others], rtol=1e-12, atol=1e-12)


def test_threads_change_nothing(dynamics):
    given = state(dynamics, 3 * 2048 + 5)
    alone = Dynamics(dynamics.robot, threads=1)
    np.testing.assert_array_equal(dynamics.regressor(*given[:3]), alone.regressor(*given[:3]))
    for name, count in (('inverse_dynamics', 3), ('mass_matrix', 1), ('coriolis_matrix', 2)):
        np.testing.assert_array_equal(getattr(dynamics, name)(*given[:count]),
                                      getattr(alone, name)(*given[:count]))


def test_forward_dynamics_inverts_inverse_dynamics(dynamics):
    q, v, a, _ = state(dynamics, 9)
    tau = dynamics.inverse_dynamics(q, v, a)
    condition = np.linalg.cond(dynamics.mass_matrix(q)).max()
    np.testing.assert_allclose(dynamics.forward_dynamics(q, v, tau), a,
                               atol=1e-13 * condition * np.abs(tau).max())


def test_number_of_threads_is_kept_in_copies(tree):
    robot = tree(1, 3)
    assert pickle.loads(pickle.dumps(Dynamics(robot, threads=5)))._caller.threads == 5
    assert pickle.loads(pickle.dumps(Dynamics(robot)))._options['threads'] is None
