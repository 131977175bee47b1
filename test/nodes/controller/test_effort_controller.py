# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.nodes.controller.effort_controller import Telemetry


def count(cycle_rate: float, rate: float, publishers: int, cycles: int):
    """Return calls by cycle and publisher."""
    calls = np.zeros((cycles, publishers), dtype=int)
    now = [0]

    def publisher(index):
        def publish(stamp):
            assert stamp == 10 * now[0]
            calls[now[0], index] += 1
        return publish

    telemetry = Telemetry(cycle_rate, rate, tuple(publisher(k) for k in range(publishers)))
    for now[0] in range(cycles):
        telemetry.cycle(10 * now[0])
    return calls


@pytest.mark.parametrize(('rate', 'round_'), [(100.0, 5), (500.0, 1), (1000.0, 1), (3.0, 167)])
def test_each_has_its_rate(rate, round_):
    calls = count(500.0, rate, 3, 10 * round_)
    assert calls.sum(axis=0).tolist() == [10, 10, 10]


def test_no_cycle_carries_more_than_its_share():
    calls = count(500.0, 100.0, 5, 50)
    assert calls.sum(axis=1).tolist() == [1] * 50
    assert count(500.0, 50.0, 5, 50).sum(axis=1).max() == 1


def test_rate_zero_is_silence():
    assert count(500.0, 0.0, 3, 100).sum() == 0
