# SPDX-License-Identifier: Apache-2.0
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from robot_dynamics.errors import DimensionError, ModelError
from robot_dynamics.model.arrays import frozen_array, frozen_integers, real_array


@pytest.mark.parametrize('value', [
    [1, 2], (1.0, 2.0), range(1, 3), np.array([1, 2], dtype='>i2'), np.array([1, 2], np.float16),
    np.array([1, 2], np.longdouble), np.array([1.0, 2.0], dtype='>f8'), np.ma.array([1.0, 2.0]),
    [Fraction(1), Decimal(2)], np.array([1, 2.0], dtype=object), np.array([1, 2], np.uint8)])
def test_real_numbers(value):
    array = real_array(value, 'x')
    assert array.dtype == np.float64 and array.dtype.isnative
    assert array.tolist() == [1.0, 2.0]


def test_a_float64_array_is_not_copied():
    array = np.zeros((2, 3))
    assert real_array(array, 'x') is array


def test_truth_values_scalars_and_nothing():
    assert real_array([True, False], 'x').tolist() == [1.0, 0.0]
    assert real_array(3, 'x').shape == ()
    assert real_array([], 'x').shape == (0,)
    assert np.isnan(real_array(np.nan, 'x'))


@pytest.mark.parametrize('value', [
    1j, np.ones(2) * 1j, ['1', '2'], '12', b'12', np.array(['1']), [None, 1.0], None, {}, {1.0},
    np.zeros(2, 'M8[s]'), np.zeros(2, 'm8[s]'), np.zeros(2, [('x', 'f8')]), [[1.0], [1.0, 2.0]],
    (x for x in (1.0, 2.0)), [10 ** 400], np.ma.array([1.0, 2.0], mask=[True, False]), object()])
def test_what_is_no_real_number(value):
    with pytest.raises(DimensionError, match='x must hold real numbers; give some') as caught:
        real_array(value, 'x', 'give some')
    assert caught.value.subject == 'x'


def test_frozen_arrays():
    given = np.ones(2)
    array = frozen_array(given, (2,), 'x')
    given[0] = 7.0
    assert array.tolist() == [1.0, 1.0]
    assert not array.flags.writeable
    with pytest.raises(DimensionError, match=r'must have shape \(3,\), got \(2,\)'):
        frozen_array(given, (3,), 'x')
    with pytest.raises(ModelError, match='NaN or inf'):
        frozen_array([np.inf], (1,), 'x')
    assert frozen_array([np.inf], (1,), 'x', finite=False)[0] == np.inf


def test_frozen_integers():
    array = frozen_integers([1.0, -2.0], (2,), 'x')
    assert array.dtype == np.int64
    assert array.tolist() == [1, -2]
    assert not array.flags.writeable
    with pytest.raises(ModelError, match='must hold integers'):
        frozen_integers([1.5], (1,), 'x')
