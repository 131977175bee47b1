# SPDX-License-Identifier: Apache-2.0
"""Kernels that read array objects themselves."""

import gc
import sys

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.kernels import direct, matrices, newton_euler, slotine_li
from robot_dynamics.dynamics.kernels.direct import DONE, REFUSED

DIRECT = (slotine_li.slotine_li_regressor, slotine_li.adaptive_terms,
          newton_euler.inverse_dynamics, matrices.matrices)


@pytest.fixture
def dynamics(tree):
    """Equations of a tree of four bodies."""
    return Dynamics(tree(2, 4))


def test_arrays_lie_as_expected_here():
    """On this machine the fast way is open; where it is not, the general way works."""
    assert direct.layout_is_as_expected()


def test_the_check_of_the_layout_finds_a_wrong_place(monkeypatch):
    for name in ('TYPE', 'DATA', 'DIMENSIONS', 'SHAPE', 'BASE', 'DESCRIPTOR', 'FLAGS',
                 'TYPE_NUMBER', 'BYTE_ORDER'):
        with monkeypatch.context() as changed:
            changed.setattr(direct, name, getattr(direct, name) - 8)
            assert not direct.layout_is_as_expected(), name


class Subclass(np.ndarray):
    """Not a plain array."""


UNFIT = {
    'none': None,
    'number': 1.0,
    'list': [0.0] * 4,
    'text': 'text',
    'float32': np.zeros(4, np.float32),
    'int64': np.zeros(4, np.int64),
    'big-endian': np.zeros(4, '>f8'),
    'long': np.zeros(5),
    'short': np.zeros(3),
    'empty': np.zeros(0),
    'matrix': np.zeros((4, 1)),
    'scalar': np.array(0.0),
    'strided': np.zeros(8)[::2],
    'unaligned': np.zeros(33, np.uint8)[1:].view(np.float64),
    'subclass': np.zeros(4).view(Subclass),
}


@pytest.mark.parametrize('unfit', UNFIT.values(), ids=UNFIT)
def test_anything_but_plain_arrays_is_refused(dynamics, unfit):
    call = newton_euler.inverse_dynamics.load()
    plain = [np.zeros(4) for _ in range(4)]
    assert call(dynamics._model, *plain) == DONE
    for position in range(4):
        given = list(plain)
        given[position] = unfit
        assert call(dynamics._model, *given) == REFUSED


def test_results_go_to_writeable_arrays_only(dynamics):
    call = newton_euler.inverse_dynamics.load()
    locked = np.zeros(4)
    locked.flags.writeable = False
    assert call(dynamics._model, locked, locked, locked, np.zeros(4)) == DONE
    assert call(dynamics._model, *np.zeros((3, 4)), locked) == REFUSED
    with pytest.raises(TypeError):
        call(dynamics._model, *np.zeros((3, 4)))


def test_without_direct_kernels_all_goes_the_general_way(dynamics, monkeypatch):
    rng = np.random.default_rng(0)
    q, v, v_r, a_r, s = rng.uniform(-1.0, 1.0, (5, 4))
    pi = np.array(dynamics.parameters)

    def everything():
        return [dynamics.slotine_li_regressor(q, v, v_r, a_r),
                dynamics.slotine_li_regressor(q, v, v_r, a_r, out=dynamics.regressor_buffer()),
                dynamics.regressor(q, v, a_r, ('viscous',)),
                dynamics.inverse_dynamics(q, v, a_r),
                *dynamics.adaptive_terms(q, v, v_r, a_r, s, pi), *dynamics.matrices(q, v)]

    fast = everything()
    for kernel in DIRECT:
        monkeypatch.setattr(kernel, 'call', kernel._not_loaded)
    for general, direct_result in zip(everything(), fast, strict=True):
        np.testing.assert_allclose(general, direct_result, rtol=1e-13, atol=1e-13)


def test_plain_arrays_take_the_fast_way(dynamics, monkeypatch):
    q, v, v_r, a_r, s = np.zeros((5, 4))
    pi = dynamics.parameter_vector(('viscous',))
    dynamics.adaptive_terms(q, v, v_r, a_r, s, pi, ('viscous',))
    dynamics.slotine_li_regressor(q, v, v_r, a_r)
    dynamics.inverse_dynamics(q, v, a_r)
    dynamics.matrices(q, v)

    def general(**arguments):
        raise AssertionError('took the general way')
    monkeypatch.setattr(dynamics, '_gather', general)
    dynamics.adaptive_terms(q, v, v_r, a_r, s, pi, ('viscous',))
    dynamics.slotine_li_regressor(q, v, v_r, a_r, ('viscous', 'coulomb'))
    dynamics.regressor(q, v, a_r, out=dynamics.regressor_buffer())
    dynamics.inverse_dynamics(q, v, a_r)
    dynamics.matrices(q, v)


def test_robots_too_big_for_the_stack_go_the_general_way(tree):
    large = Dynamics(tree(0, direct.LARGEST + 1, branch=0.9))
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, large.n))
    tau = np.zeros(large.n)
    assert newton_euler.inverse_dynamics.load()(large._model, q, v, a, tau) == REFUSED
    tau = large.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(large.regressor(q, v, a) @ large.parameters, tau, atol=1e-9)
    limit = Dynamics(tree(0, direct.LARGEST, branch=0.9))
    q, v, a, tau = (x[:limit.n].copy() for x in (q, v, a, tau))
    assert newton_euler.inverse_dynamics.call(limit._model, q, v, a, tau) == DONE
    np.testing.assert_allclose(limit.regressor(q, v, a) @ limit.parameters, tau, atol=1e-9)


@pytest.mark.slow
def test_references_are_kept_in_balance(dynamics):
    arrays = [np.zeros(4) for _ in range(4)]
    out = dynamics.regressor_buffer()
    none = None
    watched = [*arrays, out, dynamics._model, none]
    dynamics.slotine_li_regressor(*arrays, out=out)
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(1000):
        dynamics.slotine_li_regressor(*arrays, out=out)
        newton_euler.inverse_dynamics.call(dynamics._model, *arrays[:3], none)
    after = [sys.getrefcount(x) for x in watched]
    assert after[:-1] == before[:-1]
    assert abs(after[-1] - before[-1]) < 100
