# SPDX-License-Identifier: Apache-2.0
"""What only a careless or an inventive caller does: a right result or a clear refusal."""

import copy
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import JOINT_TERMS, Dynamics
from robot_dynamics.errors import DimensionError, ModelError, ParameterError

N = 5


@pytest.fixture(scope='module')
def chain(tree):
    return Dynamics(tree(1, N, order='chain'))


@pytest.fixture(scope='module')
def star(tree):
    """As many bodies, each on the base: most of its regressor is zero."""
    robot = tree(2, N)
    return Dynamics(replace(robot, parents=np.full(N, -1)))


@pytest.fixture(scope='module', params=['direct', 'coupled'])
def dynamics(request, tree):
    """Equations of a robot that takes the fast way, and of one whose joints are reordered."""
    robot = tree(3, N)
    return Dynamics(robot if request.param == 'direct'
                    else replace(robot, coupling=np.eye(N)[::-1]))


@pytest.fixture
def state():
    return np.random.default_rng(0).uniform(-1.0, 1.0, (4, N))


# Numbers --------------------------------------------------------------------------


@pytest.mark.parametrize('value', [
    np.ones(N) * 1j, ['1'] * N, [None] * N, np.zeros(N, 'M8[s]'), np.zeros(N, [('x', 'f8')]),
    np.ma.array(np.zeros(N), mask=[0, 0, 1, 0, 0]), [10 ** 400] * N, (0.0 for _ in range(N))])
def test_what_is_no_real_number_is_refused(dynamics, state, value):
    _, v, a, _ = state
    for call in (lambda: dynamics.inverse_dynamics(value, v, a),
                 lambda: dynamics.mass_matrix(value),
                 lambda: dynamics.slotine_li_regressor(v, value, v, a),
                 lambda: dynamics.forward_kinematics(value)):
        with pytest.raises(DimensionError, match='must hold real numbers') as caught:
            call()
        assert caught.value.subject in ('q', 'v')
        assert f'({N},)' in caught.value.remedy


# Where results go -------------------------------------------------------------------


@pytest.mark.parametrize('terms', [(), JOINT_TERMS])
def test_arguments_may_lie_inside_of_out(dynamics, state, terms):
    expected = dynamics.slotine_li_regressor(*state, terms)
    for columns in (slice(0, N), slice(-N, None)):
        out = np.zeros(expected.shape)
        for row, x in zip(out, state, strict=False):
            row[columns] = x
        inside = [row[columns] for row in out[:4]]
        dynamics.slotine_li_regressor(*inside, terms, out=out)
        np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)
    batch = np.zeros((1, *expected.shape))
    batch[0, :4, :N] = state
    dynamics.slotine_li_regressor(*(batch[:, k, :N] for k in range(4)), terms, out=batch)
    np.testing.assert_allclose(batch[0], expected, rtol=1e-13, atol=1e-13)


def test_arguments_may_lie_inside_of_matrices(dynamics, state):
    q, v = state[:2]
    expected = dynamics.matrices(q, v)
    M, C, g = np.zeros((N, N)), np.zeros((N, N)), np.zeros(N)
    M[2], C[0] = q, v
    for written, right in zip(dynamics.matrices(M[2], C[0], (M, C, g)), expected, strict=True):
        np.testing.assert_allclose(written, right, rtol=1e-13, atol=1e-13)
    g[:] = q
    for written, right in zip(dynamics.matrices(g, v, (M, C, g)), expected, strict=True):
        np.testing.assert_allclose(written, right, rtol=1e-13, atol=1e-13)


def test_matrices_do_not_share_memory(dynamics, state):
    q, v = state[:2]
    M, g = np.zeros((N, N)), np.zeros(N)
    both = np.zeros((N + 1, N))
    for out in ((M, M, g), (M, np.zeros((N, N)), M[2]), (both[:N], both[1:], g)):
        with pytest.raises(DimensionError, match='out must not share memory'):
            dynamics.matrices(q, v, out)


@pytest.mark.parametrize('count', [0, 2, 4])
def test_out_of_matrices_is_three_arrays(dynamics, state, count):
    q, v = state[:2]
    for out in ([np.zeros((N, N))] * count, 7, np.zeros((3, N, N)), 'out'):
        with pytest.raises(DimensionError, match='out must be three arrays'):
            dynamics.matrices(q, v, out)


def test_matrices_are_written_all_or_none(dynamics, state):
    q, v = state[:2]
    M, C = np.full((N, N), 7.0), np.full((N, N), 7.0)
    with pytest.raises(DimensionError, match=r'out must have shape \(5,\), got \(4,\)'):
        dynamics.matrices(q, v, (M, C, np.zeros(4)))
    assert np.all(M == 7.0) and np.all(C == 7.0)


def test_out_of_other_types_of_array(dynamics, state, tmp_path):
    expected = dynamics.slotine_li_regressor(*state)
    mapped = np.memmap(tmp_path / 'out', np.float64, 'w+', shape=expected.shape)
    assert dynamics.slotine_li_regressor(*state, out=mapped) is mapped
    np.testing.assert_allclose(mapped, expected, rtol=1e-13, atol=1e-13)
    with pytest.raises(DimensionError, match='out must be float64, got float32'):
        dynamics.slotine_li_regressor(*state, out=expected.astype(np.float32))


# Buffers for regressors ---------------------------------------------------------------


def test_a_buffer_serves_two_robots_in_turn(chain, star, state):
    for buffer in (np.zeros((N, 10 * N)), np.ones((N, 10 * N))):
        for dynamics in (chain, star, star, chain, chain, star):
            expected = dynamics.slotine_li_regressor(*state)
            assert np.array_equal(dynamics.slotine_li_regressor(*state, out=buffer), expected)


