# SPDX-License-Identifier: Apache-2.0
"""What the methods accept, refuse and leave alone."""

import sys
import threading

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, ModelError, ParameterError

METHODS = {
    'inverse_dynamics': 3, 'mass_matrix': 1, 'coriolis_matrix': 2, 'gravity_torque': 1,
    'matrices': 2, 'forward_dynamics': 3, 'regressor': 3, 'slotine_li_regressor': 4,
    'adaptive_terms': 6, 'forward_kinematics': 1,
}


@pytest.fixture(scope='module')
def dynamics(tree):
    """Equations of a tree whose bodies are out of depth-first order."""
    return Dynamics(tree(3, 6))


def arguments(dynamics, count, shape=()):
    """Random arguments; the sixth holds parameters."""
    values = np.random.default_rng(count).uniform(-1.5, 1.5, (min(count, 5), *shape, dynamics.n))
    return [*values, dynamics.parameters * np.ones((*shape, 1))][:count]


def results(value):
    """Results as a tuple of arrays."""
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(('name', 'count'), METHODS.items())
def test_a_batch_equals_the_loop(dynamics, name, count):
    method = getattr(dynamics, name)
    batch = arguments(dynamics, count, (2, 3))
    for i, together in enumerate(results(method(*batch))):
        assert together.shape[:2] == (2, 3)
        for index in np.ndindex(2, 3):
            alone = results(method(*(x[index] for x in batch)))[i]
            np.testing.assert_allclose(together[index], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(('name', 'count'), METHODS.items())
def test_other_numbers_than_plain_float64_arrays(dynamics, name, count):
    method = getattr(dynamics, name)
    plain = [np.round(x, 1).astype(np.float32).astype(np.float64)
             for x in arguments(dynamics, count)]
    expected = results(method(*plain))
    strided = [np.repeat(x, 2)[::2] for x in plain]
    read_only = [x.copy() for x in plain]
    for x in read_only:
        x.flags.writeable = False
    swapped = [x.astype('>f8') for x in plain]
    variants = [[x.tolist() for x in plain], [x.astype(np.float32) for x in plain], strided,
                read_only, swapped, [plain[0].tolist(), *plain[1:]]]
    for variant in variants:
        for ours, right in zip(results(method(*variant)), expected, strict=True):
            np.testing.assert_allclose(ours, right, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(('name', 'count'), METHODS.items())
def test_wrong_shapes_are_refused_by_name(dynamics, name, count):
    method = getattr(dynamics, name)
    for position in range(count):
        for wrong in (np.zeros(5), np.zeros((2, 7)), np.zeros(()), np.zeros((6, 1)), 'six',
                      [1.0, 'a'], None):
            given = arguments(dynamics, count)
            given[position] = wrong
            with pytest.raises(DimensionError) as caught:
                method(*given)
            assert caught.value.subject in ('q', 'v', 'a', 'v_r', 'a_r', 's', 'tau',
                                            'parameters')
            assert caught.value.remedy


def test_the_error_names_argument_shape_and_joints(dynamics):
    with pytest.raises(DimensionError, match=r'v must have shape \(6,\) or .*\(5,\).*c0, c1, c2'):
        dynamics.inverse_dynamics(np.zeros(6), np.zeros(5), np.zeros(6))
    with pytest.raises(DimensionError, match=r'parameters must have .*\(60,\).*column_names'):
        dynamics.adaptive_terms(*np.zeros((5, 6)), np.zeros(6))


def test_batches_broadcast(dynamics):
    q, v, a = arguments(dynamics, 3)
    many = q + np.linspace(0.0, 1.0, 4)[:, np.newaxis]
    tau = dynamics.inverse_dynamics(many, v, a)
    assert tau.shape == (4, 6)
    np.testing.assert_allclose(tau[2], dynamics.inverse_dynamics(many[2], v, a), rtol=1e-13)
    column = v * np.ones((5, 1, 1))
    assert dynamics.regressor(many, column, a).shape == (5, 4, 6, 60)
    assert dynamics.regressor(np.zeros((0, 6)), v, a).shape == (0, 6, 60)
    with pytest.raises(DimensionError, match=r'q \(4, 6\), v \(3, 6\)'):
        dynamics.inverse_dynamics(many, np.zeros((3, 6)), a)


@pytest.mark.parametrize('terms', [(), ('viscous', 'offset')])
def test_out_is_written_whole(dynamics, terms):
    state = arguments(dynamics, 4)
    expected = dynamics.slotine_li_regressor(*state, terms)
    shape = expected.shape
    for out in (np.full(shape, np.nan), np.zeros(shape), np.empty(shape)[::1]):
        for _ in range(2):
            assert dynamics.slotine_li_regressor(*state, terms, out=out) is out
            assert np.array_equal(out, expected)
    part = np.full((3, *shape), np.nan)
    dynamics.slotine_li_regressor(*state, terms, out=part[1])
    assert np.array_equal(part[1], expected) and np.all(np.isnan(part[[0, 2]]))
    many = np.full((2, *shape), np.nan)
    batch = arguments(dynamics, 4, (2,))
    assert dynamics.slotine_li_regressor(*batch, terms, out=many) is many
    assert np.array_equal(many, dynamics.slotine_li_regressor(*batch, terms))


def test_the_buffer_of_another_tree_gets_its_zeros(tree, dynamics):
    """The same number of bodies, another tree: other entries are zero."""
    chain = Dynamics(tree(3, 6, order='chain'))
    state = arguments(dynamics, 3)
    assert np.count_nonzero(chain.regressor(*state)) > np.count_nonzero(dynamics.regressor(*state))
    buffer = np.zeros((6, 60))
    chain.regressor(*state, out=buffer)
    dynamics.regressor(*state, out=buffer)
    assert np.array_equal(buffer, dynamics.regressor(*state))


def test_matrices_write_into_out(dynamics):
    q, v = arguments(dynamics, 2)
    out = np.full((6, 6), np.nan), np.full((6, 6), np.nan), np.full(6, np.nan)
    assert dynamics.matrices(q, v, out) is not None
    for written, expected in zip(out, dynamics.matrices(q, v), strict=True):
        assert np.array_equal(written, expected)
    result = dynamics.matrices(q.tolist(), v, out)
    assert all(x is y for x, y in zip(result, out, strict=True))


def test_unfit_out_is_refused(dynamics):
    state = arguments(dynamics, 3)
    locked = np.zeros((6, 60))
    locked.flags.writeable = False
    for out in (np.zeros((6, 59)), np.zeros((60, 6)).T, locked, np.zeros((6, 60), np.float32),
                np.zeros((1, 6, 60)), [[0.0] * 60] * 6):
        with pytest.raises(DimensionError, match=r'out .*\(6, 60\)'):
            dynamics.regressor(*state, out=out)
    M, C, g = dynamics.matrices(*state[:2])
    for out in ((M, C, g[:3]), (M, C.T[::2], g), (M[:3], C, g)):
        with pytest.raises(DimensionError, match='out '):
            dynamics.matrices(*state[:2], out)


@pytest.mark.parametrize(('name', 'count'), METHODS.items())
def test_arguments_are_left_alone(dynamics, name, count):
    for shape in ((), (2,)):
        given = arguments(dynamics, count, shape)
        before = [x.copy() for x in given]
        getattr(dynamics, name)(*given)
        for now, then in zip(given, before, strict=True):
            assert np.array_equal(now, then)


def test_only_robots_have_equations():
    with pytest.raises(ModelError, match=r'robot must be a Robot, got str.*from_urdf'):
        Dynamics('arm.urdf')


def test_nan_travels(dynamics):
    q, v, a = arguments(dynamics, 3)
    a[2] = np.nan
    assert np.isnan(dynamics.inverse_dynamics(q, v, a)).any()
    assert np.isnan(dynamics.regressor(q, v, a)).any()


def test_threads_do_not_disturb_each_other(dynamics):
    batches = [arguments(dynamics, 4, (200,)) for _ in range(4)]
    batches = [[x + 0.1 * k for x in batch] for k, batch in enumerate(batches)]
    expected = [[dynamics.slotine_li_regressor(*sample) for sample in zip(*batch, strict=True)]
                for batch in batches]
    failures = []

    def work(batch, right):
        for _ in range(5):
            single = [dynamics.slotine_li_regressor(*sample)
                      for sample in zip(*batch, strict=True)]
            together = dynamics.slotine_li_regressor(*batch)
            if not (np.array_equal(single, right) and np.array_equal(together, right)):
                failures.append(batch)

    threads = [threading.Thread(target=work, args=pair)
               for pair in zip(batches, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def calls(n):
    """Calls on one sample with options, by what they are."""
    q, v, a, jerk, snap = np.random.default_rng(7).uniform(-1.5, 1.5, (5, n))
    return {
        'matrices out': ('matrices', [q, v], {'out': (
            np.zeros((n, n)), np.zeros((n, n)), np.zeros(n))}),
        'regressor out': ('regressor', [q, v, a], {'out': np.zeros((n, 10 * n))}),
        'regressor out, a term': ('slotine_li_regressor', [q, v, v, a, ('viscous',)],
                                  {'out': np.zeros((n, 11 * n))}),
        'derivatives out': ('inverse_dynamics_derivatives', [q, v, a],
                            {'out': tuple(np.zeros((3, n, n)))}),
        'rates': ('inverse_dynamics_rates', [q, v, a, jerk, snap], {}),
        'state': ('state_derivatives', [q, v], {}),
        'state, Garofalo': ('state_derivatives', [q, v, 'garofalo'], {}),
        'parameters': ('parameter_derivatives', [q, v], {}),
        'C, Garofalo': ('coriolis_matrix', [q, v, 'garofalo'], {}),
        'time, Garofalo': ('time_derivatives', [q, v, a, 'garofalo'], {}),
        'pose': ('forward_kinematics', [q, 'b2'], {}),
        'Jacobian, link axes': ('jacobian', [q, 'b2', 'link'], {}),
        'Jacobian, second rate': ('jacobian_ddot', [q, v, a, 'b2'], {}),
        'Jacobian, derivatives': ('jacobian_derivatives', [q, v, 'b2', 'link'], {}),
    }


@pytest.mark.parametrize('backend', ['numba', 'auto'])
@pytest.mark.parametrize('name', calls(1))
def test_one_sample_with_options_is_right_and_short(tree, name, backend):
    dynamics = Dynamics(tree(3, 6), backend=backend)
    method, given, named = calls(6)[name]
    batch = [np.tile(x, (2, 1)) if isinstance(x, np.ndarray) else x for x in given]
    expected = [x[1] for x in results(getattr(dynamics, method)(*batch))]
    for _ in range(3):
        for ours, right in zip(results(getattr(dynamics, method)(*given, **named)), expected,
                               strict=True):
            np.testing.assert_allclose(ours, right, rtol=1e-12, atol=1e-12)
    entered = []
    sys.setprofile(lambda frame, event, argument: entered.append(frame.f_code.co_name)
                   if event == 'call' else None)
    try:
        getattr(dynamics, method)(*given, **named)
    finally:
        sys.setprofile(None)
    # The way of batches enters 60 to 130 functions of Python.
    assert len(entered) <= 55, entered


def test_none_is_no_list_of_terms_at_any_call(dynamics):
    q = np.zeros(6)
    for _ in range(2):
        with pytest.raises(ParameterError, match='terms must be a list of joint terms, got None'):
            dynamics.slotine_li_regressor(q, q, q, q, None)
        dynamics.slotine_li_regressor(q, q, q, q)
