# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np

from robot_dynamics.report.series import (
    MOST_SAMPLES,
    grid,
    histogram,
    moving_rms,
    rounded,
    sample,
    with_gaps,
    worst,
)


def test_moving_rms_is_that_of_each_window():
    rng = np.random.default_rng(1)
    time = np.sort(rng.uniform(0, 10, 400))
    values = rng.normal(size=(400, 3))
    at = np.linspace(1, 9, 17)
    expected = [np.sqrt(np.mean(values[(time > t - 0.7) & (time <= t)] ** 2, axis=0)) for t in at]
    np.testing.assert_allclose(moving_rms(time, values, at, 0.7), expected, rtol=1e-9)


def test_an_empty_window_has_no_rms():
    assert np.isnan(moving_rms(np.array([5.0]), np.ones((1, 2)), np.array([1.0]), 0.5)).all()


def test_samples_that_are_nan_do_not_count():
    time = np.arange(5.0)
    values = np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, np.nan], [np.nan, np.inf], [5.0, 2.0]])
    got = moving_rms(time, values, time, 1.5)
    np.testing.assert_allclose(got, [[1, 2], [1, 2], [3, 2], [3, np.nan], [5, 2]])


def test_a_grid_is_as_fine_as_asked_and_never_too_long():
    np.testing.assert_allclose(grid(1.0, 2.0, 4.0), [1.0, 1.25, 1.5, 1.75])
    assert len(grid(0.0, 1e9, 40.0)) == MOST_SAMPLES


def test_sample_is_the_newest():
    values = np.array([[1.0], [2.0], [3.0]])
    got = sample(np.array([0.0, 1.0, 2.0]), values, np.array([-1.0, 0.0, 0.99, 1.0, 9.0]))
    assert got[:, 0].tolist() == [1.0, 1.0, 1.0, 2.0, 3.0]


def test_worst_between_times():
    got = worst(np.array([-1.0, 0.1, 0.2, 2.5]), np.array([9.0, 1.0, 5.0, 2.0]),
                np.array([0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(got, [5.0, np.nan, 2.0])


def test_histogram_counts_everything():
    values = np.concatenate([np.linspace(0, 1, 10_000), [50.0, np.nan]])
    counts = histogram(values)['counts']
    assert sum(counts) == 10_001
    assert counts[-1] > counts[-2]
    assert histogram(np.array([])) == {'edges': [], 'counts': []}


def test_rounding_keeps_figures_and_makes_valid_json():
    values = np.array([[1.23456e-7, np.nan], [-98765.4, 0.0]])
    assert rounded(values) == [[1.235e-7, None], [-98770.0, 0.0]]
    json.dumps(rounded(values), allow_nan=False)


def test_gaps_are_holes_in_a_line():
    time = np.concatenate([np.arange(100) * 0.01, 5.0 + np.arange(100) * 0.01])
    values = np.column_stack([time, -time])
    t, out = with_gaps(time, values, 1000)
    assert len(t) == 201 and np.all(np.diff(t) > 0.0)
    assert np.flatnonzero(np.isnan(out).any(axis=1)).tolist() == [100]
    np.testing.assert_allclose(np.delete(out, 100, axis=0), values)
    t, out = with_gaps(time, values, 20)
    assert len(t) == 21 and np.isnan(out).all(axis=1).sum() == 1
    for one in (time[:0], time[:1]):
        t, out = with_gaps(one, values[:len(one)], 20)
        assert len(t) == len(out) == len(one) and not np.isnan(out).any()