def test_a_buffer_that_another_robot_wrote_the_general_way(chain, star, state):
    buffer = np.ones((N, 10 * N))
    chain.slotine_li_regressor(*state.tolist(), out=buffer)
    assert np.array_equal(star.slotine_li_regressor(*state, out=buffer),
                          star.slotine_li_regressor(*state))


def test_parts_and_reshapes_of_a_buffer(star, state):
    buffer = np.ones((N, 11 * N))
    star.slotine_li_regressor(*state, ('viscous',), out=buffer)
    part = buffer.ravel()[:N * 10 * N].reshape(N, 10 * N)
    assert np.array_equal(star.slotine_li_regressor(*state, out=part),
                          star.slotine_li_regressor(*state))
    assert np.array_equal(star.slotine_li_regressor(*state, ('viscous',), out=buffer),
                          star.slotine_li_regressor(*state, ('viscous',)))
    for twin in (buffer.copy(), copy.deepcopy(buffer), pickle.loads(pickle.dumps(buffer))):
        twin += 1.0
        assert np.array_equal(star.slotine_li_regressor(*state, ('viscous',), out=twin), buffer)


@pytest.mark.parametrize('start', [0, 3, 40, 160])
@pytest.mark.parametrize('is_direct', [True, False])
def test_a_part_of_a_buffer_that_another_robot_writes(tree, star, state, start, is_direct):
    """Wherever the part begins, the zeros around it are nobody's afterwards."""
    small = Dynamics(tree(3, 3, order='chain'))
    buffer, x = np.ones((N, 10 * N)), state[:, :3].copy()
    star.slotine_li_regressor(*state, out=buffer)
    part = buffer.reshape(-1)[start:start + 90].reshape(3, 30)
    small.slotine_li_regressor(*(x if is_direct else x.tolist()), out=part)
    assert np.array_equal(part, small.slotine_li_regressor(*x))
    for _ in range(2):
        assert np.array_equal(star.slotine_li_regressor(*state, out=buffer),
                              star.slotine_li_regressor(*state))


# Choices -------------------------------------------------------------------------------


@pytest.mark.parametrize('terms', [None, 5, {'viscous'}, {'viscous', 'offset'}, [['viscous']],
                                   b'viscous', (None,), [{}],
                                   np.array([['viscous', 'coulomb']])])
def test_what_is_no_list_of_terms(dynamics, state, terms):
    for call in (lambda: dynamics.regressor(*state[:3], terms),
                 lambda: dynamics.column_names(terms),
                 lambda: dynamics.parameter_vector(terms)):
        with pytest.raises(ParameterError) as caught:
            call()
        assert 'choose among viscous' in caught.value.remedy


def test_terms_in_any_sequence(dynamics, state):
    expected = dynamics.regressor(*state[:3], ('viscous', 'offset'))
    for terms in (['viscous', 'offset'], np.array(['viscous', 'offset']),
                  {'viscous': 1, 'offset': 2}, iter(('viscous', 'offset'))):
        assert np.array_equal(dynamics.regressor(*state[:3], terms), expected)


@pytest.mark.parametrize('link', [None, 3, ['b0'], {}, b'b0', ''])
def test_what_is_no_link(dynamics, state, link):
    with pytest.raises(ModelError, match='is not a link of this robot'):
        dynamics.jacobian(state[0], link)


@pytest.mark.parametrize('speed', [0.0, -1.0, np.nan, np.inf, 'fast', None, [0.1], 1j, True,
                                   10**400])
def test_what_is_no_coulomb_velocity(dynamics, speed):
    with pytest.raises(ParameterError, match='must be a positive number') as caught:
        Dynamics(dynamics.robot, coulomb_velocity=speed)
    assert caught.value.subject == 'coulomb_velocity'


@pytest.mark.parametrize('robot', [None, 'arm.urdf', {}])
def test_what_is_no_robot(robot):
    with pytest.raises(ModelError, match='read one with Robot'):
        Dynamics(robot)


# Copies and other processes ---------------------------------------------------------------


@pytest.mark.parametrize('duplicate', [copy.copy, copy.deepcopy,
                                       lambda thing: pickle.loads(pickle.dumps(thing))])
def test_copies_and_pickles_compute_the_same(dynamics, state, duplicate):
    ours = Dynamics(dynamics.robot, coulomb_velocity=0.2)
    twin = duplicate(ours)
    assert np.array_equal(twin.slotine_li_regressor(*state, JOINT_TERMS),
                          ours.slotine_li_regressor(*state, JOINT_TERMS))
    assert not twin.parameters.flags.writeable


@pytest.mark.slow
def test_the_smallest_stack_of_a_thread_is_enough(tree):
    """A robot as large as those that still take the fast way; in a process of its own."""
    script = """
import pickle, sys, threading
import numpy as np
from robot_dynamics.dynamics import Dynamics
dynamics = Dynamics(pickle.loads(bytes.fromhex(sys.stdin.read())))
x = np.zeros((5, dynamics.n))
def work():
    dynamics.slotine_li_regressor(*x[:4])
    dynamics.adaptive_terms(*x, np.array(dynamics.parameters))
    dynamics.matrices(*x[:2])
    print('done')
work()
threading.stack_size(131072)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    robot = tree(0, 64)
    done = subprocess.run([sys.executable, '-c', script], input=pickle.dumps(robot).hex(),
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, 'done\ndone\n'), done.stderr
