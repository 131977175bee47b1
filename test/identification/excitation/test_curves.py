# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.identification.excitation.curves import (
    BSplineBasis,
    FourierBasis,
    RestToRest,
)
from test.identification.excitation.fourier_curve import FourierCurve

BASES = [BSplineBasis(7.0, 9), BSplineBasis(2.0, 2), FourierBasis(7.0, 6), FourierBasis(3.0, 2)]


def name_of(basis):
    return f'{type(basis).__name__}-{basis.count}'


@pytest.mark.parametrize('basis', BASES, ids=name_of)
def test_every_function_rests_at_both_ends(basis):
    for derivative in range(3):
        ends = basis.evaluate([0.0, basis.duration], derivative)
        inside = np.abs(basis.evaluate(np.linspace(0, basis.duration, 200), derivative)).max()
        assert ends.shape == (2, basis.count)
        assert np.abs(ends).max() < 1e-12 * max(1.0, inside)


@pytest.mark.parametrize('basis', BASES, ids=name_of)
def test_functions_are_independent(basis):
    values = basis.evaluate(np.linspace(0.0, basis.duration, 400))
    assert np.linalg.matrix_rank(values) == basis.count


@pytest.mark.parametrize('basis', BASES, ids=name_of)
@pytest.mark.parametrize('derivative', [1, 2, 3, 4])
def test_derivatives_are_those_of_the_one_before(basis, derivative):
    t, h = np.linspace(0.1, basis.duration - 0.1, 38), 1e-5
    wanted = (basis.evaluate(t + h, derivative - 1)
              - basis.evaluate(t - h, derivative - 1)) / (2 * h)
    found = basis.evaluate(t, derivative)
    np.testing.assert_allclose(found, wanted, atol=2e-6 * np.abs(found).max())


@pytest.mark.parametrize('basis', BASES, ids=name_of)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), derivative=st.integers(0, 4))
def test_no_value_is_beyond_the_extremes_and_they_are_close(basis, seed, derivative):
    random = np.random.default_rng(seed)
    motion = RestToRest(basis, random.normal(size=3), random.normal(size=(basis.count, 3)))
    values = motion.evaluate(np.linspace(0.0, basis.duration, 4001), derivative)
    low, high = motion.extremes(derivative)
    size = np.ptp(values, axis=0)
    rounding = 1e-9 * size
    assert np.all(values.min(axis=0) >= low - rounding)
    assert np.all(values.max(axis=0) <= high + rounding)
    # A bound that is far too large would forbid good motions.
    assert np.all(low >= values.min(axis=0) - 0.05 * size)
    assert np.all(high <= values.max(axis=0) + 0.05 * size)
    np.testing.assert_allclose(motion.largest(derivative),
                               np.maximum(np.abs(low), np.abs(high)))


def test_a_peak_between_any_fixed_samples_is_within_the_extremes():
    # Harmonics that all peak at one instant, which no round number of samples meets.
    h, peak = 7, 0.123456789
    w = 2 * np.pi * np.arange(1, h + 1)
    curve = FourierCurve(1.0, [0.5], np.sin(w * peak)[None], np.cos(w * peak)[None])
    assert curve.evaluate([peak])[0, 0] == pytest.approx(0.5 + h)
    low, high = curve.extremes()
    assert 0.5 + h <= high[0] < 0.5 + h + 1e-3
    assert low[0] < curve.evaluate(np.linspace(0, 1, 999)).min()


def test_amplitudes_of_a_fourier_series_go_back_and_forth():
    basis = FourierBasis(10.0, 5)
    x = np.random.default_rng(0).normal(size=(basis.count, 2))
    sine, cosine = basis.amplitudes(x)
    np.testing.assert_allclose(basis.coefficients(sine, cosine), x, atol=1e-12)
    w, t = 2 * np.pi * np.arange(1, 6) / 10.0, 3.3
    wanted = sine @ np.sin(w * t) + cosine @ (1 - np.cos(w * t))
    np.testing.assert_allclose(RestToRest(basis, np.zeros(2), x).evaluate([t])[0], wanted)
    with pytest.raises(ParameterError, match='begins at rest'):
        basis.coefficients(sine + 0.1, cosine)
    with pytest.raises(DimensionError):
        basis.coefficients(sine[:, 1:], cosine)


@pytest.mark.parametrize('make', [
    lambda: BSplineBasis(0.0, 5), lambda: BSplineBasis(1.0, 1), lambda: BSplineBasis(1.0, True),
    lambda: BSplineBasis(np.nan, 5), lambda: FourierBasis(1.0, 1), lambda: FourierBasis(1.0, 2.5),
    lambda: RestToRest(BSplineBasis(1.0, 4), [0.0], np.full((3, 1), np.nan)),
    lambda: RestToRest(BSplineBasis(1.0, 4), [0.0, 0.0], np.zeros((3, 1))),
    lambda: FourierCurve(1.0, [0.0], [[np.inf]], [[0.0]]),
    lambda: FourierCurve(1.0, [0.0], [1.0], [0.0])])
def test_what_is_no_motion_is_refused(make):
    with pytest.raises((ParameterError, DimensionError)):
        make()
