# SPDX-License-Identifier: Apache-2.0
"""When the guard of commands acts, without processes; test_driver.py has the processes."""

from __future__ import annotations

import pytest

from robot_dynamics.nodes.command_guard import SilenceWatch


@pytest.fixture
def watch():
    return SilenceWatch(0.03, 0.5)


def test_nothing_is_expected_before_the_first_command(watch):
    for now in (0.0, 1.0, 100.0):
        assert watch.check(now, received=False, publishers=0) is None
        assert not watch.is_armed


def test_silence_is_reported_once(watch):
    watch.check(10.0, received=True, publishers=1)
    assert watch.check(10.029, received=False, publishers=1) is None
    assert watch.check(10.031, received=False, publishers=1) == 'no command for 31 ms'
    assert watch.check(10.1, received=False, publishers=1) is None
    # Commands that begin anew are watched anew.
    watch.check(11.0, received=True, publishers=1)
    assert watch.check(11.04, received=False, publishers=1) == 'no command for 40 ms'


def test_a_delay_of_the_guard_itself_is_no_silence(watch):
    watch.check(0.0, received=True, publishers=1)
    assert watch.check(0.2, received=True, publishers=1) is None
    assert watch.check(0.229, received=False, publishers=1) is None


def test_a_publisher_that_goes_is_noticed_at_once(watch):
    watch.check(0.0, received=True, publishers=1)
    assert 'has gone' in watch.check(0.005, received=False, publishers=0)


def test_a_publisher_that_is_not_discovered_yet_has_not_gone(watch):
    watch.check(0.0, received=True, publishers=0)
    assert watch.check(0.01, received=False, publishers=0) is None
    assert watch.check(0.04, received=False, publishers=0) == 'no command for 40 ms'


def test_another_controller_may_take_over_in_its_time(watch):
    watch.check(0.0, received=True, publishers=2)
    assert watch.check(0.1, received=False, publishers=1) is None
    assert watch.check(0.3, received=True, publishers=1) is None
    # It is as any other now.
    assert watch.check(0.45, received=True, publishers=1) is None
    assert watch.check(0.49, received=False, publishers=1) is None
    assert watch.check(0.55, received=False, publishers=1) == 'no command for 100 ms'


def test_one_that_does_not_take_over_is_noticed(watch):
    watch.check(0.0, received=True, publishers=2)
    assert watch.check(0.49, received=False, publishers=1) is None
    assert watch.check(0.51, received=False, publishers=1) == 'no command for 510 ms'
