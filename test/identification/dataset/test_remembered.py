# SPDX-License-Identifier: Apache-2.0
import gc
import weakref

import numpy as np
import pytest

from robot_dynamics.identification.dataset.dataset import remembered
from robot_dynamics.identification.signals import SignalSettings, motions_of


@pytest.mark.slow
def test_a_dataset_is_looked_at_once_and_forgotten_with_it(three):
    asked = []

    @remembered
    def rows(dataset):
        asked.append(dataset.count)
        return dataset.count

    dataset, other = three.log(seconds=2.0), three.log(seconds=3.0)
    assert rows(dataset) == rows(dataset) == dataset.count
    assert rows(other) == other.count
    assert asked == [dataset.count, other.count]
    assert rows.__name__ == 'rows'
    asked.clear()
    gone = weakref.ref(dataset)
    motions_of(dataset, SignalSettings(5.0))
    del dataset
    gc.collect()
    assert gone() is None


def test_motions_are_those_of_their_settings(three):
    dataset = three.log(seconds=2.0)
    first = motions_of(dataset, SignalSettings(5.0))
    assert motions_of(dataset, SignalSettings(5.0)) is first
    other = motions_of(dataset, SignalSettings(2.0))
    assert other[0].count != first[0].count
    again = motions_of(dataset, SignalSettings(5.0))
    np.testing.assert_array_equal(again[0].v, first[0].v)
