# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.errors import SimulationError
from robot_dynamics.simulation.drive import Drive, Pace

PERIOD, PATIENCE = 0.002, 1.0


def commanded(pace: Pace | None = None) -> Pace:
    """A pace that has published a state at 1 s, at the tick of 1 s."""
    pace = pace or Pace(PERIOD, PATIENCE)
    pace.now(1.0 - PERIOD)
    pace.answer()
    assert pace.tick(1.0) == 1.0
    pace.tell(1.0)
    return pace


def test_wall_time_without_waiting():
    pace = commanded(Pace(PERIOD, 0.0))
    for wall in (1.0, 1.5, 7.0):
        assert pace.tick(wall) == wall
        pace.tell(wall)
        assert not pace.is_waiting
        assert pace.now(wall + 0.3) == wall + 0.3
    assert pace.waited == 0.0


def test_a_controller_is_not_waited_for_before_its_first_command():
    pace = Pace(PERIOD, PATIENCE)
    assert pace.tick(0.1) == 0.1
    pace.tell(0.1)
    assert not pace.is_waiting
    assert pace.now(5.0) == 5.0


def test_an_answer_in_time_costs_nothing():
    pace = commanded()
    assert pace.is_waiting
    assert pace.now(1.0015) == 1.0015
    pace.answer()
    assert not pace.is_waiting
    assert pace.tick(1.0 + PERIOD) == 1.0 + PERIOD
    assert pace.waited == 0.0


def test_a_late_answer_is_waited_for():
    pace = commanded()
    assert pace.now(1.3) == 1.0 + PERIOD
    assert pace.tick(1.7) == 1.0 + PERIOD
    assert pace.is_waiting
    pace.answer()
    assert pace.tick(1.701) == pytest.approx(1.0 + PERIOD, abs=1e-12)
    pace.tell(1.701)
    # From where it stood, on with the wall.
    assert pace.now(1.702) == pytest.approx(1.001 + PERIOD, abs=1e-12)
    assert pace.waited == pytest.approx(0.701 - PERIOD, abs=1e-12)


def test_an_arm_that_is_late_itself_makes_no_leap_either():
    pace = commanded()
    pace.answer()
    # Answered in time, but the next tick is half a second too late.
    assert pace.tick(1.5) == 1.0 + PERIOD
    pace.tell(1.5)
    assert pace.now(1.5 + PERIOD) == pytest.approx(1.0 + 2.0 * PERIOD, abs=1e-12)


def test_nor_does_one_that_is_late_after_the_first_command():
    pace = Pace(PERIOD, PATIENCE)
    assert pace.now(1.0) == 1.0
    pace.answer()
    assert pace.now(1.5) == 1.0 + PERIOD


def test_late_ticks_are_made_up_for_and_periods_are_whole():
    pace, told, worst = commanded(), [1.0], 0.0
    lateness = np.random.default_rng(0).uniform(0.0, 0.4 * PERIOD, 1000)
    for k, late in enumerate(lateness, start=1):
        pace.answer()
        wall = 1.0 + k * PERIOD + late
        told.append(pace.tick(wall))
        pace.tell(wall)
        worst = max(worst, pace.waited)
    np.testing.assert_allclose(np.diff(told), PERIOD, rtol=1e-9)
    assert worst < 0.41 * PERIOD


def test_who_does_not_answer_is_waited_for_once():
    pace = commanded()
    assert pace.tick(2.5) == 1.0 + PERIOD  # looked at late: no leap either
    assert not pace.is_waiting
    assert pace.tick(2.6) == pytest.approx(1.1 + PERIOD, abs=1e-12)
    pace.tell(2.6)
    assert not pace.is_waiting
    pace.answer()
    pace.tell(2.7)
    assert pace.is_waiting


class Still:
    """A plant that does nothing but go by."""

    robot = SimpleNamespace(n=1)

    def __init__(self, timestep: float):
        self.timestep = timestep
        self.q = self.v = np.zeros(1)

    def advance(self, *, steps: int) -> None:
        pass

    def set_effort(self, tau) -> None:
        pass


@pytest.mark.parametrize(('rate', 'step'), [(500, 0.0005), (300, 0.0005), (900, 0.001),
                                            (1000, 0.002), (700, 0.0015), (500, 0.01)])
def test_an_arm_of_any_step_keeps_up_with_the_wall_when_commands_are_in_time(rate, step):
    pace = Pace(1.0 / rate, PATIENCE)
    drive = Drive(Still(step), lambda q, v: np.zeros(1))
    told = -1.0
    for tick in range(1, 2 * rate + 1):
        wall = tick / rate
        drive.advance(pace.tick(wall))
        if drive.time > told and not pace.is_waiting:
            told = drive.time
            pace.tell(wall)
            drive.advance(pace.now(wall + 1e-4))
            pace.answer()
            drive.command(np.zeros(1))
    assert drive.time > 2.0 - 2.0 * step
    assert pace.waited < 1e-9


def test_time_never_goes_back_nor_beyond_the_wall():
    pace, times, wall = Pace(PERIOD, PATIENCE), [], 0.0
    random = np.random.default_rng(1)
    for _ in range(20_000):
        wall += random.choice([1e-4, 7e-4, 2e-3, 0.3])
        times.append(pace.tick(wall) if random.random() < 0.5 else pace.now(wall))
        assert times[-1] <= wall
        if not pace.is_waiting and random.random() < 0.5:
            pace.tell(wall)
        elif random.random() < 0.3:
            pace.answer()
    assert min(b - a for a, b in itertools.pairwise(times)) >= -1e-9
    assert 0.0 < pace.waited < wall


@pytest.mark.parametrize(('period', 'patience'), [
    (0.0, 1.0), (-0.1, 1.0), (math.nan, 1.0), (0.002, -1.0), (0.002, math.nan)])
def test_refuses_what_no_pace_is(period, patience):
    with pytest.raises(SimulationError, match='pace'):
        Pace(period, patience)
