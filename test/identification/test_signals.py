# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.signals import (
    METHODS,
    SignalSettings,
    cutoff_of,
    derivative,
    evenly,
    low_pass,
    motions_of,
)


def test_a_quantised_encoder_differentiated_twice(cases, table):
    expected = json.loads((cases / 'ident_differentiation' / 'expected.json').read_text())[
        'numbers']
    data = table(cases / 'ident_differentiation' / 'encoder.csv')
    rate, skip = expected['fs'], expected['discard_each_side']
    inner, true = slice(skip, -skip), data['ddq_true']
    size = np.sqrt(np.mean(true[inner] ** 2))

    def error(a):
        return np.sqrt(np.mean((a - true)[inner] ** 2)) / size
    naive = derivative(derivative(data['q_measured'], rate, 'first_order'), rate, 'first_order')
    assert error(naive) > 1.0
    for method, cutoff in (('central', 12.0), ('first_order', 12.0)):
        q = low_pass(data['q_measured'], rate, cutoff)
        assert error(derivative(derivative(q, rate, method), rate, method)) \
            < expected['require_relative_rms_below']
    a = data['q_measured']
    for _ in range(2):
        a = derivative(a, rate, 'savitzky_golay', window=121)
    assert error(a) < expected['require_relative_rms_below']


@pytest.mark.parametrize('method', METHODS)
def test_derivatives_of_polynomials(method):
    t = np.arange(200) / 100.0
    np.testing.assert_allclose(derivative(3.0 * t + 1.0, 100.0, method), 3.0, atol=1e-9)
    if method == 'central':
        np.testing.assert_allclose(derivative(t ** 6, 100.0)[3:-3], (6 * t ** 5)[3:-3], rtol=1e-9,
                                   atol=1e-9)


def test_low_pass_keeps_slow_takes_fast_and_delays_nothing():
    t = np.arange(4000) / 1000.0
    slow, fast = np.sin(2 * np.pi * 1.0 * t), np.sin(2 * np.pi * 60.0 * t)
    filtered = low_pass(slow + fast, 1000.0, 10.0)
    np.testing.assert_allclose(filtered[500:-500], slow[500:-500], atol=1e-3)
    half = low_pass(np.sin(2 * np.pi * 10.0 * t), 1000.0, 10.0)[1000:-1000]
    assert abs(np.max(half) - 0.5) < 0.01
    np.testing.assert_array_equal(low_pass(slow, 1000.0, 499.0), slow)


def test_uneven_rows_are_put_on_a_grid():
    random = np.random.default_rng(0)
    t = np.arange(3000) / 100.0 + random.uniform(-3e-3, 3e-3, 3000)
    grid = t[0] + np.arange(2990) / 100.0
    x = evenly(t, np.sin(t)[:, None], 0.01)[:2990, 0]
    np.testing.assert_allclose(x, np.sin(grid), atol=2e-8)
    rough = evenly(t, np.sin(t)[:, None], 0.01, smooth=False)[:2990, 0]
    np.testing.assert_allclose(rough, np.sin(grid), atol=1e-4)


@pytest.mark.parametrize('rate', [30.0, 125.0, 1000.0])
def test_motions_are_those_that_were_logged(three, rate):
    t, q, v, a = three.motion(seconds=15, rate=rate)
    dataset = dataset_from_arrays(three.robot, t, q, q)
    motion, = motions_of(dataset, SignalSettings(4.0))
    picked = np.round(motion.time * rate).astype(int)
    inner = (motion.time > 1.0) & (motion.time < 14.0)
    np.testing.assert_allclose(motion.q[inner], q[picked][inner], atol=2e-3)
    np.testing.assert_allclose(motion.v[inner], v[picked][inner], atol=1e-2)
    np.testing.assert_allclose(motion.a[inner], a[picked][inner], atol=5e-2)
    assert motion.rate <= max(rate, 24 * 4.0 * 2)


def test_efforts_that_come_late(three):
    t, q, _v, _a = three.motion(rate=500.0)
    dataset = dataset_from_arrays(three.robot, t + 0.0, q, np.interp(t - 0.02, t, q[:, 0])[
        :, None] * np.ones(3))
    motion, = motions_of(dataset, SignalSettings(5.0, lag=0.02))
    inner = slice(200, -200)
    np.testing.assert_allclose(motion.effort[inner, 0], motion.q[inner, 0], atol=1e-4)


def test_the_cutoff_lies_above_the_motion_and_below_the_noise(three):
    t, q, _v, _a = three.motion(seconds=60, rate=200.0)
    noisy = q + 1e-4 * np.random.default_rng(0).normal(size=q.shape)
    found = cutoff_of(dataset_from_arrays(three.robot, t, noisy, q))
    assert 0.6 <= found < 10.0


@pytest.mark.parametrize('wrong', [
    {'cutoff': 0.0}, {'cutoff': np.nan}, {'cutoff': 5.0, 'derivative': 'guess'},
    {'cutoff': 5.0, 'velocity': 'guess'}])
def test_settings_that_cannot_be(wrong):
    with pytest.raises(ParameterError):
        SignalSettings(**wrong)


def test_wrong_filters():
    with pytest.raises(ParameterError):
        low_pass(np.zeros(100), 100.0, -1.0)
    with pytest.raises(ParameterError):
        low_pass(np.zeros(100), 100.0, 5.0, order=0)
    with pytest.raises(ParameterError):
        derivative(np.zeros(100), 100.0, 'magic')
    with pytest.raises(ParameterError):
        derivative(np.zeros(100), 100.0, 'savitzky_golay', window=5, degree=5)


@pytest.mark.parametrize(('shape', 'cutoff', 'order'), [
    ((400, 7), 3.0, 4), ((1000,), 20.0, 5), ((9, 3), 2.0, 1), ((300, 2, 3), 30.0, 12)])
def test_filters_as_scipy_has_them(shape, cutoff, order):
    from scipy.signal import butter, sosfiltfilt
    x = np.cumsum(np.random.default_rng(0).normal(size=shape), axis=0)
    padding = min(len(x) - 1, int(300.0 / cutoff))
    theirs = sosfiltfilt(butter(order, cutoff, fs=100.0, output='sos'), x, axis=0, padlen=padding)
    for given in (x, np.asfortranarray(x)):
        np.testing.assert_allclose(low_pass(given, 100.0, cutoff, order), theirs,
                                   atol=1e-12 * np.abs(x).max())


@pytest.mark.parametrize('setting', [
    {'order': 2.5}, {'order': 0}, {'order': 13}, {'order': True}, {'order': '4'}, {'lag': 'x'},
    {'lag': np.nan}, {'lag': np.inf}, {'lag': 100.0}, {'lag': None}])
def test_orders_and_lags_that_cannot_be_are_refused_by_name(setting):
    with pytest.raises(ParameterError) as caught:
        SignalSettings(**{'cutoff': 5.0, **setting})
    assert caught.value.subject == next(iter(setting))
