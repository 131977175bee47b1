# SPDX-License-Identifier: Apache-2.0
"""When the guard of commands acts, without processes; test_driver.py has the processes."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.nodes.command_guard import SilenceWatch


@pytest.fixture
def watch():
    return SilenceWatch(0.03, 0.5)


def after_silence(watch, begin, end, publishers=1):
    """Reason at the end of a silence that is checked every 4 ms, and at the end."""
    for now in np.arange(begin + 0.004, end, 0.004):
        assert watch.check(now, received=False, publishers=publishers) is None
    return watch.check(end, received=False, publishers=publishers)


def test_nothing_is_expected_before_the_first_command(watch):
    for now in (0.0, 1.0, 100.0):
        assert watch.check(now, received=False, publishers=0) is None
        assert not watch.is_armed


def test_silence_is_reported_once(watch):
    watch.check(10.0, received=True, publishers=1)
    assert after_silence(watch, 10.0, 10.029) is None
    assert watch.check(10.031, received=False, publishers=1) == 'no command for 31 ms'
    assert watch.check(10.1, received=False, publishers=1) is None
    # Commands that begin anew are watched anew.
    watch.check(11.0, received=True, publishers=1)
    assert after_silence(watch, 11.0, 11.031) == 'no command for 31 ms'


def test_a_delay_of_the_guard_itself_is_no_silence(watch):
    watch.check(0.0, received=True, publishers=1)
    assert watch.check(0.2, received=True, publishers=1) is None
    assert watch.check(0.229, received=False, publishers=1) is None


def test_commands_that_another_thread_has_yet_to_receive_are_no_silence(watch):
    watch.check(0.0, received=True, publishers=1)
    # This process was delayed, and checks before the thread that receives.
    assert watch.check(0.045, received=False, publishers=1) is None
    assert watch.check(0.049, received=True, publishers=1) is None
    # Half the silence later it is one, however long the delay was.
    assert watch.check(0.2, received=False, publishers=1) is None
    assert after_silence(watch, 0.2, 0.214) is None
    assert watch.check(0.216, received=False, publishers=1) == 'no command for 31 ms'


def test_a_publisher_that_goes_is_noticed_at_once(watch):
    watch.check(0.0, received=True, publishers=1)
    assert 'has gone' in watch.check(0.005, received=False, publishers=0)


def test_a_publisher_that_is_not_discovered_yet_has_not_gone(watch):
    watch.check(0.0, received=True, publishers=0)
    assert after_silence(watch, 0.0, 0.031, publishers=0) == 'no command for 31 ms'


def test_another_controller_may_take_over_in_its_time(watch):
    watch.check(0.0, received=True, publishers=2)
    assert watch.check(0.1, received=False, publishers=1) is None
    assert watch.check(0.3, received=True, publishers=1) is None
    # It is as any other now.
    assert watch.check(0.45, received=True, publishers=1) is None
    assert after_silence(watch, 0.45, 0.501) == 'no command for 51 ms'


def test_one_that_does_not_take_over_is_noticed(watch):
    watch.check(0.0, received=True, publishers=2)
    assert after_silence(watch, 0.0, 0.501) == 'no command for 501 ms'
