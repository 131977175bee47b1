# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.dataset import joined


def test_recordings_one_after_the_other(three):
    first, second = three.log(seconds=4, seed=0), three.log(seconds=6, seed=1)
    both = joined([first, second])
    assert both.count == first.count + second.count
    assert len(both.segments) == 2
    assert both.segments[1].time[0] > both.segments[0].time[-1]
    np.testing.assert_array_equal(both.segments[1].position, second.segments[0].position)
    assert both.duration == pytest.approx(first.duration + second.duration)
    assert joined([first]).segments[0].time[0] == first.segments[0].time[0]


def test_counts_add_up(three):
    logs = [three.log(seconds=4, seed=seed) for seed in (0, 1)]
    logs = [type(log)(**{**log.__dict__, 'counts': {'gaps': 2, f'only {k}': 1}})
            for k, log in enumerate(logs)]
    assert joined(logs).counts == {'gaps': 4, 'only 0': 1, 'only 1': 1}


def test_other_rates_and_nothing_are_refused(three):
    with pytest.raises(RecordingError, match='a row every 10 ms, the first'):
        joined([three.log(seconds=4), three.log(seconds=4, rate=100.0)])
    with pytest.raises(RecordingError, match='name one'):
        joined([])
