# SPDX-License-Identifier: Apache-2.0
import threading
import time

import numpy as np
import pytest

from robot_dynamics.control.feedback.loaded_model import FeedforwardModel
from robot_dynamics.control.lq.design import FeedbackDesign
from robot_dynamics.control.lq.gain_table import REACH, GainPlanner, GainTable
from robot_dynamics.control.lq.rules import rule_of_design
from robot_dynamics.errors import DimensionError, RobotDynamicsError, TrajectoryError

SPACING = 0.01


def motion(times):
    """Rest, a swing there and back, rest."""
    t = np.clip(np.asarray(times, dtype=float)[:, None] - 0.2, 0.0, 1.0)
    size = np.array([1.0, -0.5, 0.3])
    w = 2.0 * np.pi
    moves = ((t > 0.0) & (t < 1.0)).astype(float)
    return (size * (1.0 - np.cos(w * t)), moves * w * size * np.sin(w * t),
            moves * w * w * size * np.cos(w * t))


@pytest.fixture
def table():
    q, v, _ = motion(np.arange(0.0, 1.5, SPACING))
    return GainTable(q, v, np.arange(len(q))[:, None, None] * np.ones((3, 6)), SPACING)


def knot(gain):
    return None if gain is None else int(gain[0, 0])


def test_the_motion_itself_says_where_it_is(table):
    times = np.arange(0.0, 1.5, 0.002)
    found = [knot(table.find(q, v)) for q, v in zip(*motion(times)[:2], strict=True)]
    assert None not in found
    # Where it moves, the knot is the nearest in time; at rest all are alike.
    moves = (times > 0.25) & (times < 1.15)
    assert np.abs(np.array(found)[moves] * SPACING - times[moves]).max() <= 0.5 * SPACING + 1e-9


@pytest.mark.parametrize('lost', [20, 100, 300])
def test_lost_samples_do_no_harm(table, lost):
    times = np.concatenate([np.arange(0.0, 0.4, 0.002), np.arange(0.4 + 0.002 * lost, 1.4, 0.002)])
    found = [knot(table.find(q, v)) for q, v in zip(*motion(times)[:2], strict=True)]
    assert None not in found


def test_a_motion_that_is_lost_is_looked_for_everywhere(table):
    q, v, _ = motion([0.5, 0.3])
    assert knot(table.find(q[0], v[0])) == 50
    assert knot(table.find(q[1], v[1])) == 30
    assert REACH < 100


def test_off_the_trajectory_there_is_none(table):
    q, v, _ = motion([0.5])
    assert table.find(q[0] + 0.2, v[0]) is None
    assert table.find(q[0], -5.0 * v[0]) is None
    assert table.find(q[0] * np.nan, v[0]) is None
    assert knot(table.find(q[0], v[0])) == 50


def test_a_single_knot_is_a_trajectory():
    table = GainTable(np.zeros((1, 2)), np.zeros((1, 2)), np.ones((1, 2, 4)), SPACING)
    assert table.find(np.zeros(2), np.zeros(2)) is table.gains[0] or np.all(table.gains[0] == 1.0)
    assert table.find(np.ones(2), np.zeros(2)) is None


@pytest.mark.parametrize(('arguments', 'error'), [
    ((np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 6)), 0.1), DimensionError),
    ((np.zeros((4, 3)), np.zeros((4, 2)), np.zeros((4, 3, 6)), 0.1), DimensionError),
    ((np.zeros((4, 3)), np.zeros((4, 3)), np.zeros((4, 3, 3)), 0.1), DimensionError),
    ((np.zeros(3), np.zeros(3), np.zeros((3, 6)), 0.1), DimensionError),
    ((np.zeros((4, 3)), np.full((4, 3), np.nan), np.zeros((4, 3, 6)), 0.1), RobotDynamicsError),
    ((np.zeros((4, 3)), np.zeros((4, 3)), np.zeros((4, 3, 6)), 0.0), RobotDynamicsError),
])
def test_what_is_no_table_is_refused(arguments, error):
    with pytest.raises(error):
        GainTable(*arguments)


@pytest.fixture
def planner():
    made = GainPlanner(rule_of_design('riccati', 3, FeedbackDesign(), 0.002))
    yield made
    made.close()


def taken(planner, seconds=20.0):
    """The next table, or None after some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        table = planner.take()
        if table is not None:
            return table
        time.sleep(0.001)
    return None


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_a_trajectory_without_points_has_no_table(arm3, kind):
    with pytest.raises(TrajectoryError, match='has no points'):
        GainTable.along(rule_of_design(kind, 3, FeedbackDesign(), 0.002), FeedforwardModel(arm3),
                        *np.zeros((3, 0, 3)), SPACING)


def test_gains_are_computed_in_another_thread(planner, arm3):
    model, way = FeedforwardModel(arm3), motion(np.arange(0.0, 1.5, SPACING))
    # Here first: kernels are compiled where nobody waits.
    wanted = GainTable.along(rule_of_design('riccati', 3, FeedbackDesign(), 0.002), model, *way,
                             SPACING)
    planner.plan(model.snapshot(), way, SPACING)
    table = taken(planner)
    np.testing.assert_array_equal(table.gains, wanted.gains)
    assert planner.take() is None and not planner.failure


def test_what_was_asked_for_before_is_dropped(planner, arm3):
    model = FeedforwardModel(arm3)
    ways = [motion(np.arange(0.0, end, SPACING)) for end in (3.0, 1.0)]
    for way in ways:
        planner.plan(model, way, SPACING)
    assert len(taken(planner).q) == len(ways[1][0])
    assert taken(planner, 0.1) is None


def test_a_failure_is_told_and_the_next_is_computed(planner, arm3):
    model, way = FeedforwardModel(arm3), motion(np.arange(0.0, 0.3, SPACING))
    planner.plan(model, (way[0] * np.nan, way[1], way[2]), SPACING)
    end = time.monotonic() + 20.0
    while not planner.failure and time.monotonic() < end:
        time.sleep(0.001)
    assert planner.failure and planner.take() is None
    planner.plan(model, way, SPACING)
    assert taken(planner) is not None and not planner.failure


def test_the_thread_ends(arm3):
    planner = GainPlanner(rule_of_design('one_step', 3, FeedbackDesign(), 0.002))
    assert 'gain planner' in {thread.name for thread in threading.enumerate()}
    planner.close()
    assert not planner._thread.is_alive()
