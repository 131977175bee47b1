# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.checks import count, exceeds, rounded_down
from robot_dynamics.errors import ParameterError


@pytest.mark.parametrize(('value', 'told'), [
    (50.0, 50.0), (12.0 - 1e-14, 12.0), (11.996, 11.9), (1.0051, 1.0), (0.09996, 0.0999),
    (123456.0, 123000.0), (3.4999e-7, 3.49e-7), (0.0, 0.0), (-1.0, 0.0)])
def test_a_bound_is_told_so_that_it_is_one(value, told):
    assert rounded_down(value) == pytest.approx(told, rel=1e-12)
    assert not exceeds(rounded_down(value), max(value, 0.0))


def test_every_bound_that_is_told_is_accepted_and_not_much_lower():
    for value in np.exp(np.random.default_rng(0).uniform(-20.0, 20.0, 1000)):
        told = rounded_down(value)
        assert not exceeds(told, value) and told > 0.99 * value


@pytest.mark.parametrize('value', [0, -1, 1.5, np.nan, np.inf, 'one', None, [1]])
def test_what_counts_nothing_is_refused(value):
    with pytest.raises(ParameterError, match='samples'):
        count('samples', value)
    assert count('samples', 3.0) == 3
